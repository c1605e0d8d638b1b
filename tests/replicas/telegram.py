"""The strict Telegram of a proof: one world with Telegram's limits, a port of it for each replica.

So what a replica asked for can be told from what the others did.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from starlette.applications import Starlette

from bot.sandbox.web.server import routes
from bot.sandbox.world.world import Call, World
from tests.support.asgi_server import serve_asgi

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from bot.sandbox.world.errors import Limits


TOO_MANY = 429
KEEP_ALIVE_SECONDS = 75
"""As Telegram's own server: one that hangs up sooner than its clients loses answers."""

PACED = {
    *("sendMessage", "sendPhoto", "sendDocument", "editMessageText", "editMessageCaption"),
    *("editMessageMedia", "editMessageReplyMarkup"),
}
"""The methods that Telegram's limits count."""


@dataclass(slots=True)
class StrictTelegram:
    """A Bot API server under way; `asked` has time, replica and method of each call."""

    world: World
    urls: list[str] = field(default_factory=list)
    asked: list[tuple[float, int, str]] = field(default_factory=list)

    @property
    def refused(self) -> int:
        """Return how many calls Telegram's limits refused."""
        return sum(call.code == TOO_MANY for call in self.world.refused)

    def busiest_second(self) -> int:
        """Return the most messages in any second, all chats together."""
        return most_within(1.0, [call.time for call in self.paced()])

    def busiest_chat(self, burst: int) -> float:
        """Return the shortest time in which a chat got one message more than its burst."""
        times: defaultdict[object, list[float]] = defaultdict(list)
        for call in self.paced():
            times[call.params.get("chat_id")].append(call.time)
        return min((shortest(sorted(of_chat), burst) for of_chat in times.values()), default=1e9)

    def paced(self) -> list[Call]:
        """Return the accepted calls that the limits count."""
        return self.world.calls_of(*PACED)

    def recorder(self, replica: int) -> ASGIApp:
        """Return the Bot API as an application that notes what this replica asks for."""
        app = Starlette(routes=routes(self.world))

        async def recorded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                method = scope["path"].rpartition("/")[2]
                self.asked.append((time.time(), replica, method))
            await app(scope, receive, send)

        return recorded


def most_within(seconds: float, times: Iterable[float]) -> int:
    """Return the most of these times that lie within so many seconds."""
    ordered, first, most = sorted(times), 0, 0
    for place, at in enumerate(ordered):
        while at - ordered[first] >= seconds:
            first += 1
        most = max(most, place - first + 1)
    return most


def shortest(ordered: Sequence[float], burst: int) -> float:
    """Return the shortest time from a message to the one after a burst that it begins."""
    spans = zip(ordered, ordered[burst:], strict=False)
    return min((later - earlier for earlier, later in spans), default=1e9)


def counted(calls: Iterable[Call]) -> Counter[str]:
    """Return how often each method was called."""
    return Counter(call.method for call in calls)


@asynccontextmanager
async def strict_telegram(
    replicas: int, limits: Limits | None = None
) -> AsyncIterator[StrictTelegram]:
    """Serve a new world, with Telegram's own limits unless others are given."""
    telegram = StrictTelegram(World(limits=limits))
    async with AsyncExitStack() as stack:
        for number in range(replicas):
            served = serve_asgi(telegram.recorder(number), keep_alive=KEEP_ALIVE_SECONDS)
            telegram.urls.append(await stack.enter_async_context(served))
        try:
            yield telegram
        finally:
            await telegram.world.close()
