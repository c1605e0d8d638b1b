"""Transactions about letters, notifications and sweeps that overlap on PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from bot.core.database.database import Transaction
from bot.core.errors import InvalidBody, NotFound
from bot.core.outbox import outbox
from bot.core.outbox.queue_policy import Pace
from bot.service.checkouts import paying
from bot.service.checkouts.paying import PaymentForm
from bot.service.notifications import notification_queues, notification_rows, recipients
from bot.service.notifications.notification import MOST_OPEN
from bot.service.notifications.notification_queues import WEBHOOKS
from bot.service.payments import account_rows
from bot.service.requests import applications, idempotency, request_rows
from bot.service.requests.changes import SellerEdit
from bot.service.requests.idempotency import CallKey
from tests.support.databases import PostgresDatabases
from tests.support.mail import VICTIM, LetterHarness, open_letter_harness
from tests.support.overlapping import overlap
from tests.support.service_harness import HOOK, NOON

DAYS = 24 * 3600 * 1000


@pytest.fixture
async def post(postgres: PostgresDatabases) -> AsyncIterator[LetterHarness]:
    url = postgres.new()
    async with open_letter_harness(url) as it:
        yield it
    postgres.drop(url)


def pay(post: LetterHarness, request_id: str, token: str = "t") -> Callable[[Transaction], Any]:
    form = PaymentForm(request_id, token * 32, {})
    return lambda tx: paying.pay(tx, post.service.context, form, post.service.clock())


async def test_two_letters_don_t_share_the_last_place_of_a_limit(post: LetterHarness) -> None:
    limits = [("from b", Pace(60_000)), ("to a", Pace(60_000))]
    take = partial(recipients.take_room, limits=limits, now=NOON)
    both = await overlap(post.service.db, take, take)
    assert both.first is None
    assert both.second == NOON + 60_000
    assert both.runs == (1, 1)


async def test_a_payment_beside_a_confirmation_does_not_wait_for_the_link_to_expire(
    post: LetterHarness,
) -> None:
    made = await post.sell(VICTIM)
    (row,) = await post.service.db.query("SELECT token FROM recipients")
    confirm = partial(recipients.confirm, token=row["token"], now=NOON)
    await overlap(post.service.db, confirm, pay(post, made))
    due = await post.service.db.query(
        "SELECT o.due_at FROM deliveries d JOIN outbox o ON o.id = d.id"
    )
    assert due == [{"due_at": NOON}]


async def test_a_confirmation_beside_a_payment_joins_its_letter(post: LetterHarness) -> None:
    made = await post.sell(VICTIM)
    (row,) = await post.service.db.query("SELECT token FROM recipients")
    confirm = partial(recipients.confirm, token=row["token"], now=NOON)
    both = await overlap(post.service.db, pay(post, made), confirm)
    assert both.runs == (1, 1)
    due = await post.service.db.query(
        "SELECT o.due_at, d.letter IS NOT NULL AS led FROM deliveries d"
        " JOIN outbox o ON o.id = d.id"
    )
    assert due == [{"due_at": NOON, "led": 1}]


async def test_two_payments_ask_an_address_once(post: LetterHarness) -> None:
    """An address that was never asked is asked with its first payment."""
    made = await post.sell(VICTIM)
    again = "UPDATE recipients SET asks = 0, asked_at = NULL, token = NULL"
    await post.service.db.transaction(lambda tx: tx.execute(again))
    await post.service.db.transaction(lambda tx: tx.execute("DELETE FROM outbox"))
    await overlap(post.service.db, pay(post, made, "a"), pay(post, made, "b"))
    (row,) = await post.service.db.query("SELECT asks, token FROM recipients")
    assert row["asks"] == 1
    questions = await post.service.db.query("SELECT id FROM outbox WHERE id LIKE 'ask-%'")
    assert len(questions) == 1


async def test_two_new_addresses_of_a_seller_are_counted_one_after_the_other(
    post: LetterHarness,
) -> None:
    """One more may wait for its confirmation."""
    for number in range(MOST_OPEN - 1):
        made = await post.sell(f"{number}@mail.example")

    def name(address: str) -> Callable[[Transaction], Any]:
        def work(tx: Transaction) -> Any:
            request = request_rows.find(tx, made, NOON)
            assert request
            named = replace(request, terms=replace(request.terms, email=address))
            return recipients.find_or_ask(tx, named, NOON, confirms=True)

        return work

    both = await overlap(post.service.db, name("x@mail.example"), name("y@mail.example"))
    assert both.first.state == "unconfirmed"
    assert isinstance(both.second, InvalidBody)


async def test_a_mailbox_that_unsubscribed_while_it_was_named_gets_no_letter(
    post: LetterHarness,
) -> None:
    """Its recipient is stored as one that is not ended."""
    made = await post.sell(VICTIM)
    undo = "UPDATE recipients SET state = 'trusted'"
    (row,) = await post.service.db.query("SELECT stop_token FROM recipients")
    stop = partial(recipients.unsubscribe, token=row["stop_token"], now=NOON)
    await post.service.db.transaction(stop)
    await post.service.db.transaction(lambda tx: tx.execute(undo))
    await post.pay(made)
    assert await post.work() == 0
    assert {state for state, _ in await post.states()} == {"ended"}


async def settled_webhook(post: LetterHarness) -> str:
    """Return the id of a webhook that was delivered, with its attempt."""
    made = await post.service.create(notifications={"webhook": HOOK})
    await post.service.db.transaction(pay(post, made["id"]))

    def deliver(tx: Transaction) -> str:
        (message,) = outbox.claim(tx, WEBHOOKS, NOON, 1)
        outbox.done(tx, WEBHOOKS, message, NOON)
        return message.id

    return await post.service.db.transaction(deliver)


async def test_a_notification_revived_beside_the_sweep_stays(post: LetterHarness) -> None:
    notification_id = await settled_webhook(post)
    both = await overlap(
        post.service.db,
        lambda tx: notification_queues.retry(tx, notification_id, NOON + 1),
        lambda tx: notification_queues.sweep(tx, NOON + 1),
    )
    assert both.second == 0
    assert both.runs == (1, 1)
    found = await post.service.db.read(lambda tx: notification_rows.find(tx, notification_id))
    assert found
    assert found.state == "waiting"


async def test_a_notification_that_the_sweep_has_deleted_is_not_revived(
    post: LetterHarness,
) -> None:
    notification_id = await settled_webhook(post)
    both = await overlap(
        post.service.db,
        lambda tx: notification_queues.sweep(tx, NOON + 1),
        lambda tx: notification_queues.retry(tx, notification_id, NOON + 1),
    )
    assert both.first == 1
    assert isinstance(both.second, NotFound)
    assert await post.service.rows("outbox") == []


async def test_two_creates_with_one_key_make_one_request(post: LetterHarness) -> None:
    key = CallKey.of(post.service.credentials.app_id, "key", "a create", NOON)

    def create(made: str) -> Callable[[Transaction], str]:
        return lambda tx: idempotency.once(
            tx, key, lambda: "created", lambda earlier: f"found {earlier}", made=made
        )

    both = await overlap(post.service.db, create("first"), create("second"))
    assert (both.first, both.second) == ("created", "found first")


async def test_two_replicas_that_start_offer_the_same_kinds(post: LetterHarness) -> None:
    """And neither writes what is there: payments read it."""
    offer = partial(account_rows.write_offered, kinds=("bank", "lightning"))
    both = await overlap(post.service.db, offer, offer)
    assert both.runs == (1, 1)
    rows = await post.service.rows("offered_rails")
    assert sorted(row["kind"] for row in rows) == ["bank", "lightning"]


async def test_two_operators_who_change_a_seller_change_it_both(post: LetterHarness) -> None:
    app_id = post.service.credentials.app_id
    named = await post.service.db.transaction(
        lambda tx: applications.change_seller(tx, app_id, SellerEdit(name="Anna"), NOON)
    )
    assert named is not None
    edits = [SellerEdit(name="Anna & Co"), SellerEdit(contact="anna@shop.example")]
    changes = [
        partial(applications.change_seller, app_id=app_id, change=edit, now=NOON) for edit in edits
    ]
    both = await overlap(post.service.db, *changes)
    assert (both.second.name, both.second.contact) == ("Anna & Co", "anna@shop.example")


async def test_two_lists_store_outdated_statuses_without_a_circle(post: LetterHarness) -> None:
    for _ in range(5):
        await post.service.create(expirationInSeconds=10)
    refresh = partial(
        request_rows.refresh_some, app_id=post.service.credentials.app_id, now=NOON + DAYS
    )
    both = await overlap(post.service.db, refresh, refresh)
    assert both.runs == (1, 1)
    assert {row["stage"] for row in await post.service.rows("payment_requests")} == {"expired"}
