"""The question for a note on a payment that was paid back; the note may be skipped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.fields.typed_text import read_line
from bot.chat.forms import flow
from bot.chat.forms.outcome import Outcome, PaybackNote
from bot.chat.messages.reply import Problem, Reply
from bot.chat.model.draft import Draft
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.model.draft import Seller

FORM, STEP = "payback", "paidback"

MAX_NOTE = 200
"""Characters of a note."""


def payback_form(payment: str, draft_id: str, seller: Seller, current: Draft | None) -> Outcome:
    """Ask for the note on a payment, by its key; a new request under way is paused."""
    paused = flow.new_form_under_way(current)
    return flow.ask_step(Draft(draft_id, FORM, STEP, payment=payment, paused=paused), STEP, seller)


def take_note(draft: Draft, text: str, seller: Seller) -> Outcome:
    """Take a text as the note."""
    note = read_line(text, STEP, MAX_NOTE)
    if isinstance(note, Problem):
        return flow.ask_again(draft, note, seller)
    return _end(draft, seller, "claims-note-saved", PaybackNote(draft.payment or "", note))


def skip(draft: Draft, seller: Seller) -> Outcome:
    """End the form without a note."""
    return _end(draft, seller, "claims-note-skipped", None)


def _end(draft: Draft, seller: Seller, text: str, note: PaybackNote | None) -> Outcome:
    reply = Reply(t(seller.language, text))
    outcome = flow.reply_and_resume(draft.paused, seller, reply)
    return Outcome(outcome.draft, outcome.replies, note=note)
