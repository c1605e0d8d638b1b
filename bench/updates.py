"""The figure `updates`: commands that wait at Telegram, answered one after the other."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from bench.processes import bare_bot, product
from bench.stage import Telegram, telegram, weight_of
from bench.table import HUNDRED, Row
from bot.sandbox.world import people

UPDATES = 2_000
PEOPLE = 50
ROUNDS = 3
COMMAND = "/settings"
BARE = "bare python-telegram-bot, in sequence"


@dataclass(frozen=True, slots=True)
class Burst:
    """How a bot answered: answers a second, the answer itself, and the Bot API server's part.

    `busy` is the share of one processor that the server took, for it must not be what limits.
    """

    rate: float
    busy: float
    answer: dict[str, Any]


async def updates() -> list[Row]:
    """Measure pending updates of a starting bot: from the first answer to the last."""
    ours: list[Burst] = []
    theirs: list[Burst] = []
    for _ in range(ROUNDS):
        async with telegram() as here:
            ours.append(await answered(here, product(here.url, here.world.token)))
        async with telegram() as here:
            bot = bare_bot(here.url, here.world.token, ours[0].answer)
            theirs.append(await answered(here, bot))
    same(ours + theirs)
    rates = (statistics.median(burst.rate for burst in bursts) for bursts in (ours, theirs))
    busy = (HUNDRED * max(burst.busy for burst in bursts) for bursts in (ours, theirs))
    return [
        Row("updates stored and answered a second", *_both(rates, ""), BARE, "≥ 0.6 ×"),
        Row("of it the Bot API server's processor", *_both(busy, "%"), "beside that"),
    ]


def same(bursts: Sequence[Burst]) -> None:
    """Raise RuntimeError if one bot's answer differs from another's."""
    if any(burst.answer != bursts[0].answer for burst in bursts):
        raise RuntimeError("the bots answer differently")


def _both(values: Any, unit: str) -> tuple[float, str, float]:
    ours, theirs = values
    return ours, unit, theirs


async def answered(here: Telegram, bot: AbstractAsyncContextManager[object]) -> Burst:
    """Run a bot for which updates wait, until all are answered."""
    crowd = [people.join(here.world, f"Person {n}", started=True) for n in range(PEOPLE)]
    for number in range(UPDATES):
        crowd[number % PEOPLE].send(COMMAND)
    async with bot:
        await here.count(1, weight_of("sendMessage"))
        began = time.process_time()
        await here.count(UPDATES, weight_of("sendMessage"))
        used = time.process_time() - began
    calls = here.world.calls_of("sendMessage")
    seconds = calls[-1].time - calls[0].time
    answers = [_parameters(call.params) for call in calls]
    if len(answers) != UPDATES or any(answer != answers[0] for answer in answers):
        raise RuntimeError(f"{len(answers)} answers to {UPDATES} updates, or not all the same")
    return Burst((UPDATES - 1) / seconds, used / seconds, answers[0])


def _parameters(given: dict[str, Any]) -> dict[str, Any]:
    """Return a call's parameters, however they were sent, without the chat."""
    said = {name: value for name, value in given.items() if name != "chat_id"}
    return {
        name: json.loads(value) if isinstance(value, str) and value.startswith("{") else value
        for name, value in said.items()
    }
