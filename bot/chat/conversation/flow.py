"""How a form goes on: to its first open question, and from there to what was wished for."""

from __future__ import annotations

from dataclasses import replace

from bot.chat.conversation.answers import menu
from bot.chat.conversation.draft import STEPS, Draft, Outcome, Seller
from bot.chat.conversation.prompts import path, prompt, resume_prompt
from bot.chat.conversation.wish import Wish
from bot.chat.replies import Reply, escaped
from bot.core.money import to_minor
from bot.core.texts import t


def at_step(draft: Draft, step: str, seller: Seller, problem: str | None = None) -> Outcome:
    """Ask what that step asks."""
    draft = replace(draft, step=step)
    return Outcome(draft, (prompt(draft, seller, problem),))


def go_on(draft: Draft, seller: Seller) -> Outcome:
    """Ask the first question still open; with none, review it, or create what one line said."""
    step = open_step(draft, seller)
    if step is not None:
        return at_step(draft, step, seller)
    if draft.form == "new":
        return at_step(draft, "review", seller)
    return finish(draft, seller)


def go_back(draft: Draft, step: str, seller: Seller) -> Outcome:
    """Ask what comes before `step`, though never what rests on an open question."""
    order = STEPS[draft.form].index
    earlier = [other for other in path(draft, seller) if order(other) < order(step)]
    target = earlier[-1] if earlier else STEPS[draft.form][0]
    first_open = open_step(draft, seller)
    if first_open is not None and order(first_open) < order(target):
        target = first_open
    return at_step(draft, target, seller)


def open_step(draft: Draft, seller: Seller) -> str | None:
    """Find the first question without an answer."""
    is_open = {
        "kind": draft.kind is None,
        "name": draft.name is None,
        "description": draft.description is None,
        "amount": draft.amount is None,
        "currency": draft.currency is None,
        "units": draft.kind == "drop" and draft.units is None,
        "destination": seller.destination is None,
    }
    return next((step for step in STEPS[draft.form] if is_open.get(step)), None)


def finish(draft: Draft, seller: Seller) -> Outcome:
    """Wish for what the form describes, and return to the form that it interrupted."""
    left = draft.paused
    replies = () if left is None else (resume_prompt(left, seller),)
    toast = t(seller.language, "toast-creating")
    return Outcome(left, replies, toast=toast, wish=_wish(draft, seller))


def _wish(draft: Draft, seller: Seller) -> Wish:
    """Take a form without open questions as a request to create."""
    kind, name, amount, currency = draft.kind, draft.name, draft.amount, draft.currency
    destination, units = seller.destination, draft.units if kind == "drop" else None
    if kind is None or name is None or amount is None or currency is None or destination is None:
        raise ValueError("a question is still open")
    minor = to_minor(amount, currency)
    return Wish(kind, name, draft.description or None, minor, currency, units, destination)


def save_destination(draft: Draft, destination: str, seller: Seller) -> Outcome:
    """Save where money goes from now on, and go on with that."""
    seller = replace(seller, destination=destination)
    if draft.form == "settings":
        saved = t(seller.language, "destination-saved", destination=escaped(destination))
        outcome = return_to(draft.paused, seller, Reply(saved, menu(seller.language)))
    else:
        outcome = go_on(draft, seller)
    return replace(outcome, destination=destination)


def return_to(left: Draft | None, seller: Seller, done: Reply) -> Outcome:
    """Say what was done; a form that was interrupted asks again."""
    if left is None:
        return Outcome(None, (done,))
    return Outcome(left, (replace(done, rows=()), prompt(left, seller)))


def unfinished(current: Draft | None) -> Draft | None:
    """Give the /new form under way, if one is, though a shorter form stand over it."""
    return current if current is None or current.form == "new" else current.paused
