"""What crosses between the API and a worker: a header in JSON, and arrays after it as they are in memory.

A message is its mark, the length of the header, the header, and the arrays, each from a multiple of eight bytes on. The
header holds the content, in which an array stands as its place, and the type and shape of each array. Of objects only
those of :data:`KINDS` are written and read; nothing is unpickled. An answer is a stream of messages, each after its
length.
"""

from __future__ import annotations

import json
import math
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Frames", "MessageError", "frame", "pack", "unpack"]

_MARK = b"DRG1"
_START = struct.Struct("<4sI")
_LENGTH = struct.Struct("<Q")
_ALIGNED = 8
_ENCODER = json.JSONEncoder(separators=(",", ":"))
_DTYPES = ("<f2", "<f4", "<f8", "|u1", "|i1", "<i4", "<i8", "|b1")
_KIND, _FIELDS, _ARRAY = "@", "f", "#"
_MODELS = "dragoman.engine.models."
_PLACES = {
    "TaggerInfo": _MODELS + "tagging",
    "TagTexts": _MODELS + "tagging",
    "Tag": "dragoman.tagging.tag",
    "Encode": _MODELS + "tasks",
    "Embed": _MODELS + "tasks",
    "EmbedText": _MODELS + "tasks",
    "Score": _MODELS + "tasks",
    "Load": _MODELS + "tasks",
    "EncoderInfo": _MODELS + "encoding",
    "EncodedQuery": _MODELS + "encoding",
    "Embedding": _MODELS + "encoding",
    "EmbeddedText": _MODELS + "encoding",
    "PassageText": _MODELS + "encoding",
    "StateCodec": "dragoman.indexes.dense.state_codec",
    "LanguageMeans": "dragoman.indexes.dense.language_means",
    "Translate": _MODELS + "translating",
    "TranslatorInfo": _MODELS + "translating",
    "Generate": _MODELS + "generation",
    "Prompted": _MODELS + "generation",
    "Generated": _MODELS + "generation",
    "ReasonerInfo": _MODELS + "generation",
    "ReaderInfo": _MODELS + "readers",
    "FindAnswers": _MODELS + "reading",
    "JudgeStatement": _MODELS + "reading",
    "ReadText": _MODELS + "reading",
    "AnswerRead": _MODELS + "reading",
    "AnswersRead": _MODELS + "reading",
    "StatementRead": _MODELS + "reading",
    "ScoreRequest": _MODELS + "scoring",
    "SpannedText": _MODELS + "scoring",
    "Scores": _MODELS + "scoring",
    "Links": "dragoman.ranking.attention",
    "RerankerAbout": "dragoman.ranking.about",
    "LateAbout": "dragoman.ranking.about",
    "StandaloneAbout": "dragoman.ranking.about",
    "HybridAbout": "dragoman.ranking.about",
    "ReadTexts": "dragoman.service.remote.tasks",
    "FindWindow": "dragoman.service.remote.tasks",
    "Window": "dragoman.service.remote.tasks",
    "Asked": "dragoman.service.remote.tasks",
    "Described": "dragoman.service.remote.tasks",
    "Failure": "dragoman.service.remote.tasks",
    "Piece": "dragoman.service.remote.tasks",
    "Result": "dragoman.service.remote.tasks",
}
"""The module of each kind of object that crosses."""

Array = NDArray[Any]


class MessageError(ValueError):
    """A message that cannot be read, such as that of another version."""


class _Form(NamedTuple):
    """How the objects of a kind are taken apart and put together, where their fields are not enough."""

    parts: Callable[[Any], list[Any]]
    build: Callable[..., Any]


def _spans(pairs: Any) -> Array:
    return np.asarray(pairs, np.int64).reshape(-1, 2)


def _pairs(spans: Array) -> list[tuple[int, int]]:
    if not isinstance(spans, np.ndarray) or spans.ndim != 2 or spans.shape[1] != 2:
        raise MessageError("spans are pairs of numbers")
    return [(start, end) for start, end in spans.tolist()]


def _build_encoded(vector: Array, states: Array, weights: Array, offsets: Array) -> Any:
    return _class("EncodedQuery")(vector, states, weights, _pairs(offsets))


_FORMS = {
    "EncodedQuery": _Form(
        lambda query: [query.vector, query.states, query.weights, _spans(query.offsets)], _build_encoded
    ),
    "PassageText": _Form(
        lambda passage: [passage.text, _spans(passage.sentences)],
        lambda text, spans: _class("PassageText")(text, _pairs(spans)),
    ),
    "SpannedText": _Form(
        lambda text: [text.text, _spans(text.spans)], lambda text, spans: _class("SpannedText")(text, _pairs(spans))
    ),
    "StateCodec": _Form(
        lambda codec: [codec.centroids, codec._mean, codec._rotation, codec.layer],
        lambda *parts: _class("StateCodec")(*parts),
    ),
    "LanguageMeans": _Form(lambda means: [means._means], lambda means: _class("LanguageMeans")(means)),
}


