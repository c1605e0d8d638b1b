"""What a seller marks on a payment: sent, paid back, its message hidden."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.service.model.changes import KEEP, Keep
from bot.service.model.payment_reports import News
from bot.service.model.request import Marks

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_NOTE = 200
"""Characters of a note: a tracking number, or a few words."""


@dataclass(frozen=True, slots=True)
class MarkEdit:
    """A mark to set, or the note of one to change; KEEP leaves the note, None removes it."""

    note: str | Keep | None = KEEP


@dataclass(frozen=True, slots=True)
class MarksEdit:
    """A checked body: None takes a mark back, KEEP leaves it.

    `notify_payer`: the payer gets a letter about what is new, if they left an address.
    """

    sent: MarkEdit | Keep | None = KEEP
    paid_back: MarkEdit | Keep | None = KEEP
    message_hidden: bool | Keep = KEEP
    notify_payer: bool = True


def edit(marks: Marks, change: MarksEdit, now: int) -> Marks:
    """Return the marks after an edit; one that is set already keeps its time."""
    hidden = change.message_hidden
    return Marks(
        marks.message_hidden if isinstance(hidden, Keep) else hidden,
        *_mark(marks.sent_at, marks.sent_note, change.sent, now),
        *_mark(marks.paid_back_at, marks.paid_back_note, change.paid_back, now),
    )


def _mark(
    at: int | None, note: str | None, change: MarkEdit | Keep | None, now: int
) -> tuple[int | None, str | None]:
    if isinstance(change, Keep):
        return at, note
    if change is None:
        return None, None
    kept = note if isinstance(change.note, Keep) else change.note
    return now if at is None else at, kept


def news(before: Marks, after: Marks) -> Iterator[News]:
    """Yield what the payer should hear of: marks that are new, or have a note that is new."""
    if _is_news(before.sent_at, after.sent_at, before.sent_note, after.sent_note):
        yield News.SENT
    if _is_news(
        before.paid_back_at, after.paid_back_at, before.paid_back_note, after.paid_back_note
    ):
        yield News.PAID_BACK


def _is_news(was: int | None, at: int | None, old: str | None, note: str | None) -> bool:
    if at is None:
        return False
    return was is None or (note is not None and note != old)
