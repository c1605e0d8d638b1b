"""Banks: a code and a reference to pay with, and the seller's word that the money came."""

from __future__ import annotations

import re
import secrets
from binascii import crc_hqx
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from stdnum.iso7064 import mod_97_10

from bot.core.money import amounts
from bot.service.payouts import payout_account
from bot.service.rails import bank_accounts, rail

# References: what a payer writes on a bank transfer, so that the seller finds the payment.
#
# A reference is a creditor reference of ISO 11649 (`RF`, two check digits) with six characters of
# our own: ten in all, which fit each format of a bank code. The apps of many banks check it, so
# that a mistyped one is noticed before the money leaves.


ALPHABET = "23456789CDFHJKMNPQRTVWXY"
"""No two characters look alike, and without vowels there are no words."""

LENGTH = 6
PREFIX = "RF"


def new_reference() -> str:
    """Return a random reference such as `RF564K7MXQ`: one of 190 million."""
    body = "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))
    return f"{PREFIX}{mod_97_10.calc_check_digits(body + PREFIX)}{body}"


# Bank codes: the texts that payers' bank apps read from a QR picture.
#
# EPC069-12 version 2 (SEPA), the static BR Code of Pix, the link of UPI, the Swiss QR code. Each
# names the payee, the amount and the reference; texts are folded to what the format takes.


MOST = 999_999_999_99
"""Minor units: the most that EPC and Swiss codes can ask for. All four currencies have cents."""

PIX_NAME, PIX_CITY = 25, 15
"""Characters that a BR Code has room for; the payer's app shows the whole name of the key."""

_SLASHES = re.compile(r"/{2,}")


def pay_with(
    details: Mapping[str, Any], amount: int, currency: str, reference: str
) -> rail.PayWith:
    """Return the code's text and what a payer may copy instead, in the order of typing.

    `details` are those of `accounts.connect`, `amount` minor units up to MOST. The fields are
    `code` (the whole text, only where banks have a place to paste it: Pix), `key`, `id`, `holder`,
    `address` (lines), `city`, `iban` (without spaces), `bic`, `amount` (`12.30`) and `reference`.
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
    """Build an EPC code with charset 1, UTF-8; nothing follows the last element that is given.

    The reference is free text, which every bank passes on, and not the structured one, for which
    many apps have no field.
    """
    iban, bic = details["iban"], details.get("bic", "")
    german = iban[:2] in bank_accounts.GERMAN
    name = bank_accounts.fold(details["name"], bank_accounts.SEPA_CHARACTERS, german=german) or ""
    # EPC217-08, section 6.2: no double slash, and none at the ends.
    name = _SLASHES.sub("/", name).strip("/ ")[: bank_accounts.LONGEST_NAME].strip("/ ")
    lines = ["BCD", "002", "1", "SCT", bic, name, iban, f"{currency}{price}", "", "", reference]
    return "\n".join(lines), {"holder": details["name"], "iban": iban, "bic": bic}


def _pix(
    details: Mapping[str, Any], price: str, _currency: str, reference: str
) -> tuple[str, dict[str, str]]:
    """Build a static BR Code, whose transaction id is the reference."""
    account = _tlv("00", "br.gov.bcb.pix") + _tlv("01", details["key"])
    name = _cut(details["name"], bank_accounts.PIX_CHARACTERS, PIX_NAME)
    city = _cut(details["city"], bank_accounts.PIX_CHARACTERS, PIX_CITY)
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
    return (bank_accounts.fold(text, taken) or "")[:room].strip()


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
        _cut(details["name"], bank_accounts.SWISS_CHARACTERS, bank_accounts.LONGEST_NAME),
        *(
            _cut(address[name], bank_accounts.SWISS_CHARACTERS, most)
            for name, most in bank_accounts.ADDRESS.items()
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


class BankRail:
    """Bank transfers, of which no one but the seller learns."""

    kind = payout_account.BANK
    test_money = False

    async def connect(self, details: Mapping[str, Any]) -> rail.Connected:
        """Check an account as banks do. Raises InvalidBody."""
        return bank_accounts.connect(details)

    def open_offline(self, asked: rail.Asked) -> rail.Opened | None:
        """Return the code, None for an amount that codes can't ask for."""
        if asked.amount > MOST:
            return None
        shown = pay_with(asked.details, asked.amount, asked.currency, asked.reference)
        return rail.Opened(asked.reference, shown, poll_times=())

    async def open(self, asked: rail.Asked) -> rail.Opened | rail.Unavailable:
        """Return why `open_offline` could not open it."""
        return self.open_offline(asked) or rail.Unavailable("tooLarge", f"more than {MOST}")

    async def poll(self, asked: rail.Asked, opened: rail.Opened) -> rail.PollAnswer:
        """Return that nothing is known: the seller confirms."""
        del asked, opened
        return rail.Waiting()

    def host(self, details: Mapping[str, Any]) -> str:
        """Return '': no host is asked."""
        del details
        return ""

    async def close(self) -> None:
        """Close nothing."""
