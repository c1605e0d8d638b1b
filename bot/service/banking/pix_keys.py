"""Pix keys: the five kinds by which Brazilian accounts are found."""

from __future__ import annotations

import re
from enum import StrEnum
from uuid import UUID

from stdnum.br import cnpj, cpf

from bot.core.text import email_addresses, phones
from bot.service.model.payout_problems import BadDetail, Wrong

LONGEST = 77
"""Characters of a key (Banco Central do Brasil, Manual of the BR Code)."""

_NATIONAL_DIGITS = range(10, 12)
_COUNTRY = "55"
_CPF_DIGITS = 11
_RANDOM = re.compile(r"[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}", re.IGNORECASE)
_KINDS = (
    "A Pix key is a CPF, a CNPJ, a phone number that starts with +55, an email address or a random"
    " key."
)


class KeyKind(StrEnum):
    """The kind of a key."""

    CPF = "cpf"
    CNPJ = "cnpj"
    PHONE = "phone"
    EMAIL = "email"
    RANDOM = "random"


def check(text: str) -> tuple[KeyKind, str]:
    """Return the kind of a key and the key in the one spelling that codes have.

    Eleven digits are a CPF: a phone number starts with `+`. Raises BadDetail.
    """
    if "@" in text:
        return KeyKind.EMAIL, _email(text)
    if text.startswith("+"):
        return KeyKind.PHONE, _phone(text)
    if _RANDOM.fullmatch(text):
        return KeyKind.RANDOM, str(UUID(text))
    if cnpj.is_valid(text):
        return KeyKind.CNPJ, cnpj.compact(text)
    number = cpf.compact(text)
    if cpf.is_valid(number) and len(set(number)) > 1:
        return KeyKind.CPF, number
    if number.isdecimal() and len(number) == _CPF_DIGITS:
        raise BadDetail(
            Wrong.PIX_CPF,
            "That isn't a CPF: its check digits don't match. If it's a phone number, start it with"
            " +55.",
        )
    raise BadDetail(Wrong.PIX_KEY, _KINDS)


def _email(text: str) -> str:
    address = email_addresses.ascii_address(text)
    if address is None:
        raise BadDetail(
            Wrong.PIX_EMAIL,
            "That isn't an email address. Enter the key as your bank's app shows it.",
        )
    if len(address) > LONGEST:
        raise BadDetail(
            Wrong.TOO_LONG, f"That's {len(address)} characters; the limit is {LONGEST}."
        )
    return address.lower()


def _phone(text: str) -> str:
    number = phones.digits(text) or ""
    national = number.removeprefix(_COUNTRY)
    if not number.startswith(_COUNTRY) or len(national) not in _NATIONAL_DIGITS:
        raise BadDetail(
            Wrong.PIX_PHONE,
            "Enter the phone number with +55, the area code and the number: +55 11 98765-4321.",
        )
    return f"+{number}"
