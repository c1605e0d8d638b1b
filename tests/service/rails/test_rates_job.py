"""The job of exchange rates: sources over real HTTP, some of which lie or are down."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from decimal import Decimal

import pytest
from structlog.testing import capture_logs

from bot.core.database.database import Database
from bot.core.errors import MoneyError, StorageError
from bot.core.text.translations import BY_DEFINITION
from bot.service.rails import exchange_rates
from bot.service.rails.exchange_rates import FRESH, LONGEST_ANSWER, RatesJob, StoredRates
from bot.service.requests.request import ExchangeRate
from tests.support.rate_sources import RateSource, coinbase, kraken, serve_sources, yadio
from tests.support.service_harness import Clock

THREE = (coinbase(EUR="72000", USD="80000"), kraken(EUR="72100"), yadio(EUR="72200", USD="80800"))
HOUR = 3600


class Exchange:
    """The rates of sources, and the job that asks them."""

    def __init__(self, db: Database, clock: Clock, found: list[RateSource]) -> None:
        self.sources = found
        urls = [one.url for one in found]
        self.rates = StoredRates([exchange_rates.name_of(url) for url in urls], clock)
        self.job = RatesJob(db, self.rates, urls, clock)

    def euro(self) -> ExchangeRate | None:
        """Return the satoshi that a euro buys, None if that is unknown."""
        with suppress(MoneyError):
            return self.rates.rate("EUR", "SAT")
        return None


@asynccontextmanager
async def exchange(db: Database, clock: Clock, *bodies: bytes) -> AsyncIterator[Exchange]:
    async with serve_sources(*bodies or THREE) as found:
        yield Exchange(db, clock, found)


async def test_prices_are_converted_at_the_median_of_the_sources(
    db: Database, clock: Clock
) -> None:
    async with exchange(db, clock) as rates:
        assert rates.euro() is None
        await rates.job.tick()
        found = rates.euro()
        names = sorted(one.name for one in rates.sources)
    assert found
    assert found.source == f"median of {names[0]}, {names[1]} and {names[2]}"
    assert found.at == clock()
    assert abs(found.rate * 72100 - 10**8) < Decimal("1e-18")
    bitcoin = rates.rates.rate("USD", "BTC")
    assert bitcoin
    assert abs(bitcoin.rate * 80400 - 1) < Decimal("1e-20")


async def test_bitcoin_and_satoshi_need_no_source(db: Database, clock: Clock) -> None:
    async with exchange(db, clock) as rates:
        stored = rates.rates
    assert stored.rate("BTC", "SAT") == ExchangeRate(Decimal(10**8), BY_DEFINITION, clock())
    assert stored.rate("SAT", "BTC") == ExchangeRate(Decimal("1e-8"), BY_DEFINITION, clock())
    assert stored.rate("EUR", "EUR") is None
    assert stored.rate("SAT", "SAT") is None


@pytest.mark.parametrize(("denomination", "instrument"), [("EUR", "USD"), ("BTC", "EUR")])
async def test_nothing_is_converted_to_other_currencies(
    db: Database, clock: Clock, denomination: str, instrument: str
) -> None:
    async with exchange(db, clock) as rates:
        await rates.job.tick()
    with pytest.raises(MoneyError) as refused:
        rates.rates.rate(denomination, instrument)
    assert refused.value.reason == "unknownCurrency"


async def test_rates_older_than_ten_minutes_sell_nothing(db: Database, clock: Clock) -> None:
    async with exchange(db, clock) as rates:
        await rates.job.tick()
    clock.advance(FRESH / 1000)
    assert rates.euro()
    clock.advance(1)
    assert rates.euro() is None


async def test_two_sources_too_far_apart_sell_nothing(db: Database, clock: Clock) -> None:
    async with exchange(db, clock, THREE[0], yadio(EUR="80000", USD="80800")) as rates:
        with capture_logs() as logs:
            for _ in range(3):
                await rates.job.tick()
                clock.advance(90)
        assert rates.euro() is None
        found = rates.rates.median("EUR")
        assert found
        assert not found.agrees
        assert rates.rates.rate("USD", "SAT")
    assert logs == [
        {
            "event": "exchange rates are too far apart to convert",
            "log_level": "warning",
            "currencies": ["EUR"],
        }
    ]


@pytest.mark.parametrize("price", ["720000", "7200", "7200000000000", "0.00072", "74000"])
async def test_one_wrong_source_of_three_is_left_out_and_named(
    db: Database, clock: Clock, price: str
) -> None:
    async with exchange(db, clock) as rates:
        wrong, truth = rates.sources[1], rates.sources[1].body
        wrong.body = kraken(EUR=price)
        with capture_logs() as logs:
            for _ in range(3):
                await rates.job.tick()
                clock.advance(90)
        found = rates.euro()
        names = sorted(one.name for one in (rates.sources[0], rates.sources[2]))
        assert found
        assert found.source == f"median of {names[0]} and {names[1]}"
        assert abs(found.rate * 72100 - 10**8) < Decimal("1e-18")
        assert rates.rates.outlying() == {wrong.name: ["EUR"]} | {name: [] for name in names}
        (line,) = logs
        assert (line["log_level"], line["source"], line["currencies"]) == (
            "warning",
            wrong.name,
            ["EUR"],
        )
        assert line["example"] == f"1 BTC is {price} EUR, for others 72100"
        wrong.body = truth
        with capture_logs() as logs:
            await rates.job.tick()
            clock.advance(HOUR)
            await rates.job.tick()
    assert [(line["log_level"], line["source"]) for line in logs] == [("info", wrong.name)]


async def test_one_source_down_is_no_error_two_are(db: Database, clock: Clock) -> None:
    async with exchange(db, clock) as rates:
        rates.sources[0].status = 503
        await rates.job.tick()
        assert rates.euro()
        clock.advance(HOUR)
        rates.sources[1].status = 503
        await rates.job.tick()
        assert rates.euro() is None


async def test_a_restart_goes_on_with_stored_rates(db: Database, clock: Clock) -> None:
    async with exchange(db, clock) as rates:
        await rates.job.tick()
        again = Exchange(db, clock, rates.sources)
        assert again.euro() == rates.euro()
        await again.job.tick()
        assert [one.asked for one in rates.sources] == [1, 1, 1]  # recent ones are not asked again


async def test_rates_that_another_process_stored_are_taken_over(db: Database, clock: Clock) -> None:
    async with exchange(db, clock) as rates:
        other = Exchange(db, clock, rates.sources)
        await other.job.tick()
        await rates.job.tick()
        assert [one.asked for one in rates.sources] == [1, 1, 1]
        assert rates.euro() == other.euro()


async def test_a_replica_that_does_not_ask_follows_the_one_that_does(
    db: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes on after an outage of the database too."""
    monkeypatch.setattr(exchange_rates, "READ_SECONDS", 0)
    async with exchange(db, clock) as asking:
        follower = Exchange(db, clock, asking.sources)
        outages: list[Exception] = [StorageError("away"), ValueError("strange")]
        followed, read = asyncio.Event(), follower.job.read

        async def read_later() -> None:
            if outages:
                raise outages.pop()
            await read()
            followed.set()

        monkeypatch.setattr(follower.job, "read", read_later)
        await asking.job.tick()
        assert follower.euro() is None
        following = asyncio.create_task(follower.job.follow())
        await followed.wait()
        following.cancel()
        assert follower.euro() == asking.euro()
        assert [one.asked for one in asking.sources] == [1, 1, 1]


