"""``dragoman search``, ``ask``, ``lookup`` and ``mcp``: with a data directory, or by a running service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dragoman.cli.database import Place
from dragoman.cli.options import FilterText, read_filter, spread
from dragoman.installation import require

if TYPE_CHECKING:
    from dragoman.door.database import Database
    from dragoman.service.integrations.mcp_tools import Action

_console = Console(stderr=True)
_LIKELY = 0.5
"""The probability of no answer from which on that is said first."""

Language = Annotated[
    str | None, typer.Option(envvar="DRAGOMAN_QUERY_LANGUAGE", help="The query's language; detected when left out.")
]
AsJson = Annotated[bool, typer.Option("--json", envvar="DRAGOMAN_JSON", help="Print the whole response as JSON.")]


@spread
def search(
    query: Annotated[str, typer.Argument(help="The query, in any language.")],
    collection: Annotated[
        list[str], typer.Option(envvar="DRAGOMAN_COLLECTION", help="Collection to search; repeatable.")
    ],
    query_language: Language = None,
    top_k: Annotated[int, typer.Option(envvar="DRAGOMAN_TOP_K", help="How many documents to show.")] = 10,
    method: Annotated[
        str | None, typer.Option(envvar="DRAGOMAN_METHOD", help="psq, smt, none (no translation), dense or hybrid.")
    ] = None,
    filter: FilterText = None,
    must: Annotated[
        list[str] | None,
        typer.Option(envvar="DRAGOMAN_MUST", help="A word or phrase that documents must hold; repeatable."),
    ] = None,
    must_not: Annotated[
        list[str] | None,
        typer.Option(envvar="DRAGOMAN_MUST_NOT", help="A word or phrase that documents must not hold; repeatable."),
    ] = None,
    syntax: Annotated[
        str | None,
        typer.Option(envvar="DRAGOMAN_SYNTAX", help='text, or simple: "a phrase", +required, -excluded.'),
    ] = None,
    untranslated: Annotated[
        str | None,
        typer.Option(
            envvar="DRAGOMAN_UNTRANSLATED",
            help="What happens with a required or excluded word without translation: literal or error.",
        ),
    ] = None,
    as_json: AsJson = False,
    *,
    place: Place,
) -> None:
    """Search collections of a data directory that no server uses, or of a service."""
    fields: dict[str, Any] = {"query_language": query_language, "collections": collection, "top_k": top_k}
    fields |= {"method": method, "must": must, "must_not": must_not, "syntax": syntax, "untranslated": untranslated}
    fields["filter"] = read_filter(filter)
    answer = _answer("search", {"query": query, **_drop_empty(fields)}, place)
    screen = Console()
    if as_json:
        screen.print_json(data=answer)
        return
    hits = Table("", "score", "document", "language", "text", box=None, padding=(0, 2, 0, 0))
    for hit in answer["hits"]:
        document = escape(f"{hit['collection']}/{hit['id']}")
        hits.add_row(str(hit["rank"]), f"{hit['score']:.4f}", document, hit["language"], escape(hit["snippet"]))
    if answer["hits"]:
        screen.print(hits)
    else:
        screen.print(_no_hits(answer["query"]), markup=False, highlight=False, soft_wrap=True)
    for language, words in answer["translation"]["oov"].items():
        _console.print(
            f"in no table for {language}, searched untranslated: {', '.join(words)}", markup=False, highlight=False
        )
    _tell_degraded(answer)


@spread
def ask(
    question: Annotated[str, typer.Argument(help="The question, in any language.")],
    collection: Annotated[
        list[str] | None,
        typer.Option(envvar="DRAGOMAN_COLLECTION", help="Collection to look in; repeatable; default: all."),
    ] = None,
    context: Annotated[
        str | None, typer.Option(envvar="DRAGOMAN_CONTEXT", help="A text to look in, instead of collections.")
    ] = None,
    question_language: Annotated[
        str | None, typer.Option(envvar="DRAGOMAN_QUESTION_LANGUAGE", help="Its language; detected when left out.")
    ] = None,
    as_json: AsJson = False,
    *,
    place: Place,
) -> None:
    """Answer a question by parts of documents, or of a text."""
    fields = {"question_language": question_language, "collections": collection, "context": context}
    answer = _answer("ask", {"question": question, **_drop_empty(fields)}, place)
    screen = Console()
    if as_json:
        screen.print_json(data=answer)
        return
    answers = Table("score", "answer", "document", "sentence", box=None, padding=(0, 2, 0, 0))
    for span in answer["answers"]:
        document = span.get("document")
        named = "" if document is None else escape(f"{document['collection']}/{document['id']}")
        answers.add_row(f"{span['score']:.3f}", escape(span["text"]), named, escape(span["sentence"]))
    nothing = answer.get("no_answer")
    if nothing is not None and nothing >= _LIKELY:
        screen.print("probably no answer" if answer["answers"] else "no answer")
    if answer["answers"]:
        screen.print(answers)
    if nothing is not None:
        _console.print(f"the probability that nothing of it is an answer: {nothing:.2f}", highlight=False)
    _tell_degraded(answer)


def _answer(name: Any, fields: dict[str, Any], place: Place) -> Any:
    """The answer of a call, as HTTP has it."""
    from dragoman.door.calls import Call

    with place.open() as opened:
        return opened.send(Call(name, fields=fields))


def _drop_empty(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: field for name, field in fields.items() if field not in (None, [])}


def _tell_degraded(answer: Any) -> None:
    for degraded in answer["degraded"]:
        _console.print(f"{degraded['stage']}: {degraded['reason']}", markup=False, highlight=False)


def _no_hits(query: Any) -> str:
    """The message for no hits; it names the query's language, because a wrong detection may be the cause."""
    from dragoman.lexicon.text.languages import LANGUAGES

    language = f"{LANGUAGES.get(query['language'], query['language'])} ({query['language']})"
    if query["detected"]:
        return f"no hits; the detected language of the query is {language}; --query-language sets another"
    return f"no hits; the query was in {language}"


