"""The sentences of answers in the question's language, each checked."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.engine.checking.translations import CheckedTranslations
from dragoman.engine.core.answer import LEFT_OUT, Degraded
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.qa.response import QaAnswer
from dragoman.engine.search.shown.glosses import Glosses
from dragoman.engine.tables.snapshot import Snapshot

STAGE = "translate_answers"


def add_translations(
    answers: Sequence[tuple[QaAnswer, str]],
    target: str,
    translations: CheckedTranslations,
    snapshot: Snapshot,
    glosses: Glosses,
    cancelled: Cancelled | None,
) -> list[Degraded]:
    """Translate the sentences of answers, each of which has a language; a gloss stands for what is withheld."""
    sentences = [(language, answer.sentence) for answer, language in answers]
    translated, degraded = translations.snippets(sentences, target, snapshot, cancelled, STAGE, "answer")
    for (answer, language), translation in zip(answers, translated, strict=True):
        answer.translation = translation
        if translation is not None and translation.withholds and answer.gloss is LEFT_OUT:
            answer.gloss = glosses.of_text(answer.sentence, language, answer.sentence_start)
    return degraded
