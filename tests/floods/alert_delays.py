"""Payments and their alerts: how late, lost or doubled."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import httpx

from bench.table import percentile
from tests.floods.payer_clients import Payment
from tests.floods.telegram_process import Telegram

LOOK_AGAIN = 0.5
NEVER = float("inf")


@dataclass(slots=True)
class Alerts:
    """The alerts that a Bot API server has taken, by chat: when each payment was told of.

    Only those of `chats` count: others may sell and be paid beside the payers who are measured.
    """

    telegram: Telegram
    chats: frozenset[int]
    told: defaultdict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    seen: int = 0

    async def look(self) -> None:
        """Take in the alerts that are new."""
        self.seen, found = await self.telegram.ask("alerts", after=self.seen)
        for chat, at, payments in found:
            if chat in self.chats:
                self.told[chat] += [at] * payments

    async def settle(self, payments: Sequence[Payment], seconds: float) -> None:
        """Wait until every payment is told of, but not for longer than `seconds`."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            await self.look()
            if not self.lost(payments):
                return
            await asyncio.sleep(LOOK_AGAIN)

    def lags(self, payments: Sequence[Payment]) -> list[tuple[Payment, float]]:
        """Return each payment with the seconds until it was told of: in a chat they go in order."""
        found = []
        for chat, paid in _paid(payments).items():
            told = self.told[chat]
            for place, payment in enumerate(paid):
                at = told[place] if place < len(told) else NEVER
                found.append((payment, max(0.0, at - payment.paid)))
        return found

    def lost(self, payments: Sequence[Payment]) -> int:
        """Return how many payments were not told of."""
        paid = _paid(payments)
        return sum(max(0, len(made) - len(self.told[chat])) for chat, made in paid.items())

    def doubled(self, payments: Sequence[Payment]) -> int:
        """Return how many alerts there were of nothing that was paid."""
        possible = Counter(payment.chat for payment in payments if payment.posted)
        return sum(max(0, len(told) - possible[chat]) for chat, told in self.told.items())


def _paid(payments: Sequence[Payment]) -> dict[int, list[Payment]]:
    by_chat: defaultdict[int, list[Payment]] = defaultdict(list)
    for payment in sorted(payments, key=lambda one: one.paid):
        if payment.status == httpx.codes.SEE_OTHER:
            by_chat[payment.chat].append(payment)
    return by_chat


@dataclass(frozen=True, slots=True)
class Spread:
    """How late things were, in milliseconds."""

    p50: float
    p99: float
    most: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Spread:
        """Return the spread of times in seconds; nothing is at no time."""
        if len(seconds) < 2:
            seconds = [*seconds, *seconds] or [0.0, 0.0]
        finite = [min(one, 1e6) for one in seconds]
        p50, p99 = percentile(finite, 50), percentile(finite, 99)
        return cls(p50 * 1000, p99 * 1000, max(seconds) * 1000)
