"""``POST /v1/tables/{name}/train``: a job that makes a version of aligned text or TMX."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.errorbody import check_error

PAIRS = [
    ("Das Haus.", "The house."),
    ("Das Buch.", "The book."),
    ("Ein Buch.", "A book."),
    ("Ein Haus.", "A house."),
    ("Das kleine Haus.", "The small house."),
    ("Ein kleines Buch.", "A small book."),
]
LINES = "".join(f"{de}\t{en}\n" for de, en in PAIRS)
TMX = '<?xml version="1.0"?><tmx version="1.4"><body>' + "".join(
    f'<tu><tuv xml:lang="de"><seg>{de}</seg></tuv><tuv xml:lang="en"><seg>{en}</seg></tuv></tu>' for de, en in PAIRS
)


@pytest.fixture
def name(client: httpx.Client, request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"t{abs(hash(request.node.nodeid)):x}"
    yield name
    client.post(f"/v1/tables/{name}/deactivate")
    table = client.get(f"/v1/tables/{name}")
    for version in table.json()["versions"] if table.is_success else ():
        client.delete(f"/v1/tables/{name}/versions/{version['version']}")


def train(client: httpx.Client, name: str, text: str, **options: object) -> httpx.Response:
    parameters: Any = {"source": "en", "target": "de", **options}
    return client.post(f"/v1/tables/{name}/train", params=parameters, content=text.encode())


def finish(client: httpx.Client, sent: httpx.Response) -> dict[str, Any]:
    assert sent.status_code == 202, sent.text
    path = f"/v1/jobs/{sent.json()['id']}"
    until = time.monotonic() + 60
    while (job := client.get(path).json())["finished_at"] is None and time.monotonic() < until:
        time.sleep(0.1)
    done: dict[str, Any] = job
    return done


def test_text_and_tmx_become_versions_that_are_alike(client: httpx.Client, name: str) -> None:
    job = finish(client, sent := train(client, name, LINES))
    assert (job["type"], job["status"], job["counts"]) == (
        "train",
        "completed",
        {"total": 1, "completed": 1, "failed": 0},
    )
    result = client.get(f"/v1/jobs/{job['id']}/results").json()
    assert result["custom_id"] == name
    response = result["response"]
    assert (response["version"], response["active"], response["pairs_read"]) == (1, False, 6)
    assert (response["pairs_used"], response["left_out"]) == (6, [])
    assert sent.json()["table_versions"] == []
    check_error(client.get(f"/v1/jobs/{job['id']}/results?format=trec"), 422, "format: the result of a training")
    assert finish(client, train(client, name, TMX + "</body></tmx>", activate=True))["status"] == "completed"
    versions = client.get(f"/v1/tables/{name}").json()["versions"]
    assert sorted((version["version"], version["active"]) for version in versions) == [(1, False), (2, True)]
    exports = [client.get(f"/v1/tables/{name}/versions/{version}/export").text for version in (1, 2)]
    assert exports[0] == exports[1]
    assert exports[0].startswith("source\ttarget\tprobability\tinverse_probability\n")
    best = client.get(f"/v1/tables/{name}/terms/book").json()["translations"][0]["term"]
    assert best.lower() == "buch"


def test_what_cannot_be_trained_is_refused_or_an_error_of_the_job(client: httpx.Client, name: str) -> None:
    check_error(train(client, name, LINES, target="en"), 422, "different languages")
    check_error(train(client, name, LINES, columns="source"), 422, "columns")
    check_error(train(client, name, LINES, colums="x"), 422, "colums")
    for text, reason in (
        ("one column\n", "1 tab-separated column where 2 are needed"),
        (TMX, "the text: .*not well-formed"),
        (TMX.replace('"de"', '"fr"') + "</body></tmx>", "no unit has text in both en and de"),
    ):
        job = finish(client, train(client, name, text))
        assert (job["status"], job["counts"]["failed"]) == ("completed", 1)
        error = client.get(f"/v1/jobs/{job['id']}/errors").json()["error"]
        assert error["status"] == 422
        assert "/" not in error["message"].split(":")[0]
        assert re.search(reason, error["message"]), error
    check_error(client.get(f"/v1/tables/{name}"), 404, "no translation table")
