"""Bodies read into the model; every problem is a FieldProblem with its path."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, Field, ValidationError

from bot.core import exact_json
from bot.core.errors import FieldProblem, InvalidBody
from bot.service.goods import contents
from bot.service.payments import payment_marks
from bot.service.requests import changes, request
from bot.service.wire import body_schemas, field_types, goods_and_payouts

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


B = TypeVar("B", bound=BaseModel)

MAX_DEPTH = 32
"""Levels of nesting of a body: a webhook repeats customParameters deeper within its own."""

PLAIN_FIELDS = (
    *("price_before_discount", "redirect_url"),
    *("goal", "max_quantity", "thanks", "keep_url"),
)
"""Fields of an edit that go into the model as they are."""

MAX_PROBLEMS = 20
MAX_NAME = 100  # characters of a field's name that an answer repeats

# Messages for pydantic's error types, which speak of Python: these speak of JSON.
_MESSAGES = {
    "missing": "is required",
    "extra_forbidden": "is not a field of this body",
    "string_type": "must be a string",
    "string_pattern_mismatch": "must have 1 to 64 of A-Z, a-z, 0-9, _ and -",  # of owners alone
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
}


def read_create(text: str, now: int) -> changes.Creation:
    """Read a body of create; `expirationInSeconds` counts from `now`.

    Raises InvalidBody with every problem found.
    """
    body = validated(body_schemas.CreateBody, text)
    return changes.Creation(
        terms=_terms(body),
        total_units=body.total_units,
        enabled_at=body.enabled_at,
        expires_at=_end(body.expiration_in_seconds, body.expires_at, now),
        goods=_goods(body.delivery) if body.delivery else None,
    )


def read_edit(text: str, now: int) -> changes.Edit:
    """Read a body of edit; `expirationInSeconds` counts from `now`. Raises InvalidBody."""
    body = validated(body_schemas.EditBody, text)
    named = _named(body)
    fields = _named(body.product) | _notifications(body)
    fields |= {name: named[name] for name in PLAIN_FIELDS if name in named}
    if "seller" in named:
        fields["seller"] = body.seller and _seller_edit(body.seller)
    if "delivery" in named:
        fields["goods"] = body.delivery and _goods(body.delivery)
    if "expiration_in_seconds" in named or "expires_at" in named:
        end = _end(body.expiration_in_seconds, body.expires_at, now)
        fields |= {"expires_at": end, "paused": changes.pauses(end, now)}
    return changes.Edit(**fields, decrease=named.get("decrease_remaining_units", 0))


def read_payout(text: str) -> goods_and_payouts.PayoutBody:
    """Read a body that connects a payout account. Raises InvalidBody."""
    return validated(goods_and_payouts.PayoutBody, text)


def read_codes(text: str) -> tuple[str, ...]:
    """Read a body that adds codes. Raises InvalidBody."""
    return tuple(validated(body_schemas.CodesBody, text).codes)


def read_seller(fields: dict[str, str | None]) -> changes.SellerEdit:
    """Read the fields of a seller by their names in the interface. Raises InvalidBody."""
    try:
        return _seller_edit(body_schemas.SellerEditBody.model_validate(fields))
    except ValidationError as error:
        raise invalid_body(error.errors(include_url=False, include_context=False)) from None


def read_json(text: str) -> Any:
    """Read the JSON of a body. Raises InvalidBody."""
    try:
        return exact_json.loads(text, depth=MAX_DEPTH, strict=True)
    except exact_json.JsonError as error:
        raise InvalidBody(str(error)) from None


def validated(kind: type[B], text: str) -> B:
    """Read a body of this kind. Raises InvalidBody with every problem found."""
    value = read_json(text)
    if not isinstance(value, dict):
        raise InvalidBody("The body must be a JSON object.")
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise invalid_body(error.errors(include_url=False, include_context=False)) from None


def invalid_body(errors: Iterable[ErrorDetails], strip: int = 0) -> InvalidBody:
    """Return the InvalidBody of pydantic's errors, each path without its first `strip` parts."""
    return InvalidBody(info=[_problem(error, strip) for error in errors][:MAX_PROBLEMS])


