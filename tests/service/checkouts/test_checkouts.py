"""Checkouts: settlements at once, later, twice, too late or never, and payers who cancel."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from functools import partial

import httpx
import pytest
from structlog.testing import capture_logs

from bot.core.errors import NotFound
from bot.core.net.rates import Rate
from bot.service.checkouts.checkout import Settlement
from bot.service.payments import settling
from bot.service.rails.rail import SANDBOX_DELAY, SandboxScenario
from bot.service.requests.request import PaymentState
from tests.support.checkout_steps import HOOK, ONE, RESERVATION, hear, look, reports, units
from tests.support.service_harness import DROP, NOON, ServiceHarness, open_service


@pytest.fixture
async def service(database_url: str) -> AsyncIterator[ServiceHarness]:
    async with open_service(database_url, reservation=RESERVATION * 1000) as it:
        yield it


async def test_a_later_settlement_pays_when_it_is_reported(service: ServiceHarness) -> None:
    """Until then the unit is reserved, and the waiting page refreshes itself."""
    made = await service.create(**ONE, **HOOK, redirectUrl="https://shop.example/thanks?a=1")
    answer = await service.pay(made["id"], manner="later")
    waiting = await look(service, answer)
    assert 'http-equiv="refresh"' in waiting.text
    assert "Waiting for your payment" in waiting.text
    assert (await units(service), await reports(service)) == ((0, 1, 0, 0), [])
    assert await hear(service) == 0
    service.clock.advance(SANDBOX_DELAY / 1000)
    assert await hear(service) == 1
    assert await units(service) == (0, 0, 1, 0)
    (payment,) = await service.rows("payments")
    assert (payment["state"], payment["completed_at"]) == ("paid", NOON + SANDBOX_DELAY)
    (report,) = await reports(service)
    assert (report.transaction_id, report.remaining_units) == (payment["id"], 0)
    gone_on = await service.anyone.get(answer.headers["location"])
    target = f"https://shop.example/thanks?a=1&transactionId={payment['id']}"
    assert (gone_on.status_code, gone_on.headers["location"]) == (303, target)


async def test_a_settlement_reported_twice_pays_once(service: ServiceHarness) -> None:
    made = await service.create(**DROP, **HOOK)
    answer = await service.pay(made["id"], manner="twice")
    assert "/receipt/" in answer.headers["location"]
    service.clock.advance(SANDBOX_DELAY / 1000)
    assert await hear(service) == 1
    assert (await units(service), len(await reports(service))) == ((2, 0, 1, 0), 1)
    assert len(await service.rows("payments")) == 1


async def test_a_late_settlement_takes_a_remaining_unit(service: ServiceHarness) -> None:
    made = await service.create(**ONE, **HOOK)
    answer = await service.pay(made["id"], manner="late")
    service.clock.advance(RESERVATION)
    lapsed = await look(service, answer)
    assert "Time&#39;s up" in lapsed.text
    assert f'href="/pay/{made["id"]}"' in lapsed.text
    assert (await service.get(made["id"]))["remainingUnits"] == 1
    service.clock.advance(SANDBOX_DELAY / 1000)
    assert await hear(service) == 1
    (payment,) = await service.rows("payments")
    assert (payment["state"], await units(service)) == ("late", (0, 0, 1, 0))
    (report,) = await reports(service)
    assert (report.oversold, report.remaining_units) == (False, 0)
    receipt = await service.anyone.get(answer.headers["location"], follow_redirects=True)
    assert receipt.url.path == f"/pay/{made['id']}/receipt/{payment['id']}"


async def test_an_oversold_payment_is_stored_and_reported(
    service: ServiceHarness,
) -> None:
    """Units never fall below 0: the seller has to pay it back, and the payer's page shows it."""
    seller = {"name": "Mia", "contact": "mia@example.org"}
    made = await service.create(**ONE, **HOOK, seller=seller)
    late = await service.pay(made["id"], "a" * 32, manner="late")
    service.clock.advance(RESERVATION)
    assert (await service.pay(made["id"], "b" * 32)).status_code == 303
    service.clock.advance(SANDBOX_DELAY / 1000)
    assert await hear(service) == 1
    assert await units(service) == (0, 0, 1, 1)
    first, second = await service.db.query("SELECT * FROM payments ORDER BY completed_at")
    assert (first["state"], second["state"]) == ("paid", "oversold")
    events = await reports(service)
    assert [report.oversold for report in events] == [False, True]
    page = await look(service, late)
    assert "arrived too late" in page.text
    assert second["id"] in page.text
    again = await service.pay(made["id"], "a" * 32, manner="late")
    assert again.headers["location"] == late.headers["location"]
    listed = (await service.seller.get(f"/v3/paymentRequests/{made['id']}/payments")).json()
    assert [item.get("settlement") for item in listed["items"]] == ["oversold", None]
    stats = (await service.anyone.get(f"/v3/paymentRequests/public/stats/{made['id']}")).json()
    assert (stats["totalPayments"], stats["totalVolume"]) == (2, 10)
    receipt = await service.anyone.get(f"/pay/{made['id']}/receipt/{second['id']}")
    assert "needs to refund you" in receipt.text
    for shown in (page, receipt):
        assert '<a class="button" href="mailto:mia@example.org"' in shown.text


