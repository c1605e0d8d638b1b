"""The model as the interface's JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.core import exact, money
from bot.service.model.request import Kind, Settlement
from bot.service.wire import exact_json
from bot.service.wire.answers import (
    ErrorAnswer,
    FieldProblemAnswer,
    NotificationsAnswer,
    PaidAnswer,
    PaymentAmount,
    PaymentAnswer,
    ProductAnswer,
    PublicAnswer,
    ReceiverAnswer,
    RequestAnswer,
    RequestItem,
    StatsAnswer,
    WebhookAnswer,
    WebhookEvent,
)
from bot.service.wire.fields import iso

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from decimal import Decimal

    from pydantic import BaseModel

    from bot.core.errors import Refused
    from bot.service.model.request import (
        Payment,
        PaymentRequest,
        Product,
        Quote,
        Receiver,
        Stats,
        Terms,
        Webhook,
    )


def pay_url(public_url: str, request_id: str) -> str:
    """Address of the pay page."""
    return f"{public_url}/pay/{request_id}"


def qr_url(public_url: str, request_id: str) -> str:
    """Address of the QR picture."""
    return f"{public_url}/qr/{request_id}.png"


def dump(answer: BaseModel) -> Any:
    """Give the answer as plain data for `exact_json`, without what was not given."""
    return answer.model_dump(by_alias=True, exclude_unset=True)


def request(public_url: str, it: PaymentRequest, now: int) -> RequestAnswer:
    """Answer of create, get and edit."""
    expires_at = None if it.expires_at is None else iso(it.expires_at)
    return RequestAnswer(**given(**_common(public_url, it, now), expires_at=expires_at))


def item(public_url: str, it: PaymentRequest, now: int) -> RequestItem:
    """Item of the list."""
    expires_at = None if it.expires_at is None else it.expires_at // 1000
    return RequestItem(**given(**_common(public_url, it, now), expires_at=expires_at))


def public(public_url: str, it: PaymentRequest, now: int) -> PublicAnswer:
    """Answer for anybody."""
    terms = it.terms
    return PublicAnswer(
        **given(
            id=it.id,
            payment_request_url=pay_url(public_url, it.id),
            payment_request_qr_code_url=qr_url(public_url, it.id),
            is_enabled=it.is_enabled(now),
            status=it.status(now),
            product=_product(terms.product),
            payment_amount=_payment_amount(terms),
            price_before_discount=_price(terms),
            requested_user_data=list(terms.requested_user_data),
            redirect_url=terms.redirect_url,
            expiration_type=terms.kind,
            **_units(it),
            payments_count=it.payments_count,
            enabled_at=_enabled_at(it),
            expires_at=None if it.expires_at is None else iso(it.expires_at),
        )
    )


def payment(it: Payment) -> PaymentAnswer:
    """Item of a request's payments."""
    return PaymentAnswer(
        **given(
            transaction_id=it.id,
            amount=money.from_minor(it.amount, it.currency),
            currency_code=it.currency,
            receivers=_receivers(it.receivers, it.currency),
            user_data=it.user_data,
            completed_at=iso(it.completed_at),
            paid=_paid(it.paid),
            settlement=None if it.state is Settlement.PAID else it.state.value,
        )
    )


def _paid(it: Quote) -> PaidAnswer | None:
    if it.rate is None:
        return None
    return PaidAnswer(
        amount=money.from_minor(it.amount, it.currency),
        currency_code=it.currency,
        shares=[money.from_minor(share, it.currency) for share in it.shares],
        rate=it.rate.rate,
        rate_source=it.rate.source,
        rated_at=iso(it.rate.at),
    )


def stats(it: Stats) -> StatsAnswer:
    """Answer of the public figures."""
    return StatsAnswer(
        total_payments=it.payments,
        total_volume=money.from_minor(it.volume, it.currency),
        currency_code=it.currency,
        unique_users=it.payers,
    )


