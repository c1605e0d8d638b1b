"""Letters to payers after the receipt: sent, paid back, not found, codes; nothing is a message."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from bot.app.maintenance import payer_erasure
from bot.core.text import contacts
from bot.core.text.translations import languages
from bot.service.notifications import notification_queues, notification_rows, payer_letters
from bot.service.notifications.payer_letters import MOST_OF_PAYMENT, TAKEN_BACK, served_handler
from tests.support.checkout_steps import perform
from tests.support.goods import uploaded
from tests.support.mail import PAYER, WORDS, ReceiptHarness, open_receipt_harness, plain
from tests.support.service_harness import NOON, REQUESTS_PATH

DROP: dict[str, Any] = {"expirationType": "limit", "totalUnits": 100}
KEEP = "https://t.me/shop_bot?start=r-{requestId}-{transactionId}"


@pytest.fixture
async def post(database_url: str) -> AsyncIterator[ReceiptHarness]:
    async with open_receipt_harness(database_url) as it:
        yield it


async def sell(post: ReceiptHarness, address: str = PAYER, **fields: Any) -> str:
    """Sell once and send the receipt; return the address of the payment in the interface."""
    paid = await post.pay(await post.ask(**fields), address)
    _, _, request_id, _, transaction_id = paid.headers["location"].split("/")
    await post.work()
    return f"{REQUESTS_PATH}/{request_id}/payments/{transaction_id}"


async def mark(post: ReceiptHarness, path: str, **body: Any) -> str | None:
    """Mark a payment; return how its payer was notified."""
    answer = await post.service.seller.put(path, json=body)
    assert answer.status_code == 200, answer.text
    notified: str | None = answer.json().get("payerNotified")
    return notified


def lines(post: ReceiptHarness) -> list[str]:
    return plain(post.letters[-1]).splitlines()


async def test_the_payer_hears_once_that_the_order_was_sent(post: ReceiptHarness) -> None:
    path = await sell(post)
    assert await mark(post, path, sent={"note": "RR123456785DE"}) == "email"
    assert await mark(post, path, sent={"note": "RR123456785DE"}) is None
    assert await post.work() == 1
    assert (post.letters[-1]["to"], post.letters[-1]["subject"]) == (
        PAYER,
        "Your $5.00 order has been sent",
    )
    assert lines(post)[:6] == [
        "Your order has been sent",
        "",
        "Test mode: no real money was charged.",
        "",
        "Amount: $5.00",
        "Note from the seller: RR123456785DE",
    ]
    assert any(line.startswith("View receipt: ") for line in lines(post))


async def test_the_payer_hears_that_the_money_was_paid_back(post: ReceiptHarness) -> None:
    path = await sell(post)
    assert await mark(post, path, paidBack={}) == "email"
    await post.work()
    assert post.letters[-1]["subject"] == "Your payment of $5.00 is marked as paid back"
    assert "The seller has marked your payment as paid back." in plain(post.letters[-1])


async def test_a_note_that_is_a_message_stays_on_the_receipt(post: ReceiptHarness) -> None:
    """The address may be a stranger's: no free text of a seller is mailed, stored or queued."""
    words = {name: value for name, value in WORDS.items() if name != "redirectUrl"}
    path = await sell(post, **words)
    await mark(post, path, sent={"note": "Zanzibar calls: visit zanzibar.example"})
    assert "anzibar" not in str([row["body"] for row in await post.rows()])
    await post.work()
    assert "zanzibar" not in post.letters[-1].as_string().lower()
    assert "Note from the seller: On your receipt" in lines(post)


@pytest.mark.parametrize("body", [{"sent": None}, {"messageHidden": True}, {}])
async def test_nothing_new_brings_no_letter(post: ReceiptHarness, body: dict[str, Any]) -> None:
    path = await sell(post)
    assert await mark(post, path, **body) is None
    assert await post.work() == 0


async def test_the_application_can_keep_quiet(post: ReceiptHarness) -> None:
    path = await sell(post)
    assert await mark(post, path, sent={}, notifyPayer=False) is None
    assert await post.work() == 0


async def test_a_mark_that_was_taken_back_meanwhile_brings_no_letter(post: ReceiptHarness) -> None:
    path = await sell(post)
    await mark(post, path, sent={}, paidBack={})
    await mark(post, path, sent=None, paidBack=None)
    assert await post.work() == 0
    assert (await post.states())[1:] == [("ended", TAKEN_BACK)] * 2


