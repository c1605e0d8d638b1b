"""IBANs: checked as banks do, by country, length, structure and check digits."""

from __future__ import annotations

import re

from babel import Locale
from stdnum import iban, numdb
from stdnum.exceptions import ValidationError
from stdnum.iso7064 import mod_97_10

from bot.service.model.payout_problems import BadDetail, Wrong

_SEPA = (
    "AD AL AT BE BG CH CY CZ DE DK EE ES FI FR GB GI GR HR HU IE IS IT LI LT LU LV MC MD ME MK MT"
    " NL NO PL PT RO RS SE SI SK SM VA"
)
SEPA = frozenset(_SEPA.split())
"""Countries whose accounts receive SEPA transfers (European Payments Council, EPC409-09, 2025)."""

SWISS = frozenset({"CH", "LI"})
GERMAN = frozenset({"DE", "AT", "CH", "LI"})
"""Countries where `ü` without its dots is written `ue`."""

_FORM = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{1,30}")
_LENGTH_OF_PART = re.compile(r"([0-9]+)!")
_QR_BANKS = range(30_000, 32_000)
_TYPO = "Compare it with a bank statement."


def check(text: str) -> str:
    """Return an IBAN without spaces, of any country.

    Raises BadDetail. The banks of a
    country are not looked up: new ones would be refused.
    """
    number = iban.compact(text)
    if not _FORM.fullmatch(number):
        raise BadDetail(
            Wrong.IBAN_FORM, "An IBAN starts with two letters and two digits: DE89 3704 0044 …"
        )
    form = numdb.get("iban").info(number)[0][1].get("bban")
    if not form:
        raise BadDetail(Wrong.IBAN_COUNTRY, f"No country's IBANs start with {number[:2]}. {_TYPO}")
    country = country_name(number)
    length = 4 + sum(map(int, _LENGTH_OF_PART.findall(form)))
    if len(number) != length:
        raise BadDetail(
            Wrong.IBAN_LENGTH,
            f"That IBAN has {len(number)} characters; IBANs from {country} have {length}. {_TYPO}",
        )
    if not mod_97_10.is_valid(number[4:] + number[:4]):
        raise BadDetail(
            Wrong.IBAN_TYPO, f"That IBAN has a typo: its check digits don't match. {_TYPO}"
        )
    try:
        return iban.validate(number, check_country=False)
    except ValidationError:
        message = f"IBANs from {country} have letters and digits in other places. {_TYPO}"
        raise BadDetail(Wrong.IBAN_LETTERS, message) from None


def country_name(number: str) -> str:
    """Return the English name of an IBAN's country, its code for one without a name."""
    return str(Locale("en").territories.get(number[:2], number[:2]))


def is_qr_iban(number: str) -> bool:
    """Return whether a Swiss IBAN takes only payments with a QR reference (SIX, section 4.2.2)."""
    return number[:2] in SWISS and int(number[4:9]) in _QR_BANKS


def grouped(number: str) -> str:
    """Return an IBAN in groups of four, as people read it."""
    return iban.format(number)
