"""Compare encoders and cross-encoders with sentence-transformers itself, over tiny models that it saves.

Run in an environment that has both, which `make integrations` makes. Prints the greatest differences; fails above 1e-4.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import CrossEncoder, SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer

from dragoman.backbone.loading import load_encoder
from dragoman.backbone.sentences import SentenceEncoder
from dragoman.engine.models.loading import RerankerInfo
from dragoman.engine.models.scoring import ScoreRequest, SpannedText, _prepare_rows
from dragoman.ranking.attention import NO_LINKS
from dragoman.ranking.scoring import load_scorer
from tests.backbone.pretrained.hub_samples import write_cross_encoders
from tests.backbone.pretrained.test_sentence_transformer import TEXTS

LIMIT = 1e-4
QUERIES = ["the bee", "the bee and the flower and the river " * 5]
DOCUMENTS = [*TEXTS, "nyuki maua mto kitabu " * 12]


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        paths = write_cross_encoders(Path(temporary) / "models")
        worst = 0.0
        for name, path in paths.items():
            difference = max(_compare_scores(path, query) for query in QUERIES)
            print(f"cross-encoder {name}: {difference:.1e}")  # noqa: T201
            worst = max(worst, difference)
            for mode in ("mean", "cls", "lasttoken"):
                for layers in ("none", "normalize", "dense"):
                    folder = Path(temporary) / f"{name}-{mode}-{layers}"
                    difference = _compare_vectors(path, folder, mode, layers)
                    print(f"encoder {name}, {mode}, {layers}: {difference:.1e}")  # noqa: T201
                    worst = max(worst, difference)
    sys.exit(f"the difference of {worst:.1e} is above {LIMIT:.0e}" if worst > LIMIT else 0)


def _compare_scores(path: Path, query: str) -> float:
    theirs = CrossEncoder(str(path), activation_fn=torch.nn.Identity(), device="cpu", max_length=40)
    expected = theirs.predict([(query, document) for document in DOCUMENTS])
    scorer, about = load_scorer(str(path))
    documents = [SpannedText(document, []) for document in DOCUMENTS]
    request = ScoreRequest(SpannedText(query, []), documents, [NO_LINKS] * len(documents))
    rows, _ = _prepare_rows(RerankerInfo(about, scorer), request)
    return float(np.abs(np.array(scorer.scores(rows)) - expected).max())


def _compare_vectors(path: Path, folder: Path, mode: Any, layers: str) -> float:
    modules: list[torch.nn.Module] = [Transformer(str(path)), Pooling(32, mode)]
    torch.manual_seed(0)
    if layers == "dense":
        modules.append(Dense(32, 24))
    if layers != "none":
        modules.append(Normalize())
    theirs = SentenceTransformer(modules=modules, prompts={"query": "query: ", "document": "a text: "}, device="cpu")
    theirs.save(str(folder))
    ours = SentenceEncoder(load_encoder(str(folder)), dtype=torch.float32)
    pairs = [
        (theirs.encode_query(TEXTS), ours.embed(TEXTS, "query")[0]),
        (theirs.encode_document(TEXTS), ours.embed(TEXTS, "passage")[0]),
    ]
    return max(float(np.abs(expected - vectors).max()) for expected, vectors in pairs)


if __name__ == "__main__":
    main()
