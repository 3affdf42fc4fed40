"""The tools that agents are given by MCP, whatever carries them.

``search`` and ``fetch`` have the form that ChatGPT's connectors ask for, https://developers.openai.com/apps-sdk: the
JSON of ``{"results": [{"id", "title", "url"}]}`` and of ``{"id", "title", "text", "url", "metadata"}`` in one text.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol

from pydantic import ConfigDict, Field, StrictFloat, StrictInt, ValidationError

from dragoman.engine.core.errors import InvalidRequest, NotFound
from dragoman.engine.core.limits import QUERY_CHARS
from dragoman.engine.core.names import ID_CHARS
from dragoman.service.integrations.searching import document_address
from dragoman.service.tables.schemas import TERM_CHARS
from dragoman.store.validation import Body, LanguageCode, Name, Names, NotBlank, describe

Action = Literal["search", "get_document", "ask", "lookup", "patch_table"]
"""What tools ask of a service, by the names that the door has for them."""
_Term = Annotated[NotBlank, Field(max_length=TERM_CHARS)]
_NAME_CHARS = 200


class Backend(Protocol):
    """What answers tools: a service, or a data directory."""

    def allows(self, action: Action) -> bool:
        """Whether the caller may do this."""

    async def send(self, action: Action, place: Mapping[str, str], fields: Mapping[str, Any]) -> Any:
        """The JSON of the answer.

        Raises:
            ServiceError: as the service answers it.
        """


class _Arguments(Body):
    model_config = ConfigDict(extra="forbid")


class SearchArguments(_Arguments):
    """A query in any language."""

    query: NotBlank = Field(max_length=QUERY_CHARS, description="The query, in any language.")
    query_language: LanguageCode | None = Field(
        default=None, description="ISO 639-1 code of the query's language; detected when left out."
    )
    collections: Names | None = Field(default=None, description="Collections to search; all of them when left out.")
    top_k: StrictInt = Field(default=10, ge=1, description="How many documents.")


class FetchArguments(_Arguments):
    """Which document."""

    id: Annotated[NotBlank, Field(max_length=_NAME_CHARS + 1 + ID_CHARS)] = Field(
        description="The id of a search result: the collection, a slash, and the document's id."
    )


class AnswerArguments(_Arguments):
    """A question in any language."""

    question: NotBlank = Field(max_length=QUERY_CHARS, description="The question, in any language.")
    question_language: LanguageCode | None = Field(
        default=None, description="ISO 639-1 code of the question's language; detected when left out."
    )
    collections: Names | None = Field(default=None, description="Collections to look in; all of them when left out.")


class LookUpArguments(_Arguments):
    """A term, and two languages."""

    term: _Term = Field(description="A word or phrase.")
    source: LanguageCode = Field(description="ISO 639-1 code of the term's language.")
    target: LanguageCode = Field(description="ISO 639-1 code of the translations' language.")


class AddTermArguments(_Arguments):
    """A term with its translation, and the table that gets it."""

    table: Name = Field(description="The table's name, as look_up_term shows it.")
    source: _Term = Field(description="The term, in the table's source language.")
    target: _Term = Field(description="Its translation, in the table's target language.")
    probability: Annotated[StrictFloat | StrictInt, Field(gt=0, le=1)] | None = Field(
        default=None, description="P(target | source); shared with the term's other translations when left out."
    )


async def _search(backend: Backend, asked: SearchArguments) -> Any:
    answer = await backend.send("search", {}, asked.model_dump(exclude_none=True))
    results = [
        {
            "id": f"{hit['collection']}/{hit['id']}",
            "title": hit["title"] or hit["id"],
            "url": document_address(hit["collection"], hit["id"], hit["metadata"]),
        }
        for hit in answer["hits"]
    ]
    return {"results": results} | ({"degraded": answer["degraded"]} if answer["degraded"] else {})


async def _fetch(backend: Backend, asked: FetchArguments) -> Any:
    collection, slash, id = asked.id.partition("/")
    if not (collection and slash and id):
        raise NotFound(f"id: {asked.id[:80]!r} is none of a search result, such as news/7")
    document = await backend.send("get_document", {"name": collection, "id": id}, {})
    return {
        "id": asked.id,
        "title": document["title"] or document["id"],
        "text": document["text"],
        "url": document_address(document["collection"], document["id"], document["metadata"]),
        "metadata": {"language": document["language"]} | (document["metadata"] or {}),
    }


async def _answer(backend: Backend, asked: AnswerArguments) -> Any:
    answer = await backend.send("ask", {}, asked.model_dump(exclude_none=True))
    for span in answer["answers"]:
        document = span.pop("document")
        span["id"] = f"{document['collection']}/{document['id']}"
        span["language"] = document["language"]
    parts = ("answers", "no_answer", "found", "model", "degraded", "truncated")
    return {name: answer[name] for name in parts if name in answer}


async def _look_up(backend: Backend, asked: LookUpArguments) -> Any:
    return await backend.send("lookup", {}, asked.model_dump())


async def _add_term(backend: Backend, asked: AddTermArguments) -> Any:
    entry = asked.model_dump(exclude_none=True)
    return await backend.send("patch_table", {"name": entry.pop("table")}, {"add": [entry]})


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: what it is for, what it takes, and what it asks of the service."""

    name: str
    description: str
    arguments: type[Body]
    action: Action
    run: Callable[[Backend, Any], Awaitable[Any]]
    changes: bool = False
    """Whether it changes what the service has."""

    async def call(self, backend: Backend, arguments: Mapping[str, Any]) -> str:
        """The JSON of the answer.

        Raises:
            ServiceError: an argument is not valid, or the service's error.
        """
        try:
            asked = self.arguments.model_validate(dict(arguments))
        except ValidationError as fault:
            raise InvalidRequest(describe(fault.errors())) from fault
        return json.dumps(await self.run(backend, asked), ensure_ascii=False)


TOOLS = (
    Tool(
        "search",
        "Find documents in any language by a query in another one, best first. Gives ids for fetch.",
        SearchArguments,
        "search",
        _search,
    ),
    Tool("fetch", "The whole text of a document that search found.", FetchArguments, "get_document", _fetch),
    Tool(
        "answer",
        "Answer a question by verbatim parts of documents, in whatever language they are, with the probability of each"
        " and that there is no answer.",
        AnswerArguments,
        "ask",
        _answer,
    ),
    Tool(
        "look_up_term",
        "The translations of a term in every translation table between two languages.",
        LookUpArguments,
        "lookup",
        _look_up,
    ),
    Tool(
        "add_term",
        "Add a translation of a term to a table, as a new version that searches use at once if the table is active.",
        AddTermArguments,
        "patch_table",
        _add_term,
        changes=True,
    ),
)
