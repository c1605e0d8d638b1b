"""Parsing of sellers' texts: each function returns a value, or the Problem with the text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from bot.chat.model import drafts, payout, replies
from bot.core import errors
from bot.core.money import amounts
from bot.core.text import contacts, links, sanitize
from bot.interface import fields, parts

FINEST = "BTC"
"""The currency with the most decimals: if it refuses an amount, all currencies do."""

MAX_POSTER_TEXT = 300

USUAL = "USD"
"""The currency of examples if none is known."""

_LOCAL = re.compile(r"[^:/?#.]*:\d{1,5}(?:[/?#].*)?", re.DOTALL)
_HANDCASH = re.compile(
    r"\$?[a-z0-9][a-z0-9._-]*|[a-z0-9._+-]+@(?:[a-z0-9-]+\.)+[a-z]{2,}", re.IGNORECASE
)
_QUOTED = 32
"""UTF-16 units of a text quoted in a problem."""

_JOINER = re.compile(rf"(?<=[^\0-\x7f])[{sanitize.JOINERS}](?=[^\0-\x7f])")
"""A joiner between letters or emoji that need it, as in Persian paths; other joiners are
refused."""

_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0\ufffc")  # letters that look blank


@dataclass(frozen=True, slots=True)
class Price:
    """A price that was typed, in major units."""

    amount: Decimal
    """The first amount of the `choice`, if there is one."""
    currency: str | None
    """None if no currency was named and no currency is usual."""
    choice: parts.AmountChoice[Decimal] | None = None
    """The amounts that payers choose from."""


@dataclass(frozen=True, slots=True)
class AmbiguousAmount:
    """An amount with several possible meanings; the seller chooses one."""

    choices: tuple[Decimal, ...]
    currency: str | None


def read_destination(
    text: str, service: drafts.PayoutService = drafts.TEST_MONEY
) -> str | replies.Problem:
    """Parse a handle or wallet identifier of `service`, without spaces or invisible characters.

    HandCash has handles and paymails; other servers of the interface decide for themselves.
    """
    plain = sanitize.typed(text)
    if payout.names_accounts(plain):
        return replies.Problem("problem-destination-account")
    line = read_line(plain, "destination", fields.MAX_DESTINATION)
    if isinstance(line, replies.Problem):
        return line
    if " " in line:
        return replies.Problem("problem-destination-spaces")
    if service.is_handcash and not _HANDCASH.fullmatch(line):
        return replies.Problem("problem-destination-handcash")
    return line


def read_redirect(text: str) -> str | replies.Problem:
    """Parse the address where payers go: on the web, or with an application's own scheme.

    A host without a scheme gets `https://`. A bare name with a port is refused, because the name
    looks like a scheme.
    """
    url = links.with_scheme(links.typed(text))
    if not any(map(_is_visible, url)):
        return replies.Problem("problem-redirect-empty")
    if len(url) > links.LONGEST_URL:
        return replies.Problem(
            "problem-redirect-long", {"length": len(url), "most": links.LONGEST_URL}
        )
    others = _JOINER.sub("", url)
    has_invisible = any(unicodedata.category(char) in ("Cf", "Cs") for char in others)
    if has_invisible or _LOCAL.fullmatch(url):
        return replies.Problem("problem-redirect")
    try:
        return links.check_redirect(url)
    except ValueError:
        return replies.Problem("problem-redirect")


def read_email(text: str) -> str | replies.Problem:
    """Parse an email address that mail can be sent to."""
    address = contacts.typed_email(text)
    if not any(map(_is_visible, address)):
        return replies.Problem("problem-email-empty")
    return replies.Problem("problem-email") if contacts.ascii_address(address) is None else address


def read_line(text: str, field: str, most: int) -> str | replies.Problem:
    """Fold a text to one line of 1 to `most` characters, at least one visible.

    Characters that reorder a text are removed. The text of a Problem is `problem-FIELD-empty` or
    `problem-FIELD-long`.
    """
    text = sanitize.in_order(sanitize.lines(text))
    if any(unicodedata.category(char) in ("Cc", "Cs") and char not in "\t\n" for char in text):
        return replies.Problem("problem-control")
    line = " ".join(text.split())
    if not any(_is_visible(char) for char in line):
        return replies.Problem(f"problem-{field}-empty")
    if len(line) > most:
        return replies.Problem(f"problem-{field}-long", {"length": len(line), "most": most})
    return line


def read_lines(text: str, field: str, most: int) -> str | replies.Problem:
    """Like `read_line`, but keep line breaks; empty lines are removed."""
    text = sanitize.in_order(text)
    folded = read_line(text, field, most)
    if isinstance(folded, replies.Problem):
        return folded
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.splitlines())))


read_name = partial(read_line, field="name", most=fields.MAX_NAME)
read_description = partial(read_line, field="description", most=fields.MAX_TEXT)
read_poster_text = partial(read_lines, field="postertext", most=MAX_POSTER_TEXT)
read_thanks = partial(read_lines, field="thanks", most=fields.MAX_TEXT)


def _is_visible(char: str) -> bool:
    return unicodedata.category(char)[0] in "LNPS" and char not in _BLANK


def read_units(text: str) -> int | replies.Problem:
    """Parse a number of units, 1 to 1 000 000; a mark in the number groups digits."""
    if not any(map(_is_visible, text)):
        return replies.Problem("problem-units-empty")
    try:
        number, currency = amounts.read_amount(text, None)
    except errors.MoneyError as error:
        if error.reason != "ambiguous":
            return replies.Problem("problem-units")
        number, currency = error.choices[-1], amounts.read_currency(text, None)
    if currency is not None or number != number.to_integral_value() or number < 1:
        return replies.Problem("problem-units")
    if number > fields.MAX_TOTAL_UNITS:
        return replies.Problem("problem-units-many", {"most": fields.MAX_TOTAL_UNITS})
    return int(number)


def read_quantity(text: str) -> int | replies.Problem | None:
    """Parse the most items of one purchase, up to 100; return None if it is 1, the default."""
    units = read_units(text)
    if isinstance(units, replies.Problem) and units.key != "problem-units-many":
        return replies.Problem("problem-perbuyer")
    if isinstance(units, replies.Problem) or units > fields.MAX_QUANTITY:
        return replies.Problem("problem-perbuyer-many", {"most": fields.MAX_QUANTITY})
    return None if units == 1 else units


def read_price(text: str, default: str | None) -> Price | AmbiguousAmount | replies.Problem:
    """Parse an amount with its currency; `default` is used if no currency is named.

    An amount is ambiguous only if its currency allows several meanings: `1.234` euros has one.
    """
    if not any(map(_is_visible, text)):
        return replies.Problem("problem-amount-empty", {"example": example_price(default)})
    try:
        return check_price(*amounts.read_amount(text, default))
    except errors.MoneyError as error:
        if error.reason != "ambiguous":
            return money_problem(error, text, default)
        choices = error.choices
    try:
        currency = amounts.read_currency(text, default)
    except errors.MoneyError as error:
        return money_problem(error, text, default)
    checked = [check_price(choice, currency) for choice in choices]
    possible = [price for price in checked if isinstance(price, Price)]
    if len(possible) > 1:
        return AmbiguousAmount(tuple(price.amount for price in possible), currency)
    return possible[0] if possible else checked[-1]


def may_be_grouped(text: str, currency: str | None) -> bool:
    """True if a mark in an amount may group digits, even if one meaning is not an amount."""
    try:
        amounts.read_amount(text, currency)
    except errors.MoneyError as error:
        return error.reason == "ambiguous"
    return False


def check_price(amount: Decimal, currency: str | None) -> Price | replies.Problem:
    """Check an amount against the bounds of its currency, or of FINEST if it is unknown."""
    try:
        amounts.to_minor(amount, currency or FINEST)
    except errors.MoneyError as error:
        return money_problem(error, "", currency)
    return Price(amount, currency)


def read_code(text: str) -> str | replies.Problem:
    """Parse a currency: its code, sign or name."""
    if not any(map(_is_visible, text)):
        return replies.Problem("problem-currency-empty")
    try:
        return amounts.find_currency(text)
    except errors.MoneyError as error:
        return money_problem(error, text, None)


def money_problem(error: errors.MoneyError, typed: str, currency: str | None) -> replies.Problem:
    """Return the Problem for a refused amount or currency."""
    if error.reason == "unknownCurrency":
        return replies.Problem("problem-currency", {"typed": replies.escaped(typed, _QUOTED)})
    if error.reason == "tooManyDecimals":
        known = currency or FINEST
        values = {
            "currency": known,
            "decimals": amounts.exponent(known),
            "example": example_price(known),
        }
        return replies.Problem("problem-amount-decimals", values)
    shown = example_price(currency)
    if error.reason in ("notPositive", "tooLarge"):
        return replies.Problem(f"problem-amount-{error.reason}", {"example": shown})
    return replies.Problem("problem-amount", {"example": shown})


def example_price(currency: str | None) -> str:
    """Return an example of a typed price: `5 USD`, `0.001 BTC`."""
    code = currency or USUAL
    return f"{amounts.example(code)} {code}"


# The fields of a payout account, checked as far as possible without a server. The payment service
# checks the fields again, and asks the wallet.

_MOST = {
    "name": 70,
    "city": 60,
    "street": 70,
    "houseNumber": 16,
    "postalCode": 16,
    "town": 35,
    "key": 100,
}
"""The service's limits of free texts, in characters."""

