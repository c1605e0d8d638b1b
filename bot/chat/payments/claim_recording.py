"""Recording of claims: each is stored once, with its alert, in whatever order the events arrive.

If a claim's payment was recorded earlier, there is nothing to decide. Underpaid money that nobody
claimed becomes a claim that the seller may confirm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bot.chat.alerts import claim_messages
from bot.chat.cards import claim_cards
from bot.chat.model import queues
from bot.chat.store import claim_rows, link_rows, payment_rows
from bot.core.database import database


@dataclass(frozen=True, slots=True)
class ClaimedMoney:
    """A claim as reported by its event."""

    checkout_id: str
    request_id: str
    kind: str
    """The rail of the payment; "" if unknown."""
    amount: int
    """Minor units."""
    currency: str
    reference: str | None
    claimed_at: int
    """Epoch ms."""
    unproven: int = 1
    """Number of the request's unconfirmed claims from the payer's network, including this claim."""


class ClaimRecorder:
    """Records claims, each in a transaction; `held` is how long a claim holds a unit, in ms."""

    def __init__(
        self, db: database.Database, queues: queues.Queues, held: int, now: Callable[[], int]
    ) -> None:
        self._db = db
        self._queues = queues
        self._held = held
        self._now = now

    async def record(self, link: link_rows.PaymentLink, money: ClaimedMoney) -> bool:
        """Record a claim and queue its alert; return False if the claim is known already."""
        return await self._db.transaction(lambda tx: self._record(tx, link, money))

    def _record(
        self, tx: database.Transaction, link: link_rows.PaymentLink, money: ClaimedMoney
    ) -> bool:
        now = self._now()
        is_paid = payment_rows.is_checkout_paid(tx, link.id, money.checkout_id)
        claim = claim_rows.Claim(
            id=claim_rows.new_claim_id(),
            checkout_id=money.checkout_id,
            request_id=money.request_id,
            link_id=link.id,
            seller_id=link.seller_id,
            kind=money.kind,
            amount=money.amount,
            currency=money.currency,
            reference=money.reference,
            state=claim_rows.PAID if is_paid else claim_rows.WAITING,
            claimed_at=money.claimed_at,
            lapses_at=money.claimed_at + self._held,
            remind_at=min(now + claim_messages.REMIND_AFTER, money.claimed_at + self._held),
            unproven=money.unproven,
            alone=0,
        )
        claim_id = claim_rows.save_claim(tx, claim)
        if claim_id is None:
            return False
        stored = claim_rows.find_claim(tx, claim_id)
        if stored is not None and stored.is_waiting(now):
            claim_messages.announce(tx, self._queues, link, stored, now)
        return True


def record_underpaid(
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
    claim = claim_rows.claim_of_checkout(tx, payment.checkout_id)
    if claim is None:
        return claim_rows.save_claim(tx, _claim_of(link, payment, payment.checkout_id, now))
    if claim.state != claim_rows.UNDERPAID:
        return None
    claim_rows.set_arrived(tx, claim.id, payment.amount, payment.currency)
    return claim.id


def _claim_of(
    link: link_rows.PaymentLink, payment: payment_rows.Payment, checkout_id: str, now: int
) -> claim_rows.Claim:
    return claim_rows.Claim(
        id=claim_rows.new_claim_id(),
        checkout_id=checkout_id,
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


def settle(
    tx: database.Transaction, queues: queues.Queues, payment: payment_rows.Payment, now: int
) -> int | None:
    """Store that a claim's payment is recorded; return the message that its alert replaces.

    If the seller confirmed the claim, the alert replaces the message with that button. Otherwise
    the buttons are removed from the claim's message, and the alert is a new message.
    """
    claim = payment.checkout_id and claim_rows.claim_of_checkout(tx, payment.checkout_id)
    if not claim or not claim_rows.change_state(tx, claim, claim_rows.PAID, claim.answered_in):
        return None
    if payment.paid_by is not None:
        claim_rows.set_arrived(tx, claim.id, payment.paid_by.amount, payment.paid_by.currency)
    if (
        claim.state in (claim_rows.CONFIRMING, claim_rows.CONFIRMED)
        and claim.answered_in is not None
    ):
        return claim.answered_in
    claim_cards.show_claim(tx, queues, claim.id, now)
    return None


def show(tx: database.Transaction, queues: queues.Queues, checkout_id: str, now: int) -> None:
    """Queue the edit that shows a settled claim, if no alert replaces its message."""
    claim = claim_rows.claim_of_checkout(tx, checkout_id)
    if claim is not None:
        claim_cards.show_claim(tx, queues, claim.id, now)
