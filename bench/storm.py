"""The figure `storm`: more payments than Telegram lets a bot tell of one by one."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import TYPE_CHECKING

from bench import wrk
from bench.payments import chat_of, told
from bench.processes import FREE_SERVICE, Server, product
from bench.stage import Telegram, telegram
from bench.table import Row
from bot.sandbox.world.errors import Fault, Limits

if TYPE_CHECKING:
    from bot.sandbox.world.world import Call


PAYMENTS = 10_000
CHATS = 500
PAYERS = 32
SEED = 4
REFUSED = 0.02
"""Share of the messages that Telegram refuses though the rates are kept to."""

RETRY_AFTER = 3
PLENTY = 10**6
QUIET_SECONDS = 3.0
TOO_MANY = 429
EARLY = 0.05
"""Seconds by which a call may seem too early: when each was taken is read a moment later."""

RATES = Limits()
SETTINGS = {**FREE_SERVICE, "LOG_LEVEL": "error"}
"""The product's own rates; what Telegram refuses on purpose need not be read by anybody."""


@dataclass(frozen=True, slots=True)
class Storm:
    """What became of it: epoch seconds, calls taken and refused since, payments made by chat.

    `edits` of cards came before the last alert; `busy` is the processor time of the product.
    """

    began: float
    paid_until: float
    paid: Counter[int]
    alerts: Sequence[Call]
    refused: Sequence[Call]
    planned: int
    edits: int
    busy: float

    @property
    def seconds(self) -> float:
        """Return the time from the first payment to the last alert."""
        return self.alerts[-1].time - self.began

    @property
    def least(self) -> float:
        """Return the seconds that Telegram's rates alone need for so many messages."""
        assert RATES.total
        assert RATES.chat
        fullest = max(Counter(map(chat_of, self.alerts)).values())
        alone = (fullest - RATES.chat.burst) * RATES.chat.interval
        return max(len(self.alerts) * RATES.total.interval, alone)


async def storm() -> list[Row]:
    """Pay through the page as fast as it answers; alerts go out at Telegram's own rates."""
    async with telegram() as here:
        with TemporaryDirectory() as home:
            async with product(here.url, here.world.token, home=home):
                pages = await here.sellers(CHATS)
            here.world.limiter.limits = RATES
            async with product(here.url, here.world.token, SETTINGS, home) as server:
                found = await _storm(here, server, pages)
    _check(found)
    digests = sum(told(call) > 1 for call in found.alerts)
    messages = len(found.alerts)
    paying = found.paid_until - found.began
    kept = "the time that the limits need"
    return [
        Row(
            f"{PAYMENTS:,} payments for {CHATS} chats, told",
            found.seconds,
            "s",
            found.least,
            kept,
            "≤ 1.5 ×",
        ),
        Row("of it until all were paid", paying, "s", found.seconds, "until all were told"),
        Row("in messages", messages, "", PAYMENTS, "payments"),
        Row("of them digests", digests, "", messages, "messages"),
        Row("edits of cards meanwhile", found.edits, "", messages, "messages"),
        Row("processor time of all", found.busy, "s", found.seconds, "of one processor"),
        Row("refused by random 429", found.planned, "", messages + found.planned, "attempts"),
    ]


async def _storm(here: Telegram, server: Server, pages: dict[int, str]) -> Storm:
    world, used = here.world, server.processor()
    taken, refused, began = len(world.calls), len(world.refused), time.time()
    fault = world.faults.add(
        Fault("error", "sendMessage", times=PLENTY, retry_after=RETRY_AFTER, chance=REFUSED)
    )
    chats = Random(SEED).choices(list(pages), k=PAYMENTS)
    telling = asyncio.create_task(here.count(PAYMENTS, told))
    await _pay(server.url, [pages[chat] for chat in chats])
    paid_until = time.time()
    await telling
    busy = server.processor() - used
    edits = sum(call.method.startswith("edit") for call in world.calls[taken:])
    await asyncio.sleep(QUIET_SECONDS)  # for what would be told twice
    return Storm(
        began,
        paid_until,
        Counter(chats),
        [call for call in world.calls[taken:] if call.method == "sendMessage"],
        # The first process's poll is ended by that of the second.
        [call for call in world.refused[refused:] if call.method != "getUpdates"],
        PLENTY - fault.times,
        edits,
        busy,
    )


async def _pay(url: str, paths: Sequence[str]) -> None:
    """Post these pay pages' forms, `PAYERS` at a time."""
    with NamedTemporaryFile("w") as listed:
        listed.write("\n".join(paths))
        listed.flush()
        asked = {"PATHS_FILE": listed.name}
        await wrk.numbered(url, "pay.lua", PAYERS, len(paths), asked)


def _check(found: Storm) -> None:
    """Raise RuntimeError for a limit broken, a payment lost, or one told twice."""
    told_to: Counter[int] = Counter()
    for call in found.alerts:
        told_to[chat_of(call)] += told(call)
    wrong = [chat for chat in found.paid | told_to if told_to[chat] != found.paid[chat]]
    if wrong:
        raise RuntimeError(f"chats told of more or fewer payments than were made: {wrong[:5]}")
    codes = Counter(call.code for call in found.refused)
    if codes != Counter({TOO_MANY: found.planned}):
        raise RuntimeError(f"refused beyond the {found.planned} 429 planned: {dict(codes)}")
    if early := _too_early(found):
        raise RuntimeError(f"retry_after not kept to: {early[:5]}")


def _too_early(found: Storm) -> list[tuple[int, float]]:
    """Return the chats that got a message before their retry time, and when."""
    held: dict[int, float] = {}
    early = []
    for call in sorted([*found.alerts, *found.refused], key=lambda call: call.time):
        chat = chat_of(call)
        if call.time < held.get(chat, 0.0) - EARLY:
            early.append((chat, call.time))
        if call.code == TOO_MANY:
            held[chat] = call.time + RETRY_AFTER
    return early
