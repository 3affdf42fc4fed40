"""What a GPU gives, in five minutes: encoder, rerankers and reasoning beside other libraries on the same card.

    python -m dragoman_lab.benchmarks.backbone.accelerator [--device cuda] [--parts matrix encoder late mart reason]

It needs torch and transformers, and the packages of the weights; no Java, no FastAPI. It measures passages a second of
the encoder, pairs a second of `late` and MART, from texts to scores, and tokens a second of `reason` with 1, 8 and 32
questions at once. Beside them, on the same weights and texts, are transformers' BertModel,
BertForSequenceClassification and generate, in float32 and bfloat16, and sentence-transformers where it is installed.
The others have batches of texts sorted by length, of `--batch`. `generate` has as many rows at once, each the same text
without a soft prompt.

The share of the matrix rate is the operations of all matrix products and attention for the texts without padding,
divided by those of a product of large square matrices in bfloat16 in the same time. Of generated tokens these are
two for each weight. `--seconds` are for each figure; the first run of each is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from dragoman.backbone.loading import load_encoder
from dragoman.backbone.pretrained import e5
from dragoman.backbone.pretrained.llm import load_llm
from dragoman.backbone.sentences import SentenceEncoder
from dragoman.ranking.scoring import load_scorer
from dragoman.reasoning.layalign.decoding import Stream
from dragoman.reasoning.layalign.reasoner import Reasoner
from dragoman.reasoning.shipped import find_shipped
from dragoman_lab.benchmarks.reranking.model import SHAPES, make_lists, read_list, write_e5
from dragoman_lab.benchmarks.search.encoder_folder import write_folder

PARTS = ("matrix", "encoder", "late", "mart", "reason")
SQUARE = {"cpu": 1024, "cuda": 8192}
LARGE_PASS = 32_768
"""Subwords of a pass beside the service's own, which suits processors."""
CONCURRENT = (1, 8, 32)
QUESTION = "Anna hat drei Äpfel und kauft vier dazu, dann isst sie zwei. Wie viele Äpfel hat sie jetzt?"
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
_ADDED = 4
"""Special tokens and prefix of a text or pair, about."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A rate, and the operations a second that it takes."""

    part: str
    system: str
    unit: str
    rate: float
    operations: float


