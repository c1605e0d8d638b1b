"""The model as the interface's JSON: plain data with the schemas of `answer_schemas`.

No pydantic model is built, which would take longer than everything else: tests compare the data
with the schemas.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import Any, TypeAlias

from bot.core import errors, exact_json
from bot.core.money import amounts
from bot.service.goods import contents
from bot.service.notifications import notification
from bot.service.payments import payment_reports
from bot.service.payouts import payout_account
from bot.service.requests.request import (
    NO_MARKS,
    AmountChoice,
    DeliveryKind,
    Kind,
    Marks,
    Payment,
    PaymentRequest,
    PaymentState,
    Product,
    Quote,
    Receiver,
    SellerProfile,
    Webhook,
    WebhookEvent,
)
from bot.service.wire import field_types

Json: TypeAlias = dict[str, Any]
"""A JSON object; amounts in it are Decimals, which `exact_json.dumps` writes as numbers."""


def pay_url(public_url: str, request_id: str) -> str:
    """Return the URL of the pay page."""
    return f"{public_url}/pay/{request_id}"


def qr_url(public_url: str, request_id: str) -> str:
    """Return the URL of the QR picture."""
    return f"{public_url}/qr/{request_id}.png"


def request(
    public_url: str, it: PaymentRequest, now: int, file: contents.StoredFile | None = None
) -> Json:
    """Write a RequestAnswer, the answer of create, get and edit; `file` is what it delivers."""
    written = _request(public_url, it, now, field_types.iso_or_none(it.expires_at))
    return written | given(delivery=delivery_of_request(it, file))


def item(
    public_url: str, it: PaymentRequest, now: int, file: contents.StoredFile | None = None
) -> Json:
    """Write a RequestItem, an item of the list."""
    end = None if it.expires_at is None else it.expires_at // 1000
    written = _request(public_url, it, now, end)
    return written | given(delivery=delivery_of_request(it, file))


def delivery_of_request(it: PaymentRequest, file: contents.StoredFile | None) -> Json | None:
    """Write a DeliveryAnswerOfRequest, None where nothing is delivered."""
    if it.delivers is None:
        return None
    codes = asdict(contents.count_codes(it)) if it.delivers is DeliveryKind.CODES else None
    return given(kind=it.delivers, file=file and delivered_file(file), codes=codes)


def delivered_file(it: contents.StoredFile) -> Json:
    """Write a DeliveredFile."""
    return {"name": it.name, "mediaType": it.media_type, "size": it.size}


def public(public_url: str, it: PaymentRequest, now: int) -> Json:
    """Write a PublicAnswer, which needs no credentials."""
    return _public_fields(public_url, it, now) | given(
        expiresAt=field_types.iso_or_none(it.expires_at), seller=seller(it.seller)
    )


def payment(it: Payment, progress: contents.DeliveryProgress | None = None) -> Json:
    """Write a PaymentAnswer; `progress`: whether its payer has everything that was bought."""
    return given(
        transactionId=it.id,
        amount=amounts.from_minor(it.amount, it.currency),
        currencyCode=it.currency,
        receivers=_receivers(it.receivers, it.currency),
        userData=it.user_data,
        completedAt=field_types.iso(it.completed_at),
        paid=_paid(it.paid),
        settlement=None if it.state is PaymentState.PAID else it.state,
        **_how(it),
        quantity=it.quantity if it.quantity > 1 else None,
        firstUnit=it.first_unit if it.of_units else None,
        totalUnits=it.of_units,
        name=it.words.name,
        message=it.words.message,
        delivery=progress,
        **_marks(it.marks),
    )


def _marks(it: Marks) -> Json:
    if it == NO_MARKS:
        return {}
    return given(
        messageHidden=it.message_hidden or None,
        sentAt=field_types.iso_or_none(it.sent_at),
        sentNote=it.sent_note,
        paidBackAt=field_types.iso_or_none(it.paid_back_at),
        paidBackNote=it.paid_back_note,
    )


def _how(it: Payment) -> Json:
    """Return how money came; nothing for test money that came whole and without a claim."""
    is_plain = (
        it.rail == payout_account.SANDBOX
        and it.external_id == f"{payout_account.SANDBOX}-{it.checkout_id}"
    )
    if is_plain and it.state is not PaymentState.UNDERPAID:
        return {}
    return {"checkoutId": it.checkout_id, "paidBy": _paid_by(payment_reports.PaidBy.of(it))}


def _paid(it: Quote) -> Json | None:
    if it.rate is None:
        return None
    return {
        "amount": amounts.from_minor(it.amount, it.currency),
        "currencyCode": it.currency,
        "shares": [amounts.from_minor(share, it.currency) for share in it.shares],
        "rate": it.rate.rate,
        "rateSource": it.rate.source,
        "ratedAt": field_types.iso(it.rate.at),
    }


def stats(it: PaymentRequest, payers: int) -> Json:
    """Write a StatsAnswer, the public totals."""
    currency = it.terms.currency
    return {
        "totalPayments": it.payments_count,
        "totalVolume": amounts.from_minor(it.volume, currency),
        "currencyCode": currency,
        "uniqueUsers": payers,
    }


def event(it: payment_reports.WebhookReport | payment_reports.ClaimReport) -> bytes:
    """Write the body of a webhook, a WebhookEvent or a ClaimEvent."""
    fields = _claim(it) if isinstance(it, payment_reports.ClaimReport) else _payment_event(it)
    return exact_json.dumps(fields).encode()


def _payment_event(it: payment_reports.WebhookReport) -> Json:
    return given(
        paymentRequestId=it.request_id,
        transactionId=it.transaction_id,
        customParameters=_parameters(it.custom_parameters),
        userData=it.user_data,
        amount=amounts.from_minor(it.amount, it.currency),
        currencyCode=it.currency,
        remainingUnits=it.remaining_units,
        reservedUnits=it.reserved_units,
        oversold=it.oversold or None,
        completedAt=field_types.iso(it.completed_at),
        underpaid=it.underpaid or None,
        checkoutId=it.checkout_id,
        paidBy=it.paid_by and _paid_by(it.paid_by),
        quantity=it.quantity if it.quantity > 1 else None,
        name=it.name,
        message=it.message,
        codesWaiting=it.codes_waiting or None,
    )


def _claim(it: payment_reports.ClaimReport) -> Json:
    return given(
        event=WebhookEvent.CLAIMED,
        checkoutId=it.checkout_id,
        paymentRequestId=it.request_id,
        kind=it.rail,
        amount=amounts.from_minor(it.amount, it.currency),
        currencyCode=it.currency,
        reference=it.reference,
        customParameters=_parameters(it.custom_parameters),
        claimedAt=field_types.iso(it.claimed_at),
        unprovenClaims=it.unproven if it.unproven > 1 else None,
    )


def _paid_by(it: payment_reports.PaidBy) -> Json:
    return given(
        kind=it.kind,
        amount=amounts.from_minor(it.amount, it.currency),
        currencyCode=it.currency,
        reference=it.reference,
        rate=it.rate and Decimal(it.rate),
        rateSource=it.rate_source,
        ratedAt=field_types.iso_or_none(it.rated_at),
    )


def delivery_item(it: notification.Notification) -> Json:
    """Write a DeliveryItem: an item of the list, and the answer of a retry."""
    return given(
        id=it.id,
        paymentRequestId=it.request_id,
        transactionId=it.transaction_id,
        checkoutId=it.checkout_id,
        channel=it.channel,
        address=it.address,
        state=it.state,
        attempts=it.attempts,
        createdAt=field_types.iso(it.created_at),
        nextAt=field_types.iso_or_none(it.next_at),
        settledAt=field_types.iso_or_none(it.settled_at),
        note=it.note,
    )


def delivery(it: notification.Notification, attempts: Sequence[notification.Attempt]) -> Json:
    """Write a DeliveryAnswer, the answer of get."""
    return delivery_item(it) | {"log": [_attempt(one) for one in attempts]}


def _attempt(it: notification.Attempt) -> Json:
    return given(
        at=field_types.iso(it.at),
        tookMs=it.took,
        status=it.status,
        answer=it.answer or None,
        trouble=it.problem,
    )


def error(refusal: errors.Refused) -> Json:
    """Write an ErrorAnswer."""
    info = [given(field=one.field, message=one.message, code=one.code) for one in refusal.info]
    return {"code": refusal.code, "message": refusal.message, "info": info}


def given(**values: Any) -> Json:
    """Return the fields that have a value: an answer leaves out the others."""
    return {name: value for name, value in values.items() if value is not None}


def _request(public_url: str, it: PaymentRequest, now: int, end: str | int | None) -> Json:
    terms = it.terms
    parameters = terms.webhook.custom_parameters if terms.webhook else None
    return _public_fields(public_url, it, now) | given(
        currencyCode=terms.instrument,
        receivers=_receivers(terms.receivers, terms.currency),
        notifications=_notifications(it),
        customParameters=_parameters(parameters),
        createdAt=field_types.iso(it.created_at),
        expiresAt=end,
        seller=seller(terms.seller),
        thanks=terms.thanks,
        keepUrl=terms.keep_url,
    )


def _public_fields(public_url: str, it: PaymentRequest, now: int) -> Json:
    terms, price = it.terms, it.terms.price_before_discount
    return given(
        id=it.id,
        paymentRequestUrl=pay_url(public_url, it.id),
        paymentRequestQrCodeUrl=qr_url(public_url, it.id),
        isEnabled=it.is_enabled(now),
        status=it.public_status(now),
        product=product(terms.product),
        paymentAmount={
            "currencyCode": terms.instrument,
            "amount": amounts.from_minor(terms.amount, terms.currency),
            "denominatedIn": terms.currency,
        },
        priceBeforeDiscount=None if price is None else amounts.from_minor(price, terms.currency),
        requestedUserData=terms.requested_user_data,
        redirectUrl=terms.redirect_url,
        expirationType=terms.kind,
        **units(it),
        paymentsCount=it.payments_count,
        enabledAt=field_types.iso(it.created_at if it.enabled_at is None else it.enabled_at),
        **_giving(it),
    )


def _giving(it: PaymentRequest) -> Json:
    """Return what payers choose and get, and how far the goal is."""
    terms = it.terms
    choice, goal, currency = terms.choice, terms.goal, terms.currency
    if not (choice or goal or terms.max_quantity or it.delivers):  # most have none
        return {}
    return given(
        amountChoice=choice and _choice(choice, currency),
        goal=None if goal is None else amounts.from_minor(goal, currency),
        amountRaised=amounts.from_minor(it.raised, currency) if choice or goal else None,
        maxQuantity=terms.max_quantity,
        delivers=it.delivers,
    )


def _choice(it: AmountChoice, currency: str) -> Json:
    return given(
        minimum=amounts.from_minor(it.minimum, currency),
        suggested=[amounts.from_minor(amount, currency) for amount in it.suggested],
        maximum=None if it.maximum is None else amounts.from_minor(it.maximum, currency),
    )


def product(it: Product) -> Json:
    """Write a ProductAnswer."""
    return given(
        name=it.name,
        description=it.description,
        longDescription=it.long_description,
        imageUrl=it.image_url,
    )


def seller(it: SellerProfile | None) -> Json | None:
    """Write a SellerAnswer, None without a seller."""
    if it is None:
        return None
    return given(
        name=it.name,
        imageUrl=it.image_url,
        contact=it.contact,
        accentColor=it.accent,
        description=it.description,
    )


def _notifications(it: PaymentRequest) -> Json:
    asked = it.recipient if it.terms.email else None
    if asked and asked.state is notification.RecipientState.TRUSTED:
        asked = None
    return given(
        webhook=_webhook(it.terms.webhook),
        email=it.terms.email,
        emailState=asked and asked.state,
        emailConfirmedAt=asked and field_types.iso_or_none(asked.confirmed_at),
    )


def _receivers(receivers: Iterable[Receiver], currency: str) -> list[Json]:
    return [
        given(
            sendAmount=amounts.from_minor(receiver.amount, currency),
            currencyCode=currency,
            destination=receiver.destination,
            tags=receiver.tags or None,
        )
        for receiver in receivers
    ]


def _webhook(webhook: Webhook | None) -> Json | None:
    if webhook is None:
        return None
    text = webhook.custom_parameters
    parameters = None if text is None else exact_json.loads(text)
    return given(webhookUrl=webhook.url, customParameters=parameters, events=webhook.events)


def _parameters(text: str | None) -> Json:
    return exact_json.loads(text) if text else {}


def units(it: PaymentRequest) -> Json:
    """Return the units of a limited drop, nothing for other kinds."""
    if it.terms.kind is not Kind.LIMIT or it.units is None:
        return {}
    reserved = it.units.reserved or None
    return {
        "totalUnits": it.units.total,
        "remainingUnits": it.units.remaining,
        "reservedUnits": reserved,
    }
