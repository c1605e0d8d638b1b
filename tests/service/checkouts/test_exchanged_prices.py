"""Prices in one currency paid in another: quoted, paid and stored with the rate, or refused."""

from __future__ import annotations

import json
from decimal import Decimal

from bot.core.errors import MoneyError
from bot.service.app import create_app
from bot.service.requests.request import ExchangeRate
from tests.support.service_harness import DROP, ServiceHarness, client, make_service

HOOK = {"notifications": {"webhook": {"webhookUrl": "https://h.example/w"}}}


async def test_a_price_in_another_currency_is_quoted_paid_and_kept(service: ServiceHarness) -> None:
    """With the rate, its time and source, and shares with an exact sum."""
    made = await service.create(
        instrumentCurrencyCode="JPY",
        denominationCurrencyCode="USD",
        receivers=[
            {"sendAmount": 1.01, "destination": "a"},
            {"sendAmount": 1.01, "destination": "b"},
            {"sendAmount": 1.01, "destination": "c"},
        ],
        **HOOK,
    )
    page = (await service.anyone.get(f"/pay/{made['id']}")).text
    assert "made-up rate for testing" in page
    receipt = await service.anyone.post(
        f"/pay/{made['id']}", data={"token": "t" * 32}, follow_redirects=True
    )
    assert "1 USD = " in receipt.text
    (row,) = await service.rows("payments")
    shares = json.loads(row["instrument_shares"])
    assert (row["amount"], row["currency"]) == (303, "USD")
    assert (sum(shares), row["instrument_currency"]) == (row["instrument_amount"], "JPY")
    assert max(shares) - min(shares) <= 1
    (owed,) = await service.rows("outbox")
    event = json.loads(owed["body"])
    assert (event["amount"], event["currency"]) == (303, "USD")
    url = f"/v3/paymentRequests/{made['id']}/payments/{row['id']}"
    paid = (await service.seller.get(url)).json()["paid"]
    assert (paid["currencyCode"], sum(paid["shares"])) == ("JPY", paid["amount"])
    assert "sandbox" in paid["rateSource"]
    assert paid["ratedAt"].endswith("Z")
    assert Decimal(str(paid["rate"])) == Decimal(row["rate"])


async def test_a_price_too_small_for_the_instrument_is_refused_at_create(
    service: ServiceHarness,
) -> None:
    body = {
        "product": {"name": "Dust"},
        "instrumentCurrencyCode": "KWD",
        "denominationCurrencyCode": "SAT",
        "receivers": [{"sendAmount": 1, "destination": "alice"}],
        "expirationType": "never",
    }
    answer = await service.seller.post("/v3/paymentRequests", json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalidBody")
    assert answer.json()["info"][0]["field"] == "denominationCurrencyCode"


async def test_a_share_too_small_for_the_instrument_is_refused_at_create(
    service: ServiceHarness,
) -> None:
    receivers = [{"sendAmount": 100, "destination": "a"}, {"sendAmount": 1, "destination": "b"}]
    answer = await service.seller.post(
        "/v3/paymentRequests",
        json={
            "product": {"name": "Crumbs"},
            "instrumentCurrencyCode": "JPY",
            "denominationCurrencyCode": "SAT",
            "receivers": receivers,
            "expirationType": "never",
        },
    )
    assert (answer.status_code, answer.json()["info"][0]) == (
        400,
        {"field": "receivers.1.sendAmount", "message": "comes to nothing in JPY"},
    )


async def test_a_price_in_the_instrument_currency_is_not_converted(service: ServiceHarness) -> None:
    made = await service.create()
    await service.pay(made["id"])
    (row,) = await service.rows("payments")
    assert (row["instrument_amount"], row["instrument_currency"], row["rate"]) == (500, "USD", None)
    url = f"/v3/paymentRequests/{made['id']}/payments/{row['id']}"
    assert "paid" not in (await service.seller.get(url)).json()


class Closed:
    """An exchange without rates."""

    def rate(self, denomination: str, instrument: str) -> ExchangeRate | None:
        raise MoneyError("unknownCurrency", f"{denomination} to {instrument}")


async def test_a_missing_rate_is_shown_and_nothing_is_paid(service: ServiceHarness) -> None:
    """The request was created while there was a rate."""
    made = await service.create(
        **DROP, instrumentCurrencyCode="BSV", denominationCurrencyCode="USD"
    )
    app = create_app(make_service(service.db, service.clock, exchange=Closed()))
    async with client(app) as payer:
        page = await payer.get(f"/pay/{made['id']}")
        assert (page.status_code, "Price unavailable" in page.text) == (200, True)
        assert "<form" not in page.text
        answer = await payer.post(f"/pay/{made['id']}", data={"token": "t" * 32})
        assert (answer.status_code, "Price unavailable" in answer.text) == (409, True)
    (row,) = await service.rows("payment_requests")
    assert (row["remaining_units"], row["reserved_units"], row["paid_count"]) == (3, 0, 0)
    assert await service.rows("checkouts") == []
