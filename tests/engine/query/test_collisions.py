"""Document words of several index terms that are alternatives of one query term."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from dragoman.engine.query.translation import bridge_to
from dragoman.engine.search.shown.snippets import Matcher
from dragoman.engine.tables.views import View
from dragoman.indexes.analysis.pipeline import analysis as analysis_of
from dragoman.lexicon.query import IDENTICAL, TranslatedQuery, psq
from dragoman.lexicon.table.index_terms import analyse_table
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.text.tokens import Analysis, PlainAnalysis, Token

WORDS = st.sampled_from(["volcan", "volcano", "volcar", "vuelca"])
STEMS = st.sampled_from(["volc", "volcan", "vuelc"])
PROBABILITY = st.floats(0.01, 1.0)


class Stems(PlainAnalysis):
    """Each word has the term of its dictionary form and its own stem, as they are given."""

    def __init__(self, language: str, stems: Mapping[str, tuple[str, str]]) -> None:
        super().__init__(language)
        self._stems = stems

    def tokens(self, text: str) -> list[Token]:
        return [self._stem(token) for token in super().tokens(text)]

    def _stem(self, token: Token) -> Token:
        term, own = self._stems.get(token.word, (token.word, token.word))
        return token._replace(term=term, further=(own,) if own != term else ())


def translate(word: str, entries: Mapping[tuple[str, str], float], documents: Analysis) -> TranslatedQuery:
    source = PlainAnalysis("en")
    surface = Table.from_entries("en", "es", [(*pair, value, value) for pair, value in entries.items()])
    view = View((), surface, analyse_table(surface, source, documents))
    bridge = bridge_to({"en": source, "es": documents}.__getitem__, "en", "es", view)
    return psq(source.tokens(word), view.analysed, bridge)


@given(
    WORDS,
    st.dictionaries(st.tuples(WORDS, WORDS), PROBABILITY, min_size=1),
    st.fixed_dictionaries(dict.fromkeys(["volcan", "volcano", "volcar", "vuelca"], st.tuples(STEMS, STEMS))),
)
def test_a_word_counts_once_whatever_its_stems(
    word: str, entries: dict[tuple[str, str], float], stems: dict[str, tuple[str, str]]
) -> None:
    documents = Stems("es", stems)
    query = translate(word, entries, documents)
    weights = {other.term: other.weight for other in query.groups[0].alternatives}
    for translation in {target for source, target in entries if source == word} | {word}:
        (token,) = documents.tokens(translation)
        assert sum(weights.get(term, 0.0) for term in (token.term, *token.further)) <= 1 + 1e-6
        for match in Matcher(query, "term").matches([token]):
            assert match.probability <= 1
            if match.origin == IDENTICAL and translation != word:
                terms = {other.term for other in query.groups[0].alternatives if other.origin >= 0}
                assert terms.isdisjoint((token.term, *token.further))


def test_an_entry_is_shown_and_counted_where_a_stem_is_that_of_the_query_word() -> None:
    documents = Stems("es", {"volcan": ("volc", "volcan"), "volcano": ("volcan", "volcan")})
    query = translate("volcano", {("volcano", "volcan"): 0.64, ("vulcan", "volcan"): 0.36}, documents)
    (match,) = Matcher(query, "term").matches(documents.tokens("volcán"))
    assert (match.origin, round(match.probability, 2)) == (0, 0.64)
    assert [(other.term, round(other.weight, 2)) for other in query.groups[0].alternatives] == [("volc", 0.64)]


def test_the_query_s_word_itself_is_identical() -> None:
    documents = Stems("es", {"rock": ("roc", "rock"), "roca": ("roc", "roc")})
    query = translate("rock", {("rock", "roca"): 0.5}, documents)
    (match,) = Matcher(query, "term").matches(documents.tokens("roca"))
    assert (match.origin, match.probability) == (0, 0.5)
    query = translate("rock", {("rock", "piedra"): 0.5}, documents)
    (match,) = Matcher(query, "term").matches(documents.tokens("rock"))
    assert (match.origin, match.probability) == (IDENTICAL, 1.0)


def test_the_demo_s_words_are_entries_of_spanish() -> None:
    documents = analysis_of("es")
    for word, translation in [("volcano", "volcán"), ("music", "música"), ("victim", "víctima"), ("comet", "cometa")]:
        folded = documents.tokens(translation)[0].word
        query = translate(word, {(word, folded): 0.64}, documents)
        (match,) = Matcher(query, "term").matches(documents.tokens(f"El {translation}."))
        assert (match.origin, round(match.probability, 2)) == (0, 0.64)
