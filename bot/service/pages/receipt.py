"""The values of a receipt's page."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from bot.core import errors
from bot.core.database import database
from bot.core.text import contacts, links, phrases
from bot.service.checkouts import checkout, checkout_rows, order
from bot.service.goods import contents, files, fulfillment
from bot.service.http import callers, routes
from bot.service.notifications import notification, notification_rows
from bot.service.pages import checkout_values, page_texts, page_values, payer_form, render
from bot.service.payments import payment_rows
from bot.service.payouts import payout_account
from bot.service.requests import request_rows
from bot.service.requests.request import Kind, Payment, PaymentRequest, PaymentState, ascii_url
from bot.service.wire import json_answers

# Web addresses in the seller's texts on a receipt, as links.


_ADDRESS = re.compile(r"https?://[^\s<>\"\u200e\u200f\u202a-\u202e\u2066-\u2069]+", re.IGNORECASE)
_SENTENCE = ".,;:!?…'’”»،؛؟。，、"  # noqa: RUF001 - marks of several scripts
"""Marks that end a sentence or a quotation, and no address."""

_BRACKETS = {")": "(", "]": "[", "}": "{"}


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a text; `url` where it is an address."""

    text: str
    url: str | None = None


def linked(text: str) -> tuple[TextPart, ...]:
    """Split a text at its web addresses. An address that no browser can open stays text."""
    parts, done = [], 0
    for found in _ADDRESS.finditer(text):
        address = _without_marks(found[0])
        url = _url(address)
        if url is None:
            continue
        start = found.start()
        parts += [TextPart(text[done:start]), TextPart(address, url)]
        done = start + len(address)
    return tuple(part for part in (*parts, TextPart(text[done:])) if part.text)


def _without_marks(address: str) -> str:
    """Remove the marks behind an address, and brackets that it doesn't open itself."""
    while address:
        last = address[-1]
        opening = _BRACKETS.get(last)
        closes = opening is not None and address.count(last) > address.count(opening)
        if last not in _SENTENCE and not closes:
            break
        address = address[:-1]
    return address


def _url(address: str) -> str | None:
    try:
        return ascii_url(links.check_redirect(address, schemes=links.WEB))
    except ValueError:
        return None


# The values of a receipt's part about what was bought: contents, units, the seller's marks.
#
# Texts of the seller are shown as they are, with the web addresses in them as links.


SOON, SLOWEST = 10_000, 30_000
"""Milliseconds after which the page of a payer who waits for a code asks again."""

KILO, MEGA = 1024, 1024 * 1024
LISTED = 3
"""Units that are listed; more are shown as the first and the last."""


def delivered_values(
    reader: payer_form.Reader,
    request: PaymentRequest,
    payment: Payment,
    received: contents.Received | None,
) -> dict[str, Any]:
    """Return what a payment's holder is shown of what was bought; `again` while it waits."""
    waiting = received.waiting if received else 0
    place = f"/pay/{request.id}/receipt/{payment.id}"
    return {
        "text": linked((received and received.text) or ""),
        "file": received and received.file and _file(reader, received.file, place),
        "codes": received.codes if received else (),
        "codes_title": reader.t("page-codes", count=len(received.codes) if received else 0),
        "on_its_way": _on_its_way(reader, received) if received and waiting else None,
        "on_its_way_why": page_texts.named_seller(
            reader, request, "page-on-its-way-why", count=waiting
        ),
        "units": _units(reader, request, payment),
        "watch": f"{place}?live" if waiting else None,
        "again": SOON,
        "slowest": SLOWEST,
        "refresh": SLOWEST // 1_000 if waiting else 0,
        "keep_url": _keep_url(request, payment),
        "bookmark": received is not None,
        **_marks(reader, request, payment),
    }


def _on_its_way(reader: payer_form.Reader, received: contents.Received) -> str:
    if received.codes:
        return reader.t("page-more-on-its-way", count=received.waiting)
    return reader.t("page-on-its-way", count=received.waiting)


def _file(reader: payer_form.Reader, file: contents.StoredFile, place: str) -> dict[str, str]:
    return {"name": file.name, "size": _size(reader, file.size), "url": f"{place}/file"}


