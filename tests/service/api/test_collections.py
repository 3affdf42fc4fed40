from __future__ import annotations

import gzip
import json
import random
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from urllib.parse import quote

import httpx
import pytest

from tests.support.errorbody import check_error
from tests.support.postgresql import DATABASES
from tests.support.searching import ndjson

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("served", DATABASES, indirect=True, scope="package")]

NDJSON = {"content-type": "application/x-ndjson"}


def _documents(*ids: str) -> bytes:
    return ndjson({"id": id, "text": f"maandishi ya {id}"} for id in ids)


def _send(client: httpx.Client, collection: str, content: object, **headers: str) -> httpx.Response:
    return client.post(f"/v1/collections/{collection}/documents", content=content, headers={**NDJSON, **headers})


def _get(client: httpx.Client, collection: str, id: str) -> httpx.Response:
    return client.get(f"/v1/collections/{collection}/documents/{quote(id, safe='')}")


def test_a_collection_from_its_making_to_its_end(client: httpx.Client) -> None:
    made = client.post(
        "/v1/collections", json={"name": "news_de.2024-1", "language": "de", "description": "Zeitung äöü 日本"}
    )
    assert made.status_code == 201
    body = made.json()
    created = datetime.fromisoformat(body.pop("created_at"))
    assert abs((datetime.now(UTC) - created).total_seconds()) < 60
    assert body == {
        "name": "news_de.2024-1",
        "language": "de",
        "description": "Zeitung äöü 日本",
        "documents": 0,
        "generation": 0,
        "shards": 1,
        "index": {"state": "ready", "generation": 0, "failed": 0, "shards": 1},
        "embeddings": None,
        "entities": None,
    }
    assert client.get("/v1/collections/news_de.2024-1").json() == made.json()
    assert made.json() in client.get("/v1/collections").json()["collections"]
    check_error(client.post("/v1/collections", json={"name": "news_de.2024-1", "language": "fr"}), 409, "already")
    assert client.delete("/v1/collections/news_de.2024-1").status_code == 204
    check_error(client.get("/v1/collections/news_de.2024-1"), 404, "no collection")
    check_error(client.delete("/v1/collections/news_de.2024-1"), 404, "no collection")


def test_a_collection_is_renamed_measured_and_emptied(client: httpx.Client, collection: str) -> None:
    address, renamed = f"/v1/collections/{collection}", f"/v1/collections/{collection}.new"
    lines = [{"id": "1", "text": "moja", "metadata": {"year": 2024}}, {"id": "2", "text": "zwei", "language": "de"}]
    _send(client, collection, ndjson(lines)).raise_for_status()
    client.post("/v1/collections", json={"name": "taken", "language": "sw"}).raise_for_status()
    check_error(client.patch(address, json={"name": "taken"}), 409, "a collection named 'taken' already")
    for change, message in (({"name": "No"}, "name: "), ({"name": None}, "name: "), ({"language": "de"}, "language: ")):
        check_error(client.patch(address, json=change), 422, message)
    before = client.get(address).json()
    answer = client.patch(address, json={"name": f"{collection}.new", "description": "new"}, headers={"If-Match": "1"})
    assert answer.json() == {**before, "name": f"{collection}.new", "description": "new"}
    check_error(client.get(address), 404, "no collection")
    statistics = client.get(f"{renamed}/stats").json()
    size = statistics.pop("bytes")
    assert statistics == {
        "documents": 2,
        "generation": 1,
        "languages": {"de": 1, "sw": 1},
        "fields": [{"field": "year", "documents": 1, "types": {"number": 1}, "examples": [2024]}],
        "fields_from": 2,
        "fields_left_out": 0,
    }
    assert (size["texts"], size["embeddings"]) == (8, 0) and size["metadata"] > 0 and size["index"] > 0
    check_error(client.post(f"{renamed}/truncate", headers={"If-Match": "0"}), 412, "its generation is 1")
    answer = client.post(f"{renamed}/truncate")
    assert (answer.json()["documents"], answer.json()["generation"], answer.headers["etag"]) == (0, 2, '"2"')
    assert answer.json()["index"]["state"] == "ready"
    check_error(_get(client, f"{collection}.new", "1"), 404, "no document")
    assert client.delete(renamed).status_code == client.delete("/v1/collections/taken").status_code == 204


