"""Inline results: only a seller's own requests, up to date, to be posted anywhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.chat.store.link_rows import CREATING, DELETED, FAILED, STOPPED
from bot.chat.telegram.inline_queries import AT_ONCE, MAX_WAITING, PAGE, InlineQueue, InlineResults
from bot.core.database.database import Database
from bot.core.outbox.queue_policy import Pace
from bot.sandbox.world.errors import Fault
from bot.sandbox.world.model import InlineQuery
from bot.sandbox.world.people import Person
from tests.support.chat_harness import (
    COFFEE,
    STICKERS,
    URL,
    ChatHarness,
    service_answer,
    telegram_of,
)
from tests.support.databases import SQLITE, sqlite

PUBLIC = "https://bot.example.org"
TOO_OLD = "Query is too old and response timeout expired or query id is invalid"


class Searching:
    def __init__(self, chat: ChatHarness, inline: InlineResults) -> None:
        self.chat = chat
        self.inline = inline

    async def types(self, person: Person, text: str, offset: str = "") -> InlineQuery:
        """Send a query as typed after the bot's name; return it with its answer."""
        asked = person.ask_inline(text, offset=offset)
        await self.inline.answer(self.chat.world.updates.pending.pop())
        return asked


@pytest.fixture
async def search(chat: ChatHarness) -> AsyncIterator[Searching]:
    async with telegram_of(chat.world) as bot:
        yield Searching(chat, InlineResults(bot, chat.dialogue, PUBLIC))


def links(query: InlineQuery) -> list[str]:
    return [result["id"].partition("-")[0] for result in query.results]


def titles(query: InlineQuery) -> list[str]:
    return [result["title"] for result in query.results]


async def test_a_seller_finds_live_requests_by_a_part_of_the_name(
    chat: ChatHarness, search: Searching, sam: Person
) -> None:
    coffee = chat.add_link(sam, COFFEE, service_answer())
    chat.add_link(sam, STICKERS, service_answer(id="b" * 24))
    found = await search.types(sam, "COFF")
    assert links(found) == [coffee.id]
    assert len((await search.types(sam, "")).results) == 2
    assert (await search.types(sam, "nothing")).results == []
    assert links(await search.types(sam, coffee.id)) == [coffee.id]


async def test_a_posted_result_contains_the_link(
    chat: ChatHarness, search: Searching, sam: Person
) -> None:
    chat.add_link(sam, COFFEE, service_answer())
    found = await search.types(sam, "")
    pat = chat.add_person("Pat")
    posted = sam.choose(found, found.results[0]["id"], sam.dialog(pat))
    assert "Coffee" in posted.text
    assert [button.get("url") for button in posted.buttons] == [URL]


async def test_a_result_shows_price_units_left_and_the_sellers_picture(
    chat: ChatHarness, search: Searching, sam: Person
) -> None:
    pictured = replace(STICKERS, image="abc123")
    chat.add_link(sam, pictured, service_answer(total_units=3, remaining_units=2))
    (found,) = (await search.types(sam, "")).results
    assert found["description"] == "$2.50 · 2 of 3 left · A pack"
    assert found["thumbnail_url"] == f"{PUBLIC}/images/abc123"
    assert chat.world.refused == []


@pytest.mark.parametrize(
    ("base", "page", "thumbnail"),
    [
        (PUBLIC, f"{PUBLIC}/pay/abc", f"{PUBLIC}/qr/abc.png"),
        (PUBLIC, URL, None),
        ("http://localhost:8080", "http://localhost:8080/pay/abc", None),
    ],
    ids=["ours", "another server's", "out of Telegram's reach"],
)
async def test_a_result_without_a_picture_shows_the_code_where_telegram_can_fetch_it(
    chat: ChatHarness, sam: Person, base: str, page: str, thumbnail: str | None
) -> None:
    chat.add_link(sam, COFFEE, service_answer(url=page))
    async with telegram_of(chat.world) as bot:
        (found,) = (
            await Searching(chat, InlineResults(bot, chat.dialogue, base)).types(sam, "")
        ).results
    assert found.get("thumbnail_url") == thumbnail
    assert chat.world.refused == []


async def test_nobody_finds_requests_of_others(
    chat: ChatHarness, search: Searching, sam: Person
) -> None:
    link = chat.add_link(sam, COFFEE, service_answer())
    pat = chat.add_person("Pat")
    assert (await search.types(pat, "")).results == []
    assert (await search.types(pat, link.id)).results == []


@pytest.mark.parametrize("state", [CREATING, STOPPED, FAILED, DELETED])
async def test_only_payable_requests_are_shared(
    chat: ChatHarness, search: Searching, sam: Person, state: str
) -> None:
    chat.add_link(sam, COFFEE, service_answer(), state=state)
    assert (await search.types(sam, "")).results == []


async def test_the_answer_is_personal_and_not_cached(
    chat: ChatHarness, search: Searching, sam: Person
) -> None:
    """Otherwise Telegram caches it for everybody for five minutes."""
    await search.types(sam, "")
    (call,) = chat.world.calls_of("answerInlineQuery")
    assert (call.params["is_personal"], int(call.params["cache_time"])) in ((True, 0), ("true", 0))


