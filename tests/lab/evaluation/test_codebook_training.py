"""What `dragoman train codebook` makes of sample text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from dragoman.backbone.loading import load_encoder
from dragoman.backbone.sentences import SentenceEncoder
from dragoman.cli.main import app
from dragoman.indexes.dense.language_means import LanguageMeans
from dragoman.indexes.dense.state_codec import StateCodec
from tests.backbone.samples import raw_lines, write_text

pytestmark = pytest.mark.slow


def test_a_codec_and_the_means_of_languages(tmp_path: Path) -> None:
    text = write_text(tmp_path / "text")
    config = tmp_path / "codebook.toml"
    config.write_text('parallel = ["parallel"]\nraw = ["raw"]\nsubwords = 200\npassages = 40\n')
    output = tmp_path / "output"
    command = ["train", "codebook", "--config", str(config), "--data", str(text), "--output", str(output)]
    runs = []
    for _ in range(2):
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
        runs.append({path.name: path.read_bytes() for path in output.iterdir()})
    assert runs[0].keys() == {"e5-small.safetensors", "e5-small.means.safetensors"}
    assert runs[0] == runs[1]

    encoder = SentenceEncoder(load_encoder("e5-small"))
    (swahili,) = encoder.encode_tokens(raw_lines("sw")[:1], "passage", 8)[1]
    codec = StateCodec.load(output / "e5-small.safetensors")
    decoded = codec.decode(codec.encode(swahili.states))
    assert (decoded * swahili.states).sum(1).mean() > 0.7

    means = LanguageMeans.load(output / "e5-small.means.safetensors")
    assert set(means.languages) == {"de", "en", "sw"}
    for language in ("de", "sw"):
        vectors = encoder.encode(raw_lines(language)[40:60])
        excess = [means.excess(vector, means.languages) for vector in vectors]
        assert np.mean([max(one, key=one.__getitem__) == language for one in excess]) > 0.8
