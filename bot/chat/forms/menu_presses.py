"""Buttons of the review and of the menu "More options"."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.fields.registry import ASKS, BY_NAME, ENDS, INSTRUMENT, MENU, field_at
from bot.chat.forms import timing
from bot.chat.forms.field_answers import take_value
from bot.chat.forms.flow import (
    ask_after_zone,
    ask_step,
    blocking_step,
    finish,
    go_on,
    unanswered_step,
)
from bot.chat.forms.review import fingerprint
from bot.chat.model.wish import PAYER_FIELDS
from bot.core.money.amounts import currencies
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.forms.outcome import Outcome, Press
    from bot.chat.messages.reply import Action
    from bot.chat.model.draft import Draft, Seller


def _create_pressed(draft: Draft, words: Action, seller: Seller, now: int) -> Outcome | None:
    """Create the request that the review with this button showed, and no other.

    A start in the past is dropped; an end in the past is asked for again.
    """
    if blocking_step(draft, seller) is not None:
        return go_on(draft, seller)
    if draft.step != "review" or words != (fingerprint(draft, seller),):
        review = ask_step(replace(draft, in_menu=False), "review", seller)
        return replace(review, toast=t(seller.language, "toast-changed"))
    if draft.ends_at is not None and draft.ends_at <= now:
        return timing.refuse_past(replace(draft, step=ENDS.name), draft.ends_at, seller, now)
    starts_at = draft.starts_at if (draft.starts_at or 0) > now else None
    return finish(replace(draft, starts_at=starts_at), seller)


def _options_pressed(draft: Draft, _words: Action, seller: Seller, _now: int) -> Outcome | None:
    if unanswered_step(draft, seller) is not None:
        return go_on(draft, seller)
    return ask_step(replace(draft, in_menu=True), "options", seller)


def _open_pressed(draft: Draft, words: Action, seller: Seller, _now: int) -> Outcome | None:
    field = BY_NAME.get(words[0]) if len(words) == 1 else None
    if field not in MENU or field is None or draft.kind not in (None, *field.kinds):
        return None
    if unanswered_step(draft, seller) is not None:
        return go_on(draft, seller)
    return ask_after_zone(replace(draft, in_menu=True), field.name, seller)


def _done_pressed(draft: Draft, _words: Action, seller: Seller, _now: int) -> Outcome | None:
    return go_on(replace(draft, in_menu=False), seller)


def _clear_pressed(draft: Draft, words: Action, seller: Seller, _now: int) -> Outcome | None:
    field = field_at(draft.form, words[0]) if len(words) == 1 else None
    if field is None or not field.is_optional:
        return None
    if draft.form == "edit":
        return take_value(draft, field, None, seller) if words == (draft.step,) else None
    return go_on(field.clear(draft), seller) if field in MENU else None


def _instrument_pressed(draft: Draft, words: Action, seller: Seller, _now: int) -> Outcome | None:
    if len(words) != 1 or words[0] not in currencies() or draft.currency is None:
        return None
    code = None if words[0] == draft.currency else words[0]
    return take_value(draft, INSTRUMENT, code, seller)


def _ask_pressed(draft: Draft, words: Action, seller: Seller, _now: int) -> Outcome | None:
    """Ask payers for one thing more, or no longer."""
    if len(words) != 2 or words[0] not in PAYER_FIELDS:  # noqa: PLR2004 - which, and on or off
        return None
    if unanswered_step(draft, seller) is not None:
        return go_on(draft, seller)
    asked, wanted = words
    kept = {*draft.payer_fields, asked} if wanted == "on" else {*draft.payer_fields} - {asked}
    fields = tuple(each for each in PAYER_FIELDS if each in kept)
    return ask_step(ASKS.set(draft, fields), ASKS.name, seller)


VERBS: dict[str, Press] = {
    "create": _create_pressed,
    "options": _options_pressed,
    "open": _open_pressed,
    "done": _done_pressed,
    "clear": _clear_pressed,
    "instrument": _instrument_pressed,
    "ask": _ask_pressed,
}
