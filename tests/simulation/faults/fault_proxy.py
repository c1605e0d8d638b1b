"""A proxy that understands HTTP and does to each exchange what the seed says.

What is done to a request is drawn from (seed, link, kind of request, how many of that kind were
before), so it does not hang on what happens elsewhere. Every exchange is kept, with what was done
to it and whether the other side saw it: that is what a repeated message has to be excused by.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from random import Random

from tests.simulation.faults.fault_weights import CUT, DOUBTFUL, MENUS, Fault
from tests.simulation.faults.http_wire import Request, read_answer, read_request, written

HANG_SECONDS = 25.0
"""Longer than any client of ours waits for an answer."""

HELD_SECONDS = 3.0
"""How long a request is held for another to overtake it."""

BEFORE, AFTER = "before", "after"
"""The moments around the giving of an answer."""

Point = tuple[str, str, int, str]
"""A point in the course of events: link, kind, number of that kind, moment."""

LONGEST_DELAY = 2.0
HEAD_LIMIT = 2**20


@dataclass(slots=True)
class Exchange:
    """A request, what was done to it, and what came of it; `at` in seconds of the loop."""

    link: str
    kind: str
    number: int
    fault: Fault
    request: Request
    at: float
    seen: bool = False
    answered: bool = False
    status: int | None = None

    @property
    def name(self) -> tuple[str, str, int]:
        return self.link, self.kind, self.number

    @property
    def doubtful(self) -> bool:
        """Return whether the client cannot know the result."""
        return self.fault in DOUBTFUL or not self.answered

    def __str__(self) -> str:
        told = "answered" if self.answered else "lost"
        came = f"seen, {self.status}" if self.seen else "not seen"
        return f"{self.at:8.3f} {self.link} {self.kind}#{self.number} {self.fault}: {came}, {told}"


class _Gone(Exception):
    """The other side is not there, or went away in the middle."""


@dataclass
class Proxy:
    """One link; `target` is the port behind it, None while nobody is there.

    `kind_of` names the kind of a request, `severity` is the share of faulty exchanges, and
    `waits` names kinds that may be under way for long without anything happening. `witness` is
    told of each exchange just before and just after its answer is given. `always` is done to every
    exchange, instead of what the seed says.
    """

    seed: int
    link: str
    kind_of: Callable[[Request], str]
    severity: float
    target: int | None = None
    waits: frozenset[str] = frozenset()
    always: Fault | None = None
    witness: Callable[[Point], None] = lambda _point: None
    exchanges: list[Exchange] = field(default_factory=list)
    under_way: list[Exchange] = field(default_factory=list)
    _counts: dict[str, int] = field(default_factory=dict)
    _next: asyncio.Event = field(default_factory=asyncio.Event)
    _serving: dict[asyncio.Task[None], None] = field(default_factory=dict)

    @property
    def busy(self) -> bool:
        return any(exchange.kind not in self.waits for exchange in self.under_way)

    def cut_all(self) -> None:
        """End every connection at once, on both sides."""
        for task in tuple(self._serving):
            task.cancel()

    @asynccontextmanager
    async def door(self) -> AsyncIterator[int]:
        """Listen on a port of its own until the block ends, and then cut what came by it."""
        tasks: dict[asyncio.Task[None], None] = {}  # in the order of coming, as all else here

        def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(self._serve(reader, writer))
            for group in (tasks, self._serving):
                group[task] = None
                task.add_done_callback(group.pop)
            task.add_done_callback(lambda _task: writer.close())

        server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=HEAD_LIMIT)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()
            for task in tuple(tasks):
                task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await read_request(reader)) is not None:
                exchange = self._begun(request)
                answer, cut = await self._exchange(exchange)
                self.witness((*exchange.name, BEFORE))
                writer.write(answer)
                await writer.drain()
                self.witness((*exchange.name, AFTER))
                if cut:
                    break
        except (_Gone, OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _begun(self, request: Request) -> Exchange:
        kind = self.kind_of(request)
        number = self._counts[kind] = self._counts.get(kind, 0) + 1
        fault = self._drawn(kind, number)
        now = asyncio.get_running_loop().time()
        exchange = Exchange(self.link, kind, number, fault, request, now)
        self.exchanges.append(exchange)
        return exchange

    async def _exchange(self, exchange: Exchange) -> tuple[bytes, bool]:
        """Return what the client is sent, and whether its connection is cut afterwards."""
        self.under_way.append(exchange)
        try:
            chance = self._chance(exchange.kind, exchange.number, "size")
            answer, cut = await self._deal(exchange, chance)
        finally:
            self.under_way.remove(exchange)
            self._next.set()
            self._next = asyncio.Event()
        exchange.answered = not cut
        return answer, cut

    def _drawn(self, kind: str, number: int) -> Fault:
        chance = self._chance(kind, number, "fault")
        if self.always:
            return self.always
        if chance.random() >= self.severity:
            return Fault.PASS
        faults, weights = zip(*MENUS[self.link, kind].items(), strict=True)
        return Fault(chance.choices(faults, weights)[0])

    def _chance(self, kind: str, number: int, use: str) -> Random:
        return Random(f"{self.seed}/{self.link}/{kind}/{number}/{use}")

    async def _deal(self, exchange: Exchange, chance: Random) -> tuple[bytes, bool]:
        ask = self._asker(exchange)
        match exchange.fault:
            case Fault.PASS:
                return await ask(), False
            case Fault.DELAY:
                await asyncio.sleep(chance.uniform(0, LONGEST_DELAY))
                answer = await ask()
                await asyncio.sleep(chance.uniform(0, LONGEST_DELAY))
                return answer, False
            case Fault.OVERTAKEN:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._next.wait(), HELD_SECONDS)
                return await ask(), False
            case Fault.TWICE:
                return await self._twice(ask, chance)
            case Fault.REFUSED | Fault.BROKEN | Fault.BROKEN_AFTER:
                if exchange.fault is Fault.BROKEN_AFTER:
                    await ask()
                return _refusal(exchange.fault, chance), False
            case _:
                return await self._cut(exchange.fault, ask, chance)

    async def _twice(
        self, ask: Callable[[], Awaitable[bytes]], chance: Random
    ) -> tuple[bytes, bool]:
        """Send it twice, at once or one after the other, and give one of the answers."""
        if chance.random() < 0.5:
            answers = list(await asyncio.gather(ask(), ask()))
        else:
            answers = [await ask(), await ask()]
        return chance.choice(answers), False

    async def _cut(
        self, fault: Fault, ask: Callable[[], Awaitable[bytes]], chance: Random
    ) -> tuple[bytes, bool]:
        answer = await ask() if fault in CUT.after else b""
        if fault in CUT.hanging:
            await asyncio.sleep(HANG_SECONDS)
        whole = fault is Fault.CUT_WITHIN
        return answer[: chance.randrange(1, len(answer))] if whole else b"", True

    def _asker(self, exchange: Exchange) -> Callable[[], Awaitable[bytes]]:
        async def ask() -> bytes:
            if self.target is None:
                raise _Gone
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.target)
            except OSError:
                raise _Gone from None
            try:
                writer.write(exchange.request.raw)
                exchange.seen = True
                answer = await read_answer(reader, exchange.request.method)
            except (OSError, asyncio.IncompleteReadError):
                raise _Gone from None
            finally:
                writer.close()
            exchange.status = int(answer.split(b" ", 2)[1])
            return answer

        return ask


def _refusal(fault: Fault, chance: Random) -> bytes:
    """Build the answer of something in between: a proxy in trouble, or a rate limit."""
    if fault is Fault.REFUSED:
        wait = chance.randrange(1, 6)
        body = (
            f'{{"ok":false,"error_code":429,"description":"Too Many Requests: retry after {wait}",'
            f'"parameters":{{"retry_after":{wait}}},"code":"rateLimited","message":"","info":[]}}'
        )
        return written("429 Too Many Requests", body, f"Retry-After: {wait}\r\n")
    body = chance.choice(["", "<html>Bad Gateway</html>", '{"ok":false,"error_code":502}'])
    return written(chance.choice(["502 Bad Gateway", "503 Service Unavailable"]), body)