def _problem(error: ErrorDetails, strip: int) -> FieldProblem:
    path = ".".join(str(part)[:MAX_NAME] for part in error["loc"][strip:])
    message = _MESSAGES.get(error["type"], error["msg"]).removeprefix("Value error, ")
    return FieldProblem(path, message)


def _terms(body: body_schemas.CreateBody) -> request.Terms:
    instrument = _one_of(body, "instrument_currency_code", "currency_code")
    denomination = _one_of(body, "denomination_currency_code", "denominated_in", "currency")
    if instrument is None:
        raise changes.invalid_field("instrumentCurrencyCode", "is required")
    currency = denomination or instrument
    product, notifications = body.product, body.notifications or body_schemas.NotificationsBody()
    terms = request.Terms(
        kind=request.Kind(body.expiration_type),
        product=request.Product(
            product.name, product.description, product.long_description, product.image_url
        ),
        receivers=tuple(
            request.Receiver(
                receiver.destination,
                changes.minor(receiver.send_amount, currency, f"receivers.{place}.sendAmount"),
                tuple(receiver.tags or ()),
            )
            for place, receiver in enumerate(body.receivers)
        ),
        instrument=instrument,
        denomination=denomination,
        price_before_discount=_price(body.price_before_discount, currency),
        requested_user_data=tuple(body.requested_user_data or ()),
        redirect_url=body.redirect_url,
        webhook=_webhook(notifications),
        email=notifications.email,
        seller=_seller(body.seller) if body.seller else None,
        choice=_choice(body.amount_choice, currency),
        goal=None if body.goal is None else changes.minor(body.goal, currency, "goal"),
        max_quantity=body.max_quantity,
        thanks=body.thanks,
        keep_url=body.keep_url,
    )
    changes.minor(
        sum((one.send_amount for one in body.receivers), Decimal()), currency, "receivers"
    )
    return terms


def _choice(
    body: body_schemas.AmountChoiceBody | None, currency: str
) -> request.AmountChoice | None:
    """Return the amounts in minor units; the minimum is the smallest suggestion if left out."""
    if body is None:
        return None
    suggested = tuple(
        changes.minor(amount, currency, f"amountChoice.suggested.{place}")
        for place, amount in enumerate(body.suggested or ())
    )
    if body.minimum is not None:
        minimum = changes.minor(body.minimum, currency, "amountChoice.minimum")
    elif suggested:
        minimum = min(suggested)
    else:
        raise changes.invalid_field(
            "amountChoice.minimum", "is required where nothing is suggested"
        )
    maximum = body.maximum
    return request.AmountChoice(
        minimum,
        suggested,
        None if maximum is None else changes.minor(maximum, currency, "amountChoice.maximum"),
    )


def _goods(body: body_schemas.DeliveryBody) -> contents.Goods:
    """Return what is delivered. Raises InvalidBody unless it is one thing."""
    found = []
    if body.text is not None:
        found.append(contents.Goods(request.DeliveryKind.TEXT, text=body.text))
    if body.file_id is not None:
        found.append(contents.Goods(request.DeliveryKind.FILE, file_id=body.file_id))
    if body.codes is not None:
        found.append(contents.Goods(request.DeliveryKind.CODES, codes=tuple(body.codes)))
    if body.codes_file_id is not None:
        found.append(contents.Goods(request.DeliveryKind.CODES, codes_file=body.codes_file_id))
    if len(found) != 1:
        raise changes.invalid_field(
            "delivery", "must have one of text, fileId, codes and codesFileId"
        )
    return found[0]


def _seller(body: body_schemas.SellerBody) -> request.SellerProfile:
    return request.SellerProfile(
        body.name, body.image_url, body.contact, body.description, body.accent_color
    )


def _seller_edit(body: body_schemas.SellerEditBody) -> changes.SellerEdit:
    fields = _named(body)
    if "accent_color" in fields:
        fields["accent"] = fields.pop("accent_color")
    return changes.SellerEdit(**fields)


