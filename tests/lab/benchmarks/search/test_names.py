"""The report on names in queries."""

from __future__ import annotations

import re

from scipy.stats import ttest_rel

from dragoman_lab.benchmarks.search.names import report


def test_a_question_counts_once_however_many_directions_it_has() -> None:
    before = {"a": [0.2, 0.4], "b": [0.5, 0.7], "c": [0.1, 0.1]}
    after = {"a": [0.4, 0.4], "b": [0.6, 0.6], "c": [0.3, 0.5]}
    rows = [
        {
            "source": "en", "target": target, "query": query, "names": ["Ann"],
            "values": {"psq translated": before[query][place], "psq kept": after[query][place]},
        }
        for place, target in enumerate(("de", "ru"))
        for query in before
    ]  # fmt: skip
    total = next(line for line in report(rows, ["psq"]).splitlines() if "| all |" in line)
    p = ttest_rel([0.4, 0.6, 0.4], [0.3, 0.6, 0.1]).pvalue
    assert re.findall(r"[\d.]+", total) == ["3", "0.3333", "0.4667", f"{p:.2g}"]
