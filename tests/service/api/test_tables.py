"""Translation tables over HTTP, against a real server."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from datetime import datetime
from urllib.parse import quote

import httpx
import pytest

from tests.support.errorbody import check_error
from tests.support.postgresql import DATABASES

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("served", DATABASES, indirect=True, scope="package")]

FIELDS = {
    "name",
    "source",
    "target",
    "version",
    "checksum",
    "source_terms",
    "entries",
    "rejected",
    "pruned",
    "active",
    "header",
}
TEI = """<?xml version="1.0" encoding="UTF-8"?>
<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><body>
<entry><form><orth>house</orth></form><sense><cit type="trans"><quote>Haus</quote></cit></sense></entry>
</body></text></TEI>"""


@pytest.fixture
def name(client: httpx.Client, request: pytest.FixtureRequest) -> Iterator[str]:
    """A table name of this test's own; what is uploaded under it is removed."""
    name = f"t{abs(hash(request.node.nodeid)):x}"
    yield name
    client.post(f"/v1/tables/{name}/deactivate")
    table = client.get(f"/v1/tables/{name}")
    for version in table.json()["versions"] if table.is_success else ():
        client.delete(f"/v1/tables/{name}/versions/{version['version']}")


def put(client: httpx.Client, name: str, content: bytes | str, **options: object) -> httpx.Response:
    parameters = {"source": "en", "target": "de", **options}
    return client.put(f"/v1/tables/{name}", params=parameters, content=content)  # type: ignore[arg-type]


def test_an_upload_answers_as_the_contract_says(client: httpx.Client, name: str) -> None:
    response = put(client, name, "house\tHaus\t0.6\nhouse\tHeim\t0.4\ntoo few\n", format="tsv", activate=True)
    assert response.status_code == 201
    body = response.json()
    assert set(body) >= FIELDS
    assert {key: body[key] for key in ("name", "source", "target", "version", "active", "pruned")} == {
        "name": name, "source": "en", "target": "de", "version": 1, "active": True, "pruned": 0,
    }  # fmt: skip
    assert (body["source_terms"], body["entries"]) == (1, 2)
    assert len(body["checksum"]) == 64
    assert [line["line"] for line in body["rejected"]] == [3]
    assert "tabs" in body["rejected"][0]["reason"]


def test_a_header_is_told(client: httpx.Client, name: str) -> None:
    body = put(client, name, "source\ttarget\nhouse\tHaus\n").json()
    assert (body["header"], body["entries"], body["rejected"]) == (["source", "target"], 1, [])
    assert put(client, name, "house\tHaus\n", dry_run=True).json()["header"] is None


def test_a_file_of_rejected_lines_is_refused_and_keeps_nothing(client: httpx.Client, name: str) -> None:
    for options in ({"dry_run": True}, {"activate": True}):
        answer = put(client, name, "source\ttarget\nbad\nworse\n", **options)
        check_error(answer, 422, "line 2: expected 2 to 4 columns.*; line 3: expected")
        check_error(client.get(f"/v1/tables/{name}"), 404, "no translation table")


def test_unknown_parameters_are_refused_by_name(client: httpx.Client, name: str) -> None:
    answer = put(client, name, "house\tHaus\n", activte=True, Kind="glossary")
    check_error(
        answer,
        422,
        "unknown query parameter 'activte', 'Kind': there are source, target, format, encoding, separator, decimal, ",
    )
    check_error(client.get(f"/v1/tables/{name}"), 404, "no translation table")


@pytest.mark.parametrize(
    ("format", "content"),
    [
        ("tsv", "house\tHaus\n"),
        ("tsv", "\ufeffhouse\tHaus\t1.0\t1.0\r\n"),
        ("csv", 'house,"Haus"\n'),
        ("giza", "house Haus 1.0\n"),
        ("muse", "house Haus\n"),
        ("jsonl", '{"source": "house", "target": "Haus"}\n'),
        ("freedict", TEI),
    ],
)
def test_every_format_plain_and_packed(client: httpx.Client, name: str, format: str, content: str) -> None:
    plain = put(client, name, content, format=format)
    packed = put(client, name, gzip.compress(content.encode()), format=format)
    assert plain.status_code == packed.status_code == 201, plain.text
    assert plain.json()["checksum"] == packed.json()["checksum"]
    found = client.get(f"/v1/tables/{name}/terms/HOUSE", params={"version": 1}).json()
    assert found["folded"] == "house"
    assert [(one["term"], one["probability"]) for one in found["translations"]] == [("Haus", 1.0)]


