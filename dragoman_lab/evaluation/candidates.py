"""Lists of candidates for training and evaluating MART, from parallel text or from judged queries.

*Weak supervision*: a query is a sequence of words of a sentence; the relevant document contains the sentence's
translation. *Judged*: the queries, documents and judgements of a benchmark folder. The other candidates are the best
hits of the first stage, so that the model learns what the first stage cannot distinguish.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from dragoman.backbone.encoder import Encoder
from dragoman.engine.query.links import lexical_links, linked_words
from dragoman.engine.search.request import Method
from dragoman.engine.tables.views import View
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.text.passages import sentences
from dragoman.lexicon.text.tokens import Token, content_terms
from dragoman.ranking.attention import Words
from dragoman.ranking.passages import tokenize_texts
from dragoman_lab.backbone.text_files import TextFile
from dragoman_lab.evaluation.benchmark import Benchmark
from dragoman_lab.evaluation.local_service import LocalService
from dragoman_lab.ranking.lists import Candidate, CandidateList, ListsWriter

SENTENCES = (1, 1, 2, 3)
"""The number of neighbouring lines in a document is drawn from these."""
DOCUMENT_CHARS = 500
QUERY_WORDS = (3, 12)
COVERED = 0.8
"""A candidate whose translation has this share of the query's terms may be relevant, so it is left out."""
UNLIKELY = 0.05
"""Less probable translations are not used in texts."""

Progress = Callable[[], None]


@dataclass(frozen=True)
class Side:
    """A document in one language: its text, its words, and the (start, end) offsets of its lines."""

    text: str
    tokens: list[Token]
    lines: list[tuple[int, int]]

    @property
    def terms(self) -> frozenset[str]:
        return frozenset(token.term for token in self.tokens if token.term)


def words_of(tokens: Sequence[Token]) -> Words:
    """Tokens in the form that ranking reads."""
    return Words([token.term for token in tokens], [(token.start, token.end) for token in tokens])


class Writer:
    """Writes lists with their texts, each document once, and their lexical links."""

    def __init__(self, encoder: Encoder, tokenizer: str, source: str, target: str, view: View | None) -> None:
        self._encoder, self._lists, self._text_indices = (
            encoder,
            ListsWriter(source, target, tokenizer),
            dict[str, int](),
        )
        self._source, self._target, self._view = source, target, view
        self._query_words: list[Token] = []

    def add(
        self,
        name: str,
        query: tuple[str, Sequence[Token]],
        candidates: Sequence[tuple[str, float, bool]],
        document: Callable[[str], tuple[str, Words]],
        relevant: int = 1,
    ) -> None:
        """Add a list of (document id, score, relevant); `document` returns the text and words of an id."""
        text, tokens = query
        if self._source != self._target:
            tokens = linked_words(text, tokens, self._source, self._view)
            self._query_words += tokens
        listed = [
            Candidate(self._document(key, document), score, is_relevant) for key, score, is_relevant in candidates
        ]
        self._lists.list(CandidateList(name, self._text(text, words_of(tokens)), listed, relevant))

    def _document(self, key: str, document: Callable[[str], tuple[str, Words]]) -> int:
        if key not in self._text_indices:
            self._text_indices[key] = self._text(*document(key))
        return self._text_indices[key]

    def _text(self, text: str, words: Words) -> int:
        return self._lists.text(tokenize_texts(self._encoder, [text], [words.spans])[0], words.terms)

    def write(self, folder: Path, made_from: str) -> None:
        table = self._view.analysed if self._view is not None else None
        extra = None
        if self._source != self._target:
            extra = lexical_links(self._query_words, self._target, self._view, analysis, self._lists.terms)
        self._lists.write(folder, table, made_from, extra)


def documents_of(file: TextFile, most: int, noise: random.Random) -> list[dict[str, Side]]:
    """Documents of neighbouring lines of a parallel file, in both languages, sampled over the whole file."""
    rows = list(file.rows())
    documents: list[dict[str, Side]] = []
    start = 0
    spare = max(0.0, 1 - most * sum(SENTENCES) / len(SENTENCES) / max(1, len(rows)))
    while start < len(rows) and len(documents) < most:
        if noise.random() < spare:
            start += 1
            continue
        count = noise.choice(SENTENCES)
        columns = list(zip(*rows[start : start + count], strict=True))
        start += count
        if max(sum(map(len, lines)) for lines in columns) <= DOCUMENT_CHARS:
            documents.append(
                {language: _side(lines, language) for language, lines in zip(file.languages, columns, strict=True)}
            )
    return documents


def _side(lines: Sequence[str], language: str) -> Side:
    joint = "" if language in ("zh", "ja", "th") else " "
    spans, at = [], 0
    for line in lines:
        spans.append((at, at + len(line)))
        at += len(line) + len(joint)
    text = joint.join(lines)
    return Side(text, content_terms(analysis(language).tokens(text), language), spans)


def _query(side: Side, noise: random.Random) -> list[Token]:
    """A sequence of words of one line; empty if it has fewer than two terms that are not stop words."""
    begin, end = noise.choice(side.lines)
    tokens = [token for token in side.tokens if begin <= token.start < end]
    length = min(len(tokens), noise.randint(*QUERY_WORDS))
    first = noise.randint(0, len(tokens) - length)
    run = tokens[first : first + length]
    return run if len({token.term for token in run if token.term}) >= 2 else []


