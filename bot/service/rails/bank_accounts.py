"""Bank accounts: checks a seller's input and normalizes it for bank codes.

A scheme is a format of bank codes, with its own fields, currencies and masked label.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

from babel import Locale
from stdnum import iban, numdb
from stdnum.br import cnpj, cpf
from stdnum.exceptions import ValidationError
from stdnum.iso7064 import mod_97_10

from bot.core import errors
from bot.core.text import contacts, sanitize
from bot.interface import vocabulary
from bot.service.rails import rail

DetailError = vocabulary.DetailError
BadDetail = rail.BadDetail

# Characters. Banks refuse or garble characters that their formats don't have, so codes contain the
# folded text; pages show the original. Greek and Bulgarian follow EPC217-08, the conversion table
# of the European Payments Council.

SEPA_CHARACTERS = re.compile(r"[A-Za-z0-9/?:().,'+ -]")
"""The Latin character set of SEPA messages (EPC217-08, section 6.1)."""

PIX_CHARACTERS = re.compile(r"[A-Za-z0-9$%*+./: -]")
"""The characters of the EMV set "ANS" that banks accept in the texts of a BR Code."""

SWISS_CHARACTERS = re.compile(r"[\x20-\x7e\xa0-\u017fȘșȚț€]")
"""The Latin characters of the Swiss QR code (SIX, Guidelines QR-bill 2.3, section 4.1.1)."""

_GREEK_OU = re.compile("(?<=[\u03bf\u039f])[\u03c5\u03cd]")
"""The second half of a Greek `u`: Παπαδοπούλου is Papadopoulou."""

_GERMAN = {"ä": "ae", "ö": "oe", "ü": "ue"}
_DATA = Path(__file__).with_name("letters.json")


def fold(text: str, taken: re.Pattern[str], *, german: bool = False) -> str | None:
    """Return a text on one line with only the characters in `taken`; accents are dropped if needed.

    With `german`, `ü` becomes `ue` instead of `u`. Return None if a letter or digit can't be
    converted, or if the text has no letters or digits.
    """
    parts = []
    for char in _GREEK_OU.sub("u", unicodedata.normalize("NFC", text)):
        part = _folded(char, taken, german=german)
        if part == "" and char.isalnum():
            return None
        parts.append(part or " " if not unicodedata.combining(char) else part)
    line = " ".join("".join(parts).split())
    return line if any(char.isalnum() for char in line) else None


def _folded(char: str, taken: re.Pattern[str], *, german: bool) -> str:
    """Return the folded form of a character, or "" if it has none."""
    if taken.fullmatch(char):
        return char
    table = _table() | _GERMAN if german else _table()
    found = _spelled(char, table)
    if found is None:
        bare = unicodedata.normalize("NFKD", char)
        found = "".join(_spelled(one, table) or one for one in bare)
    return "".join(one for one in found if taken.fullmatch(one))


def _spelled(char: str, table: dict[str, str]) -> str | None:
    found = table.get(char.lower())
    return found.capitalize() if found and char.isupper() else found


@cache
def _table() -> dict[str, str]:
    """Return the folded form of each lower-case letter and mark."""
    table: dict[str, str] = json.loads(_DATA.read_text("utf-8"))
    return table


# IBANs, checked by country, length, structure and check digits, as banks do.

_SEPA = (
    "AD AL AT BE BG CH CY CZ DE DK EE ES FI FR GB GI GR HR HU IE IS IT LI LT LU LV MC MD ME MK MT"
    " NL NO PL PT RO RS SE SI SK SM VA"
)
SEPA_COUNTRIES = frozenset(_SEPA.split())
"""Countries whose accounts receive SEPA transfers (European Payments Council, EPC409-09, 2025)."""

SWISS_COUNTRIES = frozenset({"CH", "LI"})
GERMAN_COUNTRIES = frozenset({"DE", "AT", "CH", "LI"})
"""Countries where `ü` without its dots is written `ue`."""

_FORM = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{1,30}")
_LENGTH_OF_PART = re.compile(r"([0-9]+)!")
_QR_BANKS = range(30_000, 32_000)
_TYPO = "Compare it with a bank statement."


def check_iban(text: str) -> str:
    """Return an IBAN of any country, without spaces. Raises BadDetail.

    The bank is not looked up, because new banks would be refused.
    """
    number = iban.compact(text)
    if not _FORM.fullmatch(number):
        message = "An IBAN starts with two letters and two digits: DE89 3704 0044 …"
        raise BadDetail(DetailError.IBAN_FORM, message)
    form = numdb.get("iban").info(number)[0][1].get("bban")
    if not form:
        message = f"No country's IBANs start with {number[:2]}. {_TYPO}"
        raise BadDetail(DetailError.IBAN_COUNTRY, message)
    country = country_name(number)
    length = 4 + sum(map(int, _LENGTH_OF_PART.findall(form)))
    if len(number) != length:
        message = f"That IBAN has {len(number)} characters; IBANs from {country} have {length}."
        raise BadDetail(DetailError.IBAN_LENGTH, f"{message} {_TYPO}")
    if not mod_97_10.is_valid(number[4:] + number[:4]):
        message = f"That IBAN has a typo: its check digits don't match. {_TYPO}"
        raise BadDetail(DetailError.IBAN_TYPO, message)
    try:
        return iban.validate(number, check_country=False)
    except ValidationError:
        message = f"IBANs from {country} have letters and digits in other places. {_TYPO}"
        raise BadDetail(DetailError.IBAN_LETTERS, message) from None


def country_name(number: str) -> str:
    """Return the English name of an IBAN's country, or its code if it has no name."""
    return str(Locale("en").territories.get(number[:2], number[:2]))