def test_a_body_that_is_streamed_without_a_length(client: httpx.Client, name: str) -> None:
    def parts() -> Iterator[bytes]:
        for number in range(200):
            yield f"word{number}\tWort{number}\n".encode()

    response = client.put(f"/v1/tables/{name}", params={"source": "en", "target": "de"}, content=parts())
    assert (response.status_code, response.json()["entries"]) == (201, 200)


def test_all_versions_are_listed(client: httpx.Client, name: str) -> None:
    first = put(client, name, "house\tHaus\n", activate=True).json()
    put(client, name, "house\tHeim\n", kind="glossary", weight=2)
    table = client.get(f"/v1/tables/{name}").json()
    assert (table["name"], table["source"], table["target"], table["active_version"]) == (name, "en", "de", 1)
    one, two = table["versions"]
    assert (one["version"], one["active"], one["checksum"]) == (1, True, first["checksum"])
    assert (two["version"], two["active"], two["kind"], two["weight"]) == (2, False, "glossary", 2.0)
    assert datetime.fromisoformat(one["created_at"]).tzinfo is not None
    assert table in client.get("/v1/tables").json()["tables"]


def test_activation_and_the_way_back(client: httpx.Client, name: str) -> None:
    put(client, name, "house\tHaus\n", activate=True)
    put(client, name, "house\tHeim\n", activate=True)

    def active() -> list[str]:
        return [one["term"] for one in client.get(f"/v1/tables/{name}/terms/house").json()["translations"]]

    assert active() == ["Heim"]
    back = client.post(f"/v1/tables/{name}/versions/1/activate")
    assert (back.status_code, back.json()["active_version"]) == (200, 1)
    assert active() == ["Haus"]
    check_error(client.delete(f"/v1/tables/{name}/versions/1"), 409, "version 1 .* is active")
    assert client.delete(f"/v1/tables/{name}/versions/2").status_code == 204
    check_error(client.post(f"/v1/tables/{name}/versions/2/activate"), 404, "no version 2")
    assert client.post(f"/v1/tables/{name}/deactivate").json()["active_version"] is None
    check_error(client.get(f"/v1/tables/{name}/terms/house"), 404, "no active version")


def test_a_dry_run_keeps_nothing(client: httpx.Client, name: str) -> None:
    body = put(client, name, "house\tHaus\n", dry_run=True, activate=True).json()
    assert (body["version"], body["active"], body["dry_run"], body["entries"]) == (1, False, True, 1)
    check_error(client.get(f"/v1/tables/{name}"), 404, "no translation table")


@pytest.mark.parametrize("term", ["a/b", "50%", "c d", "ß", "日本", "x?y=1", "#", "."])
def test_any_term_can_be_looked_up(client: httpx.Client, name: str, term: str) -> None:
    put(client, name, json.dumps({"source": f"{term} q", "target": "Wort"}) + "\n", format="jsonl")
    found = client.get(f"/v1/tables/{name}/terms/{quote(f'{term} q', safe='')}", params={"version": 1})
    assert found.status_code == 200
    assert found.json()["term"] == f"{term} q"
    assert [one["term"] for one in found.json()["translations"]] == ["Wort"]


def test_lookups_answer_for_either_side_and_for_unknown_terms(client: httpx.Client, name: str) -> None:
    put(client, name, "house\tHaus\t0.5\t0.25\n", activate=True)
    path = f"/v1/tables/{name}/terms"
    other = client.get(f"{path}/Haus").json()
    assert other["language"] == "de"
    assert other["translations"] == [{"term": "house", "probability": 0.25, "inverse_probability": 0.5}]
    assert client.get(f"{path}/Haus", params={"side": "source"}).json()["translations"] == []
    assert client.get(f"{path}/nothing").json()["translations"] == []
    check_error(client.get(f"{path}/house", params={"version": 7}), 404, "no version 7")
    check_error(client.get(f"{path}/house", params={"version": "x"}), 422, "version")
    check_error(client.get("/v1/tables/unknown/terms/house"), 404, "no translation table named 'unknown'")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": "english"}, "source"),
        ({"target": "en"}, "different"),
        ({"target": None}, "target"),
        ({"format": "xls"}, "format"),
        ({"kind": "best"}, "kind"),
        ({"weight": "nan"}, "weight"),
        ({"weight": 0}, "weight"),
        ({"activate": "perhaps"}, "activate"),
    ],
)
def test_parameters_that_are_not_allowed_are_named(
    client: httpx.Client, name: str, options: dict[str, object], message: str
) -> None:
    given = {key: value for key, value in {"source": "en", "target": "de", **options}.items() if value is not None}
    response = client.put(f"/v1/tables/{name}", params=given, content=b"house\tHaus\n")  # type: ignore[arg-type]
    check_error(response, 422, message)
    check_error(client.get(f"/v1/tables/{name}"), 404, "no translation table")


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"", 422, "empty"),
        (b"one column\n", 422, "line 1"),
        (b"a\tb\t1.5\n", 422, "line 1.*over 1"),
        (b"a\tb\tNaN\n", 422, "line 1.*NaN"),
        (b"a\tb\t-1\n", 422, "line 1.*negative"),
        (b'{"source": "\\ud800", "target": "x"}\n', 422, "line 1"),
        (gzip.compress(b"house\tHaus\n" * 100, mtime=0)[:-9], 422, "ends early"),
        (gzip.compress(b"a\tb\n" * 2_000_000, mtime=0), 413, "more than|larger than"),
        (b"a\tb\n" * 600_000, 413, "larger than"),
        (b"\xff\xfeh\x00", 422, "line 1"),
        (bytes(range(256)) * 10, 422, "encoding="),
    ],
)
def test_files_that_are_no_tables(client: httpx.Client, name: str, body: bytes, status: int, message: str) -> None:
    format = "jsonl" if body.startswith(b"{") else "tsv"
    check_error(put(client, name, body, format=format, activate=True), status, message)
    check_error(client.get(f"/v1/tables/{name}"), 404, "no translation table")


