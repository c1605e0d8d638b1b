"""How a form goes on: to its first open question, and from there to what was wished for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.forms.bot_texts import menu, settings
from bot.chat.forms.draft import OPTIONS, PATH, STEPS, Draft
from bot.chat.forms.outcome import Outcome, Setting
from bot.chat.forms.prompts import path, prompt, resume_prompt
from bot.chat.forms.summary import fact, minor_of, shares_of
from bot.chat.messages.problem import Problem
from bot.chat.messages.reply import Reply, escaped
from bot.chat.model.wish import Wish
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.model.seller import Seller


def at_step(draft: Draft, step: str, seller: Seller, note: str | None = None) -> Outcome:
    """Ask what that step asks."""
    draft = replace(draft, step=step)
    return Outcome(draft, (prompt(draft, seller, note),))


def go_on(draft: Draft, seller: Seller, note: str | None = None) -> Outcome:
    """Ask the first question still open.

    With none, go back to the options, review, or create what one line said.
    """
    step = open_step(draft, seller)
    if step is not None:
        return at_step(draft, step, seller, note)
    if draft.form == "new":
        return at_step(draft, "options" if draft.in_menu else "review", seller, note)
    return finish(draft, seller)


def understood(draft: Draft, step: str, seller: Seller) -> Outcome:
    """Go on after an answer; where that leads back to the options, say what was understood."""
    line = fact(draft, seller, step) if draft.in_menu else None
    return go_on(draft, seller, line and t(seller.language, "understood", line=line))


def go_back(draft: Draft, step: str, seller: Seller) -> Outcome:
    """Ask what comes before `step`, though never what rests on an open question."""
    if draft.form == "edit":
        return leave(draft, seller, ("edit", draft.listing or ""))
    if draft.form == "settings":
        return leave(draft, seller, ("settings",))
    if step == "options":
        draft = replace(draft, in_menu=False)
        if open_step(draft, seller) is None:
            return at_step(draft, "review", seller)
        step = "review"  # whose place in the path is behind the questions that are answered
    first_open = open_question(draft, seller)
    if draft.in_menu or step not in PATH:
        return at_step(replace(draft, in_menu=first_open is None), first_open or "options", seller)
    order = STEPS[draft.form].index
    earlier = [other for other in path(draft, seller) if order(other) < order(step)]
    target = earlier[-1] if earlier else STEPS[draft.form][0]
    if first_open is not None and order(first_open) < order(target):
        target = first_open
    return at_step(draft, target, seller)


def leave(draft: Draft, seller: Seller, then: tuple[str, ...]) -> Outcome:
    """End a short form without a change: ask again what it interrupted, or show where it began."""
    left = draft.paused
    if left is not None:
        return Outcome(left, (prompt(left, seller),))
    return Outcome(None, then=then)


def open_question(draft: Draft, seller: Seller) -> str | None:
    """Find the first question without an answer that everybody is asked."""
    is_open = {
        "kind": draft.kind is None,
        "name": draft.name is None,
        "amount": draft.amount is None,
        "currency": draft.currency is None,
        "units": draft.kind == "drop" and draft.units is None,
        "destination": seller.destination is None,
    }
    return next((step for step in STEPS[draft.form] if is_open.get(step)), None)


def open_step(draft: Draft, seller: Seller) -> str | None:
    """Find what keeps the draft from its review: an open question, or unequal receivers."""
    step = open_question(draft, seller)
    if step is None and isinstance(shares_of(draft), Problem):
        return "receivers"
    return step


def finish(draft: Draft, seller: Seller) -> Outcome:
    """Wish for what the form describes, and return to the form that it interrupted."""
    left = draft.paused
    replies = () if left is None else (resume_prompt(left, seller),)
    toast = t(seller.language, "toast-creating")
    return Outcome(left, replies, toast=toast, wish=_wish(draft, seller))


def _wish(draft: Draft, seller: Seller) -> Wish:
    """Take a form without open questions as a request to create."""
    kind, name, currency, shares = draft.kind, draft.name, draft.currency, shares_of(draft)
    destination, units = seller.destination, draft.units if kind == "drop" else None
    if kind is None or name is None or currency is None or destination is None:
        raise ValueError("a question is still open")
    if draft.amount is None or isinstance(shares, Problem):
        raise ValueError("the price is still open")
    return Wish(
        kind, name, draft.description or None, minor_of(draft), currency, units, destination,
        receivers=shares,
        instrument=draft.instrument,
        image=draft.image,
        starts_at=draft.starts_at,
        ends_at=draft.ends_at,
        asks=draft.asks,
        redirect_url=draft.redirect_url,
        email=draft.email,
    )  # fmt: skip


def save_destination(draft: Draft, destination: str, seller: Seller) -> Outcome:
    """Save where money goes from now on, and go on with that."""
    seller = replace(seller, destination=destination)
    if draft.form == "settings":
        saved = t(seller.language, "destination-saved", destination=escaped(destination))
        outcome = done(draft, seller, saved)
    else:
        outcome = go_on(draft, seller)
    return replace(outcome, destination=destination)


def save_setting(draft: Draft, setting: Setting, seller: Seller, saved: str) -> Outcome:
    """Save what a short form asked for, with the words that say so."""
    return replace(done(draft, seller, saved), setting=setting)


def done(draft: Draft, seller: Seller, words: str) -> Outcome:
    """Say that a short form is done, above the settings that it began at."""
    rows = settings(seller).rows if draft.form == "settings" else menu(seller.language)
    return return_to(draft.paused, seller, Reply(words, rows))


def return_to(left: Draft | None, seller: Seller, done: Reply) -> Outcome:
    """Say what was done; a form that was interrupted asks again."""
    if left is None:
        return Outcome(None, (done,))
    return Outcome(left, (replace(done, rows=()), prompt(left, seller)))


def unfinished(current: Draft | None) -> Draft | None:
    """Give the /new form under way, if one is, though a shorter form stand over it."""
    return current if current is None or current.form == "new" else current.paused


def opened(draft: Draft, step: str, seller: Seller, note: str | None = None) -> Outcome:
    """Look at an option; a time is asked for once the seller's zone is known."""
    if step in ("starts", "ends", "end", "quiet", "summary") and seller.zone is None:
        return at_step(replace(draft, wanted=step), "zone", seller, note)
    return at_step(replace(draft, wanted=None), step, seller, note)


OPEN = frozenset({"name", "amount", "units", *OPTIONS})
"""Steps that the menu of options leads to."""
