"""Records of exports: the interface's names, exact amounts, times in UTC."""

from __future__ import annotations

from typing import Any

from bot.core import exact_json
from bot.core.database import database
from bot.core.money import amounts
from bot.service.wire import field_types, json_answers

PAYER = ("paymail", "email", "phoneNumber")
"""What payers entered about themselves."""

UNITS = ("totalUnits", "remainingUnits", "reservedUnits")
"""Empty for a request without units."""


def payment(row: database.Row, *, payers: bool) -> dict[str, Any]:
    """Return the record of a payment, with its payer and the notes on it if `payers`.

    Words that the seller has hidden stay out; `messageHidden` says so. `kind` and `externalId` are
    the rail and its id: an invoice's, a bank transfer's reference.
    """
    currency, paid_in = row["currency"], row["instrument_currency"]
    record = {
        "transactionId": row["id"],
        "paymentRequestId": row["request_id"],
        "product": row["name"],
        "completedAt": field_types.iso(row["completed_at"]),
        "amount": amounts.from_minor(row["amount"], currency),
        "currencyCode": currency,
        "paidAmount": amounts.from_minor(row["instrument_amount"], paid_in),
        "paidCurrencyCode": paid_in,
        "rate": row["rate"],
        "rateSource": row["rate_source"],
        "kind": row["rail"],
        "externalId": row["external_id"],
        "settlement": row["state"],
        "quantity": row["quantity"],
        "sentAt": field_types.iso_or_none(row["sent_at"]),
        "paidBackAt": field_types.iso_or_none(row["paid_back_at"]),
        "messageHidden": bool(row["message_hidden"]),
        "receivers": [
            {"destination": to, "amount": amounts.from_minor(share, currency)}
            for to, share, *_ in exact_json.loads(row["receivers"])
        ],
    }
    if payers:
        data = exact_json.loads(row["user_data"])
        record |= {name: data.get(name) for name in PAYER}
        record |= {
            "name": None if row["message_hidden"] else row["payer_name"],
            "message": None if row["message_hidden"] else row["message"],
            "sentNote": row["sent_note"],
            "paidBackNote": row["paid_back_note"],
        }
    return record


def request(row: database.Row) -> dict[str, Any]:
    """Return the record of a request with its totals, oversold payments too.

    Its units are those of the interface's answer.
    """
    currency = row["denomination_currency"] or row["instrument_currency"]
    return {
        "paymentRequestId": row["id"],
        "product": row["name"],
        "createdAt": field_types.iso(row["created_at"]),
        "expirationType": row["expiration_type"],
        "amount": amounts.from_minor(row["amount"], currency),
        "currencyCode": currency,
        **(dict.fromkeys(UNITS) | json_answers.units(row["request"])),
        "payments": row["request"].payments_count,
        "oversold": row["oversold_count"],
        "volume": amounts.from_minor(row["request"].volume, currency),
        "enabledAt": field_types.iso_or_none(row["enabled_at"]),
        "expiresAt": field_types.iso_or_none(row["expires_at"]),
        "deletedAt": field_types.iso_or_none(row["deleted_at"]),
        "seller": row["request"].seller and row["request"].seller.name,
    }
