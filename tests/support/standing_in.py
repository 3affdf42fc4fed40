"""The ``dragoman`` command with the small stand-ins for its models: ``python -m tests.support.standing_in serve ...``.

``STANDING_IN_SECONDS`` is how long each batch takes; each is written to standard error. A batch with the text ``hold``
takes until there is a file at ``STANDING_IN_GATE``; so does one with a document ``hold hold hold hold``. The reranker's
name is ``STANDING_IN_NAME``, and with ``STANDING_IN_PLACEBO`` it reads no tables. With ``STANDING_IN_SMALL`` batches of
documents and lines are those of :mod:`tests.support.small_batches`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dragoman.cli import main as command_line
from dragoman.engine.models import model_host
from dragoman.engine.models.encoding import EncoderInfo
from dragoman.engine.models.loading import ENCODER, RerankerInfo
from dragoman.engine.models.translating import TranslatorInfo
from dragoman.engine.settings import Settings
from tests.support import small_batches
from tests.support.modelling import LinkScorer, Piece, UpperTranslator, WordEncoder

if TYPE_CHECKING:
    from dragoman.backbone.constraints.phrases import Phrase
    from dragoman.backbone.translator import Translation

STANDING_IN = [sys.executable, "-m", "tests.support.standing_in"]


def _delay() -> None:
    time.sleep(float(os.environ.get("STANDING_IN_SECONDS", "0")))


class LoudEncoder(WordEncoder):
    def encode(self, texts: Sequence[str], kind: str = "passage") -> Any:
        print(f"encoding {len(texts)}: {' | '.join(texts)}", file=sys.stderr, flush=True)  # noqa: T201
        _delay()
        return super().encode(texts, kind)


class LoudTranslator(UpperTranslator):
    def translate(
        self, texts: Sequence[str], source: str, target: str, *, beam: int = 5, phrases: Sequence[Sequence[Phrase]] = ()
    ) -> list[Translation]:
        print(f"translating {len(texts)}: {' | '.join(texts)}", file=sys.stderr, flush=True)  # noqa: T201
        _delay()
        while "hold" in texts and not Path(os.environ["STANDING_IN_GATE"]).exists():
            time.sleep(0.01)
        return super().translate(texts, source, target, beam=beam)


class LoudScorer(LinkScorer):
    def scores(self, documents: Sequence[Sequence[Piece]]) -> list[float]:
        print(f"scoring {len(documents)}: {[row.ids for (row,) in documents]}", file=sys.stderr, flush=True)  # noqa: T201
        _delay()
        while any(row.ids == 4 * [4] for (row,) in documents) and not Path(os.environ["STANDING_IN_GATE"]).exists():
            time.sleep(0.01)
        return super().scores(documents)


def _encoder(settings: Settings, shared: Any) -> tuple[Any, EncoderInfo]:
    return LoudEncoder(), EncoderInfo(settings.models.encoder or ENCODER, LoudEncoder().width)


def _translator(settings: Settings, shared: Any) -> tuple[Any, TranslatorInfo]:
    translator = LoudTranslator()
    return translator, TranslatorInfo(translator.name, translator.languages)


def _reranker(settings: Settings, shared: Any) -> tuple[Any, RerankerInfo]:
    scorer = LoudScorer(os.environ.get("STANDING_IN_NAME", "links"))
    scorer.about = replace(scorer.about, placebo="STANDING_IN_PLACEBO" in os.environ)
    return scorer, RerankerInfo(scorer.about, cast(Any, scorer))


def main() -> None:
    model_host.LOADERS |= {"encoder": _encoder, "translator": _translator, "reranker": _reranker}
    if "STANDING_IN_SMALL" in os.environ:
        small_batches.shrink()
    command_line.main()


if __name__ == "__main__":
    main()
