"""Budgets of calls to hosts outside, which queues and other callers share: the rules.

A host's budget is a rate limit (generic cell rate algorithm). In no period of the rate a host gets
more calls than the rate names. The purposes of calls have shares of it: each gets at least its
share, however much the others want, and what nobody wants of a share goes to the others. While the
host itself asks for no calls (429, Retry-After), there are none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.core.net.rates import Rate

SECOND = 1_000
"""Milliseconds."""

OPENING, ASKED, LATER, OTHER = "opening", "asked", "later", "other"
"""Purposes: an invoice for a payer who waits; a look that an open page or the wallet asks for; any
other look; probes, and calls of another host than the wallet's."""

SHARES = {OPENING: 350, ASKED: 400, LATER: 100, OTHER: 150}
"""Share of each purpose in the budget, per mille."""

BORROWS_EARLY = (OPENING, ASKED)
"""Purposes that use what others leave while half of the burst is left; others only use it while the
host was not called for a while. So what is left of the burst serves whoever has not had its share.
"""

BURSTS = 20
"""Part of the calls of a period that may go at once: a twentieth."""

PATIENCE = {OPENING: 60 * SECOND}
"""Milliseconds that a purpose waits for a host that asks for no calls; whoever has to wait longer
is let through, and learns of it. The others wait for any time."""

LONGEST_WAIT = 5 * SECOND
"""Milliseconds that a call waits for its host's budget once it is under way."""

LONGEST_SHARE = 60 * SECOND
"""Milliseconds by which the time of a share may be ahead of that of the budget."""

LONGEST_CLOSED = 24 * 3600 * SECOND
"""Milliseconds for which a host may ask for no calls at most."""


@dataclass(frozen=True, slots=True)
class Usage:
    """How much of a host's budget is used: theoretical arrival times, in epoch ms.

    `shares` has those of the purposes; the host gets no call before `closed_until`.
    """

    arrival_at: int
    closed_until: int
    shares: dict[str, int]


class HostBudget:
    """The rules of `rate`, which each host has for itself; None: only hosts themselves set limits.

    The methods that take a Usage are pure.
    """

    def __init__(self, rate: Rate | None) -> None:
        self.rate = rate
        if rate is not None:
            self.burst = max(min(rate.count, 2), rate.count // BURSTS)
            # so that a burst and what follows it in a period are no more than the rate names
            self.interval = -(-rate.seconds * SECOND // (rate.count - self.burst + 1))

    def opens_at(self, usage: Usage, purpose: str, now: int) -> int:
        """Return when the next call for a purpose may go."""
        closed = usage.closed_until if usage.closed_until <= now + self._patience(purpose) else now
        if self.rate is None:
            return max(now, closed)
        fits = usage.arrival_at - (self.burst - 1) * self.interval
        own = usage.shares.get(purpose, 0) - (self._burst_of(purpose) - 1) * self._interval_of(
            purpose
        )
        spare = self.burst // 2 if purpose in BORROWS_EARLY else self.burst - 1
        borrows = usage.arrival_at - (self.burst - 1 - spare) * self.interval
        return max(now, closed, fits, min(own, borrows))

    def take(self, usage: Usage, purpose: str, now: int) -> Usage:
        """Return the usage after a call that goes now."""
        if self.rate is None:
            return usage
        arrival_at = max(usage.arrival_at, now) + self.interval
        own, interval = usage.shares.get(purpose, 0), self._interval_of(purpose)
        if own - (self._burst_of(purpose) - 1) * interval > now:  # another's share is used
            return replace(usage, arrival_at=arrival_at)
        shares = usage.shares | {purpose: max(own, now) + interval}
        return replace(usage, arrival_at=arrival_at, shares=shares)

    def starts_at(self, usage: Usage, now: int) -> int:
        """Return when a call that can't be put off may go, by the whole budget."""
        fits = usage.arrival_at - (self.burst - 1) * self.interval if self.rate else now
        return max(now, usage.closed_until, fits)

    def count_free(self, usage: Usage, purpose: str, now: int, most: int) -> int:
        """Return how many calls for a purpose may go now, up to `most`."""
        free = 0
        while free < most and self.opens_at(usage, purpose, now) <= now:
            usage, free = self.take(usage, purpose, now), free + 1
            if self.rate is None:
                return most
        return free

    def _patience(self, purpose: str) -> int:
        return PATIENCE.get(purpose, LONGEST_CLOSED)

    def _interval_of(self, purpose: str) -> int:
        return self.interval * 1000 // SHARES[purpose]

    def _burst_of(self, purpose: str) -> int:
        return max(1, self.burst * SHARES[purpose] // 1000)
