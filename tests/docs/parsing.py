"""Commands of the documentation that are not run: whether their programs, subcommands, options and files exist."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from typer.main import get_command

from dragoman.cli.lab import COMMANDS
from dragoman.cli.main import app
from dragoman_lab.cli.main import app as lab_app
from tests.docs.pages import ROOT

_PLAIN = {"source", "cd", "git", "chmod", "curl", "find", "pip", "sqlite3", "printf", "kill", "until", "sleep"}
"""Programs of others, which are there or not whatever this repository says."""
_COMPOSE = {"build", "run", "up", "exec", "stop", "down", "logs", "ps", "pull"}
_OPERATORS = {"&&", "||", "|", ";", "&", "(", ")"}
_STREAMS = {">", "<", ">>"}


def commands(text: str) -> list[list[str]]:
    """The simple commands of a block, without assignments before them and redirections."""
    found: list[list[str]] = []
    for line in text.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words: list[str] = []
        for word in [*lexer, ";"]:
            if word not in _OPERATORS:
                words.append(word)
                continue
            if words := _bare(words):
                found.append(words)
            words = []
    return found


def _bare(words: list[str]) -> list[str]:
    kept = [
        word
        for place, word in enumerate(words)
        if word not in _STREAMS and not (place and words[place - 1] in _STREAMS)
    ]
    while kept and re.match(r"\w+=", kept[0]):
        kept.pop(0)
    return kept


@cache
def _options(module: str) -> frozenset[str]:
    """The options that a module of this repository takes, by its source: asking each for its help takes long."""
    path = ROOT.joinpath(*module.split("."))
    path = path / "__main__.py" if path.is_dir() else path.with_suffix(".py")
    assert path.exists(), f"there is no module {module}"
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    adding = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument"]
    names = [one.value for call in adding for one in call.args if isinstance(one, ast.Constant)]
    return frozenset(name for name in names if isinstance(name, str) and name.startswith("-"))


def check(words: Sequence[str]) -> None:
    """Raise AssertionError where a command is one that cannot work."""
    program, *rest = words
    if program == "dragoman":
        _check_dragoman(rest)
    elif Path(program).name in ("python", "torchrun"):
        _check_python(rest)
    elif program == "make":
        _check_make(rest)
    elif program == "docker":
        _check_docker(rest)
    elif program == "cp":
        assert (ROOT / rest[0]).exists(), f"there is no file {rest[0]}"
    else:
        assert Path(program).name in _PLAIN, f"unknown program {program}"


def _check_dragoman(words: Sequence[str]) -> None:
    command: Any = get_command(lab_app if words[:1] and words[0] in COMMANDS else app)
    rest = list(words)
    while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
        name = rest.pop(0)
        assert name in command.commands, f"dragoman has no command {name}"
        command = command.commands[name]
    known = {"--help", *(one for parameter in command.params for one in (*parameter.opts, *parameter.secondary_opts))}
    _check_options(rest, known, "dragoman " + " ".join(words))


def _check_python(words: Sequence[str]) -> None:
    place = words.index("-m") if "-m" in words else -1
    if place < 0:
        assert (ROOT / words[0]).exists(), f"there is no file {words[0]}"
        return
    module, rest = words[place + 1], words[place + 2 :]
    if module == "pytest":
        for one in rest:
            assert not one.startswith("tests/") or (ROOT / one).exists(), f"there is no file {one}"
    elif module.startswith(("dragoman.", "dragoman_lab.")):
        _check_options(rest, _options(module), module)
    else:
        assert module == "venv", f"unknown module {module}"


def _check_options(words: Sequence[str], known: set[str], what: str) -> None:
    for word in words:
        if re.match(r"--?[a-z]", word):
            option = word.partition("=")[0]
            assert option in known, f"{what}: there is no option {option}; there are {sorted(known)}"
        if word.startswith(("dragoman/", "dragoman_lab/")):
            assert (ROOT / word).exists(), f"{what}: there is no {word}"


def _check_make(words: Sequence[str]) -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    for word in words:
        if "=" in word:
            assert f"$({word.partition('=')[0]})" in text, f"the Makefile does not know {word}"
        else:
            assert re.search(rf"^{re.escape(word)}:", text, re.MULTILINE), f"the Makefile has no target {word}"


def _check_docker(words: Sequence[str]) -> None:
    assert words[0] == "compose" and words[1] in _COMPOSE, f"unknown: docker {' '.join(words)}"
    plain = [word for word in words[2:] if not word.startswith("-")]
    if plain:
        assert plain[0] in _services(), f"docker-compose.yml has no service {plain[0]}"
    if "dragoman" in plain[1:2]:
        _check_dragoman(words[list(words).index("dragoman") + 1 :])


@cache
def _services() -> frozenset[str]:
    return frozenset(yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"])
