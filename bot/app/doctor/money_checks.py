"""Checks of how sellers are paid: the rails, and the exchange rates that the rails need."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from urllib.parse import urlsplit

from bot import config
from bot.app import rails
from bot.app.doctor import findings
from bot.core import errors
from bot.interface import vocabulary
from bot.service.rails import exchange_rates

SAMPLE = ("USD", "EUR")
"""Currencies that every known source has."""


@dataclass(frozen=True, slots=True)
class Money:
    """The answers of the sources of exchange rates; none if no rates are needed."""

    installation: findings.Installation
    answers: Mapping[str, Mapping[str, Decimal] | str] = field(default_factory=dict)
    """Each source's prices of one bitcoin by currency, or why it gave none."""


async def _ask_sources(it: findings.Installation) -> Money:
    if it.settings.payments_url is not None or not rails.asks_sources(it.settings):
        return Money(it)
    names = [exchange_rates.name_of(url) for url in it.settings.rates_urls]
    answers = await asyncio.gather(*map(_ask_source, it.settings.rates_urls))
    return Money(it, dict(zip(names, answers, strict=True)))


async def _ask_source(url: str) -> Mapping[str, Decimal] | str:
    try:
        return await exchange_rates.fetch_prices(url)
    except errors.PeerError as error:
        return str(error)


def _rails(it: Money) -> Iterator[str]:
    settings, accounts = it.installation.settings, it.installation.accounts
    if settings.payments_url is not None:
        if not settings.test_money:
            other = settings.payments_url
            yield f"not used: payments are those of {other}. Delete RAILS or PAYMENTS_URL"
    elif settings.test_money:
        if accounts:
            yield (
                f"sellers have connected {_count(sum(accounts.values()))}, but RAILS is sandbox:"
                f" their links can't be paid. Set RAILS={','.join(accounts)}"
            )
    else:
        if urlsplit(settings.url).scheme != "https":
            yield (
                f"real money is taken at {settings.url}, where others on the network can replace a"
                " seller's account with their own: set PUBLIC_URL to an https:// address"
            )
        for kind, number in accounts.items():
            if kind not in settings.rails:
                yield (
                    f"{_count(number)} of the kind {kind} can't be paid: add {kind} back to RAILS"
                )


def _describe_rails(it: Money) -> str | None:
    settings, accounts = it.installation.settings, it.installation.accounts
    if settings.payments_url is not None:
        return None
    if settings.test_money:
        return "sandbox: payments are test money"
    named = (f"{kind} ({_count(accounts.get(kind, 0))})" for kind in settings.rails)
    return f"real money by {', '.join(named)}"


def _count(number: int) -> str:
    return "1 account" if number == 1 else f"{number} accounts"


def _rates(it: Money) -> Iterator[str | findings.Finding]:
    settings = it.installation.settings
    is_table = settings.rates_urls == (config.RATES_TABLE,)
    is_converted = not settings.test_money and set(settings.rails) != {vocabulary.BANK}
    if is_table and is_converted and settings.payments_url is None:
        yield "real money is converted at made-up rates, which are for tests: delete this setting"
    failed = {name: answer for name, answer in it.answers.items() if isinstance(answer, str)}
    if failed and len(failed) == len(it.answers):  # usually caused by this machine
        lines = [f"\n     {name}: {answer}" for name, answer in failed.items()]
        yield (
            "no source answers, so prices can't be converted: check this machine's connection, then"
            f" the addresses{''.join(lines)}"
        )
        return
    for name, answer in failed.items():
        yield f"{name}: {answer}; check its address, or replace it"
    if it.answers:
        yield from _compare(it)


def _compare(it: Money) -> Iterator[str | findings.Finding]:
    """Compare the sources by the first of SAMPLE that enough sources have, then by the others."""
    now = it.installation.now()
    rates = exchange_rates.StoredRates([*it.answers], lambda: now)
    rates.replace({
        name: (now, answer) for name, answer in it.answers.items() if not isinstance(answer, str)
    })  # fmt: skip
    medians = rates.medians()
    sampled = [code for code in SAMPLE if code in medians]
    if not sampled:
        yield "too few sources answer, so prices can't be converted: add others"
        return
    found = medians[sampled[0]]
    apart = f"1 BTC is {found.price:.2f} {sampled[0]}, {found.source}, {found.spread:.2%} apart"
    if not found.agrees:
        spread = exchange_rates.MOST_SPREAD
        yield f"{apart}: more than {spread:.0%}, so nothing is converted. Replace one of them"
        return
    if len(it.answers) == 1:
        yield f"{found.source} is the only source, so nothing is noticed if it's wrong: add others"
        return
    outliers = {one.source: (code, one) for code in sampled for one in medians[code].outliers}
    for source, (code, one) in outliers.items():
        yield (
            f"{source}: 1 BTC is {one.price:.2f} {code} there, too far from the others, so it isn't"
            " used; check its address, or replace it"
        )
    if it.installation.rated_at is not None:
        minutes = max(0, now - it.installation.rated_at) / 60_000
        apart += f"; the bot stored rates {minutes:.1f} minutes ago"
    # Sources disagree about currencies whose official rates nobody uses.
    if outlying := [code for code, one in medians.items() if code not in SAMPLE and one.outliers]:
        apart += f"; used without one that is too far off: {', '.join(outlying)}"
    if disputed := [code for code, one in medians.items() if not one.agrees]:
        apart += f"; too far apart to be converted: {', '.join(disputed)}"
    yield findings.Finding("RATES_URLS", ok=True, text=apart)


MONEY = findings.Part(
    "RATES_URLS",
    _ask_sources,
    (
        findings.Check("RAILS", _rails, well=_describe_rails),
        findings.Check("RATES_URLS", _rates),
    ),
)
