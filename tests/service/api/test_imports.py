"""Imports over HTTP in the forms that people have: by content type or by name, mapped, and with places of faults."""

from __future__ import annotations

import csv
import gzip
import io
import json
from typing import Any

import httpx
import pytest

from tests.support.errorbody import check_error

pytestmark = pytest.mark.slow

DOCUMENTS = [
    {"id": "1", "text": "neno moja", "title": "Kwanza", "metadata": {"year": "2024"}},
    {"id": "2", "text": 'neno "mbili",\nmstari', "language": "de"},
]


def send(client: httpx.Client, collection: str, body: bytes, kind: str = "", **parameters: str) -> httpx.Response:
    headers = {"content-type": kind} if kind else {}
    return client.post(f"/v1/collections/{collection}/documents", content=body, headers=headers, params=parameters)


def stored(client: httpx.Client, collection: str) -> list[dict[str, Any]]:
    listed = client.get(f"/v1/collections/{collection}/documents").raise_for_status().json()["documents"]
    return [{name: one[name] for name in ("id", "text", "title", "language", "metadata")} for one in listed]


def columns(separator: str) -> bytes:
    file = io.StringIO()
    names = ["docid", "text", "title", "language", "year"]
    writer = csv.writer(file, delimiter=separator)
    writer.writerow(names)
    for document in DOCUMENTS:
        cells = {**document, "docid": document["id"], **document.get("metadata", {})}  # type: ignore[dict-item]
        writer.writerow([cells.get(name, "") for name in names])
    return file.getvalue().encode("utf-8-sig")


def parquet() -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = [
        {"id": one["id"], "text": one["text"], "title": one.get("title"), "language": one.get("language"),
         "year": one.get("metadata", {}).get("year")}
        for one in DOCUMENTS
    ]  # fmt: skip
    file = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(rows), file)
    return file.getvalue()


TREC = b"<DOC><DOCNO>1</DOCNO><TITLE>Kwanza</TITLE><YEAR>2024</YEAR><TEXT>neno moja</TEXT></DOC>"


def test_all_forms_make_the_same_documents(client: httpx.Client, collection: str) -> None:
    expected = [{"title": None, "language": "sw", "metadata": None, **document} for document in DOCUMENTS]
    bodies = [
        ("application/json", {}, json.dumps(DOCUMENTS).encode()),
        ("text/csv; charset=utf-8", {}, columns(",")),
        ("text/csv", {}, columns(";")),
        ("text/tab-separated-values; charset=UTF-16", {}, columns("\t").decode("utf-8-sig").encode("utf-16")),
        ("", {"format": "csv"}, gzip.compress(columns("|"))),
        ("application/octet-stream", {"format": "json"}, gzip.compress(json.dumps(DOCUMENTS).encode())),
        ("application/vnd.apache.parquet", {}, None),
    ]
    for kind, parameters, body in bodies:
        client.post(f"/v1/collections/{collection}/truncate").raise_for_status()
        answer = send(client, collection, parquet() if body is None else body, kind, **parameters)
        assert (answer.status_code, answer.json()["accepted"], answer.json()["rejected"]) == (200, 2, []), kind
        assert stored(client, collection) == expected, kind
    client.post(f"/v1/collections/{collection}/truncate").raise_for_status()
    assert send(client, collection, TREC, "text/plain", format="trec").json()["accepted"] == 1
    assert stored(client, collection) == [{**expected[0], "metadata": {"year": "2024"}}]


def test_formats_and_encodings_that_are_not_there(client: httpx.Client, collection: str) -> None:
    body = "id,text\n1,Größe\n".encode("latin-1")
    check_error(send(client, collection, body, "text/csv", format="xls"), 422, "format.*'ndjson', 'json', 'csv'")
    check_error(send(client, collection, body, "text/csv; charset=rot13"), 415, "charset: 'rot13' is not known")
    assert send(client, collection, body, 'text/csv; charset="ISO-8859-1"').json()["accepted"] == 1
    assert stored(client, collection)[0]["text"] == "Größe"


def test_bad_rows_are_rejected_with_their_lines(client: httpx.Client, collection: str) -> None:
    body = b'id,text,language\n1,"a\nb",\n2,c\n3,,\n4,d,xx\n5,e,de\n6,' + b"x" * 20_000 + b",\n"
    answer = send(client, collection, body, "text/csv").json()
    assert answer["accepted"] == 2
    told = [(one["line"], one["id"], one["reason"].partition(":")[0]) for one in answer["rejected"]]
    assert told == [
        (4, None, "has 2 cells, and the header 3"),
        (5, "3", "text"),
        (6, "4", "language"),
        (8, None, "longer than 20,000 bytes"),
    ]
    check_error(
        send(client, collection, b"id,text\n\n1,\n", "text/csv"), 422, "no line is a document.*: line 3: text: "
    )


def test_an_array_is_imported_whole_or_not_at_all(client: httpx.Client, collection: str) -> None:
    faulty = [*DOCUMENTS, {"id": "3"}]
    answer = send(client, collection, json.dumps(faulty).encode(), "application/json")
    check_error(answer, 422, "an array is imported whole: line 3: text: Field required; nothing was stored")
    many = [{"id": str(number), "text": "neno"} for number in range(1500)]
    cut_off = json.dumps(many).encode()[:-10]
    check_error(send(client, collection, cut_off, "application/json"), 400, "not valid JSON.*nothing was stored")
    assert client.get(f"/v1/collections/{collection}").json()["generation"] == 0
    answer = send(client, collection, json.dumps(many).encode(), "application/json")
    assert (answer.json()["accepted"], answer.json()["generation"]) == (1500, 1)
