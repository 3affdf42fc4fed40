"""Log lines of one kind are limited, and those left out are counted."""

from __future__ import annotations

import io
import logging

from hypothesis import given
from hypothesis import strategies as st

from dragoman.engine.observability.logs import LimitedHandler


def record(line: int, message: str, level: int = logging.WARNING) -> logging.LogRecord:
    return logging.LogRecord("dragoman", level, "module.py", line, message, (), None)


def handler(lines: int, seconds: float = 3600.0) -> tuple[LimitedHandler, io.StringIO]:
    made, written = LimitedHandler(lines, seconds), io.StringIO()
    made.setStream(written)
    return made, written


@given(st.lists(st.integers(0, 3), max_size=60), st.integers(1, 5))
def test_each_kind_has_its_lines_and_the_others_are_counted(places: list[int], lines: int) -> None:
    made, written = handler(lines)
    for place in places:
        made.emit(record(place, f"place {place}"))
    made.close()
    for place in range(4):
        count = places.count(place)
        told = f"and {count - lines:,} more lines like: place {place}\n"
        assert written.getvalue().count(f"place {place}\n") == min(count, lines) + (count > lines)
        assert (told in written.getvalue()) == (count > lines)


def test_after_its_time_a_kind_has_lines_again() -> None:
    made, written = handler(1, seconds=0.0)
    made.emit(record(1, "first"))
    made._look_at = 0.0  # it looks once a second
    made.emit(record(1, "second"))
    assert written.getvalue() == "first\nsecond\n"


def test_requests_to_what_is_open_and_refusals_of_an_address_are_each_a_kind() -> None:
    made, written = handler(2)
    for number in range(5):
        for path, status, open in (("/healthz", 200, True), ("/v1/search", 200, False), ("/v1/keys", 401, False)):
            line = logging.LogRecord("dragoman.access", logging.INFO, "logs.py", 1, f"{path} {number}", (), None)
            line.route, line.status, line.open = path, status, open
            made.emit(line)
        for client in ("192.0.2.1", "192.0.2.2"):
            line = logging.LogRecord("dragoman.refused", logging.WARNING, "refusals.py", 1, f"{client} no", (), None)
            line.client = client
            made.emit(line)
    lines = written.getvalue().splitlines()
    seen = {text: sum(line.startswith(text) for line in lines) for text in ("/healthz", "/v1/search", "/v1/keys")}
    assert seen == {"/healthz": 2, "/v1/search": 5, "/v1/keys": 2}
    assert sum("192.0.2.1" in line for line in lines) == sum("192.0.2.2" in line for line in lines) == 2


def test_another_level_at_one_place_is_another_kind() -> None:
    made, written = handler(1)
    made.emit(record(1, "a warning"))
    made.emit(record(1, "an error", logging.ERROR))
    assert written.getvalue() == "a warning\nan error\n"
