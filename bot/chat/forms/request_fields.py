"""The fields of a request, which determine the form, the review, the edit menu and the wire.

A new field is an attribute of `model.request_spec.RequestOptions`, an entry here, a line in
`payments.request_bodies.create_body` and its texts. At the end: drafts as the database has them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bot.chat.forms import field, field_texts, shares_and_amounts, typed_text
from bot.chat.model import drafts, moments, payout, replies, zones
from bot.core import errors, stored_json
from bot.core.money import amounts
from bot.core.text import links

_WHOLE = 600
"""UTF-16 units, enough for a whole description with some emoji, which have two units each."""

_SHORTENED = 300
"""UTF-16 units of a long address, or of long words."""

_RECEIVER = r"receivers(\W*[0-9]+\W*)?"
"""Paths of refusals about receivers."""

# How texts are parsed, checked and applied as edits.


def _text(read: Callable[[str], Any]) -> Callable[[field.Typed], Any]:
    return lambda typed: read(typed.text)


def _read_instrument(typed: field.Typed) -> str | replies.Problem | None:
    """Parse a currency; return None if it is the price's currency: the field stays unset."""
    code = typed_text.read_code(typed.text)
    return None if code == typed.draft.currency else code


def _read_goal(typed: field.Typed) -> int | typed_text.AmbiguousAmount | replies.Problem:
    """Parse a goal in the price's currency; return minor units."""
    currency = typed.draft.currency or ""
    price = typed_text.read_price(typed.text, currency)
    if isinstance(price, replies.Problem):
        return price
    if price.currency != currency:
        return replies.Problem("problem-goal-currency", {"currency": currency})
    if isinstance(price, typed_text.AmbiguousAmount):
        return price
    return amounts.to_minor(price.amount, currency)


def _moment(*, end: bool) -> Callable[[field.Typed], Any]:
    return lambda typed: moments.read_moment(
        typed.text, typed.now, typed.seller.zone or "", end=end
    )


def _check_units(draft: drafts.RequestDraft, units: int) -> replies.Problem | None:
    if draft.form == "edit" and units > (draft.units or units):
        return replies.Problem("problem-units-left", {"left": draft.units})
    return None


def _check_start(draft: drafts.RequestDraft, at: int) -> replies.Problem | None:
    late = draft.ends_at is not None and at >= draft.ends_at
    return replies.Problem("problem-starts-late") if late else None


def _check_end(draft: drafts.RequestDraft, at: int) -> replies.Problem | None:
    early = draft.starts_at is not None and at <= draft.starts_at
    return replies.Problem("problem-ends-early") if early else None


# How times are shown.


def _moment_words(at: int, seller: drafts.Seller, now: int | None) -> str:
    zone = seller.zone or zones.UTC_ZONE
    return moments.full_text(at, at if now is None else now, zone, seller.language)


def _moment_brief(at: int, seller: drafts.Seller) -> str:
    return moments.button_label(at, seller.zone or zones.UTC_ZONE, seller.language)


_MOMENT = field.FieldDisplay(words=_moment_words, brief=_moment_brief)