async def test_reserved_units_are_shown_apart_from_sold_ones(service: ServiceHarness) -> None:
    """In the API, in the webhook and on the page: a reserved unit may return."""
    made = await service.create(expirationType="limit", totalUnits=2, **HOOK)
    await service.pay(made["id"], "a" * 32, manner="never")
    assert (await service.pay(made["id"], "b" * 32)).status_code == 303
    found = await service.get(made["id"])
    assert (found["remainingUnits"], found["reservedUnits"], found["status"]) == (0, 1, "active")
    (report,) = await reports(service)
    assert (report.remaining_units, report.reserved_units) == (0, 1)
    assert (
        "payment for the last one is still under way"
        in (await service.anyone.get(f"/pay/{made['id']}")).text
    )
    service.clock.advance(RESERVATION)
    found = await service.get(made["id"])
    assert (found["remainingUnits"], "reservedUnits" in found) == (1, False)
    assert (await service.pay(made["id"], "c" * 32)).status_code == 303
    assert (await reports(service))[1].reserved_units is None


@pytest.mark.parametrize("gone", ["deleted", "expired"])
async def test_a_settlement_counts_although_the_request_was_deleted_since(
    service: ServiceHarness, gone: str
) -> None:
    """A payer who began in time has a reserved unit, whatever happens to the request."""
    made = await service.create(**DROP, **HOOK)
    answer = await service.pay(made["id"], manner="later")
    if gone == "deleted":
        await service.seller.delete(f"/v3/paymentRequests/{made['id']}")
    else:
        await service.edit(made["id"], {"expirationInSeconds": 1})
    service.clock.advance(SANDBOX_DELAY / 1000)
    await hear(service)
    assert (await units(service), len(await reports(service))) == ((2, 0, 1, 0), 1)
    receipt = await service.anyone.get(answer.headers["location"], follow_redirects=True)
    assert (receipt.status_code, "/receipt/" in receipt.url.path) == (200, True)


async def test_one_form_posted_again_while_it_waits_gets_the_same_checkout(
    service: ServiceHarness,
) -> None:
    """As by a double click, a refresh or a lost answer; another scenario changes nothing."""
    made = await service.create(**DROP)
    first = await service.pay(made["id"], manner="later")
    second = await service.pay(made["id"])
    assert first.headers["location"] == second.headers["location"]
    assert await units(service) == (2, 1, 0, 0)
    service.clock.advance(RESERVATION)
    third = await service.pay(made["id"], manner="never")
    assert third.headers["location"] == first.headers["location"]
    assert len(await service.rows("checkouts")) == 1


