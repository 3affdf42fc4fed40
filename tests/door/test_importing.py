"""An import of files reads of the collection only what the files may have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman.door import calls
from dragoman.door.importing import FileImport
from dragoman.engine.core.errors import InvalidRequest

pytestmark = pytest.mark.slow


def test_an_import_asks_for_its_own_documents_alone(tmp_path: Path) -> None:
    told: list[str] = []
    asked: list[Any] = []
    file = tmp_path / "some.ndjson"
    documents = [{"id": f"{number} é", "text": f"Wort {number}", "metadata": {"n": number}} for number in range(250)]
    file.write_text("".join(json.dumps(document) + "\n" for document in documents), encoding="utf-8")
    with dragoman.open(tmp_path / "data", embed="on_demand", rerank="never") as database:
        collection = database.collection("news", language="de")
        others = [{"id": f"other {number}", "text": "Wort"} for number in range(1_050)]
        collection.add(others)

        def add(sync: bool = False) -> FileImport:
            work = FileImport(database, "news", None, None, told.append, sync)
            work.add(file)
            return work

        with pytest.raises(InvalidRequest, match="format: there is no 'xls'; there are ndjson, json, csv"):
            FileImport(database, "news", "xls", None, told.append)
        send = database.send

        def record(call: calls.Call[Any]) -> Any:
            asked.append((call.name, call.fields.get("fields"), call.fields.get("filter") is not None))
            return send(call)

        database.send = record  # type: ignore[method-assign]
        add()
        assert told[-1] == f"{file}: 250 documents, 0 of them replaced"
        documents[7]["text"] = "Wort 7, anders"
        doubled = [*documents, {**documents[7], "text": "Wort 7"}, documents[7]]
        file.write_text("".join(json.dumps(document) + "\n" for document in doubled), encoding="utf-8")
        add()
        assert told[-1] == f"{file}: 3 documents, 3 of them replaced, 249 unchanged"
        assert {entry for entry in asked if entry[0] == "list_documents"} == {("list_documents", None, True)}
        assert "export_documents" not in {name for name, _, _ in asked}
        assert database.send(calls.get_document("news", "7 é")).text == "Wort 7, anders"
        work = add(sync=True)
        assert len(work.missing) == 1_050 and told[-1].endswith("2 documents, 2 of them replaced, 250 unchanged")
        assert ("list_documents", "id", False) in asked
        work.delete_missing()
        assert database.send(calls.get_collection("news")).documents == 250
