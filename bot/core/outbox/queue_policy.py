"""The policy of a queue: its pace, its priority classes, its retries, all as data."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from bot.core import exact_json
from bot.core.net import rates
from bot.core.outbox import payload_kinds

# Budgets of calls to hosts outside, which queues and other callers share: the rules.
#
# A host's budget is a rate limit (generic cell rate algorithm). In no period of the rate a host
# gets more calls than the rate names. The purposes of calls have shares of it: each gets at least
# its share, however much the others want, and what nobody wants of a share goes to the others.
# While the host itself asks for no calls (429, Retry-After), there are none.


SECOND = 1_000
"""Milliseconds."""

OPENING, ASKED, LATER, OTHER = "opening", "asked", "later", "other"
"""Purposes: an invoice for a payer who waits; a poll that an open page or the wallet asks for; any
other poll; probes, and calls of another host than the wallet's."""

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

    def __init__(self, rate: rates.Rate | None) -> None:
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


REPLY, ALERT, NOTICE = PRIORITIES = (0, 1, 2)
"""Priority classes: a person waits for the answer, money came in, everything else."""


CLOCK_SKEW = 5 * SECOND
"""By how much clocks of machines that share a queue may differ."""


@dataclass(frozen=True, slots=True)
class Pace:
    """A rate limit that delays: `burst` messages at once, then one each `interval` ms.

    It is the generic cell rate algorithm (ITU-T I.371). Its one number for a lane, the theoretical
    arrival time, is stored: a restart allows no new burst.
    """

    interval: int
    burst: int = 1

    def next_at(self, arrival_at: int) -> int:
        """Return when the next message may go, from the theoretical arrival time."""
        return arrival_at - (self.burst - 1) * self.interval

    def advance(self, arrival_at: int, now: int) -> int:
        """Return the theoretical arrival time after a message that goes now."""
        return max(arrival_at, now) + self.interval

    def clamp(self, arrival_at: int, now: int) -> int:
        """Return `arrival_at`, or `now` if only a clock that was far ahead can have written it."""
        latest = now + self.burst * self.interval + CLOCK_SKEW
        return arrival_at if arrival_at <= latest else now


@dataclass(frozen=True, slots=True)
class RetryTable:
    """The delays after the first, second … failed attempt in a row, in milliseconds.

    After the last delay the attempts are given up, unless the table `repeats` that delay for ever.
    `jitter` per mille of a delay are added or subtracted at random, so that peers that failed
    together don't come back together. A peer that asks for a longer delay (Retry-After, RFC 9110
    section 10.2.3) gets it, up to `longest_asked`.
    """

    delays: tuple[int, ...]
    repeats: bool = False
    jitter: int = 0
    longest_asked: int = 0

    def delay(self, failed: int, asked: float = 0.0) -> int | None:
        """Return the milliseconds to wait after `failed` attempts; None where they are given up.

        `asked` are the seconds that the peer asks for.
        """
        if failed > len(self.delays) and not self.repeats:
            return None
        return self.delay_or_last(failed, asked)

    def delay_or_last(self, failed: int, asked: float = 0.0) -> int:
        """Return the milliseconds to wait after `failed` attempts that are never given up."""
        delay = self.delays[min(failed, len(self.delays)) - 1]
        if self.jitter:
            delay += delay * (secrets.randbelow(2 * self.jitter + 1) - self.jitter) // 1000
        return max(delay, min(int(asked * 1000), self.longest_asked))


FAILURES = RetryTable(tuple(range(5 * SECOND, 50 * SECOND, 5 * SECOND)))
"""Ten attempts at a message whose handler raises: a bug must not block its lane for ever."""

Gather: TypeAlias = Callable[[Iterable[Any]], tuple[int, Any] | None]
"""Joins as many bodies as fit into one, from the first on; returns their number and that body.

None where the first stays alone."""


@dataclass(frozen=True, slots=True)
class BackPressure:
    """The queue for the replies that a queue's messages cause, each in the lane of the same name.

    Nothing is claimed while `most_open` lanes have a reply that may go, and nothing of a lane with
    `most_waiting` replies (see core/outbox/fairness.py).
    """

    queue: Queue
    most_waiting: int
    most_open: int | None = None


@dataclass(frozen=True, slots=True)
class Queue:
    """The policy of a queue; times in milliseconds.

    `ordered`: the first message of a lane and class must end before the next one is claimed.
    `width`: leased messages of a lane at most. `series`: the most messages of a lane that are
    claimed together (core/outbox/claiming.py); 0 for one by one. `group` names the groups of
    a lane, None for none; the lanes of a group have `group_width` leased messages, or series,
    together at most. With a `budget`, the messages of a group that is named by a purpose and a host
    (`asked wallet.example`) take a call of the host's budget each (core/outbox/queue_policy.py).
    Parked lanes of one name of `turn` share a turn at such a host; '' for a lane without.
    `subject_turns`: of a lane without order, the subject that was served longest ago goes first.
    `class_width` limits the leased messages of a class, so that the other classes
    have room.
    `account_pace`: what a message costs its account (core/outbox/fairness.py); its burst is
    the credit of an account that was idle.
    `keep`: settled messages are kept until a sweep. `gather` joins messages that would have to
    wait for a rate limit; None where the first stays alone.
    `failures`: the retries of a message whose handler raises. `crashes`: attempts in a row whose
    worker died before a message is a dead letter, for it may be what ends the process.
    `payloads`: the kinds of bodies; None for a queue of plain JSON objects.
    `write_scope`: the scope in which all transactions of the queue run, one at a time; None for a
    queue of which several transactions may run at once (core/database/database.py).
    """

    name: str
    lease: int
    ordered: bool = True
    width: int = 1
    series: int = 0
    keep: bool = False
    pace: Pace | None = None
    lane_pace: Callable[[str], Pace | None] = field(default=lambda _lane: None)
    group: Callable[[str], str | tuple[str, ...] | None] | None = None
    group_width: int | Callable[[str], int] = 32
    budget: HostBudget | None = None
    turn: Callable[[str], str] = field(default=lambda lane: lane)
    subject_turns: bool = False
    class_width: Mapping[int, int] = field(default_factory=dict)
    account_pace: Pace | None = None
    back_pressure: BackPressure | None = None
    gather: Gather | None = None
    failures: RetryTable = FAILURES
    crashes: int = 10
    payloads: payload_kinds.PayloadKinds | None = None
    write_scope: str | None = None

    def encode(self, body: Any) -> str:
        """Write a message's body as JSON."""
        return self.payloads.encode(body) if self.payloads else exact_json.dumps(body)

    def decode(self, text: str) -> Any:
        """Read a message's body; raises Unreadable."""
        return self.payloads.decode(text) if self.payloads else payload_kinds.read_object(text)