# Pix keys: five kinds of identifiers of Brazilian accounts.

LONGEST_PIX_KEY = 77
"""Characters of a key (Banco Central do Brasil, Manual of the BR Code)."""

_NATIONAL_DIGITS = range(10, 12)
_BRAZIL = "55"
_CPF_DIGITS = 11
_RANDOM = re.compile(r"[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}", re.IGNORECASE)
_PIX_KEY_KINDS = (
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


def check_pix_key(text: str) -> tuple[KeyKind, str]:
    """Return the kind of a key, and the key as it is written in codes. Raises BadDetail.

    Eleven digits are a CPF, because a phone number starts with `+`.
    """
    if "@" in text:
        return KeyKind.EMAIL, _email(text)
    if text.startswith("+"):
        phone = contacts.phone_digits(text) or ""
        national = phone.removeprefix(_BRAZIL)
        if phone.startswith(_BRAZIL) and len(national) in _NATIONAL_DIGITS:
            return KeyKind.PHONE, f"+{phone}"
        message = "Enter the phone number with +55, the area code and the number:"
        raise BadDetail(DetailError.PIX_PHONE, f"{message} +55 11 98765-4321.")
    if _RANDOM.fullmatch(text):
        return KeyKind.RANDOM, str(UUID(text))
    if cnpj.is_valid(text):
        return KeyKind.CNPJ, cnpj.compact(text)
    number = cpf.compact(text)
    if cpf.is_valid(number) and len(set(number)) > 1:
        return KeyKind.CPF, number
    if number.isdecimal() and len(number) == _CPF_DIGITS:
        message = "That isn't a CPF: its check digits don't match. If it's a phone number, start"
        raise BadDetail(DetailError.PIX_CPF, f"{message} it with +55.")
    raise BadDetail(DetailError.PIX_KEY, _PIX_KEY_KINDS)


def _email(text: str) -> str:
    address = contacts.ascii_address(text)
    if address is None:
        message = "That isn't an email address. Enter the key as your bank's app shows it."
        raise BadDetail(DetailError.PIX_EMAIL, message)
    if len(address) > LONGEST_PIX_KEY:
        message = f"That's {len(address)} characters; the limit is {LONGEST_PIX_KEY}."
        raise BadDetail(DetailError.TOO_LONG, message)
    return address.lower()


# Details: the fields that a seller types.

LONGEST_NAME = 70
"""Maximum characters of a holder's name in EPC and Swiss codes. The other formats truncate names.
"""

LONGEST_ID, LONGEST_CITY = 100, 60
SHORTEST_IBAN = 15
ADDRESS_LENGTHS = {"street": 70, "houseNumber": 16, "postalCode": 16, "town": 35}
"""Maximum characters of each field of a Swiss holder's address (SIX, section 4.3.1). A two-letter
country code follows.
"""

_NEEDED = {
    "name": "Enter the account holder's name exactly as the bank has it.",
    "iban": "Enter the account's IBAN, as on a bank statement.",
    "bic": "Enter the bank's BIC, as on a bank statement: outside the EEA, transfers need it.",
    "key": "Enter the account's Pix key, as your bank's app shows it.",
    "city": "Enter the account holder's city.",
    "id": "Enter the UPI ID, as your app shows it: anna@okbank.",
    "postalCode": "Enter the postcode: a QR-bill needs it.",
    "town": "Enter the town: a QR-bill needs it.",
}
_LATIN = "Use Latin letters: this kind of code has no others."
_UPI_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,255}@[A-Za-z][A-Za-z0-9]{1,63}")
_BIC = re.compile(r"[A-Z]{6}[A-Z0-9]{2}([A-Z0-9]{3})?")
_COUNTRY = re.compile(r"[A-Z]{2}")
_QR_IBAN = (
    "That's a QR-IBAN, which only takes invoices with a QR reference. Use the same account's"
    " ordinary IBAN, which is on its bank statements."
)


