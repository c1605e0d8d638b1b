"""The fields of a request: steps, review, edit menu and the bodies for the service follow them.

A new field is an attribute of `model.wish.RequestOptions`, an entry here and its texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.chat.fields import goods_text, offers, sent_values, typed_text, wording
from bot.chat.fields.field import Edit, Field, Shown, Wire
from bot.chat.fields.receiver_shares import read_portions
from bot.chat.fields.typed_text import AmbiguousAmount, Price
from bot.chat.messages.reply import Problem
from bot.chat.model.goods import Goods
from bot.chat.model.payout import CHECKING, FOUND, PAYOUT_STEPS, SAVING
from bot.chat.model.profile import PROFILE_STEPS
from bot.chat.times import display, zones
from bot.chat.times.moments import read_moment
from bot.core.money.amounts import to_minor
from bot.core.text.translations import t

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.chat.fields.field import Typed
    from bot.chat.model.draft import Draft, Seller

_WHOLE = 600  # UTF-16 units: all of an ordinary description, for emoji count twice
_SHORTENED = 300  # UTF-16 units of a long address, or of long words
_RECEIVER = r"receivers(\W*[0-9]+\W*)?"


def _text(read: Callable[[str], Any]) -> Callable[[Typed], Any]:
    return lambda typed: read(typed.text)


def _read_instrument(typed: Typed) -> str | Problem | None:
    """Read a currency; None for the price's own, in which there is nothing to set."""
    code = typed_text.read_code(typed.text)
    return None if code == typed.draft.currency else code


def _read_goal(typed: Typed) -> int | AmbiguousAmount | Problem:
    """Parse a goal in the currency of the price, in minor units."""
    currency = typed.draft.currency or ""
    price = typed_text.read_price(typed.text, currency)
    if isinstance(price, Price | AmbiguousAmount) and price.currency != currency:
        return Problem("problem-goal-currency", {"currency": currency})
    return to_minor(price.amount, currency) if isinstance(price, Price) else price


def _moment(*, end: bool) -> Callable[[Typed], Any]:
    return lambda typed: read_moment(typed.text, typed.now, typed.seller.zone or "", end=end)


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


def _goods_after(_before: object, change: object) -> Goods | None:
    """Return what buyers get from now on, of an edit's JSON."""
    return Goods.from_json(change)


def _moment_words(at: int, seller: Seller, now: int | None) -> str:
    zone = seller.zone or zones.UTC_ZONE
    return display.full_text(at, at if now is None else now, zone, seller.language)


def _moment_brief(at: int, seller: Seller) -> str:
    return display.button_label(at, seller.zone or zones.UTC_ZONE, seller.language)


_MOMENT = Shown(words=_moment_words, brief=_moment_brief)

