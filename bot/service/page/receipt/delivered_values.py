"""The values of a receipt's part about what was bought: contents, units, the seller's marks.

Texts of the seller are shown as they are, with the web addresses in them as links.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.core.text import lists
from bot.service.model import receipt_links, redirects
from bot.service.model.request import Kind
from bot.service.page import page_times
from bot.service.page.page_times import PLACE
from bot.service.page.receipt.linked_text import linked
from bot.service.page.sellers_name import named

if TYPE_CHECKING:
    from bot.service.model.goods.delivered import Received, StoredFile
    from bot.service.model.request import Payment, PaymentRequest
    from bot.service.page.forms import Reader

SOON, SLOWEST = 10_000, 30_000
"""Milliseconds after which the page of a payer who waits for a code asks again."""

KILO, MEGA = 1024, 1024 * 1024
LISTED = 3
"""Units that are listed; more are shown as the first and the last."""


def delivered_values(
    reader: Reader, request: PaymentRequest, payment: Payment, received: Received | None
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
        "on_its_way_why": named(reader, request, "page-on-its-way-why", count=waiting),
        "units": _units(reader, request, payment),
        "watch": f"{place}?live" if waiting else None,
        "again": SOON,
        "slowest": SLOWEST,
        "refresh": SLOWEST // 1_000 if waiting else 0,
        "keep_url": _keep_url(request, payment),
        "bookmark": received is not None,
        **_marks(reader, request, payment),
    }


def _on_its_way(reader: Reader, received: Received) -> str:
    if received.codes:
        return reader.t("page-more-on-its-way", count=received.waiting)
    return reader.t("page-on-its-way", count=received.waiting)


def _file(reader: Reader, file: StoredFile, place: str) -> dict[str, str]:
    return {"name": file.name, "size": _size(reader, file.size), "url": f"{place}/file"}


def _size(reader: Reader, size: int) -> str:
    if size < KILO:
        return reader.t("page-size-bytes", size=size)
    if size < MEGA:
        return reader.t("page-size-kilobytes", size=-(-size // KILO))
    return reader.t("page-size-megabytes", size=round(size / MEGA, 1))


def _units(reader: Reader, request: PaymentRequest, payment: Payment) -> str | None:
    """Return which pieces of a drop these are: 7 of 100."""
    units, first = request.units, payment.first_unit
    if request.terms.kind is not Kind.LIMIT or units is None or first is None:
        return None
    if payment.marks.paid_back_at:
        return None
    total, last = units.offered, first + payment.quantity - 1
    if payment.quantity > LISTED:
        return reader.t("page-units-range", first=first, last=last, total=total)
    listed = lists.join([str(one) for one in range(first, last + 1)], reader.language)
    return reader.t("page-units", units=listed, total=total)


def _keep_url(request: PaymentRequest, payment: Payment) -> str | None:
    """Return where this receipt can be kept, also by who is owed a refund and waits for news."""
    url = request.terms.keep_url
    if url is None:
        return None
    return redirects.ascii_url(receipt_links.keep_link(url, request.id, payment.id))


def _marks(reader: Reader, request: PaymentRequest, payment: Payment) -> dict[str, Any]:
    """Return when the seller sent it or paid it back, with the seller's notes."""
    marks = payment.marks
    sent, back = marks.sent_at, marks.paid_back_at
    why = named(reader, request, "page-paid-back-why", at=PLACE)
    return {
        "sent": page_times.moment(reader, sent) if sent and not back else None,
        "sent_note": linked(marks.sent_note or ""),
        "paid_back": back is not None,
        "paid_back_why": page_times.timed(why, page_times.moment(reader, back or 0)),
        "paid_back_note": linked((back and marks.paid_back_note) or ""),
    }
