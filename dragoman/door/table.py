"""A translation table in memory: made of entries, or learned from pairs of sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from dragoman.files.atomic import atomic_file
from dragoman.lexicon.alignment.training import AlignmentConfig, SentencePair, train
from dragoman.lexicon.text.languages import check_language
from dragoman.lexicon.text.tokens import PlainAnalysis, content_terms

_CONTROL = frozenset("\t\n\r")

Kind = Literal["statistical", "glossary"]


@dataclass(frozen=True, slots=True)
class Table:
    """Entries from terms of ``source`` to terms of ``target``, ISO 639-1 codes.

    An entry is (source term, target term, P(target | source), P(source | target)).
    """

    source: str
    target: str
    entries: tuple[tuple[str, str, float, float], ...]
    kind: Kind = "statistical"

    def __post_init__(self) -> None:
        """
        Raises:
            ValueError: a term has a tab or a line break, which no line of a table file can have.
        """
        for source, target, *_ in self.entries:
            if not _CONTROL.isdisjoint(source + target):
                raise ValueError(f"{source!r} to {target!r}: a term has a tab or a line break")
        object.__setattr__(self, "entries", tuple(map(tuple, self.entries)))

    @classmethod
    def train(cls, pairs: Iterable[tuple[str, str]], *, source: str, target: str, model: str = "model2") -> Self:
        """Learn a table from sentences that are translations of each other, by word alignment.

        Words are as they stand in the text; ``dragoman table train`` aligns index terms, which needs Java.

        >>> pairs = [("the house", "das Haus"), ("the garden", "der Garten"), ("a house", "ein Haus")] * 5
        >>> table = Table.train(pairs, source="en", target="de")
        >>> table.look_up("house")[0]
        'haus'

        Raises:
            UnknownLanguage: naming the code.
            ValueError: ``model`` is none of model1, model2 and hmm, or nothing can be learned from the pairs.
        """
        first, second = (PlainAnalysis(check_language(language)) for language in (source, target))
        sentences = (
            SentencePair(
                content_terms(first.tokens(source_text), first.language),
                content_terms(second.tokens(target_text), second.language),
                1.0,
            )
            for source_text, target_text in pairs
        )
        learned = train(sentences, AlignmentConfig(model=model))
        if not len(learned):
            raise ValueError("the pairs have no words that could be aligned")
        return cls(source, target, tuple(learned.entries()))

    def __len__(self) -> int:
        return len(self.entries)

    def look_up(self, term: str) -> list[str]:
        """The translations of a term as it stands in an entry, the most probable first."""
        best = sorted((entry for entry in self.entries if entry[0] == term), key=lambda entry: -entry[2])
        return [entry[1] for entry in best]

    def lines(self) -> Iterator[bytes]:
        """A line of TSV an entry."""
        return ("\t".join(map(str, entry)).encode() + b"\n" for entry in self.entries)

    def save(self, path: str | Path) -> None:
        """Write a TSV file, whole or not at all."""
        with atomic_file(Path(path)) as unfinished, unfinished.open("wb") as stream:
            stream.writelines(self.lines())
