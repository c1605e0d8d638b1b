"""How a listing stands, and the card that says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.cards.card_text import Card
from bot.chat.store.listings import DELETED, STOPPED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bot.chat.store.listings import Listing


def card_of(
    listing: Listing,
    now: int,
    *,
    taken: Iterable[tuple[int, str]] = (),
    zone: str | None = None,
) -> Card:
    """Give a listing as its seller sees it at `now` (epoch ms), who lives in `zone`."""
    wish, answer = listing.wish, listing.answer
    return Card(
        listing_id=listing.id,
        kind=wish.kind,
        name=wish.name,
        description=wish.description,
        amount=wish.amount,
        currency=wish.currency,
        total_units=wish.units,
        remaining_units=listing.left if answer is None or answer.remaining_units is None
        else answer.remaining_units,
        paid_count=listing.paid_count,
        status="deleted" if listing.state == DELETED else status_of(listing, now),
        url=answer.url if answer else "",
        reserved_units=answer.reserved_units if answer else 0,
        starts_at=answer.enabled_at if answer else wish.starts_at,
        ends_at=answer.expires_at if answer else wish.ends_at,
        zone=zone,
        taken=tuple(taken),
        image=wish.image,
        email=wish.email,
        email_state=answer.email_state if answer else None,
        email_confirmed_at=answer.email_confirmed_at if answer else None,
    )  # fmt: skip


def status_of(listing: Listing, now: int) -> str:
    """Say in one word how a listing stands at `now` (epoch ms)."""
    answer = listing.answer
    if listing.wish.kind == "oneoff" and listing.paid_count:
        return "completed"
    if answer and answer.remaining_units == answer.reserved_units == 0:
        return "soldOut"
    if listing.state == STOPPED:
        return "stopped"
    if answer and answer.expires_at is not None and answer.expires_at <= now:
        return "expired"
    if answer and answer.enabled_at is not None and answer.enabled_at > now:
        return "scheduled"
    return "active"