AMOUNT = field.Field(
    name="amount",
    attribute="amount",
    option=2,
    ask=field_texts.amount_question,
    offers=field_texts.price_offers,
    display=field.FieldDisplay(
        value=field_texts.price_of, words=field_texts.price_words, brief=field_texts.price_brief
    ),
    wire=field.Wire(path="amountChoice", refused_as=rf"{_RECEIVER}sendAmount|amountChoice.*"),
)
INSTRUMENT = field.Field(
    name="instrument",
    attribute="instrument",
    option=6,
    is_optional=True,
    needs_destinations=True,
    read=_read_instrument,
    unset_text="paid-in-price",
    ask=lambda draft, seller: seller.text("ask-instrument", currency=draft.currency or ""),
    offers=field_texts.instruments,
    wire=field.Wire(refused_as="instrumentCurrencyCode"),
)
UNITS = field.Field(
    name="units",
    attribute="units",
    kinds=("drop",),
    option=3,
    read=_text(typed_text.read_units),
    check=_check_units,
    ask=lambda draft, seller: seller.text("ask-units-out" if draft.form == "edit" else "ask-units"),
    display=field.FieldDisplay(line=field_texts.units_line),
    wire=field.Wire(path="totalUnits"),
    edit=field.Edit(
        place=7,
        path="decreaseRemainingUnits",
        # at least 1 unit is left, the minimum of a spec
        apply=lambda units, removed: max(1, (units or 0) - removed),
        decides_status=True,
    ),
)
GOAL = field.Field(
    name="goal",
    attribute="goal",
    kinds=("donation",),
    option=14,
    is_optional=True,
    needs_embedded=True,
    is_money=True,
    read=_read_goal,
    ask=field_texts.goal_question,
    display=field.FieldDisplay(words=field_texts.goal_words),
    wire=field.Wire(path="goal"),
    edit=field.Edit(place=10),
)
PICTURE = field.Field(
    name="picture",
    attribute="image",
    option=5,
    is_optional=True,
    read=lambda _typed: replies.Problem("problem-picture"),
    display=field.FieldDisplay(brief=lambda _image, seller: seller.text("option-picture-set")),
    wire=field.Wire(path="product.imageUrl"),
    edit=field.Edit(place=3),
)
RECEIVERS = field.Field(
    name="receivers",
    attribute="receivers",
    option=7,
    is_optional=True,
    needs_destinations=True,
    empty=(),
    read=lambda typed: shares_and_amounts.read_portions(
        typed.text, typed.draft.currency or "", typed.seller.paid_at
    ),
    ask=field_texts.receivers_question,
    offers=field_texts.price_of_receivers,
    display=field.FieldDisplay(
        line=field_texts.receivers_line, brief=lambda receivers, _seller: len(receivers)
    ),
    wire=field.Wire(path="receivers"),
)
ENDS = field.Field(
    name="ends",
    attribute="ends_at",
    option=9,
    is_optional=True,
    is_moment=True,
    read=_moment(end=True),
    check=_check_end,
    display=_MOMENT,
    wire=field.Wire(path="expirationInSeconds", refused_as="expiresAt"),
    edit=field.Edit(place=6, name="end", decides_status=True),
)
ASKS = field.Field(
    name="asks",
    attribute="payer_fields",
    option=10,
    is_optional=True,
    empty=(),
    offers=field_texts.payer_fields,
    display=field.FieldDisplay(
        words=lambda asked, seller, _now: ", ".join(seller.text(f"payer-{each}") for each in asked)
    ),
    wire=field.Wire(path="requestedUserData", refused_as="requestedUserData.*"),
)
GOODS = field.Field(
    name="goods",
    attribute="goods",
    option=13,
    is_optional=True,
    needs_embedded=True,
    ask=field_texts.goods_question,
    offers=field_texts.goods_readings,
    display=field.FieldDisplay(
        words=field_texts.goods_words, brief=field_texts.goods_brief, line=field_texts.goods_line
    ),
    wire=field.Wire(path="delivery", refused_as=r"delivery(\..*)?"),
    edit=field.Edit(place=9),
)
POSTER_TEXT = field.Field(
    name="postertext",
    attribute="poster_text",
    is_optional=True,
    read=_text(typed_text.read_poster_text),
    display=field.FieldDisplay(key="poster-text"),
    edit=field.Edit(place=8),
)

