"""The fields of a request: forms, review, edit menu and the bodies for the service follow them.

A new field is an attribute of `model.wish.RequestOptions`, an entry here and its texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.chat.fields import offers, typed_text, wire_values, wording
from bot.chat.fields.field import Edit, Field, Shown, Wire
from bot.chat.fields.receiver_shares import read_portions
from bot.chat.messages.reply import Problem
from bot.chat.times.moments import read_moment

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.chat.fields.field import Typed
    from bot.chat.model.draft import Draft

_ADDRESS = 300  # UTF-16 units of a long address
_RECEIVER = r"receivers(\W*[0-9]+\W*)?"


def _text(read: Callable[[str], Any]) -> Callable[[Typed], Any]:
    return lambda typed: read(typed.text)


def _read_instrument(typed: Typed) -> str | Problem | None:
    """Read a currency; None for the price's own, in which there is nothing to set."""
    code = typed_text.read_code(typed.text)
    return None if code == typed.draft.currency else code


def _read_receivers(typed: Typed) -> object:
    return read_portions(typed.text, typed.draft.currency or "")


def _read_start(typed: Typed) -> object:
    return read_moment(typed.text, typed.now, typed.seller.zone or "", end=False)


def _read_end(typed: Typed) -> object:
    return read_moment(typed.text, typed.now, typed.seller.zone or "", end=True)


def _check_units(draft: Draft, units: int) -> Problem | None:
    """Refuse to take out more units than are left."""
    if draft.form == "edit" and units > (draft.units or units):
        return Problem("problem-units-left", {"left": draft.units})
    return None


def _check_start(draft: Draft, at: int) -> Problem | None:
    late = draft.ends_at is not None and at >= draft.ends_at
    return Problem("problem-starts-late") if late else None


def _check_end(draft: Draft, at: int) -> Problem | None:
    early = draft.starts_at is not None and at <= draft.starts_at
    return Problem("problem-ends-early") if early else None


def _units_after(units: int | None, taken_out: int) -> int:
    """Return the units of a request after some were taken out: at least 1, as a wish needs."""
    return max(1, (units or 0) - taken_out)


_MOMENT = Shown(words=wording.moment_words, brief=wording.moment_brief)

AMOUNT = Field(
    name="amount",
    attribute="amount",
    option=2,
    ask=wording.amount_question,
    offers=offers.amounts,
    shown=Shown(value=wording.price_of, words=wording.price_words),
    wire=Wire(refused_as=rf"{_RECEIVER}sendAmount"),
)
INSTRUMENT = Field(
    name="instrument",
    attribute="instrument",
    option=6,
    is_optional=True,
    read=_read_instrument,
    unset_text="paid-in-price",
    ask=wording.instrument_question,
    offers=offers.instruments,
    wire=Wire(refused_as="instrumentCurrencyCode"),
)
UNITS = Field(
    name="units",
    attribute="units",
    kinds=("drop",),
    option=3,
    read=_text(typed_text.read_units),
    check=_check_units,
    ask=wording.units_question,
    shown=Shown(line=wording.units_line),
    wire=Wire(path="totalUnits"),
    edit=Edit(place=7, path="decreaseRemainingUnits", apply=_units_after, decides_status=True),
)
PICTURE = Field(
    name="picture",
    attribute="image",
    option=5,
    is_optional=True,
    read=lambda _typed: Problem("problem-picture"),
    shown=Shown(brief=wording.picture_brief),
    wire=Wire(path="product.imageUrl", send=wire_values.image_url),
    edit=Edit(place=3),
)
RECEIVERS = Field(
    name="receivers",
    attribute="receivers",
    option=7,
    is_optional=True,
    empty=(),
    read=_read_receivers,
    ask=wording.receivers_question,
    offers=offers.price_of_receivers,
    shown=Shown(line=wording.receivers_line, brief=wording.receivers_brief),
    wire=Wire(path="receivers", send=wire_values.receivers),
)
ENDS = Field(
    name="ends",
    attribute="ends_at",
    option=9,
    is_optional=True,
    is_moment=True,
    read=_read_end,
    check=_check_end,
    shown=_MOMENT,
    wire=Wire(path="expirationInSeconds", send=wire_values.expires_in, refused_as="expiresAt"),
    edit=Edit(place=6, name="end", decides_status=True),
)
ASKS = Field(
    name="asks",
    attribute="payer_fields",
    option=10,
    is_optional=True,
    empty=(),
    offers=offers.payer_fields,
    shown=Shown(words=wording.payer_words),
    wire=Wire(
        path="requestedUserData",
        send=wire_values.payer_fields,
        refused_as="requestedUserData.*",
    ),
)
POSTER_TEXT = Field(
    name="postertext",
    attribute="poster_text",
    is_optional=True,
    read=_text(typed_text.read_poster_text),
    shown=Shown(key="poster-text"),
    edit=Edit(place=8),
)

