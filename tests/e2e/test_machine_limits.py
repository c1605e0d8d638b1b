"""Limits of the machine: no file handles, SIGTERM in a burst, `kill -9` at any time."""

from __future__ import annotations

import asyncio
import itertools
import random
import re
import resource
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.proofs.processes import handles
from tests.support.free_ports import free_port
from tests.support.machine_faults import (
    MARK,
    OPEN,
    DropUnderLoad,
    assert_books_match,
    cpu_seconds,
    drop_under_load,
    limited,
    open_drop,
    operator_lines,
    wait_until_well,
)
from tests.support.product_process import PATIENCE, ProductSetup
from tests.support.sellers_and_payers import Seller, seller_with_destination, texts

NONE = 6
"""A limit far below what the process has open: no handle can be had until it is lifted."""

LASTING = 3.0
SPARE = 20
SIGTERM_SECONDS = 10
SEED = 20261121
KILLS = 10
PAYERS = 4
QUEUES = 20


async def test_without_file_handles_all_work_waits_and_the_log_is_quiet(tmp_path: Path) -> None:
    """Payers, an answer, and a poster: neither its fonts nor what draws it is there yet."""
    async with drop_under_load(tmp_path) as (stage, run, shop):
        sam, before = shop.seller, len(run.err)
        (card,) = sam.cards
        link = card.button("Share")["switch_inline_query"]
        with limited(run, resource.RLIMIT_NOFILE, NONE):
            sam.person.press_old(card, f"poster:{link}:square-dark")
            paying = [asyncio.create_task(shop.pay(number)) for number in range(1, 21)]
            sam.person.send("/help")
            await asyncio.sleep(LASTING)  # what is said meanwhile is what is tried
            assert [task.done() for task in paying] == [False] * 20
        await asyncio.gather(*paying)
        await wait_until_well(run)
        for look in (
            lambda: any("In one line" in message.text for message in sam.said),
            lambda: [message for message in sam.said if "document" in message.content],
        ):
            await stage.world.wait_for(look, PATIENCE)
        await assert_books_match(run, shop)
        told_of = operator_lines(run.err[before:])
        assert len(told_of) <= LASTING, told_of
        assert await run.stop() == 0


async def test_connections_that_use_up_the_file_handles_are_no_busy_loop(tmp_path: Path) -> None:
    """Further connections are closed at once; when the others are gone, payers pay."""
    async with drop_under_load(tmp_path) as (_, run, shop):
        async with AsyncExitStack() as crowd:
            with limited(run, resource.RLIMIT_NOFILE, handles(run.child.pid) + SPARE):
                for _ in range(5 * SPARE):
                    _, writer = await asyncio.open_connection("127.0.0.1", int(run.port))
                    crowd.callback(writer.close)
                computed = cpu_seconds(run)
                await asyncio.sleep(LASTING)  # what is computed meanwhile is what is tried
                assert cpu_seconds(run) - computed < LASTING / 3
        await shop.pay(1)
        await shop.seller.say("/help", "In one line")
        await assert_books_match(run, shop)
        assert await run.stop() == 0


async def test_sigterm_in_a_burst_ends_in_time_and_the_next_start_sends_the_rest(
    stage: ProductSetup,
) -> None:
    """Payers one after the other, a seller who types, alerts on their way: exit 0, none lost."""
    port, ended = free_port(), asyncio.Event()
    async with stage.run(**OPEN, PORT=port) as run:
        shop = await open_drop(stage, await run.ready())
        paying = [asyncio.create_task(queue(shop, 1 + n, ended)) for n in range(QUEUES)]
        for _ in range(5):
            shop.seller.person.send("/list")
        while len(shop.receipts) < 50:  # noqa: ASYNC110 - amid the burst, wherever that is
            await asyncio.sleep(0)
        assert await asyncio.wait_for(run.stop(), SIGTERM_SECONDS) == 0
        ended.set()
        assert not any(task.done() for task in paying)
        assert not operator_lines(run.err)
    async with stage.run(**OPEN, PORT=port) as run:
        await asyncio.gather(*paying)
        await run.ready()
        await taken(stage)
        await assert_books_match(run, shop, crashes=True)
        lists = [text for text in texts(shop.seller.said) if "Your payment links" in text]
        assert len(lists) - sum(text.startswith(MARK) for text in lists) <= 5 <= len(lists)
        assert await run.stop() == 0


async def taken(stage: ProductSetup) -> None:
    """Wait until the bot has stored what people said meanwhile: then its outbox tells all of it."""
    await stage.world.wait_for(lambda: not stage.world.updates.pending, PATIENCE)


async def queue(shop: DropUnderLoad, first: int, ended: asyncio.Event) -> None:
    """Send payers, each once the one before has paid; the last one comes when `ended` is set."""
    for number in itertools.count(first, QUEUES):
        is_last = ended.is_set()
        await shop.pay(number)
        if is_last:
            return


@pytest.mark.timeout(300)  # twelve starts
async def test_ten_kills_under_every_kind_of_load_lose_nothing(stage: ProductSetup) -> None:
    """Updates, creates, payments and alerts under way: each is acted on once in the end."""
    moments, env = random.Random(SEED), {**OPEN, "PORT": free_port()}
    async with stage.run(**env) as run:
        shop = await open_drop(stage, await run.ready())
        sellers = [shop.seller, await seller_with_destination(stage.world, "Anna")]
        await run.kill()
    payers: list[asyncio.Task[None]] = []
    for number in range(KILLS):
        async with stage.started(**env) as run:
            for one in sellers:
                one.person.send(f"/oneoff 9 EUR Item-{number}")
            first = 1 + PAYERS * number
            payers += [asyncio.create_task(shop.pay(first + n)) for n in range(PAYERS)]
            await asyncio.sleep(moments.uniform(0, 0.4))  # the moment itself is what is tried
            await run.kill()
    async with stage.started(**env) as run:
        await asyncio.gather(*payers)
        await taken(stage)
        await assert_books_match(run, shop, crashes=True)
        made = run.rows("SELECT COUNT(*) FROM payment_requests")
        assert made == [(1 + 2 * KILLS,)]
        specs = run.rows("SELECT seller_id, wish FROM listings ORDER BY rowid")
        for one in sellers:
            kept = [spec for who, spec in specs if who == one.person.id and "Item" in spec]
            assert [f'"Item-{n}"' in spec for n, spec in enumerate(kept)] == [True] * KILLS
        assert await run.stop() == 0
    for one in sellers:
        assert items(one) == {f"Item-{number}" for number in range(KILLS)}


def items(one: Seller) -> set[str]:
    """Return what this seller's cards offer; a second card of one offer must be marked."""
    seen: set[str] = set()
    for text in texts(one.cards):
        found = set(re.findall(r"Item-\d+", text))
        assert not found & seen or text.startswith(MARK), text
        seen |= found
    return seen
