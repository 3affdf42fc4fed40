"""Serve Dragoman behind nginx under a prefix that it strips, and under one that it leaves; check what a browser loads.

nginx is that of PATH, or else Debian's package, unpacked into .integrations. Nothing is installed on the machine.
"""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urljoin

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".integrations" / "nginx"
PREFIX = "/tools/dragoman"
_START_SECONDS, _DOWNLOAD_SECONDS = 120, 120

_CONFIGURATION = """daemon off;
pid {folder}/nginx.pid;
error_log stderr error;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        location {prefix}/ {{ proxy_pass http://127.0.0.1:{service}{slash}; }}
    }}
}}
"""


def main() -> None:
    nginx = find_nginx()
    with tempfile.TemporaryDirectory() as folder, serve(Path(folder) / "data") as service:
        for slash in ("", "/"):
            with proxy(nginx, Path(folder), service, slash) as address:
                check(address + PREFIX)
            print(f"passed: nginx that {'strips' if slash else 'leaves'} the prefix", flush=True)  # noqa: T201


def find_nginx() -> str:
    """nginx of PATH, or of Debian's package."""
    if (installed := shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin")) is not None:
        return installed
    unpacked = FOLDER / "usr" / "sbin" / "nginx"
    if not unpacked.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        download = ["apt-get", "download", "nginx"]
        subprocess.run(download, cwd=FOLDER, check=True, timeout=_DOWNLOAD_SECONDS, stdout=subprocess.DEVNULL)
        for package in FOLDER.glob("nginx_*.deb"):
            subprocess.run(["dpkg", "-x", package, FOLDER], check=True)
    return str(unpacked)


@contextmanager
def serve(data_dir: Path) -> Iterator[int]:
    """The port of a service under the prefix."""
    port = _free_port()
    options = ["--port", str(port), "--data-dir", str(data_dir), "--root-path", PREFIX, "--log-level", "warning"]
    command = [sys.executable, "-m", "dragoman.cli.main", "serve", *options]
    with _run(command, f"http://127.0.0.1:{port}/healthz"):
        yield port


@contextmanager
def proxy(nginx: str, folder: Path, service: int, slash: str) -> Iterator[str]:
    """The address of nginx before a service; with ``slash`` it strips the prefix."""
    port = _free_port()
    configuration = folder / "nginx.conf"
    filled = _CONFIGURATION.format(folder=folder, port=port, prefix=PREFIX, service=service, slash=slash)
    configuration.write_text(filled, encoding="utf-8")
    address = f"http://127.0.0.1:{port}"
    command = [nginx, "-p", str(folder), "-e", "stderr", "-c", str(configuration)]
    with _run(command, f"{address}{PREFIX}/healthz"):
        yield address


def check(base: str) -> None:
    """Load the page, its documentation and the API as a browser does, which sees the prefix."""
    for page in ("/", "/docs", "/docs/"):
        seen = base + page
        names = re.findall(r'(?:src|href)="((?!data:)[^"]+)"', _get(seen))
        assert len(names) >= 2, page
        for name in names:
            assert _get(urljoin(seen, name)), name
    assert _get(base).startswith("<!doctype html>"), "a prefix without a slash leads to the page"
    assert json.loads(_get(f"{base}/openapi.json"))["servers"] == [{"url": PREFIX}]
    new = json.dumps({"name": "behind", "language": "de"}).encode()
    assert json.loads(_get(f"{base}/v1/collections", new))["name"] == "behind"
    assert json.loads(_get(f"{base}/v1/collections/"))["collections"][0]["name"] == "behind"
    request = urllib.request.Request(f"{base}/v1/collections/behind", method="DELETE")
    assert urllib.request.urlopen(request, timeout=30).status == 204


def _get(address: str, body: bytes | None = None) -> str:
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"} if body else {})
    with urllib.request.urlopen(request, timeout=30) as response:
        content: bytes = response.read()
    return content.decode(errors="replace")


@contextmanager
def _run(command: list[str], probe: str) -> Iterator[None]:
    """Run a server, from when it answers a probe."""
    running = subprocess.Popen(command, cwd=ROOT)
    try:
        until = time.monotonic() + _START_SECONDS
        while not _answers(probe):
            if running.poll() is not None or time.monotonic() > until:
                sys.exit(f"failed: {command[0]} does not serve {probe}")
            time.sleep(0.1)
        yield
    finally:
        running.terminate()
        running.wait(60)


def _answers(address: str) -> bool:
    try:
        return bool(_get(address))
    except (urllib.error.URLError, OSError):
        return False


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


if __name__ == "__main__":
    main()
