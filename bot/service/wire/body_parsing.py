"""Bodies of create and edit read into the model; every problem is a FieldProblem with its path."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from bot.core import exact_json
from bot.core.errors import FieldProblem, InvalidBody
from bot.core.exact_json import JsonError
from bot.service.model.amount_choice import AmountChoice
from bot.service.model.changes import (
    Creation,
    Edit,
    SellerEdit,
    invalid_field,
    minor,
    pauses,
)
from bot.service.model.goods.delivered import Goods
from bot.service.model.request import DeliveryKind, Kind, Product, Receiver, Terms, Webhook
from bot.service.model.seller import SellerProfile
from bot.service.wire.body_schemas import (
    AmountChoiceBody,
    CodesBody,
    CreateBody,
    DeliveryBody,
    EditBody,
    NotificationsBody,
    SellerBody,
    SellerEditBody,
)
from bot.service.wire.payout_schemas import PayoutBody

if TYPE_CHECKING:
    from collections.abc import Iterable

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


def read_create(text: str, now: int) -> Creation:
    """Read a body of create; `expirationInSeconds` counts from `now`.

    Raises InvalidBody with every problem found.
    """
    body = validated(CreateBody, text)
    return Creation(
        terms=_terms(body),
        total_units=body.total_units,
        enabled_at=body.enabled_at,
        expires_at=_end(body.expiration_in_seconds, body.expires_at, now),
        goods=_goods(body.delivery) if body.delivery else None,
    )


def read_edit(text: str, now: int) -> Edit:
    """Read a body of edit; `expirationInSeconds` counts from `now`. Raises InvalidBody."""
    body = validated(EditBody, text)
    named = _named(body)
    fields = _named(body.product) | _notifications(body)
    fields |= {name: named[name] for name in PLAIN_FIELDS if name in named}
    if "seller" in named:
        fields["seller"] = body.seller and _seller_edit(body.seller)
    if "delivery" in named:
        fields["goods"] = body.delivery and _goods(body.delivery)
    if "expiration_in_seconds" in named or "expires_at" in named:
        end = _end(body.expiration_in_seconds, body.expires_at, now)
        fields |= {"expires_at": end, "paused": pauses(end, now)}
    return Edit(**fields, decrease=named.get("decrease_remaining_units", 0))


def read_payout(text: str) -> PayoutBody:
    """Read a body that connects a payout account. Raises InvalidBody."""
    return validated(PayoutBody, text)


def read_codes(text: str) -> tuple[str, ...]:
    """Read a body that adds codes. Raises InvalidBody."""
    return tuple(validated(CodesBody, text).codes)


def read_seller(fields: dict[str, str | None]) -> SellerEdit:
    """Read the fields of a seller by their names in the interface. Raises InvalidBody."""
    try:
        return _seller_edit(SellerEditBody.model_validate(fields))
    except ValidationError as error:
        raise invalid_body(error.errors(include_url=False, include_context=False)) from None


def read_json(text: str) -> Any:
    """Read the JSON of a body. Raises InvalidBody."""
    try:
        return exact_json.loads(text, depth=MAX_DEPTH, strict=True)
    except JsonError as error:
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


def _terms(body: CreateBody) -> Terms:
    instrument = _one_of(body, "instrument_currency_code", "currency_code")
    denomination = _one_of(body, "denomination_currency_code", "denominated_in", "currency")
    if instrument is None:
        raise invalid_field("instrumentCurrencyCode", "is required")
    currency = denomination or instrument
    product, notifications = body.product, body.notifications or NotificationsBody()
    terms = Terms(
        kind=Kind(body.expiration_type),
        product=Product(
            product.name, product.description, product.long_description, product.image_url
        ),
        receivers=tuple(
            Receiver(
                receiver.destination,
                minor(receiver.send_amount, currency, f"receivers.{place}.sendAmount"),
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
        goal=None if body.goal is None else minor(body.goal, currency, "goal"),
        max_quantity=body.max_quantity,
        thanks=body.thanks,
        keep_url=body.keep_url,
    )
    minor(sum((one.send_amount for one in body.receivers), Decimal()), currency, "receivers")
    return terms


def _choice(body: AmountChoiceBody | None, currency: str) -> AmountChoice | None:
    """Return the amounts in minor units; the minimum is the smallest suggestion if left out."""
    if body is None:
        return None
    suggested = tuple(
        minor(amount, currency, f"amountChoice.suggested.{place}")
        for place, amount in enumerate(body.suggested or ())
    )
    if body.minimum is not None:
        minimum = minor(body.minimum, currency, "amountChoice.minimum")
    elif suggested:
        minimum = min(suggested)
    else:
        raise invalid_field("amountChoice.minimum", "is required where nothing is suggested")
    maximum = body.maximum
    return AmountChoice(
        minimum,
        suggested,
        None if maximum is None else minor(maximum, currency, "amountChoice.maximum"),
    )


def _goods(body: DeliveryBody) -> Goods:
    """Return what is delivered. Raises InvalidBody unless it is one thing."""
    found = []
    if body.text is not None:
        found.append(Goods(DeliveryKind.TEXT, text=body.text))
    if body.file_id is not None:
        found.append(Goods(DeliveryKind.FILE, file_id=body.file_id))
    if body.codes is not None:
        found.append(Goods(DeliveryKind.CODES, codes=tuple(body.codes)))
    if body.codes_file_id is not None:
        found.append(Goods(DeliveryKind.CODES, codes_file=body.codes_file_id))
    if len(found) != 1:
        raise invalid_field("delivery", "must have one of text, fileId, codes and codesFileId")
    return found[0]


def _seller(it: SellerBody) -> SellerProfile:
    return SellerProfile(it.name, it.image_url, it.contact, it.description, it.accent_color)


def _seller_edit(body: SellerEditBody) -> SellerEdit:
    fields = _named(body)
    if "accent_color" in fields:
        fields["accent"] = fields.pop("accent_color")
    return SellerEdit(**fields)


def _one_of(body: CreateBody, *spellings: str) -> str | None:
    """Return the value of a field that has several spellings. Raises InvalidBody if they differ."""
    values = {name: getattr(body, name) for name in spellings}
    given = [name for name, value in values.items() if value is not None]
    for name in given[1:]:
        if values[name] != values[given[0]]:
            fields = CreateBody.model_fields
            raise invalid_field(str(fields[name].alias), f"differs from {fields[given[0]].alias}")
    return str(values[given[0]]) if given else None


def _price(amount: Decimal | None, currency: str) -> int | None:
    return None if amount is None else minor(amount, currency, "priceBeforeDiscount")


def _webhook(notifications: NotificationsBody) -> Webhook | None:
    webhook = notifications.webhook
    if webhook is None:
        return None
    parameters, events = webhook.custom_parameters, webhook.events
    return Webhook(
        webhook.webhook_url,
        None if parameters is None else exact_json.dumps(parameters),
        None if events is None else tuple(events),
    )


def _end(seconds: int | None, at: int | None, now: int) -> int | None:
    if seconds is not None and at is not None:
        raise invalid_field("expiresAt", "does not go together with expirationInSeconds")
    return at if seconds is None else now + seconds * 1000


def _named(body: BaseModel) -> dict[str, Any]:
    """Return the fields that a body names, with null as None."""
    return {name: getattr(body, name) for name in body.model_fields_set}


def _notifications(body: EditBody) -> dict[str, Any]:
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
