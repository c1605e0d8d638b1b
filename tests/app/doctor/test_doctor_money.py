"""The doctor checks how sellers are paid: rails, their accounts, and sources of rates."""

from __future__ import annotations

import time
from contextlib import closing
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from bot import config
from bot.app.doctor import outside_checks
from bot.app.doctor.examination import examine
from bot.app.doctor.findings import Installation
from bot.core.database.opening import open_database
from bot.service.rails import exchange_rates
from tests.support.free_ports import free_port
from tests.support.rate_sources import RateSource, coinbase, kraken, serve_sources, yadio

PUBLIC: dict[str, Any] = {"public_url": "https://pay.example.org"}
BANK = PUBLIC | {"rails": "bank"}
NOW = 1_800_000_000_000
AGREED = (coinbase(USD="80000"), kraken(USD="80400"), yadio(USD="80200"))


async def checked(
    accounts: dict[str, int] | None = None, rated_at: int | None = None, **given: Any
) -> list[tuple[str, bool, str]]:
    shop = Installation(
        config.load(**given), lambda: NOW, accounts=accounts or {}, rated_at=rated_at
    )
    found = await outside_checks.money(shop)
    return [(finding.name, finding.ok, finding.text) for finding in found]


def converting(sources: list[RateSource]) -> dict[str, Any]:
    return PUBLIC | {"rails": "nwc", "rates_urls": ",".join(one.url for one in sources)}


async def test_test_money_is_named_as_such() -> None:
    assert await checked(**PUBLIC) == [("RAILS", True, "sandbox: payments are test money")]


async def test_rails_beside_another_server_are_reported_as_unused() -> None:
    """Otherwise an operator would wait for sellers' accounts that nobody can connect."""
    other: dict[str, Any] = {
        "payments_url": "https://pay.other.example",
        "app_id": "a",
        "app_secret": "s",
    }
    assert await checked(**PUBLIC, **other) == []
    told = "not used: payments are those of https://pay.other.example. Delete RAILS or PAYMENTS_URL"
    assert await checked(**BANK, **other) == [("RAILS", False, told)]


async def test_sources_that_all_fail_are_one_finding_about_the_connection() -> None:
    """Three lines that ask to replace three sources would hide that the machine is offline."""
    async with serve_sources(*AGREED[:2]) as found:
        for one in found:
            one.status = 503
        *_, rates = await checked(**converting(found))
        names = [one.name for one in found]
    told = (
        "no source answers, so prices can't be converted: check this machine's connection, then"
        f" the addresses\n     {names[0]}: it answered 503\n     {names[1]}: it answered 503"
    )
    assert rates == ("RATES_URLS", False, told)


async def test_test_money_for_sellers_who_expect_real_money_is_a_fault() -> None:
    ((name, is_ok, text),) = await checked({"bank": 2, "nwc": 1}, **PUBLIC)
    assert (name, is_ok) == ("RAILS", False)
    assert text.startswith(
        "sellers have connected 3 accounts, but RAILS is sandbox: their links can't be paid."
    )
    assert text.endswith("Set RAILS=bank,nwc")


async def test_banks_need_no_source_of_rates() -> None:
    assert await checked({"bank": 1}, **BANK) == [("RAILS", True, "real money by bank (1 account)")]


async def test_real_money_without_https_is_reported() -> None:
    found = await checked(rails="bank", public_url="http://pay.example.org")
    assert [(name, is_ok) for name, is_ok, _ in found] == [("RAILS", False)]
    assert found[0][2].endswith("set PUBLIC_URL to an https:// address")


async def test_accounts_that_rails_no_longer_names_are_reported() -> None:
    assert await checked({"bank": 1, "nwc": 2}, **BANK) == [
        ("RAILS", False, "2 accounts of the kind nwc can't be paid: add nwc back to RAILS")
    ]


