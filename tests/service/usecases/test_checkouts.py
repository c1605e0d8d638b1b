"""Checkouts: the money comes at once, later, twice, too late or never, and is never dropped."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from bot.core.errors import NotFound
from bot.core.net.rates import Rate
from bot.core.outbox import outbox
from bot.service.model.request import Settlement
from bot.service.rails.rail import DELAY, SETTLEMENTS, Notice, SandboxRail
from bot.service.usecases import paying
from bot.service.usecases.settlement import Settler
from tests.support.service_harness import DROP, NOON, ServiceHarness, opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    import httpx


RESERVATION = 60
HOOK = {"notifications": {"webhook": {"webhookUrl": "https://h.example/w"}}}
ONE: dict[str, Any] = {"expirationType": "limit", "totalUnits": 1}


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[ServiceHarness]:
    async with opened(tmp_path, reservation=RESERVATION * 1000) as it:
        yield it


async def hear(shop: ServiceHarness) -> int:
    """Let the rail say what it has to say by now; how much that was."""
    settler = Settler(shop.db, SandboxRail(), shop.clock)
    messages = await shop.db.transaction(
        lambda tx: outbox.claim(tx, SETTLEMENTS, shop.clock(), 100)
    )
    for message in messages:
        await settler.handle(message)
    return len(messages)


async def units(shop: ServiceHarness) -> tuple[int, int, int, int]:
    """Remaining, reserved, paid and oversold, as the one row has them."""
    (row,) = await shop.rows("payment_requests")
    return (
        row["remaining_units"], row["reserved_units"], row["paid_count"], row["oversold_count"],
    )  # fmt: skip


async def told(shop: ServiceHarness) -> list[dict[str, Any]]:
    rows = await shop.db.query("SELECT body FROM outbox WHERE queue = 'webhooks' ORDER BY id")
    return [json.loads(row["body"]) for row in rows]


async def look(shop: ServiceHarness, answer: httpx.Response) -> httpx.Response:
    """Follow to the payer's checkout."""
    assert answer.status_code == 303, answer.text
    assert "/checkout/" in answer.headers["location"]
    return await shop.anyone.get(answer.headers["location"])


async def test_money_that_comes_later_pays_when_it_comes(shop: ServiceHarness) -> None:
    """Meanwhile the unit is held, the payer waits, and the page goes on by itself."""
    made = await shop.create(**ONE, **HOOK, redirectUrl="https://shop.example/thanks?a=1")
    answer = await shop.pay(made["id"], manner="later")
    waiting = await look(shop, answer)
    assert 'http-equiv="refresh"' in waiting.text
    assert "Waiting for your payment" in waiting.text
    assert (await units(shop), await told(shop)) == ((0, 1, 0, 0), [])
    assert await hear(shop) == 0
    shop.clock.advance(DELAY / 1000)
    assert await hear(shop) == 1
    assert await units(shop) == (0, 0, 1, 0)
    (payment,) = await shop.rows("payments")
    assert (payment["state"], payment["completed_at"]) == ("paid", NOON + DELAY)
    (event,) = await told(shop)
    assert (event["transactionId"], event["remainingUnits"]) == (payment["id"], 0)
    gone_on = await shop.anyone.get(answer.headers["location"])
    target = f"https://shop.example/thanks?a=1&transactionId={payment['id']}"
    assert (gone_on.status_code, gone_on.headers["location"]) == (303, target)


async def test_a_notice_told_twice_pays_once(shop: ServiceHarness) -> None:
    made = await shop.create(**DROP, **HOOK)
    answer = await shop.pay(made["id"], manner="twice")
    assert "/receipt/" in answer.headers["location"]
    shop.clock.advance(DELAY / 1000)
    assert await hear(shop) == 1
    assert (await units(shop), len(await told(shop))) == ((2, 0, 1, 0), 1)
    assert len(await shop.rows("payments")) == 1


