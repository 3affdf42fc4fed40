"""A PostgreSQL server for tests, started in a temporary directory where its programs are installed."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg

GIVEN = os.environ.get("DRAGOMAN_TEST_DATABASE_URL")


def programs() -> Path | None:
    """The newest folder that holds PostgreSQL's server programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    return found[-1].parent if found else None


def available() -> bool:
    return bool(GIVEN) or programs() is not None


@contextmanager
def server() -> Iterator[str]:
    """The URL of a server that accepts connections."""
    if GIVEN:
        yield GIVEN
        return
    binaries = programs()
    assert binaries is not None
    directory = Path(tempfile.mkdtemp(prefix="dragoman-pg-"))
    user = _unprivileged()
    if user is not None:
        directory.chmod(0o755)
        shutil.chown(directory, user.pw_name)
    identity = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    data = directory / "data"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "cwd": directory, **identity}
    subprocess.run(
        [binaries / "initdb", "-D", data, "-U", "dragoman", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C"],
        check=True,
        **quiet,
    )
    process = subprocess.Popen(
        [binaries / "postgres", "-D", data, "-k", directory, "-c", "listen_addresses=", "-c", "fsync=off"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=directory,
        **identity,
    )
    try:
        url = f"postgresql://dragoman@/postgres?host={directory}"
        _wait(url, process)
        yield url
    finally:
        process.terminate()
        process.wait(30)
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def database(url: str) -> Iterator[str]:
    """The URL of a fresh database on the server, dropped afterwards."""
    name = f"dragoman_{uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        try:
            path, _, query = url.partition("?")
            yield f"{path.rsplit('/', 1)[0]}/{name}" + (f"?{query}" if query else "")
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _unprivileged() -> pwd.struct_passwd | None:
    """Who runs the server, since PostgreSQL refuses to run as root."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    return names.get("postgres") or names["nobody"]


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        assert process.poll() is None, "PostgreSQL ended while it started"
        try:
            psycopg.connect(url, connect_timeout=5).close()
        except psycopg.OperationalError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("PostgreSQL did not start")
