"""The rail of LNbits: a key that can't spend, and each answer that it does not believe."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from bot.core.errors import InvalidBody
from bot.service.rails import invoices
from bot.service.rails.rail import (
    Arrived,
    Connected,
    Gone,
    Opened,
    PayWith,
    Unavailable,
    Waiting,
)
from tests.support.lightning_wallet import (
    ADMIN_KEY,
    INVOICE_KEY,
    WALLET_ID,
    InvoiceDraft,
    LNbitsStandIn,
    serve_wallet,
    text_answer,
)
from tests.support.service_harness import Clock
from tests.support.wallet_shops import Shop, open_lnbits


@pytest.fixture
async def shop(clock: Clock) -> AsyncIterator[Shop]:
    async with open_lnbits(clock) as it:
        await it.connect()
        yield it


async def refusals(shop: Shop, url: Any, key: Any = INVOICE_KEY) -> dict[str, str]:
    """Return what is wrong with each field, as the seller reads it."""
    with pytest.raises(InvalidBody) as raised:
        await shop.rail.connect({"url": url, "key": key})
    return {problem.field: problem.message for problem in raised.value.info}


async def test_an_invoice_key_is_connected_without_changing_anything(shop: Shop) -> None:
    found = await shop.rail.connect({"url": f" {shop.wallet.url}/ ", "key": f" {INVOICE_KEY} "})
    details = {"url": shop.wallet.url, "key": INVOICE_KEY}
    assert found == Connected("lnbits", details, "127.0.0.1", ("SAT",), automatic=True)
    assert INVOICE_KEY not in found.label
    assert [call.method for call in shop.wallet.asked] == ["GET", "POST"]
    assert shop.wallet.asked[1].state.body == {"out": True}
    assert shop.wallet.preimages == {}
    assert shop.rail.host(found.details) == shop.wallet.host


async def test_a_pasted_address_and_key_are_read_as_typed_ones(shop: Shop) -> None:
    """The chat reads them likewise, but other applications send what was pasted."""
    pasted = {"url": f"\u202a{shop.wallet.url}\u202c", "key": f"\u200e{INVOICE_KEY}\u00a0"}
    found = await shop.rail.connect(pasted)
    assert found.details == {"url": shop.wallet.url, "key": INVOICE_KEY}


@pytest.mark.parametrize(
    "path",
    ["/", "/wallet?usr=0123&wal=4567", "/wallet", "/api/v1", "/extensions#x", "/account/"],
)
async def test_the_address_of_one_of_its_pages_will_do(shop: Shop, path: str) -> None:
    """What follows may be a secret, such as the user's id: it is not kept."""
    found = await shop.rail.connect({"url": f"{shop.wallet.url}{path}", "key": INVOICE_KEY})
    assert found.details["url"] == shop.wallet.url


@pytest.mark.parametrize(
    "fields",
    [
        {"wallet": {"id": WALLET_ID}},
        {"refuse": {"detail": "Missing BOLT11 invoice"}},
        {"refuse": {"detail": ...}},
    ],
)
async def test_a_key_is_refused_unless_it_provably_cannot_spend(
    shop: Shop, fields: dict[str, dict[str, Any]]
) -> None:
    shop.wallet.changed = fields
    problems = await refusals(shop, shop.wallet.url)
    assert "can spend your money" in problems["details.key"]
    assert "API keys and API docs" in problems["details.key"]


async def test_an_admin_key_is_refused(shop: Shop) -> None:
    problems = await refusals(shop, shop.wallet.url, ADMIN_KEY)
    assert list(problems) == ["details.key"]
    assert "can spend your money" in problems["details.key"]


async def test_an_unknown_key_is_refused(shop: Shop) -> None:
    problems = await refusals(shop, shop.wallet.url, "f" * 32)
    assert list(problems) == ["details.key"]
    assert "doesn't know this key" in problems["details.key"]


async def test_what_is_no_key_is_not_sent(shop: Shop) -> None:
    for key in (None, 5, "", "short", "a b" * 20, "x" * 200, "é" * 32, "a\nb" * 9):
        problems = await refusals(shop, shop.wallet.url, key)
        assert "isn't an LNbits key" in problems["details.key"]
    assert shop.wallet.asked == []


async def test_a_wrong_or_private_address_is_explained(shop: Shop) -> None:
    for url in (
        *(None, 5, "", "https://", "ftp://lnbits.example", "http://lnbits.example"),
        *("https://10.0.0.1", "https://localhost:5000", "http://127.0.0.2:5000", "::"),
        *("https://user:pw@lnbits.example", "https://169.254.169.254/latest"),
    ):
        assert "public address" in (await refusals(shop, url))["details.url"], url


