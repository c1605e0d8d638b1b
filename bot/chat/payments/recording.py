"""Recording of payments: each is stored once, and its alert is queued in the same transaction.

A seller who turned a request's alerts off gets none, except for payments that need them: oversold
and underpaid money has to be paid back, or sorted out with the payer, and who waits for a code
needs one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.alerts import delivery
from bot.chat.messages.jobs import CheckRequest
from bot.chat.messages.payloads import Alert, AlertPayment
from bot.chat.messages.queues import BACKGROUND
from bot.chat.model.payer_words import NO_WORDS
from bot.chat.payments import claim_recording
from bot.chat.payments.goals import goal_reached
from bot.chat.store import listings, pending, posts, sellers
from bot.chat.store.received_payments import (
    PLACEHOLDER,
    Payment,
    add_payment,
    count_alerts,
    known_number,
    received_at,
    replace_placeholder,
    replace_underpaid,
    settle_uncertain,
)
from bot.chat.store.takings import takings
from bot.core.outbox import outbox
from bot.core.outbox.queue_policy import ALERT, NOTICE
from bot.core.text.translations import choose

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bot.chat.messages.queues import Queues
    from bot.chat.model.answers import Answer
    from bot.chat.model.wish import Wish
    from bot.chat.store.listings import Listing
    from bot.core.database.database import Database, Transaction

WEBHOOK_RETRIES = 24 * 3600 * 1000
"""Milliseconds that a server repeats a webhook: HandCash Cloud does for a day."""


class Ledger:
    """Records payments in a transaction of the caller, at `now` (epoch ms)."""

    def __init__(self, tx: Transaction, queues: Queues, now: int) -> None:
        self._tx = tx
        self._queues = queues
        self._now = now

    def record(self, listing_id: str, payment: Payment, left: int | None) -> bool:
        """Record a payment of a listing, as `receive` does."""
        return self.receive(listings.get_listing(self._tx, listing_id), payment, left)

    def receive(self, listing: Listing, payment: Payment, left: int | None) -> bool:
        """Record a payment and queue its alert; return False if it is known already.

        `listing` is as this transaction read it before the payment. `left` are the drop's units
        left after it, None if the server sent no number. The payment replaces a placeholder if
        there is one, and its alert is then marked "possibly repeated": nobody knows whether it is
        the payment that the placeholder stands for. What completes an underpaid payment takes its
        place, and has an alert of its own.
        """
        since = self._now - WEBHOOK_RETRIES
        replaced = replace_placeholder(self._tx, listing.id, payment, since)
        if replaced and payment.found:
            self._refresh(listing.id)
            return False
        if not replaced and not self._add(listing.id, payment):
            return False
        self._announce(listing, payment, left, repeated=replaced)
        return True

    def _add(self, listing_id: str, payment: Payment) -> bool:
        return add_payment(self._tx, listing_id, payment, self._now) or replace_underpaid(
            self._tx, listing_id, payment, self._now
        )

    def _announce(
        self, listing: Listing, payment: Payment, left: int | None, *, repeated: bool = False
    ) -> None:
        if left is None and listing.wish.units is not None:
            left = listings.get_listing(self._tx, listing.id).left
        answer = listing.answer and _after(listing.answer, payment, left)
        if answer is None or answer == listing.answer:
            posts.refresh_cards(self._tx, self._queues, listing.id, self._now)
        else:
            listings.set_answer(self._tx, listing.id, answer)
            self._refresh(listing.id)
        replaced, claim_id = self._settle_claim(listing, payment)
        if listing.alerts == "off" and not _needs_seller(payment):
            count_alerts(self._tx, listing.id, muted=0 if repeated else 1)
            if replaced is not None and payment.checkout_id is not None:
                claim_recording.show(self._tx, self._queues, payment.checkout_id, self._now)
            delivery.announce_ended_drop(self._tx, self._queues, listing.id, self._now)
            return
        sums = takings(self._tx, listing.id)
        alert = replace(
            _alert(listing, payment, left),
            count=sums.earned_count + sums.refund_count + sums.settled_count,
            repeated=repeated,
            together=sums.earned,
            to_refund=sums.to_refund,
            refund_count=sums.refund_count,
            settled_count=sums.settled_count,
            at=received_at(self._tx, payment) if repeated else self._now,
            claim_id=claim_id,
            reached=goal_reached(self._tx, listing, payment, sums),
        )
        self._put_alert(listing, alert, replaced)

    def _settle_claim(self, listing: Listing, payment: Payment) -> tuple[int | None, str | None]:
        """Settle the claim of a payment.

        Return the message that the alert replaces, and the claim that its button confirms, if any.
        """
        if payment.underpaid:
            return None, claim_recording.record_underpaid(self._tx, listing, payment, self._now)
        return claim_recording.settle(self._tx, self._queues, payment, self._now), None

    def record_missing(self, listing_id: str, known: int, missing: int) -> int:
        """Record `missing` units of which no more is known; return the number of alerts.

        It does nothing if more than `known` pieces are recorded by now, or while the removal of
        units is uncertain: those units may be the missing ones. Uncertain payments count first:
        each was a new payment after all, and both alerts were sent.
        """
        listing = listings.get_listing(self._tx, listing_id)
        if listing.pieces != known or listing.request_id is None:
            return 0
        if pending.is_removal_uncertain(self._tx, self._queues, listing_id):
            return 0
        announced_at = settle_uncertain(self._tx, listing_id, missing)
        self._restore_placeholders(listing, announced_at)
        for _ in range(missing - len(announced_at)):
            payment = _placeholder(listing)
            add_payment(self._tx, listing_id, payment, self._now)
            self._announce(listings.get_listing(self._tx, listing_id), payment, None)
        return missing - len(announced_at)

    def _restore_placeholders(self, listing: Listing, announced_at: Sequence[int]) -> None:
        """Add placeholders for payments whose alerts were sent at these times."""
        if not announced_at:
            return
        for at in announced_at:
            add_payment(self._tx, listing.id, _placeholder(listing), at)
        kind = "muted" if listing.alerts == "off" else "delivered"
        count_alerts(self._tx, listing.id, **{kind: len(announced_at)})
        self._refresh(listing.id)

    def _refresh(self, listing_id: str) -> None:
        posts.refresh(self._tx, self._queues, listing_id, self._now)

    def _put_alert(self, listing: Listing, payment: AlertPayment, place: int | None) -> None:
        queue, lane = self._queues.messages, str(listing.chat_id)
        seller = sellers.find_seller(self._tx, listing.seller_id)
        silent = listing.alerts == "silent" or delivery.is_quiet(seller, self._now)
        language = seller.language if seller else choose(None)
        alert = Alert((payment,), language, silent, is_single=place is not None, message_id=place)
        outbox.put(self._tx, queue, lane, alert, self._now, priority=ALERT)


class PaymentRecorder:
    """Records payments, each in a transaction of its own; `now` in epoch ms."""

    def __init__(self, db: Database, queues: Queues, now: Callable[[], int]) -> None:
        self._db = db
        self._queues = queues
        self._now = now

    async def record(self, listing: Listing, payment: Payment, left: int | None) -> bool:
        """Record a payment as `Ledger.receive` does."""

        def work(tx: Transaction) -> bool:
            known = listings.get_listing(tx, listing.id)
            return self.record_in(tx, known, payment, left)

        return await self._db.transaction(work)

    def record_in(
        self, tx: Transaction, listing: Listing, payment: Payment, left: int | None
    ) -> bool:
        """Record a payment in a transaction that has read its listing."""
        is_new = Ledger(tx, self._queues, self._now()).receive(listing, payment, left)
        if is_new:
            tx.count("payments_told", "found" if payment.found else "webhook")
        return is_new

    async def check(self, listing_id: str) -> None:
        """Queue the job that fetches a request and stores what the service has of it."""
        lane, now = f"{BACKGROUND}{listing_id}", self._now()
        queue, job = self._queues.jobs, CheckRequest(listing_id)
        await self._db.transaction(
            lambda tx: outbox.put(tx, queue, lane, job, now, priority=NOTICE)
        )

    async def record_missing(self, listing_id: str, known: int, missing: int) -> int:
        """Record payments as `Ledger.record_missing` does."""
        return await self._db.transaction(
            lambda tx: Ledger(tx, self._queues, self._now()).record_missing(
                listing_id, known, missing
            )
        )


def _placeholder(listing: Listing) -> Payment:
    """Build a payment of which nothing is known but that it was made."""
    wish, transaction = listing.wish, f"{PLACEHOLDER}{listings.short_id(16)}"
    request_id = listing.request_id or ""
    return Payment(request_id, transaction, wish.amount, wish.currency, {}, found=True)


def _alert(listing: Listing, payment: Payment, left: int | None) -> AlertPayment:
    """Build the alert of a payment; `left` are the units left after it."""
    wish = listing.wish
    price = (wish.amount * payment.quantity, wish.currency)
    is_price = wish.choice is not None or (payment.amount, payment.currency) == price
    other = None if is_price else price
    return AlertPayment(
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
        named=payment.named,
        price=payment.asked or other,
        transaction_id=known_number(payment.transaction_id),
        underpaid=payment.underpaid,
        paid_by=payment.paid_by,
        quantity=payment.quantity,
        words=NO_WORDS if payment.is_hidden else payment.words,
        codes_waiting=payment.codes_waiting,
        is_sent_by_hand=_is_sent_by_hand(wish, payment),
    )


def _needs_seller(payment: Payment) -> bool:
    """Check whether a payment is news also to a seller who turned the request's alerts off."""
    return payment.oversold or payment.underpaid or payment.codes_waiting > 0


def _is_sent_by_hand(wish: Wish, payment: Payment) -> bool:
    """Check whether its seller may have to send what was sold: the service delivers no goods."""
    is_sale = not (payment.oversold or payment.underpaid)
    return is_sale and wish.kind != "donation" and wish.goods is None


def _after(answer: Answer, payment: Payment, left: int | None) -> Answer:
    """Return the answer after a payment: units of a drop, and codes."""
    if left is not None:
        return _with_units(answer, left, payment.reserved_units)
    is_sale = not (payment.oversold or payment.underpaid)
    return answer.with_sold(payment.quantity) if is_sale else answer


def _with_units(answer: Answer, left: int, reserved: int) -> Answer:
    """Return the answer with a webhook's units, unless the webhook is older than the answer.

    A payment lowers the sum of remaining and reserved units; a lapsed reservation keeps it. So the
    lower sum is the newer one, in whatever order webhooks come.
    """
    known = answer.remaining_units
    if known is not None and left + reserved > known + answer.reserved_units:
        return answer
    sold = 0 if known is None else known + answer.reserved_units - left - reserved
    return answer.with_sold(sold).with_left(left, reserved)