@dataclass(frozen=True, slots=True)
class _Scheme:
    """How a scheme reads details."""

    currencies: tuple[str, ...]
    read: Callable[[_Fields], dict[str, Any]]
    label: Callable[[dict[str, Any]], str]
    """Masks the details."""


class _Fields:
    """Details as typed, and their problems."""

    def __init__(self, details: Mapping[str, Any], path: str = "details") -> None:
        self._details = details
        self._path = path
        self._known = {"scheme"}
        self.problems: list[errors.FieldProblem] = []

    def text(self, name: str, most: int, *, needed: bool = True, code: bool = False) -> str:
        """Return a field's text on one line, or "" with a problem if it is missing or too long.

        The text of a `code` is reduced to plain characters.
        """
        self._known.add(name)
        value = self._details.get(name, "")
        typed = value.translate(sanitize.INVISIBLE_MARKS) if isinstance(value, str) else ""
        line = sanitize.typed(typed, digits="@" not in typed) if code else " ".join(typed.split())
        if not line and (needed or value not in ("", None)):
            optional = "Send it as text, or leave it out."
            message = _NEEDED.get(name, optional) if needed else optional
            self.problem(name, DetailError.MISSING, message)
        elif len(line) > most:
            message = f"That's {len(line)} characters; the limit is {most}."
            self.problem(name, DetailError.TOO_LONG, message)
        elif line.isprintable():
            return line
        else:
            self.problem(name, DetailError.INVISIBLE, "Leave out the invisible characters.")
        return ""

    def foldable(self, name: str, most: int, taken: re.Pattern[str], *, needed: bool = True) -> str:
        """Return a text; add a problem if it can't be written in the characters of the format."""
        line = self.text(name, most, needed=needed)
        if line and fold(line, taken) is None:
            self.problem(name, DetailError.NOT_LATIN, _LATIN)
        return line

    def checked(self, name: str, check: Callable[[str], Any]) -> Any:
        """Return the result of `check` on a text, or None with the problem that `check` raises."""
        line = self.text(name, LONGEST_ID, code=True)
        try:
            return check(line) if line else None
        except BadDetail as error:
            self.problem(name, error.wrong, str(error))
            return None

    def below(self, name: str) -> _Fields:
        """Return the fields of a nested object; their problems are added to this object."""
        self._known.add(name)
        value = self._details.get(name)
        fields = _Fields(value if isinstance(value, dict) else {}, f"{self._path}.{name}")
        fields.problems = self.problems
        return fields

    def refuse_others(self) -> None:
        """Add a problem for each unknown field."""
        self.problems += rail.unknown_fields(self._details, self._known, self._path)

    def problem(self, name: str, wrong: DetailError, message: str) -> None:
        self.problems.append(errors.FieldProblem(f"{self._path}.{name}", message, wrong.value))


def connect(details: Mapping[str, Any]) -> rail.Connected:
    """Check the details of an account as banks do, and return the account.

    `scheme` is a key of SCHEMES: sepa `{iban, name, bic?}` (see `needs_bic`), pix `{key, name,
    city}`, upi `{id, name}`, swiss `{iban, name, address {street?, houseNumber?, postalCode, town,
    country?}}`. Raises InvalidBody with a problem for each invalid field, such as `details.iban`.
    """
    fields = _Fields(details)
    name = str(details.get("scheme"))
    scheme = SCHEMES.get(name)
    if scheme is None:
        fields.problem("scheme", DetailError.SCHEME, f"Must be one of {', '.join(SCHEMES)}.")
        raise errors.InvalidBody(info=fields.problems)
    read = {"scheme": name, **scheme.read(fields)}
    fields.refuse_others()
    if fields.problems:
        raise errors.InvalidBody(info=fields.problems)
    label, currencies = scheme.label(read), scheme.currencies
    return rail.Connected(vocabulary.BANK, read, label, currencies, automatic=False, scheme=name)


