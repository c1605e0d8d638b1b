"""Requests take turns: few are active, every address gets its share."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from bot.app import web_server
from bot.app.web_server import AT_ONCE, EACH, FairTurns

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send


class Work:
    """An application that counts its active requests and ends them on demand."""

    def __init__(self) -> None:
        self.inside: Counter[str] = Counter()
        self.order: list[str] = []
        self.most = 0
        self.go = asyncio.Event()

    async def __call__(self, scope: Scope, _receive: Receive, _send: Send) -> None:
        host = scope["client"][0]
        self.order.append(host)
        self.inside[host] += 1
        self.most = max(self.most, self.inside.total())
        await self.go.wait()
        await asyncio.sleep(0)
        self.inside[host] -= 1


async def nothing() -> Message:
    return {"type": "http.disconnect"}


async def unsent(_message: Message) -> None:
    pass


def ask(door: FairTurns, host: str) -> asyncio.Task[None]:
    scope = {"type": "http", "client": (host, 1)}
    return asyncio.create_task(door(scope, nothing, unsent))


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns never end by time."""
    monkeypatch.setattr(web_server, "TURN_TICKS", sys.maxsize)


@pytest.mark.usefixtures("patient")
async def test_one_address_gets_at_most_half_of_the_active_requests() -> None:
    work = Work()
    door = FairTurns(work)
    tasks = [ask(door, "a") for _ in range(500)]
    await settle()
    assert work.inside == {"a": EACH}
    tasks.append(ask(door, "b"))
    await settle()
    assert work.inside["b"] == 1
    work.go.set()
    await asyncio.gather(*tasks)
    assert work.most <= AT_ONCE
    assert work.order.count("a") == 500


@pytest.mark.usefixtures("patient")
async def test_waiting_addresses_take_turns() -> None:
    work = Work()
    door = FairTurns(work)
    tasks = [ask(door, host) for host in "ab" for _ in range(AT_ONCE)]
    tasks += [ask(door, host) for host in "cd" for _ in range(4)]
    await settle()
    begun = len(work.order)
    assert (begun, set(work.order)) == (AT_ONCE, {"a", "b"})
    work.go.set()
    await asyncio.gather(*tasks)
    assert work.order[begun : begun + 8].count("c") >= 2
    assert len(work.order) == 2 * AT_ONCE + 8


@pytest.mark.usefixtures("patient")
async def test_a_subscriber_of_ipv6_is_one_address() -> None:
    work = Work()
    door = FairTurns(work)
    tasks = [ask(door, f"2001:db8::{n:x}") for n in range(1, 100)]
    await settle()
    assert work.inside.total() == EACH
    work.go.set()
    await asyncio.gather(*tasks)


async def test_a_request_that_waits_for_its_client_delays_no_other() -> None:
    """A turn ends by time: a slow body or a long poll uses up no turn."""
    work = Work()
    door = FairTurns(work)
    tasks = [ask(door, "a") for _ in range(3 * EACH)]
    async with asyncio.timeout(5):
        while work.inside["a"] < 3 * EACH:  # noqa: ASYNC110 - it is the time that is tried
            await asyncio.sleep(0.01)
    work.go.set()
    await asyncio.gather(*tasks)
    await settle()
    assert (door._counts, door._active, door._waiting) == ({}, {}, {})


@pytest.mark.usefixtures("patient")
async def test_a_request_cancelled_while_it_waits_takes_no_turn() -> None:
    work = Work()
    door = FairTurns(work)
    tasks = [ask(door, "a") for _ in range(2 * EACH)]
    await settle()
    for task in tasks[EACH:]:
        task.cancel()
    await settle()
    work.go.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    await settle()
    assert len(work.order) == EACH
    assert (door._counts, door._active) == ({}, {})


async def test_a_busy_loop_counts_requests_that_have_not_run_yet() -> None:
    """Otherwise a slow machine would start more and more requests at a time."""
    work = Work()
    door = FairTurns(work)
    tasks = [ask(door, "a") for _ in range(3 * EACH)]
    await settle()
    for _ in range(web_server.TURN_TICKS - 1):
        time.sleep(0.1)  # noqa: ASYNC251 - a loop that is busy is what is tried
        await asyncio.sleep(0)
    assert work.inside["a"] == EACH
    work.go.set()
    await asyncio.gather(*tasks)


@pytest.mark.usefixtures("patient")
async def test_a_round_of_the_loop_is_short_even_with_instant_requests() -> None:
    """Requests that end at once count until the round ends: all of them would fit in it."""
    done: list[str] = []

    async def at_once(scope: Scope, _receive: Receive, _send: Send) -> None:
        done.append(scope["client"][0])

    door = FairTurns(at_once)
    tasks = [ask(door, "a") for _ in range(3 * EACH)]
    await asyncio.sleep(0)
    assert len(done) == EACH
    await asyncio.gather(*tasks)
    assert len(done) == 3 * EACH
