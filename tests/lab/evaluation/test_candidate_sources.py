"""Lists to learn from, out of parallel text and judged queries, and the command that makes them and learns."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from dragoman.backbone.encoder import Encoder
from dragoman.backbone.loading import load_encoder
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.lexicon.text.tokens import content_terms
from dragoman_lab.backbone.config import ConfigError, read_config
from dragoman_lab.backbone.small import SMALL
from dragoman_lab.evaluation.candidate_sources import JudgedSource, MartSources, prepare
from dragoman_lab.ranking.lists import Lists, lists_in, read_lists
from dragoman_lab.ranking.loop import MartTraining
from tests.backbone.samples import DEMO
from tests.support.serving import dragoman

pytestmark = pytest.mark.slow

CONFIGS = Path(__file__).parents[3] / "dragoman_lab" / "configs"
THINGS = ["bee", "ship", "volcano", "harbour", "honey", "salt", "book", "river"]
DINGE = ["Biene", "Schiff", "Vulkan", "Hafen", "Honig", "Salz", "Buch", "Fluss"]
PLACES = ["garden", "city", "forest", "desert", "kitchen"]
ORTE = ["Garten", "Stadt", "Wald", "Wüste", "Küche"]
LINES = [
    (f"Das {ding} steht tief {ort} {zahl}", f"The {thing} stands deep the {place} {zahl}")
    for zahl, (thing, ding) in enumerate(zip(THINGS, DINGE, strict=True))
    for place, ort in zip(PLACES, ORTE, strict=True)
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "parallel" / "de-en").mkdir(parents=True)
    text = "".join(f"{german}\t{english}\n" for german, english in LINES)
    (tmp_path / "parallel" / "de-en" / "sample.tsv.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "tables").mkdir()
    words = [*zip(THINGS, DINGE, strict=True), *zip(PLACES, ORTE, strict=True), ("stands", "steht"), ("deep", "tief")]
    (tmp_path / "tables" / "en-de.tsv").write_text("".join(f"{a}\t{b}\t0.9\t0.9\n" for a, b in words))
    return tmp_path


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder(str(SMALL))


def sources(data: Path, **changes: Any) -> MartSources:
    given: dict[str, Any] = {
        "tables": str(data / "tables"), "parallel": ["parallel"], "languages": ["de"], "documents": 40, "queries": 15,
        "depth": 6,
    }  # fmt: skip
    return MartSources.parse_below(given | changes, data)


def terms(lists: Lists, text: int) -> list[str]:
    return lists._words(text).terms


def test_a_run_of_words_is_answered_by_what_holds_its_translation(data: Path, encoder: Encoder) -> None:
    prepare(sources(data), encoder, data / "lists", data / "tuning", lambda: None)
    german = {tuple(t.term for t in content_terms(analysis("de").tokens(line[0]), "de")) for line in LINES}
    for source, target in (("en", "de"), ("de", "en")):
        lists = read_lists(data / "lists" / "weak" / f"{source}-{target}")
        assert (len(lists), lists.source, lists.target) == (15, source, target)
        assert lists.tokenizer == encoder.tokenizer_checksum
        for number in range(len(lists)):
            one = lists[number]
            (answer,) = [candidate for candidate in one.candidates if candidate.relevant]
            assert len(one.candidates) > 1
            scores = [candidate.score for candidate in one.candidates]
            assert scores == sorted(scores, reverse=True)
            (links,) = lists.links(one.query, [answer.text], "mean")
            asked = [term for term in terms(lists, one.query) if term]
            assert len(set(asked)) >= 2
            assert len(set(links.left.tolist())) == len(asked)  # every word has its translation there
            if target == "de":
                assert any(" ".join(line) in " ".join(terms(lists, answer.text)) for line in german)


def test_candidates_that_may_answer_as_well_are_left_out(data: Path, encoder: Encoder) -> None:
    prepare(sources(data, queries=40), encoder, data / "lists", data / "tuning", lambda: None)
    lists = read_lists(data / "lists" / "weak" / "en-de")
    for number in range(len(lists)):
        one = lists[number]
        asked = {term for term in terms(lists, one.query) if term}
        for candidate in one.candidates:
            (links,) = lists.links(one.query, [candidate.text], "mean")
            covered = {terms(lists, one.query)[place] for place in links.left.tolist()}
            assert candidate.relevant or len(covered & asked) < 0.8 * len(asked)


def test_judged_queries_and_their_words_in_another_language(data: Path, encoder: Encoder) -> None:
    demo = {"data": str(DEMO), "unit": "document", "source": "en", "target": "de", "depth": 9}
    prepare(sources(data, parallel=[], judged=[demo]), encoder, data / "lists", data / "tuning", lambda: None)
    lists = read_lists(data / "lists" / "judged" / "demo-document-en-de")
    assert (lists.source, lists.target) == ("en", "de")
    assert any(candidate.relevant for number in range(len(lists)) for candidate in lists[number].candidates)
    assert all(len(lists[number].candidates) <= 9 and lists[number].relevant >= 1 for number in range(len(lists)))
    english = data / "english"
    for name, rows in {
        "queries/en.jsonl": [{"id": "q", "text": "Where is the volcano near the city?"}],
        "corpus/passage.en.jsonl": [
            {"id": "a", "text": "The volcano is near the city. The ship was near the river and the harbour."},
            {"id": "b", "text": "The bee stands in the garden near the city."},
        ],
    }.items():
        (english / name).parent.mkdir(parents=True, exist_ok=True)
        (english / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    (english / "qrels").mkdir()
    (english / "qrels" / "passage.en.trec").write_text("q 0 a 1\n")
    entry = {"data": str(english), "unit": "passage", "word_by_word": True, "part_words": 8, "depth": 5}
    prepare(sources(data, parallel=[], judged=[entry]), encoder, data / "lists", data / "tuning", lambda: None)
    for source, target, word in (("en", "de", "vulkan"), ("de", "en", "volcano")):
        lists = read_lists(data / "lists" / "judged" / f"english-8-{source}-{target}")
        (one,) = [lists[number] for number in range(len(lists))]
        assert [candidate.relevant for candidate in one.candidates] == [True, False]
        assert word in terms(lists, one.candidates[0].text)
        assert not {"ship", "schiff"} & set(terms(lists, one.candidates[0].text))  # the other part of the document


def test_what_is_there_is_not_made_again(data: Path, encoder: Encoder) -> None:
    made: list[int] = []
    for _ in range(2):
        prepare(sources(data), encoder, data / "lists", data / "tuning", lambda: made.append(1))
        assert len(made) == 30
    checksum = read_lists(data / "lists" / "weak" / "en-de").checksum
    for changed in (sources(data, queries=14), sources(data, seed=2)):
        with pytest.raises(ConfigError, match=r"weak/en-de: these lists were made from other sources or settings"):
            prepare(changed, encoder, data / "lists", data / "tuning", lambda: None)
    with (
        patch("dragoman_lab.evaluation.candidate_sources.LISTS_VERSION", 0),
        pytest.raises(ConfigError, match="other sources or settings"),
    ):
        prepare(sources(data), encoder, data / "lists", data / "tuning", lambda: None)
    prepare(sources(data), encoder, data / "again", data / "tuning", lambda: None)
    assert read_lists(data / "again" / "weak" / "en-de").checksum == checksum


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"table": "x"}, "sources: unknown field table"),
        ({"tables": 3}, r"sources: tables: .* valid string, not 3"),
        ({"judged": ["x"]}, r"sources: judged: 0: .* dictionary or instance of JudgedSource, not 'x'"),
        ({"judged": [{"unit": "sentence"}]}, "sources: judged: 0: data is missing"),
        (
            {"tuning": [{"data": "x", "unit": "y", "depth": "z"}]},
            r"sources: tuning: 0: depth: .* valid integer, not 'z'",
        ),
        (
            {"tuning": [{"data": "x", "unit": "y", "method": "bm52"}]},
            r"tuning: 0: method: .* 'psq', .*, not 'bm52'",
        ),
    ],
)
def test_sources_that_cannot_be_are_refused(data: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        sources(data, **changes)


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("mart*.toml")), ids=lambda path: path.stem)
def test_the_configurations_we_ship_are_valid(path: Path) -> None:
    table = read_config(path)
    given = table.pop("sources", None)
    MartTraining.parse(table)
    if given is not None:
        assert MartSources.parse_below(given, Path("/data")).parallel == ["/data/parallel"]
        assert f"--tables-only --languages {','.join(given['languages'])}\n" in path.read_text()


def test_a_table_that_is_missing_is_named(data: Path, encoder: Encoder) -> None:
    (data / "parallel" / "sw-en").mkdir()
    (data / "parallel" / "sw-en" / "a.tsv").write_text("maji\twater\n" * 3)
    with pytest.raises(ConfigError, match=r"holds no en-sw\.tsv"):
        prepare(sources(data, languages=["sw"]), encoder, data / "lists", data / "tuning", lambda: None)


def test_tables_to_tune_by_are_wanted_for_its_languages_alone(data: Path, encoder: Encoder) -> None:
    tuning: list[dict[str, Any]] = [{"data": str(DEMO), "unit": "document", "languages": ["fr"]}]
    (data / "none").mkdir()
    wanted = sources(data, tuning=tuning, tuning_tables=str(data / "none"))
    prepare(wanted, encoder, data / "lists", data / "tuning", lambda: None)
    assert len(read_lists(data / "lists" / "weak" / "en-de")) == 15
    tuning[0]["languages"] = ["de"]
    with pytest.raises(ConfigError, match=r"none holds no en-de\.tsv"):
        changed = wanted.model_copy(update={"tuning": [JudgedSource(**tuning[0])]})
        prepare(changed, encoder, data / "lists", data / "tuning", lambda: None)


def test_candidates_are_those_of_the_method_that_is_named(data: Path, encoder: Encoder) -> None:
    found = {}
    for method in ("psq", "hybrid"):
        tuning = [{"data": str(DEMO), "unit": "document", "target": "de", "depth": 5, "method": method}]
        prepare(sources(data, tuning=tuning), encoder, data / "lists", data / method, lambda: None)
        (folder,) = lists_in(data / method)
        found[method] = [read_lists(folder)[number] for number in range(len(read_lists(folder)))]
    assert [one.name for one in found["psq"]] == [one.name for one in found["hybrid"]]
    assert all(len(one.candidates) == 5 for one in found["hybrid"])  # by meaning, where no word is in the little table
    assert min(len(one.candidates) for one in found["psq"]) < 5
    right = {method: sum(two.relevant for one in lists for two in one.candidates) for method, lists in found.items()}
    assert right["hybrid"] > right["psq"]
    for one in found["hybrid"]:
        scores = [candidate.score for candidate in one.candidates]
        assert scores == sorted(scores, reverse=True) and len(set(scores)) > 1


def test_one_command_makes_the_lists_and_learns(data: Path) -> None:
    config = data / "mart.toml"
    config.write_text(
        f"""
