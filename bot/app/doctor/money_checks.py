"""Checks of how sellers are paid: the rails, and the exchange rates that the rails need."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from urllib.parse import urlsplit

from bot import config
from bot.app.doctor import finding
from bot.app.rails import asks_sources, build_rails
from bot.core import errors
from bot.interface import vocabulary
from bot.service.rails import exchange_rates, rates_job

SAMPLE = ("USD", "EUR")
"""Currencies that every known source has."""


@dataclass(frozen=True, slots=True)
class MoneyFacts:
    """Facts from the database: connected accounts by kind, and the last time rates were stored."""

    accounts: Mapping[str, int]
    rated_at: int | None


async def check(
    settings: config.Settings, now: Callable[[], int], facts: MoneyFacts
) -> list[finding.Finding]:
    """Check the rails; if exchange rates are needed, ask every source of rates."""
    if settings.payments_url is not None:
        return _check_unused(settings)
    if settings.test_money:
        return _check_test_money(facts)
    found = await _check_rails(settings, facts)
    if asks_sources(settings):
        return [*found, *await _check_rates(settings, now, facts)]
    return [*found, *_check_table(settings)]


def _check_unused(settings: config.Settings) -> list[finding.Finding]:
    """Check that RAILS isn't set for another payment server, which ignores it."""
    if settings.test_money:
        return []
    text = f"not used: payments are those of {settings.payments_url}. Delete RAILS or PAYMENTS_URL"
    return [finding.fix("RAILS", text)]


def _check_test_money(facts: MoneyFacts) -> list[finding.Finding]:
    """Check that no seller expects real money: test money doesn't pay their links."""
    if not facts.accounts:
        return [finding.ok("RAILS", "sandbox: payments are test money")]
    text = (
        f"sellers have connected {_count(sum(facts.accounts.values()))}, but RAILS is sandbox:"
        f" their links can't be paid. Set RAILS={','.join(facts.accounts)}"
    )
    return [finding.fix("RAILS", text)]


async def _check_rails(settings: config.Settings, facts: MoneyFacts) -> list[finding.Finding]:
    try:
        rails = build_rails(settings, lambda: 0)
    except errors.ConfigError as error:
        return [finding.fix("RAILS", str(error).removeprefix("RAILS: "))]
    await rails.close()
    found = []
    if urlsplit(settings.url).scheme != "https":
        text = (
            f"real money is taken at {settings.url}, where others on the network can replace a"
            " seller's account with their own: set PUBLIC_URL to an https:// address"
        )
        found.append(finding.fix("RAILS", text))
    for kind, number in facts.accounts.items():
        if kind not in settings.rails:
            text = f"{_count(number)} of the kind {kind} can't be paid: add {kind} back to RAILS"
            found.append(finding.fix("RAILS", text))
    named = (f"{kind} ({_count(facts.accounts.get(kind, 0))})" for kind in settings.rails)
    return found or [finding.ok("RAILS", f"real money by {', '.join(named)}")]


def _count(number: int) -> str:
    return "1 account" if number == 1 else f"{number} accounts"


def _check_table(settings: config.Settings) -> list[finding.Finding]:
    """Check that no real money is converted at the made-up test rates."""
    if set(settings.rails) == {vocabulary.BANK} or settings.rates_urls != (config.RATES_TABLE,):
        return []
    text = "real money is converted at made-up rates, which are for tests: delete this setting"
    return [finding.fix("RATES_URLS", text)]


async def _check_rates(
    settings: config.Settings, now: Callable[[], int], facts: MoneyFacts
) -> list[finding.Finding]:
    names = [exchange_rates.name_of(url) for url in settings.rates_urls]
    answers = dict(zip(names, await asyncio.gather(*map(_ask, settings.rates_urls)), strict=True))
    known = {name: answer for name, answer in answers.items() if not isinstance(answer, str)}
    failed = {name: answer for name, answer in answers.items() if isinstance(answer, str)}
    if failed and not known:
        return [finding.fix("RATES_URLS", _describe_outage(failed))]
    found = [
        finding.fix("RATES_URLS", f"{name}: {answer}; check its address, or replace it")
        for name, answer in failed.items()
    ]
    return [*found, *_compare(known, names, now(), facts)]


def _describe_outage(failed: Mapping[str, str]) -> str:
    """Describe the failure of all sources, usually caused by this machine."""
    lines = [f"\n     {name}: {answer}" for name, answer in failed.items()]
    return (
        "no source answers, so prices can't be converted: check this machine's connection, then"
        f" the addresses{''.join(lines)}"
    )


async def _ask(url: str) -> dict[str, Decimal] | str:
    """Return a source's prices, or its problem."""
    try:
        return await rates_job.fetch_prices(url)
    except errors.PeerError as error:
        return str(error)


def _compare(
    known: Mapping[str, Mapping[str, Decimal]], names: Sequence[str], now: int, facts: MoneyFacts
) -> list[finding.Finding]:
    """Compare the sources by the first of SAMPLE that enough sources have, then by the others."""
    rates = exchange_rates.StoredRates(names, lambda: now)
    rates.replace({name: (now, prices) for name, prices in known.items()})
    medians = rates.medians()
    sampled = [code for code in SAMPLE if code in medians]
    if not sampled:
        text = "too few sources answer, so prices can't be converted: add others"
        return [finding.fix("RATES_URLS", text)]
    found = medians[sampled[0]]
    apart = f"1 BTC is {found.price:.2f} {sampled[0]}, {found.source}, {found.spread:.2%} apart"
    if not found.agrees:
        spread = exchange_rates.MOST_SPREAD
        text = f"{apart}: more than {spread:.0%}, so nothing is converted. Replace one of them"
        return [finding.fix("RATES_URLS", text)]
    if len(names) == 1:
        text = f"{found.source} is the only source, so nothing is noticed if it's wrong: add others"
        return [finding.fix("RATES_URLS", text)]
    if facts.rated_at is not None:
        apart += f"; the bot stored rates {max(0, now - facts.rated_at) / 60_000:.1f} minutes ago"
    return [
        *_name_outliers(sampled, medians),
        finding.ok("RATES_URLS", apart + _describe_rest(medians)),
    ]


def _name_outliers(
    sampled: Sequence[str], medians: Mapping[str, exchange_rates.Median]
) -> list[finding.Finding]:
    """Return a finding for each source that is wrong about a sampled currency."""
    found = {one.source: (code, one) for code in sampled for one in medians[code].outliers}
    return [
        finding.fix(
            "RATES_URLS",
            f"{source}: 1 BTC is {one.price:.2f} {code} there, too far from the others, so it isn't"
            " used; check its address, or replace it",
        )
        for source, (code, one) in found.items()
    ]


def _describe_rest(medians: Mapping[str, exchange_rates.Median]) -> str:
    """Name the currencies that sources disagree about, as happens with unused official rates."""
    disputed = [code for code, found in medians.items() if not found.agrees]
    outlying = [code for code, found in medians.items() if code not in SAMPLE and found.outliers]
    told = ""
    if outlying:
        told += f"; used without one that is too far off: {', '.join(outlying)}"
    if disputed:
        told += f"; too far apart to be converted: {', '.join(disputed)}"
    return told
