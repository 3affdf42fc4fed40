"""How changes of documents are read of the database."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import event

from dragoman.store.collections.database_source import DatabaseSource
from dragoman.store.database import Store


def test_changes_are_read_by_an_index_and_in_its_order(store: Store) -> None:
    """Each change of a large collection would read all of its documents otherwise."""
    if not store.sqlite:
        pytest.skip("PostgreSQL plans by what is there, and these tables are empty")
    asked: list[tuple[str, Any]] = []

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, *others: Any) -> None:
        asked.append((statement, parameters))

    event.listen(store.engine, "before_cursor_execute", note)
    assert list(DatabaseSource(store).changes(1, 5)) == []
    event.remove(store.engine, "before_cursor_execute", note)
    chosen = [(statement, parameters) for statement, parameters in asked if "FROM documents" in statement]
    with store.read() as session:
        plans = [
            [row[-1] for row in session.connection().exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)]
            for statement, parameters in chosen
        ]
    indexes = ["ix_documents_generation", "ix_documents_metadata_generation"]
    assert [[f"USING INDEX {index} " in step for step in plan] for index, plan in zip(indexes, plans, strict=True)] == [
        [True],
        [True],
    ]
