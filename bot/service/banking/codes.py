"""Bank codes: the texts that payers' bank apps read from a QR picture.

EPC069-12 version 2 (SEPA), the static BR Code of Pix, the link of UPI, the Swiss QR code. Each
names the payee, the amount and the reference; texts are folded to what the format takes.
"""

from __future__ import annotations

import re
from binascii import crc_hqx
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from bot.core.money import amounts
from bot.service.banking import characters, ibans
from bot.service.banking.accounts import ADDRESS, LONGEST_NAME
from bot.service.model.rail_answers import PayWith

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST = 999_999_999_99
"""Minor units: the most that EPC and Swiss codes can ask for. All four currencies have cents."""

PIX_NAME, PIX_CITY = 25, 15
"""Characters that a BR Code has room for; the payer's app shows the whole name of the key."""

_SLASHES = re.compile(r"/{2,}")


def pay_with(details: Mapping[str, Any], amount: int, currency: str, reference: str) -> PayWith:
    """Return the code's text and what a payer may copy instead, in the order of typing.

    `details` are those of `accounts.connect`, `amount` minor units up to MOST. The fields are
    `code` (the whole text, only where banks have a place to paste it: Pix), `key`, `id`, `holder`,
    `address` (lines), `city`, `iban` (without spaces), `bic`, `amount` (`12.30`) and `reference`.
    """
    price = f"{amounts.from_minor(amount, currency):f}"
    text, shown = _BUILDERS[details["scheme"]](details, price, currency, reference)
    fields = [*shown.items(), ("amount", price), ("reference", reference)]
    return PayWith(qr_text=text, fields=tuple((name, value) for name, value in fields if value))


def _epc(
    details: Mapping[str, Any], price: str, currency: str, reference: str
) -> tuple[str, dict[str, str]]:
    """Build an EPC code with charset 1, UTF-8; nothing follows the last element that is given.

    The reference is free text, which every bank passes on, and not the structured one, for which
    many apps have no field.
    """
    iban, bic = details["iban"], details.get("bic", "")
    german = iban[:2] in ibans.GERMAN
    name = characters.fold(details["name"], characters.SEPA, german=german) or ""
    # EPC217-08, section 6.2: no double slash, and none at the ends.
    name = _SLASHES.sub("/", name).strip("/ ")[:LONGEST_NAME].strip("/ ")
    lines = ["BCD", "002", "1", "SCT", bic, name, iban, f"{currency}{price}", "", "", reference]
    return "\n".join(lines), {"holder": details["name"], "iban": iban, "bic": bic}


def _pix(
    details: Mapping[str, Any], price: str, _currency: str, reference: str
) -> tuple[str, dict[str, str]]:
    """Build a static BR Code, whose transaction id is the reference."""
    account = _tlv("00", "br.gov.bcb.pix") + _tlv("01", details["key"])
    name = _cut(details["name"], characters.PIX, PIX_NAME)
    city = _cut(details["city"], characters.PIX, PIX_CITY)
    parts = [
        *(_tlv("00", "01"), _tlv("26", account), _tlv("52", "0000"), _tlv("53", "986")),
        *(_tlv("54", price), _tlv("58", "BR"), _tlv("59", name), _tlv("60", city)),
        *(_tlv("62", _tlv("05", reference)), "6304"),
    ]
    body = "".join(parts)
    text = body + f"{crc_hqx(body.encode('ascii'), 0xFFFF):04X}"
    shown = {"code": text, "key": details["key"], "holder": details["name"]}
    return text, shown | {"city": details["city"]}


def _tlv(tag: str, value: str) -> str:
    """Return a field of EMV's QR codes: tag, length in two digits, value."""
    return f"{tag}{len(value):02}{value}"


def _cut(text: str, taken: re.Pattern[str], room: int) -> str:
    """Return the folded text, cut to the format's room: some letters become two."""
    return (characters.fold(text, taken) or "")[:room].strip()


def _upi(
    details: Mapping[str, Any], price: str, currency: str, reference: str
) -> tuple[str, dict[str, str]]:
    """Build a UPI link between people: apps refuse a person's link with a merchant's fields.

    `@` stays as it is, because some apps don't decode it.
    """
    values = {"pa": details["id"], "pn": details["name"], "am": price}
    values |= {"cu": currency, "tn": reference}
    query = "&".join(f"{name}={quote(value, safe='@')}" for name, value in values.items())
    return f"upi://pay?{query}", {"id": details["id"], "holder": details["name"]}


def _swiss(
    details: Mapping[str, Any], price: str, currency: str, reference: str
) -> tuple[str, dict[str, str]]:
    """Build a Swiss QR code (SPC 0200, Guidelines 2.3), its reference a creditor reference.

    The address is structured, as it has to be since November 2025; the debtor is left open.
    """
    address = details["address"]
    creditor = [
        _cut(details["name"], characters.SWISS, LONGEST_NAME),
        *(_cut(address[name], characters.SWISS, most) for name, most in ADDRESS.items()),
        address["country"],
    ]
    nobody = [""] * 7
    lines = ["SPC", "0200", "1", details["iban"], "S", *creditor, *nobody, price, currency, *nobody]
    street = f"{address['street']} {address['houseNumber']}".strip()
    town = f"{address['country']}-{address['postalCode']} {address['town']}"
    shown = {"holder": details["name"], "address": "\n".join(filter(None, (street, town)))}
    text = "\r\n".join([*lines, "SCOR", reference, "", "EPD"])
    return text, shown | {"iban": details["iban"]}


_BUILDERS = {"sepa": _epc, "pix": _pix, "upi": _upi, "swiss": _swiss}
