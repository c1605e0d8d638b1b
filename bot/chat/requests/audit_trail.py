"""What the audit log has of sellers: what they asked for, with who they are.

The service notes what was done, in the name of the bot's application; both are found by the
request's id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.requests.change import STATES
from bot.core.money import amounts
from bot.core.ops import audit

if TYPE_CHECKING:
    from bot.chat.model.wish import Wish
    from bot.chat.store.listings import Listing
    from bot.core.database.database import Transaction

ASKED = {
    "stop": "request.stop-asked",
    "resume": "request.resume-asked",
    "delete-yes": "request.delete-asked",
}
"""What a press is called that asks for a change."""


def record_wish(tx: Transaction, seller_id: int, listing_id: str, wish: Wish, now: int) -> None:
    """Note that a seller asked for a request, under the listing's id: it has no other yet."""
    details = {
        "kind": wish.kind,
        "name": wish.name,
        "price": f"{amounts.from_minor(wish.amount, wish.currency)} {wish.currency}",
        "to": wish.destination,
    }
    units = {} if wish.units is None else {"units": wish.units}
    audit.record(
        tx, audit.seller(seller_id), "request.asked", listing_id, now, {**details, **units}
    )


def record_made(tx: Transaction, listing: Listing, request_id: str, now: int) -> None:
    """Note that a seller's request is made, under the id that it has from now on."""
    details = {"listing": listing.id, "name": listing.wish.name}
    audit.record(tx, audit.seller(listing.seller_id), "request.made", request_id, now, details)


def record_press(tx: Transaction, listing: Listing, press: str, now: int) -> None:
    """Note that a seller pressed a button that changes their request.

    Not where it stands so already: old buttons can be pressed for ever.
    """
    if press in ASKED and listing.state != STATES[press]:
        subject, details = listing.request_id or listing.id, {"name": listing.wish.name}
        audit.record(tx, audit.seller(listing.seller_id), ASKED[press], subject, now, details)


def record_edit(
    tx: Transaction, listing: Listing, field: str, values: tuple[object, object], now: int
) -> None:
    """Note that a request was edited as its seller asked: the field's value before and after."""
    actor, subject = audit.seller(listing.seller_id), listing.request_id or listing.id
    details = {"name": listing.wish.name, field: [*values]}
    audit.record(tx, actor, "request.edited", subject, now, details)


def record_destination(
    tx: Transaction, seller_id: int, before: str | None, destination: str, now: int
) -> None:
    """Note where a seller's money goes from now on; of all changes the one that matters most."""
    if destination != before:
        details = {"destination": [before, destination]}
        actor = audit.seller(seller_id)
        audit.record(tx, actor, "destination.changed", str(seller_id), now, details)
