"""Exchange rates: the job that asks public sources, their median, and the rates for checkouts.

A rate is never a guess. The largest group of fresh sources that agree is used if it is a majority:
one broken source of three is left out, and if two sources contradict each other, nothing is sold.
The sandbox's rates are invented and marked as such on every payment.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import ROUND_UP, Context, Decimal, InvalidOperation
from functools import cache, partial
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias
from urllib.parse import unquote, urlsplit

import structlog

from bot.core import errors, exact_json
from bot.core.database import database
from bot.core.money import amounts
from bot.core.text import translations
from bot.service.requests import request

if TYPE_CHECKING:
    Pairs: TypeAlias = Iterable[tuple[Any, Any]]
    Prices: TypeAlias = Mapping[str, Decimal]

log = structlog.get_logger()

FRESH = 10 * 60_000
"""Milliseconds after which a price is no longer used."""

MOST_SPREAD = Decimal("0.02")
"""How far the highest price may exceed the lowest, as a fraction of the median."""

LEAST_SOURCES = 2
"""Minimum number of fresh sources, if that many are configured."""


@dataclass(frozen=True, slots=True)
class Price:
    """The price of one bitcoin at a source, read at `at` (epoch ms)."""

    source: str
    price: Decimal
    at: int


@dataclass(frozen=True, slots=True)
class Median:
    """The median price of one bitcoin."""

    price: Decimal
    sources: tuple[str, ...]
    at: int
    """Time of its oldest price, in epoch ms."""

    spread: Decimal
    """Distance between its highest and lowest price, as a fraction."""

    outliers: tuple[Price, ...] = ()
    """The fresh prices that are too far away to be included."""

    @property
    def agrees(self) -> bool:
        """True if the sources are close enough to each other to sell at the median."""
        return self.spread <= MOST_SPREAD

    @property
    def source(self) -> str:
        """Return the display names of its sources."""
        return translations.rate_source(self.sources)


def median(prices: Sequence[Price], now: int, configured: int) -> Median | None:
    """Return the median of the fresh prices that agree, or None if too few are fresh.

    If no majority agrees, return the median of all prices, whose `agrees` is False. `configured` is
    the number of sources that the operator configured. A price from the future counts as stale,
    because a clock was set back.
    """
    fresh = sorted((one for one in prices if abs(now - one.at) <= FRESH), key=lambda one: one.price)
    least = max(1, min(configured, LEAST_SOURCES))
    if len(fresh) < least:
        return None
    for size in range(len(fresh), max(least, len(fresh) // 2 + 1) - 1, -1):
        starts = range(len(fresh) - size + 1)
        groups = [_of_group(fresh, start, start + size) for start in starts]
        if agreed := [one for one in groups if one.agrees]:
            return min(agreed, key=lambda one: one.spread)
    return _of_group(fresh, 0, len(fresh))


def _of_group(fresh: Sequence[Price], start: int, end: int) -> Median:
    """Return the median of some of the sorted prices; the others are outliers."""
    group = fresh[start:end]
    low, high = group[(len(group) - 1) // 2].price, group[len(group) // 2].price
    middle = low if low == high else (low + high) / 2
    spread = (group[-1].price - group[0].price) / middle
    names = tuple(sorted(one.source for one in group))
    outliers = (*fresh[:start], *fresh[end:])
    return Median(middle, names, min(one.at for one in group), spread, outliers)


# Answers of public sources: the price of one bitcoin in many currencies. A source is recognized by
# the shape of its answer and named after its host. Implausible prices are left out.

BITCOIN, SATOSHI = "BTC", "SAT"
LEAST_PRICE, MOST_PRICE = Decimal("0.000001"), Decimal(10) ** 15
"""Bounds of a plausible price of one bitcoin, in any currency."""

LONGEST_PRICE = 40
"""Characters of a price, as text."""

_CONTEXT = Context(prec=26)
"""More digits than any source gives, but few enough for an exact mean of two prices."""

DEPTH = 10
_PREFIX = re.compile(r"^(api|www)\.")
_KRAKEN_PAIR = re.compile(r"XXBTZ([A-Z]{3})|XBT([A-Z]{3})")


def name_of(url: str) -> str:
    """Return the display name of a source: `https://api.coinbase.com/v2/…` is `coinbase.com`."""
    return _PREFIX.sub("", urlsplit(url).netloc.rpartition("@")[2].lower())


def read_prices(body: bytes) -> dict[str, Decimal]:
    """Return the price of one bitcoin by currency, at least one. Raises BadAnswer."""
    try:
        answer = exact_json.loads(body, depth=DEPTH)
    except exact_json.JsonError as error:
        raise errors.BadAnswer(f"no JSON: {error}") from None
    for shape in (_coinbase, _bitpay, _kraken, _yadio):
        pairs = shape(answer)
        if pairs is not None:
            break
    else:
        raise errors.BadAnswer("no known form of rates for BTC")
    known = amounts.currencies() - {BITCOIN, SATOSHI}
    prices = {}
    for code, value in pairs:
        if isinstance(code, str) and code in known:
            price = _price(value)
            if price is not None:
                prices[code] = price
    if not prices:
        raise errors.BadAnswer("no price of a known currency")
    return prices


def _price(value: Any) -> Decimal | None:
    """Return a plausible price, or None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | str | Decimal):
        return None
    text = str(value)
    if len(text) > LONGEST_PRICE:
        return None
    try:
        price = _CONTEXT.create_decimal(text)
    except InvalidOperation:
        return None
    return price if price.is_finite() and LEAST_PRICE <= price <= MOST_PRICE else None


