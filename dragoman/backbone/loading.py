"""Loading of encoders and translators by name or path: of this project, or from Hugging Face."""

from __future__ import annotations

from pathlib import Path

from dragoman.backbone.checkpoints import CONFIG, CheckpointError, load_veco, read_json
from dragoman.backbone.deltas.base import encoder_checksum
from dragoman.backbone.encoder import Encoder, VecoEncoder
from dragoman.backbone.pretrained import e5
from dragoman.backbone.translator import MODEL_TYPE, Translator, VecoTranslator, load_seq2seq
from dragoman.backbone.veco import middle_layer


def load_encoder(name_or_path: str = e5.NAME, device: str = "cpu") -> Encoder:
    """Load an encoder in evaluation mode on `device`.

    Raises:
        CheckpointError: if there is no such checkpoint, or its files are pickled, damaged or inconsistent.
    """
    if name_or_path == e5.NAME:
        return e5.load_e5().to(device).eval()
    folder = Path(name_or_path)
    if (folder / CONFIG).is_file() and read_json(folder / CONFIG).get("model_type") == "veco":
        model, vocabulary, about = load_veco(folder, cross_attention=False)
        layer = about.get("sentence_layer")
        if layer is None:
            layer = middle_layer(model.config.layers)
        if not isinstance(layer, int) or not 0 <= layer <= model.config.layers:
            raise CheckpointError(f"{folder / CONFIG}: sentence_layer is {layer!r}, of {model.config.layers} layers")
        return VecoEncoder(model, vocabulary, name_or_path, layer).to(device).eval()
    from dragoman.backbone.pretrained.huggingface import (
        load_hugging_face_encoder,  # transformers takes seconds to import
    )

    encoder = load_hugging_face_encoder(name_or_path)
    if not folder.is_dir():
        encoder.checksum = encoder_checksum(encoder)  # what a name stands for on the hub can change
    return encoder.to(device).eval()


def load_translator(name_or_path: str, device: str = "cpu") -> Translator:
    """Load a translator on `device`: trained by this project, or from Hugging Face.

    Raises:
        CheckpointError: if there is no such checkpoint, its files are pickled or damaged, or its languages are
            unknown.
    """
    folder = Path(name_or_path)
    if (folder / CONFIG).is_file() and read_json(folder / CONFIG).get("model_type") == MODEL_TYPE:
        model, vocabulary, about = load_seq2seq(folder)
        return VecoTranslator(model.to(device), vocabulary, name_or_path, about["languages"])
    if (folder / CONFIG).is_file() and read_json(folder / CONFIG).get("model_type") == "veco":
        raise CheckpointError(f"{folder}: a backbone does not translate; train a translator from it first")
    from dragoman.backbone.pretrained.translator import load_hugging_face_translator

    return load_hugging_face_translator(name_or_path, device)
