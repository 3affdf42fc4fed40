"""What crosses between the API and a worker arrives as it was sent."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pytest

from dragoman.engine.core.errors import InvalidRequest
from dragoman.engine.models.encoding import EncodedQuery, EncoderInfo
from dragoman.engine.models.scoring import ScoreRequest, Scores, SpannedText
from dragoman.engine.models.tasks import Encode, Score
from dragoman.indexes.dense.language_means import LanguageMeans
from dragoman.ranking.about import HybridAbout, RerankerAbout
from dragoman.ranking.attention import NO_LINKS, Links
from dragoman.service.remote.requests import read_request
from dragoman.service.remote.tasks import Asked
from dragoman.service.remote.wire import Frames, MessageError, frame, pack, unpack


@pytest.mark.parametrize(
    "content",
    [
        None, True, -3, 2**62, 0.1, "a\ud800\0é", [1, "b", None], ("a", ("b",)), frozenset({"de", "en"}),
        {1: "no score", "a": [2]}, Asked(Encode(True), ["a"], 1.5, True, "key"),
        RerankerAbout("a", "forward", True, 0.75, ["en-de"], hybrid=HybridAbout(10.0, 0.2, 1.0), training={"steps": 3}),
        Scores(RerankerAbout(), [0.5, None], {1: "the model failed"}, [0], 7, True),
    ],
)  # fmt: skip
def test_what_is_sent_arrives(content: Any) -> None:
    assert unpack(pack(content)) == content


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.uint8, np.int32, np.int64, np.bool_])
def test_arrays_arrive_bit_by_bit(dtype: Any) -> None:
    array = np.random.default_rng(1).standard_normal((3, 5)).astype(dtype)
    empty = np.zeros((0, 4), dtype)
    first, second, last = unpack(pack([array, empty, array.T]))
    assert (first.dtype, first.tobytes()) == (array.dtype, array.tobytes())
    assert (second.shape, second.dtype) == ((0, 4), empty.dtype)
    assert np.array_equal(last, array.T)


def test_a_query_arrives_with_its_offsets_as_pairs() -> None:
    query = EncodedQuery(np.ones(2, np.float32), np.ones((1, 2), np.float32), np.ones(1), [(0, 3)])
    assert unpack(pack(query)).offsets == [(0, 3)]


def test_a_description_arrives_with_its_means() -> None:
    info = EncoderInfo("a", 2, 0.5, means=LanguageMeans({"de": np.ones(2, np.float32)}), earlier=("b",))
    arrived = unpack(pack(info))
    assert arrived == info
    assert arrived.means.languages == ("de",)


@pytest.mark.parametrize("sizes", [1, 7, 10_000])
def test_a_stream_is_read_whatever_parts_it_arrives_in(sizes: int) -> None:
    stream = frame([1]) + frame(np.arange(100)) + frame("end")
    frames = Frames(10_000)
    arrived = [
        content for start in range(0, len(stream), sizes) for content in frames.take(stream[start : start + sizes])
    ]
    assert (arrived[0], arrived[1].sum(), arrived[2]) == ([1], 4950, "end")


def _message(tree: Any, described: Any = ()) -> bytes:
    header = json.dumps([tree, described]).encode()
    return struct.pack("<4sI", b"DRG1", len(header)) + header


@pytest.mark.parametrize(
    "message",
    [
        b"", b"DRG1", b"{}", pack(np.ones(4))[:-1], pack([1]) + b"more", _message({"#": 0}),
        _message({"@": "os.system", "f": ["true"]}), _message({"@": "Encode", "f": [1, 2, 3]}),
        _message({"#": 0}, [["|O", [1]]]), _message({"#": 0}, [["<f4", [-1]]]), _message({"#": 0}, [["<f4", [10**30]]]),
        _message({"@": "PassageText", "f": ["a", "no array"]}), struct.pack("<4sI", b"DRG1", 2**32 - 1),
    ],
)  # fmt: skip
def test_what_is_no_message_is_refused(message: bytes) -> None:
    with pytest.raises(MessageError):
        unpack(message)


def test_what_may_not_cross_is_not_sent() -> None:
    with pytest.raises(TypeError, match="object does not cross"):
        pack([object()])
    with pytest.raises(TypeError, match="an array of object"):
        pack(np.array([object()]))


def test_a_message_that_is_too_long_is_not_waited_for() -> None:
    with pytest.raises(MessageError, match="at most 10"):
        list(Frames(10).take(struct.pack("<Q", 11)))


QUERY, DOCUMENT = SpannedText("der Vulkan", [(0, 3), (4, 10)]), SpannedText("a volcano", [(0, 1), (2, 9)])


def _links(left: int = 1, right: int = 1, weight: float = 0.5) -> Links:
    return Links(np.array([left]), np.array([right]), np.array([weight], np.float32), np.array([True]))


def test_a_request_that_can_be_scored_is_taken() -> None:
    asked = read_request(pack(Asked(Score(), [ScoreRequest(QUERY, [DOCUMENT], [_links()])], 5.0)))
    (request,) = asked.contents
    assert (request.query, request.documents) == (QUERY, [DOCUMENT])
    assert request.links[0].weights.tolist() == [0.5]


@pytest.mark.parametrize(
    ("query", "document", "links", "place"),
    [
        *((SpannedText("der Vulkan", spans), DOCUMENT, _links(0), "query.spans") for spans in (
            [(3, 0)], [(0, 11)], [(-1, 2)], [(4, 6), (0, 1)],
        )),
        *((QUERY, DOCUMENT, links, r"documents\[0\].links") for links in (
            _links(2), _links(-1), _links(right=2), _links(weight=float("nan")), _links(weight=float("inf")),
            _links(weight=1e30), _links(weight=-1),
            Links(np.array([0]), np.array([0, 1]), np.array([0.5], np.float32)),
            Links(np.array([0.5]), np.array([0]), np.array([0.5], np.float32)),
            Links(np.array([0]), np.array([0]), np.array([0.5], np.float32), np.array([True, False])),
        )),
        (SpannedText("\ud800", []), DOCUMENT, NO_LINKS, "query.text"),
        (SpannedText("a\0", []), DOCUMENT, NO_LINKS, "query"),
    ],
)  # fmt: skip
def test_what_cannot_be_scored_is_refused_by_its_field(
    query: SpannedText, document: SpannedText, links: Links, place: str
) -> None:
    with pytest.raises(InvalidRequest, match=place):
        read_request(pack(Asked(Score(), [ScoreRequest(query, [document], [links])], 5.0)))


@pytest.mark.parametrize("seconds", [0.0, -1.0, 1e300, float("inf"), float("nan"), "soon"])
def test_a_time_that_is_none_is_refused(seconds: Any) -> None:
    with pytest.raises(InvalidRequest, match="seconds"):
        read_request(pack(Asked(Encode(), ["a"], seconds)))
