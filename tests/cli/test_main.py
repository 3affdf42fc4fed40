from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

from dragoman import installation
from dragoman.cli.main import main
from tests.support.searching import ndjson
from tests.support.serving import COMMAND, dragoman, environment, server

pytestmark = pytest.mark.slow

NDJSON = {"content-type": "application/x-ndjson"}
FIRST_KEY = "this is the first key of this database: from now on the service needs a key for every request"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with a small German collection, and no server on it."""
    directory = tmp_path_factory.mktemp("cli") / "data"
    with server(directory) as running:
        running.client.post("/v1/collections", json={"name": "news", "language": "de"})
        body = ndjson(
            [
                {"id": "1", "text": "Der Hund bellt."},
                {"id": "a b/2", "text": "Das Wetter bleibt [bold]schön[/bold]."},
            ]
        )
        running.client.post("/v1/collections/news/documents", content=body, headers=NDJSON).raise_for_status()
        assert running.stop() in (0, -15)
    return directory


def test_a_command_that_fails_in_a_process_of_its_own_says_one_line(tmp_path: Path) -> None:
    command = [*COMMAND, "search", "x", "--collection", "c", "--data-dir", str(tmp_path / "missing")]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr.strip() == f"dragoman: there is no data directory {tmp_path / 'missing'}; --data-dir names another,"
        " --url a service"
    )


def test_a_command_does_not_wait_for_a_model_that_is_still_at_work(tmp_path: Path) -> None:
    program = """
import atexit, threading, time
from dragoman.cli import main as cli
from dragoman.engine.models.queue import abandoned
thread = threading.Thread(target=time.sleep, args=(60,), daemon=True)
thread.start()
abandoned.abandon(thread)
atexit.register(print, "the interpreter's own end, which would stop the thread inside of torch")
cli.main()
"""
    search = ["search", "x", "--collection", "c", "--data-dir", str(tmp_path / "missing")]
    command = [sys.executable, "-c", program, *search]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert "there is no data directory" in done.stderr


def test_every_command_explains_itself_and_every_option_has_a_variable() -> None:
    commands = [
        ("serve",),
        ("demo",),
        ("search",),
        ("ask",),
        ("collection", "create"),
        ("documents", "import"),
        ("evaluate",),
        ("index", "rebuild"),
        ("table", "train"),
        ("table", "import"),
        ("keys", "create"),
    ]
    for command in commands:
        done = dragoman(*command, "--help")
        assert done.returncode == 0, done.stderr
        options = [line for line in done.stdout.splitlines() if line.lstrip("│ *").startswith("--")]
        assert len(options) > 1
        text = " ".join(done.stdout.replace("│", " ").split())
        assert text.count("[env var: DRAGOMAN_") == len(options) - 1, command  # all but --help


def test_the_version_is_said_without_loading_anything_heavy() -> None:
    program = """
import sys
from dragoman.cli import main as cli
heavy = {"fastapi", "jpype", "numpy", "sqlalchemy", "torch", "transformers"}
try:
    cli.main()
finally:
    print(heavy & sys.modules.keys())
