"""Recording of payments and claims: each is stored once, and its alert is queued with it.

Even if a seller has turned off a request's alerts, payments that need the seller's action cause an
alert: oversold and underpaid money has to be paid back or discussed with the payer, and a buyer may
be waiting for a code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate

from bot.chat.cards import alerts, claim_cards, request_card
from bot.chat.model import jobs, payloads, queues, remote_request
from bot.chat.payments import request_changes
from bot.chat.store import claim_rows, link_rows, payment_rows, post_rows, seller_rows
from bot.core.database import database
from bot.core.outbox import queue_policy
from bot.core.text import translations
from bot.interface import parts


def payment_of(
    paid: remote_request.SentPayment, request_id: str, link: link_rows.PaymentLink
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


class PaymentRecorder:
    """Records payments and claims, each with its alert; `now` in epoch ms."""

    def __init__(self, queues: queues.Queues, now: Callable[[], int]) -> None:
        self._queues = queues
        self._now = now

    def record(
        self,
        tx: database.Transaction,
        link_id: str,
        payment: payment_rows.Payment,
        left: int | None,
    ) -> bool:
        """Record a link's payment like `receive`."""
        return self.receive(tx, link_rows.get_link(tx, link_id), payment, left)

    def receive(
        self,
        tx: database.Transaction,
        link: link_rows.PaymentLink,
        payment: payment_rows.Payment,
        left: int | None,
    ) -> bool:
        """Record a payment and queue its alert; return False if the payment is known already.

        `link` was read in this transaction before the payment. `left` is the number of a drop's
        units left after it, None if the server didn't send a number. The payment replaces a
        placeholder if there is one. Then the alert is marked "possibly repeated", because the
        placeholder may stand for another payment. If the rest of an underpaid payment arrives, it
        replaces the underpaid payment and has its own alert.
        """
        step = self._step(tx)
        now = step.now
        replaced = payment_rows.replace_placeholder(tx, link.id, payment, now - WEBHOOK_RETRIES)
        if replaced and payment.found:
            post_rows.refresh(step, link.id)
            return False
        if (
            not replaced
            and not payment_rows.add_payment(tx, link.id, payment, now)
            and not payment_rows.replace_underpaid(tx, link.id, payment, now)
        ):
            return False
        _announce(step, link, payment, left, repeated=replaced)
        tx.count("payments_told", "found" if payment.found else "webhook")
        return True

    def record_missing(
        self, tx: database.Transaction, link_id: str, known: int, missing: int
    ) -> int:
        """Record `missing` sold units without further details; return the number of alerts queued.

        Nothing is recorded if more than `known` units are recorded by now, or while a removal of
        units is uncertain, because the removed units may be the missing units. Uncertain payments
        count first: each was a new payment after all, and both alerts were sent.
        """
        link = link_rows.get_link(tx, link_id)
        if link.units_sold != known or link.request_id is None:
            return 0
        if request_changes.is_removal_uncertain(tx, self._queues, link_id):
            return 0
        step = self._step(tx)
        announced_at = payment_rows.settle_uncertain(tx, link_id, missing)
        if announced_at:
            for at in announced_at:
                payment_rows.add_payment(tx, link_id, _placeholder(link), at)
            kind = "muted" if link.alerts == "off" else "delivered"
            payment_rows.count_alerts(tx, link_id, **{kind: len(announced_at)})
            post_rows.refresh(step, link_id)
        for _ in range(missing - len(announced_at)):
            payment = _placeholder(link)
            payment_rows.add_payment(tx, link_id, payment, step.now)
            _announce(step, link_rows.get_link(tx, link_id), payment, None)
        return missing - len(announced_at)

    def check(self, tx: database.Transaction, link_id: str) -> None:
        """Queue the job that fetches a request and stores the service's answer."""
        queues.put_job(self._step(tx), jobs.CheckRequest(link_id))

    def record_claim(
        self, tx: database.Transaction, link: link_rows.PaymentLink, claim: claim_rows.Claim
    ) -> bool:
        """Record a claim and queue its alert; return False if the claim is known already.

        If its payment was recorded earlier, there is nothing to decide.
        """
        step = self._step(tx)
        if payment_rows.is_checkout_paid(tx, link.id, claim.checkout_id):
            claim = replace(claim, state=claim_rows.PAID)
        claim_id = claim_rows.save_claim(tx, claim)
        stored = claim_rows.find_claim(tx, claim_id) if claim_id else None
        if stored is not None and stored.is_waiting(step.now):
            alerts.announce_claim(step, link, stored)
        return claim_id is not None

    def _step(self, tx: database.Transaction) -> queues.Step:
        return queues.Step(tx, self._queues, self._now())