def _coinbase(answer: Any) -> Pairs | None:
    """Read `{"data": {"currency": "BTC", "rates": {"EUR": "72000.1"}}}`."""
    data = _field(answer, "data", dict)
    rates = _field(data, "rates", dict)
    return rates.items() if rates and data.get("currency") == BITCOIN else None


def _bitpay(answer: Any) -> Pairs | None:
    """Read `{"data": [{"code": "EUR", "rate": 72000.1}]}`, or the list alone."""
    listed = answer if isinstance(answer, list) else _field(answer, "data", list)
    if not listed or not all(isinstance(one, dict) for one in listed):
        return None
    return [(one.get("code"), one.get("rate")) for one in listed]


def _kraken(answer: Any) -> Pairs | None:
    """Read `{"result": {"XXBTZEUR": {"c": ["72000.1", "0.0006"]}}}`; `c` is the last trade."""
    result = _field(answer, "result", dict)
    if not result:
        return None
    pairs = []
    for name, ticker in result.items():
        found, trade = _KRAKEN_PAIR.fullmatch(name), _field(ticker, "c", list)
        if found and trade:
            pairs.append((found[1] or found[2], trade[0]))
    return pairs


def _yadio(answer: Any) -> Pairs | None:
    """Read `{"BTC": {"EUR": 72000.1}, "base": "BTC"}`."""
    rates = _field(answer, BITCOIN, dict)
    return rates.items() if rates and answer.get("base", BITCOIN) == BITCOIN else None


def _field(value: Any, name: str, kind: type) -> Any:
    """Return a field of this type, or None if there is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, kind) else None


# Stored prices: the newest answer of each source.

INSERT_PRICE = """
    INSERT INTO exchange_rates (source, currency, price, at)
    VALUES (:source, :currency, :price, :at)
"""
FORGET_PRICES = "DELETE FROM exchange_rates WHERE source = :source"
NEWEST_ANSWER = "SELECT MAX(at) AS at FROM exchange_rates"
READ_PRICES = "SELECT source, currency, price, at FROM exchange_rates"


def store_prices(tx: database.Transaction, source: str, prices: Prices, now: int) -> None:
    """Store the prices of a source's answer, and delete its older prices."""
    tx.execute(FORGET_PRICES, source=source)
    for currency, price in prices.items():
        tx.execute(INSERT_PRICE, source=source, currency=currency, price=str(price), at=now)


