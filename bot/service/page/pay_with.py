"""What a payer pays with, as the page of a checkout shows it: an invoice or a bank's code."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from bot.core.money import amounts
from bot.service.model import payout
from bot.service.model.checkout_states import CheckoutState
from bot.service.page.pay_ways import name_of
from bot.service.page.sellers_name import named

if TYPE_CHECKING:
    from bot.service.model.checkout import Checkout
    from bot.service.model.rail_answers import PayWith
    from bot.service.model.request import PaymentRequest
    from bot.service.page.forms import Reader

FIELDS = ("key", "id", "holder", "address", "city", "iban", "bic", "amount")
"""The copyable fields of banks beside the reference, which have a label each."""

GROUPED = frozenset({"iban"})
"""Fields that people read in groups of four; the copy has none."""

SHOWN: frozenset[str] = frozenset({CheckoutState.OPEN, CheckoutState.CLAIMED})
"""States in which a page shows what to pay with."""


def way_name(held: Checkout) -> str:
    """Return the way of a checkout as payers know it, `lightning` or the bank's scheme."""
    kind, _, scheme = held.way.partition(":")
    return name_of(kind, scheme)


def code_text(held: Checkout) -> str | None:
    """Return the text of the QR picture, None without one.

    An invoice is in upper case, which makes the picture smaller (BOLT 11 section "Encoding").
    """
    if held.pay_with is None:
        return None
    invoice = held.pay_with.lightning_invoice
    return f"lightning:{invoice}".upper() if invoice else held.pay_with.qr_text


def values(reader: Reader, request: PaymentRequest, held: Checkout, shown: str) -> dict[str, Any]:
    """Return the values of the code, its link and its fields; `pay_with` None shows nothing."""
    given = held.pay_with
    if given is None or shown not in SHOWN:
        return {"pay_with": None}
    name = way_name(held)
    fields = dict(given.fields)
    reference = fields.pop("reference", None)
    invoice, code = given.lightning_invoice, fields.pop("code", None)
    return {
        "pay_with": {
            "folded": shown == CheckoutState.CLAIMED,
            "picture": f"/pay/{held.request_id}/checkout/{held.id}/code.png",
            "picture_text": reader.t(f"page-code-{name}"),
            "link": _link(given),
            "opens": "page-open-wallet" if invoice else "page-open-upi",
            "quiet": held.kind == payout.BANK or not held.automatic,  # "I've paid" follows
            "long": invoice or code,
            "long_name": "page-field-invoice" if invoice else "page-field-code",
            "fields": [_field(reader, *field) for field in fields.items()],
            "reference": reference,
            "reference_hint": named(reader, request, "page-reference-hint"),
        }
    }


def _link(given: PayWith) -> str | None:
    """Return the address that opens a wallet; banks' apps have one for UPI alone."""
    if given.lightning_invoice:
        return f"lightning:{given.lightning_invoice}"
    return given.qr_text if given.qr_text and given.qr_text.startswith("upi:") else None


def _field(reader: Reader, field: str, value: str) -> dict[str, str]:
    if field == "amount":
        value = _local(reader, value)
    groups = " ".join(value[at : at + 4] for at in range(0, len(value), 4))
    return {
        "label": reader.t(f"page-field-{field}"),
        "shown": groups if field in GROUPED else value,
        "value": value,
    }


def _local(reader: Reader, number: str) -> str:
    """Return a number as banking apps of this language take it: `12,30`, never `1,230`."""
    mark = amounts.format_number(Decimal("0.5"), reader.tag)[1]
    return number.replace(".", mark)
