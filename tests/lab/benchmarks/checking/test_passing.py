"""Which sentences are translated to see how many drafts pass."""

from __future__ import annotations

from argparse import Namespace

from dragoman_lab.benchmarks.checking.passing import read_pairs


def test_a_run_that_skips_takes_other_sentences_of_the_demo() -> None:
    """So that a second run does not count the sentences of the first again; together they are all."""
    first, second, whole = (
        {source for source, _ in read_pairs(Namespace(demo=True, most=most, skip=skip), "es")}
        for most, skip in ((45, 0), (1_000, 45), (1_000, 0))
    )
    assert len(first) == 45
    assert not first & second
    assert first | second == whole
