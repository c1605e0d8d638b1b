"""What is answered beside the path: a request's options, one field of an edit, a setting."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.forms import timing
from bot.chat.forms.button_rows import CLEARABLE
from bot.chat.forms.flow import (
    OPEN,
    at_step,
    finish,
    go_on,
    open_question,
    open_step,
    opened,
    understood,
)
from bot.chat.forms.outcome import Change, Outcome
from bot.chat.forms.parsing import (
    read_code,
    read_description,
    read_email,
    read_name,
    read_poster_text,
    read_redirect,
    read_units,
)
from bot.chat.forms.prompts import prompt
from bot.chat.forms.receivers import read_portions
from bot.chat.forms.summary import fingerprint
from bot.chat.messages.problem import Problem
from bot.chat.model.stored_json import ASKS
from bot.core.money.amounts import currencies
from bot.core.text.translations import t

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.chat.forms.draft import Draft
    from bot.chat.messages.reply import Action
    from bot.chat.model.seller import Seller

FIELDS = {
    "description": "description",
    "picture": "image",
    "instrument": "instrument",
    "receivers": "receivers",
    "starts": "starts_at",
    "ends": "ends_at",
    "asks": "asks",
    "redirect": "redirect_url",
    "email": "email",
}
"""Where the draft keeps each option."""

_EMPTY: dict[str, object] = {"receivers": (), "asks": ()}


def _no_photo(_text: str) -> Problem:
    return Problem("problem-picture")


_READ: dict[str, Callable[[str], str | int | Problem]] = {
    "name": read_name,
    "description": read_description,
    "picture": _no_photo,
    "redirect": read_redirect,
    "email": read_email,
    "units": read_units,
    "postertext": read_poster_text,
}


def take_text(draft: Draft, text: str, seller: Seller, now: int) -> Outcome:
    """Take a text as the answer to one of these steps; `now` in epoch ms."""
    if draft.step in timing.STEPS:
        return timing.take_text(draft, text, seller, now)
    if draft.step == "instrument":
        return _instrument_said(draft, text, seller)
    if draft.step == "receivers":
        return _receivers_said(draft, text, seller)
    value = _READ[draft.step](text)
    if draft.step == "units" and isinstance(value, int) and value > (draft.units or value):
        value = Problem("problem-units-left", {"left": draft.units})
    if isinstance(value, Problem):
        return at_step(draft, draft.step, seller, value.text(seller.language))
    return take_value(draft, value, seller)


def take_value(draft: Draft, value: str | int | None, seller: Seller) -> Outcome:
    """Take what the step asked for: into the draft, or as the change that an edit is about."""
    if draft.form == "edit":
        left = draft.paused
        replies = () if left is None else (prompt(left, seller),)
        change = Change(draft.listing or "", draft.step, value)
        return Outcome(left, replies, change=change)
    known = replace(draft, **{FIELDS[draft.step]: value})  # type: ignore[arg-type]  # by its step
    return understood(known, draft.step, seller)


def _instrument_said(draft: Draft, text: str, seller: Seller) -> Outcome:
    code = read_code(text)
    if isinstance(code, Problem):
        return at_step(draft, draft.step, seller, code.text(seller.language))
    return _take_instrument(draft, code, seller)


def _take_instrument(draft: Draft, code: str, seller: Seller) -> Outcome:
    """Set what is paid with; in the price's own currency there is nothing to set."""
    if code == draft.currency:
        note = t(seller.language, "understood", line=t(seller.language, "paid-in-price"))
        return go_on(replace(draft, instrument=None), seller, note if draft.in_menu else None)
    return understood(replace(draft, instrument=code), "instrument", seller)