_NUMBERS = ("houseNumber", "postalCode")
_MOST_SECRET = 2048
_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}")
_SWISS = ("CH", "LI")
_BEFORE_ADDRESS = re.compile(r"\A⚡? ?(?:(?:lightning|lnurlp|mailto):(?://)?)? ?⚡? ?")
"""Prefixes that wallets and mail programs put before a Lightning address."""

_LIGHTNING = re.compile(r"[a-z0-9._+-]{1,128}@[^\s@/]{1,253}")
_UPI = re.compile(r"[A-Za-z0-9._-]{2,256}@[A-Za-z][A-Za-z0-9.-]{1,63}")
_PIX = re.compile(r"\+?\d{11,14}|[0-9A-Fa-f]{32}|[^\s@]+@[^\s@]+\.[^\s@]+")
_COUNTRY = re.compile(r"[A-Z]{2}")
_BIC = re.compile(r"[A-Z]{6}[A-Z0-9]{2}([A-Z0-9]{3})?")
_CONNECTION = re.compile(r"nostr\+?walletconnect:(?://)?[0-9a-f]{64}\?\S*secret=\S+", re.IGNORECASE)
_LNBITS_KEY = re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])", re.IGNORECASE)
"""An LNbits key, or the id in the address of a wallet's page, which logs in the owner."""