def test_lines_that_are_no_entries_are_told_and_the_others_kept(client: httpx.Client, name: str) -> None:
    lines = ["house\tHaus", "bad", "a\tb\tnan", "x" * 70_000 + "\ty", "\tempty", "tree\tBaum"]
    body = put(client, name, "\n".join(lines)).json()
    assert [line["line"] for line in body["rejected"]] == [2, 3, 4, 5]
    assert (body["entries"], body["rejected_total"]) == (2, 4)


def test_conflicts(client: httpx.Client, name: str) -> None:
    put(client, name, "house\tHaus\n")
    check_error(put(client, name, "maison\tHaus\n", source="fr"), 409, "is from en to de")


@pytest.mark.parametrize("path", ["Big%20Name", "..", "a%2Fb", "-x", "n" * 65])
def test_names_that_are_not_allowed(client: httpx.Client, path: str) -> None:
    response = client.put(f"/v1/tables/{path}", params={"source": "en", "target": "de"}, content=b"a\tb\n")
    assert response.status_code in (404, 405, 422)
    check_error(response, response.status_code, ".")


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"content-encoding": "gzip"}, 400), ({"content-encoding": "br"}, 415), ({"content-encoding": "identity"}, 201)],
)
def test_content_encodings(client: httpx.Client, name: str, headers: dict[str, str], status: int) -> None:
    response = client.put(
        f"/v1/tables/{name}", params={"source": "en", "target": "de"}, content=b"house\tHaus\n", headers=headers
    )
    assert response.status_code == status


@pytest.mark.parametrize("version", ["0", "-1", "x", "99999999999999999999"])
def test_version_numbers_that_cannot_be(client: httpx.Client, version: str) -> None:
    check_error(client.post(f"/v1/tables/words/versions/{version}/activate"), 422, "version")
    check_error(client.delete(f"/v1/tables/words/versions/{version}"), 422, "version")


def test_what_was_detected_is_told_and_can_be_said(client: httpx.Client, name: str) -> None:
    content = "Deutsch;Englisch;Wortart;p\nBrücke;bridge;noun;0,5\nHaus;house;noun;1\n".encode("cp1252")
    body = put(client, name, content).json()
    assert body["detected"] == {
        "format": "csv",
        "encoding": "windows-1252",
        "separator": ";",
        "decimal": ",",
        "columns": ["target", "source", None, "probability"],
        "languages": ["de", "en", None, None],
    }
    assert body["header"] == ["Deutsch", "Englisch", "Wortart", "p"]
    assert (body["warnings"], body["warnings_total"]) == ([{"line": 1, "reason": "column 3 ('Wortart') is ignored"}], 1)
    said = {"encoding": "windows-1252", "separator": "semicolon", "decimal": "comma", "header": "true"}
    again = put(client, name, content, columns="target,source,-,probability", dry_run=True, **said).json()
    assert again["checksum"] == body["checksum"]
    table = client.get(f"/v1/tables/{name}").json()
    assert table["versions"][0]["format"] == "csv"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoding": "klingon"}, "encoding: 'klingon' is not known"),
        ({"separator": "ab"}, "separator: 'ab' is not known"),
        ({"decimal": ";"}, "decimal: ';' is no decimal mark"),
        ({"columns": "source"}, "columns: name source and target"),
        ({"columns": "source,target,word"}, "columns: .*'word' is none of these"),
        ({"header": "perhaps"}, "header"),
    ],
)
def test_ways_to_read_a_file_that_cannot_be(
    client: httpx.Client, name: str, options: dict[str, object], message: str
) -> None:
    check_error(put(client, name, "house\tHaus\n", **options), 422, message)


