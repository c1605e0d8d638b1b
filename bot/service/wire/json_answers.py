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
    public_url: str, request: PaymentRequest, now: int, file: contents.StoredFile | None = None
) -> Json:
    """Write a RequestAnswer, the answer of create, get and edit; `file` is what it delivers."""
    written = _request(public_url, request, now, field_types.iso_or_none(request.expires_at))
    return written | given(delivery=delivery_of_request(request, file))


def item(
    public_url: str, request: PaymentRequest, now: int, file: contents.StoredFile | None = None
) -> Json:
    """Write a RequestItem, an item of the list."""
    end = None if request.expires_at is None else request.expires_at // 1000
    written = _request(public_url, request, now, end)
    return written | given(delivery=delivery_of_request(request, file))


def delivery_of_request(request: PaymentRequest, file: contents.StoredFile | None) -> Json | None:
    """Write a DeliveryAnswerOfRequest, None if nothing is delivered."""
    if request.delivers is None:
        return None
    has_codes = request.delivers is DeliveryKind.CODES
    codes = asdict(contents.count_codes(request)) if has_codes else None
    return given(kind=request.delivers, file=file and delivered_file(file), codes=codes)


def delivered_file(file: contents.StoredFile) -> Json:
    """Write a DeliveredFile."""
    return {"name": file.name, "mediaType": file.media_type, "size": file.size}


def public(public_url: str, request: PaymentRequest, now: int) -> Json:
    """Write a PublicAnswer, which needs no credentials."""
    return _public_fields(public_url, request, now) | given(
        expiresAt=field_types.iso_or_none(request.expires_at), seller=seller(request.seller)
    )


def payment(payment: Payment, progress: contents.DeliveryProgress | None = None) -> Json:
    """Write a PaymentAnswer; `progress` is that of its delivery."""
    return given(
        transactionId=payment.id,
        amount=amounts.from_minor(payment.amount, payment.currency),
        currencyCode=payment.currency,
        receivers=_receivers(payment.receivers, payment.currency),
        userData=payment.user_data,
        completedAt=field_types.iso(payment.completed_at),
        paid=_paid(payment.paid),
        settlement=None if payment.state is PaymentState.PAID else payment.state,
        **_how(payment),
        quantity=payment.quantity if payment.quantity > 1 else None,
        firstUnit=payment.first_unit if payment.of_units else None,
        totalUnits=payment.of_units,
        name=payment.words.name,
        message=payment.words.message,
        delivery=progress,
        **_marks(payment.marks),
    )


def _marks(marks: Marks) -> Json:
    if marks == NO_MARKS:
        return {}
    return given(
        messageHidden=marks.message_hidden or None,
        sentAt=field_types.iso_or_none(marks.sent_at),
        sentNote=marks.sent_note,
        paidBackAt=field_types.iso_or_none(marks.paid_back_at),
        paidBackNote=marks.paid_back_note,
    )


def _how(payment: Payment) -> Json:
    """Return how money arrived; nothing for test money that arrived whole and without a claim."""
    is_plain = (
        payment.rail == payout_account.SANDBOX
        and payment.external_id == f"{payout_account.SANDBOX}-{payment.checkout_id}"
    )
    if is_plain and payment.state is not PaymentState.UNDERPAID:
        return {}
    return {
        "checkoutId": payment.checkout_id,
        "paidBy": _paid_by(payment_reports.PaidBy.of(payment)),
    }


def _paid(quote: Quote) -> Json | None:
    if quote.rate is None:
        return None
    return {
        "amount": amounts.from_minor(quote.amount, quote.currency),
        "currencyCode": quote.currency,
        "shares": [amounts.from_minor(share, quote.currency) for share in quote.shares],
        "rate": quote.rate.rate,
        "rateSource": quote.rate.source,
        "ratedAt": field_types.iso(quote.rate.at),
    }


def stats(request: PaymentRequest, payers: int) -> Json:
    """Write a StatsAnswer, the public totals."""
    currency = request.terms.currency
    return {
        "totalPayments": request.payments_count,
        "totalVolume": amounts.from_minor(request.volume, currency),
        "currencyCode": currency,
        "uniqueUsers": payers,
    }


def event(report: payment_reports.WebhookReport | payment_reports.ClaimReport) -> bytes:
    """Write the body of a webhook, a WebhookEvent or a ClaimEvent."""
    if isinstance(report, payment_reports.ClaimReport):
        return exact_json.dumps(_claim(report)).encode()
    return exact_json.dumps(_payment_event(report)).encode()


def _payment_event(report: payment_reports.WebhookReport) -> Json:
    return given(
        paymentRequestId=report.request_id,
        transactionId=report.transaction_id,
        customParameters=_parameters(report.custom_parameters),
        userData=report.user_data,
        amount=amounts.from_minor(report.amount, report.currency),
        currencyCode=report.currency,
        remainingUnits=report.remaining_units,
        reservedUnits=report.reserved_units,
        oversold=report.oversold or None,
        completedAt=field_types.iso(report.completed_at),
        underpaid=report.underpaid or None,
        checkoutId=report.checkout_id,
        paidBy=report.paid_by and _paid_by(report.paid_by),
        quantity=report.quantity if report.quantity > 1 else None,
        name=report.name,
        message=report.message,
        codesWaiting=report.codes_waiting or None,
    )