async def test_money_that_comes_too_late_takes_a_unit_that_is_left(shop: ServiceHarness) -> None:
    made = await shop.create(**ONE, **HOOK)
    answer = await shop.pay(made["id"], manner="late")
    shop.clock.advance(RESERVATION)
    lapsed = await look(shop, answer)
    assert "The time to pay is over" in lapsed.text
    assert f'href="/pay/{made["id"]}"' in lapsed.text
    assert (await shop.get(made["id"]))["remainingUnits"] == 1
    shop.clock.advance(DELAY / 1000)
    assert await hear(shop) == 1
    (payment,) = await shop.rows("payments")
    assert (payment["state"], await units(shop)) == ("late", (0, 0, 1, 0))
    (event,) = await told(shop)
    assert (event["oversold"], event["remainingUnits"]) == (False, 0)
    receipt = await shop.anyone.get(answer.headers["location"], follow_redirects=True)
    assert receipt.url.path == f"/pay/{made['id']}/receipt/{payment['id']}"


async def test_money_that_comes_when_nothing_is_left_is_kept_and_told(shop: ServiceHarness) -> None:
    """Never dropped, never a unit below none: the seller owes it back, and the payer reads so."""
    made = await shop.create(**ONE, **HOOK)
    late = await shop.pay(made["id"], "a" * 32, manner="late")
    shop.clock.advance(RESERVATION)
    assert (await shop.pay(made["id"], "b" * 32)).status_code == 303
    shop.clock.advance(DELAY / 1000)
    assert await hear(shop) == 1
    assert await units(shop) == (0, 0, 1, 1)
    first, second = await shop.db.query("SELECT * FROM payments ORDER BY completed_at")
    assert (first["state"], second["state"]) == ("paid", "oversold")
    events = await told(shop)
    assert [event["oversold"] for event in events] == [False, True]
    page = await look(shop, late)
    assert "nothing was left" in page.text
    assert second["id"] in page.text
    again = await shop.pay(made["id"], "a" * 32, manner="late")
    assert again.headers["location"] == late.headers["location"]
    listed = (await shop.seller.get(f"/v3/paymentRequests/{made['id']}/payments")).json()
    assert [item.get("settlement") for item in listed["items"]] == ["oversold", None]
    stats = (await shop.anyone.get(f"/v3/paymentRequests/public/stats/{made['id']}")).json()
    assert (stats["totalPayments"], stats["totalVolume"]) == (2, 10)
    receipt = await shop.anyone.get(f"/pay/{made['id']}/receipt/{second['id']}")
    assert "owes it back" in receipt.text


async def test_reserved_is_told_apart_from_sold(shop: ServiceHarness) -> None:
    """On the wire, in the webhook and on the page: what others pay for may come back."""
    made = await shop.create(expirationType="limit", totalUnits=2, **HOOK)
    await shop.pay(made["id"], "a" * 32, manner="never")
    assert (await shop.pay(made["id"], "b" * 32)).status_code == 303
    found = await shop.get(made["id"])
    assert (found["remainingUnits"], found["reservedUnits"], found["status"]) == (0, 1, "active")
    (event,) = await told(shop)
    assert (event["remainingUnits"], event["reservedUnits"]) == (0, 1)
    assert "being paid for" in (await shop.anyone.get(f"/pay/{made['id']}")).text
    shop.clock.advance(RESERVATION)
    found = await shop.get(made["id"])
    assert (found["remainingUnits"], "reservedUnits" in found) == (1, False)
    assert (await shop.pay(made["id"], "c" * 32)).status_code == 303
    assert (await told(shop))[1]["reservedUnits"] is None


async def test_money_that_never_comes_gives_its_unit_back(shop: ServiceHarness) -> None:
    made = await shop.create(**ONE, **HOOK)
    await shop.pay(made["id"], manner="never")
    shop.clock.advance(RESERVATION * 10)
    assert await hear(shop) == 0
    found = await shop.get(made["id"])
    assert (found["remainingUnits"], found["isEnabled"]) == (1, True)


