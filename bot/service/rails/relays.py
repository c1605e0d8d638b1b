"""Connections to relays: few, shared, and closed when idle."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from urllib.parse import urlsplit

import nostr_sdk
import structlog

from bot.core import errors
from bot.core.net import webhook_addresses
from bot.service.rails import relay_connection

ASKS_PER_CONNECTION = 16
"""Simultaneous asks on a connection: relays commonly allow twenty subscriptions."""

MOST_CONNECTIONS = 200
"""Simultaneous connections to all relays: about 200 MiB if all send their largest message."""

ZONE_CONNECTIONS = 40
"""Simultaneous connections to one zone, whose owner can invent any number of silent relays."""

IDLE_SECONDS = 30.0
"""Seconds without an ask after which a connection is closed."""

NOISY_SECONDS = 300.0
"""Seconds for which a wallet isn't asked at a relay after it sent too much."""

log = structlog.get_logger()


def zone_of(url: str) -> str:
    """Return the zone of a relay's host."""
    return webhook_addresses.zone_of(urlsplit(url).hostname or "")


class Relays:
    """Asks relays over shared connections."""

    def __init__(self, dial: relay_connection.Dial, idle: float = IDLE_SECONDS) -> None:
        self._dial = dial
        self._idle = idle
        self._open: dict[str, list[relay_connection.RelayConnection]] = {}
        self._ends: dict[relay_connection.RelayConnection, asyncio.TimerHandle] = {}
        # By relay and wallet key: until when the wallet isn't asked there, oldest first.
        self._noisy: dict[tuple[str, str], float] = {}

    @property
    def connections(self) -> int:
        return sum(map(len, self._open.values()))

    @asynccontextmanager
    async def asking(
        self,
        urls: Sequence[str],
        wallet: str,
        where: nostr_sdk.Filter,
        event: nostr_sdk.Event | None = None,
    ) -> AsyncIterator[asyncio.Queue[relay_connection.Heard]]:
        """Ask several relays about a wallet until the block ends; yield the queue of answers.

        An unreachable relay yields a Refusal.
        """
        ask = relay_connection.Ask(wallet, where, event, asyncio.Queue(relay_connection.MOST_HEARD))
        tasks = [asyncio.create_task(self._ask(url, ask)) for url in urls]
        try:
            yield ask.heard
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def close(self) -> None:
        """Close all connections."""
        for timer in self._ends.values():
            timer.cancel()
        tasks = [connection.task for each in self._open.values() for connection in each]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _ask(self, url: str, ask: relay_connection.Ask) -> None:
        try:
            connection = self._connection(url, ask.wallet)
            connection.asks += 1
            try:
                await connection.ask(ask)
            finally:
                connection.asks -= 1
                self._end_when_idle(connection)
        except errors.Unreachable as error:
            ask.tell(relay_connection.Refusal(url, str(error)))

    def _connection(self, url: str, wallet: str) -> relay_connection.RelayConnection:
        """Return a connection with room for an ask. Raises Unreachable."""
        if self._noisy.get((url, wallet), 0) > asyncio.get_running_loop().time():
            raise errors.Unreachable(relay_connection.NOISE)
        for connection in self._open.get(url, ()):
            if connection.usable and connection.asks < ASKS_PER_CONNECTION:
                if timer := self._ends.pop(connection, None):
                    timer.cancel()
                return connection
        self._make_room(zone_of(url))
        connection = relay_connection.RelayConnection(url, self._dial, partial(self._silence, url))
        self._open.setdefault(url, []).append(connection)
        connection.task.add_done_callback(lambda _: self._forget(connection))
        return connection

    def _silence(self, url: str, wallet: str) -> None:
        """Stop asking a wallet at a relay for a while; other wallets are not affected."""
        now = asyncio.get_running_loop().time()
        self._noisy = {known: until for known, until in self._noisy.items() if until > now}
        self._noisy[url, wallet] = now + NOISY_SECONDS
        for connection in self._open.get(url, ()):
            connection.silence(wallet)
        host = urlsplit(url).hostname
        log.warning("a wallet sends too much", relay=host, wallet=wallet, seconds=NOISY_SECONDS)

    def _make_room(self, zone: str) -> None:
        """Make room for a connection to a zone. Raises Unreachable if all are in use."""
        of_zone = sum(len(each) for url, each in self._open.items() if zone_of(url) == zone)
        if of_zone >= ZONE_CONNECTIONS:
            self._end_an_idle_one(one for one in self._ends if zone_of(one.url) == zone)
        elif self.connections >= MOST_CONNECTIONS:
            self._end_an_idle_one(iter(self._ends))

    def _end_an_idle_one(self, idles: Iterator[relay_connection.RelayConnection]) -> None:
        """End the connection that has been idle longest. Raises Unreachable if there is none."""
        idle = next(idles, None)
        if idle is None:
            raise errors.Unreachable("too many relays are connected")
        self._ends.pop(idle).cancel()
        idle.end("another relay is needed")

    def _end_when_idle(self, connection: relay_connection.RelayConnection) -> None:
        if connection.usable and not connection.asks:
            later = asyncio.get_running_loop().call_later
            self._ends[connection] = later(self._idle, connection.end, "idle")

    def _forget(self, connection: relay_connection.RelayConnection) -> None:
        if timer := self._ends.pop(connection, None):
            timer.cancel()
        self._open[connection.url].remove(connection)
        if not self._open[connection.url]:
            del self._open[connection.url]
