"""The rail for bank transfers, with codes and references. The seller confirms the money.

Payers' bank apps read the codes from a QR picture: EPC069-12 version 2 (SEPA), the static BR Code
of Pix, the UPI link, and the Swiss QR code. Each contains the payee, the amount and the reference,
in the characters of its format.
"""

from __future__ import annotations

import io
import re
import secrets
from binascii import crc_hqx
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from stdnum.iso7064 import mod_97_10

from bot.core.money import amounts
from bot.interface import vocabulary
from bot.service.rails import bank_accounts, rail

if TYPE_CHECKING:
    from PIL import Image

REFERENCE_ALPHABET = "23456789CDFHJKMNPQRTVWXY"
"""No two characters look alike, and there are no vowels, so references don't spell words."""

REFERENCE_LENGTH = 6
REFERENCE_PREFIX = "RF"


def new_reference() -> str:
    """Return a random reference such as `RF564K7MXQ`, out of 190 million.

    The payer writes it on the transfer, so that the seller finds the payment. It is a creditor
    reference (ISO 11649): `RF`, two check digits, and random characters. Ten characters fit every
    bank code format. Many bank apps check the digits, so that the payer notices a typo before
    paying.
    """
    body = "".join(secrets.choice(REFERENCE_ALPHABET) for _ in range(REFERENCE_LENGTH))
    return f"{REFERENCE_PREFIX}{mod_97_10.calc_check_digits(body + REFERENCE_PREFIX)}{body}"


MOST_AMOUNT = 999_999_999_99
"""The highest amount of EPC and Swiss codes, in minor units; all four currencies have cents."""

PIX_NAME, PIX_CITY = 25, 15
"""Maximum characters in a BR Code; the payer's app shows the full name from the key."""

_SLASHES = re.compile(r"/{2,}")


def pay_with(
    details: Mapping[str, Any], amount: int, currency: str, reference: str
) -> rail.PayWith:
    """Return the code's text, and the fields that a payer may copy instead, in typing order.

    `details` come from `bank_accounts.connect`; `amount` is at most MOST_AMOUNT minor units. The
    fields are `code` (the whole text; only Pix, whose apps have a field to paste it), `key`, `id`,
    `holder`, `address` (lines), `city`, `iban` (without spaces), `bic`, `amount` (`12.30`) and
    `reference`.
    """
    price = f"{amounts.from_minor(amount, currency):f}"
    text, shown = _BUILDERS[details["scheme"]](details, price, currency, reference)
    fields = [*shown.items(), ("amount", price), ("reference", reference)]
    return rail.PayWith(
        qr_text=text, fields=tuple((name, value) for name, value in fields if value)
    )


def _epc(
    details: Mapping[str, Any], price: str, currency: str, reference: str
) -> tuple[str, dict[str, str]]:
    """Build an EPC code with charset 1, UTF-8.

    The reference is sent as free text, which every bank passes on; many apps have no field for a
    structured reference.
    """
    iban, bic = details["iban"], details.get("bic", "")
    german = iban[:2] in bank_accounts.GERMAN_COUNTRIES
    name = bank_accounts.fold(details["name"], bank_accounts.SEPA_CHARACTERS, german=german) or ""
    # EPC217-08, section 6.2: no double slash, no slash at the ends.
    name = _SLASHES.sub("/", name).strip("/ ")[: bank_accounts.LONGEST_NAME].strip("/ ")
    lines = ["BCD", "002", "1", "SCT", bic, name, iban, f"{currency}{price}", "", "", reference]
    return "\n".join(lines), {"holder": details["name"], "iban": iban, "bic": bic}


def _pix(
    details: Mapping[str, Any], price: str, _currency: str, reference: str
) -> tuple[str, dict[str, str]]:
    """Build a static BR Code, whose transaction id is the reference."""
    account = _tlv("00", "br.gov.bcb.pix") + _tlv("01", details["key"])
    name = _fitted(details["name"], bank_accounts.PIX_CHARACTERS, PIX_NAME)
    city = _fitted(details["city"], bank_accounts.PIX_CHARACTERS, PIX_CITY)
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
    """Return a field of an EMV QR code: tag, length in two digits, value."""
    return f"{tag}{len(value):02}{value}"


def _fitted(text: str, taken: re.Pattern[str], room: int) -> str:
    """Return the folded text, cut to `room` characters. Folding doubles some letters."""
    return (bank_accounts.fold(text, taken) or "")[:room].strip()