async def test_a_source_that_is_no_longer_configured_has_no_say(db: Database, clock: Clock) -> None:
    async with exchange(db, clock) as rates:
        await rates.job.tick()
        fewer = Exchange(db, clock, rates.sources[:2])
        found = fewer.euro()
    assert found
    assert rates.sources[2].name not in found.source


HUGE = b'{"BTC": {"EUR": 1, "x": "' + b"x" * LONGEST_ANSWER + b'"}}'
FALSE_ANSWERS = {
    "NaN": (200, {}, b'{"BTC": {"EUR": NaN}, "base": "BTC"}'),
    "no prices": (200, {}, b"{}"),
    "a page": (200, {}, b"<html>Down for maintenance</html>"),
    "a huge body": (200, {}, HUGE),
    "a redirect": (302, {"location": "http://127.0.0.1:1/"}, b""),
    "an error": (500, {}, THREE[0]),
    "a compressed body": (200, {"content-encoding": "gzip"}, b"\x1f\x8b\x08"),
}


@pytest.mark.parametrize("false_answer", FALSE_ANSWERS)
async def test_a_lying_source_is_left_out_and_named_once(
    db: Database, clock: Clock, false_answer: str
) -> None:
    async with exchange(db, clock) as rates:
        liar = rates.sources[0]
        truth = liar.body
        liar.status, liar.headers, liar.body = FALSE_ANSWERS[false_answer]
        with capture_logs() as logs:
            for _ in range(3):
                await rates.job.tick()
                clock.advance(90)
            liar.status, liar.headers, liar.body = 200, {}, truth
            await rates.job.tick()
        found = rates.euro()
    assert found
    events = [(line["log_level"], line["source"]) for line in logs]
    assert events == [("warning", liar.name), ("info", liar.name)]
    assert liar.asked == 4


async def test_a_source_that_drips_is_given_up(
    db: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange_rates, "CALL_SECONDS", 0)
    async with exchange(db, clock) as rates:
        await rates.job.tick()
        assert rates.euro() is None
    assert set(rates.rates.answered().values()) == {None}


async def test_no_password_of_an_address_is_logged(db: Database, clock: Clock) -> None:
    async with exchange(db, clock) as rates:
        rates.job._urls = {"x": rates.sources[0].url.replace("//", "//user:hidden@")}
        rates.sources[0].status = 401
        with capture_logs() as logs:
            await rates.job.tick()
    assert logs
    assert "hidden" not in str(logs)
