"""The records of the door have the fields of the answers that they are read from."""

from __future__ import annotations

from dataclasses import fields

import pytest

from dragoman.door import records
from dragoman.door.answers import parts, results
from dragoman.engine.checking import response as checking
from dragoman.engine.core.answer import Degraded
from dragoman.engine.qa import response as qa
from dragoman.engine.query import response as query
from dragoman.engine.search import response as search
from dragoman.service.collections import schemas as collections
from dragoman.service.tables import schemas as tables
from dragoman.service.tagging.schemas import Tagged
from dragoman.service.translation.schemas import TranslateResponse
from dragoman.store.tables import repository

ANSWERS = {
    parts.Highlight: search.Highlight,
    parts.Gloss: search.Gloss,
    parts.Entity: search.Entity,
    parts.Scores: search.Scores,
    parts.Contribution: search.Contribution,
    results.Hit: search.Hit,
    parts.Query: query.QueryRead,
    parts.TableUsed: query.TableUsed,
    parts.Translation: query.Translation,
    parts.Degraded: Degraded,
    results.SearchResults: search.SearchResponse,
    results.AnswerDocument: qa.AnswerDocument,
    results.Answer: qa.QaAnswer,
    results.Answers: qa.QaResponse,
    results.Judgement: qa.StatementResponse,
    parts.Place: checking.Place,
    parts.CheckReason: checking.CheckReason,
    parts.CheckedSentence: checking.CheckedSentence,
    parts.CheckedTranslation: checking.CheckedTranslation,
    parts.AlignedCheck: checking.AlignedCheck,
    results.TranslationCheck: checking.CheckResponse,
    records.TableInfo: repository.TableInfo,
    records.TableVersion: repository.VersionInfo,
}
BODIES = {
    results.Tag: Tagged,
    results.Translations: TranslateResponse,
    records.Document: collections.DocumentBody,
    records.Imported: collections.ImportBody,
    records.CollectionInfo: collections.CollectionBody,
    records.Uploaded: tables.TableUploaded,
    records.TermTranslation: tables.Translation,
    records.Term: tables.TermBody,
}


@pytest.mark.parametrize("record", [*ANSWERS, *BODIES])
def test_a_record_has_the_fields_of_its_answer(record: type) -> None:
    answer = BODIES[record].model_fields if record in BODIES else [field.name for field in fields(ANSWERS[record])]
    assert {field.name for field in fields(record)} == set(answer)
