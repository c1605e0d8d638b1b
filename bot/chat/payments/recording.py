"""Recording of payments: each is stored once, and its alert is queued in the same transaction.

Even if a seller has turned off a request's alerts, payments that need the seller's action cause an
alert: oversold and underpaid money has to be paid back or discussed with the payer, and a buyer may
be waiting for a code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate

from bot.chat.alerts import delivery
from bot.chat.cards import request_card
from bot.chat.model import jobs, payloads, queues, remote_request
from bot.chat.payments import claim_recording
from bot.chat.store import link_lists, link_rows, payment_rows, post_rows, revenue, seller_rows
from bot.core.database import database
from bot.core.outbox import outbox, queue_policy
from bot.core.text import translations
from bot.interface import parts


def payment_of(
    paid: remote_request.ServerPayment, request_id: str, link: link_rows.PaymentLink
) -> payment_rows.Payment:
    """Return the payment to record for a payment that its server reports, by webhook or in a list.

    The amount is the price. If the money isn't a sale, it is the amount that arrived, because
    exactly that amount is owed.
    """
    price = remote_request.amount_of_payment(paid.amount, paid.currency, link.spec, paid.quantity)
    amount, asked = (price.minor, price.currency), None
    arrived = paid.paid_by
    if arrived and (paid.underpaid or (paid.oversold and arrived.surplus(*amount))):
        amount, asked = (arrived.amount, arrived.currency), amount
        if (minor := arrived.asked(*asked)) is not None:
            asked = minor, arrived.currency
    return payment_rows.Payment(
        request_id=request_id,
        transaction_id=paid.transaction_id,
        amount=amount[0],
        currency=amount[1],
        payer=paid.payer,
        oversold=paid.oversold,
        named=price.named,
        underpaid=paid.underpaid,
        paid_by=paid.paid_by,
        checkout_id=paid.checkout_id,
        asked=asked,
        quantity=paid.quantity,
        words=paid.words,
        is_hidden=paid.is_hidden,
    )


WEBHOOK_RETRIES = 24 * 3600 * 1000
"""Milliseconds for which a server repeats a webhook; HandCash Cloud repeats for a day."""


class RecorderInTransaction:
    """Records payments in the caller's transaction, at `now` (epoch ms)."""

    def __init__(self, tx: database.Transaction, queues: queues.Queues, now: int) -> None:
        self._tx = tx
        self._queues = queues
        self._now = now

    def record(self, link_id: str, payment: payment_rows.Payment, left: int | None) -> bool:
        """Record a link's payment like `receive`."""
        return self.receive(link_rows.get_link(self._tx, link_id), payment, left)

    def receive(
        self, link: link_rows.PaymentLink, payment: payment_rows.Payment, left: int | None
    ) -> bool:
        """Record a payment and queue its alert; return False if the payment is known already.

        `link` was read in this transaction before the payment. `left` is the number of a drop's
        units left after it, None if the server didn't send a number. The payment replaces a
        placeholder if there is one. Then the alert is marked "possibly repeated", because the
        placeholder may stand for another payment. If the rest of an underpaid payment arrives, it
        replaces the underpaid payment and has its own alert.
        """
        since = self._now - WEBHOOK_RETRIES
        replaced = payment_rows.replace_placeholder(self._tx, link.id, payment, since)
        if replaced and payment.found:
            self._refresh(link.id)
            return False
        if not replaced:
            is_new = payment_rows.add_payment(self._tx, link.id, payment, self._now)
            if not is_new and not payment_rows.replace_underpaid(
                self._tx, link.id, payment, self._now
            ):
                return False
        self._announce(link, payment, left, repeated=replaced)
        return True

    def _announce(
        self,
        link: link_rows.PaymentLink,
        payment: payment_rows.Payment,
        left: int | None,
        *,
        repeated: bool = False,
    ) -> None:
        if left is None and link.spec.units is not None:
            left = link_rows.get_link(self._tx, link.id).left
        answer = link.answer and _after(link.answer, payment, left)
        if answer is None or answer == link.answer:
            post_rows.refresh_cards(self._tx, self._queues, link.id, self._now)
        else:
            link_rows.set_answer(self._tx, link.id, answer)
            self._refresh(link.id)
        claim_id = claim_message = None
        if payment.underpaid:
            claim_id = claim_recording.record_underpaid(self._tx, link, payment, self._now)
        else:
            claim_message = claim_recording.settle(self._tx, self._queues, payment, self._now)
        needs_seller = payment.oversold or payment.underpaid or payment.codes_waiting > 0
        if link.alerts == "off" and not needs_seller:
            payment_rows.count_alerts(self._tx, link.id, muted=0 if repeated else 1)
            if claim_message is not None and payment.checkout_id is not None:
                claim_recording.show(self._tx, self._queues, payment.checkout_id, self._now)
            delivery.announce_ended_drop(self._tx, self._queues, link.id, self._now)
            return
        sums = revenue.revenue_totals(self._tx, link.id)
        alert = replace(
            _alert(link, payment, left),
            count=sums.earned_count + sums.refund_count + sums.settled_count,
            repeated=repeated,
            together=sums.earned,
            to_refund=sums.to_refund,
            refund_count=sums.refund_count,
            settled_count=sums.settled_count,
            at=payment_rows.received_at(self._tx, payment) if repeated else self._now,
            claim_id=claim_id,
            reached=goal_reached(self._tx, link, payment, sums),
        )
        self._put_alert(link, alert, claim_message)

    def record_missing(self, link_id: str, known: int, missing: int) -> int:
        """Record `missing` sold units without further details; return the number of alerts queued.

        Nothing is recorded if more than `known` units are recorded by now, or while a removal of
        units is uncertain, because the removed units may be the missing units. Uncertain payments
        count first: each was a new payment after all, and both alerts were sent.
        """
        link = link_rows.get_link(self._tx, link_id)
        if link.units_sold != known or link.request_id is None:
            return 0
        if link_lists.is_removal_uncertain(self._tx, self._queues, link_id):
            return 0
        announced_at = payment_rows.settle_uncertain(self._tx, link_id, missing)
        if announced_at:
            for at in announced_at:
                payment_rows.add_payment(self._tx, link_id, _placeholder(link), at)
            kind = "muted" if link.alerts == "off" else "delivered"
            payment_rows.count_alerts(self._tx, link_id, **{kind: len(announced_at)})
            self._refresh(link_id)
        for _ in range(missing - len(announced_at)):
            payment = _placeholder(link)
            payment_rows.add_payment(self._tx, link_id, payment, self._now)
            self._announce(link_rows.get_link(self._tx, link_id), payment, None)
        return missing - len(announced_at)

    def _refresh(self, link_id: str) -> None:
        post_rows.refresh(self._tx, self._queues, link_id, self._now)

    def _put_alert(
        self, link: link_rows.PaymentLink, payment: payloads.AlertPayment, replaced: int | None
    ) -> None:
        """Queue an alert; it replaces the message `replaced` if there is one."""
        queue, lane = self._queues.messages, str(link.chat_id)
        seller = seller_rows.find_seller(self._tx, link.seller_id)
        silent = link.alerts == "silent" or delivery.is_quiet(seller, self._now)
        language = seller.language if seller else translations.choose(None)
        alert = payloads.Alert(
            (payment,), language, silent, is_single=replaced is not None, message_id=replaced
        )
        outbox.put(self._tx, queue, lane, alert, self._now, priority=queue_policy.ALERT)