async def test_a_mailbox_that_wants_no_receipts_gets_none(post: ReceiptHarness) -> None:
    path = await sell(post)
    stop = partial(
        payer_letters.stop_receipts,
        mailbox=contacts.mailbox_digest(PAYER),
        now=post.service.clock(),
    )
    await post.service.db.transaction(stop)
    assert await mark(post, path, sent={}) is None
    assert len(await post.rows()) == 1


async def test_few_letters_are_about_one_payment(post: ReceiptHarness) -> None:
    """A seller could mark it and take it back for ever."""
    path = await sell(post)
    told = []
    for _ in range(MOST_OF_PAYMENT + 3):
        told.append(await mark(post, path, sent={}))
        await mark(post, path, sent=None)
    assert told == ["email"] * (MOST_OF_PAYMENT - 1) + [None] * 4


async def test_test_money_brings_few_letters_in_all(
    post: ReceiptHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = await sell(post)
    monkeypatch.setattr(payer_letters, "has_room", lambda _tx, _now: False)
    assert await mark(post, path, sent={}) is None


async def test_a_receipt_has_its_units_and_its_codes(post: ReceiptHarness) -> None:
    """Codes of one piece travel, and the way to keep the receipt in Telegram."""
    codes = {"codes": ["ABCD-0001", "ABCD-0002", "ABCD-0003"]}
    request_id = await post.ask(**DROP, keepUrl=KEEP, maxQuantity=2, delivery=codes)
    await post.pay(request_id, "first@mail.example")
    post.service.clock.advance(1)
    await post.pay(request_id, quantity="2")
    await post.work()
    assert "Yours: 2 and 3 of 100" in lines(post)
    assert "Code for no. 2: ABCD-0002" in lines(post)
    assert "Code for no. 3: ABCD-0003" in lines(post)
    _, row = await post.rows()
    kept = f"https://t.me/shop_bot?start=r-{request_id}-{row['payment_id']}"
    assert f"Keep it in Telegram: {kept}" in lines(post)
    assert "ABCD" not in row["body"]


async def test_a_receipt_counts_the_units_that_are_still_offered(post: ReceiptHarness) -> None:
    request_id = await post.ask(**DROP)
    await post.pay(request_id)
    await post.service.edit(request_id, {"decreaseRemainingUnits": 10})
    await post.work()
    assert "Yours: 1 of 90" in lines(post)


@pytest.mark.parametrize("code", ["Dear friend", "see evil1.example", "CALL-ME"])
async def test_a_code_that_could_be_a_message_stays_on_the_receipt(
    post: ReceiptHarness, code: str
) -> None:
    keep = "https://evil.example/{requestId}{transactionId}"
    request_id = await post.ask(**DROP, keepUrl=keep, delivery={"codes": [code]})
    await post.pay(request_id)
    await post.work()
    assert code not in plain(post.letters[-1])
    assert "evil" not in post.letters[-1].as_string()
    assert "What you bought: On your receipt" in lines(post)


async def test_what_was_paid_back_has_no_code_and_no_number(post: ReceiptHarness) -> None:
    """Also in a receipt that was still queued when the seller marked it."""
    request_id = await post.ask(**DROP, delivery={"codes": ["ABCD-0001"]})
    paid = await post.pay(request_id)
    transaction_id = paid.headers["location"].rpartition("/")[2]
    await mark(post, f"{REQUESTS_PATH}/{request_id}/payments/{transaction_id}", paidBack={})
    assert await post.work() == 2
    told = "".join(plain(letter) for letter in post.letters)
    assert "ABCD" not in told
    assert "Yours" not in told


async def test_payers_who_waited_hear_that_their_codes_arrived(post: ReceiptHarness) -> None:
    """Each once, when all of theirs are there; nobody who was served before or is paid back."""
    request_id = await post.ask(**DROP, maxQuantity=5, delivery={"codes": ["A1"]})
    for number, quantity in enumerate((1, 1, 2, 2, 1)):
        post.service.clock.advance(1)
        await post.pay(request_id, f"p{number}@mail.example", quantity=str(quantity))
    await post.work()
    assert "What you bought: On its way. You'll get an email when it's here." in lines(post)
    second = (await post.service.rows("payments ORDER BY completed_at"))[1]["id"]
    await mark(post, f"{REQUESTS_PATH}/{request_id}/payments/{second}", paidBack={})
    await post.work()
    for _ in range(2):
        path = f"{REQUESTS_PATH}/{request_id}/codes"
        added = await post.service.seller.post(path, json={"codes": ["A2", "A3", "A4", "A5"]})
        assert added.status_code == 200
    assert await post.work() == 1
    assert post.letters[-1]["to"] == "p2@mail.example"
    assert post.letters[-1]["subject"] == "Your codes are here"
    assert "Code for no. 3: A3" in lines(post)


async def test_codes_that_take_the_place_of_others_serve_who_waited(post: ReceiptHarness) -> None:
    request_id = await post.ask(**DROP, delivery={"codes": ["A1"]})
    for number in range(2):
        await post.pay(request_id, f"p{number}@mail.example")
    await post.work()
    edited = await post.service.edit(request_id, {"delivery": {"codes": ["B1", "B2"]}})
    assert edited.status_code == 200, edited.text
    assert await post.work() == 1
    assert post.letters[-1]["to"] == "p1@mail.example"
    assert "Your code: B1" in lines(post)


@pytest.mark.parametrize("kind", ["text", "file"])
async def test_payers_who_waited_hear_once_what_they_get_in_place_of_codes(
    post: ReceiptHarness, kind: str
) -> None:
    """Nobody else does, nor does anybody hear of its correction or of a call that is repeated."""
    codes = {"codes": ["A1", "A2"]}
    request_id = await post.ask(**DROP, maxQuantity=2, delivery=codes)
    for number, quantity in enumerate((1, 2, 1, 1)):
        post.service.clock.advance(1)
        await post.pay(request_id, f"p{number}@mail.example", quantity=str(quantity))
    await post.work()
    last = (await post.service.rows("payments ORDER BY completed_at"))[3]["id"]
    await mark(post, f"{REQUESTS_PATH}/{request_id}/payments/{last}", paidBack={})
    await post.work()
    sent = len(post.letters)
    goods = [{"text": "Zanzibar: here it is"}, {"text": "Zanzibar: there it is"}]
    if kind == "file":
        goods = [{"fileId": await uploaded(post.service, data)} for data in (b"one", b"two")]
    for delivery in (goods[0], *goods):
        edited = await post.service.edit(request_id, {"delivery": delivery})
        assert edited.status_code == 200, edited.text
    assert await post.work() == 2
    letters = post.letters[sent:]
    assert sorted(one["to"] for one in letters) == ["p1@mail.example", "p2@mail.example"]
    assert {one["subject"] for one in letters} == {"What you bought is here"}
    assert "What you bought: On your receipt" in lines(post)
    assert "anzibar" not in "".join(one.as_string() for one in letters)
    assert "anzibar" not in str([row["body"] for row in await post.rows()])


@pytest.mark.parametrize("goods", [{"codes": [f"B{number}" for number in range(8)]}, {"text": "x"}])
async def test_all_who_waited_hear_however_many_they_are(
    post: ReceiptHarness, monkeypatch: pytest.MonkeyPatch, goods: dict[str, Any]
) -> None:
    """Some in each transaction, also those who are left when the process ends after the first."""
    monkeypatch.setattr(payer_letters, "MOST_SERVED", 3)
    request_id = await post.ask(delivery={"codes": ["A0"]})
    payers = [f"p{number}@mail.example" for number in range(8)]
    for payer in payers:
        post.service.clock.advance(1)
        await post.pay(request_id, payer)
    await post.work()
    sent = len(post.letters)
    edited = await post.service.edit(request_id, {"delivery": goods})
    assert edited.status_code == 200, edited.text
    assert await post.work() == 3
    queue_handler = served_handler(post.service.db, post.service.clock)
    steps = 0
    while await perform(post.service, queue_handler):
        steps += 1
    assert steps == 2
    await post.work()
    assert [one["to"] for one in post.letters[sent:]] == payers[1:]


async def test_text_stands_on_the_receipt(post: ReceiptHarness) -> None:
    request_id = await post.ask(delivery={"text": "Zanzibar: here it is"})
    await post.pay(request_id)
    await post.work()
    assert "What you bought: On your receipt" in lines(post)
    assert "anzibar" not in post.letters[-1].as_string()


@pytest.mark.parametrize("language", languages())
async def test_every_word_is_in_the_payers_language(post: ReceiptHarness, language: str) -> None:
    paid = await post.pay(await post.ask(), language=language)
    _, _, request_id, _, transaction_id = paid.headers["location"].split("/")
    path = f"{REQUESTS_PATH}/{request_id}/payments/{transaction_id}"
    await mark(post, path, sent={"note": "see there"}, paidBack={})
    await post.work()
    german = [letter["subject"] for letter in post.letters] == [
        "Beleg für Ihre Testzahlung über 5,00 $",
        "Ihre Bestellung über 5,00 $ ist unterwegs",
        "Ihre Zahlung über 5,00 $ ist als zurückgezahlt vermerkt",
    ]
    assert german == (language == "de")


async def test_the_page_speaks_of_the_receipt_and_not_of_later_letters(
    post: ReceiptHarness,
) -> None:
    path = await sell(post)
    post.service.clock.advance(60)
    await mark(post, path, sent={})
    _, _, _, request_id, _, transaction_id = path.split("/")
    page = await post.service.anyone.get(f"/pay/{request_id}/receipt/{transaction_id}")
    assert "We&#39;ve emailed a receipt to" in page.text


async def test_the_operator_sees_news_and_sends_them_again_and_the_application_does_not(
    post: ReceiptHarness,
) -> None:
    path = await sell(post)
    await mark(post, path, sent={"note": "RR1"})
    await post.work()
    found = post.service.db.run(notification_rows.list_all)
    assert [(one.channel, one.state) for one in found] == [("receipt", "delivered")] * 2
    news = max(one.id for one in found)
    retry = partial(notification_queues.retry, notification_id=news, now=post.service.clock())
    post.service.db.run(retry)
    assert await post.work() == 1
    assert post.letters[-1]["message-id"] == post.letters[-2]["message-id"]
    assert (await post.service.seller.get("/v3/deliveries")).json()["items"] == []


async def test_erased_payers_get_no_news_and_leave_no_address(post: ReceiptHarness) -> None:
    path = await sell(post)
    await mark(post, path, sent={"note": "RR1"})
    db, now = post.service.db, post.service.clock()
    scope = db.run(lambda tx: payer_erasure.parse_scope(tx, [PAYER], None, None))
    await payer_erasure.erase(db, await payer_erasure.survey(db, scope), now)
    assert await post.work() == 0
    assert [row["address"] for row in await post.rows()] == ["", ""]
    assert await mark(post, path, paidBack={}) is None


async def reject(post: ReceiptHarness, *calls: str, **form: str) -> str:
    """Claim a checkout, and let its seller decide; return the checkout's id."""
    paid = await post.pay(await post.ask(), manner="claimed", **form)
    checkout_id = paid.headers["location"].rpartition("/")[2]
    for call in calls or ("reject",):
        answer = await post.service.seller.post(f"/v3/checkouts/{checkout_id}/{call}")
        assert answer.status_code == 200, answer.text
    return checkout_id


async def test_a_payer_who_left_an_address_hears_that_the_money_was_not_found(
    post: ReceiptHarness,
) -> None:
    checkout_id = await reject(post, "reject", "reject")
    (row,) = await post.rows()
    assert (row["payment_id"], row["checkout_id"], row["address"]) == (None, checkout_id, PAYER)
    await post.work()
    (letter,) = post.letters
    assert letter["subject"] == "Your payment of $5.00 hasn't been found"
    assert letter["to"] == PAYER


async def test_a_payment_found_after_all_has_its_receipt_too(post: ReceiptHarness) -> None:
    await reject(post, "reject", "confirm")
    await post.work()
    assert [letter["subject"] for letter in post.letters] == [
        "Your payment of $5.00 hasn't been found",
        "Receipt for your test payment of $5.00",
    ]


async def test_a_confirmed_payment_has_its_receipt_alone(post: ReceiptHarness) -> None:
    await reject(post, "confirm")
    assert [row["checkout_id"] for row in await post.rows()] == [None]


async def test_a_mailbox_that_wants_no_receipts_gets_no_such_letter(post: ReceiptHarness) -> None:
    await post.service.db.transaction(
        lambda tx: payer_letters.stop_receipts(tx, contacts.mailbox_digest(PAYER), NOON)
    )
    await reject(post)
    await post.work()
    assert post.letters == []


async def test_erasing_the_payer_erases_the_letter(post: ReceiptHarness) -> None:
    await reject(post)
    db = post.service.db
    scope = db.run(lambda tx: payer_erasure.parse_scope(tx, [PAYER], None, None))
    await payer_erasure.erase(db, await payer_erasure.survey(db, scope), NOON)
    (row,) = await post.rows()
    assert row["address"] == ""
    assert PAYER not in row["body"]
    await post.work()
    assert post.letters == []