def read_field(way: str, field: str, text: str) -> str | replies.Problem:
    """Parse a text for a field of this kind of account (service/rails)."""
    if field in _READERS:
        return _READERS[field](text)
    if field == "key":
        return _read_key(text) if way == "lnbits" else _read_pix(text)
    if (way, field) == ("bank-swiss", "iban"):
        found = _read_iban(text)
        is_swiss = isinstance(found, replies.Problem) or found.startswith(_SWISS)
        return found if is_swiss else replies.Problem("payout-wrong-notSwiss")
    if field == "iban":
        return _read_iban(text)
    typed = sanitize.typed(text, digits=True) if field in _NUMBERS else text
    return read_line(typed, "payout", _MOST[field])


def is_connection(text: str) -> bool:
    """True if a text has a connection string, which is a secret in answer to any question."""
    return _CONNECTION.search(sanitize.typed(text)) is not None


def has_key(text: str) -> bool:
    """True if a text has an LNbits key."""
    return _LNBITS_KEY.search(sanitize.typed(text)) is not None


def _read_iban(text: str) -> str | replies.Problem:
    """Parse an IBAN with any grouping (ISO 13616: the remainder modulo 97 is 1)."""
    iban = re.sub(r"[\W_]", "", sanitize.typed(text, digits=True).upper()).removeprefix("IBAN")
    if not _IBAN.fullmatch(iban):
        return replies.Problem("payout-wrong-ibanForm")
    digits = "".join(str(int(char, 36)) for char in iban[4:] + iban[:4])
    return iban if int(digits) % 97 == 1 else replies.Problem("payout-wrong-ibanTypo")


