"""The HTTP client keeps connections that are good, and says how a request ended that has no response."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from dragoman.service.remote.http_client import (
    ConnectError,
    Disconnected,
    HttpClient,
    ReadTimeout,
)
from dragoman.service.remote.responses import ProtocolError

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
CHUNKS = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
LAST = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok"


class Scripted:
    """A server whose n-th connection answers its requests with the n-th script; after that it closes, or waits."""

    def __init__(self, folder: Path, scripts: Sequence[Sequence[bytes]], closes: bool = True) -> None:
        self.url = f"unix://{folder / 'socket'}"
        self.requests: list[list[bytes]] = []
        self.ended = 0
        self._scripts, self._closes = scripts, closes

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests: list[bytes] = []
        self.requests.append(requests)
        for answer in self._scripts[len(self.requests) - 1]:
            requests.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(answer)
        if not self._closes:
            await reader.read()
        self.ended += 1
        writer.close()

    def run(self, use: Callable[[HttpClient], Awaitable[None]]) -> None:
        async def main() -> None:
            async with await asyncio.start_unix_server(self.serve, self.url.removeprefix("unix://")):
                client = HttpClient(self.url, {"Authorization": "Bearer a"})
                await use(client)
                client.close()

        asyncio.run(main())


async def get(client: HttpClient) -> bytes:
    response = await client.send("GET", "/path", headers={"X-Id": "b"}, seconds=10)
    try:
        return await response.read()
    finally:
        response.close()


def test_a_connection_is_used_again(tmp_path: Path) -> None:
    server = Scripted(tmp_path, [[OK, CHUNKS, OK, LAST], [OK]])

    async def use(client: HttpClient) -> None:
        assert [await get(client) for _ in range(5)] == [b"ok"] * 5

    server.run(use)
    assert [len(requests) for requests in server.requests] == [4, 1]
    assert server.requests[0][0] == (
        b"GET /path HTTP/1.1\r\nHost: worker\r\nAuthorization: Bearer a\r\nX-Id: b\r\nContent-Length: 0\r\n\r\n"
    )


def test_a_connection_that_the_server_has_closed_is_not_used_again(tmp_path: Path) -> None:
    server = Scripted(tmp_path, [[OK], [OK]])

    async def use(client: HttpClient) -> None:
        for _ in range(2):
            assert await get(client) == b"ok"
            while server.ended < len(server.requests):
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.01)

    server.run(use)
    assert len(server.requests) == 2


def test_a_response_that_is_not_read_to_its_end_closes_the_connection(tmp_path: Path) -> None:
    server = Scripted(tmp_path, [[CHUNKS[:-5]]], closes=False)

    async def use(client: HttpClient) -> None:
        response = await client.send("GET", "/")
        async for part in response.parts():
            assert part == b"ok"
            break
        response.close()
        while not server.ended:
            await asyncio.sleep(0.01)

    server.run(use)


@pytest.mark.parametrize(
    ("script", "closes", "fault"),
    [
        ([b""], True, Disconnected), ([OK[:-1]], True, Disconnected), ([CHUNKS[:-2]], True, Disconnected),
        ([b""], False, ReadTimeout), ([OK[:-1]], False, ReadTimeout), ([b"no HTTP\r\n\r\n"], False, ProtocolError),
    ],
)  # fmt: skip
def test_a_request_without_a_response_says_why(
    tmp_path: Path, script: list[bytes], closes: bool, fault: type[Exception]
) -> None:
    async def use(client: HttpClient) -> None:
        with pytest.raises(fault):
            response = await client.send("GET", "/", seconds=0.1)
            await response.read()

    Scripted(tmp_path, [script], closes).run(use)


@pytest.mark.parametrize("url", ["unix:///nothing/there", "http://127.0.0.1:1", "http://127.0.0.1:99999"])
def test_a_server_that_is_not_there_says_so(url: str) -> None:
    with pytest.raises(ConnectError):
        asyncio.run(HttpClient(url, {}).send("GET", "/"))
