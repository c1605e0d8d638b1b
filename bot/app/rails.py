"""Building the rails that RAILS names from the settings."""

# A rail is imported where it is built: one that isn't used would take memory and time.
# ruff: noqa: PLC0415

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from bot import config
from bot.core.database import database
from bot.core.net import webhook_addresses
from bot.core.ops import metrics
from bot.interface import vocabulary
from bot.service.rails import exchange_rates, host_calls, rail


def build_rails(
    settings: config.Settings, now: Callable[[], int], calls: host_calls.HostCalls | None = None
) -> rail.Rails:
    """Build the rails of all kinds that the settings name; without `calls`, for reading only."""
    return rail.Rails(*(_build(kind, settings, now, calls) for kind in settings.rails))


def _build(
    kind: str,
    settings: config.Settings,
    now: Callable[[], int],
    calls: host_calls.HostCalls | None,
) -> rail.Rail:
    """Import and build a rail."""
    allow = webhook_addresses.AllowList.parse(settings.rail_allow)
    match kind:
        case vocabulary.SANDBOX:
            return rail.SandboxRail()
        case vocabulary.BANK:
            from bot.service.rails import bank

            return bank.BankRail()
        case vocabulary.LIGHTNING:
            from bot.service.rails import lightning

            return lightning.LightningAddressRail(allow, now, calls)
        case vocabulary.LNBITS:
            from bot.service.rails import lnbits

            return lnbits.LNbitsRail(allow, now, calls)
        case vocabulary.NWC:
            from bot.service.rails import nwc

            return nwc.NwcRail(allow, now, calls)
    raise KeyError(kind)


class ExchangeSide:
    """The exchange of this installation; `job` asks public sources, None if no rates are needed.

    Test money and RATES_URLS=table use the packaged table. With bank accounts only, nothing is
    converted.
    """

    def __init__(
        self, settings: config.Settings, db: database.Database, now: Callable[[], int]
    ) -> None:
        self.job: exchange_rates.RatesJob | None = None
        self.gauges: tuple[metrics.Gauge, ...] = ()
        if settings.test_money or settings.rates_urls == (config.RATES_TABLE,):
            self.exchange: exchange_rates.Exchange = exchange_rates.SandboxExchange()
            return
        urls = settings.rates_urls if asks_sources(settings) else ()
        stored = exchange_rates.StoredRates([exchange_rates.name_of(url) for url in urls], now)
        self.exchange = stored
        if urls:
            self.job, self.gauges = (
                exchange_rates.RatesJob(db, stored, urls, now),
                _gauges(stored, now),
            )


def asks_sources(settings: config.Settings) -> bool:
    """True if prices are converted at the rates of public sources."""
    converts = not settings.test_money and set(settings.rails) != {vocabulary.BANK}
    return converts and settings.rates_urls != (config.RATES_TABLE,)


def _gauges(
    stored: exchange_rates.StoredRates, now: Callable[[], int]
) -> tuple[metrics.Gauge, ...]:
    def ages() -> Mapping[tuple[str, ...], float]:
        return {
            (source,): math.inf if at is None else (now() - at) / 1000
            for source, at in stored.answered().items()
        }

    return (
        metrics.Gauge(
            "exchange_rates_age_seconds",
            "Age of a source's newest exchange rates; infinite if it has never answered.",
            ("source",),
            ages,
        ),
        metrics.Gauge(
            "exchange_rates_usable_currencies",
            "Currencies whose prices can be converted now: fresh sources agree. 0: none can.",
            (),
            lambda: {(): stored.count_usable()},
        ),
        metrics.Gauge(
            "exchange_rates_outlying_currencies",
            "Currencies in which a source is too far from the others, and is not used.",
            ("source",),
            lambda: {(source,): len(codes) for source, codes in stored.outlying().items()},
        ),
    )
