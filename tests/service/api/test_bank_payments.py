"""Bank transfers over HTTP: connected, paid from the page, confirmed by the seller."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape
from typing import Any

import pytest
from stdnum import iso11649

from bot.service.rails import exchange_rates
from bot.service.rails.bank import BankRail
from bot.service.rails.exchange_rates import FRESH, StoredRates
from bot.service.rails.rates_job import RatesJob
from tests.service.rails.test_accounts import PIX, SEPA, SWISS, UPI
from tests.support.bank_codes import READERS, second_decoder, zxing
from tests.support.rate_sources import coinbase, serve_sources, yadio
from tests.support.real_rails import TO_ANNA, ScriptedRail, connect, open_real_service
from tests.support.service_harness import Clock, ServiceHarness, form_token

WAYS = [
    pytest.param(SEPA, "EUR", id="sepa"),
    pytest.param(PIX, "BRL", id="pix"),
    pytest.param(UPI, "INR", id="upi"),
    pytest.param(SWISS, "CHF", id="swiss"),
    pytest.param(SWISS, "EUR", id="swiss in euros"),
]


@asynccontextmanager
async def bank_service(database_url: str) -> AsyncIterator[ServiceHarness]:
    async with open_real_service(database_url, BankRail()) as service:
        yield service


async def priced(service: ServiceHarness, currency: str) -> str:
    made = await service.create(receivers=TO_ANNA, instrumentCurrencyCode=currency)
    return str(made["id"])


async def checkout_of(service: ServiceHarness, request_id: str, **form: str) -> dict[str, Any]:
    """Open a checkout as a payer does, and return it as the application sees it."""
    answer = await service.pay(request_id, await service.token(request_id), **form)
    assert answer.status_code == 303
    place = answer.headers["location"]
    found = await service.seller.get(f"/v3/checkouts/{place.rpartition('/')[2]}")
    assert found.status_code == 200
    return dict(found.json()) | {"page": place}


@pytest.mark.parametrize(("details", "currency"), WAYS)
async def test_a_payer_pays_what_the_picture_says_and_the_seller_confirms(
    database_url: str, details: dict[str, Any], currency: str
) -> None:
    async with bank_service(database_url) as service:
        assert (await connect(service, "bank", **details)).status_code == 200
        request_id = await priced(service, currency)
        opened = await checkout_of(service, request_id, way=f"bank:{details['scheme']}")
        picture = (await service.anyone.get(f"{opened['page']}/code.png")).content
        page = unescape((await service.anyone.get(opened["page"])).text)
        claimed = await service.anyone.post(opened["page"], data={"action": "claim"})
        confirmed = await service.seller.post(f"/v3/checkouts/{opened['id']}/confirm")
    text = opened["payWith"]["qrText"]
    assert zxing(picture) == (text, "M")
    assert second_decoder(picture) in {text, None}
    read = READERS[details["scheme"]](text)
    assert iso11649.is_valid(opened["reference"])
    assert opened["reference"] in read.values()
    assert {"5.00", "EUR5.00"} & set(read.values())
    assert details["name"] in page
    assert opened["reference"] in page
    assert (claimed.status_code, confirmed.status_code) == (303, 200)
    assert confirmed.json()["state"] == "paid"


async def test_every_checkout_has_a_reference_of_its_own(database_url: str) -> None:
    async with bank_service(database_url) as service:
        await connect(service, "bank", **SEPA)
        request_id = await priced(service, "EUR")
        found = set()
        for _ in range(5):
            service.anyone.cookies.clear()
            found.add((await checkout_of(service, request_id))["reference"])
    assert len(found) == 5


@pytest.mark.parametrize("currency", ["USD", "BRL", "SAT"])
async def test_a_bank_code_never_converts(database_url: str, currency: str) -> None:
    """A link priced in another currency than the account's has no way to be paid."""
    async with bank_service(database_url) as service:
        await connect(service, "bank", **SEPA)
        request_id = await priced(service, currency)
        page = await service.anyone.get(f"/pay/{request_id}")
    assert 'name="token"' not in page.text


async def test_stale_rates_close_wallets_and_leave_banks_open(database_url: str) -> None:
    """Nothing is sold at a guess; what needs no rate goes on."""
    clock = Clock()
    async with serve_sources(coinbase(EUR="72000"), yadio(EUR="72200")) as found:
        urls = [one.url for one in found]
        rates = StoredRates([exchange_rates.name_of(url) for url in urls], clock)
        async with open_real_service(
            database_url, BankRail(), ScriptedRail(), exchange=rates
        ) as service:
            clock.at = service.clock()
            job = RatesJob(service.db, rates, urls, clock)
            await connect(service, "bank", **SEPA)
            await connect(service)
            request_id = await priced(service, "EUR")
            unpriced = (await service.anyone.get(f"/pay/{request_id}")).text
            await job.tick()
            fresh = (await service.anyone.get(f"/pay/{request_id}")).text
            clock.advance(FRESH / 1000 + 1)
            stale = (await service.anyone.get(f"/pay/{request_id}")).text
            refused = await service.pay(request_id, form_token(stale), way="lightning")
            paid = await checkout_of(service, request_id, way="bank:sepa")
    assert "6,935" in fresh  # 5 EUR at 72,100 EUR a bitcoin
    assert "6,935" not in unpriced
    assert "6,935" not in stale
    assert refused.status_code == 409
    assert paid["state"] == "open"
