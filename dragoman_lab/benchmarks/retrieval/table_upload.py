"""Time and memory of the upload of a translation table, with SQLite and PostgreSQL.

    python -m dragoman_lab.benchmarks.retrieval.table_upload --entries 1000000

Generates a table of random words with eight translations each, and uploads it to a separate `dragoman serve` process
with each database: once without activation, and once under another name with activation. If PostgreSQL is installed, it
is started in a temporary folder with `fsync` off, as for the tests; `--database-url` selects an empty database
instead. CPU seconds are user and system time of the service, and of PostgreSQL if this program started it; memory is
the peak increase of the service. Then the parts of an upload are measured in this process.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.table import Table as Printed

from dragoman.engine.settings import Settings
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.lexicon.table.compose import Member, analyse_table, merge
from dragoman.store.tables.table_reader import read_table
from dragoman_lab.benchmarks.memory import mebibytes
from tests.support import postgresql
from tests.support.serving import Server, server

T = TypeVar("T")

_TRANSLATIONS = 8
_MIB = 1 << 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--database-url", help="an empty PostgreSQL database; default: one is started")
    arguments = parser.parse_args()
    console = Console(width=120)
    columns = ("database", "upload", "wall, s", "entries/s", "service CPU, s", "PostgreSQL CPU, s", "memory, MiB")
    uploads = Printed(*columns, title=f"{arguments.entries:,} entries, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.tsv"
        with file.open("w", encoding="utf-8") as stream:
            stream.writelines(lines(arguments.entries))
        for database in ("SQLite", "PostgreSQL"):
            for row in uploads_to(database, file, Path(folder) / database, arguments.database_url):
                uploads.add_row(database, *row)
        console.print(uploads)
        console.print(parts_alone(file))


def lines(entries: int) -> Iterator[str]:
    """The lines of a table with equal numbers of source and target words, of one to five syllables."""
    noise = random.Random(0)
    syllables = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou"]
    terms = max(1, entries // _TRANSLATIONS)
    words = ["".join(noise.choices(syllables, k=noise.randint(1, 5))) for _ in range(2 * terms)]
    for index in range(entries):
        target = words[terms + noise.randrange(terms)]
        yield f"{words[index % terms]}\t{target}\t{noise.random() / 8:.6f}\t{noise.random() / 8:.6f}\n"


def uploads_to(database: str, file: Path, data_dir: Path, url: str | None) -> Iterator[list[str]]:
    """Upload the file to a service with one database, first without activation."""
    with ExitStack() as opened:
        settings: dict[str, object] = {}
        if database == "PostgreSQL":
            if url is None:
                url = opened.enter_context(postgresql.database(opened.enter_context(postgresql.server())))
            settings["database_url"] = url
        running = opened.enter_context(server(data_dir, **settings))
        running.client.timeout = 3600
        for name in ("stored", "activated"):
            yield [name, *measure(running, file, name)]


def measure(running: Server, file: Path, name: str) -> list[str]:
    process = running._process.pid
    Path(f"/proc/{process}/clear_refs").write_text("5")  # resets the peak
    before, memory, postgres = cpu(process), running.memory(), postgres_cpu()
    parameters = {"source": "en", "target": "de", "activate": str(name == "activated").lower()}
    started = time.perf_counter()
    with file.open("rb") as stream:
        answer = running.client.put(
            f"/v1/tables/{name}", params=parameters, content=iter(lambda: stream.read(1 << 16), b"")
        )
    wall = time.perf_counter() - started
    entries = answer.raise_for_status().json()["entries"]
    peak = mebibytes(process, "VmHWM") * _MIB
    spent = [cpu(process) - before, postgres_cpu() - postgres]
    return [
        f"{wall:.1f}",
        f"{entries / wall:,.0f}",
        *(f"{seconds:.1f}" for seconds in spent),
        f"{(peak - memory) / _MIB:.0f}",
    ]


def parts_alone(file: Path) -> Printed:
    """The parts of an upload, except the database, one after the other in this process."""
    printed = Printed("part", "wall, s", "CPU, s")

    def part(name: str, work: Callable[[], T]) -> T:
        wall, spent = time.perf_counter(), time.process_time()
        done = work()
        printed.add_row(name, f"{time.perf_counter() - wall:.1f}", f"{time.process_time() - spent:.1f}")
        return done

    with file.open("rb") as stream:
        pieces = iter(lambda: stream.read(1 << 16), b"")
        read = part("read, fold, normalise", lambda: read_table(pieces, "en", "de", "tsv", Settings.load()))
    part("compile", lambda: read.table.save(file.with_suffix(".safetensors")))
    merged = part("merge (when activated)", lambda: merge([Member(read.table, "table", 1)]))
    part("analyse (when activated)", lambda: analyse_table(merged, analysis("en"), analysis("de")))
    return printed


def cpu(process: int) -> float:
    """User and system seconds of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def postgres_cpu() -> float:
    """User and system seconds of the PostgreSQL server started by this program; 0 without one."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = status.read_text().partition("(")[2].rpartition(")")
            parents[int(status.parent.name)] = (name, int(rest.split()[1]))
        except OSError:  # the process has ended
            continue
    main = {pid for pid, (name, parent) in parents.items() if name == "postgres" and parent == os.getpid()}
    return sum(cpu(pid) for pid, (_, parent) in parents.items() if pid in main or parent in main)


if __name__ == "__main__":
    main()