def write_weak_lists(
    service: LocalService,
    encoder: Encoder,
    tokenizer: str,
    documents: Sequence[dict[str, Side]],
    source: str,
    target: str,
    *,
    queries: int,
    depth: int,
    seed: int,
    folder: Path,
    made_from: str,
    step: Progress,
) -> int:
    """Lists from parallel documents, queries in `source`; returns how many there are."""
    noise = random.Random(seed)
    count = 0
    writer = Writer(encoder, tokenizer, source, target, service.view(source, target))
    texts = {str(index): document[target].text for index, document in enumerate(documents)}
    terms = [document[source].terms for document in documents]
    with service.collection(target, texts) as collection:
        for index in noise.sample(range(len(documents)), len(documents)):
            if count == queries:
                break
            side = documents[index][source]
            run = _query(side, noise)
            if not run:
                continue
            start, end = run[0].start, run[-1].end
            query_terms = frozenset(token.term for token in run if token.term)
            ranked = service.rank(side.text[start:end], source, collection, "psq", depth)
            scores = dict(ranked)
            chosen = [(str(index), scores.get(str(index), 0.0), True)]
            for key, score in ranked:
                if int(key) != index and len(query_terms & terms[int(key)]) < COVERED * len(query_terms):
                    chosen.append((key, score, False))
            if len(chosen) < depth // 2:
                drawn = noise.sample(range(len(documents)), min(depth, len(documents)))
                others = (str(other) for other in drawn if other != index)
                chosen += [(other, 0.0, False) for other in islice(others, depth // 2) if other not in scores]
            writer.add(
                f"{source}-{target}-{index}",
                (
                    side.text[start:end],
                    [token._replace(start=token.start - start, end=token.end - start) for token in run],
                ),
                sorted(chosen, key=lambda candidate: -candidate[1]),
                lambda key: (documents[int(key)][target].text, words_of(documents[int(key)][target].tokens)),
            )
            count += 1
            step()
    writer.write(folder, made_from)
    return count


def write_judged_lists(
    service: LocalService,
    encoder: Encoder,
    tokenizer: str,
    task: Benchmark,
    *,
    depth: int,
    folder: Path,
    made_from: str,
    step: Progress,
    parts: int = 1,
    method: Method = "psq",
) -> None:
    """Lists of a benchmark's queries with the best documents of the first stage `method`, relevant or not.

    With `parts` above 1 the documents are split (see `chunk_documents`): `parts` times `depth` parts are ranked, and
    the best part of each document is kept. Parts have no judgements: the best part of a relevant document counts as
    relevant.
    """
    writer = Writer(encoder, tokenizer, task.source, task.target, service.view(task.source, task.target))
    queries, documents = analysis(task.source), analysis(task.target)
    with service.collection(task.target, task.documents) as collection:
        if method in ("dense", "hybrid"):
            service.embed(collection)
        for name, text in task.queries.items():
            relevant = task.qrels[name]
            ranked = service.rank(text, task.source, collection, method, parts * depth)
            best = list(_best_parts(ranked)) if parts > 1 else ranked
            writer.add(
                name,
                (text, queries.tokens(text)),
                [
                    (key, score, (key.rpartition("#")[0] if parts > 1 else key) in relevant)
                    for key, score in best[:depth]
                ],
                lambda key: (task.documents[key], words_of(documents.tokens(task.documents[key]))),
                len(relevant),
            )
            step()
    writer.write(folder, made_from)


def chunk_documents(task: Benchmark, length: int) -> Benchmark:
    """Split documents into parts `id#number` of whole sentences: at most `length` words, or one sentence."""
    parts: dict[str, str] = {}
    for key, text in task.documents.items():
        begin, count = 0, 0
        for start, end in sentences(text, 1000):
            words = text.count(" ", start, end) + 1
            if count and count + words > length:
                parts[f"{key}#{len(parts)}"] = text[begin:start].strip()
                begin, count = start, 0
            count += words
        parts[f"{key}#{len(parts)}"] = text[begin:].strip()
    return replace(task, documents=parts)


def _best_parts(ranked: Sequence[tuple[str, float]]) -> Iterator[tuple[str, float]]:
    seen: set[str] = set()
    for key, score in ranked:
        document = key.rpartition("#")[0]
        if document not in seen:
            seen.add(document)
            yield key, score


def translate_words(text: str, language: str, table: Table, noise: random.Random) -> str:
    """Replace each word of a text that the table has with one of its likely translations.

    This turns judgements within one language into approximate cross-lingual ones.
    """
    done, at = [], 0
    for token in content_terms(analysis(language).tokens(text), language):
        likely = [
            translation for translation in table.translations(token.word, best=4) if translation.p_forward >= UNLIKELY
        ]
        if likely:
            word = noise.choices(
                [translation.term for translation in likely], [translation.p_forward for translation in likely]
            )[0]
            done += [text[at : token.start], word]
            at = token.end
    return "".join([*done, text[at:]])


def translate_documents(task: Benchmark, language: str, table: Table, noise: random.Random) -> Benchmark:
    """A benchmark in one language with its documents translated word by word into another."""
    texts = {key: translate_words(text, task.target, table, noise) for key, text in task.documents.items()}
    return replace(task, target=language, documents=texts)


def translate_queries(task: Benchmark, language: str, table: Table, noise: random.Random) -> Benchmark:
    """As :func:`translate_documents`, for the queries."""
    texts = {key: translate_words(text, task.source, table, noise) for key, text in task.queries.items()}
    return replace(task, source=language, queries=texts)
