"""Answers of the interface, made from the service's types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from bot.core import exact_json
from bot.core.money import amounts
from bot.interface import answers, fields, parts, vocabulary
from bot.service.checkouts import checkout
from bot.service.goods import contents
from bot.service.notifications import notification, payer_letters
from bot.service.payments import account_rows, payment_reports
from bot.service.rails import rail
from bot.service.requests import request


def pay_url(public_url: str, request_id: str) -> str:
    """Return the URL of the pay page."""
    return f"{public_url}/pay/{request_id}"


def qr_url(public_url: str, request_id: str) -> str:
    """Return the URL of the QR picture."""
    return f"{public_url}/qr/{request_id}.png"


def receipt_url(public_url: str, payment: request.Payment) -> str:
    """Return the address of a receipt's page."""
    return f"{public_url}{request.receipt_path(payment.request_id, payment.id)}"


# Requests.


def whole(
    public_url: str,
    shown: request.PaymentRequest,
    now: int,
    file: contents.StoredFile | None = None,
) -> answers.RequestAnswer:
    """Return the answer of create, get and edit; `file` is what the request delivers."""
    return answers.RequestAnswer(
        **_own_fields(public_url, shown, now, file),
        expires_at=fields.iso_or_none(shown.expires_at),
    )


def item(
    public_url: str,
    shown: request.PaymentRequest,
    now: int,
    file: contents.StoredFile | None = None,
) -> answers.RequestItem:
    """Return an item of the list."""
    end = None if shown.expires_at is None else shown.expires_at // 1000
    return answers.RequestItem(**_own_fields(public_url, shown, now, file), expires_at=end)


def public(public_url: str, shown: request.PaymentRequest, now: int) -> answers.PublicAnswer:
    """Return the answer that needs no credentials."""
    return answers.PublicAnswer(
        **_public_fields(public_url, shown, now),
        expires_at=fields.iso_or_none(shown.expires_at),
        seller=seller(shown.seller),
    )


def _own_fields(
    public_url: str,
    shown: request.PaymentRequest,
    now: int,
    file: contents.StoredFile | None,
) -> dict[str, Any]:
    """Return the fields that the application sees, all but `expires_at`."""
    terms = shown.terms
    parameters = terms.webhook.custom_parameters if terms.webhook else None
    delivered = None
    if shown.delivers is not None:
        has_codes = shown.delivers is vocabulary.DeliveryKind.CODES
        codes = contents.count_codes(shown) if has_codes else None
        delivered = answers.DeliveryAnswerOfRequest(kind=shown.delivers, file=file, codes=codes)
    return _public_fields(public_url, shown, now) | {
        "currency_code": terms.instrument,
        "receivers": _receivers(terms.receivers, terms.currency),
        "notifications": _notifications(shown),
        "custom_parameters": _json(parameters) or {},
        "created_at": fields.iso(shown.created_at),
        "seller": seller(terms.seller),
        "shop": _json(terms.shop),
        "thanks": terms.thanks,
        "keep_url": terms.keep_url,
        "delivery": delivered,
    }


def _public_fields(public_url: str, shown: request.PaymentRequest, now: int) -> dict[str, Any]:
    terms, currency, price = shown.terms, shown.terms.currency, shown.terms.price_before_discount
    started = shown.created_at if shown.enabled_at is None else shown.enabled_at
    return {
        "id": shown.id,
        "payment_request_url": pay_url(public_url, shown.id),
        "payment_request_qr_code_url": qr_url(public_url, shown.id),
        "is_enabled": shown.is_enabled(now),
        "status": shown.public_status(now),
        "product": terms.product,
        "payment_amount": answers.PaymentAmount(
            currency_code=terms.instrument,
            amount=amounts.from_minor(terms.amount, currency),
            denominated_in=currency,
        ),
        "price_before_discount": None if price is None else amounts.from_minor(price, currency),
        "requested_user_data": terms.requested_user_data,
        "redirect_url": terms.redirect_url,
        "expiration_type": terms.kind,
        **units(shown),
        "payments_count": shown.payments_count,
        "enabled_at": fields.iso(started),
        **_giving(shown),
    }


def units(shown: request.PaymentRequest) -> dict[str, int | None]:
    """Return the units of a limited drop, nothing for other kinds."""
    if shown.terms.kind is not vocabulary.Kind.LIMIT or shown.units is None:
        return {}
    return {
        "total_units": shown.units.total,
        "remaining_units": shown.units.remaining,
        "reserved_units": shown.units.reserved or None,
    }


def _giving(shown: request.PaymentRequest) -> dict[str, Any]:
    """Return what payers choose and get, and how far the goal is."""
    terms = shown.terms
    choice, goal, currency = terms.choice, terms.goal, terms.currency
    if not (choice or goal or terms.max_quantity or shown.delivers):  # most have none
        return {}
    return {
        "amount_choice": choice and _choice(choice, currency),
        "goal": None if goal is None else amounts.from_minor(goal, currency),
        "amount_raised": amounts.from_minor(shown.raised, currency) if choice or goal else None,
        "max_quantity": terms.max_quantity,
        "delivers": shown.delivers,
    }


