"""The queue of inline queries: few at a time, the newest of each person, limited in number."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.chat.telegram.inline_queries import AT_ONCE, MAX_WAITING, InlineQueue
from bot.core.outbox.queue_policy import Pace


def query(person: int, text: str = "") -> dict[str, Any]:
    return {"update_id": 1, "inline_query": {"id": "1", "from": {"id": person}, "query": text}}


class Slow:
    """Answers queries when released, and records those under way and answered."""

    def __init__(self, pace: Pace | None = None) -> None:
        self.counted: list[tuple[str, ...]] = []
        self.searching = InlineQueue(self.answer, self.count, pace)
        self.begun: asyncio.Queue[int] = asyncio.Queue()
        self.under_way: dict[int, asyncio.Event] = {}
        self.answered: list[tuple[int, str]] = []

    async def answer(self, update: dict[str, Any]) -> None:
        asked = update["inline_query"]
        person = asked["from"]["id"]
        assert person not in self.under_way
        self.under_way[person] = asyncio.Event()
        self.begun.put_nowait(person)
        try:
            await self.under_way[person].wait()
        finally:
            del self.under_way[person]
        self.answered.append((person, asked["query"]))

    async def take(self, *queries: dict[str, Any]) -> None:
        for one in queries:
            self.searching.take(one)
        await settled()

    async def let_go(self, *people: int) -> None:
        for person in people:
            self.under_way[person].set()
        await settled()

    async def let_all_go(self) -> None:
        while self.under_way:
            await self.let_go(*self.under_way)

    def count(self, *counted: str) -> None:
        self.counted.append(counted)

    @property
    def dropped(self) -> int:
        return self.counted.count(("telegram_updates_handled", "dropped"))


async def settled() -> None:
    """Run every task as far as it can."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.fixture
async def slow() -> AsyncIterator[Slow]:
    made = Slow()
    yield made
    await made.searching.close()


async def test_few_queries_are_under_way_and_the_others_wait_in_order(slow: Slow) -> None:
    await slow.take(*map(query, range(10)))
    assert list(slow.under_way) == list(range(AT_ONCE))
    await slow.let_go(2)
    assert list(slow.under_way) == [0, 1, 3, AT_ONCE]


async def test_a_person_has_one_query_under_way_and_the_newest_waiting(slow: Slow) -> None:
    await slow.take(*(query(7, text) for text in ("c", "co", "cof", "coff")))
    assert list(slow.under_way) == [7]
    await slow.let_all_go()
    assert slow.answered == [(7, "c"), (7, "coff")]
    assert slow.dropped == 2


async def test_a_newer_query_takes_the_place_of_the_waiting_one(slow: Slow) -> None:
    await slow.take(*map(query, range(AT_ONCE)))
    await slow.take(query(8, "old"), query(9), query(8, "new"))
    await slow.let_go(0)
    await slow.let_go(8)
    assert slow.answered == [(0, ""), (8, "new")]


async def test_a_person_who_never_stops_blocks_nobody_else(slow: Slow) -> None:
    await slow.take(*(query(7, f"{number}") for number in range(5000)))
    await slow.take(query(8))
    assert list(slow.under_way) == [7, 8]


async def test_five_thousand_queries_make_few_tasks_and_the_oldest_are_dropped(
    slow: Slow,
) -> None:
    before = len(asyncio.all_tasks())
    await slow.take(*map(query, range(5000)))
    assert len(asyncio.all_tasks()) == before + AT_ONCE
    assert slow.dropped == 5000 - AT_ONCE - MAX_WAITING
    await slow.let_all_go()
    newest = range(5000 - MAX_WAITING, 5000)
    assert [person for person, _ in slow.answered] == [*range(AT_ONCE), *newest]


async def test_queries_are_answered_no_faster_than_messages_are_sent() -> None:
    slow = Slow(Pace(60_000, 2))
    await slow.take(*map(query, range(3)))
    assert list(slow.under_way) == [0, 1]
    await slow.let_all_go()
    assert (slow.under_way, len(slow.answered)) == ({}, 2)
    await slow.searching.close()


async def test_a_query_that_waits_for_the_pace_is_answered_later() -> None:
    slow = Slow(Pace(30))
    await slow.take(query(1), query(2))
    async with asyncio.timeout(10):
        assert [await slow.begun.get() for _ in range(2)] == [1, 2]
    await slow.searching.close()


async def test_a_failed_answer_is_logged_and_the_next_query_is_answered() -> None:
    answered = []

    async def answer(update: dict[str, Any]) -> None:
        answered.append(update["inline_query"]["from"]["id"])
        if len(answered) == 1:
            raise LookupError

    searching = InlineQueue(answer, lambda *_counted: None)
    with capture_logs() as logs:
        for number in range(AT_ONCE + 2):
            searching.take(query(number))
        await settled()
    assert answered == list(range(AT_ONCE + 2))
    assert [(line["event"], line["id"]) for line in logs] == [("inline query not answered", 1)]


async def test_closing_cancels_waiting_queries_and_those_under_way(slow: Slow) -> None:
    await slow.take(*map(query, range(10)))
    await slow.searching.close()
    assert (slow.under_way, slow.answered) == ({}, [])