"""
    done = subprocess.run([sys.executable, "-c", program, "--version"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, f"dragoman {version('dragoman')}\nset()\n"), done.stderr


def without(*missing: str, arguments: tuple[object, ...]) -> subprocess.CompletedProcess[str]:
    """The command line in an installation that lacks these modules."""
    lines = [
        "import sys",
        "from importlib.machinery import PathFinder",
        "found = PathFinder.find_spec",
        f"hidden = lambda name, *rest: None if name.partition('.')[0] in {missing!r} else found(name, *rest)",
        "import importlib.metadata as metadata",
        "points = metadata.entry_points",
        f"shown = lambda **of: [one for one in points(**of) if one.value.partition('.')[0] not in {missing!r}]",
        "metadata.entry_points = shown",
        "PathFinder.find_spec = staticmethod(hidden)",
        "from dragoman.cli import main",
        "main.main()",
    ]
    command = [sys.executable, "-c", "\n".join(lines), *map(str, arguments)]
    return subprocess.run(
        command, env=environment() | {"COLUMNS": "200"}, capture_output=True, text=True, timeout=120, check=False
    )


MEASURING = ("ir_measures", "matplotlib", "sacrebleu", "scipy")
"""What the lab needs and the product does not."""


def test_without_the_lucene_jar_what_searches_says_how_to_get_it_and_makes_nothing(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    for command in ("demo", "serve"):
        done = without("pyserini", arguments=(command, "--port", 0, "--data-dir", data_dir))
        assert (done.returncode, done.stdout) == (1, "")
        (said,) = done.stderr.splitlines()
        assert said.startswith("dragoman: search needs Lucene, ")
        assert said.endswith(": pip install --no-deps pyserini")
        assert not data_dir.exists()


@pytest.mark.parametrize(
    ("command", "missing", "part"),
    [
        (("serve", "--port", "0"), ("fastapi", "sqlalchemy"), "server"),
        (("worker", "--port", "0"), ("uvicorn", "sqlalchemy"), "server"),
        (("demo", "--port", "0"), ("fastapi", "sqlalchemy"), "server"),
        (("search", "Hund", "--collection", "news"), ("pydantic", "sqlalchemy"), "search"),
        (("search", "Hund", "--collection", "news"), ("lingua",), "search"),
        (("index", "rebuild", "news"), ("jpype",), "search"),
        (("table", "export", "words"), ("sqlalchemy",), "search"),
    ],
)
def test_a_command_without_its_part_names_the_command_that_brings_it(
    command: tuple[str, ...], missing: tuple[str, ...], part: str, tmp_path: Path
) -> None:
    folder = () if command[0] == "worker" else ("--data-dir", tmp_path)
    done = without(*missing, arguments=(*command, *folder))
    assert (done.returncode, done.stdout) == (1, "")
    (said,) = done.stderr.splitlines()
    assert said.endswith(f", which is not installed: {installation.command(part)}")


def test_a_model_without_torch_names_the_command_that_brings_it(data: Path) -> None:
    done = without("torch", arguments=("index", "embed", "news", "--data-dir", data))
    assert done.returncode == 1
    said = done.stderr.splitlines()[-1]
    assert (
        said
        == f"dragoman: the encoder cannot be loaded: this needs torch, which is not installed: {installation.TORCH}"
    )


def test_without_the_lab_only_its_commands_fail(data: Path, tmp_path: Path) -> None:
    for command in (("evaluate", "--data", tmp_path), ("train", "plot", "--output", tmp_path), ("train", "--help")):
        done = without("dragoman_lab", arguments=command)
        assert (done.returncode, done.stdout) == (1, "")
        (said,) = done.stderr.splitlines()
        assert said.startswith(
            f"dragoman: dragoman {command[0]} is a command of Dragoman's lab, which is not installed: "
        )
        assert said.endswith("pip install ./dragoman_lab")
    search = ("search", "Hund", "--collection", "news", "--query-language", "de", "--data-dir", data)
    found = without("dragoman_lab", *MEASURING, arguments=search)
    assert "news/1" in found.stdout, found.stderr


Fails = Callable[..., None]


@pytest.fixture
def fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Fails:
    """Check that a command ends as a user's mistake does, with this message."""

    def check(message: str, *arguments: object, **settings: object) -> None:
        with monkeypatch.context() as patched, pytest.raises(SystemExit) as ended:
            for name in [name for name in os.environ if name.startswith("DRAGOMAN_")]:
                patched.delenv(name)
            for name, value in settings.items():
                patched.setenv(f"DRAGOMAN_{name.upper()}", str(value))
            patched.setenv("COLUMNS", "200")
            patched.setattr(sys, "argv", ["dragoman", *map(str, arguments)])
            main()
        said = capsys.readouterr()
        assert ended.value.code == 2
        assert message in " ".join(said.err.split()), said.err
        assert not said.out

    return check


def test_mistakes_are_one_line_and_exit_code_2(fails: Fails, data: Path, tmp_path: Path) -> None:
    where = ("--data-dir", data)
    fails("no collection named 'nope'", "index", "rebuild", "nope", *where)
    fails("there is no data directory", "index", "rebuild", "x", "--data-dir", tmp_path / "missing")
    assert not (tmp_path / "missing").exists()
    fails("no collection named 'nope'", "search", "vulkan", "--collection", "nope", *where)
    fails("top_k: ", "search", "vulkan", "--collection", "news", "--top-k", 0, *where)
    fails("query: ", "search", "", "--collection", "news", *where)
    fails("method: ", "search", "x", "--collection", "news", "--method", "magic", *where)
    fails("unknown language code 'xx'", "search", "x", "--collection", "news", "--query-language", "xx", *where)
    fails("does not exist", "table", "import", tmp_path / "no.tsv", "--name", "t", "--source", "en", "--target", "de")
    fails("Missing option '--name'", "table", "import", __file__)
    fails("no such file", "table", "train", "--parallel", tmp_path / "no", "--source", "en", "--target", "de",
           "--output", tmp_path / "t.tsv")  # fmt: skip
    fails("No such command", "dance")