def _read_sepa(fields: _Fields) -> dict[str, Any]:
    read = {
        "iban": fields.checked("iban", _sepa_iban),
        "name": fields.foldable("name", LONGEST_NAME, SEPA_CHARACTERS),
    }
    needed = vocabulary.needs_bic(read["iban"] or "")
    bic = fields.text("bic", LONGEST_ID, needed=needed, code=True).replace(" ", "").upper()
    if bic and not _BIC.fullmatch(bic):
        message = "A BIC has 8 or 11 letters and digits."
        message += "" if needed else " You can leave it out."
        fields.problem("bic", DetailError.BIC_FORM, message)
    return read | ({"bic": bic} if bic else {})


def _sepa_iban(text: str) -> str:
    number = check_iban(text)
    if number[:2] not in SEPA_COUNTRIES:
        message = f"Accounts in {country_name(number)} can't receive SEPA transfers."
        raise BadDetail(DetailError.NOT_SEPA, message)
    return _no_qr_iban(number)


def _no_qr_iban(number: str) -> str:
    """Refuse a Swiss IBAN that accepts only payments with a QR reference (SIX, section 4.2.2)."""
    if number[:2] in SWISS_COUNTRIES and int(number[4:9]) in _QR_BANKS:
        raise BadDetail(DetailError.QR_IBAN, _QR_IBAN)
    return number


def _read_pix(fields: _Fields) -> dict[str, Any]:
    _, key = fields.checked("key", check_pix_key) or (None, "")
    return {
        "key": key,
        "name": fields.foldable("name", LONGEST_NAME, PIX_CHARACTERS),
        "city": fields.foldable("city", LONGEST_CITY, PIX_CHARACTERS),
    }


def _read_upi(fields: _Fields) -> dict[str, Any]:
    def check(text: str) -> str:
        if not _UPI_ID.fullmatch(text):
            message = "A UPI ID is a name, @ and the name of a bank or app: anna@okbank."
            raise BadDetail(DetailError.UPI_FORM, message)
        return text

    return {"id": fields.checked("id", check), "name": fields.text("name", LONGEST_NAME)}


def _read_swiss(fields: _Fields) -> dict[str, Any]:
    number = fields.checked("iban", _swiss_iban)
    name = fields.foldable("name", LONGEST_NAME, SWISS_CHARACTERS)
    return {"iban": number, "name": name, "address": _address(fields.below("address"), number)}


def _swiss_iban(text: str) -> str:
    number = check_iban(text)
    if number[:2] not in SWISS_COUNTRIES:
        raise BadDetail(
            DetailError.NOT_SWISS,
            "A Swiss QR-bill needs an account in Switzerland or Liechtenstein, whose IBAN starts"
            " with CH or LI.",
        )
    return _no_qr_iban(number)


def _address(fields: _Fields, number: str | None) -> dict[str, str]:
    """Read the structured address; the IBAN's country is the default."""
    found = {
        name: fields.foldable(name, most, SWISS_CHARACTERS, needed=name in _NEEDED)
        for name, most in ADDRESS_LENGTHS.items()
    }
    named = fields.text("country", LONGEST_ID, needed=False, code=True).upper()
    country = named or (number or "CH")[:2]
    if not _COUNTRY.fullmatch(country):
        message = "Use the two letters of the country: CH."
        fields.problem("country", DetailError.COUNTRY_FORM, message)
    fields.refuse_others()
    return found | {"country": country}


def _mask(text: str) -> str:
    """Return a number or an address with its middle hidden; its owner recognizes it."""
    name, mark, host = text.rpartition("@")
    if mark:
        return f"{name[:2]} … @{host}"
    return f"{text[:4]} … {text[-4:]}" if len(text) >= SHORTEST_IBAN else f"… {text[-4:]}"


def _pix_label(read: dict[str, Any]) -> str:
    kind, masked = check_pix_key(read["key"])[0], _mask(read["key"])
    return f"{kind.upper()} {masked}" if kind in {KeyKind.CPF, KeyKind.CNPJ} else masked


SCHEMES = {
    "sepa": _Scheme(("EUR",), _read_sepa, lambda read: _mask(read["iban"])),
    "pix": _Scheme(("BRL",), _read_pix, _pix_label),
    "upi": _Scheme(("INR",), _read_upi, lambda read: _mask(read["id"])),
    "swiss": _Scheme(("CHF", "EUR"), _read_swiss, lambda read: _mask(read["iban"])),
}
"""The schemes of banks, in the order in which they are offered."""