def test_an_alias_is_set_moved_and_deleted(client: httpx.Client, collection: str) -> None:
    alias, other = f"/v1/aliases/{collection}.live", f"{collection}.other"
    client.post("/v1/collections", json={"name": other, "language": "sw"}).raise_for_status()
    for target in (other, collection):
        placed = {"alias": f"{collection}.live", "collection": target}
        answer = client.put(alias, json={"collection": target})
        assert (answer.status_code, answer.json()) == (200, placed)
        assert client.get(alias).json() == placed
    assert placed in client.get("/v1/aliases").json()["aliases"]
    assert _send(client, f"{collection}.live", _documents("1")).json()["accepted"] == 1
    asked = {"query": "maandishi", "query_language": "sw", "method": "psq", "collections": [f"{collection}.live"]}
    hits = client.post("/v1/search", json=asked).json()["hits"]
    assert [(hit["id"], hit["collection"]) for hit in hits] == [("1", collection)]
    assert client.get(f"/v1/collections/{collection}.live/documents/1").json()["collection"] == collection
    check_error(client.delete(f"/v1/collections/{collection}"), 409, "stands for this collection")
    check_error(client.put(f"/v1/aliases/{other}", json={"collection": collection}), 409, "already")
    check_error(client.put(alias, json={"collection": "nowhere"}), 404, "collection: there is no collection")
    check_error(client.put(alias, json={"collection": collection, "x": 1}), 422, "x: ")
    check_error(client.put("/v1/aliases/No", json={"collection": collection}), 422, "alias: must be")
    assert client.delete(alias).status_code == client.delete(f"/v1/collections/{other}").status_code == 204
    check_error(client.get(alias), 404, "no alias named")
    check_error(client.delete(alias), 404, "no alias named")


def test_a_name_used_again_has_nothing_of_the_old_collection(client: httpx.Client, collection: str) -> None:
    _send(client, collection, _documents("1", "2"))
    client.delete(f"/v1/collections/{collection}")
    client.post("/v1/collections", json={"name": collection, "language": "de"})
    assert client.get(f"/v1/collections/{collection}").json()["documents"] == 0
    check_error(_get(client, collection, "1"), 404, "no document with id '1'")


def test_documents_are_added_replaced_and_deleted(client: httpx.Client, collection: str) -> None:
    answer = _send(client, collection, _documents("1", "2", "1"))
    assert answer.json() == {"accepted": 3, "replaced": 1, "rejected": [], "generation": 1}
    answer = _send(client, collection, _documents("2", "3")).json()
    assert answer == {"accepted": 2, "replaced": 1, "rejected": [], "generation": 2}
    info = client.get(f"/v1/collections/{collection}").json()
    assert (info["documents"], info["generation"], info["index"]["state"]) == (3, 2, "ready")
    assert client.delete(f"/v1/collections/{collection}/documents/2").status_code == 204
    check_error(_get(client, collection, "2"), 404, "no document with id '2'")
    check_error(client.delete(f"/v1/collections/{collection}/documents/2"), 404, "no document")
    answer = _send(client, collection, _documents("2")).json()
    assert answer == {"accepted": 1, "replaced": 0, "rejected": [], "generation": 4}
    assert client.get(f"/v1/collections/{collection}").json()["documents"] == 3


def test_a_document_comes_back_as_it_was_sent(client: httpx.Client, collection: str) -> None:
    sent = {
        "id": "x",
        "text": "  عربي 日本 \u2028 e\u0301 😀\n\ttext ",
        "title": "ﬁ",
        "language": "ar",
        "metadata": {"a": [1, 2.5, None, True, {"ü": "\u2028"}], "": 10**20},
    }
    _send(client, collection, ndjson([sent]))
    assert _get(client, collection, "x").json() == {**sent, "collection": collection, "generation": 1}


