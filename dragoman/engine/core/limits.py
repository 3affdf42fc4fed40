"""Sizes, and the limits that no setting can raise."""

from __future__ import annotations

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

BATCH_LINES = 500
"""Documents, or lines of a job, that are stored per database transaction."""
BATCH_BYTES = 8 * MIB
"""Size of the lines of a batch above which it is stored early."""

READER_LANGUAGES = 10
"""Most languages that readers have."""
QUERY_CHARS = 1_000_000
TEXT_CHARS = 10_000_000
DOCUMENTS = 100_000
TEXTS = 10_000
NAMES = 10_000
FILTER_CHARS = 60_000
"""What no setting can raise: the longest query and text, characters, the most documents, texts and names of one
request, and the longest filter in an address. A list above them is refused before any of its elements is looked at."""
