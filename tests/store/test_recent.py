"""What was read lately is read again once anybody has changed the database, and only then."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from dragoman.store.database import open_store
from dragoman.store.recent import Recent


def test_it_is_read_again_after_a_commit_of_anybody(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with open_store(f"sqlite:///{path}") as store:
        recent: Recent[str, int] = Recent(store.commits, 10)
        asked: list[str] = []

        def read(keys: Sequence[str]) -> dict[str, int]:
            asked.extend(keys)
            with store.read() as session:
                count = session.scalar(text("SELECT count(*) FROM numbers"))
            return dict.fromkeys(keys, count or 0)

        with store.write() as session:
            session.execute(text("CREATE TABLE numbers (number INTEGER)"))
        assert recent.get(["a"], read) == recent.get(["a"], read) == {"a": 0}
        with store.write() as session:
            session.execute(text("INSERT INTO numbers VALUES (1)"))
        assert recent.get(["a"], read) == {"a": 1}
        other = sqlite3.connect(path)  # as another process has one
        other.execute("INSERT INTO numbers VALUES (2)")
        assert recent.get(["a", "b"], read) == {"a": 1, "b": 1}
        other.commit()
        other.close()
        assert recent.get(["a", "b"], read) == recent.get(["b", "a"], read) == {"a": 2, "b": 2}
        assert asked == ["a", "a", "b", "a", "b"]
        before = store.commits.count()
        store.commits.close()
        assert store.commits.count() != before  # another connection's numbers are not compared with these


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
@given(st.lists(st.lists(st.integers(0, 12), max_size=6), max_size=12))
def test_so_much_is_contents(tmp_path: Path, asked: list[list[int]]) -> None:
    with open_store(f"sqlite:///{tmp_path / 'a.db'}") as store:
        recent: Recent[int, int] = Recent(store.commits, 10, lambda size: size)

        def read(keys: Sequence[int]) -> dict[int, int]:
            return {key: key for key in keys if key % 5}

        for keys in asked:
            assert recent.get(keys, read) == {key: key for key in keys if key % 5}
            assert sum(recent._contents.values()) == 10 - recent._left <= 10