AMOUNT = Field(
    name="amount",
    attribute="amount",
    option=2,
    ask=wording.amount_question,
    offers=offers.amounts,
    shown=Shown(value=wording.price_of, words=wording.price_words, brief=wording.price_brief),
    wire=Wire(
        path="amountChoice",
        send=sent_values.choice,
        refused_as=rf"{_RECEIVER}sendAmount|amountChoice.*",
    ),
)
INSTRUMENT = Field(
    name="instrument",
    attribute="instrument",
    option=6,
    is_optional=True,
    needs_destinations=True,
    read=_read_instrument,
    unset_text="paid-in-price",
    ask=lambda draft, seller: t(seller.language, "ask-instrument", currency=draft.currency or ""),
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
    ask=lambda draft, seller: t(
        seller.language, "ask-units-out" if draft.form == "edit" else "ask-units"
    ),
    shown=Shown(line=wording.units_line),
    wire=Wire(path="totalUnits"),
    edit=Edit(place=7, path="decreaseRemainingUnits", apply=_units_after, decides_status=True),
)
GOAL = Field(
    name="goal",
    attribute="goal",
    kinds=("donation",),
    option=14,
    is_optional=True,
    needs_embedded=True,
    is_money=True,
    read=_read_goal,
    ask=wording.goal_question,
    shown=Shown(words=wording.goal_words),
    wire=Wire(path="goal", send=sent_values.goal),
    edit=Edit(place=10),
)
PICTURE = Field(
    name="picture",
    attribute="image",
    option=5,
    is_optional=True,
    read=lambda _typed: Problem("problem-picture"),
    shown=Shown(brief=lambda _image, seller: t(seller.language, "option-picture-set")),
    wire=Wire(
        path="product.imageUrl",
        send=lambda wish, images, _now: wish.image and f"{images}/{wish.image}",
    ),
    edit=Edit(place=3),
)
RECEIVERS = Field(
    name="receivers",
    attribute="receivers",
    option=7,
    is_optional=True,
    needs_destinations=True,
    empty=(),
    read=lambda typed: read_portions(typed.text, typed.draft.currency or "", typed.seller.paid_at),
    ask=wording.receivers_question,
    offers=offers.price_of_receivers,
    shown=Shown(line=wording.receivers_line, brief=lambda receivers, _seller: len(receivers)),
    wire=Wire(path="receivers", send=sent_values.receivers),
)
ENDS = Field(
    name="ends",
    attribute="ends_at",
    option=9,
    is_optional=True,
    is_moment=True,
    read=_moment(end=True),
    check=_check_end,
    shown=_MOMENT,
    wire=Wire(path="expirationInSeconds", send=sent_values.end, refused_as="expiresAt"),
    edit=Edit(place=6, name="end", decides_status=True),
)
ASKS = Field(
    name="asks",
    attribute="payer_fields",
    option=10,
    is_optional=True,
    empty=(),
    offers=offers.payer_fields,
    shown=Shown(
        words=lambda asked, seller, _now: ", ".join(
            t(seller.language, f"payer-{each}") for each in asked
        )
    ),
    wire=Wire(
        path="requestedUserData",
        send=lambda wish, _images, _now: [*wish.payer_fields],
        refused_as="requestedUserData.*",
    ),
)
GOODS = Field(
    name="goods",
    attribute="goods",
    option=13,
    is_optional=True,
    needs_embedded=True,
    ask=wording.goods_question,
    offers=offers.goods_readings,
    shown=Shown(
        words=goods_text.goods_words, brief=goods_text.goods_brief, line=goods_text.goods_line
    ),
    wire=Wire(
        path="delivery",
        send=lambda wish, _images, _now: goods_text.sent_goods(wish.goods),
        refused_as=r"delivery(\..*)?",
    ),
    edit=Edit(place=9, apply=_goods_after),
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
        name="seller",
        is_optional=True,
        shown=Shown(value=lambda _draft, seller: seller.profile.name, line=wording.seller_line),
    ),
    Field(
        name="kind",
        attribute="kind",
        offers=offers.kinds,
        shown=Shown(
            words=lambda kind, seller, _now: t(seller.language, f"kind-{kind}"),
            brief=lambda _kind, _seller: None,  # its buttons tick the present kind
        ),
        wire=Wire(path="expirationType", send=sent_values.expiration),
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
    GOAL,
    UNITS,
    Field(
        name="perbuyer",
        attribute="max_quantity",
        kinds=("drop",),
        option=15,
        is_optional=True,
        needs_embedded=True,
        read=_text(typed_text.read_quantity),
        unset_text="perbuyer-one",
        wire=Wire(path="maxQuantity"),
        edit=Edit(place=11),
    ),
    Field(
        name="description",
        attribute="description",
        option=4,
        is_optional=True,
        read=_text(typed_text.read_description),
        shown=Shown(most=_WHOLE),
        wire=Wire(path="product.description", refused_as=r"product\.longDescription"),
        edit=Edit(place=2),
    ),
    PICTURE,
    Field(
        name="destination",
        ask=wording.destination_question,
        offers=offers.payout_kinds,
        shown=Shown(
            value=lambda _draft, seller: seller.destination if seller.has_destination else None,
            line=wording.destination_line,
        ),
        wire=Wire(refused_as=rf"{_RECEIVER}(destination)?"),
    ),
    RECEIVERS,
    Field(
        name="starts",
        attribute="starts_at",
        option=8,
        is_optional=True,
        is_moment=True,
        read=_moment(end=False),
        check=_check_start,
        shown=_MOMENT,
        wire=Wire(path="enabledAt", send=sent_values.start),
    ),
    ENDS,
    ASKS,
    Field(
        name="redirect",
        attribute="redirect_url",
        option=11,
        is_optional=True,
        read=_text(typed_text.read_redirect),
        shown=Shown(line=wording.redirect_line, most=_SHORTENED),
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
    Field(
        name="thanks",
        attribute="thanks",
        option=16,
        is_optional=True,
        needs_embedded=True,
        read=_text(typed_text.read_thanks),
        shown=Shown(most=_SHORTENED),
        wire=Wire(path="thanks"),
        edit=Edit(place=12),
    ),
    GOODS,
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

FILE_STEP = "file"
"""The step that asks whether buyers get a file that came with other words."""

PATH = ("kind", "name", "amount", "currency", "units", "destination", "review")
"""The steps of a new request without options."""

STEPS = {
    "new": (*PATH, "options", *OPTIONS, "zone", FILE_STEP),
    "line": ("amount", "currency", "destination"),
    "settings": ("destination", "zone", "quiet", "summary", *PROFILE_STEPS),
    "payout": (*PAYOUT_STEPS, CHECKING, FOUND, SAVING),
    "edit": (*EDITS, "zone"),
    "codes": ("codes",),
    "payback": ("paidback", "sent"),
}
"""The steps of each form, by its name."""


AFTER_PAYMENT = ("redirect", "thanks", GOODS.name)
"""Fields that decide whether payers see their receipt before they go on to the web address."""


def field_at(form: str, step: str) -> Field | None:
    """Return the field that a form's step asks for; None for a step that asks for none."""
    return (EDITS if form == "edit" else BY_NAME).get(step)