def _read_address(text: str) -> str | replies.Problem:
    address = _BEFORE_ADDRESS.sub("", sanitize.typed(text).lower(), count=1)
    if address.startswith("lnurl1"):
        return replies.Problem("payout-wrong-lnurl")
    if address.startswith(("lnbc", "lno1")) and "@" not in address:
        return replies.Problem("payout-wrong-invoice")
    return address if _LIGHTNING.fullmatch(address) else replies.Problem("payout-wrong-addressForm")


def _read_upi(text: str) -> str | replies.Problem:
    name = sanitize.typed(text, digits=True)
    return name if _UPI.fullmatch(name) else replies.Problem("payout-wrong-upiForm")


def _read_pix(text: str) -> str | replies.Problem:
    """Parse a Pix key of any kind; the service checks its digits."""
    key = sanitize.typed(text, digits="@" not in text)
    is_sound = len(key) <= _MOST["key"] and _PIX.fullmatch(re.sub(r"[\s()/-]|\.(?=\d)", "", key))
    return key if is_sound else replies.Problem("payout-wrong-pixKey")


def _read_name(text: str) -> str | replies.Problem:
    """Parse a holder's name; refuse an IBAN, which was sent twice or too early."""
    if isinstance(_read_iban(text), str):
        return replies.Problem("payout-wrong-name")
    return read_line(text, "payout", _MOST["name"])


def _read_url(text: str) -> str | replies.Problem:
    """Parse an LNbits server's address; drop the key from the address of a wallet's page."""
    url = links.with_scheme(re.split(r"[?#]", links.typed(text))[0].strip())
    is_sound = url.lower().startswith(("https://", "http://")) and not any(map(str.isspace, url))
    is_sound = is_sound and len(url) <= links.LONGEST_URL
    return url if is_sound else replies.Problem("payout-wrong-urlForm")


def _read_key(text: str) -> str | replies.Problem:
    key = sanitize.typed(text)
    is_sound = key.isascii() and key.isprintable() and " " not in key
    is_sound = is_sound and 0 < len(key) <= _MOST_SECRET
    return key if is_sound else replies.Problem("payout-wrong-keyForm")


def _read_connection(text: str) -> str | replies.Problem:
    found = _CONNECTION.fullmatch(sanitize.typed(text))
    is_sound = found is not None and len(found[0]) <= _MOST_SECRET
    return found[0] if found and is_sound else replies.Problem("payout-wrong-connectionForm")


def _read_bic(text: str) -> str | replies.Problem:
    code = sanitize.typed(text, digits=True).replace(" ", "").upper()
    return code if _BIC.fullmatch(code) else replies.Problem("payout-wrong-bicForm")


def _read_country(text: str) -> str | replies.Problem:
    code = sanitize.typed(text).upper()
    return code if _COUNTRY.fullmatch(code) else replies.Problem("payout-wrong-countryForm")


_READERS: dict[str, Callable[[str], str | replies.Problem]] = {
    "address": _read_address,
    "id": _read_upi,
    "url": _read_url,
    "connection": _read_connection,
    "bic": _read_bic,
    "country": _read_country,
    "name": _read_name,
}
