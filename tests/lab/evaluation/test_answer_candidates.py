"""Lists of candidates out of questions with answers: what is relevant, what is beside it, and which table says what."""

from __future__ import annotations

import gzip
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from dragoman.backbone.encoder import Encoder
from dragoman.backbone.loading import load_encoder
from dragoman.indexes.analysis.pipeline import analysis
from dragoman_lab.backbone.config import ConfigError
from dragoman_lab.backbone.small import SMALL
from dragoman_lab.evaluation.answer_candidates import AnswerLists, AnswerSource, parts, read_answers
from dragoman_lab.evaluation.benchmark import BenchmarkError
from dragoman_lab.evaluation.candidate_sources import MartSources, prepare
from dragoman_lab.ranking.lists import Lists, read_lists

pytestmark = pytest.mark.slow

PLACES = ["garden", "city", "forest", "desert", "kitchen", "harbour"]
THINGS = ["bee", "ship", "volcano", "book", "river", "tower", "horse", "lamp"]


def pack(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()))


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    pack(path, "".join(json.dumps(row) + "\n" for row in rows))


def rows(language: str = "en") -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Contexts of two sentences, three of each title, and a question for each that its second sentence answers."""
    contexts, questions = [], []
    for number, (place, thing) in enumerate((place, thing) for place in PLACES for thing in THINGS[:4]):
        text = f"The {place} is a place for everyone. The {thing} stands near the wall {number}."
        contexts.append({"id": f"c{number}", "title": f"About {place}", "text": text})
        answer = f"wall {number}"
        questions.append(
            {"id": f"q{number}", "question": f"Where is the {thing} of the {place}?", "context_id": f"c{number}",
             "answers": [{"text": answer, "start": text.index(answer)}]}
        )  # fmt: skip
    return contexts, questions


@pytest.fixture
def data(tmp_path: Path) -> Path:
    contexts, questions = rows()
    write_rows(tmp_path / "qa" / "some.en.contexts.jsonl.gz", contexts)
    write_rows(tmp_path / "qa" / "some.en.jsonl.gz", questions)
    lines = [(f"what stands near the {place} ?", f"near the {place} stands a {THINGS[n]} .") for n, place in
             enumerate(PLACES)]  # fmt: skip
    pack(tmp_path / "questions" / "plain.en.tsv.gz", "".join(f"{a}\t{b}\n" for a, b in lines))
    for folder, words in (
        ("switching", [("garden", "Garten"), ("city", "Stadt"), ("bee", "Biene"), ("ship", "Schiff")]),
        ("linking", [("city", "Stadt"), ("forest", "Wald"), ("ship", "Schiff")]),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "en-de.tsv").write_text("".join(f"{a}\t{b}\t0.9\t0.9\n" for a, b in words))
    return tmp_path


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder(str(SMALL))


def entry(data: Path, **changes: Any) -> dict[str, Any]:
    given = {"sets": ["qa/some.en"], "switched_by": str(data / "switching"), "questions": 10}
    return given | {"same_document": 2, "first_stage": 3, "random": 2} | changes


def made(data: Path, encoder: Encoder, *entries: dict[str, Any], **changes: Any) -> Path:
    table = {"tables": str(data / "linking"), "languages": ["de"], "answers": list(entries), **changes}
    prepare(MartSources.parse_below(table, data), encoder, data / "lists", data / "tuning", lambda: None)
    return data / "lists" / "answers"


def terms(lists: Lists, text: int) -> list[str]:
    return [term for term in lists._words(text).terms if term]


def stem(word: str, language: str) -> str:
    """The index term of a word."""
    return analysis(language).tokens(word)[0].term


def test_the_passage_that_holds_the_answer_is_relevant_and_others_do_not_hold_it(data: Path, encoder: Encoder) -> None:
    folder = made(data, encoder, entry(data, subwords=12, own_language=True))
    assert {path.name for path in folder.iterdir()} == {f"some.en-12-{pair}" for pair in ("en-de", "de-en", "en-en")}
    for pair in ("en-de", "de-en", "en-en"):
        lists = read_lists(folder / f"some.en-12-{pair}")
        assert (len(lists), f"{lists.source}-{lists.target}") == (10, pair)
        for number in range(len(lists)):
            one = lists[number]
            wall = one.name.removeprefix("q")
            (answer,) = [candidate for candidate in one.candidates if candidate.relevant]
            assert wall in terms(lists, answer.text) and one.relevant == 1  # the second sentence alone
            assert len(one.candidates) == len({candidate.text for candidate in one.candidates})
            assert 1 + 2 + 2 <= len(one.candidates) <= 1 + 2 + 3 + 2  # psq may find less
            assert not any(wall in terms(lists, other.text) for other in one.candidates if not other.relevant)
            scores = [candidate.score for candidate in one.candidates]
            assert scores == sorted(scores, reverse=True)


def test_each_kind_of_candidate_comes_from_where_it_should(data: Path, encoder: Encoder) -> None:
    counts = {"same_document": 0, "first_stage": 0, "random": 0}
    known = read_answers(str(data / "qa" / "some.en"), encoder, 0)
    for kind, count in (("same_document", 3), ("first_stage", 4), ("random", 5)):
        folder = made(data, encoder, entry(data, name=kind, **counts | {kind: count}))
        lists = read_lists(folder / f"some.en-{kind}-en-de")
        for number in range(len(lists)):
            one = lists[number]
            place = known.documents[f"c{one.name[1:]}#0"].split()[-1]
            switched = stem({"garden": "Garten", "city": "Stadt"}.get(place, place), "de")
            others = [candidate for candidate in one.candidates if not candidate.relevant]
            assert len(others) == count or (kind == "first_stage" and len(others) < count)
            if kind == "same_document":
                assert all(switched in terms(lists, other.text) for other in others)
            if kind == "first_stage" and place != "garden":  # which the table of links does not have
                assert all(other.score > 0 for other in others)


def test_dense_candidates_are_the_nearest_by_the_encoder_in_the_set_s_language(data: Path, encoder: Encoder) -> None:
    counts = {"same_document": 0, "first_stage": 0, "random": 0, "dense": 3, "dense_encoder": str(SMALL)}
    one = AnswerSource.parse(entry(data, **counts)).below(data, "sets")
    known, dense = AnswerLists(one, encoder)._read(one.sets[0])
    assert dense is not None
    lists = read_lists(made(data, encoder, entry(data, **counts)) / "some.en-de-en")  # whose documents are as they were
    questions = {question.name: question for question in known.questions}
    texts = {key: number for number, key in enumerate(known.passages)}
    for number in range(len(lists)):
        found = lists[number]
        question = questions[found.name]
        expected = [key for key in dense.rank(question.text, len(texts)) if not known.may_answer(key, question)][:3]
        walls = {known.passages[key].rstrip(".").split()[-1] for key in expected}
        others = [set(terms(lists, candidate.text)) for candidate in found.candidates if not candidate.relevant]
        assert len(others) == 3 and all(own & walls for own in others)


def test_one_table_switches_and_another_links(data: Path, encoder: Encoder) -> None:
    folder = made(
        data,
        encoder,
        entry(data, questions=0),
        entry(data, questions=0, name="back", switched_by=str(data / "linking"), linked_by=str(data / "switching")),
    )
    for name, switched, kept, linked, alone in (
        ("some.en", "Garten", "forest", "Stadt", "Garten"),
        ("some.en-back", "Wald", "garden", "Stadt", "Wald"),
    ):
        lists = read_lists(folder / f"{name}-en-de")
        texts = {candidate.text for number in range(len(lists)) for candidate in lists[number].candidates}
        words = {term for text in texts for term in terms(lists, text)}
        assert {stem(word, "de") for word in (switched, kept, linked)} <= words
        links: set[tuple[str, str]] = set()
        for number in range(len(lists)):
            one = lists[number]
            for candidate in one.candidates:
                query, text = lists._words(one.query).terms, lists._words(candidate.text).terms
                (found,) = lists.links(one.query, [candidate.text], "mean")
                links |= {(query[a], text[b]) for a, b in zip(found.left.tolist(), found.right.tolist(), strict=True)}
        assert (stem("city", "en"), stem("Stadt", "de")) in links  # both tables have it
        assert not any(right == stem(alone, "de") for _, right in links)  # which the table of links does not have


def test_questions_with_the_sentence_that_answers(data: Path, encoder: Encoder) -> None:
    folder = made(data, encoder, entry(data, sets=["questions/plain.en"], questions=0))
    lists = read_lists(folder / "plain.en-de-en")
    assert len(lists) == len(PLACES)
    for number in range(len(lists)):
        (answer,) = [candidate for candidate in lists[number].candidates if candidate.relevant]
        assert stem(PLACES[int(lists[number].name[1:]) - 1], "en") in terms(lists, answer.text)


def test_the_same_sources_give_the_same_lists_and_others_are_refused(data: Path, encoder: Encoder) -> None:
    first = read_lists(made(data, encoder, entry(data)) / "some.en-en-de").checksum
    (data / "lists").rename(data / "before")
    assert read_lists(made(data, encoder, entry(data)) / "some.en-en-de").checksum == first
    (data / "other").mkdir()
    for name in ("switching", "linking"):
        (data / name).rename(data / f"{name}-kept")
    (data / "switching-kept").rename(data / "linking")
    (data / "linking-kept").rename(data / "switching")
    for changes in ({}, {"random": 3}):
        with pytest.raises(ConfigError, match="these lists were made from other sources or settings"):
            made(data, encoder, entry(data, **changes))


def test_what_cannot_be_learned_from_is_left_out_and_counted(
    data: Path, encoder: Encoder, caplog: pytest.LogCaptureFixture
) -> None:
    contexts, questions = rows()
    questions[0]["answers"] = []
    start = contexts[1]["text"].index("everyone. The")
    questions[1]["answers"] = [{"text": "everyone. The", "start": start}]
    contexts[2]["text"] += " ash" * 900
    write_rows(data / "qa" / "odd.en.contexts.jsonl.gz", contexts)
    write_rows(data / "qa" / "odd.en.jsonl.gz", questions)
    with caplog.at_level(logging.WARNING, "dragoman"):
        found = read_answers(str(data / "qa" / "odd.en"), encoder, 12)
    assert len(found.questions) == len(questions) - 2
    assert "1 questions left out: there is no answer" in caplog.text
    assert "1 questions left out: the answer lies across passages" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.WARNING, "dragoman"):
        assert len(read_answers(str(data / "qa" / "odd.en"), encoder, 0).questions) == len(questions) - 2
    assert "1 questions left out: the passage is longer than the 800 subwords that are read" in caplog.text


def test_parts_are_whole_sentences_that_cover_the_text(encoder: Encoder) -> None:
    text = "The bee stands here. A ship! Why is the volcano near the old harbour of the city? Ash."
    assert parts(text, encoder, 0) == [((0, len(text)), True)]
    found = [span for span, _ in parts(text, encoder, 9)]
    assert "".join(text[a:b] for a, b in found).replace(" ", "") == text.replace(" ", "")
    lengths = [len(one.ids) for one in encoder.subwords([text[a:b] for a, b in found])]
    assert len(found) > 1 and all(n <= 9 or text[a:b].count("?") == 1 for n, (a, b) in zip(lengths, found, strict=True))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"set": ["x"]}, "sources: answers: 0: unknown field set"),
        ({"sets": []}, r"sources: answers: 0: sets: .* at least 1 item"),
        ({"sets": "qa/some.en"}, r"sources: answers: 0: sets: .* valid list, not 'qa/some\.en'"),
        ({"random": -1}, r"sources: answers: 0: random: .* greater than or equal to 0, not -1"),
        ({"subwords": 900}, r"subwords: .* less than or equal to 800, not 900"),
        ({"dense": 2}, "dense and dense_encoder need each other"),
        ({"same_document": 0, "first_stage": 0, "random": 0}, "other candidates than relevant ones"),
        ({"switched_by": "", "own_language": True}, "there is no other language"),
    ],
)
def test_entries_that_cannot_be_are_refused(data: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        MartSources.parse_below({"tables": "x", "answers": [entry(data) | changes]}, data)


def test_what_is_missing_is_named(data: Path, encoder: Encoder) -> None:
    nowhere = str(data / "nowhere")
    for changes, message in (
        (
            {"sets": ["qa/none.en"]},
            r"sets: neither .*none\.en\.jsonl\.gz and .*contexts.* nor .*none\.en\.tsv\.gz exist",
        ),
        ({"switched_by": nowhere}, r"answers: switched_by: .*nowhere/en-de\.tsv is missing"),
        ({"linked_by": nowhere}, r"answers: linked_by: .*nowhere holds no en-de\.tsv"),
        ({"sets": ["qa/none.fr"]}, r"none\.fr is in fr, and languages are de"),
    ):
        with pytest.raises(ConfigError, match=message):
            made(data, encoder, entry(data, **changes))
    with pytest.raises(ConfigError, match=r"two entries make lists some\.en-en-de: give one of them a name"):
        made(data, encoder, entry(data), entry(data, linked_by=str(data / "switching")))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"context_id": "c99"}, r"bad\.en\.jsonl\.gz: q0: context_id: c99 is not in .*contexts"),
        ({"answers": None}, r"q0: answers: needs a list of objects"),
        ({"answers": [{"text": "wall"}]}, r"q0: answers: needs a list of objects"),
        ({"answers": [{"text": "wall", "start": 3}]}, r"q0: answers: 'wall' is not in the context at 3"),
        ({"question": 7}, r'bad\.en\.jsonl\.gz:1: needs the strings "id" and "question" and "context_id"'),
    ],
)
def test_lines_that_cannot_be_used_are_named(data: Path, encoder: Encoder, row: dict[str, Any], message: str) -> None:
    contexts, questions = rows()
    write_rows(data / "qa" / "bad.en.contexts.jsonl.gz", contexts)
    write_rows(data / "qa" / "bad.en.jsonl.gz", [questions[0] | row, *questions[1:]])
    with pytest.raises(BenchmarkError, match=message):
        read_answers(str(data / "qa" / "bad.en"), encoder, 0)


def test_a_line_without_a_tab_or_a_context_twice_is_named(data: Path, encoder: Encoder) -> None:
    pack(data / "questions" / "bad.en.tsv.gz", "what ?\tthis .\nwhat ? this .\n")
    with pytest.raises(BenchmarkError, match=r"bad\.en\.tsv\.gz:2: needs a question, a tab and the sentence"):
        read_answers(str(data / "questions" / "bad.en"), encoder, 0)
    contexts, questions = rows()
    write_rows(data / "qa" / "bad.en.contexts.jsonl.gz", [*contexts, contexts[0]])
    write_rows(data / "qa" / "bad.en.jsonl.gz", questions)
    with pytest.raises(BenchmarkError, match="the id c0 is there twice"):
        read_answers(str(data / "qa" / "bad.en"), encoder, 0)