def _choice(choice: parts.AmountChoice[int], currency: str) -> answers.AmountChoiceAnswer:
    most = choice.maximum
    return answers.AmountChoiceAnswer(
        minimum=amounts.from_minor(choice.minimum, currency),
        suggested=[amounts.from_minor(amount, currency) for amount in choice.suggested],
        maximum=None if most is None else amounts.from_minor(most, currency),
    )


def seller(shown: request.SellerProfile | None) -> answers.SellerAnswer | None:
    """Return a seller, None without one."""
    if shown is None:
        return None
    return answers.SellerAnswer(
        name=shown.name,
        image_url=shown.image_url,
        contact=shown.contact,
        accent_color=shown.accent,
        description=shown.description,
    )


def _receivers(
    receivers: Iterable[request.Receiver], currency: str
) -> list[answers.ReceiverAnswer]:
    return [
        answers.ReceiverAnswer(
            send_amount=amounts.from_minor(receiver.amount, currency),
            currency_code=currency,
            destination=receiver.destination,
            tags=[*receiver.tags] or None,
        )
        for receiver in receivers
    ]


def _notifications(shown: request.PaymentRequest) -> answers.NotificationsAnswer:
    webhook = shown.terms.webhook
    asked = shown.recipient if shown.terms.email else None
    if asked and asked.state is notification.RecipientState.TRUSTED:
        asked = None
    return answers.NotificationsAnswer(
        webhook=webhook
        and answers.WebhookAnswer(
            webhook_url=webhook.url,
            custom_parameters=_json(webhook.custom_parameters),
            events=webhook.events and [*webhook.events],
        ),
        email=shown.terms.email,
        email_state=asked and asked.state.value,
        email_confirmed_at=asked and fields.iso_or_none(asked.confirmed_at),
    )


def _json(text: str | None) -> Any:
    return None if text is None else exact_json.loads(text)


def stats(shown: request.PaymentRequest, payers: int) -> answers.StatsAnswer:
    """Return the public totals."""
    currency = shown.terms.currency
    return answers.StatsAnswer(
        total_payments=shown.payments_count,
        total_volume=amounts.from_minor(shown.volume, currency),
        currency_code=currency,
        unique_users=payers,
    )


# Payments.


def payment(
    paid: request.Payment, progress: vocabulary.DeliveryProgress | None = None
) -> answers.PaymentAnswer:
    """Return a payment; `progress` is that of its delivery."""
    return answers.PaymentAnswer(**_payment_fields(paid, progress))


def marked_payment(
    paid: request.Payment, progress: vocabulary.DeliveryProgress | None, *, notified: bool
) -> answers.MarkedPaymentAnswer:
    """Return a payment whose marks were set; `notified` if its payer gets a letter about them."""
    return answers.MarkedPaymentAnswer(
        **_payment_fields(paid, progress), payer_notified="email" if notified else None
    )


def _payment_fields(
    paid: request.Payment, progress: vocabulary.DeliveryProgress | None
) -> dict[str, Any]:
    marks = paid.marks
    return {
        "transaction_id": paid.id,
        "amount": amounts.from_minor(paid.amount, paid.currency),
        "currency_code": paid.currency,
        "receivers": _receivers(paid.receivers, paid.currency),
        "user_data": paid.user_data,
        "completed_at": fields.iso(paid.completed_at),
        "paid": _paid(paid.paid),
        "settlement": None if paid.state is request.PaymentState.PAID else paid.state.value,
        **_how(paid),
        "quantity": paid.quantity if paid.quantity > 1 else None,
        "first_unit": paid.first_unit if paid.of_units else None,
        "total_units": paid.of_units,
        "name": paid.words.name,
        "message": paid.words.message,
        "delivery": progress,
        "message_hidden": marks.message_hidden or None,
        "sent_at": fields.iso_or_none(marks.sent_at),
        "sent_note": marks.sent_note,
        "paid_back_at": fields.iso_or_none(marks.paid_back_at),
        "paid_back_note": marks.paid_back_note,
    }


def _how(paid: request.Payment) -> dict[str, Any]:
    """Return how money arrived; nothing for test money that arrived whole and without a claim."""
    is_plain = (
        paid.rail == vocabulary.SANDBOX
        and paid.external_id == f"{vocabulary.SANDBOX}-{paid.checkout_id}"
    )
    if is_plain and paid.state is not request.PaymentState.UNDERPAID:
        return {}
    return {
        "checkout_id": paid.checkout_id,
        "paid_by": payment_reports.paid_by(payment_reports.PaidBy.of(paid)),
    }


