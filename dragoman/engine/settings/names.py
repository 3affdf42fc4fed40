"""Names of settings: those that are gone, those that others read, and what to say of a name that nobody reads."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

PREFIX = "DRAGOMAN_"
FILE_VARIABLE = "DRAGOMAN_CONFIG"
"""Names the file of settings, as ``--config`` does."""

GONE = {
    "java_heap_mib": "{jvm_heap} takes its place, with a unit, such as 512m",
    "import_batch": "documents and lines are stored 500 at a time",
    "import_batch_bytes": "documents and lines are stored after 8 MiB at the latest",
    "job_chunk_lines": "results of a job are stored after 64 lines",
    "job_chunk_seconds": "results of a job are stored after 5 seconds at the latest",
    "job_turn_seconds": "a job makes way for others after 15 seconds",
    "reason_passage_tokens": "200 tokens of a document are quoted; {reason_passages} says of how many documents",
    "reason_answers": "at most 32 answers are generated together; {reason_batch_tokens} limits their memory",
}
"""Settings that were, each with its successor or what holds now; settings that there are stand in braces."""

_OPTIONS = """
ACTIVATE ADD AGREEMENT BURST COLLECTION COLUMNS CONCURRENT_REQUESTS CONFIG CONTEXT DATA DECIMAL DELETE_ALIAS DEMO_DATA
DESCRIPTION DICTIONARY DICTIONARY_FILE DICTIONARY_FROM DICTIONARY_WEIGHT DRY_RUN ENCODING EXPIRES_AT EXPIRES_IN
EXPIRES_IN_DAYS EXPORT_FORMAT FILTER FORCE FORMAT GRACE HEADER INVERSE_DICTIONARY ITERATIONS JSON KEY KIND LANGUAGE
LIMIT MAP METHOD MODEL MODEL_FILE MUST MUST_NOT NAME ONLY OUTPUT PARALLEL PLAIN QUERIES QUERY_LANGUAGE QUESTION_LANGUAGE
REMOVE REPORT REQUESTS_PER_SECOND RESUME SCOPE SEPARATOR SHARDS SOURCE SPLIT STAGE STOP_WORDS SYMMETRISATION SYNC SYNTAX
SYSTEMS TABLE TABLE_COLUMNS TARGET THREADS TOP_K TRAINING_CONFIG UNIT UNTRANSLATED URL VERSION WEIGHT WITHOUT YES
"""
_CONTAINERS = "API_MEMORY POSTGRES_MEMORY PUBLISH WORKER_MEMORY"
_TESTS = "TEST_DATABASE_URL TEST_OPENAPI_SECONDS TEST_OVERLOAD_SECONDS"

ELSEWHERE = frozenset(PREFIX + name for name in f"{_OPTIONS} {_CONTAINERS} {_TESTS}".split())
"""Variables that are no settings: options of single commands, what docker-compose.yml reads, and the tests."""


def variable_of(name: str) -> str:
    """The environment variable of a setting."""
    return PREFIX + name.upper()


def advice(written: str, names: Iterable[str]) -> str:
    """What to say of a name or variable that nobody reads: what took its place, else the nearest of ``names``."""
    is_variable = written.upper().startswith(PREFIX)
    name = written.lower().removeprefix(PREFIX.lower()) if is_variable else written.lower()
    show = variable_of if is_variable else str
    if successor := GONE.get(name):
        return f"{written} is gone: " + re.sub(r"{(\w+)}", lambda setting: show(setting[1]), successor)
    nearest = get_close_matches(name, list(names), n=1)
    meant = f"is {show(nearest[0])} meant?" if nearest else "docs/settings.md lists all settings"
    return f"{written} is unknown; {meant}"
