"""Files, codes and receipts as JSON, with the schemas of goods_schemas.py."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from bot.core.money import amounts
from bot.service.model.request import Kind
from bot.service.wire.field_types import iso, iso_or_none
from bot.service.wire.json_answers import delivered_file, given, pay_url, product, seller

if TYPE_CHECKING:
    from bot.service.model.goods.delivered import CodeCounts, Received, StoredFile
    from bot.service.model.request import Payment, PaymentRequest
    from bot.service.wire.json_answers import Json


def uploaded(it: StoredFile) -> Json:
    """Write a FileAnswer."""
    return {"id": it.id, **delivered_file(it)}


def added_codes(counts: CodeCounts, added: int) -> Json:
    """Write an AddedCodesAnswer."""
    return {"added": added, **asdict(counts)}


def receipt_url(public_url: str, payment: Payment) -> str:
    """Return the address of a receipt's page."""
    return f"{pay_url(public_url, payment.request_id)}/receipt/{payment.id}"


def file_url(public_url: str, payment: Payment) -> str:
    """Return the address at which the holder of a receipt downloads the file."""
    return f"{receipt_url(public_url, payment)}/file"


def receipt(
    public_url: str, request: PaymentRequest, payment: Payment, received: Received | None
) -> Json:
    """Write a ReceiptAnswer; only the holder of the receipt's address may read it."""
    marks = payment.marks
    return given(
        product=product(request.terms.product),
        seller=seller(request.seller),
        amount=amounts.from_minor(payment.amount, payment.currency),
        currencyCode=payment.currency,
        quantity=payment.quantity,
        units=_units(request, payment),
        completedAt=iso(payment.completed_at),
        status=_status(payment),
        thanks=request.terms.thanks if _is_sold(payment) else None,
        sentAt=iso_or_none(marks.sent_at),
        sentNote=marks.sent_note,
        paidBackAt=iso_or_none(marks.paid_back_at),
        paidBackNote=marks.paid_back_note,
        receiptUrl=receipt_url(public_url, payment),
        delivery=received and _received(public_url, payment, received),
    )


def _is_sold(payment: Payment) -> bool:
    return payment.took_unit and payment.marks.paid_back_at is None


def _status(payment: Payment) -> str:
    if payment.marks.paid_back_at is not None:
        return "paidBack"
    return "oversold" if payment.oversold else "paid"


def _units(request: PaymentRequest, payment: Payment) -> Json | None:
    """Return the numbers of a drop's units; other kinds have none that mean anything.

    Nothing is left to number of what was paid back.
    """
    first, is_back = payment.first_unit, payment.marks.paid_back_at is not None
    if request.terms.kind is not Kind.LIMIT or request.units is None or first is None or is_back:
        return None
    if not _is_sold(payment):
        return None
    return {
        "first": first,
        "last": first + payment.quantity - 1,
        "total": request.units.offered,
    }


def _received(public_url: str, payment: Payment, it: Received) -> Json:
    file = it.file and delivered_file(it.file) | {"url": file_url(public_url, payment)}
    return given(state=it.progress, text=it.text, file=file, codes=it.codes or None)
