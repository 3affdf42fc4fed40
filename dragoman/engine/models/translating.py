"""What the worker translates with: the bridge in the package, into English, or the translator that is configured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from dragoman.backbone.constraints.phrases import Phrase
from dragoman.engine.core.errors import InvalidRequest, NotInstalled
from dragoman.engine.core.names import model_name
from dragoman.engine.models.drafts import Draft, Drafts, SourceSentence, lacks_term
from dragoman.engine.models.generation import about_bridge, shipped_bridge
from dragoman.engine.models.readers import OFF
from dragoman.engine.settings import Settings

if TYPE_CHECKING:
    from dragoman.backbone.translator import Translation

ENGLISH = "en"
LEAST_CHRF = 30.0
"""Languages that a bridge translates worse than this, by the chrF that was measured, are not served."""


class Translator(Protocol):
    """Translates sentences; see :class:`dragoman.backbone.translator.Translator`."""

    name: str
    languages: frozenset[str]

    def translate(
        self, texts: Sequence[str], source: str, target: str, *, beam: int = 5, phrases: Sequence[Sequence[Phrase]] = ()
    ) -> list[Translation]: ...


@dataclass(frozen=True, slots=True)
class Translate:
    """The task of translating sentences; a result is a sentence."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class TranslatorInfo:
    """A translator's name and its languages."""

    name: str
    languages: frozenset[str]
    quality: Mapping[str, float] = field(default_factory=dict)
    """Of a bridge that was measured, chrF into English by language, of all languages that were measured."""
    measured_on: str = ""
    """The texts that were translated."""
    bridge: bool = False
    """Whether it is a bridge, which translates into English alone."""

    def check(self, source: str, target: str) -> None:
        """
        Raises:
            InvalidRequest: both are the same language.
            NotInstalled: it does not know a language, or it is a bridge that is not good enough for this pair.
        """
        if source == target:
            raise InvalidRequest(f"target: {target!r} is the language of the source already")
        if self.bridge:
            served = good(self.languages, self.quality)
            if target != ENGLISH or source not in served:
                raise NotInstalled(
                    f"no translator from {source!r} into {target!r} is good enough to serve: {self.name} translates"
                    f" {', '.join(sorted(served)) or 'nothing'} into 'en'; DRAGOMAN_TRANSLATOR can name another"
                )
            return
        for name, language in (("source", source), ("target", target)):
            if language not in self.languages:
                languages = self.languages
                raise NotInstalled(
                    f"{name}: {self.name} does not know {language!r}; it knows {', '.join(sorted(languages))};"
                    " DRAGOMAN_TRANSLATOR can name another"
                )


def good(languages: frozenset[str], quality: Mapping[str, float]) -> frozenset[str]:
    """The languages that a bridge translates into English well enough; all of them if none was measured."""
    measured = (language for language in languages if not quality or quality.get(language, 0.0) >= LEAST_CHRF)
    return frozenset(measured) - {ENGLISH}


def translator_place(settings: Settings) -> str:
    """The name or folder of the translator: the configured one, or the bridge of the package.

    Raises:
        NotInstalled: it is off, or none is configured and none comes with this installation.
    """
    if settings.models.translator is not None and settings.models.translator != OFF:
        return settings.models.translator
    package_folder = shipped_bridge("translation")
    if settings.models.translator == OFF or package_folder is None:
        raise NotInstalled(
            "there is no translator: set DRAGOMAN_TRANSLATOR to the folder or the Hugging Face name of a translation"
            " model (such as M2M100, mBART, NLLB or T5), or to the folder of a bridge"
        )
    return str(package_folder)


def load_translator(settings: Settings) -> tuple[Any, TranslatorInfo]:
    """The translator, and what it knows.

    Raises:
        NotInstalled: there is none.
        CheckpointError: it cannot be loaded.
    """
    place = translator_place(settings)
    about = about_bridge(place)
    if about is not None:
        from dragoman.backbone.checkpoints import CheckpointError
        from dragoman.reasoning.layalign.reasoner import Reasoner

        if about.get("stage") != "translation":
            raise CheckpointError(f"{place}: its stage is {about.get('stage')!r}; a translator's is 'translation'")
        bridge = Reasoner(Path(place), settings.store.models_dir, settings.models.device)
        return bridge, TranslatorInfo(bridge.name, bridge.languages, bridge.quality, bridge.measured_on, bridge=True)
    from dragoman.backbone import loading

    translator = loading.load_translator(place, settings.models.device)
    translator.name = model_name(place)
    return translator, TranslatorInfo(translator.name, frozenset(translator.languages))


def translate_sentences(
    translator: Translator, task: Translate, sentences: Sequence[SourceSentence], beam: int
) -> list[Drafts]:
    """Translations of sentences, those without a term of a glossary also led to it.

    Raises:
        NotInstalled: the translator does not know this pair of languages.
    """
    try:
        return _translate(translator, task, sentences, beam)
    except Exception as fault:
        from dragoman.backbone.translator import UnsupportedPair

        if isinstance(fault, UnsupportedPair):
            raise NotInstalled(f"source, target: {fault}; DRAGOMAN_TRANSLATOR can name another") from fault
        raise


def _translate(translator: Translator, task: Translate, sentences: Sequence[SourceSentence], beam: int) -> list[Drafts]:
    texts = [sentence.text for sentence in sentences]
    free = translator.translate(texts, task.source, task.target, beam=beam)
    lacking = [
        place
        for place, (sentence, translation) in enumerate(zip(sentences, free, strict=True))
        if lacks_term(translation.text, sentence)
    ]
    terms = [[phrase for phrase in sentences[place].required if phrase.kind == "term"] for place in lacking]
    led = (
        translator.translate([texts[place] for place in lacking], task.source, task.target, beam=beam, phrases=terms)
        if lacking
        else []
    )
    drafts = [[Draft(translation.text, translation.whole)] for translation in free]
    for place, translation in zip(lacking, led, strict=True):
        drafts[place].append(Draft(translation.text, translation.whole))
    for place, translation in enumerate(free):
        drafts[place] += [Draft(text) for text in translation.others]
    return [Drafts(tuple(dict.fromkeys(those))) for those in drafts]