async def test_a_second_payment_of_one_checkout_is_oversold(service: ServiceHarness) -> None:
    """The rail's second id for the same invoice is another payment, without a unit."""
    made = await service.create(**DROP, **HOOK)
    await service.pay(made["id"])
    (checkout,) = await service.rows("checkouts")
    settlement = Settlement("sandbox", checkout["id"], "another")
    payment = await service.db.transaction(
        lambda tx: settling.record_settlement(tx, settlement, NOON + 1)
    )
    assert payment
    assert payment.state is PaymentState.OVERSOLD
    assert await units(service) == (2, 0, 1, 1)
    assert len(await reports(service)) == 2
    again = await service.db.transaction(
        lambda tx: settling.record_settlement(tx, settlement, NOON + 2)
    )
    assert again is None
    assert len(await reports(service)) == 2


async def test_a_repeated_form_gets_the_payment_that_took_its_unit(service: ServiceHarness) -> None:
    """Also if other payments of the checkout have the same millisecond."""
    made = await service.create(**DROP)
    first = await service.pay(made["id"])
    (checkout,) = await service.rows("checkouts")
    for number in range(8):
        settlement = Settlement("sandbox", checkout["id"], f"more-{number}")
        take = partial(settling.record_settlement, settlement=settlement, now=NOON)
        await service.db.transaction(take)
        again = await service.pay(made["id"])
        assert again.headers["location"] == first.headers["location"]


async def test_one_settlement_cannot_pay_two_checkouts(service: ServiceHarness) -> None:
    made = await service.create(**DROP)
    await service.pay(made["id"], "a" * 32)
    await service.pay(made["id"], "b" * 32, manner="never")
    one, two = await service.db.query("SELECT * FROM checkouts ORDER BY state DESC")
    assert (one["state"], two["state"]) == ("paid", "open")
    settlement = Settlement("sandbox", two["id"], f"sandbox-{one['id']}")
    with pytest.raises(RuntimeError, match="two checkouts"):
        await service.db.transaction(lambda tx: settling.record_settlement(tx, settlement, NOON))
    assert await units(service) == (1, 1, 1, 0)


async def test_a_settlement_of_an_unknown_checkout_is_refused(service: ServiceHarness) -> None:
    with pytest.raises(NotFound):
        await service.db.transaction(
            lambda tx: settling.record_settlement(tx, Settlement("sandbox", "x", "y"), NOON)
        )
    assert await service.rows("payments") == []


async def test_an_unknown_scenario_is_refused_and_pays_nothing(service: ServiceHarness) -> None:
    made = await service.create(**DROP)
    assert (await service.pay(made["id"], manner="gift")).status_code == 400
    assert await units(service) == (3, 0, 0, 0)


async def test_the_page_offers_every_scenario_of_test_money(service: ServiceHarness) -> None:
    made = await service.create()
    page = (await service.anyone.get(f"/pay/{made['id']}")).text
    for scenario in SandboxScenario:
        assert f'<option value="{scenario}">' in page


async def test_a_refused_form_keeps_the_chosen_scenario(service: ServiceHarness) -> None:
    made = await service.create(requestedUserData=["email"])
    answer = await service.pay(made["id"], email="nobody", manner="never")
    assert answer.status_code == 400
    assert '<option value="never" selected>' in answer.text


async def test_the_waiting_page_of_a_donation_mentions_no_reserved_unit(
    service: ServiceHarness,
) -> None:
    made = await service.create()
    page = await look(service, await service.pay(made["id"], manner="never"))
    assert "kept" not in page.text
    service.clock.advance(RESERVATION)
    page = await service.anyone.get(str(page.url))
    assert "Time&#39;s up" in page.text
    assert "kept" not in page.text


async def test_a_waiting_page_refreshes_less_often_with_time_and_ends(
    service: ServiceHarness,
) -> None:
    made = await service.create(**DROP)
    page = await look(service, await service.pay(made["id"], manner="never"))
    found = []
    for seconds in (0, 59, 1, 3599, 1):
        service.clock.advance(seconds)
        text = (await service.anyone.get(str(page.url))).text
        found += re.findall(r'http-equiv="refresh" content="(\d+)"', text) or ["none"]
    assert found == ["3", "3", "30", "30", "none"]


