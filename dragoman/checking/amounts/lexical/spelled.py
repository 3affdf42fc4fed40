"""Number words put together: two hundred and five, dreiundzwanzig, 2.5 lakh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dragoman.checking.amounts.lexical.lexicon import Lexicon, NumberWord

__all__ = ["Sum", "add_words", "split_compound"]


@dataclass
class Sum:
    """A number as it grows word by word: what is complete above ``scale``, and what is below it."""

    total: Fraction = Fraction(0)
    current: Fraction = Fraction(0)
    scale: Fraction | None = None
    """The last power of a thousand."""
    empty: bool = True
    ended: bool = False
    """After an ordinal."""
    vague: bool = False
    after_scale: bool = False
    numeral: bool = False
    """Whether the last addend was written in digits."""

    @property
    def quantity(self) -> Fraction:
        return self.total + self.current

    def add(self, word: NumberWord, lexicon: Lexicon) -> bool:
        """Take in the next word; False, and nothing is changed, where it begins another number."""
        if self.ended and not word.ordinal:
            return False
        fits = self._add_first(word) or self._multiply(word) or self._add_below(word, lexicon)
        if fits:
            self.empty = False
            self.ended = word.ordinal
            self.vague = self.vague or word.vague
            self.after_scale = word.scale
            self.numeral = False
        return fits

    def add_numeral(self, quantity: Fraction) -> bool:
        """Take in digits: at the beginning, or after a scale above them."""
        if self.empty or (self.scale is not None and not self.current and 0 < quantity < self.scale):
            self.current = quantity
            self.empty = False
            self.after_scale = False
            self.numeral = True
            return True
        return False

    def _add_first(self, word: NumberWord) -> bool:
        if not self.empty:
            return False
        if word.scale and word.quantity >= 1000:
            self.total, self.scale = word.quantity, word.quantity
            self.vague = True  # thousands of; a thousand
        elif word.quantity >= 1000 and word.quantity % 1000 == 0:
            self.total, self.scale = word.quantity, Fraction(1000)
        else:
            self.current = word.quantity
            self.vague = word.scale or word.bare
        return True

    def _multiply(self, word: NumberWord) -> bool:
        if not word.scale:
            return False
        if word.quantity == 100 or word.dozen:
            if self.numeral or 0 < self.current < 100:
                self.current *= word.quantity
                self.vague = False
                return True
            return False
        if self.total and not self.current and self.scale is not None and word.quantity < self.scale:
            self.total += word.quantity  # 사십구만 천
        elif self.current and (self.scale is None or word.quantity < self.scale):
            self.total += self.current * word.quantity
        elif self.quantity and (self.scale is None or word.quantity > self.scale):
            self.total = self.quantity * word.quantity
        else:
            return False
        self.current, self.scale, self.vague = Fraction(0), word.quantity, False
        return True

    def _add_below(self, word: NumberWord, lexicon: Lexicon) -> bool:
        quantity = word.quantity
        if quantity == _HALF and self.current and self.current.denominator == 1:
            self.current += quantity
            return True
        if quantity == _HALF and not self.current and self.scale is not None and self.scale >= 10**6:
            self.current = quantity * self.scale  # un millón y medio
            return True
        if self.numeral or word.vague:
            return False
        if self.after_scale and lexicon.scale_first and self.scale and self.total == self.scale and quantity < 1000:
            self.total *= quantity
            self.vague = False
            return True
        below = self.current if self.current else self.scale
        if below is None:
            return False
        place = _trailing_power(below)
        if (
            (quantity < place and (not word.scale or quantity == 100))
            or (lexicon.reversed and 0 < below < 10 and quantity in _TENS)
            or (lexicon.reversed and below > 100 and 0 < below % 100 < 10 and quantity in _TENS)
        ):
            self.current += quantity
        else:
            return False
        self.vague = False
        return True


_HALF = Fraction(1, 2)
_TENS = frozenset(Fraction(tens) for tens in range(20, 100, 10))


def _trailing_power(quantity: Fraction) -> int:
    """The highest power of ten that divides it."""
    if quantity.denominator != 1 or not quantity:
        return 1
    power, rest = 1, quantity.numerator
    while rest % 10 == 0:
        power, rest = power * 10, rest // 10
    return power


def add_words(words: Sequence[NumberWord], lexicon: Lexicon) -> Fraction | None:
    """The number that all ``words`` make together, or None."""
    total = Sum()
    return total.quantity if all(total.add(word, lexicon) for word in words) else None


def split_compound(word: str, lexicon: Lexicon) -> tuple[NumberWord, ...]:
    """The number words that ``word`` is made of, with connectors between them; empty unless they make one number."""
    splits: list[tuple[NumberWord, ...] | None] = [None] * len(word) + [()]
    for start in range(len(word) - 1, -1, -1):
        for end in range(len(word), start, -1):
            rest = splits[end]
            piece = word[start:end]
            if rest is None or (not rest and end < len(word)):
                continue
            if piece in lexicon.numbers:
                splits[start] = (lexicon.numbers[piece], *rest)
            elif rest and start and piece in lexicon.connectors:
                splits[start] = rest
            else:
                continue
            if add_words(splits[start] or (), lexicon) is not None:
                break
    words = splits[0] or ()
    return words if words and add_words(words, lexicon) is not None else ()
