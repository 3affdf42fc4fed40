"""What a search process leaves to the service's own process, of what fails."""

from __future__ import annotations

import logging

import pytest

from dragoman.deadline import DeadlinePassed, WorkCancelled
from dragoman.engine.core.answer import Degraded
from dragoman.engine.core.errors import NotFound, OutOfTime, TooManyRequests, Unavailable
from dragoman.engine.observability.metrics import Metrics
from dragoman.service.processes.search_runtime import AnsweredElsewhere, _check_degraded, _elsewhere_on_fault


@pytest.mark.parametrize("fault", [TooManyRequests("8 searches"), OutOfTime("late"), DeadlinePassed(), WorkCancelled()])
def test_what_would_fail_elsewhere_too_is_answered_here(fault: Exception) -> None:
    with pytest.raises(type(fault)), _elsewhere_on_fault(Metrics()):
        raise fault


@pytest.mark.parametrize(
    ("fault", "level"), [(NotFound("a collection"), None), (Unavailable("a worker"), "WARNING"), (KeyError(1), "ERROR")]
)
def test_other_faults_are_logged_by_their_kind(
    fault: Exception, level: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "dragoman"), pytest.raises(AnsweredElsewhere), _elsewhere_on_fault(Metrics()):
        raise fault
    assert [record.levelname for record in caplog.records] == ([] if level is None else [level])


def test_an_answer_that_lacks_time_is_not_asked_for_again() -> None:
    _check_degraded([Degraded.of("late", "it took too long", OutOfTime("it took too long").cause)])
    with pytest.raises(AnsweredElsewhere):
        _check_degraded([Degraded.of("dense", "no worker", Unavailable("no worker").cause)])