async def test_payers_who_wait_behind_one_address_are_limited_apart(database_url: str) -> None:
    """Each checkout has a rate limit of its own; guessed ids count for the address."""
    async with open_service(database_url, payer_rate=Rate(6, 60)) as service:
        made = await service.create(**DROP)
        pages = [
            (await service.pay(made["id"], f"{number}" * 32, manner="never")).headers["location"]
            for number in range(3)
        ]
        for _ in range(6):
            for page in pages:
                assert (await service.anyone.get(page)).status_code == 200
        late = await service.anyone.get(pages[0])
        assert late.status_code == 429
        wait = late.headers["retry-after"]
        assert f'http-equiv="refresh" content="{wait}"' in late.text
        guess = f"/pay/{made['id']}/checkout/{'0' * 24}"
        assert [(await service.anyone.get(guess)).status_code for _ in range(4)] == [404] * 3 + [
            429
        ]


async def test_each_payment_is_logged_once(service: ServiceHarness) -> None:
    made = await service.create(**DROP)
    with capture_logs() as lines:
        await service.pay(made["id"], manner="twice")
        await service.pay(made["id"])
        service.clock.advance(SANDBOX_DELAY / 1000)
        await hear(service)
    assert [line["event"] for line in lines] == ["payment recorded", "payment reported again"]


async def cancelled(service: ServiceHarness, answer: httpx.Response) -> httpx.Response:
    """Press the cancel button of the waiting page."""
    where = answer.headers["location"]
    done = await service.anyone.post(where, data={"action": "cancel"})
    assert (done.status_code, done.headers["location"]) == (303, where)
    return await service.anyone.get(where)


async def test_a_payer_can_cancel_and_the_unit_is_free_at_once(service: ServiceHarness) -> None:
    """However often the button is pressed, one unit returns; the page explains it."""
    made = await service.create(**ONE, **HOOK)
    answer = await service.pay(made["id"], "a" * 32, manner="never")
    assert 'value="cancel"' in (await look(service, answer)).text
    for _ in range(3):
        page = await cancelled(service, answer)
        assert "been charged" in page.text
        assert 'value="cancel"' not in page.text
        assert f'href="/pay/{made["id"]}"' in page.text
        assert await units(service) == (1, 0, 0, 0)
    again = await service.pay(made["id"], "a" * 32)
    assert again.headers["location"] == answer.headers["location"]
    assert (await service.pay(made["id"], "b" * 32)).status_code == 303
    assert (await units(service), len(await reports(service))) == ((0, 0, 1, 0), 1)


async def test_a_checkout_is_cancelled_only_through_its_own_address(
    service: ServiceHarness,
) -> None:
    """Under its own request and by POST; opening the page cancels nothing."""
    made, other = await service.create(**DROP), await service.create()
    path = (await service.pay(made["id"], manner="never")).headers["location"]
    checkout = path.rpartition("/")[2]
    wrong = [f"/pay/{other['id']}/checkout/{checkout}", f"/pay/{made['id']}/checkout/{'0' * 24}"]
    for address in wrong:
        assert (await service.anyone.post(address, data={"action": "cancel"})).status_code == 404
    for form in ({"action": "pay"}, {"token": "t" * 32}):
        assert (await service.anyone.post(path, data=form)).status_code == 400
    assert (await service.anyone.post(path, json={"action": "cancel"})).status_code == 415
    assert (await service.anyone.get(f"{path}?action=cancel")).status_code == 200
    assert [row["state"] for row in await service.rows("checkouts")] == ["open"]


async def test_a_cancel_after_the_payment_redirects_the_payer(
    service: ServiceHarness,
) -> None:
    """The page's form-action must name the target, or browsers block the redirect."""
    made = await service.create(**ONE, redirectUrl="https://shop.example/thanks")
    page = await look(service, await service.pay(made["id"], manner="later"))
    assert "form-action 'self' https://shop.example;" in page.headers["content-security-policy"]
