"""What /metrics tells: counts since the start, and how the outbox stands when asked.

Names and units follow Prometheus (prometheus.io/docs/practices/naming). No label is an id.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prometheus_client import (
    CollectorRegistry,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from bot.core.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from prometheus_client import Metric
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from bot.core.database.counters import Tally
    from bot.core.database.database import Database, Transaction

# What waits is found by partial indexes, whatever number of settled messages lies beside it.
WAITING = (
    "SELECT o.queue, l.paused IS NOT NULL AS paused, COUNT(*) AS n, MIN(o.due_at) AS due_at"
    " FROM outbox o LEFT JOIN lanes l ON l.queue = o.queue AND l.lane = o.lane"
    " WHERE o.state = 'waiting' GROUP BY o.queue, l.paused IS NOT NULL"
)
LEASED = "SELECT queue, COUNT(*) AS n FROM outbox WHERE state = 'leased' GROUP BY queue"
DEAD = "SELECT queue, COUNT(*) AS n FROM outbox WHERE state = 'dead' GROUP BY queue"

STATES = ("waiting", "paused", "leased", "dead")

UNREAD = "UNREAD"
"""Stands for the method of a request that was refused before it could be read."""

METHODS = frozenset(
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", UNREAD]
)
OTHER = "OTHER"
"""Stands for every other method, so that no stranger makes up labels."""


@dataclass(frozen=True, slots=True)
class Family:
    """A figure of the tally: its help, and what its labels are called.

    `known` are the values that are shown from the start, for each label; a rate of what has not
    happened yet is 0 and not nothing.
    """

    name: str
    help: str
    labels: tuple[str, ...]
    known: tuple[tuple[str, ...], ...] = ()


REQUESTS = Family("http_requests", "Answers given, by method and status.", ("method", "status"))


@dataclass(frozen=True, slots=True)
class Depth:
    """How the outbox stands: messages by queue and state, the oldest due of each in ms."""

    messages: dict[tuple[str, str], int]
    ages: dict[str, int]


def read_depth(tx: Transaction, now: int) -> Depth:
    """Count what waits, what is under way and what was given up; `now` in epoch ms.

    What waits for a chat that can't be written to is `paused`, and not overdue.
    """
    messages: dict[tuple[str, str], int] = {}
    ages: dict[str, int] = {}
    for row in tx.query(WAITING):
        messages[row["queue"], "paused" if row["paused"] else "waiting"] = row["n"]
        if not row["paused"]:
            ages[row["queue"]] = max(0, now - row["due_at"])
    for state, sql in (("leased", LEASED), ("dead", DEAD)):
        messages |= {(row["queue"], state): row["n"] for row in tx.query(sql)}
    return Depth(messages, ages)


@dataclass(slots=True, eq=False)
class Metrics:
    """Everything there is to tell; `queues` are shown also while they are empty."""

    db: Database
    now: Callable[[], int]
    families: tuple[Family, ...] = (REQUESTS,)
    queues: set[str] = field(default_factory=set)
    _registry: CollectorRegistry = field(init=False)
    _depth: Depth = field(default_factory=lambda: Depth({}, {}))

    def __post_init__(self) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self._registry)
        self._registry.register(self)

    async def render(self) -> bytes:
        """Give all figures in Prometheus' text format. Raises StorageError."""
        now = self.now()
        self._depth = await self.db.read(lambda tx: read_depth(tx, now))
        return generate_latest(self._registry)

    def describe(self) -> Iterable[Metric]:
        """Name nothing ahead: what is collected names itself."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Give our own figures, as prometheus_client asks for them."""
        yield from _counted(self.families, self.db.tally)
        yield from self._outbox()
        build = GaugeMetricFamily("bot_build_info", "This program, always 1.", labels=["version"])
        build.add_metric([VERSION], 1)
        yield build

    def _outbox(self) -> Iterator[Metric]:
        messages = GaugeMetricFamily(
            "outbox_messages",
            "Messages by queue and state: to go, kept for a chat that is closed to us, under way,"
            " given up.",
            labels=["queue", "state"],
        )
        ages = GaugeMetricFamily(
            "outbox_oldest_due_seconds",
            "How long the message of the queue that is due longest has been due.",
            labels=["queue"],
        )
        for queue in sorted({*self.queues, *(queue for queue, _ in self._depth.messages)}):
            for state in STATES:
                messages.add_metric([queue, state], self._depth.messages.get((queue, state), 0))
            ages.add_metric([queue], self._depth.ages.get(queue, 0) / 1000)
        yield messages
        yield ages


def _counted(families: Iterable[Family], tally: Tally) -> Iterator[Metric]:
    counts: defaultdict[str, dict[tuple[str, ...], int]] = defaultdict(dict)
    for key, count in tally.read().items():
        counts[key[0]][key[1:]] = count
    for family in families:
        metric = CounterMetricFamily(family.name, family.help, labels=family.labels)
        known = dict.fromkeys(itertools.product(*family.known), 0) if family.known else {}
        for labels, count in (known | counts[family.name]).items():
            metric.add_metric(labels, count)
        yield metric


class CountRequests:
    """ASGI application around another one that counts answers by method and status, bugs too."""

    def __init__(self, app: ASGIApp, tally: Tally) -> None:
        self._app = app
        self._tally = tally

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything through, counting the start of each answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                count_request(self._tally, scope["method"], message["status"])
            await send(message)

        await self._app(scope, receive, counted)


def count_request(tally: Tally, method: str, status: int) -> None:
    """Count an answer, also one that was given before there was a request to read."""
    tally.add(((REQUESTS.name, method if method in METHODS else OTHER, str(status)),))
