"""The learner of rules of endings."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

SCRIPTS = Path(__file__).parents[2] / "scripts"
MADE_UP = {
    **{f"{stem}{ending}": f"{stem}a" for stem in ("lat", "mir", "rot", "sol") for ending in ("a", "as", "am", "is")},
    "xis": "xus",
    "eram": "sum",
}


@pytest.fixture(scope="module")
def learner() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SCRIPTS))
        return import_module("ending_rules")


def _longest(rules: dict[str, Any]) -> int:
    return max((len(ending) for ending in rules if not ending.startswith("^")), default=0)


def test_a_made_up_dictionary_is_reproduced_and_its_endings_are_found(learner: Any) -> None:
    rules = learner.learn(MADE_UP, 0.9)
    assert {word: learner.apply(rules, word, _longest(rules)) for word in MADE_UP} == MADE_UP
    assert rules["^eram"] == (4, "sum")
    assert learner.apply(rules, "domas", _longest(rules)) == "doma"
    assert learner.apply(rules, "domis", _longest(rules)) == "doma"
    assert len(rules) < len(MADE_UP) / 2


def test_a_rule_must_save_what_it_costs(learner: Any) -> None:
    rules = learner.learn(MADE_UP, 3)
    assert "^eram" not in rules
    assert learner.apply(rules, "solas", _longest(rules)) == "sola"


@given(st.dictionaries(st.text("abc", min_size=1, max_size=8), st.text("abc", min_size=1, max_size=5), max_size=30))
def test_any_dictionary_is_reproduced_where_rules_cost_less_than_a_word(
    learner: Any, dictionary: dict[str, str]
) -> None:
    rules = learner.learn(dictionary, 0.9)
    assert {word: learner.apply(rules, word, _longest(rules)) for word in dictionary} == dictionary
    assert all(cut <= len(ending.removeprefix("^")) for ending, (cut, _) in rules.items())
