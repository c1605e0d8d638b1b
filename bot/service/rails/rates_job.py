"""The job that keeps exchange rates fresh: it asks each source every minute or two.

Prices are stored, so that a restarted process has prices. One replica asks the sources, and all
replicas read the stored prices.
"""

from __future__ import annotations

import asyncio
import random
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterable
from decimal import Decimal
from functools import partial
from http import HTTPStatus
from urllib.parse import unquote, urlsplit

import structlog

from bot.core import errors
from bot.core.database import database
from bot.core.net import http_client
from bot.service.rails import exchange_rates

log = structlog.get_logger()

SHORTEST_WAIT, LONGEST_WAIT = 60.0, 120.0
"""Seconds between two rounds, chosen at random: many installations ask the same sources."""

READ_SECONDS = 60.0
"""Seconds between two reads of another replica's prices, far less than prices stay fresh."""

QUIET = 3_600_000
"""Milliseconds that prices must agree before another disagreement is logged."""

RECENT = 55_000
"""Milliseconds for which a source isn't asked after another process asked it."""

SECONDS = 10.0
"""Limit of a call, however slowly the answer comes."""

LONGEST_ANSWER = 256 * 1024
"""Bytes; the longest answer of a known source has some 30,000."""


class RatesJob:
    """Asks the sources at `urls` and hands their prices to `rates`; `now` in epoch ms."""

    def __init__(
        self,
        db: database.Database,
        rates: exchange_rates.StoredRates,
        urls: Iterable[str],
        now: Callable[[], int],
    ) -> None:
        self._db = db
        self._rates = rates
        self._urls = {exchange_rates.name_of(url): url for url in urls}
        self._now = now
        self._failing: set[str] = set()
        # By source ("" for all): the currencies in which it disagrees, and the last time it did.
        self._disagreeing: dict[str, tuple[set[str], int]] = {}
        rates.replace(db.run(exchange_rates.read_stored))

    async def run(self) -> None:
        """Ask the sources until cancelled; an error is a line in the log."""
        while True:
            await _attempt(self.tick)
            await asyncio.sleep(random.uniform(SHORTEST_WAIT, LONGEST_WAIT))  # noqa: S311 - no secret

    async def follow(self) -> None:
        """Read another replica's prices until cancelled, without asking the sources."""
        while True:
            await asyncio.sleep(READ_SECONDS)
            await _attempt(self.read)

    async def read(self) -> None:
        """Use the stored prices. Raises StorageError."""
        self._rates.replace(await self._db.read(exchange_rates.read_stored))

    async def tick(self) -> None:
        """Ask all sources not asked in the last minute, simultaneously. Raises StorageError."""
        stored = await self._db.read(exchange_rates.read_stored)
        self._rates.replace(stored)
        due = [
            name
            for name in self._urls
            if name not in stored or abs(self._now() - stored[name][0]) > RECENT
        ]
        await asyncio.gather(*map(self._refresh, due))
        await self.read()
        self._log_disagreements()

    async def _refresh(self, name: str) -> None:
        """Ask one source and store its prices; log its first failure, and its recovery."""
        try:
            prices = await fetch_prices(self._urls[name])
        except errors.PeerError as error:
            if name not in self._failing:
                log.warning("no exchange rates from a source", source=name, reason=str(error))
            self._failing.add(name)
            return
        replace = partial(exchange_rates.store_prices, source=name, prices=prices, now=self._now())
        await self._db.transaction(replace)
        if name in self._failing:
            log.info("exchange rates from a source again", source=name)
            self._failing.remove(name)

    def _log_disagreements(self) -> None:
        """Log each unused price and each currency that can't be converted, once."""
        medians = self._rates.medians()
        disputed = [code for code, median in medians.items() if not median.agrees]
        for source, currencies in {**self._rates.outlying(), "": disputed}.items():
            known, since = self._disagreeing.get(source, (set(), 0))
            if currencies:
                self._disagreeing[source] = (known | set(currencies), self._now())
            elif known and self._now() - since > QUIET:
                del self._disagreeing[source]
                log.info("exchange rates agree again", source=source or "all")
            if not (news := [code for code in currencies if code not in known]):
                continue
            if source:
                median = medians[news[0]]
                (price,) = [one.price for one in median.outliers if one.source == source]
                log.warning(
                    "a source of exchange rates is too far from the others, and not used",
                    source=source,
                    currencies=news,
                    example=f"1 BTC is {price:f} {news[0]}, for others {median.price:f}",
                )
            else:
                log.warning("exchange rates are too far apart to convert", currencies=news)


async def _attempt(work: Callable[[], Awaitable[None]]) -> None:
    try:
        await work()
    except errors.StorageError as error:
        log.debug("exchange rates wait", reason=str(error))
    except Exception:
        log.exception("exchange rates wait")


async def fetch_prices(url: str) -> dict[str, Decimal]:
    """Return a source's price of one bitcoin by currency. Raises PeerError."""
    client, parts = http_client.web_client(http_client.proxy_for(url)), urlsplit(url)
    headers = {"Accept": "application/json"}
    if parts.username is not None:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Authorization"] = f"Basic {b64encode(login.encode()).decode()}"
    body = bytearray()
    try:
        # A new client, because a connection would not last from minute to minute.
        async with (
            asyncio.timeout(SECONDS),
            client,
            await client.send("GET", url, headers, seconds=SECONDS) as answer,
        ):
            if answer.status != HTTPStatus.OK:
                raise errors.BadAnswer(f"it answered {answer.status}")
            if answer.headers.get("content-encoding", "identity") != "identity":
                raise errors.BadAnswer("its answer is compressed")
            async for chunk in answer.chunks():
                body += chunk
                if len(body) > LONGEST_ANSWER:
                    raise errors.BadAnswer(f"its answer is longer than {LONGEST_ANSWER} bytes")
    except TimeoutError:
        raise errors.Unreachable(f"no answer within {SECONDS:.0f} seconds") from None
    except errors.Unreachable as error:
        raise errors.Unreachable(f"not reached: {error}") from None
    return exchange_rates.read_prices(bytes(body))
