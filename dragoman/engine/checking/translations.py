"""Texts and snippets translated, with each sentence checked before it is shown."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.checking import Check, Reason
from dragoman.engine.checking.checking import Checking
from dragoman.engine.checking.response import CheckedSentence, CheckedTranslation, CheckReason, Place
from dragoman.engine.core.answer import Degraded
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
            (text.text[start:end], future.result().text.strip())
            for text in underway
            for (start, end), future in zip(text.spans, text.futures, strict=True)
            if future is not None
        ]
        checks, degraded = self._checking.check_pairs(pairs, source, target, snapshot, cancelled)
        following = iter(checks)
        return [
            _assemble(text, [None if future is None else next(following) for future in text.futures])
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


def _assemble(text: Underway, checks: Sequence[Check | None]) -> CheckedTranslation:
    sentences, pieces = [], []
    for (start, end), future, check in zip(text.spans, text.futures, checks, strict=True):
        piece = text.text[start:end]
        if future is not None and check is not None:
            translation = future.result()
            check = check if translation.whole else _cut_off(check)
            piece = piece if check.status == "failed" else translation.text.strip()
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


def _cut_off(check: Check) -> Check:
    """The check of a translation that did not end."""
    reasons = check.reasons if any(reason.code == "length" for reason in check.reasons) else None
    return Check("draft" if check.status == "ok" else check.status, reasons or (*check.reasons, Reason("length")))
