"""The generator of costly inputs: by a seed the same ones, of all kinds, each within a size that can be sent."""

from __future__ import annotations

from collections import Counter

from dragoman.indexes.analysis.transliteration import skeletons
from dragoman_lab.benchmarks.hostile.inputs import generate
from dragoman_lab.benchmarks.hostile.service import sounding_words
from dragoman_lab.benchmarks.search.same_answers import difference

KINDS = {"values", "nesting", "keys", "strings", "text", "queries", "uploads", "jobs", "connections", "crowd"}


def test_a_seed_gives_the_same_inputs_again_of_all_kinds() -> None:
    first = [(made.kind, made.title, [hash(request.body) for request in made.requests]) for made in generate(40, 3)]
    again = [(made.kind, made.title, [hash(request.body) for request in made.requests]) for made in generate(40, 3)]
    assert first == again
    assert set(Counter(kind for kind, _, _ in first)) == KINDS


def test_the_words_that_sound_alike_do() -> None:
    words = list(sounding_words(500))
    assert len(set(words)) == 500
    assert len({frozenset(skeletons(word)) for word in words}) == 1


def test_a_difference_of_answers_is_found_and_new_fields_are_none() -> None:
    before = {"hits": [{"score": 1.0, "id": "a"}], "method": "psq"}
    assert difference(before, {"hits": [{"score": 1.0 + 1e-9, "id": "a", "new": 1}], "method": "psq"}, 1e-6) is None
    assert difference(before, {"hits": [{"score": 1.1, "id": "a"}], "method": "psq"}, 1e-6) is not None
    assert difference(before, {"hits": [], "method": "psq"}, 1e-6) is not None
    assert difference(before, {"hits": [{"score": 1.0, "id": "b"}], "method": "psq"}, 1e-6) is not None