@pytest.mark.parametrize(
    "id",
    [
        "a b", "a/b", "/", "//a//", "a%2Fb", "%", "ü/日本", "😀", "a?b=c#d", "../../etc/passwd", "a\nb",
        " ", "+", "a+b", "x" * 512, "日" * 512, "';DROP TABLE documents;--", "e\u0301", "documents", "\u202e",
    ],
)  # fmt: skip
def test_ids_hold_any_character(client: httpx.Client, collection: str, id: str) -> None:
    _send(client, collection, ndjson([{"id": id, "text": "t"}]))
    path = f"/v1/collections/{collection}/documents/{quote(id, safe='').replace('.', '%2E')}"
    assert client.get(path).json()["id"] == id
    assert client.delete(path).status_code == 204
    check_error(client.get(path), 404, "no document")


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_an_export_is_taken_back_unchanged(client: httpx.Client, collection: str, encoding: str) -> None:
    documents = [
        {"id": f"{number}", "language": "de", "text": f"Text {number}\u2028\n", "title": "T"} for number in range(250)
    ]
    for one in documents:
        one["metadata"] = {}
    documents[7]["metadata"] = {"year": 2024, "list": [1, None]}
    del documents[8]["title"]
    body = "".join(json.dumps(one) + "\n" for one in documents)
    _send(client, collection, body.encode()).raise_for_status()
    client.delete(f"/v1/collections/{collection}/documents/3")
    exported = client.get(f"/v1/collections/{collection}/export", headers={"accept-encoding": encoding})
    assert exported.headers.get("content-encoding", "identity") == encoding
    kept = [json.loads(line) for line in exported.content.split(b"\n")[:-1]]
    assert kept == [one for one in documents if one["id"] != "3"]
    answer = _send(client, collection, exported.content).json()
    assert (answer["accepted"], answer["replaced"], answer["rejected"]) == (249, 249, [])
    assert client.get(f"/v1/collections/{collection}/export").content == exported.content
    assert client.get("/v1/collections/nowhere/export").status_code == 404
    assert client.get(f"/v1/collections/{collection}/export", params={"nonsense": 1}).status_code == 422


def test_bad_lines_are_rejected_one_by_one(client: httpx.Client, collection: str) -> None:
    body = b"\n".join(
        [
            b'{"id": "1", "text": "moja"}',
            b"",
            b"{broken",
            b'{"id": "4", "text": 4}',
            b'{"id": "5", "text": "t", "language": "xx"}',
            b'{"id": "6", "text": "\xff"}',
            b'{"id": "7", "text": "' + b"x" * 30_000 + b'"}',
            b'{"id": "8", "text": "a\\u0000"}',
            b'{"id": "9", "text": "tisa"}',
        ]
    )
    answer = _send(client, collection, body).json()
    assert (answer["accepted"], answer["replaced"]) == (2, 0)
    told = [(one["line"], one["id"], one["reason"]) for one in answer["rejected"]]
    assert [(line, id) for line, id, _ in told] == [
        (3, None), (4, "4"), (5, "5"), (6, None), (7, None), (8, "8")
    ]  # fmt: skip
    for (_, _, reason), part in zip(
        told, ["column 2", "text: ", "language: ", "not UTF-8", "longer than 20000 bytes", "NUL"], strict=True
    ):
        assert part in reason
    assert client.get(f"/v1/collections/{collection}").json()["documents"] == 2


def test_a_body_of_rejected_lines_is_refused_and_keeps_nothing(client: httpx.Client, collection: str) -> None:
    before = client.get(f"/v1/collections/{collection}").json()
    answer = _send(client, collection, b'{"id": "1"}\n\nid,text\n' + b"x\n" * 6)
    check_error(answer, 422, "nothing was stored: line 1: text: .*; line 3: .*; line 6: .*; and 3 more")
    assert client.get(f"/v1/collections/{collection}").json() == before


@pytest.mark.parametrize(
    ("body", "form"),
    [
        (b'[{"id": "1", "text": "one"},\n{"id": "2", "text": "two"}\n]', "a JSON array"),
        (b'\xef\xbb\xbf [\n{"id": "1", "text": "one"}\n]', "a JSON array"),
        (b'{"documents": [\n{"id": "1", "text": "one"}\n]}', "a JSON document over several lines"),
        (b'{\n"id": "1",\n"text": "one"\n}\n{"id": "2", "text": "two"}\n', "a JSON document over several lines"),
        (b'id,text\n1,one\n{"id": "2", "text": "two"}\n', "CSV"),
        (b"text;id\none;1\n", "CSV"),
        ("{}".encode("utf-16"), "UTF-16 text"),
    ],
)
def test_a_body_in_another_form_is_refused_whole(client: httpx.Client, collection: str, body: bytes, form: str) -> None:
    headers = {"content-type": "application/x-ndjson"}
    answer = client.post(f"/v1/collections/{collection}/documents", content=body, headers=headers)
    check_error(answer, 422, f"the body is {form}.*nothing was stored")
    assert client.get(f"/v1/collections/{collection}").json()["documents"] == 0