def _receivers_said(draft: Draft, text: str, seller: Seller) -> Outcome:
    portions = read_portions(text, draft.currency or "")
    if isinstance(portions, Problem):
        if open_step(draft, seller) == "receivers":
            draft = replace(draft, receivers=())  # given up for what is being typed now
        return at_step(draft, draft.step, seller, portions.text(seller.language))
    draft = replace(draft, receivers=portions)
    if open_step(draft, seller) == "receivers":
        return at_step(draft, "receivers", seller)
    return understood(draft, "receivers", seller)


def take_press(draft: Draft, action: Action, seller: Seller, now: int) -> Outcome | None:
    """Do what one of these buttons says; None where it says nothing that can be done."""
    verb, *words = action
    if verb in timing.VERBS:
        return timing.take_press(draft, action, seller, now)
    if verb == "create":
        return _create_pressed(draft, tuple(words), seller, now)
    return _VERBS[verb](draft, tuple(words), seller)


def _create_pressed(draft: Draft, words: Action, seller: Seller, now: int) -> Outcome | None:
    """Create what the review with this button showed, and nothing else.

    A start that has passed meanwhile is no start any more; an end that has is asked for anew.
    """
    if open_step(draft, seller) is not None:
        return go_on(draft, seller)
    if draft.step != "review" or words != (fingerprint(draft, seller),):
        review = at_step(replace(draft, in_menu=False), "review", seller)
        return replace(review, toast=t(seller.language, "toast-changed"))
    if draft.ends_at is not None and draft.ends_at <= now:
        return timing.is_over(draft, draft.ends_at, seller, now)
    starts_at = draft.starts_at if (draft.starts_at or 0) > now else None
    return finish(replace(draft, starts_at=starts_at), seller)


def _options_pressed(draft: Draft, _words: Action, seller: Seller) -> Outcome | None:
    if open_question(draft, seller) is not None:
        return go_on(draft, seller)
    return at_step(replace(draft, in_menu=True), "options", seller)


def _open_pressed(draft: Draft, words: Action, seller: Seller) -> Outcome | None:
    if len(words) != 1 or words[0] not in OPEN:
        return None
    if words[0] == "units" and draft.kind != "drop":
        return None
    if open_question(draft, seller) is not None:
        return go_on(draft, seller)
    return opened(replace(draft, in_menu=True), words[0], seller)


def _done_pressed(draft: Draft, _words: Action, seller: Seller) -> Outcome | None:
    return go_on(replace(draft, in_menu=False), seller)


def _clear_pressed(draft: Draft, words: Action, seller: Seller) -> Outcome | None:
    """Leave an option out, or take it out again."""
    if len(words) != 1 or words[0] not in CLEARABLE:
        return None
    if draft.form == "edit":
        return take_value(draft, None, seller) if words == (draft.step,) else None
    if words[0] not in FIELDS:
        return None
    empty = _EMPTY.get(words[0])
    cleared = replace(draft, **{FIELDS[words[0]]: empty})  # type: ignore[arg-type]  # by its step
    return go_on(cleared, seller)


def _instrument_pressed(draft: Draft, words: Action, seller: Seller) -> Outcome | None:
    if len(words) != 1 or words[0] not in currencies() or draft.currency is None:
        return None
    return _take_instrument(draft, words[0], seller)


def _ask_pressed(draft: Draft, words: Action, seller: Seller) -> Outcome | None:
    """Ask payers for one thing more, or no longer."""
    if len(words) != 2 or words[0] not in ASKS:  # noqa: PLR2004 - what, and whether
        return None
    if open_question(draft, seller) is not None:
        return go_on(draft, seller)
    field, wanted = words
    kept = {*draft.asks, field} if wanted == "on" else {*draft.asks} - {field}
    return at_step(
        replace(draft, asks=tuple(asked for asked in ASKS if asked in kept)), "asks", seller
    )


_VERBS: dict[str, Callable[[Draft, Action, Seller], Outcome | None]] = {
    "options": _options_pressed,
    "open": _open_pressed,
    "done": _done_pressed,
    "clear": _clear_pressed,
    "instrument": _instrument_pressed,
    "ask": _ask_pressed,
}
