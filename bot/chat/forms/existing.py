"""Forms about a request that was wished for before: refused, edited, made once more."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bot.chat.forms.draft import STEPS, Draft
from bot.chat.forms.flow import go_on, opened, unfinished
from bot.chat.forms.receivers import meant
from bot.chat.messages.reply import escaped
from bot.core.money.amounts import from_minor
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.forms.outcome import Outcome
    from bot.chat.model.seller import Seller
    from bot.chat.model.wish import Wish

_REFUSAL = 500  # UTF-16 units of another server's words
_RECEIVER = r"receivers(\W*[0-9]+\W*)?"
_FIELD_STEPS = tuple(
    (re.compile(pattern), step)
    for pattern, step in (
        (r"expirationType", "kind"),
        (r"product\.name", "name"),
        (r"product\.(description|longDescription)", "description"),
        (r"product\.imageUrl", "picture"),
        (rf"{_RECEIVER}sendAmount", "amount"),
        (r"instrumentCurrencyCode", "instrument"),
        (rf"({_RECEIVER})?(\w*[cC]urrencyCode|denominatedIn|currency)", "currency"),
        (r"totalUnits", "units"),
        (rf"{_RECEIVER}(destination)?", "destination"),
        (r"enabledAt", "starts"),
        (r"expirationInSeconds|expiresAt", "ends"),
        (r"requestedUserData.*", "asks"),
        (r"redirectUrl", "redirect"),
        (r"notifications\.email", "email"),
    )
)


@dataclass(frozen=True, slots=True)
class Present:
    """A request that is there, as the form of an edit shows it."""

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
    """Ask again, at the step that the refused `field` belongs to, with the server's `message`.

    A form that was begun meanwhile waits until this one is done.
    """
    draft = _draft_of(wish, draft_id, seller, current)
    problem = t(seller.language, "refused", message=escaped(message, _REFUSAL))
    return opened(draft, _step_of(field, wish, seller), seller, problem)


def duplicate(wish: Wish, draft_id: str, seller: Seller, current: Draft | None = None) -> Outcome:
    """Begin a new request with everything that `wish` has, at its review.

    A form under way waits until this one is done.
    """
    return go_on(_draft_of(wish, draft_id, seller, current), seller)


def edit_form(
    draft_id: str,
    present: Present,
    field: str,
    seller: Seller,
    *,
    current: Draft | None = None,
) -> Outcome:
    """Ask for the new value of one field of a request, one of `STEPS["edit"]`."""
    if field not in STEPS["edit"]:
        raise ValueError(f"{field} can't be edited")
    known = _draft_of(present.wish, draft_id, seller, current)
    edit = replace(known, form="edit", listing=present.listing_id, poster_text=present.poster_text)
    return opened(edit, field, seller)


def _draft_of(wish: Wish, draft_id: str, seller: Seller, current: Draft | None) -> Draft:
    """Give the form that a wish came from, over the one under way; no deeper: it is stored whole.

    What each of several receivers was to get is not known any more, but what it came to is.
    """
    left = unfinished(current)
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
        paused=left and replace(left, paused=None),
        receivers=meant(wish.receivers, wish.currency),
        instrument=wish.instrument,
        image=wish.image,
        starts_at=wish.starts_at,
        ends_at=wish.ends_at,
        asks=wish.asks,
        redirect_url=wish.redirect_url,
        email=wish.email,
    )


def _step_of(field: str, wish: Wish, seller: Seller) -> str:
    """Give the step of a refused field: of an option only where the wish has it."""
    found = (step for pattern, step in _FIELD_STEPS if pattern.fullmatch(field))
    step = next(found, "review")
    if seller.destination is None:
        return "destination"
    if wish.receivers and step in ("amount", "destination") and field.startswith("receivers"):
        return "receivers"
    if step == "instrument" and wish.instrument is None:
        return "currency"
    return "review" if step == "units" and wish.kind != "drop" else step