@spread
def lookup(
    term: Annotated[str, typer.Argument(help="A word or phrase.")],
    source: Annotated[str, typer.Option(envvar="DRAGOMAN_SOURCE", help="Language of the term.")],
    target: Annotated[str, typer.Option(envvar="DRAGOMAN_TARGET", help="Language of the translations.")],
    as_json: AsJson = False,
    *,
    place: Place,
) -> None:
    """List what all tables between two languages have for a term, active or not."""
    fields = {"term": term, "source": source, "target": target}
    answer = _answer("lookup", fields, place)
    screen = Console()
    if as_json:
        screen.print_json(data=answer)
        return
    rows = Table("table", "version", "", "translation", "probability", box=None, padding=(0, 2, 0, 0))
    for table in answer["tables"]:
        for entry in table["translations"]:
            state = "active" if table["active"] else "not active"
            version, probability = str(table["version"]), f"{entry['probability']:.4g}"
            rows.add_row(escape(table["name"]), version, state, escape(entry["term"]), probability)
    screen.print(rows if rows.row_count else "No table has it.")
    for degraded in answer["degraded"]:
        _console.print(degraded["reason"], markup=False, highlight=False, soft_wrap=True)


@spread
def mcp(
    *,
    place: Place,
) -> None:
    """Offer search, fetch, answer, look_up_term and add_term to an agent that starts this command and speaks MCP."""
    require("server", "dragoman mcp")
    require("mcp", "dragoman mcp")
    import anyio
    from mcp.server.stdio import stdio_server

    from dragoman.service.integrations.mcp_server import make_server

    with place.open() as opened:
        server = make_server(lambda _: OfDatabase(opened))

        async def serve() -> None:
            async with stdio_server() as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())

        anyio.run(serve)


class OfDatabase:
    """Answers tools from a data directory, or by a service, which says itself what the key may do."""

    def __init__(self, opened: Database) -> None:
        self._opened = opened

    def allows(self, action: Action) -> bool:
        return True

    async def send(self, action: Action, place: Mapping[str, str], fields: Mapping[str, Any]) -> Any:
        import anyio.to_thread

        from dragoman.door.calls import Call

        asked: Call[Any] = Call(action, place, fields)
        return await anyio.to_thread.run_sync(self._opened.send, asked)
