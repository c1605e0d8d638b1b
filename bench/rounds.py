"""Rounds of load: our server and the yardstick's in turns, by each number of clients.

Both servers stay up, so what else the machine does meets both.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import median

from bench import h2load, wrk
from bench.processes import Server
from bench.table import Detail, Row
from bench.wrk import Answers

CLIENTS = (1, 8, 32)
MOST = CLIENTS[-1]
ROUNDS = 5
SECONDS = 2
SHARE = 0.7
"""The constant rate, as a share of what we bear from the most clients."""


@dataclass(frozen=True, slots=True)
class Round:
    """What the clients saw, and the processor time of the servers until all was done."""

    answers: Answers
    server_seconds: float

    @property
    def rate(self) -> float:
        """Return answers a second."""
        return self.answers.rate

    @property
    def middle(self) -> float:
        """Return p50 in ms."""
        return self.answers.p50 * 1000

    @property
    def late(self) -> float:
        """Return p99 in ms."""
        return self.answers.p99 * 1000


@dataclass(frozen=True, slots=True)
class Side:
    """Servers, replicas of one another, and what is asked of them: a script with its settings.

    `settle` waits until what the answers of a round caused is done.
    """

    servers: Sequence[Server]
    script: str
    settings: Mapping[str, str]
    settle: Callable[[Answers], Awaitable[object]] | None = None

    async def closed(self, clients: int, seconds: int = SECONDS) -> Round:
        """Ask as fast as answers come."""
        return await self._round(
            wrk.closed(self._url, self.script, clients, seconds, self._addressed)
        )

    async def constant(self, rate: float, seconds: int = SECONDS) -> Round:
        """Ask at a constant rate, by the most clients."""
        return await self._round(
            wrk.constant(self._url, self.script, MOST, seconds, rate, self._addressed)
        )

    async def numbered(self, number: int) -> Round:
        """Ask so often, one after the other."""
        return await self._round(wrk.numbered(self._url, self.script, 1, number, self._addressed))

    async def by_h2load(self) -> Round:
        """Ask as fast as answers come, by the second load client."""
        return await self._round(h2load.closed(self._url, MOST, SECONDS, self.settings))

    @property
    def _url(self) -> str:
        return self.servers[0].url

    @property
    def _addressed(self) -> dict[str, str]:
        urls = " ".join(server.url for server in self.servers)
        return {**self.settings, "SERVERS": urls}

    async def _round(self, asking: Awaitable[Answers]) -> Round:
        before = sum(server.processor() for server in self.servers)
        answers = await asking
        if self.settle:
            await self.settle(answers)
        used = sum(server.processor() for server in self.servers) - before
        return Round(answers, used)


@dataclass(frozen=True, slots=True)
class Rounds:
    """All rounds of one side; what they come to is their median."""

    made: list[Round] = field(default_factory=list)

    def median(self, measure: Callable[[Round], float]) -> float:
        """Return the middle one of the rounds."""
        return median(map(measure, self.made))

    def detail(self, measure: Callable[[Round], float]) -> Detail:
        """Return the spread of a measure, and the medians of times and processor time in ms."""
        answers = [one.answers for one in self.made]
        return Detail(
            min(map(measure, self.made)),
            max(map(measure, self.made)),
            median(each.p50 for each in answers) * 1000,
            median(each.p99 for each in answers) * 1000,
            median(each.p999 for each in answers) * 1000,
            median(one.server_seconds / one.answers.number for one in self.made) * 1000,
            median(each.client_seconds / each.number for each in answers) * 1000,
        )


@dataclass(frozen=True, slots=True)
class Pair:
    """The rounds of both sides."""

    ours: Rounds
    theirs: Rounds
    yardstick: str

    def rates(self, name: str, goal: str = "") -> Row:
        """Return the line of answers a second."""
        return self._row(name, "", lambda one: one.rate, goal)

    def medians(self, name: str, goal: str = "") -> Row:
        """Return the line of p50."""
        return self._row(name, "ms", lambda one: one.middle, goal)

    def times(self, name: str, goal: str = "") -> Row:
        """Return the line of p99."""
        return self._row(name, "ms", lambda one: one.late, goal)

    def _row(self, name: str, unit: str, measure: Callable[[Round], float], goal: str) -> Row:
        ours, theirs = self.ours, self.theirs
        details = ours.detail(measure), theirs.detail(measure)
        return Row(
            name, ours.median(measure), unit, theirs.median(measure), self.yardstick, goal, details
        )


async def in_turns(
    ours: Callable[[], Awaitable[Round]], theirs: Callable[[], Awaitable[Round]], yardstick: str
) -> Pair:
    """Run the rounds of both."""
    pair = Pair(Rounds(), Rounds(), yardstick)
    for _ in range(ROUNDS):
        pair.ours.made.append(await ours())
        pair.theirs.made.append(await theirs())
    return pair


async def beside(
    what: str, ours: Side, theirs: Side, yardstick: str, goal: str, *, twice: bool = False
) -> list[Row]:
    """Measure both in closed loop by each number of clients, and at a constant rate.

    `twice` repeats the most clients by the second load client. The goal is for the most clients.
    """
    for side in (ours, theirs):
        await side.closed(MOST)
    rows, rate = [], 0.0
    for clients in CLIENTS:
        pair = await in_turns(
            partial(ours.closed, clients), partial(theirs.closed, clients), yardstick
        )
        wanted = goal if clients == MOST else ""
        rows.append(pair.rates(f"{what} a second, {counted(clients)}", wanted))
        rate = SHARE * rows[-1].ours
    if twice:
        pair = await in_turns(ours.by_h2load, theirs.by_h2load, yardstick)
        rows.append(pair.rates(f"{what} a second, {counted(MOST)}, by h2load"))
    pair = await in_turns(partial(ours.constant, rate), partial(theirs.constant, rate), yardstick)
    return [*rows, pair.times(f"{what} at {rate:.0f} a second, p99")]


def counted(clients: int) -> str:
    """Write a number of clients."""
    return "1 client" if clients == 1 else f"{clients} clients"