def _paid(quote: request.Quote) -> answers.PaidAnswer | None:
    if quote.rate is None:
        return None
    return answers.PaidAnswer(
        amount=amounts.from_minor(quote.amount, quote.currency),
        currency_code=quote.currency,
        shares=[amounts.from_minor(share, quote.currency) for share in quote.shares],
        rate=quote.rate.rate,
        rate_source=quote.rate.source,
        rated_at=fields.iso(quote.rate.at),
    )


# Files, codes and receipts.


def file(stored: contents.StoredFile) -> answers.FileAnswer:
    """Return an uploaded file."""
    return answers.FileAnswer.model_validate(stored)


def added_codes(counts: contents.CodeCounts, added: int) -> answers.AddedCodesAnswer:
    """Return the numbers of codes after some were added."""
    return answers.AddedCodesAnswer(
        total=counts.total, assigned=counts.assigned, waiting=counts.waiting, added=added
    )


def receipt(
    public_url: str,
    shown: request.PaymentRequest,
    paid: request.Payment,
    received: contents.Received | None,
) -> answers.ReceiptAnswer:
    """Return a receipt; only the holder of the receipt's address may read it."""
    marks, file = paid.marks, received and received.file
    is_back = marks.paid_back_at is not None
    is_sold = paid.took_unit and not is_back
    return answers.ReceiptAnswer(
        product=shown.terms.product,
        seller=seller(shown.seller),
        amount=amounts.from_minor(paid.amount, paid.currency),
        currency_code=paid.currency,
        quantity=paid.quantity,
        units=payer_letters.unit_numbers(shown, paid) if is_sold else None,
        completed_at=fields.iso(paid.completed_at),
        status="paidBack" if is_back else "oversold" if paid.oversold else "paid",
        thanks=shown.terms.thanks if is_sold else None,
        sent_at=fields.iso_or_none(marks.sent_at),
        sent_note=marks.sent_note,
        paid_back_at=fields.iso_or_none(marks.paid_back_at),
        paid_back_note=marks.paid_back_note,
        receipt_url=receipt_url(public_url, paid),
        delivery=received
        and answers.ReceivedAnswer(
            state=received.progress,
            text=received.text,
            file=file
            and answers.ReceivedFile(
                name=file.name,
                media_type=file.media_type,
                size=file.size,
                url=f"{receipt_url(public_url, paid)}/file",
            ),
            codes=[*received.codes] or None,
        ),
    )


# Payout accounts and checkouts.


def payout(
    owner: str, account: rail.Connected | account_rows.PayoutAccount
) -> answers.PayoutAnswer:
    """Return an account; one that was checked and not stored has neither an id nor a time."""
    stored = account if isinstance(account, account_rows.PayoutAccount) else None
    return answers.PayoutAnswer(
        id=stored and stored.id,
        owner=owner,
        kind=account.kind,
        scheme=account.scheme or None,
        automatic=account.automatic,
        currency=account.currencies[0],
        currencies=[*account.currencies],
        label=account.label,
        created_at=stored and fields.iso(stored.created_at),
    )


def opened(shown: checkout.Checkout, now: int) -> answers.CheckoutAnswer:
    """Return a checkout."""
    return answers.CheckoutAnswer(
        id=shown.id,
        payment_request_id=shown.request_id,
        kind=shown.kind,
        state=shown.state(now),
        amount=amounts.from_minor(shown.quote.amount, shown.quote.currency),
        currency_code=shown.quote.currency,
        expires_at=fields.iso(shown.ends_at),
        reference=shown.reference,
        pay_with=shown.pay_with,
    )


# Deliveries of webhooks and letters.


def delivery_item(sent: notification.Notification) -> answers.DeliveryItem:
    """Return an item of the list, which is also the answer of a retry."""
    return answers.DeliveryItem(**_delivery_fields(sent))


def delivery(
    sent: notification.Notification, attempts: Sequence[notification.Attempt]
) -> answers.DeliveryAnswer:
    """Return a delivery with its attempts."""
    log = [
        answers.AttemptAnswer(
            at=fields.iso(one.at),
            took_ms=one.took,
            status=one.status,
            answer=one.answer or None,
            trouble=one.problem,
        )
        for one in attempts
    ]
    return answers.DeliveryAnswer(**_delivery_fields(sent), log=log)


def _delivery_fields(sent: notification.Notification) -> dict[str, Any]:
    return {
        "id": sent.id,
        "payment_request_id": sent.request_id,
        "transaction_id": sent.transaction_id,
        "checkout_id": sent.checkout_id,
        "channel": sent.channel.value,
        "address": sent.address,
        "state": sent.state,
        "attempts": sent.attempts,
        "created_at": fields.iso(sent.created_at),
        "next_at": fields.iso_or_none(sent.next_at),
        "settled_at": fields.iso_or_none(sent.settled_at),
        "note": sent.note,
    }