def _one_of(body: body_schemas.CreateBody, *spellings: str) -> str | None:
    """Return the value of a field that has several spellings. Raises InvalidBody if they differ."""
    values = {name: getattr(body, name) for name in spellings}
    given = [name for name, value in values.items() if value is not None]
    for name in given[1:]:
        if values[name] != values[given[0]]:
            fields = body_schemas.CreateBody.model_fields
            raise changes.invalid_field(
                str(fields[name].alias), f"differs from {fields[given[0]].alias}"
            )
    return str(values[given[0]]) if given else None


def _price(amount: Decimal | None, currency: str) -> int | None:
    return None if amount is None else changes.minor(amount, currency, "priceBeforeDiscount")


def _webhook(notifications: body_schemas.NotificationsBody) -> request.Webhook | None:
    webhook = notifications.webhook
    if webhook is None:
        return None
    parameters, events = webhook.custom_parameters, webhook.events
    return request.Webhook(
        webhook.webhook_url,
        None if parameters is None else exact_json.dumps(parameters),
        None if events is None else tuple(events),
    )


def _end(seconds: int | None, at: int | None, now: int) -> int | None:
    if seconds is not None and at is not None:
        raise changes.invalid_field("expiresAt", "does not go together with expirationInSeconds")
    return at if seconds is None else now + seconds * 1000


def _named(body: BaseModel) -> dict[str, Any]:
    """Return the fields that a body names, with null as None."""
    return {name: getattr(body, name) for name in body.model_fields_set}


def _notifications(body: body_schemas.EditBody) -> dict[str, Any]:
    """Return the edit's fields about webhook and email; null clears at each level."""
    if "notifications" not in body.model_fields_set:
        return {}
    if body.notifications is None:
        return {"webhook_url": None, "email": None}
    fields = _named(body.notifications)
    if "webhook" in fields:
        webhook = fields.pop("webhook")
        fields |= {"webhook_url": None} if webhook is None else _named(webhook)
    if "events" in fields:
        events = fields.pop("events")
        fields["webhook_events"] = events and tuple(events)
    if fields.get("custom_parameters") is not None:
        fields["custom_parameters"] = exact_json.dumps(fields["custom_parameters"])
    return fields


# The body that marks a payment: its schema, and how it is read.


def _note(text: str) -> str | None:
    return text.strip() or None


Note: TypeAlias = Annotated[
    str,
    Field(
        max_length=payment_marks.LONGEST_NOTE, json_schema_extra=field_types.NO_CONTROLS_IN_LINES
    ),
    AfterValidator(field_types.check_lines),
]


class MarkBody(body_schemas.Body):
    """A mark to set; `note` is for the payer: a tracking number, or a few words."""

    note: Note | None = None


class MarksBody(body_schemas.Body):
    """The marks to change: one left out stays, null takes it back.

    Without a `note`, the note of a mark that is set already stays. The payer gets an email about
    what is new unless `notifyPayer` is false. `messageHidden` keeps the payer's name and message
    out of emails and exports; both stay stored, and this interface still answers with them.
    """

    sent: MarkBody | None = None
    paid_back: MarkBody | None = None
    message_hidden: bool = False
    notify_payer: bool = True


def read_marks(text: str) -> payment_marks.MarksEdit:
    """Read a body that marks a payment. Raises InvalidBody."""
    body = validated(MarksBody, text)
    named = body.model_fields_set
    return payment_marks.MarksEdit(
        sent=_mark(body.sent) if "sent" in named else changes.KEEP,
        paid_back=_mark(body.paid_back) if "paid_back" in named else changes.KEEP,
        message_hidden=body.message_hidden if "message_hidden" in named else changes.KEEP,
        notify_payer=body.notify_payer,
    )


def _mark(body: MarkBody | None) -> payment_marks.MarkEdit | None:
    if body is None:
        return None
    note: str | changes.Keep | None = changes.KEEP
    if "note" in body.model_fields_set:
        note = None if body.note is None else _note(body.note)
    return payment_marks.MarkEdit(note)