FIELDS = (
    Field(
        name="name",
        attribute="name",
        option=1,
        read=_text(typed_text.read_name),
        wire=Wire(path="product.name"),
        edit=Edit(place=1),
    ),
    Field(
        name="kind",
        attribute="kind",
        offers=offers.kinds,
        shown=Shown(words=wording.kind_words, brief=wording.no_brief),
        wire=Wire(path="expirationType", send=wire_values.expiration_type),
    ),
    AMOUNT,
    INSTRUMENT,
    Field(
        name="currency",
        attribute="currency",
        offers=offers.price_currencies,
        shown=None,
        wire=Wire(refused_as=rf"({_RECEIVER})?(\w*[cC]urrencyCode|denominatedIn|currency)"),
    ),
    UNITS,
    Field(
        name="description",
        attribute="description",
        option=4,
        is_optional=True,
        read=_text(typed_text.read_description),
        wire=Wire(path="product.description", refused_as=r"product\.longDescription"),
        edit=Edit(place=2),
    ),
    PICTURE,
    Field(
        name="destination",
        shown=Shown(value=wording.destination_of, line=wording.destination_line),
        wire=Wire(refused_as=rf"{_RECEIVER}(destination)?"),
    ),
    RECEIVERS,
    Field(
        name="starts",
        attribute="starts_at",
        option=8,
        is_optional=True,
        is_moment=True,
        read=_read_start,
        check=_check_start,
        shown=_MOMENT,
        wire=Wire(path="enabledAt", send=wire_values.enabled_at),
    ),
    ENDS,
    ASKS,
    Field(
        name="redirect",
        attribute="redirect_url",
        option=11,
        is_optional=True,
        read=_text(typed_text.read_redirect),
        shown=Shown(most=_ADDRESS),
        wire=Wire(path="redirectUrl"),
        edit=Edit(place=4),
    ),
    Field(
        name="email",
        attribute="email",
        option=12,
        is_optional=True,
        read=_text(typed_text.read_email),
        wire=Wire(path="notifications.email"),
        edit=Edit(place=5),
    ),
    POSTER_TEXT,
)
"""All fields, in the order of the review."""

BY_NAME = {field.name: field for field in FIELDS}

MENU = tuple(
    sorted((field for field in FIELDS if field.option), key=lambda field: field.option or 0)
)
"""The fields of the menu "More options", in its order."""

OPTIONS = tuple(field.name for field in MENU if field.is_optional)
"""The names of the fields that a new request need not have."""

_EDITS = {field.edit: field for field in FIELDS if field.edit}
EDITS = {
    edit.name or _EDITS[edit].name: _EDITS[edit]
    for edit in sorted(_EDITS, key=lambda edit: edit.place)
}
"""The fields that can be edited (interface, section 4.3), by the name of the edit, as its menu
orders them; the poster's text among them, which the service does not know."""


def field_at(form: str, step: str) -> Field | None:
    """Return the field that a form's step asks for; None for a step that asks for none."""
    return (EDITS if form == "edit" else BY_NAME).get(step)