class Accelerator:
    """Measures on one device."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options, self.folder, self.device = options, folder, torch.device(options.device)

    def figure(self, part: str, system: str, unit: str, run: Callable[[], int], operations: float) -> Figure:
        """The rate of a run that returns its units, and takes so many operations for each."""
        run()
        self._wait()
        begun, units = time.perf_counter(), 0
        while not units or time.perf_counter() - begun < self.options.seconds:
            units += run()
            self._wait()
        rate = units / (time.perf_counter() - begun)
        return Figure(part, system, unit, rate, rate * operations)

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def matrix(self) -> Iterator[Figure]:
        """Products of square matrices."""
        size = self.options.square or SQUARE[self.device.type]
        for name, dtype in DTYPES.items():
            a, b = (torch.randn(size, size, device=self.device).to(dtype) for _ in range(2))

            def run(a: torch.Tensor = a, b: torch.Tensor = b) -> int:
                _ = a @ b
                return 1

            yield self.figure("matrix", name, "products", run, 2.0 * size**3)

    def encoder(self) -> Iterator[Figure]:
        """Passages a second."""
        passages = [document for each in self._lists() for document in each["documents"]]
        sentences = SentenceEncoder(load_encoder(e5.NAME, self.options.device))
        sizes = [len(text.ids) + _ADDED for text in sentences.encoder.subwords(passages)]
        operations = encoder_operations(sizes) / len(sizes)

        def ours(**tokens: int) -> int:
            return len(sentences.encode(passages, "passage", **tokens))

        yield self.figure("encoder", "dragoman, as the service", "passages", ours, operations)
        large = f"dragoman, passes of {LARGE_PASS}"
        yield self.figure("encoder", large, "passages", lambda: ours(tokens=LARGE_PASS), operations)
        write_folder(self.folder / "encoder")
        for name, encode in self._other_encoders(passages):
            yield self.figure("encoder", name, "passages", encode, operations)

    def _other_encoders(self, passages: Sequence[str]) -> Iterator[tuple[str, Callable[[], int]]]:
        from transformers import AutoModel

        prefixed = [f"passage: {passage}" for passage in passages]
        for name, dtype in DTYPES.items():
            model = AutoModel.from_pretrained(self.folder / "encoder", dtype=dtype).to(self.device).eval()

            def pool(rows: Any, model: Any = model) -> torch.Tensor:
                states, mask = model(**rows).last_hidden_state, rows["attention_mask"][..., None]
                means: torch.Tensor = (states * mask).sum(1) / mask.sum(1)
                return torch.nn.functional.normalize(means, dim=-1)

            batched = self._make_batches(self.folder / "encoder", pool)
            yield f"transformers, {name}", lambda batched=batched: batched(prefixed)  # type: ignore[misc]
        try:
            from sentence_transformers import SentenceTransformer
        except ModuleNotFoundError:
            return
        for name, dtype in DTYPES.items():
            settings = {"device": self.options.device, "model_kwargs": {"dtype": dtype}}
            sentence_transformer = SentenceTransformer(str(self.folder / "encoder"), **settings)

            def encode(model: Any = sentence_transformer) -> int:
                return len(model.encode(prefixed, batch_size=self.options.batch, show_progress_bar=False))

            yield f"sentence-transformers, {name}", encode

    def late(self) -> Iterator[Figure]:
        """Pairs a second of the default reranker."""
        lists = self._lists()
        scorer, _ = load_scorer("late", self.options.device)
        texts = [text for each in lists for text in (each["query"], *each["documents"])]
        sizes = [len(text.ids) + _ADDED for text in scorer.encoder.subwords(texts)]
        operations = encoder_operations(sizes) / sum(len(each["documents"]) for each in lists)
        yield self.figure("late", "dragoman", "pairs", lambda: _score(scorer, lists), operations)

    def mart(self) -> Iterator[Figure]:
        """Pairs a second of MART, and of cross-encoders."""
        lists = self._lists()
        encoder = load_encoder(e5.NAME)
        sizes = []
        for each in lists:
            query, *documents = (len(text.ids) for text in encoder.subwords([each["query"], *each["documents"]]))
            sizes += [query + document + _ADDED for document in documents]
        operations = encoder_operations(sizes) / len(sizes)
        for name, dtype in DTYPES.items():
            scorer, _ = load_scorer("mart", self.options.device, dtype)
            yield self.figure("mart", f"dragoman, {name}", "pairs", lambda s=scorer: _score(s, lists), operations)  # type: ignore[misc]
        write_e5(self.folder / "cross-encoder")
        for name, score in self._cross_encoders(lists):
            yield self.figure("mart", name, "pairs", score, operations)

    def _cross_encoders(self, lists: Sequence[dict[str, Any]]) -> Iterator[tuple[str, Callable[[], int]]]:
        from transformers import AutoModelForSequenceClassification

        folder = self.folder / "cross-encoder"
        pairs = [(each["query"], document) for each in lists for document in each["documents"]]
        for name, dtype in DTYPES.items():
            model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=dtype).to(self.device).eval()
            batched = self._make_batches(folder, lambda rows, model=model: model(**rows).logits)  # type: ignore[misc]
            yield f"transformers, {name}", lambda batched=batched: batched(pairs)  # type: ignore[misc]
        try:
            from sentence_transformers import CrossEncoder
        except ModuleNotFoundError:
            return
        for name, dtype in DTYPES.items():
            cross = CrossEncoder(str(folder), device=self.options.device, model_kwargs={"dtype": dtype})

            def score(cross: Any = cross) -> int:
                return len(cross.predict(pairs, batch_size=self.options.batch, show_progress_bar=False))

            yield f"sentence-transformers, {name}", score

    def _make_batches(self, folder: Path, compute: Callable[[Any], torch.Tensor]) -> Callable[[Sequence[Any]], int]:
        """A function that tokenizes texts or pairs, computes them in batches sorted by length, and counts them."""
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(folder)

        @torch.inference_mode()
        def run(texts: Sequence[Any]) -> int:
            ordered = sorted(texts, key=lambda text: len(text) if isinstance(text, str) else sum(map(len, text)))
            rows = 0
            for start in range(0, len(ordered), self.options.batch):
                batch = ordered[start : start + self.options.batch]
                encoded = tokenizer(batch, padding=True, truncation=True, return_tensors="pt").to(self.device)
                rows += len(compute(encoded).float().cpu())
            return rows

        return run

    def reason(self) -> Iterator[Figure]:
        """Tokens a second."""
        bridge = self.options.bridge or find_shipped("reasoning")
        if bridge is None:
            raise SystemExit("there is no bridge: name one with --bridge")
        reasoner = Reasoner(bridge, self.options.work or self.folder, self.options.device)
        reasoner.model.llm.ends.clear()  # so that every answer has all its tokens
        name = str(json.loads((bridge / "config.json").read_text(encoding="utf-8"))["llm"])
        operations = 2.0 * sum(weights.numel() for weights in reasoner.model.llm.model.parameters())
        for count in CONCURRENT:
            yield self.figure(
                "reason",
                f"dragoman, {count} at once",
                "tokens",
                lambda c=count: self._decode(reasoner, c),
                operations,  # type: ignore[misc]
            )
        for dtype_name, dtype in DTYPES.items():
            llm = load_llm(name, self.options.work or self.folder, dtype=dtype)
            llm.model.to(self.device)
            prompt = torch.tensor([llm.ids(llm.before + self.options.question + llm.after)], device=self.device)
            for count in CONCURRENT:
                system = f"transformers, {dtype_name}, {count} at once"
                run = lambda c=count: self._generate(llm.model, prompt.expand(c, -1))  # type: ignore[misc]  # noqa: B023, E731
                yield self.figure("reason", system, "tokens", run, operations)

    def _decode(self, reasoner: Reasoner, count: int) -> int:
        streams: list[Stream] = [
            reasoner.stream(self.options.question, "", self.options.tokens, 0.0, 0) for _ in range(count)
        ]
        while not all(stream.done for stream in streams):
            reasoner.decoder.advance(streams, 4)
        reasoner.decoder.advance([], 0)
        return sum(len(stream.tokens) for stream in streams)

    @torch.inference_mode()
    def _generate(self, model: Any, prompt: torch.Tensor) -> int:
        rows: torch.Tensor = model.generate(
            input_ids=prompt, attention_mask=torch.ones_like(prompt), do_sample=False, pad_token_id=0,
            eos_token_id=None, min_new_tokens=self.options.tokens, max_new_tokens=self.options.tokens,
        )  # fmt: skip
        return int(rows.shape[0] * (rows.shape[1] - prompt.shape[1]))

    def _lists(self) -> list[dict[str, Any]]:
        return make_lists(self.options.queries, self.options.documents, 8, self.options.longest)


def _score(scorer: Any, lists: Sequence[dict[str, Any]]) -> int:
    return len(scorer.scores([row for each in lists for row in read_list(scorer, each, True)]))


def encoder_operations(sizes: Sequence[int]) -> float:
    """Operations of all matrix products and attention of e5, for rows without padding."""
    shape = SHAPES[e5.NAME]
    width, layers = shape["hidden_size"], shape["num_hidden_layers"]
    weights = 4 * width**2 + 2 * width * shape["intermediate_size"]
    return float(layers * sum(2 * weights * size + 4 * width * size**2 for size in sizes))


def report(device: str, figures: Sequence[Figure]) -> str:
    """A Markdown table."""
    name = torch.cuda.get_device_name() if device == "cuda" else f"{os.cpu_count()} processors"
    peak = next((figure.operations for figure in figures if figure.system == "bfloat16"), None)
    lines = [
        f"{name}, torch {torch.__version__}",
        "",
        "| part | system | a second | | of the matrix rate |",
        "|---" * 5 + "|",
    ]
    for figure in figures:
        if figure.part == "matrix":
            lines.append(f"| matrix | {figure.system} | {figure.operations / 1e12:,.2f} | TFLOP | |")
        else:
            share = f"{figure.operations / peak:.1%}" if peak else ""
            lines.append(f"| {figure.part} | {figure.system} | {figure.rate:,.0f} | {figure.unit} | {share} |")
    return "\n".join(lines)


def main() -> None:
    """Measure all parts and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--seconds", type=float, default=4.0, help="of each figure")
    parser.add_argument("--square", type=int, help="rows of the matrices; default: by device")
    parser.add_argument("--queries", type=int, default=32)
    parser.add_argument("--documents", type=int, default=64, help="of each query; all of them are the passages")
    parser.add_argument("--longest", type=int, default=200, help="subwords of the longest document; the shortest has 8")
    parser.add_argument("--batch", type=int, default=256, help="texts of a batch of the other libraries")
    parser.add_argument("--tokens", type=int, default=64, help="of each answer")
    parser.add_argument("--question", default=QUESTION)
    parser.add_argument("--bridge", type=Path, help="default: the shipped one")
    parser.add_argument("--work", type=Path, help="folder that keeps the converted LLM")
    parser.add_argument("--output", type=Path, help="JSON file for the figures")
    options = parser.parse_args()
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder:
        accelerator = Accelerator(options, Path(folder))
        for part in options.parts:
            for figure in getattr(accelerator, part)():
                figures.append(figure)
                print(json.dumps(asdict(figure)), flush=True)  # noqa: T201
    print(report(options.device, figures))  # noqa: T201
    if options.output:
        options.output.write_text(json.dumps([asdict(figure) for figure in figures], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
