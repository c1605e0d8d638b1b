"""The payments that were told: each recorded once, its alert put in the same transaction.

A seller who wants no alerts of a request gets none, but of money that they owe back.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.alerts import alert_text, delivery, quiet_hours
from bot.chat.store import listings, pending, posts, sellers
from bot.chat.store.received_payments import (
    Payment,
    add_delivered,
    add_muted,
    add_payment,
    placeholder_id,
    replace_placeholder,
    settle_uncertain,
    takings,
)
from bot.core.outbox import lanes, outbox
from bot.core.text.translations import choose

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bot.chat.messages.queues import Queues
    from bot.chat.model.answers import Answer
    from bot.chat.store.listings import Listing
    from bot.core.database.database import Database, Transaction

WEBHOOKS_COME = 24 * 3600 * 1000
"""Milliseconds that a server tries to tell a payment, as HandCash Cloud does: a day."""


class Ledger:
    """Records payments at `now` (epoch ms) in one transaction."""

    def __init__(self, tx: Transaction, queues: Queues, now: int) -> None:
        self._tx = tx
        self._queues = queues
        self._now = now

    def record(self, listing_id: str, payment: Payment, left: int | None) -> bool:
        """Record a payment and put its alert; False where it was recorded before.

        `left` is what remains of a drop as it was told with the payment, None where it wasn't.
        Where payments were found by their units alone, it takes the place of one of them, and is
        told as possibly repeated: nobody can say whether it is that one.
        """
        since = self._now - WEBHOOKS_COME
        explained = replace_placeholder(self._tx, listing_id, payment, since)
        if explained and payment.found:
            self._refresh(listing_id)
            return False
        if not explained and not add_payment(self._tx, listing_id, payment, self._now):
            return False
        self._announce(listing_id, payment, left, repeated=explained)
        return True

    def _announce(
        self, listing_id: str, payment: Payment, left: int | None, *, repeated: bool = False
    ) -> None:
        listing = listings.get_listing(self._tx, listing_id)
        left = listing.left if left is None else left
        if listing.answer is not None and left is not None:
            answer = _told(listing.answer, left, payment.reserved_units)
            listings.set_answer(self._tx, listing_id, answer)
        self._refresh(listing_id)
        if listing.alerts == "off" and not payment.oversold:
            self._mute(listing, 0 if repeated else 1)
            return
        together = takings(self._tx, listing_id)
        alert = _alert(listing, payment, left)
        self._put_alert(listing, replace(alert, repeated=repeated, together=tuple(together)))

    def miss(self, listing_id: str, known: int, missing: int) -> int:
        """Record so many payments of which nothing is known but that their units are gone.

        Gives how many were told: none, unless just `known` had been told until now, nor while it is
        not known whether units were taken out, for those may be the ones that are gone. A payment
        that seemed to be one of those found before was a new one then, and both have been told.
        """
        listing = listings.get_listing(self._tx, listing_id)
        if listing.paid_count != known or listing.request_id is None:
            return 0
        if pending.is_removal_uncertain(self._tx, self._queues, listing_id):
            return 0
        told_before = settle_uncertain(self._tx, listing_id, missing)
        self._keep_told(listing, told_before)
        for _ in range(missing - len(told_before)):
            payment = _unnamed(listing)
            add_payment(self._tx, listing_id, payment, self._now)
            self._announce(listing_id, payment, None)
        return missing - len(told_before)

    def _keep_told(self, listing: Listing, found_at: Sequence[int]) -> None:
        """Record payments of which nothing is known, and which were told when they were found."""
        if not found_at:
            return
        for at in found_at:
            add_payment(self._tx, listing.id, _unnamed(listing), at)
        count = add_muted if listing.alerts == "off" else add_delivered
        count(self._tx, listing.id, len(found_at))
        self._refresh(listing.id)

    def _refresh(self, listing_id: str) -> None:
        """Let the cards of a request show what was paid for it."""
        posts.refresh(self._tx, self._queues, listing_id, self._now)

    def _mute(self, listing: Listing, payments: int) -> None:
        """Note payments of which the seller wants no message: their card has them."""
        add_muted(self._tx, listing.id, payments)
        delivery.settle(self._tx, self._queues, listing.id, self._now)

    def _put_alert(self, listing: Listing, payment: alert_text.Payment) -> None:
        queue, lane = self._queues.messages, str(listing.chat_id)
        seller = sellers.find_seller(self._tx, listing.seller_id)
        silent = listing.alerts == "silent" or quiet_hours.is_quiet(seller, self._now)
        language = seller.language if seller else choose(None)
        body = alert_text.body(payment, language, silent=silent)
        outbox.put(self._tx, queue, lane, body, self._now, priority=lanes.ALERT)


class PaymentRecorder:
    """Records payments as they become known, each in a transaction of its own."""

    def __init__(self, db: Database, queues: Queues, now: Callable[[], int]) -> None:
        self._db = db
        self._queues = queues
        self._now = now

    async def record(self, listing: Listing, payment: Payment, left: int | None) -> bool:
        """Record a payment and queue its alert; False where it was recorded before.

        `left` is what remains of a drop as the webhook told it, None where it didn't.
        """
        return await self._db.transaction(lambda tx: self._record(tx, listing.id, payment, left))

    async def record_missing(self, listing_id: str, known: int, missing: int) -> int:
        """Record payments of which only the units that are gone tell; how many.

        None are, unless as many as `known` have been told until now. When their webhooks come
        after all, they are told as possibly repeated and counted once.
        """
        return await self._db.transaction(
            lambda tx: self._ledger(tx).miss(listing_id, known, missing)
        )

    def _record(self, tx: Transaction, listing_id: str, payment: Payment, left: int | None) -> bool:
        fresh = self._ledger(tx).record(listing_id, payment, left)
        if fresh:
            tx.count("payments_told", "found" if payment.found else "webhook")
        return fresh

    def _ledger(self, tx: Transaction) -> Ledger:
        return Ledger(tx, self._queues, self._now())


def _unnamed(listing: Listing) -> Payment:
    """Give a payment of which nothing is known but that it was made."""
    wish, request_id = listing.wish, listing.request_id or ""
    return Payment(request_id, placeholder_id(), wish.amount, wish.currency, {}, found=True)


def _alert(listing: Listing, payment: Payment, left: int | None) -> alert_text.Payment:
    """Give a payment as its seller is to be told of it, with what it leaves."""
    wish = listing.wish
    is_price = (payment.amount, payment.currency) == (wish.amount, wish.currency)
    return alert_text.Payment(
        listing_id=listing.id,
        kind=wish.kind,
        name=wish.name,
        amount=payment.amount,
        currency=payment.currency,
        payer=payment.payer,
        remaining_units=left,
        total_units=wish.units,
        reserved_units=payment.reserved_units,
        oversold=payment.oversold,
        found=payment.found,
        count=listing.paid_count,
        named=payment.named,
        price=None if is_price else (wish.amount, wish.currency),
    )


def _told(answer: Answer, left: int, reserved: int) -> Answer:
    """Give the answer with a webhook's word of what is left, unless that is older than it.

    Each payment makes less of what remains and is reserved together; what lapses only changes
    sides. So the lower sum is the newer word, in whatever order they come.
    """
    known = answer.remaining_units
    if known is not None and left + reserved > known + answer.reserved_units:
        return answer
    return answer.with_left(left, reserved)
