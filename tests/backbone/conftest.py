from pathlib import Path

import pytest
import torch

from dragoman.backbone.tokenizer import Subwords
from dragoman_lab.backbone.text_files import text_files
from dragoman_lab.backbone.vocabulary import train_subwords
from tests.backbone.samples import write_text

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_text(tmp_path_factory.mktemp("text"))


@pytest.fixture(scope="session")
def subwords(text: Path) -> Subwords:
    return train_subwords(text_files([text / "parallel"], [text / "raw"]), 600, characters=50_000)
