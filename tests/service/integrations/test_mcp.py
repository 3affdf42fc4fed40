"""MCP over HTTP and standard input and output, with the official client."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import httpx2
import pytest
from fastapi.testclient import TestClient
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

import dragoman
from dragoman import installation
from dragoman.cli.searching import OfDatabase
from dragoman.engine.settings import Settings
from dragoman.service.app import create_app
from dragoman.service.integrations.mcp_server import make_server
from tests.service.integrations.conftest import DOCUMENTS, Keyed
from tests.support.backbones import tiny_reader
from tests.support.errorbody import check_error
from tests.support.serving import COMMAND, environment

pytestmark = pytest.mark.slow

TOOLS = ["search", "fetch", "answer", "look_up_term", "add_term"]


@asynccontextmanager
async def connected(served: Keyed, key: str, mode: str = "auto") -> AsyncIterator[Client]:
    url = f"{served.server.url.rstrip('/')}/mcp"
    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {key}"}, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    """What a tool answers, which is the JSON in its one text."""
    result = await client.call_tool(tool, arguments)
    (item,) = result.content
    assert not result.is_error, item
    return json.loads(item.text)


async def fail(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    (item,) = result.content
    assert result.is_error
    return str(item.text)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_agent_searches_and_fetches(served: Keyed, mode: str) -> None:
    async def work() -> None:
        async with connected(served, served.search_key, mode) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS[:4]
            answer = await call(client, "search", query="volcano ash", collections=["news"])
            assert answer["results"][0] == {
                "id": "news/vulkan", "title": "Asche", "url": "https://example.org/vulkan",
            }  # fmt: skip
            others = {result["id"]: result["url"] for result in answer["results"]}
            assert others["news/a/b"] == "/v1/collections/news/documents/a%2Fb"
            assert await call(client, "fetch", id="news/a/b") == {
                "id": "news/a/b", "title": "a/b", "text": DOCUMENTS[1]["text"], "url": others["news/a/b"],
                "metadata": {"language": "de", "year": 2010, "topic": ""},
            }  # fmt: skip
            (table,) = (await call(client, "look_up_term", term="volcano", source="en", target="de"))["tables"]
            assert table["name"] == "words" and table["translations"][0]["term"] == "Vulkan"

    anyio.run(work)


def test_tools_say_what_is_wrong(served: Keyed) -> None:
    async def work() -> None:
        async with connected(served, served.search_key) as client:
            assert "query" in await fail(client, "search", query=" ")
            assert "words" in await fail(client, "search", query="x", words=1)
            assert "none" in await fail(client, "search", query="x", collections=["none"])
            assert "no document with id 'x'" in await fail(client, "fetch", id="news/x")
            assert "search result" in await fail(client, "fetch", id="news")
            assert "there is no tool 'dance'" in await fail(client, "dance")
            assert "admin" in await fail(client, "add_term", table="words", source="sea", target="Meer")

    anyio.run(work)
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    check_error(httpx.post(f"{served.server.url.rstrip('/')}/mcp", json=message), 401, "API key")


def test_an_admin_adds_a_term_that_the_next_search_uses(served: Keyed) -> None:
    async def work() -> None:
        async with connected(served, served.admin_key) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
            assert (await call(client, "search", query="bees", query_language="en"))["results"] == []
            added = await call(client, "add_term", table="words", source="bee", target="Biene")
            assert (added["version"], added["active"]) == (2, True)
            assert len((await call(client, "search", query="bees", query_language="en"))["results"]) == 1

    anyio.run(work)
    (last, *_) = served.admin.get("/v1/audit").json()["entries"]
    assert last["action"] == "table.patch"


def test_a_command_offers_the_tools_of_a_service(served: Keyed) -> None:
    async def work() -> None:
        arguments = [*COMMAND[1:], "mcp", "--url", served.server.url]
        command = StdioServerParameters(command=COMMAND[0], args=arguments, env=environment(key=served.search_key))
        async with Client(command) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
            assert len((await call(client, "search", query="volcano"))["results"]) == 2
            assert "admin" in await fail(client, "add_term", table="words", source="sea", target="Meer")

    anyio.run(work)


def test_tools_of_a_folder_answer_and_add_terms(tmp_path: Path) -> None:
    async def work() -> None:
        async with Client(make_server(lambda _: OfDatabase(db))) as client:
            assert (await call(client, "search", query="bees", query_language="en"))["results"] == []
            added = await call(client, "add_term", table="words", source="bee", target="Biene", probability=0.5)
            assert (added["version"], added["active"]) == (2, True)
            (found,) = (await call(client, "search", query="bees", query_language="en"))["results"]
            assert (await call(client, "fetch", id=found["id"]))["text"] == DOCUMENTS[2]["text"]
            read = await call(client, "answer", question="Was mögen Bienen?", question_language="de")
            assert read["model"] == "reader" and read["answers"][0]["id"].startswith("news/")
            assert read["answers"][0]["text"] in read["answers"][0]["sentence"]

    reader = tiny_reader(tmp_path / "reader")
    with dragoman.open(tmp_path / "data", reader=str(reader), embed="on_demand", rerank="never") as db:
        db.collection("news", "de").add(DOCUMENTS)
        db.tables.add("words", {"volcano": "Vulkan"}, source="en", target="de", activate=True)
        anyio.run(work)


def test_without_the_package_the_address_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "find_spec", lambda module: None if module == "mcp" else object())
    settings = Settings.load(data_dir=tmp_path, embed="on_demand")
    with TestClient(create_app(settings), base_url="http://localhost", raise_server_exceptions=False) as client:
        check_error(client.post("/mcp", json={}), 503, r"/mcp needs mcp, which is not installed: pip install .*\[mcp\]")