def _size(reader: payer_form.Reader, size: int) -> str:
    if size < KILO:
        return reader.t("page-size-bytes", size=size)
    if size < MEGA:
        return reader.t("page-size-kilobytes", size=-(-size // KILO))
    return reader.t("page-size-megabytes", size=round(size / MEGA, 1))


def _units(reader: payer_form.Reader, request: PaymentRequest, payment: Payment) -> str | None:
    """Return which units of a drop these are: 7 of 100."""
    units, first = request.units, payment.first_unit
    if request.terms.kind is not Kind.LIMIT or units is None or first is None:
        return None
    if payment.marks.paid_back_at:
        return None
    total, last = units.offered, first + payment.quantity - 1
    if payment.quantity > LISTED:
        return reader.t("page-units-range", first=first, last=last, total=total)
    listed = phrases.join_list([str(one) for one in range(first, last + 1)], reader.language)
    return reader.t("page-units", units=listed, total=total)


def _keep_url(request: PaymentRequest, payment: Payment) -> str | None:
    """Return where this receipt can be kept, also by who is owed a refund and waits for news."""
    url = request.terms.keep_url
    if url is None:
        return None
    return ascii_url(notification.keep_link(url, request.id, payment.id))


def _marks(reader: payer_form.Reader, request: PaymentRequest, payment: Payment) -> dict[str, Any]:
    """Return when the seller sent it or paid it back, with the seller's notes."""
    marks = payment.marks
    sent, back = marks.sent_at, marks.paid_back_at
    why = page_texts.named_seller(reader, request, "page-paid-back-why", at=page_texts.PLACE)
    return {
        "sent": page_texts.moment(reader, sent) if sent and not back else None,
        "sent_note": linked(marks.sent_note or ""),
        "paid_back": back is not None,
        "paid_back_why": page_texts.timed_text(why, page_texts.moment(reader, back or 0)),
        "paid_back_note": linked((back and marks.paid_back_note) or ""),
    }


LETTER_TEXTS = {
    notification.NotificationState.DELIVERED: "receipt-emailed",
    notification.NotificationState.WAITING: "receipt-emailing",
    notification.NotificationState.SENDING: "receipt-emailing",
}
"""What a receipt's page says of its letter; nothing where that was not sent."""


APPS = {"tg": "Telegram", "whatsapp": "WhatsApp"}
"""Names of applications that people know, by their schemes."""

SHORT = 8
"""Characters that are shown of both ends of a payment hash."""


def receipt_page(
    reader: payer_form.Reader,
    request: PaymentRequest,
    payment: Payment,
    url: str,
    received: contents.Received | None = None,
) -> dict[str, Any]:
    """Return the values of a receipt, the payer's data masked: people share its address.

    `url` is the address of the payment link. The payer's message is not shown.
    """
    goods = delivered_values(reader, request, payment, received)
    is_kept = payment.took_unit and not goods["paid_back"]
    return {
        "name": request.terms.product.name,
        "link": url,
        "link_text": contacts.contact_text(url),
        "scripted": True,
        **_paid_values(reader, payment),
        "oversold": payment.oversold,
        "thanks": linked(request.terms.thanks or "") if is_kept else (),
        "goods": goods,
        **{name: goods[name] for name in ("watch", "again", "slowest", "refresh")},
        "pieces": page_texts.quantity_text(
            reader, payment.amount, payment.currency, payment.quantity
        ),
        "payer_name": order.masked_name(payment.words.name),
        "has_message": payment.words.message is not None,
        "amount": page_texts.money_text(payment.amount, payment.currency, reader.tag),
        "when": page_texts.moment(reader, payment.completed_at),
        "payer": [
            (f"page-{field}", order.masked(field, value))
            for field, value in payment.user_data.items()
        ],
        "transaction_id": payment.id,
    }


def _paid_values(reader: payer_form.Reader, payment: Payment) -> dict[str, Any]:
    """Return what was paid and its rate, None where it is just the price."""
    paid = payment.paid
    differs = paid.rate is not None or paid.amount != payment.amount
    return {
        "paid": page_texts.money_text(paid.amount, paid.currency, reader.tag) if differs else None,
        "rate": page_values.rate_text(reader, payment.currency, paid, "moment"),
    }


def onward_link(
    reader: payer_form.Reader, request: PaymentRequest, payment: Payment, url: str
) -> dict[str, Any] | None:
    """Return the link to the seller's site or app, for who has what was paid for."""
    if not payment.took_unit or payment.marks.paid_back_at:
        return None
    target = request.terms.redirect_url or url
    host = links.shown_host(target)
    if host is None:
        scheme = target.partition(":")[0].lower()
        key = "page-continue-in" if scheme in APPS else "page-continue-app"
        text = reader.t(key, app=APPS.get(scheme, scheme))
        return {"url": url, "text": [text, ""], "place": ""}
    parts = reader.t("page-continue", host=page_texts.PLACE).split(page_texts.PLACE)
    return {"url": url, "text": parts, "place": host}


def paid_by(reader: payer_form.Reader, held: checkout.Checkout) -> dict[str, Any]:
    """Return how real money came: by which way, its reference at the bank, its payment hash."""
    number = held.external_id or ""
    short = f"{number[:SHORT]}…{number[-SHORT:]}" if len(number) > 2 * SHORT else number
    return {
        "paid_by": reader.t(f"page-way-{checkout_values.way_name(held)}"),
        "reference": held.reference,
        "hash": None if held.kind == payout_account.BANK else short,
    }


def emailed(reader: payer_form.Reader, letter: notification.ReceiptLetter | None) -> str | None:
    """Return where the receipt was emailed to, or is about to be; None where it is not."""
    if letter is None or letter.state not in LETTER_TEXTS:
        return None
    address = order.masked("email", letter.address)
    return reader.t(LETTER_TEXTS[letter.state], address=address)


# `/pay/{id}/receipt/{transactionId}`: the receipt, for who has its address.


receipt_router = APIRouter(include_in_schema=False, route_class=routes.PlainRoute)


@receipt_router.api_route("/pay/{id}/receipt/{transaction_id}", methods=["GET", "HEAD"])
async def receipt(request: Request) -> Response:
    """Show the receipt of a payment, also after its request was deleted."""
    service, found, payment = await _find_paid(request)
    if payment.state is PaymentState.UNDERPAID:  # nothing was sold: the checkout's page says so
        checkout = checkout_values.checkout_path(found.id, payment.checkout_id)
        return RedirectResponse(checkout, 303, render.HEADERS)
    reader = payer_form.reader(request)
    url = json_answers.pay_url(service.public_url, found.id)
    received = await fulfillment.read_received(service.db, payment)
    values = receipt_page(reader, found, payment, url, received)
    held = None
    if payment.rail != payout_account.SANDBOX:
        held = await checkout_rows.read(service.db, found.id, payment.checkout_id)
    values |= paid_by(reader, held) if held else {"paid_by": None}
    letter = emailed(reader, await _letter(service, payment))
    values |= {"emailed": letter, "now": service.now()}
    onward = checkout_values.redirect(service, found, payment)
    values["onward"] = onward and onward_link(reader, found, payment, onward)
    return checkout_values.outcome_page("receipt.html", service, reader, found, values)


async def _find_paid(request: Request) -> tuple[callers.Service, PaymentRequest, Payment]:
    """Return the request and the payment of a receipt's address. Raises NotFound, RateLimited.

    A page that asks again by itself, for a code to come, counts as an open page.
    """
    is_open = "live" in request.query_params
    service = callers.admit_open_page(request) if is_open else callers.admit_payer(request)
    request_id, transaction_id = (request.path_params[name] for name in ("id", "transaction_id"))
    payment = await payment_rows.read(service.db, request_id, transaction_id)
    found = await request_rows.read_ever(service.db, request_id, service.now())
    if payment is None or found is None:
        if is_open:
            callers.admit_payer(request)
        raise errors.NotFound
    return service, found, payment


async def _letter(service: callers.Service, payment: Payment) -> notification.ReceiptLetter | None:
    """Return the receipt that is emailed to the payer, None where none is."""
    if not service.policy.mails or "email" not in payment.user_data:
        return None
    return await notification_rows.read_receipt(service.db, payment)


# The download of what was bought: for who has the receipt's address, and never a page of ours.


HEADERS = {
    "Accept-Ranges": "bytes",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex",
}
"""A stranger's file is saved, never shown as a page of ours; nobody stores or lists it."""

file_router = APIRouter(include_in_schema=False, route_class=routes.PlainRoute)


@file_router.api_route("/pay/{id}/receipt/{transaction_id}/file", methods=["GET", "HEAD"])
async def download(request: Request) -> Response:
    """Return the file that a payment bought, or the part of it that is asked for."""
    service = callers.admit_payer(request)
    request_id, payment_id = (request.path_params[name] for name in ("id", "transaction_id"))
    file = await _bought(service.db, request_id, payment_id)
    callers.state_of(request).limits.downloads.hit(payment_id)
    whole = request.method == "GET"
    # Only GET has parts (RFC 9110, 14.2); without validators no condition of If-Range can hold.
    has_parts = whole and "if-range" not in request.headers
    asked = request.headers.get("range") if has_parts else None
    try:
        part = contents.read_range(asked, file.size)
    except contents.Unsatisfiable:
        return Response(
            status_code=416, headers=HEADERS | {"Content-Range": f"bytes */{file.size}"}
        )
    return _answer(service.db, file, part, whole=whole)


async def _bought(db: database.Database, request_id: str, payment_id: str) -> contents.StoredFile:
    """Return the file that a payment bought; the error never says why there is none."""
    payment = await payment_rows.read(db, request_id, payment_id)
    received = await fulfillment.read_received(db, payment) if payment else None
    if received is None or received.file is None:
        raise errors.NotFound
    return received.file


def _answer(
    db: database.Database, file: contents.StoredFile, part: range | None, *, whole: bool
) -> Response:
    """Answer with a file or a part of it; with its headers alone unless `whole`."""
    sent = range(file.size) if part is None else part
    headers = HEADERS | {
        "Content-Disposition": contents.disposition(file.name),
        "Content-Length": str(len(sent)),
    }
    if part is not None:
        headers["Content-Range"] = f"bytes {sent.start}-{sent.stop - 1}/{file.size}"
    # A charset that Starlette would add to texts is not ours to know.
    headers["Content-Type"] = file.media_type
    status = 200 if part is None else 206
    if not whole:
        return Response(status_code=status, headers=headers)
    return StreamingResponse(_slices(db, file.id, sent), status, headers)


async def _slices(db: database.Database, file_id: str, sent: range) -> AsyncIterator[bytes]:
    """Yield bytes as the client takes them: a slow one keeps one slice in memory."""
    at = sent.start
    while at < sent.stop:
        data = await files.read_slice(db, file_id, at, sent.stop)
        yield data
        at += len(data)
