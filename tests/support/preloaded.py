"""What nearly every service reads on first use, read once by the process that it is forked from: a second of each."""

from dragoman.engine.query import language
from dragoman.indexes.analysis.inflection import dictionary_form

dictionary_form("de")
language.prepare(["de", "en", "sw"])
