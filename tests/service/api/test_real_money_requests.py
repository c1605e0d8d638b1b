"""Requests where real money is offered: payable to an account that fits, and by bank transfer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape
from typing import Any

import pytest
from stdnum import iso11649

from bot.interface.vocabulary import BANK, LIGHTNING
from bot.service.payments import account_rows
from bot.service.rails import exchange_rates
from bot.service.rails.bank import BankRail
from bot.service.rails.exchange_rates import FRESH, RatesJob, StoredRates
from bot.service.requests import applications
from tests.service.rails.test_bank_accounts import PIX, SEPA, SWISS, UPI
from tests.support.bank_codes import READERS, second_decoder, zxing
from tests.support.rate_sources import coinbase, serve_sources, yadio
from tests.support.real_rails import (
    ACCOUNTS_PATH,
    TO_ANNA,
    ScriptedRail,
    connect,
    open_real_service,
)
from tests.support.service_harness import (
    NEW,
    REQUESTS_PATH,
    Clock,
    ServiceHarness,
    form_token,
    headers_of,
    refusal_code,
    refused_fields,
)

NO_ACCOUNT = (False, "noPayoutAccount")
PAYABLE = (True, "active")


def said(answer: dict[str, Any]) -> tuple[bool, str]:
    return answer["isEnabled"], answer["status"]


async def told(service: ServiceHarness, request_id: str) -> set[tuple[bool, str]]:
    """Return what every place says about a request."""
    public = await service.anyone.get(f"{REQUESTS_PATH}/public/{request_id}")
    items = (await service.seller.get(REQUESTS_PATH)).json()["items"]
    every = [
        await service.get(request_id),
        public.json(),
        *(item for item in items if item["id"] == request_id),
        (await service.edit(request_id, {"product": {"name": "Tea"}})).json(),
    ]
    assert len(every) == 4
    return {said(one) for one in every}


async def test_a_request_is_payable_while_its_owner_has_an_account(real: ServiceHarness) -> None:
    made = await real.create(receivers=TO_ANNA)
    assert said(made) == NO_ACCOUNT
    assert await told(real, made["id"]) == {NO_ACCOUNT}
    account = (await connect(real)).json()
    assert await told(real, made["id"]) == {PAYABLE}
    assert said(await real.create(receivers=TO_ANNA)) == PAYABLE
    await real.seller.delete(f"{ACCOUNTS_PATH}/{account['id']}")
    assert await told(real, made["id"]) == {NO_ACCOUNT}


async def test_money_of_another_destination_reaches_nobody(real: ServiceHarness) -> None:
    await connect(real)
    for name in ("anna", "account:bert", "account:", "account:an na", "ACCOUNT:anna", "accounts"):
        made = await real.create(receivers=[{"sendAmount": 5, "destination": name}])
        assert said(made) == NO_ACCOUNT, name


async def test_the_account_of_another_application_takes_nothing(real: ServiceHarness) -> None:
    made = await real.create(receivers=TO_ANNA)
    real.seller.headers.update(real.stranger())
    await connect(real)
    real.seller.headers.update(headers_of(real.credentials))
    assert said(await real.get(made["id"])) == NO_ACCOUNT


@pytest.mark.parametrize(
    ("kind", "currency", "fits"),
    [
        (BANK, "EUR", True),
        (BANK, "USD", False),
        (LIGHTNING, "USD", True),
        (LIGHTNING, "EUR", True),
        (LIGHTNING, "SAT", True),
    ],
)
async def test_bank_codes_take_their_own_currency_and_wallets_any(
    real: ServiceHarness, kind: str, currency: str, *, fits: bool
) -> None:
    await connect(real, kind)
    made = await real.create(receivers=TO_ANNA, instrumentCurrencyCode=currency)
    assert said(made) == (PAYABLE if fits else NO_ACCOUNT)
    paid_in_sat = {"instrumentCurrencyCode": "SAT", "denominationCurrencyCode": currency}
    converted = await real.create(receivers=TO_ANNA, **paid_in_sat)
    assert said(converted) == said(made)


async def test_an_account_that_is_kept_for_one_payer_alone_takes_nothing_new(
    real: ServiceHarness,
) -> None:
    account = (await connect(real)).json()
    made = await real.create(receivers=TO_ANNA)
    assert (await real.pay(made["id"])).status_code == 303
    await real.seller.delete(f"{ACCOUNTS_PATH}/{account['id']}")
    assert await real.rows("payout_accounts")
    assert said(await real.get(made["id"])) == NO_ACCOUNT
    assert (await real.pay(made["id"], "u" * 32)).status_code == 409


async def test_an_account_of_a_kind_that_is_no_longer_offered_takes_nothing(
    real: ServiceHarness,
) -> None:
    await connect(real)
    made = await real.create(receivers=TO_ANNA)
    real.db.run(lambda tx: account_rows.write_offered(tx, [BANK]))
    assert said(await real.get(made["id"])) == NO_ACCOUNT


async def test_with_test_money_every_request_is_payable(service: ServiceHarness) -> None:
    for receivers in (NEW["receivers"], TO_ANNA):
        assert said(await service.create(receivers=receivers)) == PAYABLE


async def test_test_money_pays_no_link_whose_owner_expects_real_money(real: ServiceHarness) -> None:
    """An operator who starts with RAILS lost sells nothing for nothing."""
    await connect(real)
    theirs = (await real.create(receivers=TO_ANNA))["id"]
    others = (await real.create(receivers=NEW["receivers"]))["id"]
    real.db.run(lambda tx: account_rows.write_offered(tx, []))
    assert await told(real, theirs) == {NO_ACCOUNT}
    assert await told(real, others) == {PAYABLE}


async def test_other_reasons_come_first_and_the_list_of_active_ones_has_it(
    real: ServiceHarness,
) -> None:
    made = await real.create(receivers=TO_ANNA)
    later = await real.create(receivers=TO_ANNA, enabledAt="2027-06-01T00:00:00Z")
    assert said(later) == (False, "scheduled")
    listed = await real.seller.get(REQUESTS_PATH, params={"status": "active", "limit": 9})
    assert [item["id"] for item in listed.json()["items"]] == [made["id"]]


async def test_the_page_says_that_it_is_not_open_for_payments_yet(real: ServiceHarness) -> None:
    made = await real.create(receivers=TO_ANNA)
    page = await real.anyone.get(f"/pay/{made['id']}")
    assert page.status_code == 200
    assert "Not open for payments yet" in page.text
    posted = await real.pay(made["id"])
    assert posted.status_code == 409
    assert "Not open for payments yet" in posted.text
    assert "You haven't been charged." in posted.text.replace("&#39;", "'")
    assert await real.rows("checkouts") == []
    await connect(real)
    assert "Not open" not in (await real.anyone.get(f"/pay/{made['id']}")).text


async def test_real_money_has_one_receiver(real: ServiceHarness) -> None:
    body = NEW | {"receivers": [*TO_ANNA, {"sendAmount": 1, "destination": "account:bert"}]}
    answer = await real.seller.post(REQUESTS_PATH, json=body)
    assert (refusal_code(answer), refused_fields(answer)) == ((400, "invalidBody"), ["receivers"])
    assert await real.rows("payment_requests") == []


async def test_prices_are_converted_to_bitcoin_alone(real: ServiceHarness) -> None:
    """Nor does a rate that is unknown today refuse a request."""
    for instrument, price, accepted in (
        ("EUR", None, True),
        ("EUR", "EUR", True),
        ("SAT", "EUR", True),
        ("BTC", "USD", True),
        ("BSV", None, True),
        ("BSV", "EUR", False),
        ("USD", "EUR", False),
    ):
        body = NEW | {"receivers": TO_ANNA, "instrumentCurrencyCode": instrument}
        body |= {"denominationCurrencyCode": price} if price else {}
        answer = await real.seller.post(REQUESTS_PATH, json=body)
        if accepted:
            assert answer.status_code == 200, instrument
        else:
            assert refusal_code(answer) == (400, "invalidBody"), instrument
            assert refused_fields(answer) == ["instrumentCurrencyCode"], instrument


async def test_an_unknown_rate_refuses_no_request(real: ServiceHarness) -> None:
    made = await real.create(
        receivers=TO_ANNA, instrumentCurrencyCode="SAT", denominationCurrencyCode="XAF"
    )
    assert made["paymentAmount"]["denominatedIn"] == "XAF"


BEN = {"Owner-Ref": "ben"}
TO_ALICE = {"sendAmount": 5, "destination": "alice"}


@pytest.mark.parametrize(
    ("receivers", "field"),
    [
        (TO_ANNA, "receivers.0.destination"),
        ([TO_ALICE, *TO_ANNA], "receivers.1.destination"),
        ([{"sendAmount": 1, "destination": "account:ben"}, *TO_ANNA], "receivers.1.destination"),
        ([{"sendAmount": 1, "destination": "account:Ben"}], "receivers.0.destination"),
    ],
)
async def test_no_seller_names_the_accounts_of_another(
    service: ServiceHarness, receivers: list[dict[str, Any]], field: str
) -> None:
    """Test money is no exception: the operator may offer real money tomorrow."""
    body = NEW | {"receivers": receivers}
    answer = await service.seller.post(REQUESTS_PATH, json=body, headers=BEN)
    assert (refusal_code(answer), refused_fields(answer)) == ((400, "invalidBody"), [field])
    assert await service.rows("payment_requests") == []
    mine = [{"sendAmount": 5, "destination": "account:ben"}]
    made = await service.seller.post(REQUESTS_PATH, json=NEW | {"receivers": mine}, headers=BEN)
    assert made.status_code == 200
    edited = await service.edit(made.json()["id"], {"receivers": TO_ANNA})
    assert (refusal_code(edited), refused_fields(edited)) == ((400, "invalidBody"), ["receivers"])
    assert (await service.get(made.json()["id"]))["receivers"][0]["destination"] == "account:ben"


async def test_where_anyone_sells_accounts_need_the_name_of_their_owner(
    real: ServiceHarness,
) -> None:
    """Other applications vouch for their sellers, and need not name one."""
    bot = real.db.run(lambda tx: applications.ensure_embedded_app(tx, real.vault, 0))
    body = NEW | {"receivers": TO_ANNA}
    unnamed = await real.seller.post(REQUESTS_PATH, json=body, headers=headers_of(bot))
    assert refused_fields(unnamed) == ["receivers.0.destination"]
    named = {**headers_of(bot), "Owner-Ref": "anna"}
    assert (await real.seller.post(REQUESTS_PATH, json=body, headers=named)).status_code == 200
    assert (await real.seller.post(REQUESTS_PATH, json=body)).status_code == 200


@pytest.mark.parametrize("vouched", [True, False])
async def test_a_stored_link_to_another_sellers_account_is_never_paid(
    real: ServiceHarness, *, vouched: bool
) -> None:
    """An earlier version took it: neither real nor test money pays it, and every place says so."""
    await connect(real)
    made = (await real.create(receivers=TO_ANNA))["id"]
    other = (await real.create(receivers=TO_ANNA))["id"]
    change = "owner = 'ben'" if vouched else "owner = ''"
    await real.db.transaction(
        lambda tx: (
            tx.execute(f"UPDATE payment_requests SET {change} WHERE id = :id", id=made),
            tx.execute("UPDATE apps SET confirms = :flag", flag=int(not vouched)),
            tx.execute("UPDATE payment_requests SET owner = 'anna' WHERE id = :id", id=other),
        )
    )
    assert await told(real, made) == {NO_ACCOUNT}
    assert await told(real, other) == {PAYABLE}
    page = await real.anyone.get(f"/pay/{made}")
    assert "Not open for payments yet" in page.text
    assert (await real.pay(made)).status_code == 409
    real.db.run(lambda tx: account_rows.write_offered(tx, []))
    assert await told(real, made) == {NO_ACCOUNT}
    assert (await real.pay(made)).status_code == 409
    assert await real.rows("checkouts") == []


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
