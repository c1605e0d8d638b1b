"""The letter to a payer whose seller has not found the money, bounded like a receipt."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.app.maintenance import payer_erasure
from bot.core.text import contacts
from bot.service.notifications import payer_letters
from tests.support.payer_receipts import PAYER, ReceiptHarness, open_receipt_harness
from tests.support.service_harness import NOON


@pytest.fixture
async def post(database_url: str) -> AsyncIterator[ReceiptHarness]:
    async with open_receipt_harness(database_url) as it:
        yield it


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


async def test_the_application_sees_nothing_of_it(post: ReceiptHarness) -> None:
    await reject(post)
    assert (await post.service.seller.get("/v3/deliveries")).json()["items"] == []


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