@pytest.mark.parametrize("gone", ["deleted", "expired"])
async def test_money_under_way_counts_though_the_request_is_gone_since(
    shop: ServiceHarness, gone: str
) -> None:
    """A payer who began in time holds a unit; what happens to the request then is not theirs."""
    made = await shop.create(**DROP, **HOOK)
    answer = await shop.pay(made["id"], manner="later")
    if gone == "deleted":
        await shop.seller.delete(f"/v3/paymentRequests/{made['id']}")
    else:
        await shop.edit(made["id"], {"expirationInSeconds": 1})
    shop.clock.advance(DELAY / 1000)
    await hear(shop)
    assert (await units(shop), len(await told(shop))) == ((2, 0, 1, 0), 1)
    receipt = await shop.anyone.get(answer.headers["location"], follow_redirects=True)
    assert (receipt.status_code, "/receipt/" in receipt.url.path) == (200, True)


async def test_one_form_posted_again_while_it_waits_gets_the_same_checkout(
    shop: ServiceHarness,
) -> None:
    """A double click, a refresh, a lost answer; the later choice of a manner changes nothing."""
    made = await shop.create(**DROP)
    first = await shop.pay(made["id"], manner="later")
    second = await shop.pay(made["id"])
    assert first.headers["location"] == second.headers["location"]
    assert await units(shop) == (2, 1, 0, 0)
    shop.clock.advance(RESERVATION)
    third = await shop.pay(made["id"], manner="never")
    assert third.headers["location"] == first.headers["location"]
    assert len(await shop.rows("checkouts")) == 1


async def cancelled(shop: ServiceHarness, answer: httpx.Response) -> httpx.Response:
    """Press the button of the page that the payer was led to."""
    where = answer.headers["location"]
    done = await shop.anyone.post(where, data={"action": "cancel"})
    assert (done.status_code, done.headers["location"]) == (303, where)
    return await shop.anyone.get(where)


async def test_a_payer_can_cancel_and_the_unit_is_free_at_once(shop: ServiceHarness) -> None:
    """Once: it is one unit however often the button is pressed; the page says what happened."""
    made = await shop.create(**ONE, **HOOK)
    answer = await shop.pay(made["id"], "a" * 32, manner="never")
    assert 'value="cancel"' in (await look(shop, answer)).text
    for _ in range(3):
        page = await cancelled(shop, answer)
        assert "been charged" in page.text
        assert 'value="cancel"' not in page.text
        assert f'href="/pay/{made["id"]}"' in page.text
        assert await units(shop) == (1, 0, 0, 0)
    again = await shop.pay(made["id"], "a" * 32)
    assert again.headers["location"] == answer.headers["location"]
    assert (await shop.pay(made["id"], "b" * 32)).status_code == 303
    assert (await units(shop), len(await told(shop))) == ((0, 0, 1, 0), 1)


@pytest.mark.parametrize(("sold", "state"), [(False, "late"), (True, "oversold")])
async def test_money_that_comes_after_a_cancel_counts_as_after_the_time(
    shop: ServiceHarness, *, sold: bool, state: str
) -> None:
    made = await shop.create(**ONE, **HOOK)
    answer = await shop.pay(made["id"], "a" * 32, manner="later")
    await cancelled(shop, answer)
    if sold:
        assert (await shop.pay(made["id"], "b" * 32)).status_code == 303
    shop.clock.advance(DELAY / 1000)
    assert await hear(shop) == 1
    assert await units(shop) == (0, 0, 1, int(sold))
    payments = await shop.db.query("SELECT state FROM payments ORDER BY completed_at")
    assert payments[-1]["state"] == state


@pytest.mark.parametrize("manner", ["atOnce", "later"])
async def test_what_is_paid_can_not_be_cancelled(shop: ServiceHarness, manner: str) -> None:
    made = await shop.create(**ONE)
    await shop.pay(made["id"], manner=manner)
    (checkout,) = await shop.rows("checkouts")
    shop.clock.advance(DELAY / 1000)
    await hear(shop)
    path = f"/pay/{made['id']}/checkout/{checkout['id']}"
    answer = await shop.anyone.post(path, data={"action": "cancel"})
    receipt = await shop.anyone.get(answer.headers["location"], follow_redirects=True)
    assert "/receipt/" in receipt.url.path
    assert await units(shop) == (0, 0, 1, 0)