async def test_both_fields_are_explained_at_once(shop: Shop) -> None:
    assert {*await refusals(shop, None, None)} == {"details.url", "details.key"}


async def test_an_lnbits_that_is_down_is_named(shop: Shop) -> None:
    problems = await refusals(shop, "http://127.0.0.1:9")
    assert "127.0.0.1 can't be reached" in problems["details.url"]


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_key_is_sent_to_no_address_that_lnbits_redirects_to(
    shop: Shop, status: int
) -> None:
    """Also not to one at the same host: the seller names the address."""
    found = await shop.opened()
    async with serve_wallet(moved := LNbitsStandIn(shop.clock)):
        for target in (f"{moved.url}/api/v1/wallet", "/api/v1/wallet/", "https://10.0.0.1/"):
            moving = text_answer("", status, location=target)
            shop.wallet.answers = dict.fromkeys(("wallet", "create", "payment"), moving)
            problems = await refusals(shop, shop.wallet.url)
            assert (
                "redirects to another address, where the key isn't sent"
                in (problems["details.url"])
            )
            shop.wallet.asked.clear()
            assert await shop.refused() == "refused"
            assert isinstance(await shop.poll(found), Waiting)
            assert len(shop.wallet.asked) == 2
        assert moved.asked == []


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (404, "", "no LNbits"),
        (404, '{"detail":"Not Found"}', "no LNbits"),
        (403, "<html>", "lets nobody ask"),
        (502, "{}", "a problem of its own"),
        (520, '{"detail":"No route."}', "says: No route."),
        (200, '{"name":"shop"}', "no LNbits"),
    ],
)
async def test_each_answer_that_is_no_wallet_is_told_as_what_it_is(
    shop: Shop, status: int, body: str, told: str
) -> None:
    shop.wallet.answers["wallet"] = text_answer(body, status)
    assert told in (await refusals(shop, shop.wallet.url))["details.url"]


async def test_an_invoice_is_asked_for_that_lapses_with_the_checkout(shop: Shop) -> None:
    found = await shop.open(hint_url="https://pay.example/hint/1")
    (call,) = shop.wallet.asked
    assert call.headers["x-api-key"] == INVOICE_KEY
    assert call.state.body == {
        "out": False,
        "amount": 21,
        "unit": "sat",
        "memo": "Coffee & cake for two people",
        "expiry": 900,
        "external_id": "checkout-1",
        "webhook": "https://pay.example/hint/1",
    }
    draft = InvoiceDraft(21_000, shop.clock(), payment_hash=shop.wallet.last)
    assert found == Opened(
        shop.wallet.last,
        PayWith(lightning_invoice=draft.write()),
        shop.clock() // 1000 * 1000 + 900_000,
        poll_details={"wallet": WALLET_ID},
    )