def pack(content: Any) -> bytes:
    """The message of a content: None, booleans, numbers, strings, lists, tuples, sets, mappings, arrays, and objects.

    Raises:
        TypeError: something else is among it.
    """
    arrays: list[Array] = []
    tree = _tree(content, arrays)
    described = [[array.dtype.str, list(array.shape)] for array in arrays]
    header = _ENCODER.encode([tree, described]).encode()
    parts = [_START.pack(_MARK, len(header)), header]
    size = len(parts[0]) + len(header)
    for array in arrays:
        padding = -size % _ALIGNED
        parts += [bytes(padding), array.tobytes()]
        size += padding + array.nbytes
    return b"".join(parts)


def unpack(message: bytes | memoryview) -> Any:
    """The content of a message.

    Raises:
        MessageError: it is none, or damaged.
    """
    try:
        mark, length = _START.unpack_from(message)
        if mark != _MARK:
            raise MessageError("it does not begin as a message does")
        place = _START.size + length
        tree, described = json.loads(bytes(message[_START.size : place]))
        arrays: list[Array] = []
        for dtype, shape in described:
            place += -place % _ALIGNED
            arrays.append(_array(message, place, dtype, shape))
            place += arrays[-1].nbytes
        if place != len(message):
            raise MessageError("its length is not that of its parts")
        return _content(tree, arrays)
    except MessageError:
        raise
    except (struct.error, ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as fault:
        raise MessageError(f"it cannot be read: {fault}") from fault


def frame(content: Any) -> bytes:
    """A message in a stream of them."""
    message = pack(content)
    return _LENGTH.pack(len(message)) + message


class Frames:
    """Takes a stream apart into the contents of its messages, whatever parts it arrives in."""

    def __init__(self, most: int) -> None:
        """``most`` bytes a message."""
        self._most = most
        self._buffer = bytearray()

    def take(self, part: bytes) -> Iterator[Any]:
        """The contents that are complete with this part.

        Raises:
            MessageError: a message cannot be read, or is too long.
        """
        self._buffer += part
        while len(self._buffer) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer)
            if length > self._most:
                raise MessageError(f"a message of {length} bytes; at most {self._most} are read")
            end = _LENGTH.size + length
            if len(self._buffer) < end:
                return
            message = bytes(self._buffer[_LENGTH.size : end])
            del self._buffer[:end]
            yield unpack(message)


def _class(kind: str) -> Any:
    return getattr(import_module(_PLACES[kind]), kind)


def _tree(content: Any, arrays: list[Array]) -> Any:
    """The content as JSON has it; its arrays are put with the others."""
    if content is None or isinstance(content, bool | int | float | str):
        return content
    if isinstance(content, np.generic):
        return content.item()
    if isinstance(content, np.ndarray):
        array = np.ascontiguousarray(content).reshape(content.shape)
        array = array.astype(array.dtype.newbyteorder("<"), copy=False) if sys.byteorder == "big" else array
        if array.dtype.str not in _DTYPES:
            raise TypeError(f"an array of {content.dtype} does not cross to a worker")
        arrays.append(array)
        return {_ARRAY: len(arrays) - 1}
    kind = type(content).__name__
    if kind in _PLACES:
        form = _FORMS.get(kind)
        parts = _parts(content) if form is None else form.parts(content)
        return {_KIND: kind, _FIELDS: [_tree(part, arrays) for part in parts]}
    if isinstance(content, list):
        return [_tree(part, arrays) for part in content]
    if isinstance(content, tuple | frozenset | set):
        name = "tuple" if isinstance(content, tuple) else "frozenset"
        parts = list(content) if isinstance(content, tuple) else sorted(content)
        return {_KIND: name, _FIELDS: [_tree(part, arrays) for part in parts]}
    if isinstance(content, Mapping):
        return {_KIND: "dict", _FIELDS: [[_tree(key, arrays), _tree(part, arrays)] for key, part in content.items()]}
    raise TypeError(f"{kind} does not cross to a worker")


def _parts(content: Any) -> list[Any]:
    if is_dataclass(content):
        return [getattr(content, field.name) for field in fields(content)]
    return list(content)


def _content(tree: Any, arrays: list[Array]) -> Any:
    if isinstance(tree, list):
        return [_content(part, arrays) for part in tree]
    if not isinstance(tree, dict):
        return tree
    if _ARRAY in tree:
        return arrays[tree[_ARRAY]]
    kind, parts = tree[_KIND], [_content(part, arrays) for part in tree[_FIELDS]]
    if kind == "tuple":
        return tuple(parts)
    if kind == "frozenset":
        return frozenset(parts)
    if kind == "dict":
        return dict(parts)
    if kind not in _PLACES:
        raise MessageError(f"{kind!r} does not cross")
    form = _FORMS.get(kind)
    return _class(kind)(*parts) if form is None else form.build(*parts)


def _array(message: bytes | memoryview, place: int, dtype: str, shape: list[int]) -> Array:
    if dtype not in _DTYPES or not all(isinstance(size, int) and size >= 0 for size in shape):
        raise MessageError("an array of no type or shape that crosses")
    array: Array = np.frombuffer(message, np.dtype(dtype), math.prod(shape), place)
    return array.reshape(shape)