def _announce(
    step: queues.ChatStep,
    link: link_rows.PaymentLink,
    payment: payment_rows.Payment,
    left: int | None,
    *,
    repeated: bool = False,
) -> None:
    """Queue the alert of a payment that was recorded now; its buttons find it by this time."""
    tx, now = step.tx, step.now
    if left is None and link.spec.units is not None:
        left = link_rows.get_link(tx, link.id).left
    answer = link.answer and _after(link.answer, payment, left)
    if answer is None or answer == link.answer:
        post_rows.refresh_cards(step, link.id)
    else:
        link_rows.set_answer(tx, link.id, answer)
        post_rows.refresh(step, link.id)
    claim_id = claim_message = None
    if payment.underpaid:
        claim_id = _record_underpaid(tx, link, payment, now)
    else:
        claim_message = _settle_claim(step, payment)
    needs_seller = payment.oversold or payment.underpaid or payment.codes_waiting > 0
    if link.alerts == "off" and not needs_seller:
        payment_rows.count_alerts(tx, link.id, muted=0 if repeated else 1)
        claim = _claim_of(tx, payment) if claim_message is not None else None
        if claim is not None:  # no alert replaces its message
            claim_cards.show_claim(step, claim.id)
        alerts.announce_ended_drop(step, link.id)
        return
    sums = payment_rows.revenue_totals(tx, link.id)
    alert = replace(
        _alert(link, payment, left),
        count=sums.earned_count + sums.refund_count + sums.settled_count,
        repeated=repeated,
        together=sums.earned,
        to_refund=sums.to_refund,
        refund_count=sums.refund_count,
        settled_count=sums.settled_count,
        at=payment_rows.received_at(tx, payment) if repeated else now,
        claim_id=claim_id,
        reached=goal_reached(tx, link, payment, sums),
    )
    seller = seller_rows.find_seller(tx, link.seller_id)
    body = payloads.Alert(
        (alert,),
        seller.language if seller else translations.choose(None),
        is_silent=link.alerts == "silent" or alerts.is_quiet(seller, now),
        is_single=claim_message is not None,
        message_id=claim_message,
    )
    queues.put_message(step, str(link.chat_id), body, queue_policy.ALERT)


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
    sums: payment_rows.RevenueTotals,
) -> tuple[int, int] | None:
    """Return the sum raised and the goal if a payment is the first to reach the goal, else None.

    Call this in the transaction that records the payment, with the totals after the payment. Other
    payments of the request wait for the row of the totals, so that only one payment reaches the
    goal.
    """
    goal, currency = link.spec.goal, link.spec.currency
    if goal is None or payment.settlement != payment_rows.EARNED or payment.currency != currency:
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
    for row in payment_rows.sales(tx, link.id, link.spec.currency, payment.transaction_id):
        amount, back_at = row["amount"], row["paid_back_at"]
        moves.append((row["received_at"], False, amount))
        if back_at is not None:
            moves.append((back_at, True, -amount))  # after payments of the same moment
    return max(accumulate(change for _, _, change in sorted(moves)), default=0)


# Claims that a payment settles, and claims for underpaid money.


def _claim_of(tx: database.Transaction, payment: payment_rows.Payment) -> claim_rows.Claim | None:
    checkout = payment.checkout_id
    return None if checkout is None else claim_rows.claim_of_checkout(tx, checkout)


def _record_underpaid(
    tx: database.Transaction,
    link: link_rows.PaymentLink,
    payment: payment_rows.Payment,
    now: int,
) -> str | None:
    """Store a claim that lets the seller confirm underpaid money; return the claim's id.

    Return None if that is impossible: the server named no checkout, the seller has already decided,
    or the payer made a claim, whose message has the buttons.
    """
    if payment.checkout_id is None:
        return None
    claim = _claim_of(tx, payment)
    if claim is None:
        claim = claim_rows.Claim(
            id=link_rows.short_id(10),
            checkout_id=payment.checkout_id,
            request_id=payment.request_id,
            link_id=link.id,
            seller_id=link.seller_id,
            kind=payment.paid_by.kind if payment.paid_by else "",
            amount=payment.amount,
            currency=payment.currency,
            reference=None,
            state=claim_rows.UNDERPAID,
            claimed_at=now,
            lapses_at=now,
        )
        return claim_rows.save_claim(tx, claim)
    if claim.state != claim_rows.UNDERPAID:
        return None
    claim_rows.set_arrived(tx, claim.id, payment.amount, payment.currency)
    return claim.id


def _settle_claim(step: queues.ChatStep, payment: payment_rows.Payment) -> int | None:
    """Store that a claim's payment is recorded; return the message that its alert replaces.

    If the seller confirmed the claim, the alert replaces the message with that button. Otherwise
    the buttons are removed from the claim's message, and the alert is a new message.
    """
    claim = _claim_of(step.tx, payment)
    if not claim or not claim_rows.change_state(step.tx, claim, claim_rows.PAID, claim.answered_in):
        return None
    if payment.paid_by is not None:
        claim_rows.set_arrived(step.tx, claim.id, payment.paid_by.amount, payment.paid_by.currency)
    if claim.state in (claim_rows.CONFIRMING, claim_rows.CONFIRMED) and claim.answered_in:
        return claim.answered_in
    claim_cards.show_claim(step, claim.id)
    return None
