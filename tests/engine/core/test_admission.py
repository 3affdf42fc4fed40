from __future__ import annotations

import pytest

from dragoman.engine.core.admission import Limit
from dragoman.engine.core.errors import TooManyRequests


def test_what_comes_above_the_limit_is_refused_until_a_place_is_free() -> None:
    limit = Limit(2, "searches are under way")
    with limit.place():
        with limit.place(), pytest.raises(TooManyRequests, match="2 searches are under way"), limit.place():
            pass
        with limit.place():
            limit.check(1)


def test_places_are_free_again_after_a_failure() -> None:
    limit = Limit(1, "searches are under way")
    with pytest.raises(ValueError, match="no"), limit.place():
        raise ValueError("no")
    with limit.place(), pytest.raises(TooManyRequests):
        limit.check(1)


def test_when_to_come_again_is_by_the_pace_of_what_was_done() -> None:
    limit = Limit(4, "texts are waiting")
    limit.pace.note(2, 10.0)
    with pytest.raises(TooManyRequests) as refused:
        limit.check(taken=3, more=2, before=3)
    assert refused.value.headers["Retry-After"] == "15"


def test_what_alone_is_larger_than_the_limit_is_let_in_where_nothing_is() -> None:
    limit = Limit(4, "texts are waiting")
    limit.check(taken=0, more=9)
    with pytest.raises(TooManyRequests, match="1 texts are waiting"):
        limit.check(taken=1, more=9)
