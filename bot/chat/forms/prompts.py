"""The question of each step, above its buttons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.fields.offers import button
from bot.chat.fields.registry import FIELDS, FILE_STEP, PATH, UNITS, field_at
from bot.chat.fields.wording import file_question, shown_amount
from bot.chat.forms.button_rows import rows, ways_out
from bot.chat.forms.sellers.payout_texts import payout_question
from bot.chat.forms.sellers.profile_texts import profile_question
from bot.chat.messages.reply import Reply, Rows, escaped
from bot.chat.model.payout import CHECKING, SAVING
from bot.chat.model.profile import PROFILE_STEPS
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.fields.typed_text import AmbiguousAmount
    from bot.chat.model.draft import Draft, Seller


def prompt(draft: Draft, seller: Seller, note: str | None = None) -> Reply:
    """Ask the question of the draft's step, below a note on the last answer."""
    parts = [note, _progress(draft, seller), _question(draft, seller)]
    is_passing = draft.step in (CHECKING, SAVING)
    return Reply("\n\n".join(filter(None, parts)), rows(draft, seller), is_passing=is_passing)


def ask_which_amount(draft: Draft, seller: Seller, unclear: AmbiguousAmount) -> Reply:
    """Ask which reading of an ambiguous amount is meant, with a button for each."""
    code = (unclear.currency,) if unclear.currency else ()
    labels = {each: shown_amount(each, unclear.currency, seller) for each in unclear.choices}
    choices = tuple(
        (button(draft, label, "amount", f"{each:f}", *code),) for each, label in labels.items()
    )
    return ask_which(draft, seller, "ask-which-amount", choices)


def ask_which(draft: Draft, seller: Seller, key: str, choices: Rows) -> Reply:
    """Ask with the text `key` which of the `choices` is meant."""
    parts = [_progress(draft, seller), t(seller.language, key)]
    return Reply("\n\n".join(filter(None, parts)), (*choices, *ways_out(draft, seller)))


def resume_prompt(draft: Draft, seller: Seller) -> Reply:
    """Offer to continue a form that was left, or to start over."""
    language = seller.language
    continued = (button(draft, t(language, "button-continue"), "continue"),)
    out = (button(draft, t(language, "button-cancel"), "cancel"),)
    if draft.form != "new":
        return Reply(t(language, "resume-short"), (continued, out))
    name = escaped(draft.name) if draft.name else t(language, "unnamed")
    restart = (button(draft, t(language, "button-restart"), "restart"),)
    return Reply(t(language, "resume", name=name), (continued, restart, out))


def path(draft: Draft, seller: Seller) -> tuple[str, ...]:
    """Return the numbered steps of a new request; the currency belongs to the amount's."""
    left_out = {
        "currency": True,
        "units": draft.kind not in UNITS.kinds,
        "destination": not draft.asks_destination and seller.has_destination,
    }
    now = _counted(draft.step)
    return tuple(step for step in PATH if step == now or not left_out.get(step))


def _counted(step: str) -> str:
    return "amount" if step == "currency" else step


def _progress(draft: Draft, seller: Seller) -> str | None:
    """Return the number of the step; None outside the path, and before the kind is known."""
    if draft.kind is None or draft.form != "new" or draft.in_menu or draft.step not in PATH:
        return None
    steps = path(draft, seller)
    place = steps.index(_counted(draft.step)) + 1
    return t(seller.language, "progress", step=place, steps=len(steps))


def _question(draft: Draft, seller: Seller) -> str:
    if draft.step == "review":
        lines = (field.line(draft, seller) for field in FIELDS)
        return "\n".join([t(seller.language, "review"), *filter(None, lines)])
    if draft.step == FILE_STEP:
        return file_question(draft, seller)
    if draft.form == "payout":
        return payout_question(draft, seller)
    if draft.step in PROFILE_STEPS:
        return profile_question(draft, seller)
    if draft.form == "payback":
        there = "here" if seller.paid_at.host is None else "elsewhere"
        return t(seller.language, f"ask-{draft.step}", there=there)
    field = field_at(draft.form, draft.step)
    return field.question(draft, seller) if field else t(seller.language, f"ask-{draft.step}")
