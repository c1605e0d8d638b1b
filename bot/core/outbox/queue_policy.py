"""The policy of a queue: its pace, its priority classes, its retries, all as data."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from bot.core import exact_json
from bot.core.outbox.payload_kinds import read_object

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from bot.core.outbox.host_budgets import HostBudget
    from bot.core.outbox.payload_kinds import PayloadKinds

REPLY, ALERT, NOTICE = PRIORITIES = (0, 1, 2)
"""Priority classes: a person waits for the answer, money came in, everything else."""

SECOND = 1_000
"""Milliseconds."""

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

Gather: TypeAlias = "Callable[[Iterable[Any]], tuple[int, Any] | None]"
"""Joins as many bodies as fit into one, from the first on; returns their number and that body.

None where the first stays alone."""


@dataclass(frozen=True, slots=True)
class BackPressure:
    """The queue for the replies that a queue's messages cause, each in the lane of the same name.

    Nothing is claimed while `most_open` lanes have a reply that may go, and nothing of a lane with
    `most_waiting` replies (see core/outbox/back_pressure.py).
    """

    queue: Queue
    most_waiting: int
    most_open: int | None = None


@dataclass(frozen=True, slots=True)
class Queue:
    """The policy of a queue; times in milliseconds.

    `ordered`: the first message of a lane and class must end before the next one is claimed.
    `width`: leased messages of a lane at most. `series`: the most messages of a lane that are
    claimed together (core/outbox/claims/series.py); 0 for one by one. `group` names the groups of
    a lane, None for none; the lanes of a group have `group_width` leased messages, or series,
    together at most. With a `budget`, the messages of a group that is named by a purpose and a host
    (`asked wallet.example`) take a call of the host's budget each (core/outbox/host_budgets.py).
    Parked lanes of one name of `turn` share a turn at such a host; '' for a lane without.
    `subject_turns`: of a lane without order, the subject that was served longest ago goes first.
    `class_width` limits the leased messages of a class, so that the other classes
    have room.
    `account_pace`: what a message costs its account (core/outbox/fair_accounts.py); its burst is
    the credit of an account that was idle.
    `keep`: settled messages are kept until a sweep. `gather` joins messages that would have to
    wait for a rate limit; None where the first stays alone.
    `failures`: the retries of a message whose handler raises. `crashes`: attempts in a row whose
    worker died before a message is a dead letter, for it may be what ends the process.
    `payloads`: the kinds of bodies; None for a queue of plain JSON objects.
    `slice`: the slice in which all transactions of the queue run, one at a time; None for a queue
    of which several transactions may run at once (core/database/slices.py).
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
    payloads: PayloadKinds | None = None
    slice: str | None = None

    def encode(self, body: Any) -> str:
        """Write a message's body as JSON."""
        return self.payloads.encode(body) if self.payloads else exact_json.dumps(body)

    def decode(self, text: str) -> Any:
        """Read a message's body; raises Unreadable."""
        return self.payloads.decode(text) if self.payloads else read_object(text)