async def test_what_has_lapsed_can_not_be_cancelled(shop: ServiceHarness) -> None:
    """Its unit may be another's by then."""
    made = await shop.create(**ONE)
    answer = await shop.pay(made["id"], "a" * 32, manner="never")
    shop.clock.advance(RESERVATION)
    assert (await shop.pay(made["id"], "b" * 32, manner="never")).status_code == 303
    page = await cancelled(shop, answer)
    assert "The time to pay is over" in page.text
    assert await units(shop) == (0, 1, 0, 0)


async def test_a_checkout_is_cancelled_by_who_has_its_address_alone(shop: ServiceHarness) -> None:
    """Under its own request, by a form that says so; a look at the page cancels nothing."""
    made, other = await shop.create(**DROP), await shop.create()
    path = (await shop.pay(made["id"], manner="never")).headers["location"]
    checkout = path.rpartition("/")[2]
    wrong = [f"/pay/{other['id']}/checkout/{checkout}", f"/pay/{made['id']}/checkout/{'0' * 24}"]
    for address in wrong:
        assert (await shop.anyone.post(address, data={"action": "cancel"})).status_code == 404
    for form in ({"action": "pay"}, {"token": "t" * 32}):
        assert (await shop.anyone.post(path, data=form)).status_code == 400
    assert (await shop.anyone.post(path, json={"action": "cancel"})).status_code == 415
    assert (await shop.anyone.get(f"{path}?action=cancel")).status_code == 200
    assert [row["state"] for row in await shop.rows("checkouts")] == ["open"]


async def test_a_cancelled_payer_is_led_on_when_the_money_was_faster(shop: ServiceHarness) -> None:
    """So the page's policy names where its form may lead, or browsers would stop there."""
    made = await shop.create(**ONE, redirectUrl="https://shop.example/thanks")
    page = await look(shop, await shop.pay(made["id"], manner="later"))
    assert "form-action 'self' https://shop.example;" in page.headers["content-security-policy"]


async def test_more_money_for_one_checkout_is_owed_back(shop: ServiceHarness) -> None:
    """A payer who pays an invoice twice: the rail's second id is another payment, for no unit."""
    made = await shop.create(**DROP, **HOOK)
    await shop.pay(made["id"])
    (checkout,) = await shop.rows("checkouts")
    notice = Notice(checkout["id"], "another")
    payment = await shop.db.transaction(lambda tx: paying.take(tx, "sandbox", notice, NOON + 1))
    assert payment
    assert payment.state is Settlement.OVERSOLD
    assert await units(shop) == (2, 0, 1, 1)
    assert len(await told(shop)) == 2
    again = await shop.db.transaction(lambda tx: paying.take(tx, "sandbox", notice, NOON + 2))
    assert again is None
    assert len(await told(shop)) == 2


async def test_a_form_stands_by_the_payment_that_took_its_unit(shop: ServiceHarness) -> None:
    """Whatever more came for it in the same millisecond, under whatever ids."""
    made = await shop.create(**DROP)
    first = await shop.pay(made["id"])
    (checkout,) = await shop.rows("checkouts")
    for number in range(8):
        notice = Notice(checkout["id"], f"more-{number}")
        take = partial(paying.take, rail="sandbox", notice=notice, now=NOON)
        await shop.db.transaction(take)
        again = await shop.pay(made["id"])
        assert again.headers["location"] == first.headers["location"]


async def test_a_rail_can_not_pay_two_checkouts_with_one_payment(shop: ServiceHarness) -> None:
    made = await shop.create(**DROP)
    await shop.pay(made["id"], "a" * 32)
    await shop.pay(made["id"], "b" * 32, manner="never")
    one, two = await shop.db.query("SELECT * FROM checkouts ORDER BY state DESC")
    assert (one["state"], two["state"]) == ("paid", "open")
    notice = Notice(two["id"], f"sandbox-{one['id']}")
    with pytest.raises(RuntimeError, match="two checkouts"):
        await shop.db.transaction(lambda tx: paying.take(tx, "sandbox", notice, NOON))
    assert await units(shop) == (1, 1, 1, 0)