async def test_a_button_leads_to_a_new_request(search: Searching, sam: Person) -> None:
    found = await search.types(sam, "")
    assert found.button == {"text": "Make a new payment link", "start_parameter": "new"}


async def test_a_search_without_results_has_its_own_label(
    chat: ChatHarness, search: Searching, sam: Person
) -> None:
    chat.add_link(sam, COFFEE, service_answer())
    words = "Nothing found. Make a new payment link"
    assert (await search.types(sam, "tea")).button == {"text": words, "start_parameter": "new"}
    found = await search.types(sam, "coff")
    assert found.button == {"text": "Make a new payment link", "start_parameter": "new"}


async def test_many_results_come_in_pages(
    chat: ChatHarness, search: Searching, sam: Person
) -> None:
    for number in range(PAGE + 1):
        chat.add_link(sam, COFFEE, service_answer(id=f"{number}"))
    first = await search.types(sam, "")
    assert (len(first.results), first.next_offset) == (PAGE, str(PAGE))
    second = await search.types(sam, "", first.next_offset)
    assert (len(second.results), second.next_offset) == (1, "")
    shown = [result["id"] for result in (*first.results, *second.results)]
    assert len(set(shown)) == PAGE + 1


@pytest.mark.parametrize("offset", ["x", "-1", "1.5", "٣", "9" * 5000, "999999"])
async def test_an_invented_offset_means_the_first_page(
    chat: ChatHarness, search: Searching, sam: Person, offset: str
) -> None:
    chat.add_link(sam, COFFEE, service_answer())
    found = await search.types(sam, "", offset)
    assert titles(found) == ([] if offset == "999999" else titles(await search.types(sam, "")))


@pytest.mark.parametrize("text", ["\ud800", "coffee\udfff", "\udfff\ud800"])
async def test_a_lone_surrogate_finds_nothing(
    chat: ChatHarness, search: Searching, sam: Person, text: str
) -> None:
    """JSON can contain a lone surrogate; databases and answers can't."""
    chat.add_link(sam, COFFEE, service_answer())
    with capture_logs() as logs:
        found = await search.types(sam, text)
    assert (found.results, logs) == ([], [])
    assert await search.types(sam, "", text)


async def test_a_failure_at_telegram_is_logged(
    chat: ChatHarness, search: Searching, sam: Person
) -> None:
    chat.world.faults.add(Fault("error", "answerInlineQuery"))
    with capture_logs() as logs:
        await search.types(sam, "")
    assert [(line["event"], line["reason"]) for line in logs] == [
        ("inline query not answered", "Internal Server Error")
    ]


async def test_a_query_answered_too_late_is_logged(
    chat: ChatHarness, search: Searching, sam: Person
) -> None:
    sam.ask_inline("x")
    chat.clock.advance(3600)
    with capture_logs() as logs:
        await search.inline.answer(chat.world.updates.pending.pop())
    assert [(line["event"], line["reason"]) for line in logs] == [
        ("inline query not answered", TOO_OLD)
    ]


async def test_a_server_that_refuses_styles_gets_the_results_without(
    chat: ChatHarness, search: Searching, sam: Person
) -> None:
    """Otherwise nobody could share a link there."""
    chat.add_link(sam, COFFEE, service_answer())
    (coloured,) = (await search.types(sam, "")).results
    refusal = "Bad Request: unknown field style"
    chat.world.faults.add(Fault("error", method="answerInlineQuery", code=400, description=refusal))
    (plain,) = (await search.types(sam, "")).results
    assert "style" in str(coloured)
    assert "style" not in str(plain)
    assert plain["reply_markup"]["inline_keyboard"][0][0]["url"] == URL


def ruin(db: Database) -> None:
    """Overwrite the contents of the file."""
    sqlite(db).checkpoint()
    file = Path(sqlite(db).path)
    file.write_bytes(bytes(file.stat().st_size))


@pytest.mark.only(SQLITE, "a broken connection of its own")
async def test_a_failing_database_is_logged(
    chat: ChatHarness, search: Searching, sam: Person
) -> None:
    ruin(chat.db)
    with capture_logs() as logs:
        await search.types(sam, "")
    assert ("inline query not answered", "warning") in [
        (line["event"], line["log_level"]) for line in logs
    ]
    assert chat.world.calls_of("answerInlineQuery") == []


async def test_any_other_update_is_ignored(
    chat: ChatHarness, search: Searching, sam: Person
) -> None:
    sam.send("hello")
    await search.inline.answer(chat.world.updates.pending.pop())
    assert chat.world.calls_of("answerInlineQuery") == []


async def test_an_unreadable_query_is_logged(search: Searching) -> None:
    with capture_logs() as logs:
        await search.inline.answer({"update_id": 1, "inline_query": {"from": {"id": 7}}})
    assert [(line["event"], line["reason"]) for line in logs] == [
        ("inline query not answered", "the query has no id")
    ]


# The queue of inline queries: few at a time, the newest of each person, limited in number.


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
