"""Rules for the budgets of calls to external hosts, which queues and other callers share.

A host's budget is a rate limit (generic cell rate algorithm): a host never gets more calls in a
period than the rate allows. Each purpose has a share of the budget. A purpose gets at least its
share, however many calls the others want, and the others get the unused rest. While a host asks for
no calls (429, Retry-After), it gets none.

core/outbox/groups.py stores the budgets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.core.net import rates

OPENING, ASKED, LATER, OTHER = "opening", "asked", "later", "other"
"""Purposes: an invoice for a waiting payer; a poll that an open page or the wallet requests; any
other poll; probes, and calls to hosts other than the wallet's."""

SHARES = {OPENING: 350, ASKED: 400, LATER: 100, OTHER: 150}
"""Share of each purpose in the budget, per mille."""

BORROWS_EARLY = (OPENING, ASKED)
"""Purposes that may use other shares while half of the burst is left. Other purposes may do so only
after the host was idle for a while. So the rest of the burst remains for purposes that have not had
their share.
"""

BURSTS = 20
"""A burst is this fraction of the calls of a period: a twentieth."""

PATIENCE = {OPENING: 60_000}
"""Milliseconds that a purpose waits while a host asks for no calls. A call that would have to wait
longer goes ahead, so that its caller gets the host's refusal. Other purposes wait indefinitely.
"""

LONGEST_WAIT = 5_000
"""The most milliseconds that a call in progress waits for its host's budget."""

LONGEST_SHARE = 60_000
"""The most milliseconds by which a share's time may be ahead of the budget's time."""

LONGEST_CLOSED = 24 * 3_600_000
"""The most milliseconds for which a host may ask for no calls."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The used part of a host's budget; times in epoch ms."""

    arrival_at: int
    """Theoretical arrival time of the host's next call."""

    closed_until: int
    """The host gets no call before this time."""

    shares: dict[str, int]
    """Theoretical arrival times by purpose."""


class HostBudget:
    """The rules of `rate`, which limits each host separately; None if only hosts limit calls."""

    def __init__(self, rate: rates.Rate | None) -> None:
        self.rate = rate
        if rate is not None:
            self.burst = max(min(rate.count, 2), rate.count // BURSTS)
            # a burst and the following calls of a period together must not exceed the rate
            self.interval = -(-rate.seconds * 1000 // (rate.count - self.burst + 1))

    def opens_at(self, usage: Usage, purpose: str, now: int) -> int:
        """Return when the next call for a purpose may go."""
        patience = PATIENCE.get(purpose, LONGEST_CLOSED)
        closed = usage.closed_until if usage.closed_until <= now + patience else now
        if self.rate is None:
            return max(now, closed)
        fits = usage.arrival_at - (self.burst - 1) * self.interval
        share_burst = (self._burst_of(purpose) - 1) * self._interval_of(purpose)
        own = usage.shares.get(purpose, 0) - share_burst
        spare = self.burst // 2 if purpose in BORROWS_EARLY else self.burst - 1
        borrows = usage.arrival_at - (self.burst - 1 - spare) * self.interval
        return max(now, closed, fits, min(own, borrows))

    def take(self, usage: Usage, purpose: str, now: int) -> Usage:
        """Return the usage after a call at `now`."""
        if self.rate is None:
            return usage
        arrival_at = max(usage.arrival_at, now) + self.interval
        own, interval = usage.shares.get(purpose, 0), self._interval_of(purpose)
        if own - (self._burst_of(purpose) - 1) * interval > now:  # uses another purpose's share
            return replace(usage, arrival_at=arrival_at)
        shares = usage.shares | {purpose: max(own, now) + interval}
        return replace(usage, arrival_at=arrival_at, shares=shares)

    def starts_at(self, usage: Usage, now: int) -> int:
        """Return when an urgent call may go; shares don't limit it."""
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

    def _interval_of(self, purpose: str) -> int:
        return self.interval * 1000 // SHARES[purpose]

    def _burst_of(self, purpose: str) -> int:
        return max(1, self.burst * SHARES[purpose] // 1000)
