"""A text is analysed once, when its words are first asked for."""

from __future__ import annotations

from threading import Barrier, Thread
from typing import Any

from dragoman.engine.query.analysed_text import AnalysedText
from dragoman.lexicon.text.tokens import PlainAnalysis


def test_a_text_is_analysed_once() -> None:
    asked: list[str] = []

    def analysis(language: str) -> PlainAnalysis:
        asked.append(language)
        return PlainAnalysis(language)

    text = AnalysedText("ash and smoke", "en", analysis)
    assert [token.term for token in text.tokens] == ["ash", "and", "smoke"]
    assert text.tokens is text.tokens
    assert asked == ["en"]


def test_no_text_waits_for_the_analysis_of_another() -> None:
    both = Barrier(2, timeout=20)

    class Together:
        def tokens(self, text: str) -> Any:
            both.wait()
            return [text]

    texts = [AnalysedText(word, "en", lambda _: Together()) for word in ("ash", "smoke")]  # type: ignore[arg-type,return-value]
    found: list[Any] = []
    threads = [Thread(target=lambda one=one: found.extend(one.tokens)) for one in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == ["ash", "smoke"]
