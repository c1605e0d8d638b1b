"""The page and download of a payment's receipt, which anyone with its address may read."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from bot.core import errors
from bot.core.database import database
from bot.core.text import contacts, links, translations
from bot.interface import vocabulary
from bot.service.api import callers, calls, to_answers
from bot.service.checkouts import checkout, checkout_rows, order
from bot.service.goods import contents, files, fulfillment
from bot.service.notifications import notification, notification_rows, payer_letters
from bot.service.pages import checkout_values, page_texts, page_values, render
from bot.service.payments import payment_rows
from bot.service.requests import request_rows
from bot.service.requests.request import (
    Payment,
    PaymentRequest,
    PaymentState,
    ascii_url,
    checkout_path,
    receipt_path,
)

# Web addresses in the seller's texts, as links.


_ADDRESS = re.compile(r"https?://[^\s<>\"\u200e\u200f\u202a-\u202e\u2066-\u2069]+", re.IGNORECASE)
_SENTENCE = ".,;:!?…'’”»،؛؟。，、"  # noqa: RUF001 - marks of several scripts
"""Marks that end a sentence or a quotation, but not an address."""

_BRACKETS = {")": "(", "]": "[", "}": "{"}


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a text; `url` is set if it is an address."""

    text: str
    url: str | None = None


def linked(text: str) -> tuple[TextPart, ...]:
    """Split a text at its web addresses. An address that no browser can open stays text."""
    parts, done = [], 0
    for found in _ADDRESS.finditer(text):
        address = _without_marks(found[0])
        try:
            url = ascii_url(links.check_redirect(address, schemes=links.WEB))
        except ValueError:
            continue
        start = found.start()
        parts += [TextPart(text[done:start]), TextPart(links.shown_url(address), url)]
        done = start + len(address)
    return tuple(part for part in (*parts, TextPart(text[done:])) if part.text)


def _without_marks(address: str) -> str:
    """Remove punctuation after an address, and closing brackets without an opening bracket."""
    while address:
        last = address[-1]
        opening = _BRACKETS.get(last)
        closes = opening is not None and address.count(last) > address.count(opening)
        if last not in _SENTENCE and not closes:
            break
        address = address[:-1]
    return address


# What was bought: contents, units, the seller's marks.


AGAIN_MS, SLOWEST_MS = 10_000, 30_000
"""Time until the page of a payer who waits for a code asks again: at first, and at most."""


def delivered_values(
    locale: page_texts.Locale,
    request: PaymentRequest,
    payment: Payment,
    received: contents.Received | None,
) -> dict[str, Any]:
    """Return the values of the goods; the page asks again while codes are missing."""
    waiting = received.waiting if received else 0
    path = receipt_path(payment.request_id, payment.id)
    keep, units, on_its_way = request.terms.keep_url, None, None
    numbers = payer_letters.unit_numbers(request, payment)
    if numbers and not payment.marks.paid_back_at:
        shown = translations.unit_numbers(numbers.first, numbers.last, locale.language)
        units = locale.t("page-units", units=shown, total=numbers.total)
    if received and waiting:
        key = "page-more-on-its-way" if received.codes else "page-on-its-way"
        on_its_way = locale.t(key, count=waiting)
    return {
        "text": linked((received and received.text) or ""),
        "file": received
        and received.file
        and {
            "name": received.file.name,
            "size": translations.file_size(received.file.size, locale.language),
            "url": f"{path}/file",
        },
        "codes": received.codes if received else (),
        "codes_title": locale.t("page-codes", count=len(received.codes) if received else 0),
        "on_its_way": on_its_way,
        "on_its_way_why": page_texts.seller_text(
            locale, request, "page-on-its-way-why", count=waiting
        ),
        "units": units,
        "watch": f"{path}?live" if waiting else None,
        "again": AGAIN_MS,
        "slowest": SLOWEST_MS,
        "refresh": SLOWEST_MS // 1_000 if waiting else 0,
        "keep_url": keep and ascii_url(notification.keep_link(keep, request.id, payment.id)),
        "bookmark": received is not None,
        **_marks(locale, request, payment),
    }


