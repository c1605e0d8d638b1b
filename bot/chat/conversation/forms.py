"""The doors to the forms: begin one, answer it, end it, and reopen what was refused."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.conversation.answers import menu
from bot.chat.conversation.draft import Draft, Input, Outcome, Pressed, Seller
from bot.chat.conversation.flow import at_step, go_on, unfinished
from bot.chat.conversation.inputs import cancel_form, take_press, take_text
from bot.chat.conversation.prompts import prompt, resume_prompt
from bot.chat.replies import Reply, escaped
from bot.core.money import from_minor
from bot.core.texts import t

if TYPE_CHECKING:
    from bot.chat.conversation.wish import Wish

_REFUSAL = 500  # UTF-16 units of another server's words
_FIELD_STEPS = tuple(
    (re.compile(pattern), step)
    for pattern, step in (
        (r"expirationType", "kind"),
        (r"product\.name", "name"),
        (r"product\.(description|longDescription)", "description"),
        (r"receivers\W*[0-9]*\W*sendAmount", "amount"),
        (r"(receivers\W*[0-9]*\W*)?(\w*[cC]urrencyCode|denominatedIn)", "currency"),
        (r"totalUnits", "units"),
        (r"receivers\W*[0-9]*\W*destination", "destination"),
    )
)


def new_form(current: Draft | None, draft_id: str, seller: Seller) -> Outcome:
    """Answer `/new`: begin, or offer to go on with the form that is under way."""
    left = unfinished(current)
    if left is None:
        return start_new(draft_id, seller)
    if left.kind is None:
        return Outcome(left, (prompt(left, seller),))
    return Outcome(left, (resume_prompt(left, seller),))


def start_new(draft_id: str, seller: Seller) -> Outcome:
    """Begin a new request at its first question, whatever was under way."""
    asks = seller.destination is None
    return go_on(Draft(draft_id, "new", "kind", asks_destination=asks), seller)


def change_destination(draft_id: str, seller: Seller, current: Draft | None = None) -> Outcome:
    """Ask where money is to be sent from now on; a /new under way waits meanwhile."""
    draft = Draft(draft_id, "settings", "destination", paused=unfinished(current))
    return Outcome(draft, (prompt(draft, seller),))


def advance(draft: Draft | None, given: Input, seller: Seller) -> Outcome:
    """Take what the person said or pressed."""
    if isinstance(given, Pressed):
        return take_press(draft, given.action, seller)
    if draft is None:
        reply = Reply(t(seller.language, "not-understood"), menu(seller.language))
        return Outcome(None, (reply,))
    return take_text(draft, given.text, seller)


def cancel(draft: Draft | None, seller: Seller) -> Outcome:
    """Answer `/cancel`: end the form under way; one that it interrupted goes on."""
    if draft is None:
        nothing = Reply(t(seller.language, "nothing-to-cancel"), menu(seller.language))
        return Outcome(None, (nothing,))
    return cancel_form(draft, seller)


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
    left = unfinished(current)
    draft = Draft(
        draft_id,
        "new",
        "review",
        kind=wish.kind,
        name=wish.name,
        description=wish.description or "",
        amount=from_minor(wish.amount, wish.currency),
        currency=wish.currency,
        units=wish.units,
        asks_destination=seller.destination is None,
        paused=left and replace(left, paused=None),
    )
    problem = t(seller.language, "refused", message=escaped(message, _REFUSAL))
    return at_step(draft, _step_of(field, wish, seller), seller, problem)


def _step_of(field: str, wish: Wish, seller: Seller) -> str:
    found = (step for pattern, step in _FIELD_STEPS if pattern.fullmatch(field))
    step = next(found, "review")
    if seller.destination is None:
        return "destination"
    return "review" if step == "units" and wish.kind != "drop" else step
