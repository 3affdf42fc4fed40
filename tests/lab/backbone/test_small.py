"""The backbone that the lab ships: it loads, is small, and behaves as its card says."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.backbone.loading import load_encoder
from dragoman.backbone.sentences import SentenceEncoder
from dragoman_lab.backbone.small import SMALL

MOST_BYTES = 25 * 10**6
GREETINGS = {
    "en": ["The dog sleeps under the table.", "I like to read books.", "Where is the station?", "It rained all night."],
    "de": [
        "Der Hund schläft unter dem Tisch.",
        "Ich lese gern Bücher.",
        "Wo ist der Bahnhof?",
        "Es regnete die Nacht.",
    ],
    "es": [
        "El perro duerme bajo la mesa.",
        "Me gusta leer libros.",
        "¿Dónde está la estación?",
        "Llovió toda la noche.",
    ],
    "fr": ["Le chien dort sous la table.", "J'aime lire des livres.", "Où est la gare ?", "Il a plu toute la nuit."],
}


def test_it_has_a_card_and_is_small() -> None:
    assert (SMALL / "README.md").read_text(encoding="utf-8").startswith("# Model card: `small`")
    files = list(SMALL.iterdir())
    assert sum(path.stat().st_size for path in files) < MOST_BYTES
    assert {path.suffix for path in files} == {".safetensors", ".json", ".md"}


@pytest.mark.parametrize("language", ["de", "es", "fr"])
def test_the_encoder_finds_a_translation_among_others(language: str) -> None:
    encoder = SentenceEncoder(load_encoder(str(SMALL)))
    scores = encoder.encode(GREETINGS["en"]) @ encoder.encode(GREETINGS[language]).T
    assert np.array_equal(scores.argmax(1), np.arange(4))
