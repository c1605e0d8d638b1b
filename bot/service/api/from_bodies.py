"""The service's types, made from bodies of the interface.

The models of `bot/interface/bodies.py` have checked each field; here they are checked together.
"""

from __future__ import annotations

from dataclasses import fields
from decimal import Decimal
from typing import Any

from pydantic import BaseModel

from bot.core import errors, exact_json
from bot.interface import bodies, parts, vocabulary
from bot.service.goods import contents
from bot.service.payments import payment_marks
from bot.service.requests import changes, request

PLAIN_FIELDS = frozenset(field.name for field in fields(changes.Edit))
"""Fields of an edit that go into the model as they are, unless `edit` reads them."""


def creation(body: bodies.CreateBody, now: int) -> changes.Creation:
    """Return what a body creates; `expirationInSeconds` counts from `now`. Raises InvalidBody."""
    return changes.Creation(
        terms=_terms(body),
        total_units=body.total_units,
        enabled_at=body.enabled_at,
        expires_at=_end(body.expiration_in_seconds, body.expires_at, now),
        goods=_goods(body.delivery) if body.delivery else None,
    )


def edit(body: bodies.EditBody, now: int) -> changes.Edit:
    """Return what a body changes; `expirationInSeconds` counts from `now`. Raises InvalidBody."""
    named = _named(body)
    changed = {name: value for name, value in named.items() if name in PLAIN_FIELDS}
    changed |= _named(body.product) | _notifications(body)
    if "seller" in named:
        changed["seller"] = body.seller and seller_edit(body.seller)
    if "delivery" in named:
        changed["goods"] = body.delivery and _goods(body.delivery)
    if "expiration_in_seconds" in named or "expires_at" in named:
        end = _end(body.expiration_in_seconds, body.expires_at, now)
        changed |= {"expires_at": end, "paused": changes.pauses(end, now)}
    return changes.Edit(**changed, decrease=named.get("decrease_remaining_units", 0))


def seller_edit(body: bodies.SellerEditBody) -> changes.SellerEdit:
    """Return what a body changes of a seller's profile."""
    fields = _named(body)
    if "accent_color" in fields:
        fields["accent"] = fields.pop("accent_color")
    return changes.SellerEdit(**fields)


def marks(body: bodies.MarksBody) -> payment_marks.MarksEdit:
    """Return what a body changes of a payment's marks."""
    named = body.model_fields_set
    return payment_marks.MarksEdit(
        sent=_mark(body.sent) if "sent" in named else changes.KEEP,
        paid_back=_mark(body.paid_back) if "paid_back" in named else changes.KEEP,
        message_hidden=body.message_hidden if "message_hidden" in named else changes.KEEP,
        notify_payer=body.notify_payer,
    )


def _mark(body: bodies.MarkBody | None) -> payment_marks.MarkEdit | None:
    if body is None:
        return None
    note: str | changes.Keep | None = changes.KEEP
    if "note" in body.model_fields_set:
        note = (body.note or "").strip() or None
    return payment_marks.MarkEdit(note)


def _terms(body: bodies.CreateBody) -> request.Terms:
    instrument = _one_of(body, "instrument_currency_code", "currency_code")
    denomination = _one_of(body, "denomination_currency_code", "denominated_in", "currency")
    if instrument is None:
        raise errors.InvalidBody.of_field("instrumentCurrencyCode", "is required")
    currency = denomination or instrument
    product, seller = body.product, body.seller
    notifications = body.notifications or bodies.NotificationsBody()
    profile = None
    if seller:
        shown = (seller.name, seller.image_url, seller.contact)
        profile = request.SellerProfile(*shown, seller.description, seller.accent_color)
    terms = request.Terms(
        kind=vocabulary.Kind(body.expiration_type),
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
        price_before_discount=_minor(body.price_before_discount, currency, "priceBeforeDiscount"),
        requested_user_data=tuple(body.requested_user_data or ()),
        redirect_url=body.redirect_url,
        webhook=_webhook(notifications.webhook),
        email=notifications.email,
        seller=profile,
        choice=_choice(body.amount_choice, currency),
        goal=_minor(body.goal, currency, "goal"),
        max_quantity=body.max_quantity,
        thanks=body.thanks,
        keep_url=body.keep_url,
        shop=None if body.shop is None else exact_json.dumps(body.shop),
    )
    changes.minor(
        sum((one.send_amount for one in body.receivers), Decimal()), currency, "receivers"
    )
    return terms


def _one_of(body: bodies.CreateBody, *spellings: str) -> str | None:
    """Return the value of a field that has several spellings. Raises InvalidBody if they differ."""
    values = {name: getattr(body, name) for name in spellings}
    given = [name for name, value in values.items() if value is not None]
    for name in given[1:]:
        if values[name] != values[given[0]]:
            fields = bodies.CreateBody.model_fields
            raise errors.InvalidBody.of_field(
                str(fields[name].alias), f"differs from {fields[given[0]].alias}"
            )
    return str(values[given[0]]) if given else None


def _webhook(webhook: bodies.WebhookBody | None) -> request.Webhook | None:
    if webhook is None:
        return None
    parameters, events = webhook.custom_parameters, webhook.events
    return request.Webhook(
        webhook.webhook_url,
        None if parameters is None else exact_json.dumps(parameters),
        None if events is None else tuple(events),
    )


def _choice(body: bodies.AmountChoiceBody | None, currency: str) -> parts.AmountChoice[int] | None:
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
        raise errors.InvalidBody.of_field(
            "amountChoice.minimum", "is required where nothing is suggested"
        )
    maximum = _minor(body.maximum, currency, "amountChoice.maximum")
    return parts.AmountChoice(minimum, suggested, maximum)


def _minor(amount: Decimal | None, currency: str, field: str) -> int | None:
    return None if amount is None else changes.minor(amount, currency, field)


def _goods(body: bodies.DeliveryBody) -> contents.Goods:
    """Return what is delivered. Raises InvalidBody unless it is one thing."""
    found = []
    if body.text is not None:
        found.append(contents.Goods(vocabulary.DeliveryKind.TEXT, text=body.text))
    if body.file_id is not None:
        found.append(contents.Goods(vocabulary.DeliveryKind.FILE, file_id=body.file_id))
    if body.codes is not None:
        found.append(contents.Goods(vocabulary.DeliveryKind.CODES, codes=tuple(body.codes)))
    if body.codes_file_id is not None:
        found.append(contents.Goods(vocabulary.DeliveryKind.CODES, codes_file=body.codes_file_id))
    if len(found) != 1:
        raise errors.InvalidBody.of_field(
            "delivery", "must have one of text, fileId, codes and codesFileId"
        )
    return found[0]


def _end(seconds: int | None, at: int | None, now: int) -> int | None:
    if seconds is not None and at is not None:
        raise errors.InvalidBody.of_field(
            "expiresAt", "does not go together with expirationInSeconds"
        )
    return at if seconds is None else now + seconds * 1000


def _named(body: BaseModel) -> dict[str, Any]:
    """Return the fields that a body names, with null as None."""
    return {name: getattr(body, name) for name in body.model_fields_set}


def _notifications(body: bodies.EditBody) -> dict[str, Any]:
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
