"""Write docker/requirements.lock: what the images install, each package with its version and the hashes of its files.

    .venv/bin/python scripts/lock.py

Run it after a change of pyproject.toml or constraints.txt. PyTorch has locks of its own: docker/torch.cuda.lock, with
NVIDIA's libraries, from the usual index, and docker/torch.cpu.lock, from --torch-index URL or the folders that pip is
told to find links in; without either it stays as it is. The locks are for Linux on x86-64 and the images' Python.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from install import ROOT, UV, pip_settings, uv_environment

REQUIREMENTS = [sys.executable, str(ROOT / "docker" / "requirements.py"), str(ROOT / "pyproject.toml")]
FILES_ONLY = ("setuptools", "pyserini")
"""What builds the package itself, and what it takes Lucene from; without what the modules in it import."""
PLATFORM = ("--python-platform", "x86_64-manylinux_2_28", "--python-version", "3.11")
FORM = ("--generate-hashes", "--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links")


def compiled(requirements: list[str], *options: str, links: bool = True) -> str:
    """The pins and hashes of these requirements, and of what they need, by uv.

    Raises:
        subprocess.CalledProcessError: uv failed, and has said why.
    """
    environment = uv_environment(pip_settings()) | {"UV_NO_PROGRESS": "1"} | ({} if links else {"UV_FIND_LINKS": ""})
    with tempfile.TemporaryDirectory() as folder:
        wanted, lock = Path(folder, "requirements.in"), Path(folder, "lock")
        wanted.write_text("\n".join(requirements) + "\n", encoding="utf-8")
        command = [*UV, "pip", "compile", *FORM, *PLATFORM, "-c", str(ROOT / "constraints.txt"), *options]
        subprocess.run([*command, "-o", str(lock), str(wanted)], env=environment, check=True, stdout=subprocess.DEVNULL)
        return lock.read_text(encoding="utf-8")


def pins(lock: str) -> dict[str, str]:
    """Each package of a lock, as it stands there with its version and hashes."""
    found = re.findall(r"(?m)^([A-Za-z0-9._-]+)==.*(?:\n    --hash=.*)+", lock)
    return dict(zip(found, re.findall(r"(?m)^[A-Za-z0-9._-]+==.*(?:\n    --hash=.*)+", lock), strict=True))


def write(path: Path, wanted: dict[str, str]) -> None:
    """Replace a lock as a whole."""
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text("".join(f"{wanted[name]}\n" for name in sorted(wanted)), encoding="utf-8")
    unfinished.replace(path)
    sys.stderr.write(f"{path.relative_to(ROOT)}: {len(wanted)} packages\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the locks of the images' packages, with hashes.")
    parser.add_argument("--torch-index", metavar="URL", help="index of CPU builds of torch, for docker/torch.cpu.lock")
    given = parser.parse_args()
    printed = subprocess.run(
        [*REQUIREMENTS, "server", "postgresql", "telemetry"], capture_output=True, text=True, check=True
    )
    try:
        everything = pins(compiled(printed.stdout.splitlines()))
        files = pins(compiled(list(FILES_ONLY), "--no-deps"))
        cuda = pins(compiled(["torch"], links=False))
        index = ["--no-deps", "--default-index", given.torch_index] if given.torch_index else []
        cpu = pins(compiled(["torch"], *index))
    except subprocess.CalledProcessError as failed:
        sys.exit(failed.returncode)
    of_torch = {name: pin for name, pin in cuda.items() if name == "torch" or re.match("nvidia|cuda|triton", name)}
    shared = {name: pin for name, pin in everything.items() if name not in of_torch}
    write(ROOT / "docker" / "requirements.lock", shared | files)
    write(ROOT / "docker" / "torch.cuda.lock", of_torch)
    if "+cpu" in cpu["torch"]:
        write(ROOT / "docker" / "torch.cpu.lock", {"torch": cpu["torch"]})


if __name__ == "__main__":
    main()