class PaymentRecorder:
    """Records payments, each in its own transaction; `now` in epoch ms."""

    def __init__(
        self, db: database.Database, queues: queues.Queues, now: Callable[[], int]
    ) -> None:
        self._db = db
        self._queues = queues
        self._now = now

    async def record(
        self, link: link_rows.PaymentLink, payment: payment_rows.Payment, left: int | None
    ) -> bool:
        """Record a payment like `RecorderInTransaction.receive`."""

        def work(tx: database.Transaction) -> bool:
            known = link_rows.get_link(tx, link.id)
            return self.record_in(tx, known, payment, left)

        return await self._db.transaction(work)

    def record_in(
        self,
        tx: database.Transaction,
        link: link_rows.PaymentLink,
        payment: payment_rows.Payment,
        left: int | None,
    ) -> bool:
        """Record a payment in a transaction that has read its link."""
        is_new = RecorderInTransaction(tx, self._queues, self._now()).receive(link, payment, left)
        if is_new:
            tx.count("payments_told", "found" if payment.found else "webhook")
        return is_new

    async def check(self, link_id: str) -> None:
        """Queue the job that fetches a request and stores the service's answer."""
        lane, now = f"{queues.BACKGROUND}{link_id}", self._now()
        queue, job = self._queues.jobs, jobs.CheckRequest(link_id)
        await self._db.transaction(
            lambda tx: outbox.put(tx, queue, lane, job, now, priority=queue_policy.NOTICE)
        )

    async def record_missing(self, link_id: str, known: int, missing: int) -> int:
        """Record payments like `RecorderInTransaction.record_missing`."""
        return await self._db.transaction(
            lambda tx: RecorderInTransaction(tx, self._queues, self._now()).record_missing(
                link_id, known, missing
            )
        )


