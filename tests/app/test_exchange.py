"""The exchange that RAILS and RATES_URLS ask for, and its figures in /metrics."""

from __future__ import annotations

import pytest

from bot.app.service_side import ExchangeSide
from bot.config import Settings
from bot.core.database.database import Database
from bot.core.errors import MoneyError
from bot.core.ops.metrics import Metrics
from bot.service.rails.exchange_rates import SandboxExchange, StoredRates
from tests.support.rate_sources import coinbase, kraken, serve_sources, yadio
from tests.support.service_harness import Clock


def side(db: Database, clock: Clock, rails: str, urls: str) -> ExchangeSide:
    return ExchangeSide(Settings(_env_file=None, rails=rails, rates_urls=urls), db, clock)


@pytest.mark.parametrize(
    ("rails", "urls"), [("sandbox", "https://a.example.com"), ("lightning,bank", "table")]
)
def test_test_money_and_the_packaged_table_ask_nobody(db: Database, rails: str, urls: str) -> None:
    made = side(db, Clock(), rails, urls)
    assert isinstance(made.exchange, SandboxExchange)
    assert (made.job, made.gauges) == (None, ())


def test_banks_alone_ask_nobody_and_convert_nothing(db: Database) -> None:
    made = side(db, Clock(), "bank", "https://a.example.com")
    assert (made.job, made.gauges) == (None, ())
    with pytest.raises(MoneyError):
        made.exchange.rate("EUR", "SAT")


async def test_metrics_show_the_age_of_each_source_and_what_can_be_converted(
    db: Database,
) -> None:
    clock = Clock()
    async with serve_sources(coinbase(EUR="5", USD="6"), yadio(EUR="5", USD="9")) as found:
        made = side(db, clock, "lightning", ",".join(one.url for one in found))
        assert isinstance(made.exchange, StoredRates)
        assert made.job
        found[1].status = 500
        await made.job.tick()
        clock.advance(70)
        metrics = Metrics(db, clock, (), gauges=[*made.gauges])
        text = (await metrics.render()).decode()
        assert f'exchange_rates_age_seconds{{source="{found[0].name}"}} 70.0' in text
        assert f'exchange_rates_age_seconds{{source="{found[1].name}"}} +Inf' in text
        assert "exchange_rates_usable_currencies 0.0" in text
        found[1].status = 200
        await made.job.tick()
        assert "exchange_rates_usable_currencies 1.0" in (await metrics.render()).decode()


async def test_metrics_count_the_currencies_in_which_a_source_is_not_used(db: Database) -> None:
    bodies = (coinbase(EUR="5", USD="6"), yadio(EUR="5", USD="6"), kraken(EUR="50", USD="6"))
    async with serve_sources(*bodies) as found:
        made = side(db, Clock(), "lightning", ",".join(one.url for one in found))
        assert made.job
        await made.job.tick()
        text = (await Metrics(db, Clock(), (), gauges=[*made.gauges]).render()).decode()
    for one, number in zip(found, ("0.0", "0.0", "1.0"), strict=True):
        assert f'exchange_rates_outlying_currencies{{source="{one.name}"}} {number}' in text
    assert "exchange_rates_usable_currencies 2.0" in text
