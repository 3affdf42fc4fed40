"""Training tables from parallel text: toy corpora, what is counted, what is left out, settings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.lexicon.alignment.counts import SYMMETRISATIONS
from dragoman.lexicon.alignment.em import AGREEMENTS
from dragoman.lexicon.alignment.training import AlignmentConfig, Pruning, SentencePair, TrainedTable, train

KEEP_ALL = Pruning(min_probability=0.0, max_translations=1000)


@dataclass(frozen=True)
class Word:
    word: str
    term: str


def sentence(text: str, stems: dict[str, str] | None = None) -> list[Word]:
    return [Word(word, (stems or {}).get(word, word)) for word in text.split()]


def pairs(*texts: tuple[str, str]) -> list[SentencePair]:
    return [SentencePair(sentence(source), sentence(target)) for source, target in texts]


TOY = pairs(
    ("the house", "das haus"),
    ("the book", "das buch"),
    ("a book", "ein buch"),
    ("a house", "ein haus"),
    ("the small house", "das kleine haus"),
    ("a small book", "ein kleines buch"),
)


def best(table: TrainedTable) -> dict[str, str]:
    found: dict[str, str] = {}
    for source, target, _, _ in table.entries():
        found.setdefault(source, target)
    return found


def probability(table: TrainedTable, source: str, target: str) -> tuple[float, float]:
    return next((p_ts, p_st) for s, t, p_ts, p_st in table.entries() if (s, t) == (source, target))


@pytest.mark.parametrize("model", ["model1", "model2", "hmm"])
@pytest.mark.parametrize("agreement", AGREEMENTS)
@pytest.mark.parametrize("symmetrisation", SYMMETRISATIONS)
def test_toy_corpus(model: str, agreement: str, symmetrisation: str) -> None:
    found = best(train(TOY, AlignmentConfig(model=model, agreement=agreement, symmetrisation=symmetrisation)))
    expected = {"the": "das", "house": "haus", "book": "buch", "a": "ein"}
    assert {word: found[word] for word in expected} == expected


def test_reordered_verbs() -> None:
    """The HMM follows a systematic reordering: the German verb stands last."""
    nouns = [("boy", "junge"), ("girl", "mädchen"), ("king", "könig"), ("cat", "katze")]
    verbs = [("sees", "sieht"), ("hears", "hört"), ("feeds", "füttert")]
    table = train(
        pairs(
            *(
                (f"that the {n} {v} the {m}", f"dass die {x} die {z} {y}")
                for n, x in nouns
                for v, y in verbs
                for m, z in nouns
                if n != m
            )
        ),
        AlignmentConfig(model="hmm"),
    )
    found = best(table)
    for source, target in [*nouns, *verbs]:
        assert found[source] == target


def test_aligned_by_term_and_counted_by_word() -> None:
    """Inflected forms share the evidence of their stem, and the table holds the forms that occurred."""
    stems = {"häuser": "haus", "hauses": "haus", "houses": "house"}
    corpus = [
        SentencePair(sentence(source, stems), sentence(target, stems))
        for source, target in [
            ("the house", "das haus"),
            ("the book", "das buch"),
            ("the houses", "die häuser"),
            ("the books", "die bücher"),
            ("the house", "des hauses"),
        ]
    ]
    table = train(corpus, AlignmentConfig())
    words = {(source, target) for source, target, _, _ in table.entries()}
    assert ("houses", "häuser") in words and ("house", "hauses") in words
    assert best(table)["houses"] == "häuser"
    assert not any(target in ("das", "die", "des") for source, target in words if source.startswith("house"))


def test_stop_words_take_part_and_can_be_dropped() -> None:
    stop = {"the": "", "das": "", "a": "", "ein": ""}
    corpus = [
        SentencePair(
            [Word(w.word, stop.get(w.word, w.word)) for w in pair.source],
            [Word(w.word, stop.get(w.word, w.word)) for w in pair.target],
        )
        for pair in TOY
    ]
    kept = train(corpus, AlignmentConfig())
    assert best(kept)["the"] == "das"
    assert list(kept.entries()) == list(train(TOY, AlignmentConfig()).entries())
    dropped = train(corpus, AlignmentConfig(keep_stop_words=False))
    words = {word for source, target, _, _ in dropped.entries() for word in (source, target)}
    assert not words & set(stop)
    assert best(dropped)["house"] == "haus"


def test_stop_word_apart_from_equal_stem() -> None:
    """A stop word `will` and a noun stemmed to `will` are aligned as different things."""
    corpus = [
        SentencePair([Word("will", "")], [Word("wird", "")]),
        SentencePair([Word("wills", "will")], [Word("testamente", "testament")]),
    ] * 3
    table = train(corpus, AlignmentConfig())
    assert best(table) == {"will": "wird", "wills": "testamente"}


def test_weight_is_a_number_of_repetitions() -> None:
    extra = SentencePair(sentence("book house"), sentence("roman haus"))
    config = AlignmentConfig(pruning=KEEP_ALL)
    weighted = train([*TOY, extra._replace(weight=3.0)], config)
    repeated = train([*TOY, extra, extra, extra], config)
    assert [(s, t) for s, t, _, _ in weighted.entries()] == [(s, t) for s, t, _, _ in repeated.entries()]
    assert weighted.p_ts == pytest.approx(repeated.p_ts, abs=1e-4)
    assert weighted.counts == pytest.approx(repeated.counts, abs=1e-3)


def test_left_out_pairs_are_counted() -> None:
    corpus = [
        *TOY,
        *pairs(("", "leer"), ("empty", ""), ("x " * 101, "y " * 50), ("x " * 10, "y"), ("x", "y " * 9)),
    ]
    counts = train(corpus, AlignmentConfig()).corpus
    assert (counts.read, counts.kept) == (len(corpus), len(TOY) + 1)
    assert (counts.empty, counts.too_long, counts.length_ratio) == (2, 1, 1)


def test_nothing_usable_gives_an_empty_table() -> None:
    for corpus in ([], pairs(("", "leer"))):
        table = train(corpus, AlignmentConfig())
        assert len(table) == 0 and list(table.entries()) == []


def test_same_input_same_table() -> None:
    first, second = (list(train(TOY, AlignmentConfig()).entries()) for _ in range(2))
    assert first == second


def test_pairs_are_read_once_and_reported() -> None:
    seen: dict[str, list[tuple[int, int]]] = defaultdict(list)
    train(iter(TOY), AlignmentConfig(), lambda phase, done, total: seen[phase].append((done, total)))
    assert list(seen) == ["read", "index", "align", "count"]
    assert all(values[-1][0] == values[-1][1] for values in seen.values())
    assert all(done <= total for values in seen.values() for done, total in values)


def test_failing_progress_stops_the_training() -> None:
    def fail(phase: str, _done: int, _total: int) -> None:
        if phase == "align":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(TOY, AlignmentConfig(), fail)


letters = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=6).map(" ".join)
corpora = st.lists(st.tuples(letters, letters), min_size=1, max_size=15)


def sums(values: Iterable[tuple[str, float]]) -> dict[str, float]:
    result: dict[str, float] = defaultdict(float)
    for key, value in values:
        result[key] += value
    return result


@given(
    texts=corpora,
    symmetrisation=st.sampled_from(sorted(SYMMETRISATIONS)),
    marginal=st.sampled_from(["aligned", "occurrences"]),
    model=st.sampled_from(["model1", "hmm"]),
)
@settings(max_examples=60, deadline=None)
def test_probabilities(texts: list[tuple[str, str]], symmetrisation: str, marginal: str, model: str) -> None:
    config = AlignmentConfig(
        model=model, symmetrisation=symmetrisation, marginal=marginal, pruning=KEEP_ALL, min_link=0.0
    )
    entries = list(train(pairs(*texts), config).entries())
    if not entries:  # both directions may prefer NULL, and nothing is left of their hard links
        assert symmetrisation in ("intersection", "grow-diag")
        return
    assert all(0 < p_ts <= 1 + 1e-9 and 0 < p_st <= 1 + 1e-9 for _, _, p_ts, p_st in entries)
    for totals in (sums((s, p) for s, _, p, _ in entries), sums((t, p) for _, t, _, p in entries)):
        if marginal == "aligned":
            assert list(totals.values()) == pytest.approx([1.0] * len(totals))
        else:
            assert max(totals.values()) <= 1 + 1e-5


@given(texts=corpora, swap_symmetrisation=st.sampled_from(["product", "mean", "union", "intersection"]))
@settings(max_examples=30, deadline=None)
def test_directions_are_consistent(texts: list[tuple[str, str]], swap_symmetrisation: str) -> None:
    """Both conditionals come from one joint count, and exchanging the languages exchanges them."""
    config = AlignmentConfig(symmetrisation=swap_symmetrisation, pruning=KEEP_ALL, min_link=1e-3)
    table = train(pairs(*texts), config)
    c_s = sums((s, c) for (s, _, _, _), c in zip(table.entries(), table.counts, strict=True))
    c_t = sums((t, c) for (_, t, _, _), c in zip(table.entries(), table.counts, strict=True))
    for (s, t, p_ts, p_st), count in zip(table.entries(), table.counts, strict=True):
        assert p_ts == pytest.approx(count / c_s[s]) and p_st == pytest.approx(count / c_t[t])
    if swap_symmetrisation in ("product", "mean"):
        swapped = train(pairs(*((t, s) for s, t in texts)), config)
        forward = {(s, t): (a, b) for s, t, a, b in table.entries() if a > 0.05 and b > 0.05}
        backward = {(t, s): (b, a) for s, t, a, b in swapped.entries()}
        for key, value in forward.items():
            assert backward[key] == pytest.approx(value, abs=2e-2)


@given(texts=corpora, most=st.integers(1, 3), least=st.sampled_from([0.0, 0.1, 0.3]), count=st.sampled_from([0, 0.5]))
@settings(max_examples=40, deadline=None)
def test_pruning(texts: list[tuple[str, str]], most: int, least: float, count: float) -> None:
    config = AlignmentConfig(model="model1", symmetrisation="mean", pruning=KEEP_ALL)
    whole = train(pairs(*texts), config)
    rows = list(zip(whole.entries(), whole.counts, strict=True))

    def stays(entry: tuple[str, str, float, float], c: float) -> bool:
        s, t, p_ts, p_st = entry
        better = sum(e[0] == s and (e[2] > p_ts or (e[2] == p_ts and e[1] < t)) for e, _ in rows)
        better_back = sum(e[1] == t and (e[3] > p_st or (e[3] == p_st and e[0] < s)) for e, _ in rows)
        forward, backward = p_ts >= least and better < most, p_st >= least and better_back < most
        return c >= count and (forward or backward)

    rules = Pruning(min_probability=least, max_translations=most, min_count=count)
    pruned = train(pairs(*texts), replace(config, pruning=rules))
    assert list(pruned.entries()) == [entry for entry, c in rows if stays(entry, c)]
    assert pruned.pruned == len(rows) - len(pruned)


def test_entries_are_in_order() -> None:
    entries = list(train(TOY, AlignmentConfig(symmetrisation="mean", pruning=KEEP_ALL)).entries())
    assert entries == sorted(entries, key=lambda e: (e[0], -e[2], e[1]))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("model", "model3"),
        ("agreement", "some"),
        ("symmetrisation", "diagonal"),
        ("marginal", "joint"),
        ("iterations", 0),
        ("model1_iterations", -1),
        ("tension", 0.0),
        ("null_rate", 1.0),
        ("prior", float("nan")),
        ("max_jump", 0),
        ("max_length", 0),
        ("max_ratio", 0.5),
        ("min_link", 2.0),
    ],
)
def test_settings_out_of_range_are_named(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=field):
        AlignmentConfig(**{field: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("field", "value"), [("min_probability", 1.5), ("max_translations", 0), ("min_count", float("nan"))]
)
def test_pruning_out_of_range_is_named(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=field):
        Pruning(**{field: value})  # type: ignore[arg-type]
