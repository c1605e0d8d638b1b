"""Bank accounts: what a seller types, checked and brought into the form that codes need.

A scheme is the format of the code: each has its fields, its currencies and its masked label.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bot.core.errors import FieldProblem, InvalidBody
from bot.core.text import sanitize
from bot.service.banking import characters, ibans, pix_keys
from bot.service.banking.pix_keys import KeyKind
from bot.service.model.payout import BANK
from bot.service.model.payout_problems import BadDetail, Wrong, unknown_fields
from bot.service.model.rail_answers import Connected

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LONGEST_NAME = 70
"""Characters of a holder's name in EPC and Swiss codes; the other formats cut theirs."""

LONGEST_ID, LONGEST_CITY = 100, 60
SHORTEST_IBAN = 15
ADDRESS = {"street": 70, "houseNumber": 16, "postalCode": 16, "town": 35}
"""Fields of a Swiss holder's address, with their lengths (SIX, section 4.3.1); the country, a code
of two letters, follows them."""

_NEEDED = {
    "name": "Enter the account holder's name exactly as the bank has it.",
    "iban": "Enter the account's IBAN, as on a bank statement.",
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
    """How one scheme reads details; `label` masks them."""

    currencies: tuple[str, ...]
    read: Callable[[_Fields], dict[str, Any]]
    label: Callable[[dict[str, Any]], str]


class _Fields:
    """Details as they were typed, and the problems found in them."""

    def __init__(self, details: Mapping[str, Any], path: str = "details") -> None:
        self._details = details
        self._path = path
        self._known = {"scheme"}
        self.problems: list[FieldProblem] = []

    def text(self, name: str, most: int, *, needed: bool = True, code: bool = False) -> str:
        """Return a field's text on one line, '' with a problem if it is missing or too long.

        That of a `code` is in plain characters.
        """
        self._known.add(name)
        value = self._details.get(name, "")
        typed = value.translate(sanitize.INVISIBLE_MARKS) if isinstance(value, str) else ""
        line = sanitize.typed(typed, digits="@" not in typed) if code else " ".join(typed.split())
        if not line and (needed or value not in ("", None)):
            told = _NEEDED.get(name, "Send it as text, or leave it out.")
            self.problem(name, Wrong.MISSING, told)
        elif len(line) > most:
            told = f"That's {len(line)} characters; the limit is {most}."
            self.problem(name, Wrong.TOO_LONG, told)
        elif line.isprintable():
            return line
        else:
            self.problem(name, Wrong.INVISIBLE, "Leave out the invisible characters.")
        return ""

    def foldable(self, name: str, most: int, taken: re.Pattern[str], *, needed: bool = True) -> str:
        """Return a text that can be written with the characters of the format."""
        line = self.text(name, most, needed=needed)
        if line and characters.fold(line, taken) is None:
            self.problem(name, Wrong.NOT_LATIN, _LATIN)
        return line

    def checked(self, name: str, check: Callable[[str], Any]) -> Any:
        """Return what `check` makes of a text, None with the problem that it raises."""
        line = self.text(name, LONGEST_ID, code=True)
        try:
            return check(line) if line else None
        except BadDetail as error:
            self.problem(name, error.wrong, str(error))
            return None

    def below(self, name: str) -> _Fields:
        """Return the fields of an object, whose problems are kept here."""
        self._known.add(name)
        value = self._details.get(name)
        fields = _Fields(value if isinstance(value, dict) else {}, f"{self._path}.{name}")
        fields.problems = self.problems
        return fields

    def refuse_others(self) -> None:
        """Add a problem for each field that nobody has asked for."""
        self.problems += unknown_fields(self._details, self._known, self._path)

    def problem(self, name: str, wrong: Wrong, message: str) -> None:
        self.problems.append(FieldProblem(f"{self._path}.{name}", message, wrong.value))


def connect(details: Mapping[str, Any]) -> Connected:
    """Return the account that these details name, checked as banks do.

    `scheme` is one of SCHEMES: sepa `{iban, name, bic?}`, pix `{key, name, city}`, upi
    `{id, name}`, swiss `{iban, name, address {street?, houseNumber?, postalCode, town, country?}}`.
    Raises InvalidBody with a problem for each wrong field: `details.iban`.
    """
    fields = _Fields(details)
    name = str(details.get("scheme"))
    scheme = SCHEMES.get(name)
    if scheme is None:
        fields.problem("scheme", Wrong.SCHEME, f"Must be one of {', '.join(SCHEMES)}.")
        raise InvalidBody(info=fields.problems)
    read = {"scheme": name, **scheme.read(fields)}
    fields.refuse_others()
    if fields.problems:
        raise InvalidBody(info=fields.problems)
    return Connected(
        BANK, read, scheme.label(read), scheme.currencies, automatic=False, scheme=name
    )


def _read_sepa(fields: _Fields) -> dict[str, Any]:
    read = {
        "iban": fields.checked("iban", _sepa_iban),
        "name": fields.foldable("name", LONGEST_NAME, characters.SEPA),
    }
    bic = fields.text("bic", LONGEST_ID, needed=False, code=True).replace(" ", "").upper()
    if bic and not _BIC.fullmatch(bic):
        told = "A BIC has 8 or 11 letters and digits. You can leave it out."
        fields.problem("bic", Wrong.BIC_FORM, told)
    return read | ({"bic": bic} if bic else {})


def _sepa_iban(text: str) -> str:
    number = ibans.check(text)
    if number[:2] not in ibans.SEPA:
        country = ibans.country_name(number)
        raise BadDetail(Wrong.NOT_SEPA, f"Accounts in {country} can't receive SEPA transfers.")
    return _no_qr_iban(number)


def _no_qr_iban(number: str) -> str:
    if ibans.is_qr_iban(number):
        raise BadDetail(Wrong.QR_IBAN, _QR_IBAN)
    return number


def _read_pix(fields: _Fields) -> dict[str, Any]:
    _, key = fields.checked("key", pix_keys.check) or (None, "")
    return {
        "key": key,
        "name": fields.foldable("name", LONGEST_NAME, characters.PIX),
        "city": fields.foldable("city", LONGEST_CITY, characters.PIX),
    }


def _read_upi(fields: _Fields) -> dict[str, Any]:
    return {"id": fields.checked("id", _upi_id), "name": fields.text("name", LONGEST_NAME)}


def _upi_id(text: str) -> str:
    if not _UPI_ID.fullmatch(text):
        raise BadDetail(
            Wrong.UPI_FORM, "A UPI ID is a name, @ and the name of a bank or app: anna@okbank."
        )
    return text


def _read_swiss(fields: _Fields) -> dict[str, Any]:
    number = fields.checked("iban", _swiss_iban)
    name = fields.foldable("name", LONGEST_NAME, characters.SWISS)
    return {"iban": number, "name": name, "address": _address(fields.below("address"), number)}


def _swiss_iban(text: str) -> str:
    number = ibans.check(text)
    if number[:2] not in ibans.SWISS:
        raise BadDetail(
            Wrong.NOT_SWISS,
            "A Swiss QR-bill needs an account in Switzerland or Liechtenstein, whose IBAN starts"
            " with CH or LI.",
        )
    return _no_qr_iban(number)


def _address(fields: _Fields, number: str | None) -> dict[str, str]:
    """Read the structured address, in the IBAN's country if it names none."""
    found = {
        name: fields.foldable(name, most, characters.SWISS, needed=name in _NEEDED)
        for name, most in ADDRESS.items()
    }
    named = fields.text("country", LONGEST_ID, needed=False, code=True).upper()
    country = named or (number or "CH")[:2]
    if not _COUNTRY.fullmatch(country):
        fields.problem("country", Wrong.COUNTRY_FORM, "Use the two letters of the country: CH.")
    fields.refuse_others()
    return found | {"country": country}


def _mask(text: str) -> str:
    """Return the ends of a number or an address, enough for its owner to know it."""
    name, mark, host = text.rpartition("@")
    if mark:
        return f"{name[:2]} … @{host}"
    return f"{text[:4]} … {text[-4:]}" if len(text) >= SHORTEST_IBAN else f"… {text[-4:]}"


def _pix_label(read: dict[str, Any]) -> str:
    kind, masked = pix_keys.check(read["key"])[0], _mask(read["key"])
    return f"{kind.upper()} {masked}" if kind in {KeyKind.CPF, KeyKind.CNPJ} else masked


SCHEMES = {
    "sepa": _Scheme(("EUR",), _read_sepa, lambda read: _mask(read["iban"])),
    "pix": _Scheme(("BRL",), _read_pix, _pix_label),
    "upi": _Scheme(("INR",), _read_upi, lambda read: _mask(read["id"])),
    "swiss": _Scheme(("CHF", "EUR"), _read_swiss, lambda read: _mask(read["iban"])),
}
"""The schemes of banks, in the order that they are offered in."""