def test_serve_refuses_what_it_cannot_or_must_not_do(fails: Fails, tmp_path: Path) -> None:
    fails("refusing to listen on 0.0.0.0: other machines could reach it, and no API key", "serve", "--host", "0.0.0.0")
    fails("DRAGOMAN_TABLE_ENTRIES: Input should be greater than 0", "serve", table_entries=0)
    fails("database_url: use postgresql://", "serve", "--database-url", "mysql://x")
    fails("the database cannot be opened", "serve", "--database-url", f"sqlite:///{tmp_path}/no/x.db",
           "--data-dir", tmp_path / "d")  # fmt: skip
    fails("is not a number followed by k, m or g", "serve", "--data-dir", tmp_path / "d", jvm_heap="lots")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        fails(f"cannot listen on http://127.0.0.1:{port}/", "serve", "--port", port, "--data-dir", tmp_path / "d")
    (tmp_path / "file").write_text("x")
    fails("cannot be written", "serve", "--data-dir", tmp_path / "file")


def test_variables_that_nobody_reads_are_refused_where_settings_are_read(fails: Fails, tmp_path: Path) -> None:
    wrong = {"rerank_second": 1, "import_batch": 20}
    for command in (
        ("serve", "--port", 0),
        ("worker", "--port", 0),
        ("demo", "--port", 0),
        ("search", "x", "--collection", "c"),
        ("keys", "list"),
    ):
        fails("DRAGOMAN_IMPORT_BATCH is gone: documents and lines are stored 500 at a time; "
              "DRAGOMAN_RERANK_SECOND is unknown; is DRAGOMAN_RERANK_SECONDS meant?", *command, **wrong)  # fmt: skip
    for arguments in (("--help",), ("serve", "--help"), ("--version",)):
        assert dragoman(*arguments, **wrong).returncode == 0
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("vulkan\tvolcano\n", encoding="utf-8")
    trained = dragoman("table", "train", "--parallel", pairs, "--source", "en", "--target", "de", "--plain",
                       "--output", tmp_path / "table.tsv", **wrong)  # fmt: skip
    assert trained.returncode == 0, trained.stderr


def test_the_file_is_outranked_by_the_environment_and_that_by_options(tmp_path: Path) -> None:
    def made_in(*options: object, **settings: object) -> set[str]:
        done = dragoman("keys", "create", "--scope", "admin", *options, **settings)
        assert done.returncode == 0, done.stderr
        return {path.name for path in tmp_path.iterdir() if path.is_dir()}

    file = tmp_path / "settings.toml"
    file.write_text(f"[store]\ndata_dir = '{tmp_path / 'of-file'}'\n", encoding="utf-8")
    assert made_in(config=file) == {"of-file"}
    assert made_in("--config", file, data_dir=tmp_path / "of-environment") == {"of-file", "of-environment"}
    both = {"config": file, "data_dir": tmp_path / "of-environment"}
    assert "of-option" in made_in("--data-dir", tmp_path / "of-option", **both)
    assert dragoman("keys", "list", config=file).stdout.count("admin") == 1