@pytest.mark.parametrize("left", [-1, 0, 5, 31, 39, 59, 60])
async def test_a_slow_answer_late_in_a_reservation_is_valid(
    shop: Shop, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The invoice is the one that was asked for, and leaves time to pay it."""

    def made_at() -> int:
        at = shop.clock()
        shop.clock.advance(9.9)
        return at

    monkeypatch.setattr(shop.wallet, "now", made_at)
    found = await shop.open(lapses_at=shop.clock() + left * 1_000)
    assert isinstance(found, Opened), found
    assert (found.lapses_at or 0) - shop.clock() >= invoices.LEAST_LIFE


async def test_a_refused_webhook_is_left_out(shop: Shop) -> None:
    """LNbits lets its operator choose which addresses it calls."""
    answers = iter([400, 200])

    def once() -> Any:
        if next(answers) == 400:
            return text_answer('{"detail":"Callback URL is not allowed."}', 400)()
        del shop.wallet.answers["create"]
        return shop.wallet._answer("create", {"payment_hash": shop.wallet.last}, 201)

    shop.wallet.answers["create"] = once
    await shop.open(hint_url="https://pay.example/hint/1")
    first, second = (call.state.body for call in shop.wallet.asked)
    assert first == second | {"webhook": "https://pay.example/hint/1"}


async def test_a_memo_is_cut_to_what_an_invoice_holds(shop: Shop) -> None:
    await shop.open(memo="€" * 300)
    assert shop.wallet.asked[0].state.body["memo"] == "€" * 213


async def test_an_older_lnbits_names_the_invoice_otherwise(shop: Shop) -> None:
    text = InvoiceDraft(21_000, shop.clock()).write()
    payment_hash = InvoiceDraft(21_000, shop.clock()).payment_hash
    changed = {"bolt11": ..., "payment_request": text, "payment_hash": payment_hash}
    shop.wallet.changed["create"] = changed | {"wallet_id": ...}
    assert (await shop.opened()).external_id == payment_hash


async def test_an_answer_that_is_no_created_invoice_is_told_as_what_it_is(
    shop: Shop,
) -> None:
    for payment_hash in ("", None, "33" * 32, 5):
        shop.wallet.changed["create"] = {"payment_hash": payment_hash}
        assert await shop.refused() == "lied"
    for body, status, reason in (
        ('{"detail":"Wallet not found."}', 404, "refused"),
        ('{"detail":"Invoice (or Admin) key required."}', 403, "refused"),
        ('{"detail":"Amount too high","status":"failed"}', 520, "refused"),
        ('{"detail":"Unexpected error! ID: fxj8"}', 500, "slow"),
        ('{"checking_id":"1"}', 201, "refused"),
    ):
        shop.wallet.answers["create"] = text_answer(body, status)
        assert await shop.refused() == reason, body


async def test_a_wallets_id_that_would_fill_the_database_opens_nothing(shop: Shop) -> None:
    shop.wallet.changed["create"] = {"wallet_id": "c" * 60_000}
    assert await shop.refused() == "refused"


async def test_a_paid_invoice_has_arrived_with_its_amount_and_preimage(shop: Shop) -> None:
    found = await shop.paid()
    assert await shop.poll(found) == Arrived(21)


@pytest.mark.parametrize(("msat", "expected"), [(5_000, 5), (1_999, 1), (42_000, 42)])
async def test_the_amount_is_that_which_came_in_whole_satoshi(
    shop: Shop, msat: int, expected: int
) -> None:
    found = await shop.paid()
    shop.wallet.changed["details"] = {"amount": msat}
    answer = await shop.poll(found)
    assert isinstance(answer, Arrived)
    assert answer.amount == expected


async def test_an_answer_that_is_not_about_our_payment_is_not_believed(shop: Shop) -> None:
    found = await shop.paid()
    for details in (
        *({"payment_hash": "22" * 32}, {"payment_hash": None}),
        *({"wallet_id": "d" * 32}, {"wallet_id": None}, {"external_id": "checkout-2"}),
        *({"amount": -21_000}, {"amount": 0}, {"amount": 999}, {"amount": None}),
        {"amount": 10**30},
        *({"amount": "21000"}, {"amount": True}, {"amount": 21_000.5}),
    ):
        shop.wallet.changed["details"] = details
        assert isinstance(await shop.poll(found), Waiting), details


async def test_paid_without_details_is_anybodys_answer(shop: Shop) -> None:
    """LNbits answers so to a wrong key, and to none."""
    found = await shop.paid()
    answers: tuple[Any, ...] = (None, ..., [], "paid")
    for details in answers:
        shop.say(details=details)
        lost = Waiting("the wallet does not accept the key any more")
        assert await shop.poll(found) == lost
    for status in (401, 403, 500, 520):
        shop.wallet.answers["payment"] = text_answer('{"paid":true,"detail":"x"}', status)
        assert isinstance(await shop.poll(found), Waiting), status


async def test_failed_is_gone_and_may_be_paid_later(shop: Shop) -> None:
    found = await shop.opened()
    shop.wallet.changed["details"] = {"status": "failed"}
    assert await shop.poll(found) == Gone("failed")
    shop.wallet.paid.add(found.external_id)
    assert isinstance(await shop.poll(found), Arrived)


async def test_an_invoice_that_the_wallet_forgot_is_gone(shop: Shop) -> None:
    found = await shop.opened()
    shop.wallet.preimages.clear()
    assert isinstance(await shop.poll(found), Gone)


async def test_a_wallet_that_repeats_the_key_does_not_get_it_shown_or_logged(shop: Shop) -> None:
    echo = {"detail": f"No rights for {INVOICE_KEY} or {INVOICE_KEY.upper()}."}
    shop.wallet.answers["create"] = text_answer(json.dumps(echo), 403)
    found = await shop.open()
    assert isinstance(found, Unavailable)
    assert INVOICE_KEY not in found.detail
    assert "No rights for" in found.detail
    shop.wallet.answers["wallet"] = text_answer(json.dumps(echo), 403)
    assert INVOICE_KEY not in str(await refusals(shop, shop.wallet.url))
