"""The policy of a queue as data: rate limits, priority classes and retries."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from bot.core import exact_json, stored_json
from bot.core.outbox import host_budgets

SECOND = 1_000
"""Milliseconds."""

REPLY, ALERT, NOTICE = PRIORITIES = (0, 1, 2)
"""Priority classes: a person waits for the answer; money arrived; everything else."""

CLOCK_SKEW = 5 * SECOND
"""The most milliseconds by which clocks of machines that share a queue may differ."""


@dataclass(frozen=True, slots=True)
class Pace:
    """A rate limit that delays: `burst` messages at once, then one every `interval` ms.

    It uses the generic cell rate algorithm (ITU-T I.371). Its only state per lane, the theoretical
    arrival time, is stored, so a restart allows no new burst.
    """

    interval: int
    burst: int = 1

    def next_at(self, arrival_at: int) -> int:
        """Return when the next message may go, from the theoretical arrival time."""
        return arrival_at - (self.burst - 1) * self.interval

    def advance(self, arrival_at: int, now: int) -> int:
        """Return the theoretical arrival time after a message at `now`."""
        return max(arrival_at, now) + self.interval

    def clamp(self, arrival_at: int, now: int) -> int:
        """Return `arrival_at`, or `now` if only a clock that was far ahead can have written it."""
        latest = now + self.burst * self.interval + CLOCK_SKEW
        return arrival_at if arrival_at <= latest else now


@dataclass(frozen=True, slots=True)
class RetryTable:
    """The delays after consecutive failed attempts, and the number of attempts."""

    delays: tuple[int, ...]
    """Milliseconds to wait after the first, second … failed attempt."""

    repeats: bool = False
    """True to repeat the last delay forever instead of giving up."""

    jitter: int = 0
    """The most that is randomly added to or subtracted from a delay, per mille, so that attempts
    that failed together aren't repeated together."""

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
        """Return the milliseconds to wait after `failed` attempts; never give up."""
        delay = self.delays[min(failed, len(self.delays)) - 1]
        if self.jitter:
            delay += delay * (secrets.randbelow(2 * self.jitter + 1) - self.jitter) // 1000
        return max(delay, min(int(asked * 1000), self.longest_asked))


FAILURES = RetryTable(tuple(range(5 * SECOND, 50 * SECOND, 5 * SECOND)))
"""Ten attempts at a message whose handler raises: a bug must not block a lane forever."""

Gather: TypeAlias = Callable[[Iterable[Any]], tuple[int, Any] | None]
"""Joins as many bodies as fit into one body, starting with the first. Returns their number and the
joined body; None if the first body can't be joined with others."""


@dataclass(frozen=True, slots=True)
class BackPressure:
    """Limits of a queue by the replies that its messages cause (core/outbox/fairness.py)."""

    queue: Queue
    """The queue of the replies. A reply has the same lane name as its message."""

    most_waiting: int
    """No message of a lane is claimed while this many of its replies wait."""

    most_open: int | None = None
    """No message at all is claimed while this many lanes have a reply that may go now."""


@dataclass(frozen=True, slots=True)
class Queue:
    """The policy of a queue; times in milliseconds."""

    name: str
    lease: int

    ordered: bool = True
    """A message is claimed only after the previous message of its lane and class has ended."""

    width: int = 1
    """The most leased messages of a lane."""

    batch_size: int = 0
    """The most messages of a lane that are claimed together (core/outbox/claiming.py); 0 disables
    batches."""

    keep: bool = False
    """True if every settled message is kept until a sweep, not only dead letters."""

    kept_for: int = 30 * 24 * 3600 * SECOND
    """The age of a settled message at which a sweep deletes it."""

    pace: Pace | None = None
    lane_pace: Callable[[str], Pace | None] = field(default=lambda _lane: None)

    group: Callable[[str], str | tuple[str, ...] | None] | None = None
    """Returns the groups of a lane (core/outbox/groups.py); None if the queue or lane has none."""

    group_width: int | Callable[[str], int] = 32
    """The most leased messages or batches of all lanes of a group together."""

    budget: host_budgets.HostBudget | None = None
    """If a group is named after a purpose and a host (`asked wallet.example`), each of its messages
    uses a call of the host's budget."""

    turn_key: Callable[[str], str] = field(default=lambda lane: lane)
    """At a host with a budget, parked lanes with the same key share their turns; "" means that a
    lane takes no turns."""

    subjects_take_turns: bool = False
    """True if the subject that was served longest ago goes first, in a lane without order."""

    class_width: Mapping[int, int] = field(default_factory=dict)
    """The most leased messages of a priority class, so that other classes have room."""

    account_pace: Pace | None = None
    """The cost of a message to its account (core/outbox/fairness.py); the burst is the credit of an
    idle account."""

    back_pressure: BackPressure | None = None

    gather: Gather | None = None
    """Joins messages that would have to wait for a rate limit."""

    failures: RetryTable = FAILURES
    """The retries of a message whose handler raises."""

    max_crashes: int = 10
    """After this many consecutive attempts during which the worker died, a message becomes a dead
    letter: it may be the cause."""

    payloads: stored_json.PayloadKinds | None = None
    """The kinds of bodies; None for a queue of plain JSON objects."""

    write_scope: str | None = None
    """The scope in which all transactions of the queue run one at a time; None if several may run
    concurrently (core/database/database.py)."""

    def encode(self, body: Any) -> str:
        """Write a message's body as JSON."""
        return self.payloads.encode(body) if self.payloads else exact_json.dumps(body)

    def decode(self, text: str) -> Any:
        """Read a message's body; raises Unreadable."""
        return self.payloads.decode(text) if self.payloads else stored_json.read_object(text)
