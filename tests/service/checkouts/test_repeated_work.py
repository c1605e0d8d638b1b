"""Work that was rolled back runs again after a conflict: the second run leaves what one leaves."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from bot.core.database.database import Transaction
from bot.core.database.sqlite import SqliteDatabase
from bot.core.outbox import lanes, outbox
from bot.service.checkouts import checkout_rows, inventory
from bot.service.checkouts.wallet_calls import POLLS, PaymentPoller
from bot.service.notifications import notification_queues, recipients
from bot.service.notifications.notification_queues import WEBHOOKS
from bot.service.rails.rail import Arrived
from bot.service.requests import idempotency
from tests.support import run_twice
from tests.support.mail import VICTIM, LetterHarness, link, open_letter_harness
from tests.support.service_harness import DROP, HOOK

RANDOM = re.compile(r"(?<![\w-])(?!\d+(?![\w-]))(?:[0-9a-f]{12,}|[\w-]{22,})")
"""Ids and tokens, which differ from run to run; a token may begin with a dash."""

TABLES = (
    "apps", "payment_requests", "checkouts", "payments", "deliveries", "delivery_attempts",
    "recipients", "unsubscribed", "idempotency", "outbox", "lanes", "audit",
)  # fmt: skip
WEEKS = 6 * 7 * 24 * 3600


async def contents(post: LetterHarness) -> dict[str, Counter[str]]:
    """Return the rows of each table, without ids."""
    found: dict[str, Counter[str]] = {}
    for table in TABLES:
        rows = await post.service.rows(table)
        found[table] = Counter(RANDOM.sub("#", str(row)) for row in rows)
    return found


async def sell(post: LetterHarness) -> dict[str, Counter[str]]:
    """Do everything once that sellers and payers can, with test money; return what is stored."""
    service, hook = post.service, {"notifications": {"webhook": HOOK}}
    drop = (await service.create(**DROP, **hook))["id"]
    keyed = {"Idempotency-Key": "k" * 20}
    for _ in range(2):
        await service.seller.post("/v3/paymentRequests", json=post_body(), headers=keyed)
    await service.edit(drop, {"decreaseRemainingUnits": 1, "product": {"name": "Tea"}})
    scenarios = ("atOnce", "later", "never", "claimed", "twice", "underpaid")
    ever = (await service.create(**hook))["id"]
    for number, scenario in enumerate(scenarios):
        await service.pay(ever, str(number) * 32, manner=scenario)
    for row in await service.rows("checkouts"):
        if row["state"] == "claimed":
            await service.seller.post(f"/v3/checkouts/{row['id']}/reject")
        elif row["state"] == "open":
            await service.anyone.post(f"/pay/{ever}/checkout/{row['id']}/cancel")
    named = await post.sell(VICTIM)
    await post.pay(named, 3)
    await post.work()
    await service.anyone.post(link(post.letters[0], "confirm"))
    await post.work(1)
    service.clock.advance(6)
    await work_off(post)
    await sweep(post)
    await service.seller.delete(f"/v3/paymentRequests/{drop}")
    return await contents(post)


def post_body() -> dict[str, object]:
    return {
        "product": {"name": "Cake"}, "instrumentCurrencyCode": "USD",
        "receivers": [{"sendAmount": 5, "destination": "alice"}], "expirationType": "never",
    }  # fmt: skip


async def work_off(post: LetterHarness) -> None:
    """Poll for money, and deliver webhooks to nobody."""
    service = post.service
    poller = PaymentPoller(service.db, service.context, service.clock)

    def settle(tx: Transaction) -> None:
        for message in outbox.claim(tx, POLLS, service.clock(), 9):
            poller._settle(tx, message, Arrived())
        for message in outbox.claim(tx, WEBHOOKS, service.clock(), 9):
            outbox.done(tx, WEBHOOKS, message, service.clock())

    await service.db.transaction(settle)
    row = (await service.db.query("SELECT id FROM deliveries ORDER BY id LIMIT 1"))[0]
    await service.seller.post(f"/v3/deliveries/{row['id']}/retry")


async def sweep(post: LetterHarness) -> None:
    """Run the hourly sweep's parts, some weeks later."""
    service = post.service
    service.clock.advance(WEEKS)
    now = service.clock()
    for part in (
        lambda tx: inventory.close_lapsed(tx, now, 20),
        lambda tx: checkout_rows.sweep(tx, now - 1, now - 1, 20),
        lambda tx: notification_queues.sweep(tx, now - 1),
        lambda tx: idempotency.forget(tx, now, 20),
        lambda tx: recipients.settle_stranded(tx, now),
        lambda tx: lanes.sweep(tx, recipients.MAILS, now),
    ):
        await service.db.transaction(part)


@pytest.mark.long
async def test_work_that_runs_twice_leaves_what_it_leaves_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_letter_harness(f"sqlite:///{tmp_path}/once.db") as post:
        once = await sell(post)
    monkeypatch.setattr(SqliteDatabase, "transaction", run_twice.transaction_twice)
    monkeypatch.setattr(SqliteDatabase, "run", run_twice.run_twice)
    async with open_letter_harness(f"sqlite:///{tmp_path}/twice.db") as post:
        assert await sell(post) == once
    done = Counter(re.findall(r"'action': '([a-z.]+)'", "".join(once["audit"])))
    assert done.keys() >= {"request.created", "request.edited", "checkout.rejected"}
    assert done.keys() >= {"request.deleted", "delivery.retried"}
    assert sum(once["payments"].values()) > 5
