"""Erasure of payers' addresses from receipts that were sent, and from those that wait."""

from __future__ import annotations

from collections.abc import Sequence

from bot.app.maintenance import payer_erasure
from bot.service.notifications.recipients import ERASED
from tests.support.databases import text_of
from tests.support.mail import PAYER, ReceiptHarness, open_receipt_harness

OTHER = "ben@other.example"


async def erase(
    post: ReceiptHarness, who: Sequence[str], before: int | None = None, request: str | None = None
) -> None:
    db, now = post.service.db, post.service.clock()
    scope = db.run(lambda tx: payer_erasure.parse_scope(tx, who, before, request))
    found = await payer_erasure.survey(db, scope)
    await payer_erasure.erase(db, found, now)


async def test_a_sent_receipt_loses_its_address_and_a_waiting_one_is_not_sent(
    database_url: str,
) -> None:
    """Another payer's receipts stay as they are."""
    async with open_receipt_harness(database_url) as post:
        post.office.answers["RCPT"] = f"550 5.1.1 <{PAYER}> is unknown"
        request_id = await post.ask()
        await post.pay(request_id)
        await post.work()
        post.office.answers.clear()
        await post.pay(request_id)
        await post.pay(request_id, OTHER)
        await erase(post, [PAYER.upper()])
        assert await post.work() == 1
        assert [one["to"] for one in post.letters] == [OTHER]
        rows = await post.rows()
        assert [row["address"] for row in rows] == ["", "", OTHER]
        assert [row["state"] for row in rows] == ["dead", "ended", "done"]
        assert rows[1]["note"] == ERASED
        whole = (await text_of(post.service.db)).lower()
    assert PAYER not in whole
    assert OTHER in whole


async def test_scopes_of_payments_erase_receipts_too(database_url: str) -> None:
    async with open_receipt_harness(database_url) as post:
        first, second = await post.ask(), await post.ask()
        await post.pay(first)
        await post.pay(second)
        await erase(post, [], request=first)
        assert [row["address"] for row in await post.rows()] == ["", PAYER]
        await erase(post, [], before=post.service.clock() + 1)
        assert [row["address"] for row in await post.rows()] == ["", ""]
        assert await post.work() == 0


async def test_that_a_mailbox_wants_no_receipts_stays_known(database_url: str) -> None:
    """By a digest, which identifies nobody."""
    async with open_receipt_harness(database_url) as post:
        request_id = await post.ask()
        await post.pay(request_id)
        await post.work()
        path = str(post.letters[0]["list-unsubscribe"]).strip("<>").removeprefix("http://pay.test")
        await post.service.anyone.post(path)
        await erase(post, [PAYER])
        await post.pay(request_id)
        assert await post.work() == 0
