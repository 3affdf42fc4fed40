"""A PostgreSQL server for tests, started in a temporary directory where its programs are installed."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg

GIVEN = os.environ.get("DRAGOMAN_TEST_DATABASE_URL")


def programs() -> Path | None:
    """The newest folder that holds PostgreSQL's server programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    return found[-1].parent if found else None


def available() -> bool:
    return bool(GIVEN) or programs() is not None


DATABASES = ["sqlite", "postgresql"] if available() else ["sqlite"]
"""The kinds of database that this machine has."""


class Cluster:
    """A server of its own in a temporary directory, which can be stopped and started again."""

    def __init__(self) -> None:
        found = programs()
        assert found is not None
        self._programs = found
        self._directory = Path(tempfile.mkdtemp(prefix="dragoman-pg-"))
        user = _unprivileged()
        if user is not None:
            self._directory.chmod(0o755)
            shutil.chown(self._directory, user.pw_name)
        identity = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        self._common: dict[str, Any] = {"stdout": subprocess.DEVNULL, "cwd": self._directory, **identity}
        self.url = f"postgresql://dragoman@/postgres?host={self._directory}"
        command = ["initdb", "-D", "data", "-U", "dragoman", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C"]
        subprocess.run([found / command[0], *command[1:]], check=True, stderr=subprocess.PIPE, **self._common)
        self.start()

    def start(self) -> None:
        options = ["-k", self._directory, "-c", "listen_addresses=", "-c", "fsync=off"]
        command = [self._programs / "postgres", "-D", "data", *options]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL, **self._common)
        _wait(self.url, self.process)

    def stop(self) -> None:
        """End the server and with it all its connections, as an administrator's restart does."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)

    def crash(self) -> None:
        """End the server without a word; it recovers from its log when it starts again."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(60)

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self._directory, ignore_errors=True)


@contextmanager
def server() -> Iterator[str]:
    """The URL of a server that accepts connections."""
    if GIVEN:
        yield GIVEN
        return
    cluster = Cluster()
    try:
        yield cluster.url
    finally:
        cluster.remove()


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
