"""The content of /metrics: counters since the process started, and the state of the outbox.

Counters and most gauges describe one process: sum them over replicas. The state of the outbox comes
from the shared database and is the same on each replica: don't sum it.

Names and units follow Prometheus (prometheus.io/docs/practices/naming). Labels are never ids.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prometheus_client import (
    CollectorRegistry,
    Counter,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily

from bot import __version__
from bot.core.database import database
from bot.core.outbox import queries

if TYPE_CHECKING:
    from prometheus_client import Metric
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


disable_created_metrics()  # type: ignore[no-untyped-call]  # one more series for each counter

STATES = ("waiting", "paused", "leased", "dead")

METHODS = frozenset(
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"]
)
OTHER = "OTHER"
"""The label of every other method: clients must not create labels."""


@dataclass(frozen=True, slots=True)
class Family:
    """A counter."""

    name: str
    """Without `_total`."""

    help: str

    labels: tuple[str, ...]
    """The names of the labels."""

    known: tuple[tuple[str, ...], ...] = ()
    """For each label, the values exported from the start, so that the rate of an event that hasn't
    happened yet is 0 instead of missing."""


@dataclass(frozen=True, slots=True)
class Gauge:
    """A value that is read when metrics are rendered."""

    name: str
    help: str

    labels: tuple[str, ...]
    """The names of the labels."""

    read: Callable[[], Mapping[tuple[str, ...], float]]
    """Returns the values by label values, from memory."""


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """The state of a process among the replicas on one database; the default is a sole process."""

    role: str = "all"
    """The role that the process was started with."""

    leads: Callable[[], bool] = field(default=lambda: True)

    living: Callable[[], int] = field(default=lambda: 1)
    """Returns the number of living replicas, including this one."""


ALONE = ReplicaState()


def replica_gauges(replica: ReplicaState) -> tuple[Gauge, ...]:
    """Return the gauges about the replicas on one database."""
    return (
        Gauge(
            "bot_lead",
            "1 while this replica leads: it alone polls Telegram and sends to chats. The sum over"
            " all replicas is 1; 0 for longer than a minute: nobody leads.",
            (),
            lambda: {(): int(replica.leads())},
        ),
        Gauge(
            "bot_replicas",
            "Replicas that this one sees alive, itself included: the same on each.",
            (),
            lambda: {(): replica.living()},
        ),
    )


REQUESTS = Family("http_requests", "Answers, by method and status.", ("method", "status"))


def read_depth(
    tx: database.Transaction, now: int
) -> tuple[dict[tuple[str, str], int], dict[str, int]]:
    """Count messages by queue and state; also return the age (ms) of the oldest due one by queue.

    Messages of a chat that blocked the bot are `paused`, and never overdue.
    """
    messages: dict[tuple[str, str], int] = {}
    ages: dict[str, int] = {}
    for waiting in queries.count_waiting(tx):
        state = "paused" if waiting.paused else "waiting"
        messages[waiting.queue, state] = waiting.number
        if not waiting.paused:
            ages[waiting.queue] = max(0, now - waiting.due_at)
    for state in (queries.LEASED, queries.DEAD):
        counts = queries.count_by_queue(tx, state)
        messages |= {(queue, state): number for queue, number in counts.items()}
    return messages, ages


@dataclass(slots=True, eq=False)
class Metrics:
    """All metrics of the process.

    Once a transaction is committed, the database calls `count` for each event it counted.
    """

    db: database.Database
    now: Callable[[], int]
    families: tuple[Family, ...] = (REQUESTS,)

    queues: set[str] = field(default_factory=set)
    """Names of queues that are exported even while they are empty."""

    gauges: list[Gauge] = field(default_factory=list)
    _registry: CollectorRegistry = field(init=False)
    _counters: dict[str, Counter] = field(init=False)
    _children: dict[tuple[str, ...], Counter] = field(default_factory=dict)
    _messages: dict[tuple[str, str], int] = field(default_factory=dict)
    _ages: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self._registry)
        self._counters = {}
        for family in self.families:
            counter = Counter(family.name, family.help, family.labels, registry=self._registry)
            for values in itertools.product(*family.known) if family.known else ():
                counter.labels(*values)
            self._counters[family.name] = counter
        self._registry.register(self)
        self.db.count_with(self.count)

    def count(self, name: str, *labels: str) -> None:
        """Increment a counter; unknown names are ignored."""
        if child := self._children.get(
            (name, *labels)
        ):  # a look-up by labels takes ten times longer
            child.inc()
        elif counter := self._counters.get(name):
            self._children[name, *labels] = child = counter.labels(*labels)
            child.inc()

    async def render(self) -> bytes:
        """Return all metrics in the text format of Prometheus. Raises StorageError."""
        now = self.now()
        self._messages, self._ages = await self.db.read(lambda tx: read_depth(tx, now))
        return generate_latest(self._registry)

    def describe(self) -> Iterable[Metric]:
        """Return nothing: the metrics name themselves when they are collected."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield the state of the outbox, gauges and version, for prometheus_client's registry."""
        messages = GaugeMetricFamily(
            "outbox_messages",
            "Messages by queue and state: waiting, kept for a chat that blocked the bot, leased,"
            " dead. The same on all replicas: don't add them up.",
            labels=["queue", "state"],
        )
        ages = GaugeMetricFamily(
            "outbox_oldest_due_seconds",
            "For how long the oldest due message of the queue has been due. The same on all"
            " replicas.",
            labels=["queue"],
        )
        for queue in sorted({*self.queues, *(queue for queue, _ in self._messages)}):
            for state in STATES:
                messages.add_metric([queue, state], self._messages.get((queue, state), 0))
            ages.add_metric([queue], self._ages.get(queue, 0) / 1000)
        yield messages
        yield ages
        for gauge in self.gauges:
            family = GaugeMetricFamily(gauge.name, gauge.help, labels=gauge.labels)
            for labels, value in gauge.read().items():
                family.add_metric(labels, value)
            yield family
        build = GaugeMetricFamily("bot_build_info", "This program, always 1.", labels=["version"])
        build.add_metric([__version__], 1)
        yield build


class CountRequests:
    """ASGI middleware that counts answers by method and status, including 500s caused by bugs."""

    def __init__(self, app: ASGIApp, count: Callable[..., None]) -> None:
        self._app = app
        self._count = count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                method = scope["method"] if scope["method"] in METHODS else OTHER
                self._count(REQUESTS.name, method, str(message["status"]))
            await send(message)

        await self._app(scope, receive, counted)