encoder = "{SMALL}"
lists = "{data}/lists"
tuning = "{data}/tuning"
steps = 4
queries = 2
documents = 2
checkpoint_every = 2
report_every = 1
tuning_queries = 3
tuning_depth = 3
[sources]
tables = "{data}/tables"
parallel = ["parallel"]
languages = ["de"]
documents = 40
queries = 5
[[sources.tuning]]
data = "{DEMO}"
unit = "document"
source = "en"
target = "de"
depth = 5
"""
    )
    options = ["train", "mart", "--config", config, "--data", data, "--output", data / "out", "--threads", "1"]
    done = dragoman(*options)
    assert done.returncode == 0, done.stderr
    report = json.loads((data / "out" / "report.json").read_text())
    assert report["sets"] == {"weak/de-en": 5, "weak/en-de": 5}
    assert {"interpolated", "alone", "first_stage", "weight"} <= set(report["measures"])
    assert (data / "out" / "curves.png").stat().st_size > 1000
    again = dragoman(*options)
    assert again.returncode == 2
    assert "holds a training already" in again.stderr
    config.write_text(config.read_text().replace("steps = 4", "stepps = 4"))
    wrong = dragoman(*options, "--resume")
    assert (wrong.returncode, "unknown field stepps" in wrong.stderr) == (2, True)
