"""The payment that reaches its request's goal: the first that ever brings the sum there."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from bot.chat.cards.request_card import raised_in
from bot.chat.store.takings import EARNED, sales

if TYPE_CHECKING:
    from bot.chat.store.listings import Listing
    from bot.chat.store.received_payments import Payment
    from bot.chat.store.takings import Takings
    from bot.core.database.database import Transaction


def goal_reached(
    tx: Transaction, listing: Listing, payment: Payment, sums: Takings
) -> tuple[int, int] | None:
    """Return what was raised and the goal if a payment reaches it, else None.

    In the transaction that records the payment, with the takings after it: another payment of the
    request waits for the row of these, so that no two of them reach one goal.
    """
    goal, currency = listing.wish.goal, listing.wish.currency
    if goal is None or payment.settlement != EARNED or payment.currency != currency:
        return None
    raised = raised_in(sums, currency)
    if not raised - payment.amount < goal <= raised:
        return None
    # Without money that was paid back, the sum has never been higher.
    if sums.returned_count and _most_raised_before(tx, listing, payment) >= goal:
        return None
    return raised, goal


def _most_raised_before(tx: Transaction, listing: Listing, payment: Payment) -> int:
    """Return the highest sum before a payment; a sale counts until it is paid back."""
    moves = []
    for row in sales(tx, listing.id, listing.wish.currency, payment.transaction_id):
        amount, back_at = row["amount"], row["paid_back_at"]
        moves.append((row["received_at"], False, amount))
        if back_at is not None:
            moves.append((back_at, True, -amount))  # after what came at the same moment
    return max(accumulate(change for _, _, change in sorted(moves)), default=0)
