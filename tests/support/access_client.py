"""Keys for tests, made by the command line."""

from __future__ import annotations

from pathlib import Path

import httpx

from tests.support.serving import Server, dragoman


def make_key(data_dir: Path, database_url: str | None, *scopes: str, **options: object) -> str:
    """A key that the command line made, whether a server runs or not."""
    chosen = [argument for scope in scopes for argument in ("--scope", scope)]
    for name, value in options.items():
        chosen += [f"--{name.replace('_', '-')}", str(value)]
    done = dragoman("keys", "create", *chosen, "--data-dir", data_dir, **_database(database_url))
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1]


def keys_command(data_dir: Path, database_url: str | None, *arguments: str) -> str:
    """What another command about keys printed."""
    done = dragoman("keys", *arguments, "--data-dir", data_dir, **_database(database_url))
    assert done.returncode == 0, done.stderr
    return done.stdout


def identifier(key: str) -> str:
    return key.split("_")[1]


def authorization(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def ask(running: Server, key: str | None, method: str, path: str, **sent: object) -> httpx.Response:
    headers = {} if key is None else authorization(key)
    return running.client.request(method, path, headers=headers, **sent)  # type: ignore[arg-type]


def _database(url: str | None) -> dict[str, str]:
    return {} if url is None else {"database_url": url}