FIELDS = (
    field.Field(
        name="name",
        attribute="name",
        option=1,
        read=_text(typed_text.read_name),
        wire=field.Wire(path="product.name"),
        edit=field.Edit(place=1),
    ),
    field.Field(
        name="seller",
        is_optional=True,
        display=field.FieldDisplay(
            value=lambda _draft, seller: seller.profile.name, line=field_texts.seller_line
        ),
    ),
    field.Field(
        name="kind",
        attribute="kind",
        offers=field_texts.kinds,
        display=field.FieldDisplay(
            words=lambda kind, seller, _now: seller.text(f"kind-{kind}"),
            brief=lambda _kind, _seller: None,  # its buttons tick the current kind
        ),
        wire=field.Wire(path="expirationType"),
    ),
    AMOUNT,
    INSTRUMENT,
    field.Field(
        name="currency",
        attribute="currency",
        offers=field_texts.price_currencies,
        display=None,
        wire=field.Wire(refused_as=rf"({_RECEIVER})?(\w*[cC]urrencyCode|denominatedIn|currency)"),
    ),
    GOAL,
    UNITS,
    field.Field(
        name="perbuyer",
        attribute="max_quantity",
        kinds=("drop",),
        option=15,
        is_optional=True,
        needs_embedded=True,
        read=_text(typed_text.read_quantity),
        unset_text="perbuyer-one",
        wire=field.Wire(path="maxQuantity"),
        edit=field.Edit(place=11),
    ),
    field.Field(
        name="description",
        attribute="description",
        option=4,
        is_optional=True,
        read=_text(typed_text.read_description),
        display=field.FieldDisplay(most=_WHOLE),
        wire=field.Wire(path="product.description", refused_as=r"product\.longDescription"),
        edit=field.Edit(place=2),
    ),
    PICTURE,
    field.Field(
        name="destination",
        ask=field_texts.destination_question,
        offers=field_texts.payout_kinds,
        display=field.FieldDisplay(
            value=lambda _draft, seller: seller.destination if seller.has_destination else None,
            line=field_texts.destination_line,
        ),
        wire=field.Wire(refused_as=rf"{_RECEIVER}(destination)?"),
    ),
    RECEIVERS,
    field.Field(
        name="starts",
        attribute="starts_at",
        option=8,
        is_optional=True,
        is_moment=True,
        read=_moment(end=False),
        check=_check_start,
        display=_MOMENT,
        wire=field.Wire(path="enabledAt"),
    ),
    ENDS,
    ASKS,
    field.Field(
        name="redirect",
        attribute="redirect_url",
        option=11,
        is_optional=True,
        read=_text(typed_text.read_redirect),
        display=field.FieldDisplay(
            words=lambda url, _seller, _now: links.shown_url(url),
            line=field_texts.redirect_line,
            most=_SHORTENED,
        ),
        wire=field.Wire(path="redirectUrl"),
        edit=field.Edit(place=4),
    ),
    field.Field(
        name="email",
        attribute="email",
        option=12,
        is_optional=True,
        read=_text(typed_text.read_email),
        display=field.FieldDisplay(
            words=lambda address, _seller, _now: links.shown_address(address)
        ),
        wire=field.Wire(path="notifications.email"),
        edit=field.Edit(place=5),
    ),
    field.Field(
        name="thanks",
        attribute="thanks",
        option=16,
        is_optional=True,
        needs_embedded=True,
        read=_text(typed_text.read_thanks),
        display=field.FieldDisplay(most=_SHORTENED),
        wire=field.Wire(path="thanks"),
        edit=field.Edit(place=12),
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
"""The names of the optional fields of a new request."""

EDITS = {
    field.edit.name or field.name: field
    for field in sorted(FIELDS, key=lambda field: field.edit.place if field.edit else 0)
    if field.edit
}
"""The editable fields (interface, section 4.3) by the edit's name, in the menu's order. The
poster's text is not sent to the service."""

FILE_STEP = "file"
"""The step that asks whether buyers get a file that came with another answer."""

PATH = ("kind", "name", "amount", "currency", "units", "destination", "review")
"""The steps of a new request without options."""

STEPS = {
    "new": (*PATH, "options", *OPTIONS, "zone", FILE_STEP),
    "line": ("amount", "currency", "destination"),
    "settings": ("destination", "zone", "quiet", "summary", *drafts.PROFILE_STEPS),
    "payout": (*payout.PAYOUT_STEPS, payout.CHECKING, payout.FOUND, payout.SAVING),
    "edit": (*EDITS, "zone"),
    "codes": ("codes",),
    "payback": ("paidback", "sent"),
}
"""The steps of each form, by its name."""

AFTER_PAYMENT = ("redirect", "thanks", GOODS.name)
"""Fields that decide whether payers see their receipt before the web address."""


def field_of(draft: drafts.RequestDraft, step: str = "") -> field.Field | None:
    """Return the field that a step of a form asks for, by default the draft's step."""
    return (EDITS if draft.form == "edit" else BY_NAME).get(step or draft.step)


# Drafts as JSON in the database: written, parsed, and checked for consistency.

_FORMS = (
    *(drafts.NewDraft, drafts.LineDraft, drafts.EditDraft, drafts.CodesDraft),
    *(drafts.SettingsDraft, drafts.PayoutDraft, drafts.NoteDraft),
)
_DRAFTS = stored_json.PayloadKinds("form", **{draft.form: draft for draft in _FORMS})


def write_draft(draft: drafts.Draft) -> str:
    """Return a draft as JSON for `read_draft`."""
    return _DRAFTS.encode(replace(draft, touched_at=None))


def read_draft(text: str) -> drafts.Draft | None:
    """Return the draft that `write_draft` wrote; None if the text is anything else."""
    try:
        draft: drafts.Draft = _DRAFTS.decode(text)
    except errors.Unreadable:
        return None
    return draft if _is_sound(draft) else None


def _is_sound(draft: drafts.Draft) -> bool:
    steps = STEPS[draft.form]
    if draft.step not in steps or not (draft.paused is None or _is_sound(draft.paused)):
        return False
    if isinstance(draft, drafts.TimedDraft) and draft.step_after_zone not in (None, *steps):
        return False
    if isinstance(draft, drafts.PayoutDraft):
        return _is_sound_payout(draft)
    return not isinstance(draft, drafts.RequestDraft) or _is_sound_request(draft)


def _is_sound_request(draft: drafts.RequestDraft) -> bool:
    """True if no answer is missing before the step, and the price is possible."""
    choice, currency = draft.choice, draft.currency or typed_text.FINEST
    needed: tuple[object, ...] = ()
    if isinstance(draft, drafts.NewDraft) and draft.step != "kind":
        is_early = draft.step in PATH and draft.step != "review"
        rest = () if is_early else (draft.name, draft.amount, draft.currency)
        needed = (draft.kind, *rest)
    if None in needed or not {draft.currency, draft.instrument} <= {None, *amounts.currencies()}:
        return False
    try:
        for amount in (draft.amount, *(choice.amounts if choice else ())):
            if amount is not None:
                amounts.to_minor(amount, currency)
    except errors.MoneyError:
        return False
    return choice is None or (choice.is_sound and draft.amount == choice.first)


def _is_sound_payout(draft: drafts.PayoutDraft) -> bool:
    """True if all answers before the step are given, and fit the way of being paid."""
    if draft.way not in payout.WAYS:
        return False
    fields, step = payout.fields_of(draft.way, draft.answers), draft.step
    given = [answer.field for answer in draft.answers]
    if given != [name for name in fields if name in given]:
        return False
    if step in payout.PAYOUT_STEPS:
        return payout.PAYOUT_STEPS[step] in fields
    # Earlier versions did not ask for a BIC; the service refuses the account if it needs one.
    is_whole = {*fields} - {*given} <= {payout.BIC}
    return is_whole and (draft.found is not None or step != payout.FOUND)