def test_unknown_parameters_of_an_upload_are_refused_by_name(client: httpx.Client, collection: str) -> None:
    path, kind = f"/v1/collections/{collection}/documents", {"Content-Type": "application/x-ndjson"}
    answer = client.post(path, params={"gzip": "true"}, content=_documents("1"), headers=kind)
    check_error(answer, 422, "unknown query parameter 'gzip': there are format, map, fingerprint")
    assert client.get(f"/v1/collections/{collection}").json()["documents"] == 0


@pytest.mark.parametrize("declared", [True, False])
def test_gzip_is_read_declared_or_not(client: httpx.Client, collection: str, declared: bool) -> None:
    headers = {"content-encoding": "gzip"} if declared else {}
    body = gzip.compress(_documents(*map(str, range(100))))
    answer = _send(client, collection, (body[start : start + 50] for start in range(0, len(body), 50)), **headers)
    assert answer.json()["accepted"] == 100


def _truncated_gzip() -> bytes:
    noise = random.Random(7)
    lines = ndjson({"id": str(n), "text": f"{noise.random()}"} for n in range(1000))
    packed = gzip.compress(lines)
    return packed[: len(packed) // 2]


@pytest.mark.parametrize(
    ("body", "headers", "status", "message"),
    [
        (b"", {}, 422, "holds no documents"),
        (b"\n\n \n", {}, 422, "holds no documents"),
        (gzip.compress(b"", mtime=0), {}, 422, "holds no documents"),
        (b"\x1f\x8b", {}, 400, "line 1: the gzip stream ends early; nothing was stored"),
        (b"\x1f\x8bnot gzip", {}, 400, "line 1: the gzip stream is damaged"),
        (_documents("1"), {"content-encoding": "gzip"}, 400, "line 1: the body is not gzip"),
        (_documents("1"), {"content-encoding": "br"}, 415, "Content-Encoding 'br'"),
        (_documents("1"), {"content-type": "application/json"}, 422, "the body is not a JSON array"),
        (_documents("1"), {"content-type": "text/csv"}, 422, "line 1: the header: not CSV"),
        (_documents("1"), {"content-type": "text/html"}, 415, "send the body as NDJSON"),
        (gzip.compress(b" " * 5_000_000, mtime=0), {}, 413, "larger than 4000000 bytes when unpacked"),
        (gzip.compress(b" " * 50_000_000, mtime=0), {}, 413, "line 1: the content "),
        (b"x\n" * 60, {}, 422, "line 51: more than 50 lines rejected"),
    ],
)
def test_bodies_that_store_nothing(
    client: httpx.Client, collection: str, body: bytes, headers: dict[str, str], status: int, message: str
) -> None:
    check_error(_send(client, collection, body, **headers), status, message)
    assert client.get(f"/v1/collections/{collection}").json()["documents"] == 0


def test_documents_for_a_missing_collection_are_not_stored(client: httpx.Client) -> None:
    check_error(_send(client, "missing", _documents("1")), 404, "no collection named 'missing'")


def test_what_came_before_truncated_gzip_stays_and_is_told(client: httpx.Client, collection: str) -> None:
    message = check_error(_send(client, collection, _truncated_gzip()), 400, "the gzip stream ends early")
    stored = client.get(f"/v1/collections/{collection}").json()["documents"]
    assert 100 < stored < 1000
    assert message.startswith(f"line {stored + 1}: ")
    assert f"stored and kept: the {stored} documents up to line {stored}" in message
    assert _get(client, collection, str(stored - 1)).status_code == 200
    check_error(_get(client, collection, str(stored)), 404, "no document")


@pytest.mark.parametrize("chunked", [True, False])
def test_too_large_an_upload_keeps_what_came_before(client: httpx.Client, collection: str, chunked: bool) -> None:
    lines = [json.dumps({"id": str(n), "text": "xx " * 5_000}).encode() + b"\n" for n in range(200)]
    message = check_error(
        _send(client, collection, iter(lines) if chunked else b"".join(lines)), 413, "larger than 2000000 bytes"
    )
    stored = client.get(f"/v1/collections/{collection}").json()["documents"]
    assert stored > 50
    assert f"the {stored} documents up to line {stored}" in message


def test_an_upload_that_stalls_is_ended(client: httpx.Client, collection: str) -> None:
    body = _documents("1")
    with socket.create_connection((client.base_url.host, client.base_url.port)) as connection:
        connection.sendall(
            f"POST /v1/collections/{collection}/documents HTTP/1.1\r\nHost: localhost\r\n"
            f"Content-Type: application/x-ndjson\r\nContent-Length: 1000000\r\n\r\n".encode()
            + body
        )
        answer = b""
        while part := connection.recv(65536):
            answer += part
    assert answer.startswith(b"HTTP/1.1 408")
    told = re.search(rb"no data arrived for ([0-9.]+) seconds", answer)
    assert told is not None and float(told[1]) >= 0.5, answer
    assert _get(client, collection, "1").status_code == 200


def test_an_upload_cut_off_keeps_whole_lines_only(client: httpx.Client, collection: str) -> None:
    with socket.create_connection((client.base_url.host, client.base_url.port)) as connection:
        connection.sendall(
            f"POST /v1/collections/{collection}/documents HTTP/1.1\r\nHost: localhost\r\n"
            f"Content-Type: application/x-ndjson\r\nContent-Length: 1000000\r\n\r\n".encode()
            + _documents("1", "2")
            + b'{"id": "3", "te'
        )
        time.sleep(0.2)
    assert _send(client, collection, _documents("4")).json()["accepted"] == 1
    # One list is one state; documents asked for one by one may be of before and after the cut upload is stored.
    present = {hit["id"] for hit in client.get(f"/v1/collections/{collection}/documents").json()["documents"]}
    assert present in ({"4"}, {"1", "2", "4"})


def test_imports_at_once_into_one_collection_all_arrive(client: httpx.Client, collection: str) -> None:
    def send(worker: int) -> int:
        ids = [f"{worker}-{n}" for n in range(30)] + [f"shared-{n}" for n in range(30)]
        return int(_send(client, collection, _documents(*ids)).json()["accepted"])

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(send, range(6))) == [60] * 6
    info = client.get(f"/v1/collections/{collection}").json()
    assert info["documents"] == 6 * 30 + 30
    assert info["index"] == {"state": "ready", "generation": info["generation"], "failed": 0, "shards": 1}