def _placeholder(link: link_rows.PaymentLink) -> payment_rows.Payment:
    """Build a payment without any known details."""
    spec, transaction = link.spec, f"{payment_rows.PLACEHOLDER}{link_rows.short_id(16)}"
    request_id = link.request_id or ""
    return payment_rows.Payment(request_id, transaction, spec.amount, spec.currency, {}, found=True)


def _alert(
    link: link_rows.PaymentLink, payment: payment_rows.Payment, left: int | None
) -> payloads.AlertPayment:
    """Build a payment's alert; `left` are the units left after the payment."""
    spec = link.spec
    price = (spec.amount * payment.quantity, spec.currency)
    is_price = spec.choice is not None or (payment.amount, payment.currency) == price
    other = None if is_price else price
    is_sale = not (payment.oversold or payment.underpaid)
    is_delivered = spec.goods is not None  # by the service
    return payloads.AlertPayment(
        link_id=link.id,
        kind=spec.kind,
        name=spec.name,
        amount=payment.amount,
        currency=payment.currency,
        payer=payment.payer,
        remaining_units=left,
        total_units=spec.units,
        reserved_units=payment.reserved_units,
        oversold=payment.oversold,
        found=payment.found,
        named=payment.named,
        price=payment.asked or other,
        transaction_id=payment_rows.known_number(payment.transaction_id),
        underpaid=payment.underpaid,
        paid_by=payment.paid_by,
        quantity=payment.quantity,
        words=parts.NO_WORDS if payment.is_hidden else payment.words,
        codes_waiting=payment.codes_waiting,
        is_sent_by_hand=is_sale and spec.kind != "donation" and not is_delivered,
    )


def _after(
    answer: remote_request.RemoteRequest, payment: payment_rows.Payment, left: int | None
) -> remote_request.RemoteRequest:
    """Return the answer with a drop's units and codes after a payment.

    If a webhook is older than the answer, its units are ignored. A payment lowers the sum of
    remaining and reserved units; a lapsed reservation doesn't change the sum. So the lower sum is
    newer, in whatever order webhooks arrive.
    """
    if left is None:
        is_sale = not (payment.oversold or payment.underpaid)
        return answer.with_sold(payment.quantity) if is_sale else answer
    known, reserved = answer.remaining_units, payment.reserved_units
    if known is not None and left + reserved > known + answer.reserved_units:
        return answer
    sold = 0 if known is None else known + answer.reserved_units - left - reserved
    return answer.with_sold(sold).with_left(left, reserved)


def goal_reached(
    tx: database.Transaction,
    link: link_rows.PaymentLink,
    payment: payment_rows.Payment,
    sums: revenue.RevenueTotals,
) -> tuple[int, int] | None:
    """Return the sum raised and the goal if a payment is the first to reach the goal, else None.

    Call this in the transaction that records the payment, with the totals after the payment. Other
    payments of the request wait for the row of the totals, so that only one payment reaches the
    goal.
    """
    goal, currency = link.spec.goal, link.spec.currency
    if goal is None or payment.settlement != revenue.EARNED or payment.currency != currency:
        return None
    raised = request_card.raised_in(sums, currency)
    if not raised - payment.amount < goal <= raised:
        return None
    # If no money was paid back, the sum has never been higher.
    if sums.returned_count and _most_raised_before(tx, link, payment) >= goal:
        return None
    return raised, goal


def _most_raised_before(
    tx: database.Transaction, link: link_rows.PaymentLink, payment: payment_rows.Payment
) -> int:
    """Return the highest sum that was ever raised before a payment.

    A sale counts until it is paid back.
    """
    moves = []
    for row in revenue.sales(tx, link.id, link.spec.currency, payment.transaction_id):
        amount, back_at = row["amount"], row["paid_back_at"]
        moves.append((row["received_at"], False, amount))
        if back_at is not None:
            moves.append((back_at, True, -amount))  # after payments of the same moment
    return max(accumulate(change for _, _, change in sorted(moves)), default=0)