def _marks(locale: page_texts.Locale, request: PaymentRequest, payment: Payment) -> dict[str, Any]:
    """Return when the seller sent the goods or paid the money back, with the seller's notes."""
    marks = payment.marks
    sent, back = marks.sent_at, marks.paid_back_at
    why = page_texts.seller_text(locale, request, "page-paid-back-why", at=page_texts.PLACE)
    return {
        "sent": locale.moment(sent) if sent and not back else None,
        "sent_note": linked(marks.sent_note or ""),
        "paid_back": back is not None,
        "paid_back_why": page_texts.timed_text(why, locale.moment(back or 0)),
        "paid_back_note": linked((back and marks.paid_back_note) or ""),
    }


LETTER_TEXTS = {
    vocabulary.NotificationState.DELIVERED: "receipt-emailed",
    vocabulary.NotificationState.WAITING: "receipt-emailing",
    vocabulary.NotificationState.SENDING: "receipt-emailing",
}
"""What the page says about the emailed receipt in each state."""

APPS = {"tg": "Telegram", "whatsapp": "WhatsApp"}
"""Names of well-known applications by URL scheme."""

SHORT = 8
"""Characters of each end of a payment hash that are shown."""


def receipt_page(
    locale: page_texts.Locale,
    request: PaymentRequest,
    payment: Payment,
    url: str,
    received: contents.Received | None = None,
) -> dict[str, Any]:
    """Return the values of a receipt; `url` is the address of its pay page.

    The payer's data is masked and the message hidden, because people share receipt links.
    """
    goods = delivered_values(locale, request, payment, received)
    is_kept = payment.took_unit and not goods["paid_back"]
    paid = payment.paid
    differs = paid.rate is not None or paid.amount != payment.amount
    return {
        "name": request.terms.product.name,
        "link": url,
        "link_text": contacts.contact_text(url),
        "scripted": True,
        "paid": locale.money(paid.amount, paid.currency) if differs else None,
        "rate": page_values.rate_text(locale, payment.currency, paid, "moment"),
        "oversold": payment.oversold,
        "thanks": linked(request.terms.thanks or "") if is_kept else (),
        "goods": goods,
        **{name: goods[name] for name in ("watch", "again", "slowest", "refresh")},
        "quantity": page_texts.quantity_text(
            locale, payment.amount, payment.currency, payment.quantity
        ),
        "payer_name": order.masked_name(payment.words.name),
        "has_message": payment.words.message is not None,
        "amount": locale.money(payment.amount, payment.currency),
        "when": locale.moment(payment.completed_at),
        "payer": [
            (f"page-{field}", order.masked(field, value))
            for field, value in payment.user_data.items()
        ],
        "transaction_id": payment.id,
    }


def onward_link(
    locale: page_texts.Locale, request: PaymentRequest, payment: Payment, url: str
) -> dict[str, Any] | None:
    """Return the link to the seller's site or app, or None if the payer got no unit."""
    if not payment.took_unit or payment.marks.paid_back_at:
        return None
    target = request.terms.redirect_url or url
    host = links.shown_host(target)
    if host is None:
        scheme = target.partition(":")[0].lower()
        key = "page-continue-in" if scheme in APPS else "page-continue-app"
        text = locale.t(key, app=APPS.get(scheme, scheme))
        return {"url": url, "text": [text, ""], "place": ""}
    parts = locale.t("page-continue", host=page_texts.PLACE).split(page_texts.PLACE)
    return {"url": url, "text": parts, "place": host}


def paid_by(locale: page_texts.Locale, held: checkout.Checkout) -> dict[str, Any]:
    """Return how real money was paid: the way, the bank's reference, the payment hash."""
    number = held.external_id or ""
    short = f"{number[:SHORT]}…{number[-SHORT:]}" if len(number) > 2 * SHORT else number
    return {
        "paid_by": locale.t(f"page-way-{checkout_values.way_name(held)}"),
        "reference": held.reference,
        "hash": None if held.kind == vocabulary.BANK else short,
    }


def emailed(locale: page_texts.Locale, letter: notification.ReceiptLetter | None) -> str | None:
    """Return the text about the emailed receipt, or None if there is no such receipt."""
    if letter is None or letter.state not in LETTER_TEXTS:
        return None
    address = order.masked("email", letter.address)
    return locale.t(LETTER_TEXTS[letter.state], address=address)


