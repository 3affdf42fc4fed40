"""What translations are led to, and which of several drafts is shown."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.backbone.constraints.phrases import Phrase, has_phrase
from dragoman.checking import Check, Knowledge, Reason, check_sentences
from dragoman.checking.amounts import compare_amounts
from dragoman.checking.coverage import Coverage
from dragoman.checking.knowledge import Vectors
from dragoman.engine.checking.choosing import choose_draft
from dragoman.engine.checking.doubts import add_doubts, find_floor, weigh_evidence
from dragoman.engine.checking.source_amounts import list_amounts
from dragoman.engine.checking.source_phrases import SourcePhrases
from dragoman.engine.models.drafts import Draft, Drafts, SourceSentence, join_drafts, prompts_of
from dragoman.engine.models.generation import Generating
from dragoman.engine.tables.views import ActiveVersion, View
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.lexicon import Table, analyse_table, fold_term

ENTRIES = [("Hafenarbeiter", "dock worker"), ("Warnstreik", "warning strike"), ("Hafen", "port"), ("Rudel", "pack")]
SENTENCE = "Rund 2.500 Hafenarbeiter haben am Montag in Hamburg mit einem Warnstreik die Arbeit niedergelegt."


def glossary(entries: list[tuple[str, str]]) -> View:
    rows = [(fold_term(source, "de"), fold_term(target, "en"), 1.0, 1.0) for source, target in dict(entries).items()]
    surface = Table.from_entries("de", "en", rows)
    version = ActiveVersion(1, "mine", 1, "de", "en", "glossary", 1.0, "")
    return View((version,), surface, analyse_table(surface, analysis("de"), analysis("en")))


def find(text: str, view: View) -> SourceSentence:
    registry: Any = SimpleNamespace(snapshot=SimpleNamespace(views={("de", "en"): view}))
    return SourcePhrases(registry, analysis).find([text], "de", "en")[0]


def test_a_sentence_is_led_to_its_numbers_and_the_terms_of_a_glossary() -> None:
    sentence = find(SENTENCE, glossary(ENTRIES))
    assert sentence.required == (
        Phrase(("2500", "2,500"), "amount"),
        Phrase(("dock worker",)),
        Phrase(("warning strike",)),
    )
    kinds = [prompt.phrases for prompt in prompts_of(sentence)]
    assert kinds == [sentence.required[:1], sentence.required]


@pytest.mark.parametrize(
    ("text", "language", "forms"),
    [
        ("20.000 Menschen", "de", [("20,000",)]),
        ("12 Prozent", "de", [("12", "twelve")]),
        ("1,5 Grad", "de", [("1.5",)]),
        ("١٢٣ كتاب", "ar", [("123",)]),
        ("drei Hunde", "de", []),
        ("морозы до минус 60 градусов", "ru", [("-60",)]),
        ("minus 5 Grad", "de", [("-5",)]),
    ],
)
def test_numbers_are_written_as_english_does(text: str, language: str, forms: list[tuple[str, ...]]) -> None:
    assert [phrase.forms for phrase in list_amounts(text, language, "en")] == forms
    assert not list(list_amounts(text, language, "sw"))


@given(st.one_of(st.integers(0, 10**9).map(Fraction), st.integers(1, 10**6).map(lambda tenths: Fraction(tenths, 10))))
def test_a_number_has_its_value_in_english(quantity: Fraction) -> None:
    whole, tenths = divmod(quantity * 10, 10) if quantity.denominator > 1 else (quantity, None)
    german = f"{int(whole):,}".replace(",", ".") + (f",{int(tenths)}" if tenths else "")
    if quantity.denominator > 1:
        german = f"{int(quantity):,}".replace(",", ".") + f",{int(quantity * 10) % 10}"
    (phrase,) = list_amounts(f"Es sind {german} Tonnen.", "de", "en")
    assert compare_amounts(f"Es sind {german} Tonnen.", "de", f"It is {phrase.forms[0]} tons.", "en") == []


@settings(max_examples=60, deadline=None)
@given(
    entries=st.lists(st.sampled_from(ENTRIES), min_size=1, unique=True),
    texts=st.lists(st.sampled_from(["dock worker", "dock workers", "warning strike", "port", "packs", "2,500", "in"]))
    .map(" ".join)
    .flatmap(lambda text: st.lists(st.just(text + " Hamburg"), min_size=1, max_size=3)),
)
def test_what_is_shown_obeys_the_glossary_or_is_withheld_for_it(
    entries: list[tuple[str, str]], texts: list[str]
) -> None:
    view = glossary(entries)
    knowledge = Knowledge("de", "en", analysis, view, view.inverse())
    checks = check_sentences([(SENTENCE, text) for text in texts], knowledge)
    chosen = choose_draft([(Draft(text), check) for text, check in zip(texts, checks, strict=True)])
    assert chosen is not None
    draft, check = chosen
    asked = [target for source, target in entries if source in ("Hafenarbeiter", "Warnstreik")]
    lacking = [term for term in asked if not has_phrase(draft.text.replace("workers", "worker"), Phrase((term,)))]
    if lacking:
        assert check.status == "failed"
        codes = {reason.code for reason in check.reasons}
        assert "glossary" in codes or codes == {"length"}  # a text that repeats itself is looked at no further


def test_the_first_good_draft_is_chosen_else_the_one_with_fewest_faults() -> None:
    good, doubtful = Check("ok"), Check("draft", (Reason("coverage"), Reason("meaning")))
    less, bad = Check("draft", (Reason("meaning"),)), Check("failed", (Reason("number"),))
    first, second, third = Draft("a"), Draft("b"), Draft("c")
    assert choose_draft([(first, bad), (second, good), (third, good)]) == (second, good)
    assert choose_draft([(first, doubtful), (second, bad), (third, less)]) == (third, less)
    assert choose_draft([(Draft("a", whole=False), good)]) == (Draft("a", False), Check("draft", (Reason("length"),)))
    assert choose_draft([]) is None


def test_drafts_are_one_result_without_those_that_failed() -> None:
    parts: list[Future[Any]] = [Future() for _ in range(3)]
    joined = join_drafts([Generating(part) for part in parts]).future
    parts[1].set_result(Draft("b"))
    parts[0].set_exception(RuntimeError())
    assert not joined.done()
    parts[2].set_result(Draft("c"))
    assert joined.result() == Drafts((Draft("b"), Draft("c")))
    failed: Future[Any] = Future()
    alone = join_drafts([Generating(failed)])
    failed.set_exception(RuntimeError("all"))
    with pytest.raises(RuntimeError, match="all"):
        alone.future.result()


def test_drafts_that_are_cancelled_are_not_waited_for() -> None:
    part: Future[Any] = Future()
    joined = join_drafts([Generating(part)])
    joined.cancel()
    assert part.cancelled()
    assert joined.future.cancelled()


@pytest.mark.parametrize(
    ("cosine", "translation", "status"),
    [
        (0.9, "Dock workers are at the port", "ok"),
        (0.75, "Dock workers are at the port", "draft"),
        (0.9, "Dock workers are at the station", "draft"),
        (0.5, "Dock workers are at the port", "failed"),
        (0.6, "Dock workers are at the station", "failed"),
        (0.9, "Dock workers are at the port of Hong Kong", "failed"),
    ],
)
def test_more_is_asked_of_a_doubtful_translator(cosine: float, translation: str, status: str) -> None:
    view = glossary([("Hafenarbeiter", "dock worker"), ("Hafen", "port"), ("Bahnhof", "station"), ("Dock", "dock")])
    vectors = {"de": np.array([[1.0, 0.0]], np.float32), "en": np.array([[cosine, 0.0]], np.float32)}
    knowledge = Knowledge(
        source="de",
        target="en",
        analysis=analysis,
        forward=view,
        backward=view.inverse(),
        encode=lambda texts, language: vectors[language].repeat(len(texts), 0),
    )
    pair = ("Hafenarbeiter sind am Hafen", translation)
    assert add_doubts([pair], [Check("ok")], knowledge)[0].status == status
    failed = Check("failed", (Reason("number"),))
    assert add_doubts([pair], [failed], knowledge) == [failed]
    assert add_doubts([pair], [Check("ok")], Knowledge("de", "en", analysis))[0].status == "failed"


@given(
    rows=st.lists(
        st.tuples(st.floats(0, 1), st.sampled_from([Check("ok"), Check("draft", (Reason("length"),))])),
        min_size=1,
        max_size=4,
    ),
    length=st.integers(1, 12),
)
def test_what_has_too_little_to_show_for_it_is_withheld_for_its_meaning(
    rows: list[tuple[float, Check]], length: int
) -> None:
    words = "hafen " * length
    cosines = {f"{'port ' * length}{place}": cosine for place, (cosine, _) in enumerate(rows)}

    def encode(texts: Sequence[str], language: str) -> Vectors:
        vectors = [(cosine := cosines.get(text, 1.0), (1 - cosine**2) ** 0.5) for text in texts]
        return np.array(vectors, np.float32)

    knowledge = Knowledge("de", "en", analysis, encode=encode)
    pairs = [(words, translation) for translation in cosines]
    for check, pair in zip(add_doubts(pairs, [check for _, check in rows], knowledge), pairs, strict=True):
        evidence = weigh_evidence(cosines[pair[1]], [])
        if abs(evidence - find_floor(length)) > 1e-6:
            assert check.status == ("draft" if evidence > find_floor(length) else "failed")
        assert check.status == "draft" or "meaning" in {reason.code for reason in check.reasons}


COVERAGES = st.builds(lambda covered, missing: Coverage(covered, covered + missing), *[st.integers(0, 20)] * 2)


@given(st.floats(-1, 1), COVERAGES, COVERAGES, st.floats(0, 0.5), st.integers(0, 5))
def test_what_speaks_for_a_draft_never_counts_against_it(
    cosine: float, there: Coverage, back: Coverage, closer: float, more: int
) -> None:
    covered = min(there.covered + more, there.looked_up)
    assert find_floor(more) <= find_floor(more + 1)
    better = weigh_evidence(cosine + closer, [Coverage(covered, there.looked_up), back])
    assert better >= weigh_evidence(cosine, [there, back])
