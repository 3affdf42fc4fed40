"""The OpenAPI document has what clients outside this repository are written against: addresses, and names in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.routing import APIRoute

from dragoman.engine.settings import Settings
from dragoman.service.api.routers import ROUTERS
from dragoman.service.app import create_app
from dragoman.service.dependencies import KNOWN_PARAMETERS

CONTRACT = """
POST /v1/collections: name! language! description shards
GET /v1/collections -> collections.name collections.language collections.description collections.documents
  collections.generation collections.index.state collections.embeddings.state collections.embeddings.embedded
  collections.embeddings.failed collections.embeddings.total collections.created_at
GET /v1/collections/{}
DELETE /v1/collections/{}
PATCH /v1/collections/{}: name description
POST /v1/collections/{}/documents: ?format ?map -> accepted replaced rejected.line rejected.id rejected.reason
  generation
GET /v1/collections/{}/documents: ?filter ?limit ?cursor ?fields -> documents next total
GET /v1/collections/{}/documents/{}
DELETE /v1/collections/{}/documents/{}
PATCH /v1/collections/{}/documents/{}: title text language metadata
GET /v1/collections/{}/export: ?filter
POST /v1/collections/{}/documents/delete: filter! dry_run -> deleted
PUT /v1/aliases/{}: collection!
GET /v1/aliases/{}
DELETE /v1/aliases/{}
GET /v1/aliases
POST /v1/collections/{}/truncate
GET /v1/collections/{}/stats
PUT /v1/tables/{}: ?source! ?target! ?format ?kind ?weight ?activate ?dry_run ?encoding ?separator ?decimal ?columns
  ?header -> name source target version checksum source_terms entries rejected.line rejected.reason rejected_total
  warnings.line warnings.reason warnings_total header detected.format detected.encoding detected.separator
  detected.decimal detected.columns detected.languages pruned kind weight active dry_run
GET /v1/tables
GET /v1/tables/{}
POST /v1/tables/{}/versions/{}/activate
POST /v1/tables/{}/deactivate
DELETE /v1/tables/{}/versions/{}
GET /v1/tables/{}/versions/{}/export: ?format
PATCH /v1/tables/{}: add.source! add.target! add.probability remove.source! remove.target
GET /v1/tables/{}/terms: ?prefix ?cursor
GET /v1/tables/{}/versions/{}/diff/{}
POST /v1/tables/{}/train
GET /v1/tables/{}/terms/{}: ?version -> term folded translations.term translations.probability
POST /v1/search: query! query_language collections top_k method tables names entities gloss translate_snippets
  query_id rerank explain filter facets sort offset cursor fields must must_not syntax collapse snippets.count
  snippets.length reader_languages offsets min_generation -> request_id query.text query.language query.detected
  query.language_probability
  method rerank.depth rerank.model hits.rank hits.id hits.collection hits.language hits.score hits.scores.first_stage
  hits.scores.dense hits.scores.late hits.scores.rerank hits.title hits.snippet hits.snippet_start
  hits.snippet_translation.text hits.snippet_translation.sentences hits.entities hits.metadata hits.collapsed
  hits.relevance hits.weak hits.highlights.field hits.highlights.start hits.highlights.end hits.highlights.match
  hits.highlights.document_term hits.highlights.query_term hits.highlights.probability hits.highlights.table
  hits.highlights.version hits.gloss.start hits.gloss.end hits.gloss.translations translation.tables.name
  translation.tables.version translation.terms.term translation.terms.translations.term
  translation.terms.translations.probability translation.names translation.ignored translation.oov facets total.value
  total.relation next found suggestions degraded.stage degraded.reason degraded.collection degraded.missing_share
  truncated timings_ms
GET /v1/suggest: ?q! ?language ?collections -> request_id completions.text completions.kind completions.translation
  spelling
POST /v1/events: query_id! object_id action_name! client_id timestamp
GET /v1/reports/vocabulary
GET /v1/reports/searches
POST /v1/rerank: query! documents top_n raw_scores reader_languages query_language document_language tables
POST /v2/rerank: query! documents! top_n
POST /rerank
POST /v1/v1/rerank
POST /v1/v2/rerank
POST /v1/embeddings: model input! encoding_format dimensions
GET /v1/models
POST /v2/embed: model input_type
POST /embed: inputs!
GET /info
POST /mcp
POST /retrieval: knowledge_id! query! retrieval_setting.top_k retrieval_setting.score_threshold metadata_condition ->
  records.content records.score records.title records.metadata