def test_an_ambiguous_file_is_refused_and_keeps_nothing(client: httpx.Client, name: str) -> None:
    check_error(put(client, name, "a,b;c\nd,e;f\n", activate=True), 422, "separator=")
    check_error(client.get(f"/v1/tables/{name}"), 404, "no translation table")


def test_a_table_comes_back_as_it_was_written_and_is_patched(client: httpx.Client, name: str) -> None:
    put(client, name, "US\tVereinigte Staaten\nStraße\tRoad\n…\tx\n", kind="glossary", activate=True).raise_for_status()
    export = client.get(f"/v1/tables/{name}/versions/1/export")
    assert export.headers["content-type"].startswith("text/tab-separated-values")
    assert export.text == "source\ttarget\nUS\tVereinigte Staaten\nStraße\tRoad\n"
    found = client.get(f"/v1/tables/{name}/terms/us").json()
    assert (found["folded"], found["matched"], found["translations"][0]["term"]) == (
        "US", ["US"], "Vereinigte Staaten",
    )  # fmt: skip
    change = {"add": [{"source": "us", "target": "uns"}], "remove": [{"source": "Straße"}]}
    patched = client.patch(f"/v1/tables/{name}", json=change)
    assert patched.status_code == 200, patched.text
    body = patched.json()
    assert {key: body[key] for key in ("version", "base_version", "entries", "added", "removed", "active", "kind")} == {
        "version": 2, "base_version": 1, "entries": 2, "added": 1, "removed": 1, "active": True, "kind": "glossary",
    }  # fmt: skip
    versions = client.get(f"/v1/tables/{name}").json()["versions"]
    assert [(one["active"], one["written_forms"]) for one in versions] == [(False, True), (True, True)]
    compared = client.get(f"/v1/tables/{name}/versions/1/diff/2").json()
    assert [(one["source"], one["target"]) for one in compared["added"]] == [("us", "uns")]
    assert [(one["source"], one["target"]) for one in compared["removed"]] == [("Straße", "Road")]
    assert compared["changed"] == []
    assert compared["next"] is None
    terms = client.get(f"/v1/tables/{name}/terms", params={"prefix": "V", "side": "target", "version": 2}).json()
    assert [(one["term"], one["translations"]) for one in terms["terms"]] == [("Vereinigte Staaten", 1)]


def test_a_patch_that_cannot_be_made_changes_nothing(client: httpx.Client, name: str) -> None:
    put(client, name, "house\tHaus\n", activate=True).raise_for_status()
    path = f"/v1/tables/{name}"
    for change, message in (
        ({"add": [{"source": "tree", "target": "Baum"}], "remove": [{"source": "nowhere"}]}, r"remove\[0\]"),
        ({"add": [{"source": "♥", "target": "Baum"}]}, r"add\[0\].source.*searchable"),
        ({"add": [{"source": "tree", "target": "Baum", "probability": 2}]}, "probability"),
        ({"remove": [{"source": "house"}]}, "no entry would be left"),
        ({}, "at least one"),
    ):
        check_error(client.patch(path, json=change), 422, message)
    assert len(client.get(path).json()["versions"]) == 1
    check_error(client.patch("/v1/tables/nowhere", json={"remove": [{"source": "x"}]}), 404, "no translation table")
    check_error(client.get(f"{path}/versions/9/export"), 404, "no version 9")
    check_error(client.get(f"{path}/versions/1/export?format=xlsx"), 422, "format")
    check_error(client.get(f"{path}/versions/1/diff/1?cursor=x"), 422, "cursor")


def test_entries_without_a_searchable_word_are_warnings(client: httpx.Client, name: str) -> None:
    for dry_run in (True, False):
        body = put(client, name, "house\tHaus\ntree\t♥♥\n… …\tBaum\nheart attack\tHerz\n", dry_run=dry_run).json()
        assert ([one["line"] for one in body["warnings"]], body["warnings_total"]) == ([2, 3], 2)
        assert all("no searchable word" in one["reason"] for one in body["warnings"])
        assert (body["entries"], body["rejected_total"]) == (2, 0)
    check_error(put(client, f"{name}x", "♥\t…\n"), 422, "line 1.*no searchable word")
    check_error(client.get(f"/v1/tables/{name}x"), 404, "no translation table")
