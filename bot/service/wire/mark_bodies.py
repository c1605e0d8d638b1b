"""The body that marks a payment: its schema, and how it is read."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field

from bot.service.model.changes import KEEP, Keep
from bot.service.model.payment_marks import LONGEST_NOTE, MarkEdit, MarksEdit
from bot.service.wire import field_types as types
from bot.service.wire.body_parsing import validated
from bot.service.wire.body_schemas import Body


def _note(text: str) -> str | None:
    return text.strip() or None


Note: TypeAlias = Annotated[
    str,
    Field(max_length=LONGEST_NOTE, json_schema_extra=types.NO_CONTROLS_IN_LINES),
    AfterValidator(types.check_lines),
]


class MarkBody(Body):
    """A mark to set; `note` is for the payer: a tracking number, or a few words."""

    note: Note | None = None


class MarksBody(Body):
    """The marks to change: one left out stays, null takes it back.

    Without a `note`, the note of a mark that is set already stays. The payer gets an email about
    what is new unless `notifyPayer` is false. `messageHidden` keeps the payer's name and message
    out of emails and exports; both stay stored, and this interface still answers with them.
    """

    sent: MarkBody | None = None
    paid_back: MarkBody | None = None
    message_hidden: bool = False
    notify_payer: bool = True


def read_marks(text: str) -> MarksEdit:
    """Read a body that marks a payment. Raises InvalidBody."""
    body = validated(MarksBody, text)
    named = body.model_fields_set
    return MarksEdit(
        sent=_mark(body.sent) if "sent" in named else KEEP,
        paid_back=_mark(body.paid_back) if "paid_back" in named else KEEP,
        message_hidden=body.message_hidden if "message_hidden" in named else KEEP,
        notify_payer=body.notify_payer,
    )


def _mark(body: MarkBody | None) -> MarkEdit | None:
    if body is None:
        return None
    note: str | Keep | None = KEEP
    if "note" in body.model_fields_set:
        note = None if body.note is None else _note(body.note)
    return MarkEdit(note)