def event(it: Mapping[str, Any]) -> bytes:
    """Body of a webhook from what the outbox keeps of the payment."""
    return exact.dumps(
        dump(
            WebhookEvent(
                **given(
                    payment_request_id=it["requestId"],
                    transaction_id=it["transactionId"],
                    custom_parameters=_parameters(it["customParameters"]),
                    user_data=it["userData"],
                    amount=money.from_minor(it["amount"], it["currency"]),
                    currency_code=it["currency"],
                    remaining_units=it["remainingUnits"],
                    reserved_units=it.get("reservedUnits"),
                    oversold=it.get("oversold") or None,
                    completed_at=iso(it["completedAt"]),
                )
            )
        )
    ).encode()


def error(refusal: Refused) -> ErrorAnswer:
    """Answer for what was not done."""
    info = [FieldProblemAnswer(field=one.field, message=one.message) for one in refusal.info]
    return ErrorAnswer(code=refusal.code, message=refusal.message, info=info)


def given(**values: Any) -> dict[str, Any]:
    """Give the fields that have a value: what was not given is left out of an answer."""
    return {name: value for name, value in values.items() if value is not None}


def _common(public_url: str, it: PaymentRequest, now: int) -> dict[str, Any]:
    terms = it.terms
    parameters = terms.webhook.custom_parameters if terms.webhook else None
    return {
        "id": it.id,
        "payment_request_url": pay_url(public_url, it.id),
        "payment_request_qr_code_url": qr_url(public_url, it.id),
        "is_enabled": it.is_enabled(now),
        "status": it.status(now),
        "product": _product(terms.product),
        "currency_code": terms.instrument,
        "payment_amount": _payment_amount(terms),
        "price_before_discount": _price(terms),
        "receivers": _receivers(terms.receivers, terms.currency),
        "notifications": NotificationsAnswer(
            **given(webhook=_webhook(terms.webhook), email=terms.email)
        ),
        "custom_parameters": _parameters(parameters),
        "requested_user_data": list(terms.requested_user_data),
        "redirect_url": terms.redirect_url,
        "expiration_type": terms.kind,
        **_units(it),
        "payments_count": it.payments_count,
        "enabled_at": _enabled_at(it),
        "created_at": iso(it.created_at),
    }


def _product(product: Product) -> ProductAnswer:
    return ProductAnswer(
        **given(
            name=product.name,
            description=product.description,
            long_description=product.long_description,
            image_url=product.image_url,
        )
    )


def _payment_amount(terms: Terms) -> PaymentAmount:
    return PaymentAmount(
        currency_code=terms.instrument,
        amount=money.from_minor(terms.amount, terms.currency),
        denominated_in=terms.currency,
    )


def _price(terms: Terms) -> Decimal | None:
    price = terms.price_before_discount
    return None if price is None else money.from_minor(price, terms.currency)


def _receivers(receivers: Iterable[Receiver], currency: str) -> list[ReceiverAnswer]:
    return [
        ReceiverAnswer(
            **given(
                send_amount=money.from_minor(receiver.amount, currency),
                currency_code=currency,
                destination=receiver.destination,
                tags=list(receiver.tags) or None,
            )
        )
        for receiver in receivers
    ]


def _webhook(webhook: Webhook | None) -> WebhookAnswer | None:
    if webhook is None:
        return None
    text = webhook.custom_parameters
    parameters = None if text is None else exact_json.loads(text)
    return WebhookAnswer(**given(webhook_url=webhook.url, custom_parameters=parameters))


def _parameters(text: str | None) -> dict[str, Any]:
    return exact_json.loads(text) if text else {}


def _units(it: PaymentRequest) -> dict[str, int]:
    if it.terms.kind is not Kind.LIMIT or it.units is None:
        return {}
    units = {"total_units": it.units.total, "remaining_units": it.units.remaining}
    return units | ({"reserved_units": it.units.reserved} if it.units.reserved else {})


def _enabled_at(it: PaymentRequest) -> str:
    return iso(it.created_at if it.enabled_at is None else it.enabled_at)