def test_a_server_and_a_command_are_as_the_file_says(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(f"[store]\ndata_dir = '{data}'\n[log]\nlog_format = 'json'\n[search]\ntop_k_max = 7\n")
    with server(data, config=file) as running:
        assert json.loads(running.log[-1])["message"].startswith("Dragoman listens on")
        request = {"query": "Hund", "query_language": "de", "top_k": 8}
        assert "at most 7" in running.client.post("/v1/search", json=request).json()["message"]
    refused = dragoman("search", "Hund", "--collection", "news", "--top-k", 8, "--config", file)
    assert (refused.returncode, "top_k: must be at most 7" in refused.stderr) == (2, True)


def test_a_file_that_is_wrong_is_refused_with_its_place(fails: Fails, tmp_path: Path) -> None:
    file = tmp_path / "dragoman.toml"
    file.write_text("[serch]\nrerank = 'auto'\n[server]\nport = '80'\nrerank = 'never'\n")
    for fault in (
        f"{file}: [serch]: serch is unknown; is search meant?",
        f"{file}: [server] port: Input should be a valid integer",
        f"{file}: [server] rerank belongs in [search]",
    ):
        fails(fault, "serve", "--config", file)
    file.write_text("[server]\nport = 80 80\n")
    fails(f"{file}: Expected newline or end of document after a statement (at line 2, column 11)", "serve", config=file)
    fails(f"{tmp_path / 'no.toml'}: No such file or directory", "serve", config=tmp_path / "no.toml")


def test_a_second_process_on_the_same_data_is_refused(fails: Fails, data: Path) -> None:
    with server(data):
        for command in (
            ("serve", "--port", 0),
            ("index", "rebuild", "news"),
            ("search", "x", "--collection", "news"),
        ):
            fails("is in use by another dragoman process (process ", *command, "--data-dir", data)


def test_a_rebuilt_index_is_a_new_one_and_finds_the_same(data: Path) -> None:
    (pointer,) = data.glob("indexes/*/current")
    before = pointer.read_text()
    done = dragoman("index", "rebuild", "news", "--data-dir", data)
    assert done.returncode == 0, done.stderr
    assert "news: 2 documents, generation 1" in done.stderr
    assert pointer.read_text() != before
    found = dragoman("search", "Hund", "--collection", "news", "--query-language", "de", "--data-dir", data)
    assert "news/1" in found.stdout


def test_a_search_without_hits_says_so_and_as_what_language_the_query_was_taken(data: Path) -> None:
    where = ("--collection", "news", "--data-dir", data)
    found = dragoman("search", "volcano", *where, "--query-language", "en")
    assert (found.returncode, found.stdout) == (0, "no hits; the query was in English (en)\n")
    answer = json.loads(dragoman("search", "volcano eruption", *where, "--json").stdout)
    assert (answer["hits"], answer["query"]["detected"]) == ([], True)
    found = dragoman("search", "volcano eruption", *where)
    assert found.returncode == 0, found.stderr
    assert re.fullmatch(
        rf"no hits; the detected language of the query is \w+ \({answer['query']['language']}\);"
        " --query-language sets another\n",
        found.stdout,
    )


def test_the_first_key_says_what_it_makes_and_what_it_changes(data: Path, tmp_path: Path) -> None:
    create = ("keys", "create", "--scope", "admin", "--data-dir")
    fresh = tmp_path / "fresh" / "data"
    done = dragoman(*create, fresh)
    assert done.returncode == 0, done.stderr
    assert f"a new data directory is made: {fresh}; --data-dir names another folder\n" in done.stderr
    assert FIRST_KEY in done.stderr
    assert re.fullmatch(r"dragoman_\S+\n", done.stdout)
    again = dragoman(*create, fresh)
    assert again.returncode == 0, again.stderr
    assert "a new" not in again.stderr
    assert FIRST_KEY not in again.stderr
    (tmp_path / "empty").mkdir()
    assert f"a new database is made in {tmp_path / 'empty'}; " in dragoman(*create, tmp_path / "empty").stderr
    served = dragoman(*create, data)
    assert "a new" not in served.stderr
    assert FIRST_KEY in served.stderr
    assert dragoman("keys", "forget", "--data-dir", data).returncode == 0


def test_a_table_is_trained_imported_and_searched_with_without_a_server(data: Path, tmp_path: Path) -> None:
    parallel = tmp_path / "pairs.tsv"
    words = [("vulkan", "volcano"), ("wetter", "weather"), ("haus", "house"), ("hund", "dog"), ("katze", "cat")]
    lines = [f"{a} {b}\t{c} {d}" for a, c in words for b, d in words if a != b]
    parallel.write_text("\n".join(lines) + "\n")
    more = tmp_path / "more.tsv"
    more.write_text("vulkan\tvolcano\nwetter\tweather\n")
    table = tmp_path / "table.tsv"
    report = tmp_path / "report.json"
    done = dragoman("table", "train", "--parallel", parallel, more, "--source", "en", "--target", "de",
                    "--output", table, "--plain", "--report", report)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "volcano\tvulkan\t" in table.read_text()
    assert len(json.loads(report.read_text())["files"]) == 2
    checked = dragoman("table", "import", table, "--name", "mine", "--source", "en", "--target", "de", "--dry-run",
                       "--data-dir", data)  # fmt: skip
    assert "checked, not stored" in checked.stderr
    assert dragoman("search", "dog", "--collection", "news", "--query-language", "en", "--data-dir", data,
                    "--json").stdout.count('"rank"') == 0  # fmt: skip
    done = dragoman("table", "import", table, "--name", "mine", "--source", "en", "--target", "de", "--data-dir", data)
    assert done.returncode == 0, done.stderr
    assert "mine version 1: " in done.stderr
    assert "active" in done.stderr
    found = dragoman("search", "dog", "--collection", "news", "--query-language", "en", "--data-dir", data, "--json")
    answer = json.loads(found.stdout)
    assert [hit["id"] for hit in answer["hits"]] == ["1"]
    assert answer["translation"]["tables"] == [{"name": "mine", "version": 1}]
    text = dragoman("search", "weather", "--collection", "news", "--query-language", "en", "--data-dir", data).stdout
    assert "news/a b/2" in text
    assert "[bold]schön[/bold]" in text


def test_a_broken_table_is_one_line_with_its_place(fails: Fails, data: Path, tmp_path: Path) -> None:
    table = tmp_path / "t.tsv.gz"
    table.write_bytes(b"\x1f\x8b\x08 broken")
    fails("gzip", "table", "import", table, "--name", "t", "--source", "en", "--target", "de", "--data-dir", data)
