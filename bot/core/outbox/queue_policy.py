"""The policy of a queue: its rate limits, priority classes and retries, all as data."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from bot.core import exact_json
from bot.core.outbox import host_budgets, payload_kinds

SECOND = 1_000
"""Milliseconds."""

REPLY, ALERT, NOTICE = PRIORITIES = (0, 1, 2)
"""Priority classes: a person waits for the answer; money arrived; everything else."""

CLOCK_SKEW = 5 * SECOND
"""The most milliseconds by which clocks of machines that share a queue may differ."""


@dataclass(frozen=True, slots=True)
class Pace:
    """A rate limit that delays: `burst` messages at once, then one each `interval` ms.

    It is the generic cell rate algorithm (ITU-T I.371). Its only number for a lane, the theoretical
    arrival time, is stored, so a restart allows no new burst.
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
    """How long to wait after failed attempts in a row, and after how many to give up."""

    delays: tuple[int, ...]
    """Milliseconds after the first, second … failed attempt."""

    repeats: bool = False
    """True if the last delay is repeated for ever, instead of giving up."""

    jitter: int = 0
    """Per mille of a delay that are added or subtracted at random, so that peers that failed
    together don't come back together."""

    longest_asked: int = 0
    """The longest delay (ms) that a peer may ask for (Retry-After, RFC 9110 section 10.2.3)."""

    def delay(self, failed: int, asked: float = 0.0) -> int | None:
        """Return the milliseconds to wait after `failed` attempts; None to give up.

        `asked` is the delay in seconds that the peer asks for.
        """
        if failed > len(self.delays) and not self.repeats:
            return None
        return self.delay_or_last(failed, asked)

    def delay_or_last(self, failed: int, asked: float = 0.0) -> int:
        """Return the milliseconds to wait after `failed` attempts and never give up."""
        delay = self.delays[min(failed, len(self.delays)) - 1]
        if self.jitter:
            delay += delay * (secrets.randbelow(2 * self.jitter + 1) - self.jitter) // 1000
        return max(delay, min(int(asked * 1000), self.longest_asked))


FAILURES = RetryTable(tuple(range(5 * SECOND, 50 * SECOND, 5 * SECOND)))
"""Ten attempts at a message whose handler raises: a bug must not block its lane for ever."""

Gather: TypeAlias = Callable[[Iterable[Any]], tuple[int, Any] | None]
"""Joins as many bodies as fit into one, from the first on. Returns their number and the joined
body; None if the first stays alone."""


@dataclass(frozen=True, slots=True)
class BackPressure:
    """Limits of a queue by the replies that its messages cause (core/outbox/fairness.py)."""

    queue: Queue
    """The queue of the replies. A reply has the lane of the same name as its message."""

    most_waiting: int
    """Nothing of a lane is claimed while so many of its replies wait."""

    most_open: int | None = None
    """Nothing at all is claimed while so many lanes have a reply that may go now."""


@dataclass(frozen=True, slots=True)
class Queue:
    """The policy of a queue; times in milliseconds."""

    name: str
    lease: int

    ordered: bool = True
    """A message is claimed only after the one before it in its lane and class has ended."""

    width: int = 1
    """The most leased messages of a lane."""

    batch_size: int = 0
    """The most messages of a lane that are claimed together (core/outbox/claiming.py); 0 for one by
    one."""

    keep: bool = False
    """True if settled messages are kept until a sweep."""

    pace: Pace | None = None
    lane_pace: Callable[[str], Pace | None] = field(default=lambda _lane: None)

    group: Callable[[str], str | tuple[str, ...] | None] | None = None
    """The names of the groups of a lane (core/outbox/groups.py); None for none."""

    group_width: int | Callable[[str], int] = 32
    """The most leased messages, or batches, that the lanes of a group have together."""

    budget: host_budgets.HostBudget | None = None
    """A message of a group that is named by a purpose and a host (`asked wallet.example`) takes a
    call of the host's budget."""

    turn_key: Callable[[str], str] = field(default=lambda lane: lane)
    """Parked lanes with the same key take turns as one at a host with a budget; "" for a lane that
    takes no turns."""

    subjects_take_turns: bool = False
    """In a lane without order, the subject that was served longest ago goes first."""

    class_width: Mapping[int, int] = field(default_factory=dict)
    """The most leased messages of a priority class, so that the other classes have room."""

    account_pace: Pace | None = None
    """What a message costs its account (core/outbox/fairness.py); the burst is the credit of an
    account that was idle."""

    back_pressure: BackPressure | None = None

    gather: Gather | None = None
    """Joins messages that would have to wait for a rate limit."""

    failures: RetryTable = FAILURES
    """The retries of a message whose handler raises."""

    max_crashes: int = 10
    """Attempts in a row that end with their worker, after which a message is a dead letter: it may
    be what ends the process."""

    payloads: payload_kinds.PayloadKinds | None = None
    """The kinds of bodies; None for a queue of plain JSON objects."""

    write_scope: str | None = None
    """The scope in which all transactions of the queue run, one at a time; None if several may run
    at once (core/database/database.py)."""

    def encode(self, body: Any) -> str:
        """Write a message's body as JSON."""
        return self.payloads.encode(body) if self.payloads else exact_json.dumps(body)

    def decode(self, text: str) -> Any:
        """Read a message's body; raises Unreadable."""
        return self.payloads.decode(text) if self.payloads else payload_kinds.read_object(text)
