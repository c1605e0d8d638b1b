"""The exchange of RATES_URLS: how prices become what payers pay, and the figures about it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bot.config import RATES_TABLE
from bot.core.ops.metrics import Gauge
from bot.service.model.payout import BANK
from bot.service.rails.exchange_rates import SandboxExchange
from bot.service.rates import sources
from bot.service.rates.rates_job import RatesJob
from bot.service.rates.stored_rates import StoredRates

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bot.config import Settings
    from bot.core.database.database import Database
    from bot.service.rails.exchange_rates import Exchange


class ExchangeSide:
    """The exchange of this installation; `job` asks public sources, None if nobody needs them.

    Test money and RATES_URLS=table use the packaged table; banks alone convert nothing.
    """

    def __init__(self, settings: Settings, db: Database, now: Callable[[], int]) -> None:
        self.job: RatesJob | None = None
        self.gauges: tuple[Gauge, ...] = ()
        if settings.test_money or settings.rates_urls == (RATES_TABLE,):
            self.exchange: Exchange = SandboxExchange()
            return
        urls = settings.rates_urls if asks_sources(settings) else ()
        stored = StoredRates([sources.name_of(url) for url in urls], now)
        self.exchange = stored
        if urls:
            self.job, self.gauges = RatesJob(db, stored, urls, now), _gauges(stored, now)


def asks_sources(settings: Settings) -> bool:
    """Return whether prices are converted at the rates of public sources."""
    converts = not settings.test_money and set(settings.rails) != {BANK}
    return converts and settings.rates_urls != (RATES_TABLE,)


def _gauges(stored: StoredRates, now: Callable[[], int]) -> tuple[Gauge, ...]:
    def ages() -> Mapping[tuple[str, ...], float]:
        return {
            (source,): math.inf if at is None else (now() - at) / 1000
            for source, at in stored.answered().items()
        }

    return (
        Gauge(
            "exchange_rates_age_seconds",
            "Age of a source's newest exchange rates; infinite if it has never answered.",
            ("source",),
            ages,
        ),
        Gauge(
            "exchange_rates_usable_currencies",
            "Currencies whose prices can be converted now: fresh sources agree. 0: none can.",
            (),
            lambda: {(): stored.count_usable()},
        ),
        Gauge(
            "exchange_rates_outlying_currencies",
            "Currencies in which a source is too far from the others, and is not used.",
            ("source",),
            lambda: {(source,): len(codes) for source, codes in stored.outlying().items()},
        ),
    )
