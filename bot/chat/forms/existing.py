"""Forms that begin with the fields of a request: one refused, one to edit, one to duplicate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bot.chat.fields.receiver_shares import portions_of
from bot.chat.fields.registry import EDITS, FIELDS, INSTRUMENT, RECEIVERS
from bot.chat.forms.flow import ask_after_zone, go_on, new_form_under_way
from bot.chat.messages.reply import escaped
from bot.chat.model.draft import Draft, Seller
from bot.chat.model.wish import options_of
from bot.core.money.amounts import from_minor
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.forms.outcome import Outcome
    from bot.chat.model.wish import Wish

_REFUSAL = 500  # UTF-16 units of another server's message


@dataclass(frozen=True, slots=True)
class ExistingRequest:
    """A request that exists, as the form of an edit shows it."""

    listing_id: str
    wish: Wish
    poster_text: str | None = None


def reopen(
    wish: Wish,
    draft_id: str,
    field: str,
    message: str,
    seller: Seller,
    *,
    current: Draft | None = None,
) -> Outcome:
    """Ask again at the step of the refused `field`, below the server's `message`.

    A form under way is paused until this one ends.
    """
    draft = _draft_of(wish, draft_id, seller, current)
    problem = t(seller.language, "refused", message=escaped(message, _REFUSAL))
    return ask_after_zone(draft, _refused_step(field, wish, seller), seller, problem)


def duplicate(wish: Wish, draft_id: str, seller: Seller, current: Draft | None = None) -> Outcome:
    """Begin a new request with all fields of `wish`, at its review.

    A form under way is paused until this one ends.
    """
    return go_on(_draft_of(wish, draft_id, seller, current), seller)


def edit_form(
    draft_id: str,
    present: ExistingRequest,
    field: str,
    seller: Seller,
    *,
    current: Draft | None = None,
) -> Outcome:
    """Ask for the new value of a field, one of EDITS. Raises ValueError for any other."""
    if field not in EDITS:
        raise ValueError(f"{field} can't be edited")
    known = _draft_of(present.wish, draft_id, seller, current)
    edit = replace(known, form="edit", listing=present.listing_id, poster_text=present.poster_text)
    return ask_after_zone(edit, field, seller)


def _draft_of(wish: Wish, draft_id: str, seller: Seller, current: Draft | None) -> Draft:
    """Return a new form with the fields of a wish, above the new form under way if there is one.

    The shares of several receivers become amounts: how they were typed is not known any more.
    """
    under_way = new_form_under_way(current)
    return Draft(
        draft_id,
        "new",
        "review",
        kind=wish.kind,
        name=wish.name,
        description=wish.description,
        amount=from_minor(wish.amount, wish.currency),
        currency=wish.currency,
        units=wish.units,
        asks_destination=seller.destination is None,
        paused=under_way and replace(under_way, paused=None),
        receivers=portions_of(wish.receivers, wish.currency),
        **options_of(wish),
    )


def _refused_step(path: str, wish: Wish, seller: Seller) -> str:
    """Return the step of the field that a refusal names; of an option only where it is set."""
    if seller.destination is None:
        return "destination"
    field = next((field for field in FIELDS if field.is_refused_by(path)), None)
    if field is None or wish.kind not in field.kinds:
        return "review"
    if wish.receivers and path.startswith("receivers") and field.name != "currency":
        return RECEIVERS.name
    return "currency" if field is INSTRUMENT and wish.instrument is None else field.name