# `/pay/{id}/receipt/{transactionId}`.


router = APIRouter(include_in_schema=False)


@router.api_route("/pay/{id}/receipt/{transaction_id}", methods=["GET", "HEAD"])
async def receipt(
    request: Request,
    request_id: calls.RowId,
    transaction_id: str,
    service: callers.ServiceDep,
    live: str | None = None,
) -> Response:
    """Show the receipt of a payment, also after its request was deleted.

    A call with `live`, by the script of a page that waits for a code, is counted as an open page.
    """
    await (callers.admit_payer if live is None else callers.admit_open_page)(request)
    payment = await payment_rows.read(service.db, request_id, transaction_id)
    found = await request_rows.read_ever(service.db, request_id, service.now())
    if payment is None or found is None:
        if live is not None:
            await callers.admit_payer(request)
        raise errors.NotFound
    if payment.state is PaymentState.UNDERPAID:  # nothing was sold: the checkout's page says so
        checkout = checkout_path(found.id, payment.checkout_id)
        return RedirectResponse(checkout, 303, render.HEADERS)
    locale = page_texts.locale_of(request)
    url = to_answers.pay_url(service.public_url, found.id)
    received = await fulfillment.read_received(service.db, payment)
    values = receipt_page(locale, found, payment, url, received)
    held = None
    if payment.rail != vocabulary.SANDBOX:
        held = await checkout_rows.read(service.db, found.id, payment.checkout_id)
    values |= paid_by(locale, held) if held else dict.fromkeys(("paid_by", "reference", "hash"))
    letter = None
    if service.policy.mails and "email" in payment.user_data:
        letter = await notification_rows.read_receipt(service.db, payment)
    values |= {"emailed": emailed(locale, letter), "now": service.now()}
    onward = checkout_values.redirect(service, found, payment)
    values["onward"] = onward and onward_link(locale, found, payment, onward)
    return checkout_values.outcome_page("receipt.html", service, locale, found, values)


# The download.


DOWNLOAD_HEADERS = {
    "Accept-Ranges": "bytes",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex",
}
"""The file is not ours, so browsers must save it instead of showing it as our page, and nobody may
cache or index it.
"""


@router.api_route("/pay/{id}/receipt/{transaction_id}/file", methods=["GET", "HEAD"])
async def download(
    request: Request,
    request_id: calls.RowId,
    transaction_id: str,
    service: callers.PayerDep,
) -> Response:
    """Return the file that a payment bought, or the requested range of it.

    NotFound doesn't say why there is no file.
    """
    payment = await payment_rows.read(service.db, request_id, transaction_id)
    received = await fulfillment.read_received(service.db, payment) if payment else None
    if received is None or received.file is None:
        raise errors.NotFound
    file = received.file
    callers.state_of(request).limits.downloads.hit(transaction_id)
    is_get = request.method == "GET"
    # Only GET has ranges (RFC 9110, 14.2); without validators no condition of If-Range can hold.
    has_range = is_get and "if-range" not in request.headers
    try:
        part = contents.read_range(request.headers.get("range") if has_range else None, file.size)
    except contents.Unsatisfiable:
        headers = DOWNLOAD_HEADERS | {"Content-Range": f"bytes */{file.size}"}
        return Response(status_code=416, headers=headers)
    sent = range(file.size) if part is None else part
    headers = DOWNLOAD_HEADERS | {
        "Content-Disposition": contents.disposition(file.name),
        "Content-Length": str(len(sent)),
        # Set here, because Starlette would add a charset to texts that we don't know.
        "Content-Type": file.media_type,
    }
    if part is not None:
        headers["Content-Range"] = f"bytes {sent.start}-{sent.stop - 1}/{file.size}"
    status = 200 if part is None else 206
    if not is_get:
        return Response(status_code=status, headers=headers)
    return StreamingResponse(_slices(service.db, file.id, sent), status, headers)


async def _slices(db: database.Database, file_id: str, sent: range) -> AsyncIterator[bytes]:
    """Yield bytes as the client reads them: a slow client keeps one slice in memory."""
    at = sent.start
    while at < sent.stop:
        data = await files.read_slice(db, file_id, at, sent.stop)
        yield data
        at += len(data)