def _claim(claim: payment_reports.ClaimReport) -> Json:
    return given(
        event=WebhookEvent.CLAIMED,
        checkoutId=claim.checkout_id,
        paymentRequestId=claim.request_id,
        kind=claim.rail,
        amount=amounts.from_minor(claim.amount, claim.currency),
        currencyCode=claim.currency,
        reference=claim.reference,
        customParameters=_parameters(claim.custom_parameters),
        claimedAt=field_types.iso(claim.claimed_at),
        unprovenClaims=claim.unproven if claim.unproven > 1 else None,
    )


def _paid_by(paid_by: payment_reports.PaidBy) -> Json:
    return given(
        kind=paid_by.kind,
        amount=amounts.from_minor(paid_by.amount, paid_by.currency),
        currencyCode=paid_by.currency,
        reference=paid_by.reference,
        rate=paid_by.rate and Decimal(paid_by.rate),
        rateSource=paid_by.rate_source,
        ratedAt=field_types.iso_or_none(paid_by.rated_at),
    )


def delivery_item(delivery: notification.Notification) -> Json:
    """Write a DeliveryItem: an item of the list, and the answer of a retry."""
    return given(
        id=delivery.id,
        paymentRequestId=delivery.request_id,
        transactionId=delivery.transaction_id,
        checkoutId=delivery.checkout_id,
        channel=delivery.channel,
        address=delivery.address,
        state=delivery.state,
        attempts=delivery.attempts,
        createdAt=field_types.iso(delivery.created_at),
        nextAt=field_types.iso_or_none(delivery.next_at),
        settledAt=field_types.iso_or_none(delivery.settled_at),
        note=delivery.note,
    )


def delivery(delivery: notification.Notification, attempts: Sequence[notification.Attempt]) -> Json:
    """Write a DeliveryAnswer, the answer of get."""
    return delivery_item(delivery) | {"log": [_attempt(one) for one in attempts]}


def _attempt(attempt: notification.Attempt) -> Json:
    return given(
        at=field_types.iso(attempt.at),
        tookMs=attempt.took,
        status=attempt.status,
        answer=attempt.answer or None,
        trouble=attempt.problem,
    )


def error(refusal: errors.Refused) -> Json:
    """Write an ErrorAnswer."""
    info = [given(field=one.field, message=one.message, code=one.code) for one in refusal.info]
    return {"code": refusal.code, "message": refusal.message, "info": info}


def given(**values: Any) -> Json:
    """Return the fields that have a value: an answer leaves out the others."""
    return {name: value for name, value in values.items() if value is not None}


def _request(public_url: str, request: PaymentRequest, now: int, end: str | int | None) -> Json:
    terms = request.terms
    parameters = terms.webhook.custom_parameters if terms.webhook else None
    return _public_fields(public_url, request, now) | given(
        currencyCode=terms.instrument,
        receivers=_receivers(terms.receivers, terms.currency),
        notifications=_notifications(request),
        customParameters=_parameters(parameters),
        createdAt=field_types.iso(request.created_at),
        expiresAt=end,
        seller=seller(terms.seller),
        thanks=terms.thanks,
        keepUrl=terms.keep_url,
    )


def _public_fields(public_url: str, request: PaymentRequest, now: int) -> Json:
    terms, price = request.terms, request.terms.price_before_discount
    return given(
        id=request.id,
        paymentRequestUrl=pay_url(public_url, request.id),
        paymentRequestQrCodeUrl=qr_url(public_url, request.id),
        isEnabled=request.is_enabled(now),
        status=request.public_status(now),
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
        **units(request),
        paymentsCount=request.payments_count,
        enabledAt=field_types.iso(
            request.created_at if request.enabled_at is None else request.enabled_at
        ),
        **_giving(request),
    )


def _giving(request: PaymentRequest) -> Json:
    """Return what payers choose and get, and how far the goal is."""
    terms = request.terms
    choice, goal, currency = terms.choice, terms.goal, terms.currency
    if not (choice or goal or terms.max_quantity or request.delivers):  # most have none
        return {}
    return given(
        amountChoice=choice and _choice(choice, currency),
        goal=None if goal is None else amounts.from_minor(goal, currency),
        amountRaised=amounts.from_minor(request.raised, currency) if choice or goal else None,
        maxQuantity=terms.max_quantity,
        delivers=request.delivers,
    )


def _choice(choice: AmountChoice, currency: str) -> Json:
    return given(
        minimum=amounts.from_minor(choice.minimum, currency),
        suggested=[amounts.from_minor(amount, currency) for amount in choice.suggested],
        maximum=None if choice.maximum is None else amounts.from_minor(choice.maximum, currency),
    )


def product(product: Product) -> Json:
    """Write a ProductAnswer."""
    return given(
        name=product.name,
        description=product.description,
        longDescription=product.long_description,
        imageUrl=product.image_url,
    )


def seller(seller: SellerProfile | None) -> Json | None:
    """Write a SellerAnswer, None without a seller."""
    if seller is None:
        return None
    return given(
        name=seller.name,
        imageUrl=seller.image_url,
        contact=seller.contact,
        accentColor=seller.accent,
        description=seller.description,
    )


def _notifications(request: PaymentRequest) -> Json:
    asked = request.recipient if request.terms.email else None
    if asked and asked.state is notification.RecipientState.TRUSTED:
        asked = None
    return given(
        webhook=_webhook(request.terms.webhook),
        email=request.terms.email,
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


def units(request: PaymentRequest) -> Json:
    """Return the units of a limited drop, nothing for other kinds."""
    if request.terms.kind is not Kind.LIMIT or request.units is None:
        return {}
    reserved = request.units.reserved or None
    return {
        "totalUnits": request.units.total,
        "remainingUnits": request.units.remaining,
        "reservedUnits": reserved,
    }