def read_stored(tx: database.Transaction) -> dict[str, tuple[int, dict[str, Decimal]]]:
    """Return, for each source, when it answered last (epoch ms) and its prices."""
    found: dict[str, tuple[int, dict[str, Decimal]]] = {}
    for row in tx.query(READ_PRICES):
        _, prices = found.setdefault(row["source"], (row["at"], {}))
        prices[row["currency"]] = Decimal(row["price"])
    return found


def newest_answer(tx: database.Transaction) -> int | None:
    """Return when any source last answered (epoch ms), None if none has answered."""
    (row,) = tx.query(NEWEST_ANSWER)
    at: int | None = row["at"]
    return at


# Rates for checkouts.

RATE_DIGITS = 28
"""Significant digits of a rate, more than the largest amount needs."""

_DATA = Path(__file__).with_name("rates.json")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Exchange(Protocol):
    """Provides the exchange rates of checkouts."""

    def rate(self, denomination: str, instrument: str) -> request.ExchangeRate | None:
        """Return how many units of the instrument one unit of the denomination buys.

        Return None if both are the same currency. Raises MoneyError unknownCurrency. It is called
        within a transaction, so it does no I/O.
        """


class SandboxExchange:
    """The rates in `rates.json`, converted via the US dollar."""

    def rate(self, denomination: str, instrument: str) -> request.ExchangeRate | None:
        """Return the table's rate, which never changes."""
        if denomination == instrument:
            return None
        source, at, per_dollar = _table()
        for currency in (instrument, denomination):
            if currency not in per_dollar:
                message = f"No exchange rate of {currency[: amounts.MAX_TEXT]!r} is known here"
                raise errors.MoneyError("unknownCurrency", message)
        return request.ExchangeRate(
            crossed(per_dollar[instrument], per_dollar[denomination]), source, at
        )


@cache
def _table() -> tuple[str, int, dict[str, Decimal]]:
    """Return the source and time (epoch ms) of the rates, and the rates per US dollar."""
    data = json.loads(_DATA.read_text("utf-8"))
    at = (datetime.fromisoformat(data["at"]) - _EPOCH) // timedelta(milliseconds=1)
    per_dollar = {code: Decimal(price) for code, price in data["perDollar"].items()}
    return data["source"], at, per_dollar


def crossed(bought: Decimal, sold: Decimal) -> Decimal:
    """Divide two prices in the same currency, rounded up to RATE_DIGITS.

    If it were rounded down, a product of exactly a whole or half minor unit would fall below it.
    """
    context = Context(prec=RATE_DIGITS, rounding=ROUND_UP)
    return Decimal(f"{context.divide(bought, sold).normalize(context):f}")


BITCOIN_IN = {BITCOIN: Decimal(1), SATOSHI: Decimal(10**8)}
"""The value of one bitcoin in each currency that wallets pay."""


