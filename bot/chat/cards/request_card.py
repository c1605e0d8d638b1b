"""The content of a request's card, and its status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.chat.model.answers import NO_PAYOUT
from bot.chat.model.payout import names_accounts
from bot.chat.model.profile import NO_PROFILE
from bot.chat.store.listings import DELETED, STOPPED
from bot.chat.store.takings import NO_TAKINGS

if TYPE_CHECKING:
    from bot.chat.model.profile import Profile
    from bot.chat.store.listings import Listing
    from bot.chat.store.takings import Takings


OUTDATED = "outdated"
"""The status of a request that was made for test money, where real money is taken by now."""


@dataclass(frozen=True, slots=True)
class Card:
    """A request as its seller sees it.

    `amount` is in minor units. `status` is active, scheduled, expired, stopped, completed (a
    paid one-off), soldOut, noPayoutAccount (its seller has no account that takes the price),
    outdated or deleted. `reserved_units` are in open checkouts. `url` is empty until the server has
    answered. `starts_at` (in the future) and `ends_at` are in epoch ms. `zone` is the seller's.
    `takings` are for the seller's eyes only. `image` is the id of the seller's picture.
    `email_state` is unconfirmed, confirmed or ended, None where the address for payment
    notifications needs no confirmation. `seller` is the profile that payers see.
    """

    listing_id: str
    kind: str
    name: str
    description: str | None
    amount: int
    currency: str
    total_units: int | None
    remaining_units: int | None
    paid_count: int | None
    status: str
    url: str
    reserved_units: int = 0
    starts_at: int | None = None
    ends_at: int | None = None
    zone: str | None = None
    takings: Takings = NO_TAKINGS
    image: str | None = None
    email: str | None = None
    email_state: str | None = None
    email_confirmed_at: int | None = None
    seller: Profile = NO_PROFILE


def card_of(
    listing: Listing,
    now: int,
    *,
    takings: Takings = NO_TAKINGS,
    zone: str | None = None,
    profile: Profile = NO_PROFILE,
) -> Card:
    """Build the card of a listing at `now` (epoch ms) for its seller in a time zone.

    `profile` is the seller's, for cards that others see.
    """
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
        takings=takings,
        image=wish.image,
        email=wish.email,
        email_state=answer.email_state if answer else None,
        email_confirmed_at=answer.email_confirmed_at if answer else None,
        seller=profile,
    )  # fmt: skip


def status_of(listing: Listing, now: int) -> str:
    """Return the status of a listing that is not deleted at `now` (epoch ms), as in `Card`."""
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
    return _status_by_accounts(listing)


def _status_by_accounts(listing: Listing) -> str:
    """Return the status of a listing that can be paid, but for where its money goes."""
    if listing.answer is None or not listing.answer.lacks_account:
        return "active"
    return NO_PAYOUT if names_accounts(listing.wish) else OUTDATED
