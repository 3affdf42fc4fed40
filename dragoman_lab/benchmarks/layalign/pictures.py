"""Figures 4, 5, 8 and 9 of LayAlign (Ruan et al. 2025): what a bridge does to the LLM's states, gates and mixtures.

    python -m dragoman_lab.benchmarks.layalign.pictures --bridge LayAlign=runs/layalign/task/model \
        --work runs/layalign \\
        --output runs/layalign/pictures

The texts are the same word problems in nine languages. `similarity.png` (Figure 4) shows how near the LLM's states of a
language are to those of the same problems in English, by layer; `pca.png` (5) the states after the last layer; the LLM
alone stands beside the bridges. `gates.png` (8) shows the size of each layer's gate, `layers.png` (9) how much of each
layer of the encoder the layers of the LLM attend to. The numbers are in `report.json`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dragoman.backbone.pretrained.llm import LanguageModel
from dragoman.reasoning.layalign.model import Bridge
from dragoman.reasoning.layalign.reasoner import Reasoner
from dragoman.reasoning.layalign.states import read_texts
from dragoman_lab.reasoning.problems import held_out_templates, problems

mpl.use("Agg")
import matplotlib.pyplot as plt

ALONE = "the LLM alone"
Means = dict[str, NDArray[np.float32]]
"""Mean states (layers + 1, texts, width) by language."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bridge", action="append", required=True, metavar="NAME=FOLDER")
    parser.add_argument("--work", type=Path, required=True, help="folder for the converted LLM")
    parser.add_argument("--count", type=int, default=50, help="problems in each language")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    bridges = {
        name: Reasoner(Path(place), options.work)
        for name, place in (argument.split("=", 1) for argument in options.bridge)
    }
    texts = texts_of(options.count)
    means = {
        ALONE: {
            language: plain(next(iter(bridges.values())).model.llm, language_texts)
            for language, language_texts in texts.items()
        }
    }
    for name, reasoner in bridges.items():
        means[name] = {
            language: read_soft_prompts(reasoner, language_texts) for language, language_texts in texts.items()
        }
    similarities = {
        name: {language: similarity(states, language) for language in states if language != "en"}
        for name, states in means.items()
    }
    fused = {
        name: reasoner.model.bridge
        for name, reasoner in bridges.items()
        if reasoner.model.bridge.config.fusion == "layers"
    }
    report = {
        "similarity": similarities,
        "gates": {name: bridge.gates.tolist() for name, bridge in fused.items()},
        "layers": {name: weights(bridge).tolist() for name, bridge in fused.items()},
    }
    (options.output / "report.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    draw_similarity(similarities, options.output / "similarity.png")
    draw_pca(means, options.output / "pca.png")
    if fused:
        draw_gates(fused, options.output / "gates.png")
        draw_layers(fused, options.output / "layers.png")


def texts_of(count: int) -> dict[str, list[str]]:
    """The same problems in each language."""
    sample = list(islice(problems(held_out_templates(), seed=3), count))
    return {language: [problem.texts[language] for problem in sample] for language in sample[0].texts}


@torch.inference_mode()
def plain(llm: LanguageModel, texts: Sequence[str]) -> NDArray[np.float32]:
    """The mean states of texts that the LLM reads itself: (layers + 1, texts, width)."""
    means = []
    for text in texts:
        ids = torch.tensor([[*llm.ids(llm.before), *llm.plain_ids(text)]])
        states = llm.model.get_decoder()(ids, output_hidden_states=True).hidden_states
        means.append(_mean(states, len(llm.ids(llm.before)), ids.shape[1]))
    return np.stack(means, 1)


@torch.inference_mode()
def read_soft_prompts(reasoner: Reasoner, texts: Sequence[str]) -> NDArray[np.float32]:
    """The mean states of soft prompts, and of the text where the LLM has it, too: (layers + 1, texts, width)."""
    model, means = reasoner.model, []
    for text in texts:
        stream = reasoner.stream(text, "", 1, 0.0, 0)
        states = read_texts(reasoner.encoder, [stream.ids], model.bridge.separator.device)
        embeds, mask, _ = model.embed_rows(states, [stream.prompt])
        hidden_states = model.llm.model.get_decoder()(
            inputs_embeds=embeds.to(model.llm.model.dtype), attention_mask=mask.long(),
            past_key_values=model.cache(states), use_cache=True, output_hidden_states=True,
        ).hidden_states  # fmt: skip
        means.append(
            _mean(hidden_states, len(stream.prompt.before), embeds.shape[1] - len(model.llm.ids(model.llm.after)))
        )
    return np.stack(means, 1)


def _mean(states: Sequence[Tensor], begin: int, end: int) -> NDArray[np.float32]:
    return np.stack([layer[0, begin:end].float().mean(0).numpy() for layer in states])


def similarity(means: Means, language: str) -> list[float]:
    """The mean cosine of texts with the same texts in English, by layer, less that with other texts in English.

    States of one LLM are all alike to some degree; what counts is by how much a translation is nearer than others.
    """
    foreign, english = (
        states / np.linalg.norm(states, axis=-1, keepdims=True) for states in (means[language], means["en"])
    )
    gains = []
    for layer in range(foreign.shape[0]):
        cosines = foreign[layer] @ english[layer].T
        same = np.eye(len(cosines), dtype=bool)
        gains.append(float(cosines[same].mean() - cosines[~same].mean()))
    return gains


def weights(bridge: Bridge) -> NDArray[np.float32]:
    """How much of the encoder's layers each layer of the LLM attends to: shares of |weights| (LLM's layers, layers)."""
    mix = bridge.mix.weight.detach().abs().numpy()  # (2 LLM's layers, layers): a key and a value in turn
    both = mix.reshape(-1, 2, mix.shape[1]).sum(1)
    shares: NDArray[np.float32] = both / both.sum(1, keepdims=True)
    return shares


def draw_similarity(similarities: Mapping[str, Mapping[str, Sequence[float]]], path: Path) -> None:
    """Figure 4: a panel for each system, a line for each language."""
    figure, panels = plt.subplots(1, len(similarities), figsize=(5 * len(similarities), 4), sharey=True, squeeze=False)
    for panel, (name, languages) in zip(panels[0], similarities.items(), strict=True):
        for language, values in languages.items():
            panel.plot(values, label=language)
        panel.set(title=name, xlabel="layer of the LLM", ylabel="cosine with English, over that of other texts")
    panels[0][0].legend(ncols=2)
    _save(figure, path)


def draw_pca(means: Mapping[str, Means], path: Path) -> None:
    """Figure 5: the states after the last layer on their two principal components."""
    figure, panels = plt.subplots(1, len(means), figsize=(5 * len(means), 4), squeeze=False)
    for panel, (name, languages) in zip(panels[0], means.items(), strict=True):
        states = np.concatenate([language_states[-1] for language_states in languages.values()])
        _, _, axes = np.linalg.svd(states - states.mean(0), full_matrices=False)
        for language, language_states in languages.items():
            points = (language_states[-1] - states.mean(0)) @ axes[:2].T
            panel.scatter(points[:, 0], points[:, 1], s=8, label=language)
        panel.set(title=name, xlabel="first component", ylabel="second component")
    panels[0][0].legend(ncols=2)
    _save(figure, path)


def draw_gates(bridges: Mapping[str, Bridge], path: Path) -> None:
    """Figure 8: the size of each layer's gate."""
    figure, panel = plt.subplots(figsize=(6, 4))
    for name, bridge in bridges.items():
        panel.plot(bridge.gates.detach().abs().numpy(), marker="o", label=name)
    panel.set(xlabel="layer of the LLM", ylabel="|gate|")
    panel.legend()
    _save(figure, path)


def draw_layers(bridges: Mapping[str, Bridge], path: Path) -> None:
    """Figure 9: a map for each bridge."""
    figure, panels = plt.subplots(1, len(bridges), figsize=(6 * len(bridges), 5), squeeze=False)
    for panel, (name, bridge) in zip(panels[0], bridges.items(), strict=True):
        drawn = panel.imshow(weights(bridge), aspect="auto", origin="lower", cmap="viridis")
        panel.set(title=name, xlabel="layer of the encoder", ylabel="layer of the LLM")
        figure.colorbar(drawn, ax=panel)
    _save(figure, path)


def _save(figure: Any, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    main()
