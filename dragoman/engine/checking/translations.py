"""Texts and snippets translated, with each sentence checked before it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

from dragoman.checking import Check
from dragoman.engine.checking.checking import Checking
from dragoman.engine.checking.choosing import choose_draft
from dragoman.engine.checking.response import CheckedSentence, CheckedTranslation, CheckReason, Place
from dragoman.engine.core.answer import Degraded
from dragoman.engine.models.drafts import Draft, Drafts
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.models.text_translation import STAGE, Translations, Underway
from dragoman.engine.tables.snapshot import Snapshot


class CheckedTranslations:
    """Translates and checks. Safe from any thread."""

    def __init__(self, translations: Translations, checking: Checking) -> None:
        self.translations, self._checking = translations, checking

    def finish(
        self,
        underway: Sequence[Underway],
        source: str,
        target: str,
        snapshot: Snapshot | None = None,
        cancelled: Cancelled | None = None,
    ) -> tuple[list[CheckedTranslation], list[Degraded]]:
        """The translations of texts in ``source``, all of whose futures are done, and what could not be checked.

        Raises:
            ServiceError: as :meth:`Checking.check_pairs`.
            Exception: that of a sentence that failed.
        """
        pairs = [
            (text.text[start:end], draft.text)
            for text in underway
            for (start, end), future in zip(text.spans, text.futures, strict=True)
            for draft in _drafts(future)
        ]
        checks, degraded = self._checking.check_pairs(
            pairs, source, target, snapshot, cancelled, doubtful=self.translations.doubtful
        )
        following = iter(checks)
        return [
            _assemble(
                text, [choose_draft([(draft, next(following)) for draft in _drafts(future)]) for future in text.futures]
            )
            for text in underway
        ], degraded

    def snippets(
        self,
        snippets: Sequence[tuple[str, str]],
        target: str,
        snapshot: Snapshot | None = None,
        cancelled: Cancelled | None = None,
        stage: str = STAGE,
        noun: str = "snippet",
    ) -> tuple[list[CheckedTranslation | None], list[Degraded]]:
        """Translations of (language, snippet) pairs into ``target``, and the reasons for missing ones.

        See :meth:`Translations.snippets`.
        """
        translated, degraded = self.translations.snippets(snippets, target, cancelled, stage, noun)
        shown: list[CheckedTranslation | None] = [None] * len(snippets)
        for language in sorted({language for language, _ in snippets}):
            places = [place for place, (of, _) in enumerate(snippets) if of == language and translated[place]]
            begun = [text for place in places if (text := translated[place]) is not None]
            if not begun:
                continue
            checked, faults = self.finish(begun, language, target, snapshot, cancelled)
            degraded += [fault for fault in faults if fault not in degraded]
            for place, translation in zip(places, checked, strict=True):
                shown[place] = translation
        return shown, degraded


def _drafts(future: Future[Drafts] | None) -> tuple[Draft, ...]:
    return () if future is None else future.result().drafts


def _assemble(text: Underway, chosen: Sequence[tuple[Draft, Check] | None]) -> CheckedTranslation:
    sentences, pieces = [], []
    for (start, end), drafted in zip(text.spans, chosen, strict=True):
        piece = text.text[start:end]
        check = None
        if drafted is not None:
            draft, check = drafted
            piece = piece if check.status == "failed" else draft.text
        failed = check is not None and check.status == "failed"
        pieces.append(piece)
        sentences.append(
            CheckedSentence(
                text=None if failed else piece,
                source=Place(start=start, end=end),
                status="ok" if check is None else check.status,
                reasons=[] if check is None else CheckReason.list_of(check.reasons),
            )
        )
    return CheckedTranslation(text=text.join(pieces), sentences=sentences)