POST /integrations/openwebui/search: query! count
POST /integrations/routir/search: service! query! limit
POST /integrations/routir/score: service! query! passages!
GET /integrations/routir/avail
GET /integrations/pyserini/v1/{}/search: ?query!
POST /v1/jobs: ?type! ?tag -> id status
GET /v1/jobs
GET /v1/jobs/{} -> status counts.total counts.completed counts.failed created_at started_at finished_at table_versions
POST /v1/jobs/{}/cancel
DELETE /v1/jobs/{}
GET /v1/jobs/{}/results: ?format
GET /v1/jobs/{}/errors
POST /v1/qa: question statement context collections filter question_language context_language reader_languages ->
  label! probability! evidence answers.text! answers.start! answers.end! answers.score! answers.sentence!
  answers.gloss answers.translation answers.document.id answers.document.collection answers.document.language
  no_answer! found! model! passages
POST /v1/reason: question! language collections filter max_tokens temperature stream -> answer reasoning documents
  model usage
POST /v1/tag: texts! language task -> results.text results.start results.end results.label results.score model
POST /v1/translate: text texts source! target! -> texts sentences.text sentences.source.start sentences.source.end
  sentences.status sentences.reasons.code sentences.reasons.source sentences.reasons.text model quality
POST /v1/translate/check: source! target! text! translation! -> status reasons sentences.source.start
  sentences.translation.end sentences.status sentences.reasons
POST /v1/read: collection! id! query query_language reader_language! tables -> document highlights gloss.field
  gloss.start gloss.end gloss.translations.term gloss.translations.probability gloss.translations.table
  gloss.translations.version sentences
GET /v1/lookup: ?term! ?source! ?target! -> tables.name tables.version tables.active tables.translations
POST /v1/keys: name scopes! collections tables expires_at
GET /v1/keys
DELETE /v1/keys/{}
GET /v1/audit
GET /v1/backup
POST /v1/backup
GET /healthz
GET /readyz
GET /metrics
GET /docs
GET /
"""
"""A line an operation, or several: fields of the body, and parameters with a question mark; then those of the answer.

``!`` marks what is required, or always there. A dot goes on in an object, or in the elements of a list.
"""
OUTSIDE = {"/docs", "/", "/v1/v1/rerank", "/v1/v2/rerank"}
"""What is served and is no part of the document."""


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return create_app(Settings.load(data_dir=tmp_path_factory.mktemp("contract"))).openapi()


def variants(schema: Any, document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The objects that a schema may be, of lists those of their elements."""
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    yield schema
    for inner in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        yield from variants(inner, document)
    if isinstance(schema.get("items"), dict):
        yield from variants(schema["items"], document)


def lacks(schema: Any, name: str, document: dict[str, Any]) -> str:
    """What is missing of a dotted name, or nothing."""
    first, _, rest = name.rstrip("!").partition(".")
    objects = [each for each in variants(schema, document) if first in each.get("properties", {})]
    if not objects:
        return first
    if rest:
        left = [lacks(each["properties"][first], rest + "!" * name.endswith("!"), document) for each in objects]
        return "" if "" in left else f"{first}.{left[0]}"
    required = any(first in each.get("required", ()) for each in objects)
    return "" if required or not name.endswith("!") else f"{first} is not required"


def json_schema(content: Any) -> Any:
    return next((kind["schema"] for kind in content.get("content", {}).values() if "schema" in kind), {})


def test_every_operation_of_the_contract_is_there_with_its_names(document: dict[str, Any]) -> None:
    paths = {re.sub(r"\{[^}]*\}", "{}", path): methods for path, methods in document["paths"].items()}
    faults = []
    for line in CONTRACT.strip().replace("\n  ", " ").splitlines():
        asked, _, answered = line.partition(" -> ")
        operation, _, fields = asked.partition(": ")
        method, path = operation.split(" ")
        if path in OUTSIDE:
            continue
        described = paths.get(path, {}).get(method.lower())
        if described is None:
            faults.append(f"{operation} is missing")
            continue
        parameters = {each["name"]: each.get("required", False) for each in described.get("parameters", ())}
        for name in fields.split():
            if name.startswith("?"):
                plain = name.strip("?!")
                if plain not in parameters or (name.endswith("!") and not parameters[plain]):
                    faults.append(f"{operation}: parameter {name}")
            elif fault := lacks(json_schema(described.get("requestBody", {})), name, document):
                faults.append(f"{operation}: body: {fault}")
        success = next(answer for status, answer in described["responses"].items() if status.startswith("2"))
        faults += [
            f"{operation}: answer: {fault}"
            for name in answered.split()
            if (fault := lacks(json_schema(success), name, document))
        ]
    assert not faults, "\n".join(faults)


def test_every_operation_with_parameters_refuses_others() -> None:
    routes = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
    asking = [route for route in routes if route.dependant.query_params]
    open_to_any = [route.path for route in asking if KNOWN_PARAMETERS not in route.dependencies]
    assert len(asking) > 15 and not open_to_any


def test_what_the_contract_lacks_is_told(document: dict[str, Any]) -> None:
    schema = json_schema(document["paths"]["/v1/search"]["post"]["responses"]["200"])
    assert lacks(schema, "hits.score", document) == ""
    assert lacks(schema, "hits.scores.other", document) == "hits.scores.other"
