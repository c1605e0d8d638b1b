"""The number of units of a request that were sold, derived from its server's answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.store.listings import LIVE

if TYPE_CHECKING:
    from bot.chat.model.answers import Answer
    from bot.chat.store.listings import Listing

PAID = ("completed", "soldOut")
"""Values of `status` for a one-off that was paid, on servers that send a status."""


def count_sold(answer: Answer, listing: Listing, now: int) -> int:
    """Count the payments of a request that its server's answer proves, at `now` (epoch ms)."""
    if answer.paid_count is not None:
        return answer.paid_count
    if listing.wish.kind == "oneoff":
        return int(_is_closed(answer, listing, now))
    totals = [total for total in (answer.total_units, listing.wish.units) if total is not None]
    if not totals or answer.remaining_units is None:
        return 0
    # The wish's units shrink when units are taken out; not every server lowers its total.
    return max(0, min(totals) - answer.remaining_units - answer.reserved_units)


def _is_closed(answer: Answer, listing: Listing, now: int) -> bool:
    """Check that a one-off is closed by a payment: not by its end, its start or a stop."""
    if answer.is_enabled:
        return False
    if answer.status is not None:
        return answer.status in PAID
    ended = answer.expires_at is not None and answer.expires_at <= now
    has_begun = answer.enabled_at is None or answer.enabled_at <= now
    return listing.state == LIVE and has_begun and not ended