class StoredRates:
    """Converts prices to bitcoin at the median of the named sources; `now` in epoch ms.

    The job puts the prices into memory. Any thread may call this.
    """

    def __init__(self, sources: Sequence[str], now: Callable[[], int]) -> None:
        self._sources = tuple(sources)
        self._now = now
        self._prices: Mapping[str, tuple[int, Mapping[str, Decimal]]] = {}

    def replace(self, prices: Mapping[str, tuple[int, Mapping[str, Decimal]]]) -> None:
        """Replace the prices: by source, the time of the answer (epoch ms) and its prices."""
        self._prices = {name: prices[name] for name in self._sources if name in prices}

    def rate(self, denomination: str, instrument: str) -> request.ExchangeRate | None:
        """Return the value of one unit of a price's currency in bitcoin or satoshi.

        Raises MoneyError unknownCurrency if the rate is unknown or stale, if the sources are too
        far apart, and for any other instrument.
        """
        if denomination == instrument:
            return None
        units = BITCOIN_IN.get(instrument)
        if units is None:
            raise errors.MoneyError(
                "unknownCurrency", f"Nothing is converted to {instrument[: amounts.MAX_TEXT]}"
            )
        if denomination in BITCOIN_IN:
            return request.ExchangeRate(
                crossed(units, BITCOIN_IN[denomination]), translations.BY_DEFINITION, self._now()
            )
        found = self.median(denomination)
        if found is None or not found.agrees:
            source = denomination[: amounts.MAX_TEXT]
            message = f"No rate from {source} to {instrument} can be relied on now"
            raise errors.MoneyError("unknownCurrency", message)
        return request.ExchangeRate(crossed(units, found.price), found.source, found.at)

    def median(self, currency: str) -> Median | None:
        """Return the median price of one bitcoin, None if too few sources are fresh."""
        prices = [
            Price(source, known[currency], at)
            for source, (at, known) in self._prices.items()
            if currency in known
        ]
        return median(prices, self._now(), len(self._sources))

    def medians(self) -> dict[str, Median]:
        """Return the median of each currency with enough fresh sources."""
        currencies = sorted({code for _, known in self._prices.values() for code in known})
        return {code: found for code in currencies if (found := self.median(code))}

    def count_usable(self) -> int:
        """Return the number of currencies whose prices can be converted now."""
        return sum(1 for found in self.medians().values() if found.agrees)

    def outlying(self) -> dict[str, list[str]]:
        """Return the currencies in which the price is an outlier, by source."""
        found: dict[str, list[str]] = {name: [] for name in self._sources}
        for currency, agreed in self.medians().items():
            for outlier in agreed.outliers:
                found[outlier.source].append(currency)
        return found

    def answered(self) -> dict[str, int | None]:
        """Return when each source last answered (epoch ms), None if it never answered."""
        return {name: self._prices.get(name, (None, {}))[0] for name in self._sources}


# The job that keeps the rates fresh. Prices are stored, so that a restarted process has prices. One
# replica asks the sources, and all replicas read the stored prices.

SHORTEST_WAIT, LONGEST_WAIT = 60.0, 120.0
"""Seconds between two rounds, chosen at random: many installations ask the same sources."""

READ_SECONDS = 60.0
"""Seconds between two reads of another replica's prices, far less than prices stay fresh."""

QUIET = 3_600_000
"""Milliseconds that prices must agree before another disagreement is logged."""

RECENT = 55_000
"""Milliseconds for which a source isn't asked after another process asked it."""

CALL_SECONDS = 10.0
"""Limit of a call, however slowly the answer comes."""

LONGEST_ANSWER = 256 * 1024
"""Bytes; the longest answer of a known source has some 30,000."""


class RatesJob:
    """Asks the sources at `urls` and hands their prices to `rates`; `now` in epoch ms."""

    def __init__(
        self,
        db: database.Database,
        rates: StoredRates,
        urls: Iterable[str],
        now: Callable[[], int],
    ) -> None:
        self._db = db
        self._rates = rates
        self._urls = {name_of(url): url for url in urls}
        self._now = now
        self._failing: set[str] = set()
        # By source ("" for all): the currencies in which it disagrees, and the last time it did.
        self._disagreeing: dict[str, tuple[set[str], int]] = {}
        rates.replace(db.run(read_stored))

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
        self._rates.replace(await self._db.read(read_stored))

    async def tick(self) -> None:
        """Ask all sources not asked in the last minute, simultaneously. Raises StorageError."""
        stored = await self._db.read(read_stored)
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
        replace = partial(store_prices, source=name, prices=prices, now=self._now())
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
    from bot.core.net import http_client  # noqa: PLC0415 - commands don't need it

    client, parts = http_client.web_client(http_client.proxy_for(url)), urlsplit(url)
    headers = {"Accept": "application/json"}
    if parts.username is not None:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Authorization"] = f"Basic {b64encode(login.encode()).decode()}"
    body = bytearray()
    try:
        # A new client, because a connection would not last from minute to minute.
        async with (
            asyncio.timeout(CALL_SECONDS),
            client,
            await client.send("GET", url, headers, seconds=CALL_SECONDS) as answer,
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
        raise errors.Unreachable(f"no answer within {CALL_SECONDS:.0f} seconds") from None
    except errors.Unreachable as error:
        raise errors.Unreachable(f"not reached: {error}") from None
    return read_prices(bytes(body))
