"""Answers to the question of a field: its text or its value, in a new form or an edit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.fields.field import Typed
from bot.chat.forms.flow import accept, ask_again, blocking_step
from bot.chat.forms.outcome import Change, Outcome
from bot.chat.forms.prompts import ask_moment, prompt
from bot.chat.messages.reply import Problem
from bot.chat.times.moments import Choice

if TYPE_CHECKING:
    from bot.chat.fields.field import Field
    from bot.chat.model.draft import Draft, Seller


def take_text(draft: Draft, field: Field, text: str, seller: Seller, now: int) -> Outcome:
    """Take a text as the answer to the field's question; `now` in epoch ms."""
    found = field.read(Typed(text, draft, seller, now))
    if isinstance(found, Choice):
        return Outcome(draft, (ask_moment(draft, seller, found.moments),))
    if not isinstance(found, Problem):
        return take_value(draft, field, found, seller, now)
    if blocking_step(draft, seller) == draft.step:
        draft = field.clear(draft)  # the value that keeps the question open
    return ask_again(draft, found, seller)


def take_value(
    draft: Draft, field: Field, value: str | int | None, seller: Seller, now: int | None = None
) -> Outcome:
    """Set a field in a new request, or end an edit with its change; None clears it."""
    problem = field.check(draft, value) if field.check and value is not None else None
    if problem is not None:
        return ask_again(draft, problem, seller)
    if draft.form == "edit":
        paused = draft.paused
        replies = () if paused is None else (prompt(paused, seller),)
        return Outcome(paused, replies, change=Change(draft.listing or "", draft.step, value))
    return accept(field.set(draft, value), field, seller, now)
