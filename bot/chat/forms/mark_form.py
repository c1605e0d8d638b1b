"""The question for a note on a payment that was sent or paid back; the note may be skipped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.fields.typed_text import read_line
from bot.chat.forms import flow
from bot.chat.forms.outcome import MarkNote, Outcome
from bot.chat.messages.reply import Problem, Reply
from bot.chat.model.draft import Draft
from bot.chat.model.payment_marks import PAID_BACK, SENT
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.model.draft import Seller

FORM = "payback"

STEPS = {SENT: "sent", PAID_BACK: "paidback"}
"""The step of each mark."""

MARKS = {step: mark for mark, step in STEPS.items()}
"""The mark of each step."""

MAX_NOTE = 200
"""Characters of a note."""


def mark_form(
    mark: str, payment: str, draft_id: str, seller: Seller, current: Draft | None
) -> Outcome:
    """Ask for the note on a payment, by its key; a new request under way is paused."""
    paused, step = flow.new_form_under_way(current), STEPS[mark]
    return flow.ask_step(Draft(draft_id, FORM, step, payment=payment, paused=paused), step, seller)


def take_note(draft: Draft, text: str, seller: Seller) -> Outcome:
    """Take a text as the note."""
    note = read_line(text, draft.step, MAX_NOTE)
    if isinstance(note, Problem):
        return flow.ask_again(draft, note, seller)
    return _end(draft, seller, "claims-note-saved", note)


def skip(draft: Draft, seller: Seller) -> Outcome:
    """End the form without a note."""
    return _end(draft, seller, "claims-note-skipped", None)


def cancel(draft: Draft, seller: Seller) -> Outcome:
    """End the form without a note, and reply that the mark stands and how it is undone."""
    return _end(draft, seller, f"mark-stays-{MARKS[draft.step]}", None)


def end_with_mark(draft: Draft | None, payment: str, mark: str, seller: Seller) -> Outcome | None:
    """End the form about a mark that was taken back; None where another one is open, or none."""
    if draft is None or (draft.payment, draft.step) != (payment, STEPS[mark]):
        return None
    return flow.resume(draft.paused, seller)


def _end(draft: Draft, seller: Seller, text: str, note: str | None) -> Outcome:
    outcome = flow.reply_and_resume(draft.paused, seller, Reply(t(seller.language, text)))
    marked = MarkNote(draft.payment or "", MARKS[draft.step], note)
    return Outcome(outcome.draft, outcome.replies, note=marked)
