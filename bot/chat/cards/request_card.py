"""The content of a request's card, and its status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.chat.model.answers import NO_PAYOUT
from bot.chat.model.payout import account_destination
from bot.chat.model.profile import NO_PROFILE
from bot.chat.store.listings import DELETED, STOPPED
from bot.chat.store.takings import NO_TAKINGS
from bot.chat.store.takings import takings as takings_of

if TYPE_CHECKING:
    from bot.chat.model.amount_choice import AmountChoice
    from bot.chat.model.goods import CodeCounts
    from bot.chat.model.profile import Profile
    from bot.chat.store.listings import Listing
    from bot.chat.store.takings import Takings
    from bot.core.database.database import Transaction


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
    notifications needs no confirmation. `seller` is the profile that payers see, `codes` are those
    that buyers get. A request that `is_embedded` is one of the embedded service. `raised` counts
    towards the `goal`, in minor units; `choice` is what payers choose the amount from. A buyer of a
    drop takes up to `max_quantity` at once, and gets what `delivers` names. `has_receipt_first`:
    its payers see their receipt before they go on to the web address.
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
    codes: CodeCounts | None = None
    is_embedded: bool = True
    choice: AmountChoice[int] | None = None
    goal: int | None = None
    raised: int = 0
    max_quantity: int | None = None
    delivers: str | None = None
    has_receipt_first: bool = False


def card_of(
    listing: Listing,
    now: int,
    *,
    takings: Takings = NO_TAKINGS,
    zone: str | None = None,
    profile: Profile = NO_PROFILE,
    raised: int = 0,
) -> Card:
    """Build the card of a listing at `now` (epoch ms) for its seller in a time zone.

    `profile` is the seller's, for cards that others see; `raised` counts towards the goal.
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
        codes=answer.codes if answer else None,
        is_embedded=answer is None or answer.is_embedded,
        choice=wish.choice,
        goal=wish.goal,
        raised=raised,
        max_quantity=wish.max_quantity,
        delivers=wish.goods.kind if wish.goods else None,
        has_receipt_first=wish.has_receipt_first,
    )  # fmt: skip


def raised_of(tx: Transaction, listing: Listing) -> int:
    """Return what counts towards a listing's goal, in minor units of its price's currency.

    Neither oversold money does nor what was paid back. 0 without a goal.
    """
    if listing.wish.goal is None:
        return 0
    return raised_in(takings_of(tx, listing.id), listing.wish.currency)


def raised_in(found: Takings, currency: str) -> int:
    """Return what takings count towards a goal, in minor units of its currency."""
    return _by_code(found.earned).get(currency, 0) - _by_code(found.returned).get(currency, 0)


def _by_code(amounts: tuple[tuple[int, str], ...]) -> dict[str, int]:
    return {code: minor for minor, code in amounts}


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
    wish, own = listing.wish, account_destination(listing.seller_id)
    return NO_PAYOUT if wish.destination == own and not wish.receivers else OUTDATED
