"""A server of the service in a process of its own, with tables, for commands that ask it over HTTP."""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from dragoman.lexicon.table.compose import Kind
from dragoman_lab.evaluation.benchmark import BenchmarkError


@dataclass(frozen=True, slots=True)
class TableFile:
    """A translation table to upload before the queries run."""

    path: Path
    source: str
    target: str
    kind: Kind = "statistical"
    weight: float = 1.0


@contextlib.contextmanager
def serve_temporarily(
    tables: Sequence[TableFile] = (), data_dir: Path | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[httpx.Client]:
    """A server in a separate process on a free loopback port, with ``tables`` active.

    Its data directory is removed at the end, unless ``data_dir`` names one, which then keeps tables and collections for
    the next server. ``settings`` are environment variables.

    Raises:
        BenchmarkError: the server does not start, or the data directory has other tables.
    """
    with contextlib.ExitStack() as opened, socket.socket() as probe:
        folder = str(data_dir or opened.enter_context(tempfile.TemporaryDirectory(prefix="dragoman-")))
        Path(folder).mkdir(parents=True, exist_ok=True)
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        command = [
            sys.executable,
            "-m",
            "dragoman.cli.main",
            "serve",
            "--data-dir",
            folder,
            "--port",
            str(port),
        ]
        command += ["--host", "127.0.0.1"]
        environment = {name: variable for name, variable in os.environ.items() if name != "DRAGOMAN_DATABASE_URL"}
        environment["DRAGOMAN_CONFIG"] = os.devnull  # the file in the working directory belongs to another service
        environment.setdefault("DRAGOMAN_RERANK_SECONDS", "60")  # results must not depend on the load of the machine
        environment |= settings or {}
        log = Path(folder) / "server.log"
        with log.open("wb") as output:
            server = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=600) as client:
                _wait(client, server, log)
                _upload_missing(client, tables)
                yield client
        finally:
            server.terminate()
            server.wait()


def _wait(client: httpx.Client, server: subprocess.Popen[bytes], log: Path) -> None:
    while server.poll() is None:
        with contextlib.suppress(httpx.TransportError):
            if client.get("/readyz").is_success:
                return
        time.sleep(0.1)
    raise BenchmarkError(f"the evaluation's server did not start: {log.read_text(errors='replace')[-2000:]}")


def _upload_missing(client: httpx.Client, tables: Sequence[TableFile]) -> None:
    """Upload the tables that the server does not have, under names that tell the content of their files.

    Raises:
        BenchmarkError: it has others, which would change what is searched.
    """
    needed = {f"{table.source}-{table.target}-{table.kind}-{_checksum(table.path)[:12]}": table for table in tables}
    had = {table["name"] for table in require_success(client.get("/v1/tables")).json()["tables"]}
    if other := sorted(had - set(needed)):
        raise BenchmarkError(f"the data directory has other tables, such as {other[0]}: name another folder")
    for name, table in needed.items():
        if name not in had:
            _upload(client, name, table)


def _checksum(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _upload(client: httpx.Client, name: str, table: TableFile) -> None:
    parameters: dict[str, str | float | bool] = {
        "source": table.source,
        "target": table.target,
        "kind": table.kind,
        "weight": table.weight,
        "format": "tsv",
        "activate": True,
    }
    with table.path.open("rb") as stream:
        require_success(client.put(f"/v1/tables/{name}", params=parameters, content=stream))


def post(client: httpx.Client, path: str, **arguments: Any) -> httpx.Response:
    """The response to a POST.

    Raises:
        BenchmarkError: the response is an error.
    """
    return require_success(client.post(path, **arguments))


def require_success(response: httpx.Response) -> httpx.Response:
    """``response``, unless it is an error.

    Raises:
        BenchmarkError: with the response's text.
    """
    if response.is_error:
        raise BenchmarkError(f"{response.request.method} {response.request.url.path}: {response.text}")
    return response
