"""Alerts of the whole product during floods, at Telegram's own limits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bot.sandbox.world import people
from bot.sandbox.world.errors import Fault, Limits
from bot.sandbox.world.model import Draft
from tests.support.product_process import sandbox_telegram
from tests.support.sellers_and_payers import link_of, pay, seller_with_destination

if TYPE_CHECKING:
    from bot.sandbox.world.world import Call, World


LIMITED = {
    "TELEGRAM_RATE": "30/second",
    "TELEGRAM_CHAT_RATE": "1/second",
    "TELEGRAM_GROUP_RATE": "20/minute",
}
CROWD = 150
MESSAGES_BETWEEN = 120
"""Answers to the flood that may go between a payment and its alert: four seconds' worth.

An alert that takes turns with the answers, as one of them, comes after one for each of the crowd.
"""

ANSWERED_AT_ONCE = 4
"""Presses and inline queries, each."""

HANGING = ("answerInlineQuery", "answerCallbackQuery")


def chatty(world: World) -> None:
    """Send five messages from each of a crowd, all at once."""
    for number in range(CROWD):
        person = people.join(world, f"Chatty {number}", started=True)
        for _ in range(5):
            person.send("/help")


def everywhere(world: World) -> None:
    """Send four messages from one person in each of many groups."""
    person = people.join(world, "Everywhere", started=True)
    for number in range(CROWD):
        group = person.new_group(f"Group {number}")
        for _ in range(4):
            person.send(f"/help@{world.bot.username}", group)


def searching(world: World) -> None:
    """Search with twenty letters each as sixty people."""
    for number in range(60):
        person = people.join(world, f"Searching {number}", started=True)
        for letter in range(20):
            person.ask_inline(f"{letter}")


@asynccontextmanager
async def sold(folder: Path) -> AsyncIterator[tuple[World, str]]:
    """Make a seller's request before the flood; return the world and the pay link."""
    async with sandbox_telegram(folder) as stage, stage.run(**LIMITED) as run:
        await run.ready()
        sam = await seller_with_destination(stage.world)
        link = link_of(await sam.card("/donation 5 USD Coffee", "Coffee"))
        stage.world.limiter.limits = Limits()
        yield stage.world, link


def is_alert(call: Call) -> bool:
    return call.method == "sendMessage" and "received for" in str(call.params.get("text"))


@pytest.mark.parametrize("flood", [chatty, everywhere, searching])
async def test_a_payment_has_its_alert_during_a_flood(
    tmp_path: Path, flood: Callable[[World], None]
) -> None:
    async with sold(tmp_path) as (world, link):
        before = len(world.calls)
        flood(world)
        await world.wait_for(lambda: len(world.calls) > before, 20)
        assert (await pay(link)).status_code == 303
        paid = len(world.calls)
        await world.wait_for(lambda: any(map(is_alert, world.calls[before:])), 30)
        told = next(n for n, call in enumerate(world.calls) if is_alert(call))
        between = world.calls[paid:told]
        assert sum(call.method == "sendMessage" for call in between) <= MESSAGES_BETWEEN
        assert {call.code for call in world.refused if call.method == "sendMessage"} == set()


def presses(world: World) -> None:
    """Press a button of an old message as each of twenty people."""
    for number in range(20):
        person = people.join(world, f"Presses {number}", started=True)
        shown = world.post(person.chat, world.bot, Draft({"text": "old"}, None))
        person.press_old(shown, "nothing")


async def test_calls_that_hang_take_no_connection_from_alerts(tmp_path: Path) -> None:
    """Answers to inline queries and to presses."""
    async with sold(tmp_path) as (world, link):
        for method in HANGING:
            world.faults.add(Fault("delay", method, seconds=600, times=1000))
        before = len(world.calls)
        searching(world)
        presses(world)
        await world.wait_for(
            lambda: all(len(world.calls_of(method)) >= ANSWERED_AT_ONCE for method in HANGING), 20
        )
        assert (await pay(link)).status_code == 303
        await world.wait_for(lambda: any(map(is_alert, world.calls[before:])), 15)
        assert sum(map(is_alert, world.calls[before:])) == 1