async def test_a_notice_of_an_unknown_checkout_is_refused(shop: ServiceHarness) -> None:
    with pytest.raises(NotFound):
        await shop.db.transaction(lambda tx: paying.take(tx, "sandbox", Notice("x", "y"), NOON))
    assert await shop.rows("payments") == []


async def test_an_unknown_manner_is_refused_and_pays_nothing(shop: ServiceHarness) -> None:
    made = await shop.create(**DROP)
    assert (await shop.pay(made["id"], manner="gift")).status_code == 400
    assert await units(shop) == (3, 0, 0, 0)


async def test_the_page_offers_every_manner_of_test_money(shop: ServiceHarness) -> None:
    made = await shop.create()
    page = (await shop.anyone.get(f"/pay/{made['id']}")).text
    for manner in SandboxRail.manners:
        assert f'<option value="{manner}">' in page


async def test_the_manner_chosen_stays_when_the_form_comes_back(shop: ServiceHarness) -> None:
    made = await shop.create(requestedUserData=["email"])
    answer = await shop.pay(made["id"], email="nobody", manner="never")
    assert answer.status_code == 400
    assert '<option value="never" selected>' in answer.text


async def test_who_waits_for_a_donations_money_is_not_told_that_one_is_kept(
    shop: ServiceHarness,
) -> None:
    made = await shop.create()
    page = await look(shop, await shop.pay(made["id"], manner="never"))
    assert "kept" not in page.text
    shop.clock.advance(RESERVATION)
    page = await shop.anyone.get(str(page.url))
    assert "The time to pay is over" in page.text
    assert "kept" not in page.text


async def test_a_waiting_page_looks_less_often_with_time_and_ends(shop: ServiceHarness) -> None:
    made = await shop.create(**DROP)
    page = await look(shop, await shop.pay(made["id"], manner="never"))
    found = []
    for seconds in (0, 59, 1, 3599, 1):
        shop.clock.advance(seconds)
        text = (await shop.anyone.get(str(page.url))).text
        found += re.findall(r'http-equiv="refresh" content="(\d+)"', text) or ["none"]
    assert found == ["3", "3", "30", "30", "none"]


async def test_many_who_wait_behind_one_address_do_not_lock_each_other_out(tmp_path: Path) -> None:
    """Each checkout is counted apart; ids that are guessed are counted by address."""
    async with opened(tmp_path, payer_rate=Rate(6, 60)) as shop:
        made = await shop.create(**DROP)
        pages = [
            (await shop.pay(made["id"], f"{number}" * 32, manner="never")).headers["location"]
            for number in range(3)
        ]
        for _ in range(6):
            for page in pages:
                assert (await shop.anyone.get(page)).status_code == 200
        late = await shop.anyone.get(pages[0])
        assert late.status_code == 429
        wait = late.headers["retry-after"]
        assert f'http-equiv="refresh" content="{wait}"' in late.text
        guess = f"/pay/{made['id']}/checkout/{'0' * 24}"
        assert [(await shop.anyone.get(guess)).status_code for _ in range(4)] == [404] * 3 + [429]


async def test_each_payment_is_a_line_in_the_log_once(shop: ServiceHarness) -> None:
    made = await shop.create(**DROP)
    with capture_logs() as lines:
        await shop.pay(made["id"], manner="twice")
        await shop.pay(made["id"])
        shop.clock.advance(DELAY / 1000)
        await hear(shop)
    assert [line["event"] for line in lines] == ["money arrived", "money told again"]


async def test_a_checkout_is_shown_under_its_own_request_only(shop: ServiceHarness) -> None:
    made, other = await shop.create(**DROP), await shop.create()
    answer = await shop.pay(made["id"], manner="never")
    checkout = answer.headers["location"].rpartition("/")[2]
    for path in (
        f"/pay/{other['id']}/checkout/{checkout}",
        f"/pay/{made['id']}/checkout/{'0' * 24}",
    ):
        assert (await shop.anyone.get(path)).status_code == 404