async def test_sources_that_agree_are_named_with_their_price_and_age() -> None:
    async with serve_sources(*AGREED) as found:
        *_, rates = await checked(rated_at=NOW - 90_000, **converting(found))
        names = sorted(one.name for one in found)
    told = f"1 BTC is 80200.00 USD, median of {names[0]}, {names[1]} and {names[2]}, 0.50% apart"
    assert rates == ("RATES_URLS", True, f"{told}; the bot stored rates 1.5 minutes ago")


async def test_a_source_that_fails_is_named_and_two_others_do() -> None:
    async with serve_sources(*AGREED) as found:
        found[1].status = 503
        _, failed, rates = await checked(**converting(found))
        assert failed[1:] == (
            False,
            f"{found[1].name}: it answered 503; check its address, or replace it",
        )
        assert rates[1]
        found[2].body = b"<html>"
        *_, rates = await checked(**converting(found))
    assert rates == (
        "RATES_URLS",
        False,
        "too few sources answer, so prices can't be converted: add others",
    )


async def test_sources_too_far_apart_are_reported() -> None:
    async with serve_sources(AGREED[0], yadio(USD="90000")) as found:
        *_, rates = await checked(**converting(found))
    assert not rates[1]
    assert rates[2].endswith(
        "11.76% apart: more than 2%, so nothing is converted. Replace one of them"
    )


async def test_a_source_that_contradicts_two_others_is_named_and_they_do() -> None:
    bodies = (coinbase(USD="80000", EUR="7"), kraken(USD="804000", EUR="7"), yadio(USD="80200"))
    async with serve_sources(*bodies) as found:
        _, outlier, rates = await checked(**converting(found))
        names = sorted((found[0].name, found[2].name))
    told = (
        f"{found[1].name}: 1 BTC is 804000.00 USD there, too far from the others, so it isn't used;"
        " check its address, or replace it"
    )
    assert outlier == ("RATES_URLS", False, told)
    told = f"1 BTC is 80100.00 USD, median of {names[0]} and {names[1]}, 0.25% apart"
    assert rates == ("RATES_URLS", True, told)


async def test_currencies_in_which_sources_differ_are_listed() -> None:
    """Official and street rates do, without a fault of a source."""
    bodies = (
        coinbase(USD="80000", ARS="1", LBP="7", JPY="1"),
        kraken(USD="80400", ARS="2", LBP="7", JPY="1"),
        yadio(USD="80200", ARS="3", LBP="9", JPY="1"),
    )
    async with serve_sources(*bodies) as found:
        _, rates = await checked(**converting(found))
    assert rates[1]
    assert rates[2].endswith(
        "0.50% apart; used without one that is too far off: LBP; too far apart to be converted: ARS"
    )


async def test_a_source_that_no_other_checks_is_reported() -> None:
    async with serve_sources(AGREED[0]) as sources:
        rates = (await checked(**converting(sources)))[-1]
    assert rates[:2] == ("RATES_URLS", False)
    assert rates[2].endswith("is the only source, so nothing is noticed if it's wrong: add others")


async def test_real_money_at_the_packaged_table_s_rates_is_reported() -> None:
    found = await checked(**PUBLIC, rails="bank,lnbits", rates_urls="table")
    assert [(name, is_ok) for name, is_ok, _ in found] == [("RAILS", True), ("RATES_URLS", False)]
    assert "made-up rates" in found[1][2]
    (banks,) = await checked(**BANK, rates_urls="table")
    assert banks[0] == "RAILS"


async def test_the_examination_reads_accounts_and_rates_of_the_database(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/bot.db"
    with closing(open_database(url)) as database:
        stored = partial(
            exchange_rates.store_prices, source="x", prices={"EUR": Decimal(5)}, now=NOW
        )
        database.run(stored)
        assert database.run(exchange_rates.newest_answer) == NOW
    found = await examine(
        config.load(database_url=url, port=int(free_port()), rails="bank"),
        lambda: int(time.time() * 1000),
    )
    assert "RAILS" in {finding.name for finding in found}
