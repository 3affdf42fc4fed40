"""Items of one kind that come while others are under way go together; each is sent once, and none is left."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.service.remote.together import Entry, Together


class Sender:
    """Notes what is sent, and answers after as many turns of the event loop as it is told."""

    def __init__(self, turns: int) -> None:
        self.sent: list[tuple[Any, list[Any]]] = []
        self._turns = turns

    async def send(self, kind: Any, entries: Sequence[Entry]) -> None:
        self.sent.append((kind, [entry.content for entry in entries]))
        for _ in range(self._turns):
            await asyncio.sleep(0)
        for entry in entries:
            if entry.future.set_running_or_notify_cancel():
                entry.future.set_result((kind, entry.content))


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.booleans()), min_size=1, max_size=60),
    st.integers(0, 5),
)
def test_each_item_is_sent_once_and_has_its_own_answer(items: list[tuple[str, int, bool]], turns: int) -> None:
    async def main() -> None:
        sender = Sender(turns)
        together = Together(sender.send)
        futures: list[Future[Any]] = []
        for number, (kind, pause, cancelled) in enumerate(items):
            futures.append(Future())
            together.add(kind, Entry(number, futures[-1], 1.0))
            if cancelled:
                futures[-1].cancel()
            for _ in range(pause):
                await asyncio.sleep(0)
        await asyncio.wait([asyncio.wrap_future(future) for future in futures])
        sent = [(kind, content) for kind, contents in sender.sent for content in contents]
        assert len(sent) == len(set(sent))
        for number, ((kind, _, cancelled), future) in enumerate(zip(items, futures, strict=True)):
            assert future.cancelled() == cancelled or future.result() == (kind, number)

    asyncio.run(main())


def test_what_comes_while_one_is_under_way_goes_in_one_message() -> None:
    async def main() -> None:
        sender = Sender(turns=3)
        together = Together(sender.send)
        futures: list[Future[Any]] = [Future() for _ in range(6)]
        for number, future in enumerate(futures[:5]):
            together.add("a", Entry(number, future, 1.0))
        together.add("b", Entry(5, futures[5], 1.0))
        futures[2].cancel()
        for future in futures[:2] + futures[3:]:
            await asyncio.wrap_future(future)
        assert sender.sent == [("a", [0]), ("b", [5]), ("a", [1, 3, 4])]

    asyncio.run(main())


def test_nothing_waits_for_a_message_that_hangs_and_a_message_that_nobody_waits_for_ends() -> None:
    async def main() -> None:
        ended: list[Any] = []

        async def hang(kind: Any, entries: Sequence[Entry]) -> None:
            try:
                if entries[0].content == 0:
                    await asyncio.sleep(60)
                for entry in entries:
                    entry.future.set_result(entry.content)
            except asyncio.CancelledError:
                ended.append(entries[0].content)
                raise

        together = Together(hang)
        futures: list[Future[Any]] = [Future() for _ in range(3)]
        for number, future in enumerate(futures):
            together.add("a", Entry(number, future, 1.0))
        assert [await asyncio.wrap_future(future) for future in futures[1:]] == [1, 2]
        futures[0].cancel()
        while not ended:
            await asyncio.sleep(0.01)

    asyncio.run(main())