def _upi(
    details: Mapping[str, Any], price: str, currency: str, reference: str
) -> tuple[str, dict[str, str]]:
    """Build a person-to-person UPI link: apps refuse a person's link with merchant fields.

    `@` is not encoded, because some apps don't decode it.
    """
    values = {"pa": details["id"], "pn": details["name"], "am": price}
    values |= {"cu": currency, "tn": reference}
    query = "&".join(f"{name}={quote(value, safe='@')}" for name, value in values.items())
    return f"upi://pay?{query}", {"id": details["id"], "holder": details["name"]}


def _swiss(
    details: Mapping[str, Any], price: str, currency: str, reference: str
) -> tuple[str, dict[str, str]]:
    """Build a Swiss QR code (SPC 0200, Guidelines 2.3) with a creditor reference.

    The address is structured, as required since November 2025; the debtor is left open.
    """
    address = details["address"]
    creditor = [
        _fitted(details["name"], bank_accounts.SWISS_CHARACTERS, bank_accounts.LONGEST_NAME),
        *(
            _fitted(address[name], bank_accounts.SWISS_CHARACTERS, most)
            for name, most in bank_accounts.ADDRESS_LENGTHS.items()
        ),
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


class BankRail(rail.Rail):
    """Bank transfers, which only the seller can confirm."""

    kind = vocabulary.BANK

    async def connect(self, details: Mapping[str, Any]) -> rail.Connected:
        """Check an account as banks do. Raises InvalidBody."""
        return bank_accounts.connect(details)

    def open_offline(self, charge: rail.Charge) -> rail.Opened | None:
        """Return the code, or None if codes can't express the amount."""
        if charge.amount > MOST_AMOUNT:
            return None
        shown = pay_with(charge.details, charge.amount, charge.currency, charge.reference)
        return rail.Opened(charge.reference, shown, poll_times=())

    async def open(self, charge: rail.Charge) -> rail.Opened | rail.Unavailable:
        """Return why `open_offline` could not open the checkout."""
        return self.open_offline(charge) or rail.Unavailable("tooLarge", f"more than {MOST_AMOUNT}")

    async def poll(self, charge: rail.Charge, opened: rail.Opened) -> rail.PollAnswer:
        """Return that nothing is known, because the seller confirms payments."""
        del charge, opened
        return rail.Waiting()


# The picture of a Swiss code, for pages and for printing.

SIDE, CROSS, QUIET = 46, 7, 5
"""Millimetres of the Swiss code, its cross and the margin, whatever the code's version (SIX,
Implementation Guidelines QR-bill 2.3, chapter 6)."""

LEAST_VERSION = 14
"""Versions 7 to 13 have an alignment pattern under the cross, and ZBar mistakes the cross for it.
"""

BORDER = 8
"""Modules of margin: wider than QUIET in each version that a Swiss text needs (up to 14)."""

_UNITS = 19
"""Units of the cross's side: a white frame around a black square with the white cross."""

_FRAME, _LENGTH, _WIDTH = 0.7, 11, 3.3
_INCH = 25.4


def swiss_picture(text: str) -> bytes:
    """Return a 1-bit PNG with the Swiss cross in its middle, which prints 46 millimetres wide."""
    from bot.core.images import qr  # noqa: PLC0415 - Pillow costs memory

    small = qr.module_image(text, border=BORDER, least_version=LEAST_VERSION)
    size = small.width - 2 * BORDER
    scale = -(-qr.MIN_PIXELS // size)
    picture, code = qr.enlarge(small, scale), size * scale
    unit = code * CROSS / SIDE / _UNITS
    inner = unit * (_UNITS - 2 * _FRAME)
    _fill(picture, unit * _UNITS, unit * _UNITS, 1)
    _fill(picture, inner, inner, 0)
    _fill(picture, unit * _WIDTH, unit * _LENGTH, 1)
    _fill(picture, unit * _LENGTH, unit * _WIDTH, 1)
    out = io.BytesIO()
    density = code / SIDE * _INCH
    picture.save(out, "PNG", dpi=(density, density))
    return out.getvalue()


def _fill(picture: Image.Image, width: float, height: float, colour: int) -> None:
    """Fill a rectangle in the middle of the picture."""
    left, top = round((picture.width - width) / 2), round((picture.height - height) / 2)
    corner = (picture.width - 1 - left, picture.height - 1 - top)
    picture.paste(colour, (left, top, corner[0] + 1, corner[1] + 1))
