"""Leads generation to phrases; see :mod:`dragoman.backbone.constraints.phrases`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import regex
import torch
from torch import Tensor

from dragoman.backbone.constraints.phrases import Phrase, Vocabulary, has_phrase

HINT_COST = 3.0
"""The most that a hint may cost where it is put, in nats: the generator nearly wrote it by itself."""
BEAM_BONUS = 2.0
"""Added to the logit of a token that begins a missing phrase, for a beam, which cannot go back."""
CONTINUED = 4.0
"""Added to the logit of a token that continues one."""

_NUMBER = regex.compile(r"\p{Nd}[\p{Nd}.,:]*$")
_WITHIN = regex.compile(r"^[\p{L}\p{M}\p{Nd}]")
_GROUP = regex.compile(r"(?<!\p{Nd})\p{Nd}{1,3}$")
_BEFORE = " \n\t(\u00a0[\"'-–—/$€£#"
"""What a number may follow without a space."""
_SEPARATORS = ".,:"


@dataclass(frozen=True, slots=True)
class _Form:
    """A form's tokens within a text, and at its beginning."""

    within: tuple[int, ...]
    first: tuple[int, ...]


class Steering:
    """Leads one row, or the beams of one text; nothing of it is shared with other texts."""

    def __init__(self, vocabulary: Vocabulary, phrases: Sequence[Phrase], *, numbers: bool = False) -> None:
        """With ``numbers`` the text has those numbers in digits that are among the phrases, and no others."""
        self._vocabulary, self._numbers = vocabulary, numbers
        self._phrases = [
            (phrase, [_Form(tuple(vocabulary.encode(" " + form)), tuple(vocabulary.encode(form))) for form in forms])
            for phrase in phrases
            if (forms := [form for form in phrase.forms if vocabulary.encode(form)])
        ]
        self._amounts = frozenset(form for phrase in phrases if phrase.kind == "amount" for form in phrase.forms)
        self._places: dict[int, tuple[float, int, tuple[int, ...]]] = {}
        """Of each phrase the cost of the cheapest place for it, the place, and the tokens to put there."""

    def adjust(self, tokens: Sequence[int], logits: Tensor) -> Tensor:
        """The logits (vocabulary,) of the next token, with bonuses and without numbers that are not given."""
        text = self._vocabulary.decode(tokens)
        missing = [index for index, (phrase, _) in enumerate(self._phrases) if not has_phrase(text, phrase)]
        adjusted = logits.clone()
        if self._numbers:
            self._forbid_numbers(text, missing, adjusted)
        if self._is_complete(tokens):
            adjusted[self._vocabulary.inner] = -torch.inf  # a phrase ends as a whole word: no Hamburgers for Hamburg
        for index in missing:
            for form in self._phrases[index][1]:
                if (reached := _count_reached(tokens, form)) > 0:
                    adjusted[form.within[reached]] += CONTINUED
        return adjusted

    def lead(self, tokens: Sequence[int], logits: Tensor, ends: Sequence[int]) -> Tensor:
        """As :meth:`adjust`, for a beam: where it would end without a phrase it writes that first."""
        adjusted = self.adjust(tokens, logits)
        missing = self._list_required(tokens)
        if not missing:
            return adjusted
        begins = sorted({form.within[0] for index in missing for form in self._phrases[index][1]})
        if int(adjusted.argmax()) in ends:
            free = adjusted[begins].clone()
            adjusted.fill_(-torch.inf)
            adjusted[begins] = free
        else:
            adjusted[begins] += BEAM_BONUS
            adjusted[list(ends)] = -torch.inf
        return adjusted

    def note(self, tokens: Sequence[int], logits: Tensor, chosen: int) -> None:
        """Keep what it would cost to put phrases here, where a token was chosen."""
        if tokens and _WITHIN.match(self._vocabulary.piece(chosen)):
            return
        highest = float(logits.max())
        for index, (phrase, forms) in enumerate(self._phrases):
            for form in forms:
                ids = form.within if tokens else form.first
                cost = highest - float(logits[ids[0]])
                if phrase.kind == "hint" and cost > HINT_COST:
                    continue
                if index not in self._places or cost < self._places[index][0]:
                    self._places[index] = cost, len(tokens), ids

    def insert(self, tokens: Sequence[int]) -> tuple[int, tuple[int, ...]] | None:
        """Where to go back to and what to put there, if phrases are missing at the end; the leftmost place."""
        text = self._vocabulary.decode(tokens)
        missing = [
            self._places[index]
            for index, (phrase, _) in enumerate(self._phrases)
            if index in self._places and not has_phrase(text, phrase)
        ]
        if not missing:
            return None
        _, place, ids = min(missing, key=lambda place: place[1])
        self._places.clear()  # what comes before stays as it is
        return place, ids

    def _is_complete(self, tokens: Sequence[int]) -> bool:
        """Whether the row ends with a whole form."""
        return any(
            tuple(tokens[-len(form.within) :]) == form.within or tuple(tokens) == form.first
            for _, forms in self._phrases
            for form in forms
        )

    def _list_required(self, tokens: Sequence[int]) -> list[int]:
        text = self._vocabulary.decode(tokens)
        return [
            index
            for index, (phrase, _) in enumerate(self._phrases)
            if phrase.kind != "hint" and not has_phrase(text, phrase)
        ]

    def _forbid_numbers(self, text: str, missing: Sequence[int], logits: Tensor) -> None:
        """Forbid tokens with digits, but for those that begin or continue a number that is given and still missing."""
        begun = _NUMBER.search(text)
        tail = begun[0] if begun else ""
        allowed = set()
        for index in missing:
            phrase, _ = self._phrases[index]
            for form in phrase.forms if phrase.kind == "amount" else ():
                if form.startswith(tail) and form != tail:
                    if tail or not text or text[-1] in _BEFORE:
                        allowed.add(self._vocabulary.encode(form[len(tail) :])[0])
                    if not tail:
                        allowed.add(self._vocabulary.encode(" " + form)[0])
        places = sorted(allowed)
        free = logits[places].clone()
        if tail in self._amounts and _GROUP.search(tail):
            logits[self._vocabulary.commas] = -torch.inf  # which the generator means to group digits by
        if not tail or tail.rstrip(_SEPARATORS) in self._amounts or not places:
            logits[self._vocabulary.numeric] = -torch.inf
        else:
            logits.fill_(-torch.inf)
        logits[places] = free


def _count_reached(tokens: Sequence[int], form: _Form) -> int:
    """How many tokens of a form the row ends with, without all of them."""
    for count in range(min(len(form.within) - 1, len(tokens)), 0, -1):
        if tuple(tokens[-count:]) == form.within[:count]:
            return count
    return 0
