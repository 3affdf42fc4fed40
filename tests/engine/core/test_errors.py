from __future__ import annotations

import errno
import sqlite3

import psycopg
import pytest
from sqlalchemy.exc import DBAPIError, OperationalError

from dragoman import installation
from dragoman.engine.core.errors import (
    ERRORS,
    Conflict,
    InvalidRequest,
    NotInstalled,
    StorageFull,
    Unavailable,
    classify,
    from_status,
)
from dragoman.lexicon.text.languages import UnknownLanguage


def _sqlite(code: int) -> OperationalError:
    fault = sqlite3.OperationalError("x")
    fault.sqlite_errorcode = code
    return OperationalError("SELECT 1", None, fault)


def test_every_error_has_its_own_status_and_type():
    assert len({error.status for error in ERRORS}) == len({error.error_type for error in ERRORS}) == len(ERRORS)


@pytest.mark.parametrize("error", ERRORS)
def test_a_status_leads_back_to_its_error(error):
    assert type(from_status(error.status, "m")) is error


@pytest.mark.parametrize(("status", "answered"), [(418, 400), (431, 400), (501, 500), (599, 500)])
def test_other_statuses_are_answered_with_one_of_the_set(status, answered):
    assert from_status(status, "m").status == answered


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), StorageFull),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), StorageFull),
        (RuntimeError("java.io.IOException: No space left on device"), StorageFull),
        (_sqlite(sqlite3.SQLITE_FULL), StorageFull),
        (_sqlite(sqlite3.SQLITE_BUSY), Unavailable),
        (_sqlite(sqlite3.SQLITE_IOERR | 1 << 8), Unavailable),
        (_sqlite(sqlite3.SQLITE_CORRUPT), Unavailable),
        (psycopg.errors.DiskFull("could not extend file"), StorageFull),
        (psycopg.errors.AdminShutdown("terminating connection"), Unavailable),
        (psycopg.errors.DeadlockDetected("deadlock detected"), Unavailable),
        (psycopg.errors.ReadOnlySqlTransaction("cannot execute INSERT"), Unavailable),
        (psycopg.errors.UniqueViolation("duplicate key"), Conflict),
        (psycopg.OperationalError("consuming input failed"), Unavailable),
        (DBAPIError("COPY", None, psycopg.errors.DiskFull("could not extend file")), StorageFull),
        (UnknownLanguage("unknown language code 'x'"), InvalidRequest),
    ],
)
def test_known_faults_are_classified_also_as_causes(fault, kind):
    assert type(classify(fault)) is kind
    try:
        raise ValueError("outer") from fault
    except ValueError as outer:
        assert type(classify(outer)) is kind


def test_a_missing_package_is_classified_by_the_part_that_brings_it(monkeypatch):
    monkeypatch.setattr(installation, "find_spec", lambda module: None)
    monkeypatch.setattr(installation, "command", lambda part: f"pip install '/home/me/dragoman.whl[{part}]'")
    known = classify(ModuleNotFoundError("No module named 'faiss'", name="faiss"))
    assert type(known) is NotInstalled and "Retry-After" not in known.headers
    assert str(known).endswith("needs faiss, which is not installed: pip install 'dragoman.whl[search]'")
    assert classify(ModuleNotFoundError("No module named 'x'", name="x")) is None


def test_an_unexpected_fault_is_not_classified():
    assert classify(KeyError("x")) is None
    assert classify(_sqlite(sqlite3.SQLITE_ERROR)) is None
    assert classify(psycopg.errors.SyntaxError("x")) is None
    assert classify(psycopg.DataError("text fields cannot contain NUL")) is None
