"""Plain statements over the demo: no rule gives a wrong label, and what needs no model gets one."""

from __future__ import annotations

import pytest

from dragoman_lab.benchmarks.reasoning.statements_plain import STATEMENTS, PlainStatement, read_texts
from tests.engine.qa.test_judging import compare

TEXTS = read_texts()


@pytest.mark.parametrize("plain", STATEMENTS, ids=lambda plain: f"{plain.document}-{plain.statement[:12]}")
def test_plain_statements_over_the_demo_get_no_wrong_label_from_a_rule(plain: PlainStatement) -> None:
    text, language = TEXTS[plain.document]
    ruling = compare(plain.statement, text, plain.language, language).ruling
    assert ruling is None or ruling.label == plain.label
    assert ruling is not None or not plain.certain
