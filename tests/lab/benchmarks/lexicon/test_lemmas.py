"""Recall and false matches of a small list of words."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dragoman.lexicon.text.tokens import Token
from dragoman_lab.benchmarks.lexicon.lemmas import Pair, false_matches, pairs_of, recall, terms_of

PAIRS = [Pair("häuser", "haus"), Pair("Häusern", "haus"), Pair("mausi", "maus"), Pair("ging", "gehen")]


class FirstLetters:
    """The term is the first letters of a word."""

    language = "de"
    fingerprint = ""

    def __init__(self, count: int) -> None:
        self.count = count

    def tokens(self, text: str) -> list[Token]:
        return [Token(word, word.lower()[: self.count], 0, 0) for word in text.split()]


def test_recall_counts_words_with_a_term_of_their_dictionary_form() -> None:
    found, missed = recall(FirstLetters(3), "de", PAIRS, 60)
    assert found == 0.25
    assert {pair.form for pair in missed} == {"häuser", "Häusern", "ging"}
    assert recall(FirstLetters(1), "de", PAIRS, 60)[0] == 1


def test_false_matches_are_of_other_dictionary_forms() -> None:
    assert false_matches(FirstLetters(3), "de", PAIRS) == (0, [])
    pairs = [Pair("haust", "haus"), Pair("hausten", "hausen")]
    share, found = false_matches(FirstLetters(4), "de", pairs)
    assert share == 1
    assert set(found) == {("haust", "hausen"), ("hausten", "haus")}


def test_further_terms_count() -> None:
    class Further(FirstLetters):
        def tokens(self, text: str) -> list[Token]:
            return [token._replace(further=("x", "")) for token in super().tokens(text)]

    assert terms_of(Further(2), "abc") == {"ab", "x"}


@pytest.mark.parametrize("folder", ["lemmas", "research_only/lemmas"])
def test_the_halves_of_a_list_share_no_dictionary_form(tmp_path: Path, folder: str) -> None:
    rows = [f"w{number}\tf{number % 50}\tNOUN\tword\t1" for number in range(200)] + ["x\tgroep_lid\tNOUN\tword\t1"]
    path = tmp_path / folder / "nl.tsv.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress("\n".join(rows).encode()))
    tune, test = (pairs_of(tmp_path, "nl", split) for split in ("tune", "test"))
    assert len(tune) + len(test) == 201
    assert not {pair.lemma for pair in tune} & {pair.lemma for pair in test}
    assert Pair("x", "groeplid") in tune + test