def test_a_table_a_mapping_and_an_array_are_imported(client: httpx.Client, collection: str) -> None:
    path = f"/v1/collections/{collection}/documents"
    table = b"docid;body;year\n1;moja;1999\n2;;2000\n3;tatu;\n"
    sent = {"params": {"map": "id=docid,text=body,metadata.year:number=year"}, "headers": {"content-type": "text/csv"}}
    answer = client.post(path, content=gzip.compress(table), **sent).json()
    assert (answer["accepted"], answer["rejected"]) == (2, [{"line": 3, "id": "2", "reason": "text: Field required"}])
    assert _get(client, collection, "1").json()["metadata"] == {"year": 1999}
    assert client.post(path, json=[{"_id": 4, "text": "nne"}, {"id": "1", "text": "moja"}]).json()["replaced"] == 1
    broken = client.post(path, json=[{"id": 5, "text": "tano"}, {"id": 6}])
    check_error(broken, 422, "array is imported whole: line 2: text: Field required; nothing was stored")
    trec = b"<DOC><DOCNO>7</DOCNO><TEXT>saba</TEXT></DOC>"
    assert client.post(path, content=trec, params={"format": "trec"}, headers=NDJSON).json()["accepted"] == 1
    check_error(client.post(path, content=b"id,body\n", headers={"content-type": "text/csv"}), 422, "no column 'text'")
    check_error(client.post(path, content=b"x", params={"format": "xml"}, headers=NDJSON), 422, "format")
    check_error(client.post(path, content=b"x", headers={"content-type": "text/html"}), 415, "format=")
    assert client.get(path, params={"fields": "id"}).json()["total"] == 4
