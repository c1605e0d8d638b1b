"""Receipts by email to payers: one for each payment, bounded, and ended by one click."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial

import pytest

from bot.core.database.database import Transaction
from bot.core.text import contacts
from bot.interface.vocabulary import PayerField
from bot.service.notifications import (
    notification,
    notification_queues,
    payer_letters,
)
from bot.service.notifications.payer_letters import DAY, OF_TEST_MONEY, TO_ALL, TO_PAYER, TOO_LATE
from bot.service.notifications.recipients import UNSUBSCRIBED
from bot.service.rails.rail import SANDBOX_DELAY
from bot.service.requests import request_rows
from bot.service.requests.request import Payment, Quote
from tests.support.checkout_steps import ONE, RESERVATION, hear
from tests.support.mail import KEY, PAYER, WORDS, ReceiptHarness, link, open_receipt_harness, plain
from tests.support.service_harness import NEW, NOON, REQUESTS_PATH, URL, open_service, refusal_code


@pytest.fixture
async def post(database_url: str) -> AsyncIterator[ReceiptHarness]:
    async with open_receipt_harness(database_url, reservation=RESERVATION * 1000) as it:
        yield it


IN_DOLLARS = Quote(500, "USD", (500,))


def queue_real(
    tx: Transaction, request_id: str, number: int, at: int = NOON, paid: Quote = IN_DOLLARS
) -> None:
    """Queue the receipt of a payment in real money, by the payer of this number."""
    request = request_rows.find(tx, request_id, NOON)
    assert request
    data: dict[PayerField, str] = {"email": f"p{number}@mail.example"}
    payment = Payment(f"{number:024x}", request_id, 500, "USD", (), data, at, paid)
    payer_letters.queue_receipt(tx, request, payment, "en", test_money=False)


async def test_a_payer_who_left_an_address_gets_one_letter(post: ReceiptHarness) -> None:
    request_id = await post.ask()
    paid = await post.pay(request_id)
    assert paid.headers["location"].startswith(f"/pay/{request_id}/receipt/")
    assert await post.work() == 1
    assert await post.work(3600) == 0
    (letter,) = post.letters
    assert (letter["to"], letter["subject"]) == (PAYER, "Receipt for your test payment of $5.00")
    transaction_id = paid.headers["location"].rpartition("/")[2]
    assert plain(letter).splitlines()[:10] == [
        "You paid $5.00",
        "",
        "Test mode: no real money was charged.",
        "",
        "Amount: $5.00",
        "Date: January 15, 2027, 8:00\u202fAM UTC",
        "Paid at: pay.test",
        f"Transaction number: {transaction_id}",
        "",
        f"View receipt: {URL}{paid.headers['location']}",
    ]


async def test_a_letter_has_no_word_of_the_sellers(post: ReceiptHarness) -> None:
    """Whoever pays chooses the address: sellers could write to anybody."""
    request_id = await post.ask(**WORDS)
    await post.pay(request_id)
    await post.work()
    (letter,) = post.letters
    assert "zanzibar" not in letter.as_string().lower()
    parts = [part.get_content().lower() for part in letter.iter_parts()]
    assert not [part for part in parts if "zanzibar" in part]
    (row,) = await post.rows()
    assert "zanzibar" not in row["body"].lower()


async def test_a_letter_is_in_the_language_of_the_form(post: ReceiptHarness) -> None:
    await post.pay(await post.ask(), language="de-AT,de;q=0.9")
    await post.work()
    assert post.letters[0]["subject"] == "Beleg für Ihre Testzahlung über 5,00 $"
    assert "Testmodus: Es wurde kein echtes Geld abgebucht." in plain(post.letters[0])


async def test_a_lapsed_checkout_that_is_paid_late_brings_one_letter(post: ReceiptHarness) -> None:
    """In the language of the form that opened it."""
    await post.pay(await post.ask(**ONE), language="de", manner="late")
    assert await post.work() == 0
    post.service.clock.advance(RESERVATION + SANDBOX_DELAY / 1000)
    assert await hear(post.service) == 1
    assert (await post.work(), await hear(post.service), await post.work()) == (1, 0, 0)
    assert post.letters[0]["subject"].startswith("Beleg für Ihre Testzahlung")


async def test_an_oversold_payment_says_that_the_seller_owes_a_refund(post: ReceiptHarness) -> None:
    request_id = await post.ask(**ONE)
    await post.pay(request_id, manner="late")
    post.service.clock.advance(RESERVATION)
    await post.pay(request_id, "ben@payer.example")
    post.service.clock.advance(SANDBOX_DELAY / 1000)
    assert await hear(post.service) == 1
    assert await post.work() == 2
    late = next(one for one in post.letters if one["to"] == PAYER)
    assert late["subject"] == "Your payment of $5.00: you're owed a refund"
    assert "the seller owes you a refund" in plain(late)
    first = next(one for one in post.letters if one["to"] == "ben@payer.example")
    assert "refund" not in first.as_string()


@pytest.mark.parametrize(
    ("mails", "asked"),
    [(False, ["email"]), (True, ["phoneNumber"]), (True, [])],
    ids=["no mail server", "another field", "nothing asked"],
)
async def test_nothing_is_queued_without_a_mail_server_or_an_address(
    database_url: str, *, mails: bool, asked: list[str]
) -> None:
    async with open_service(database_url, mails=mails) as service:
        made = await service.create(requestedUserData=asked)
        data = {"email": PAYER, "phoneNumber": "+442079460958"}
        assert (await service.pay(made["id"], **data)).status_code == 303
        assert await service.rows("deliveries") == []
        assert await service.rows("outbox") == []
        assert [row["language"] for row in await service.rows("checkouts")] == [None]


async def test_a_letter_can_be_ended_by_its_link(post: ReceiptHarness) -> None:
    """For every spelling of the mailbox and every seller; the page changes nothing by itself."""
    await post.pay(await post.ask())
    await post.work()
    path = link(post.letters[0], "stop/receipts")
    assert post.letters[0]["list-unsubscribe"] == f"<{URL}{path}>"
    assert post.letters[0]["list-unsubscribe-post"] == "List-Unsubscribe=One-Click"
    shown = await post.service.anyone.get(path)
    assert (shown.status_code, "Stop receipts?" in shown.text) == (200, True)
    await post.pay(await post.ask())
    assert await post.work() == 1
    clicked = await post.service.anyone.post(path, data={"List-Unsubscribe": "One-Click"})
    assert (clicked.status_code, "No more receipts" in clicked.text) == (200, True)
    for spelling in (PAYER, "Pat.Lee@Payer.example", "pat.lee+shop@payer.example"):
        await post.pay(await post.ask(), spelling)
    assert await post.work() == 0
    assert (await post.states())[2:] == [("ended", UNSUBSCRIBED)] * 3
    assert "No more receipts" in (await post.service.anyone.get(path)).text


async def test_a_mailbox_that_wants_nothing_from_here_gets_no_receipt(post: ReceiptHarness) -> None:
    await post.pay(await post.ask())
    await post.work()
    path = link(post.letters[0], "stop/receipts")
    stopped = await post.service.anyone.post(path, data={"scope": "everybody"})
    assert "No more emails" in stopped.text
    await post.pay(await post.ask())
    assert await post.work() == 0
    made = await post.service.create(notifications={"email": PAYER})
    assert made["notifications"] == {"email": PAYER, "emailState": "ended"}


async def test_a_link_is_signed(post: ReceiptHarness) -> None:
    """Nobody can end the receipts of a mailbox that is not theirs."""
    mailbox = contacts.mailbox_digest(PAYER)
    token = notification.stop_token(KEY, mailbox)
    forged = [notification.stop_token(b"other", mailbox), mailbox, token[:-1], f"{token}0", "x"]
    for one in forged:
        for answer in (
            await post.service.anyone.get(f"/email/stop/receipts/{one}"),
            await post.service.anyone.post(f"/email/stop/receipts/{one}"),
        ):
            assert answer.status_code == 404
    assert await post.service.rows("unsubscribed") == []
    assert notification.read_stop_token(KEY, token) == mailbox


@pytest.mark.long
async def test_few_letters_go_to_one_mailbox(post: ReceiptHarness) -> None:
    """Of all sellers together and in every spelling; those held up for a day are not sent."""
    for number in range(TO_PAYER.burst + 20):
        await post.pay(await post.ask(), f"Pat.Lee+{number}@payer.example")
    assert await post.work() == TO_PAYER.burst
    assert await post.work(TO_PAYER.interval / 1000 - 1) == 0
    assert await post.work(1) == 1
    sent = [await post.work(TO_PAYER.interval / 1000) for _ in range(9)]
    assert sent == [1] * 9
    post.service.clock.advance(DAY / 1000)
    await post.service.db.transaction(partial(payer_letters.end_late, now=post.service.clock()))
    assert await post.work() == 0
    assert (await post.states()).count(("ended", TOO_LATE)) == 10
    assert await post.work(TO_PAYER.interval / 1000) == 0


async def test_a_sellers_drop_does_not_hold_up_the_receipts_of_others(post: ReceiptHarness) -> None:
    """Once the receipts of all sellers have to wait, the sellers take turns."""
    headers = [{"Owner-Ref": name} for name in ("drop", "single")]
    drop, single = [
        (await post.service.seller.post(REQUESTS_PATH, json=NEW, headers=one)).json()["id"]
        for one in headers
    ]

    def sell_out(tx: Transaction) -> None:
        for number in range(TO_ALL.burst + 50):
            queue_real(tx, drop, number)

    await post.service.db.transaction(sell_out)
    assert await post.claim_all() == [drop] * TO_ALL.burst
    await post.service.db.transaction(
        partial(queue_real, request_id=single, number=9999, at=NOON + 1)
    )
    post.service.clock.advance(TO_ALL.interval / 1000)
    assert await post.claim_all() == [single]


async def test_a_letter_that_the_server_delays_is_not_too_late(post: ReceiptHarness) -> None:
    post.office.answers["RCPT"] = "451 4.7.1 Greylisted"
    await post.pay(await post.ask())
    assert await post.work() == 0
    post.office.answers.clear()
    now = NOON + 2 * DAY
    await post.service.db.transaction(partial(payer_letters.end_late, now=now))
    assert await post.work(60) == 1


async def test_test_money_brings_few_letters_in_all(post: ReceiptHarness) -> None:
    """It costs nothing, so that anybody could write to a thousand strangers."""
    request_id = await post.ask()
    for number in range(OF_TEST_MONEY.burst + 5):
        assert (await post.pay(request_id, f"stranger{number}@mail.example")).status_code == 303
    assert len(await post.rows()) == OF_TEST_MONEY.burst
    post.service.clock.advance(OF_TEST_MONEY.interval / 1000)
    await post.pay(request_id, "later@mail.example")
    await post.pay(request_id, "too-soon@mail.example")
    assert [row["address"] for row in await post.rows()][-1] == "later@mail.example"


@pytest.mark.simulation
async def test_other_money_is_not_bound_by_the_limit_of_test_money(post: ReceiptHarness) -> None:
    request_id = await post.ask()
    in_coins = partial(
        queue_real, request_id=request_id, paid=Quote(5_000_000, "BSV", (5_000_000,))
    )
    for number in range(OF_TEST_MONEY.burst + 5):
        await post.service.db.transaction(partial(in_coins, number=number))
    assert await post.work() == OF_TEST_MONEY.burst + 5
    assert post.letters[0]["subject"] == "Receipt for your payment of $5.00"
    assert "Paid as: 0.05\u00a0BSV" in plain(post.letters[0]).splitlines()
    assert "Test" not in plain(post.letters[0])


async def test_an_application_neither_sees_receipts_nor_sends_them(post: ReceiptHarness) -> None:
    """It could write to its payers for ever."""
    await post.pay(await post.ask())
    await post.work()
    (row,) = await post.rows()
    path = f"/v3/deliveries/{row['id']}"
    assert (await post.service.seller.get("/v3/deliveries")).json()["items"] == []
    listed = await post.service.seller.get("/v3/deliveries?state=delivered")
    assert listed.json()["items"] == []
    for answer in (
        await post.service.seller.get(path),
        await post.service.seller.post(f"{path}/retry"),
    ):
        assert refusal_code(answer) == (404, "notFound")


async def test_the_page_says_that_a_receipt_was_sent_only_if_it_was(post: ReceiptHarness) -> None:
    """The address is masked, because people share the page."""
    paid = await post.pay(await post.ask())

    async def page(language: str = "en") -> str:
        answer = await post.service.anyone.get(
            paid.headers["location"], headers={"Accept-Language": language}
        )
        return answer.text.replace("&#39;", "'")

    assert "We're emailing a receipt to p•••@payer.example." in await page()
    await post.work()
    assert "We've emailed a receipt to p•••@payer.example." in await page()
    assert "Wir haben den Beleg per E-Mail an p•••@payer.example geschickt." in await page("de")
    assert PAYER not in await page()
    await post.service.db.transaction(
        lambda tx: tx.execute("UPDATE outbox SET state = 'dead' WHERE queue = 'receipts'")
    )
    assert "emailed" not in await page()
    assert "emailing" not in await page()


async def test_settled_receipts_are_swept_with_their_addresses(post: ReceiptHarness) -> None:
    await post.pay(await post.ask())
    await post.work()
    before = post.service.clock() + 1
    await post.service.db.transaction(partial(notification_queues.sweep, before=before))
    assert await post.service.rows("deliveries") == []
    assert await post.service.rows("outbox") == []


async def test_the_payment_is_listed_as_without_a_receipt(post: ReceiptHarness) -> None:
    request_id = await post.ask()
    await post.pay(request_id)
    listed = await post.service.seller.get(f"{REQUESTS_PATH}/{request_id}/payments")
    (item,) = listed.json()["items"]
    assert set(item) == {
        *("transactionId", "amount", "currencyCode", "receivers", "userData", "completedAt")
    }
