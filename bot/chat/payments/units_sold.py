"""How many units of a request were sold, by the word of its server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.store.listings import LIVE

if TYPE_CHECKING:
    from bot.chat.model.answers import Answer
    from bot.chat.store.listings import Listing

PAID = ("completed", "soldOut")
"""What `status` says of a one-off that was paid, where a server tells it."""


def count_sold(answer: Answer, listing: Listing, now: int) -> int:
    """How often a request was paid, at least, as far as its server tells at `now` (epoch ms)."""
    if answer.paid_count is not None:
        return answer.paid_count
    if listing.wish.kind == "oneoff":
        return int(_is_closed(answer, listing, now))
    totals = [total for total in (answer.total_units, listing.wish.units) if total is not None]
    if not totals or answer.remaining_units is None:
        return 0
    # What was taken out is off the wish; not every server takes it off its total.
    return max(0, min(totals) - answer.remaining_units - answer.reserved_units)


def _is_closed(answer: Answer, listing: Listing, now: int) -> bool:
    """Whether a one-off can't be paid because it was: nothing else has ended or not begun it."""
    if answer.is_enabled:
        return False
    if answer.status is not None:
        return answer.status in PAID
    ended = answer.expires_at is not None and answer.expires_at <= now
    not_begun = answer.enabled_at is not None and answer.enabled_at > now
    return listing.state == LIVE and not ended and not not_begun
