"""The policy of a queue: its pace, its priority classes, its retries, all as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from bot.core import exact_json
from bot.core.outbox.payload_kinds import read_object
from bot.core.outbox.retry_table import RetryTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from bot.core.outbox.payload_kinds import PayloadKinds

REPLY, ALERT, NOTICE = PRIORITIES = (0, 1, 2)
"""Priority classes: who waits for an answer, money that came in, everything else."""

SECOND = 1_000
"""In milliseconds."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How often something may happen: `burst` at once, then one each `interval` ms.

    Kept by the generic cell rate algorithm (ITU-T I.371), whose one number a
    lane, the theoretical arrival time, is stored: a restart allows no new burst.
    """

    interval: int
    burst: int = 1

    def next_at(self, arrival_at: int) -> int:
        """When the next one may go, given the theoretical arrival time."""
        return arrival_at - (self.burst - 1) * self.interval

    def arrival(self, arrival_at: int, now: int) -> int:
        """Give the theoretical arrival time after one that goes now."""
        return max(arrival_at, now) + self.interval

    def sensible(self, arrival_at: int, now: int) -> int:
        """Give `arrival_at`, or `now` where only a clock that ran ahead can have written it."""
        return arrival_at if arrival_at <= now + self.burst * self.interval else now


FAILURES = RetryTable(tuple(range(5 * SECOND, 50 * SECOND, 5 * SECOND)))
"""Ten attempts at a message whose handler raises, a bug; for ever would block its lane."""

Gather: TypeAlias = "Callable[[Iterable[Any]], tuple[int, Any] | None]"


@dataclass(frozen=True, slots=True)
class Feeds:
    """Where the messages of a queue put replies, each in the lane of the same name.

    It hands out nothing while `most_open` lanes could send a reply there, were it their turn, and
    nothing of a lane that has `most_waiting` replies there (see core/outbox/back_pressure.py).
    """

    queue: Queue
    most_waiting: int
    most_open: int | None = None


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue's policy; times in milliseconds.

    `payloads`: the kinds of its messages' bodies; None for a queue of plain JSON objects.
    `ordered`: a lane's head that must wait holds up its lane, as far as messages of its
    priority go. `width`: messages of a lane under way at once. Lanes of which `group` says the
    same have no more than `group_width` under way together; those of which it says None are in no
    group.
    Of a class in `class_width` no more than that are under way, so that others have room left.
    Messages with an account are ranked by what it had before (core/outbox/fair_accounts.py), each
    worth an interval of `account_pace`; its burst is what an account that rested has in hand.
    Settled messages are dropped unless `keep` says that somebody looks at them. `gather` makes one
    body of as many as it can of those that would have to wait, from the first on: how many, and
    the body, or None. A message whose handler raises is retried by the table `failures`. It is
    set aside after `crashes` attempts in a row whose worker was gone before their end, for it may
    be what ends the process.
    """

    name: str
    lease: int
    ordered: bool = True
    width: int = 1
    keep: bool = False
    pace: Pace | None = None
    lane_pace: Callable[[str], Pace | None] = field(default=lambda _lane: None)
    group: Callable[[str], str | None] | None = None
    group_width: int = 32
    class_width: Mapping[int, int] = field(default_factory=dict)
    account_pace: Pace | None = None
    feeds: Feeds | None = None
    gather: Gather | None = None
    failures: RetryTable = FAILURES
    crashes: int = 10
    payloads: PayloadKinds | None = None

    def encode(self, body: Any) -> str:
        """Write a message's body as JSON."""
        return self.payloads.encode(body) if self.payloads else exact_json.dumps(body)

    def decode(self, text: str) -> Any:
        """Read a message's body; raises Unreadable."""
        return self.payloads.decode(text) if self.payloads else read_object(text)
