"""Examples of hostile and odd inputs, each with the one figure that it is about, before and now, in one run.

    python -m dragoman_lab.benchmarks.hostile.examples [--baseline CHECKOUT]

Every example has a service of its own with the collections of :mod:`benchmarks.hostile.service`. A client leaves after
30 seconds, which then stand for whatever it would have taken. A service that dies is named so.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from itertools import combinations, islice
from pathlib import Path

from dragoman_lab.benchmarks.hostile.cost import ROOT, Watcher, send
from dragoman_lab.benchmarks.hostile.inputs import NDJSON, TEXT, Request
from dragoman_lab.benchmarks.hostile.service import Service, sounding_words
from dragoman_lab.benchmarks.memory import mebibytes

_LEAVE = 30.0
_GRANTED = 6 * 1024**3
Example = Callable[[Service, Watcher], str]


def _search(query: str, role: str = "search", **more: object) -> Request:
    body = json.dumps({"query": query} | more).encode()
    return Request(role, "POST", "/v1/search", body, leave=_LEAVE)


def _time_request(service: Service, request: Request) -> tuple[float, str]:
    begun = time.monotonic()
    status = send(service.target, request)
    return time.monotonic() - begun, status


def _cost(service: Service, watcher: Watcher, requests: list[Request]) -> str:
    with ThreadPoolExecutor(len(requests)) as clients:
        statuses = sorted(set(clients.map(lambda request: send(service.target, request), requests)))
    seen = watcher.report()
    died = ", died" if service.process.poll() is not None else ""
    answered = f"{'/'.join(statuses)}, silent {seen['healthz']:.1f} s"
    return f"{answered}, {seen['memory'] - watcher.base:+.0f} MiB{died}"


def _many(size: int) -> bytes:
    return b'{"query":"x","documents":[' + b",".join([b"1"] * (size // 2)) + b"]}"


def four_megabytes(service: Service, watcher: Watcher) -> str:
    """4 MB of documents that are numbers."""
    return _cost(service, watcher, [Request("search", "POST", "/v1/rerank", _many(4_000_000), leave=_LEAVE)])


def body_limit(service: Service, watcher: Watcher) -> str:
    """57 MB of documents that are numbers."""
    return _cost(service, watcher, [Request("search", "POST", "/v1/rerank", _many(57_000_000), leave=_LEAVE)])


def large_bodies(service: Service, watcher: Watcher) -> str:
    """25 bodies of 60 MB at once."""
    body = b'{"query":"' + b"a" * 60_000_000 + b'"}'
    return _cost(service, watcher, [Request("search", "POST", "/v1/search", body, leave=_LEAVE)] * 25)


def packed_table(service: Service, watcher: Watcher) -> str:
    """A packed table of a million entries, bytes an entry."""
    rows = (f"source{index // 2}\tZiel{index}\t0.{index % 9 + 1}\n" for index in range(1_000_000))
    body = gzip.compress("".join(rows).encode(), 1)
    path = "/v1/tables/packed?source=en&target=de&format=tsv&dry_run=true"
    status = send(service.target, Request("admin", "PUT", path, body, TEXT, leave=600))
    more = watcher.report()["memory"] - watcher.base
    return f"{status}, {more * 1024**2 / 1e6:.0f} bytes an entry"


def grouped_digits(service: Service, watcher: Watcher) -> str:
    """32 kB of 1.000.000…0 ཀ to rerank."""
    body = {"query": "x", "document_language": "de", "documents": ["1" + ".000" * 8000 + "0 ཀ", "a"]}
    seconds, status = _time_request(
        service, Request("search", "POST", "/v1/rerank", json.dumps(body).encode(), leave=_LEAVE)
    )
    return f"{status} after {seconds:.1f} s"


def marks(service: Service, watcher: Watcher) -> str:
    """A document of 300,000 combining marks, 600 kB."""
    body = json.dumps({"id": "1", "text": "a" + "\u0301\u0323" * 150_000}).encode()
    path = "/v1/collections/scratch/documents"
    return _cost(service, watcher, [Request("admin", "POST", path, body, NDJSON, leave=_LEAVE)])


def sound_alike(service: Service, watcher: Watcher) -> str:
    """A query of 1.7 kB over 20,000 words that sound alike."""
    query = " ".join(islice(sounding_words(), 7, None, 60))[:1700]
    seconds, status = _time_request(service, _search(query, collections=["sounds"], query_language="en", method="psq"))
    return f"{status} after {seconds:.1f} s"


def four_queries(service: Service, watcher: Watcher) -> str:
    """Four queries of 10 kB, and how long a search of another key waits."""
    query = " ".join(islice(sounding_words(), 3, None, 11))[:10_000]
    requests = [_search(query, collections=["sounds"], query_language="en", method="psq")] * 4
    watcher.report()
    with ThreadPoolExecutor(4) as clients:
        list(clients.map(lambda request: send(service.target, request), requests))
    return f"waits {watcher.report()['search']:.1f} s"


def left_alone(service: Service, watcher: Watcher) -> str:
    """What goes on after a client left: seconds of processor in the 15 s after it."""
    query = " ".join(islice(sounding_words(), 7, None, 60))[:1700]
    request = _search(query, collections=["sounds"], query_language="en", method="psq")
    send(service.target, Request(request.role, request.method, request.path, request.body, leave=5.0))
    watcher.close()
    before = _processor(service)
    time.sleep(15.0)
    return f"{_processor(service) - before:.1f} s"


def long_documents(service: Service, watcher: Watcher) -> str:
    """A search that finds five documents of five million characters."""
    request = _search("Vulkan Norden gestrichen", collections=["long"], query_language="de", method="psq", rerank=False)
    first, _ = _time_request(service, request)
    seconds, status = _time_request(service, request)
    return f"{status} after {first:.1f} s, again after {seconds:.1f} s"


def large_answer(service: Service, watcher: Watcher) -> str:
    """The answer of one search for 1,000 hits with all that may be asked of it."""
    words = "Asche Vulkan Flüge Norden Schiffe Hafen Ladung Wasser Krieg Stadt "
    lines = (
        json.dumps({"id": str(index), "text": words * 20, "metadata": {"a": "b" * 20_000}}) for index in range(1000)
    )
    with service.client("admin") as client:
        kind = {"Content-Type": NDJSON}
        client.post("/v1/collections/scratch/documents", content="\n".join(lines), headers=kind).raise_for_status()
    body = {"query": words, "query_language": "de", "collections": ["scratch"], "method": "psq", "rerank": False}
    more = {"explain": True, "gloss": True, "top_k": 1000}
    with service.client("search") as client:
        answer = client.post("/v1/search", json=body | more)
    return f"{answer.status_code}, {len(answer.content) / 1e6:.1f} MB"


def no_key(service: Service, watcher: Watcher) -> str:
    """250 callers without a key that go on with their bodies after 401: those still open after 20 s."""
    with ExitStack() as stack:
        opened = [
            stack.enter_context(socket.create_connection((service.target.host, service.target.port)))
            for _ in range(250)
        ]
        for connection in opened:
            connection.sendall(b"POST /v1/search HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n")
        until = time.monotonic() + 20
        while time.monotonic() < until:
            for connection in opened:
                with suppress(OSError):
                    connection.sendall(b"x")
            time.sleep(1.0)
        return f"{sum(map(_open, opened))} of 250"


def _open(connection: socket.socket) -> bool:
    connection.settimeout(0.2)
    try:
        while connection.recv(1 << 16):
            pass
    except TimeoutError:
        return True
    except OSError:
        pass
    return False


def out_of_files(service: Service, watcher: Watcher) -> str:
    """300 idle connections where 256 files may be open: whether ``/healthz`` answers, and the log."""
    used = len(list(Path(f"/proc/{service.process.pid}/fd").iterdir()))
    resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE, (used + 100, used + 100))
    with ExitStack() as stack:
        for _ in range(300):
            with suppress(OSError):
                address = (service.target.host, service.target.port)
                stack.enter_context(socket.create_connection(address, timeout=2))
        before = service.logged
        answers = []
        for _ in range(10):
            answers.append(send(service.target, Request("none", "GET", "/healthz", leave=3.0)))
            time.sleep(0.5)
        return f"{answers.count('200')} of 10 answered, {(service.logged - before) / 1024:.0f} KiB of log"


def unread(service: Service, watcher: Watcher) -> str:
    """Six clients that ask for documents of five million characters 30 times and read nothing."""
    key = service.target.keys["search"]
    request = f"GET /v1/collections/long/documents/1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n\r\n"
    watcher.report()
    with ExitStack() as stack:
        for _ in range(6):
            for _ in range(30):
                with suppress(OSError):
                    connection = stack.enter_context(socket.socket())
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                    connection.connect((service.target.host, service.target.port))
                    connection.sendall(request.encode())
        time.sleep(15.0)
        return f"{watcher.report()['memory'] - watcher.base:+.0f} MiB"


def slow_uploads(service: Service, watcher: Watcher) -> str:
    """Eight uploads at 1 KiB a second, and how long a quick one waits."""
    head = "POST /v1/collections/scratch/documents HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-ndjson\r\n"
    head += f"Authorization: Bearer {service.target.keys['admin']}\r\nContent-Length: 90000000\r\n\r\n"
    stopped = threading.Event()
    with ExitStack() as stack:
        opened = [
            stack.enter_context(socket.create_connection((service.target.host, service.target.port))) for _ in range(8)
        ]

        def drip() -> None:
            while not stopped.wait(1.0):
                for connection in opened:
                    with suppress(OSError):
                        connection.sendall(b" " * 1100)

        for connection in opened:
            connection.sendall(head.encode())
        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        time.sleep(3.0)
        path, line = "/v1/collections/scratch/documents", b'{"id":"quick","text":"Haus"}'
        seconds, status = _time_request(service, Request("admin", "POST", path, line, NDJSON, leave=_LEAVE))
        stopped.set()
        thread.join()
    return f"{status} after {seconds:.1f} s"


def activations(service: Service, watcher: Watcher) -> str:
    """200 activations of a table of 20,000 entries."""
    with service.client("admin") as client:
        for version in range(2):
            rows = "".join(f"term{index}\tZiel{index + version}\n" for index in range(20_000))
            path = "/v1/tables/swapped?source=en&target=de&format=tsv&activate=true"
            client.put(path, content=rows, headers={"Content-Type": TEXT}).raise_for_status()
        disk, memory = _disk(service), mebibytes(service.process.pid)
        for index in range(200):
            client.post(f"/v1/tables/swapped/versions/{index % 2 + 1}/activate").raise_for_status()
            client.post("/v1/search", json={"query": f"term{index}", "rerank": False, "method": "psq"})
    deleted = sum("(deleted)" in _link(path) for path in Path(f"/proc/{service.process.pid}/fd").iterdir())
    more = mebibytes(service.process.pid) - memory
    return f"{more:+.0f} MiB, {deleted} deleted files held, {_disk(service) - disk:+.0f} MiB of disk"


def table_choices(service: Service, watcher: Watcher) -> str:
    """126 searches, each with another choice of tables."""
    with service.client("admin") as admin:
        names = [f"choice{index}" for index in range(9)]
        for name in names:
            rows = "".join(f"term{index}\tZiel{index}\n" for index in range(20_000))
            path = f"/v1/tables/{name}?source=en&target=de&format=tsv&activate=true"
            admin.put(path, content=rows, headers={"Content-Type": TEXT}).raise_for_status()
    disk = _disk(service)
    with service.client("search") as client:
        for chosen in combinations(names, 4):
            body = {"query": "term1", "tables": chosen, "rerank": False, "method": "psq", "collections": ["demo_de"]}
            client.post("/v1/search", json=body).raise_for_status()
    return f"{_disk(service) - disk:+.0f} MiB of disk"


def collections(service: Service, watcher: Watcher) -> str:
    """Up to 300 collections, made within a minute where 256 files may be open: how many, and the answers."""
    resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE, (256, 256))
    statuses: dict[int, int] = {}
    until = time.monotonic() + 2 * _LEAVE
    with service.client("admin") as client:
        for index in range(300):
            if time.monotonic() > until:
                break
            status = client.post("/v1/collections", json={"name": f"many{index}", "language": "de"}).status_code
            statuses[status] = statuses.get(status, 0) + 1
    return ", ".join(f"{count} times {status}" for status, count in sorted(statuses.items()))


def it_ends(service: Service, watcher: Watcher) -> str:
    """SIGTERM while searches and rerank requests of all sizes run: seconds to the end."""
    query = " ".join(islice(sounding_words(), 3, None, 11))[:10_000]
    requests = [_search(query, collections=["sounds"], query_language="en", method="psq")] * 8
    body = {"query": "x", "document_language": "de", "documents": ["1" + ".000" * 8000 + "0 ཀ"] * 8}
    requests += [Request("search", "POST", "/v1/rerank", json.dumps(body).encode(), leave=_LEAVE)] * 4
    with ThreadPoolExecutor(len(requests)) as clients:
        for request in requests:
            clients.submit(send, service.target, request)
        time.sleep(3.0)
        seconds = service.stop(90.0)
    return f"{seconds:.0f} s"


def leaving(service: Service, watcher: Watcher) -> str:
    """20 clients that leave in mid-body: those counted as faults."""
    key = service.target.keys["search"]
    head = f"POST /v1/rerank HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n"
    for _ in range(20):
        with socket.create_connection((service.target.host, service.target.port)) as connection:
            connection.sendall(head.encode() + b'Content-Length: 1000\r\n\r\n{"query":')
            time.sleep(0.1)
    time.sleep(2.0)
    with service.client("search") as client:
        lines = client.get("/metrics").text.splitlines()
    counted = [line for line in lines if line.startswith("dragoman_requests_total") and 'status="5' in line]
    return f"{sum(float(line.split()[-1]) for line in counted if 'rerank' in line):.0f} of 20"


EXAMPLES: tuple[Example, ...] = (
    four_megabytes, body_limit, large_bodies, packed_table, grouped_digits, marks, sound_alike, four_queries,
    left_alone, long_documents, large_answer, no_key, out_of_files, unread, slow_uploads, activations,
    table_choices, collections, it_ends, leaving,
)  # fmt: skip


def _processor(service: Service) -> float:
    fields = Path(f"/proc/{service.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _disk(service: Service) -> float:
    sizes = (path.stat().st_blocks * 512 for path in service.data_dir.rglob("*") if path.is_file())
    held = Path(f"/proc/{service.process.pid}/fd").iterdir()
    deleted = (path.stat().st_blocks * 512 for path in held if "(deleted)" in _link(path))
    return (sum(sizes) + sum(deleted)) / 1024**2


def _link(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""


def measure(checkout: Path, chosen: list[Example]) -> dict[str, str]:
    """The figure of each example."""
    figures: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        prepared = Service(checkout, Path(folder, "prepared"))
        prepared.prepare()
        prepared.stop()
        for example in chosen:
            data_dir = Path(folder, example.__name__)
            shutil.copytree(prepared.data_dir, data_dir)
            service = prepared.of(data_dir, _GRANTED)
            service.start()
            watcher = Watcher(service)
            try:
                figures[example.__name__] = example(service, watcher)
            except Exception as fault:
                died = "died" if service.process.poll() is not None else "failed"
                figures[example.__name__] = f"{died}: {type(fault).__name__}"
            finally:
                watcher.close()
                service.kill()
                shutil.rmtree(data_dir)
            print(f"{example.__name__}: {figures[example.__name__]}", flush=True)  # noqa: T201
    return figures


def main() -> None:
    """Print a table of the examples."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baseline", type=Path, help="another checkout, which is tried first")
    parser.add_argument("--only", nargs="+", choices=[example.__name__ for example in EXAMPLES])
    arguments = parser.parse_args()
    chosen = [example for example in EXAMPLES if not arguments.only or example.__name__ in arguments.only]
    checkouts = {"before": arguments.baseline, "now": ROOT}
    figures = {name: measure(path.resolve(), chosen) for name, path in checkouts.items() if path is not None}
    print(f"| example | {' | '.join(figures)} |\n|---|{'---|' * len(figures)}")  # noqa: T201
    for example in chosen:
        row = " | ".join(by_example[example.__name__] for by_example in figures.values())
        print(f"| {(example.__doc__ or '').rstrip('.')} | {row} |")  # noqa: T201


if __name__ == "__main__":
    main()
