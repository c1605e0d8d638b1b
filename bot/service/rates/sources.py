"""What public sources of exchange rates answer: the price of one bitcoin in many currencies.

A source is known by the shape of its answer, and called by its host. Nothing of an answer is
trusted: what is no plausible price of a known currency is left out.
"""

from __future__ import annotations

import re
from decimal import Context, Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit

from bot.core import exact_json
from bot.core.errors import BadAnswer
from bot.core.money import amounts

if TYPE_CHECKING:
    from collections.abc import Iterable

    Pairs: TypeAlias = Iterable[tuple[Any, Any]]

BITCOIN, SATOSHI = "BTC", "SAT"
LEAST, MOST = Decimal("0.000001"), Decimal(10) ** 15
"""Bounds of a plausible price of one bitcoin, in any currency."""

LONGEST_PRICE = 40
"""Characters of a price, as text."""

_CONTEXT = Context(prec=26)
"""More digits than any source has, and so few that the mean of two prices is exact."""

DEPTH = 10
_PREFIX = re.compile(r"^(api|www)\.")
_KRAKEN_PAIR = re.compile(r"XXBTZ([A-Z]{3})|XBT([A-Z]{3})")


def name_of(url: str) -> str:
    """Return the name that people read: `https://api.coinbase.com/v2/…` is `coinbase.com`."""
    return _PREFIX.sub("", urlsplit(url).netloc.rpartition("@")[2].lower())


def read_prices(body: bytes) -> dict[str, Decimal]:
    """Return the price of one bitcoin by currency, at least one. Raises BadAnswer."""
    try:
        answer = exact_json.loads(body, depth=DEPTH)
    except exact_json.JsonError as error:
        raise BadAnswer(f"no JSON: {error}") from None
    for shape in (_coinbase, _bitpay, _kraken, _yadio):
        pairs = shape(answer)
        if pairs is not None:
            break
    else:
        raise BadAnswer("no known form of rates for BTC")
    known = amounts.currencies() - {BITCOIN, SATOSHI}
    prices = {
        code: price
        for code, value in pairs
        if isinstance(code, str) and code in known and (price := _price(value)) is not None
    }
    if not prices:
        raise BadAnswer("no price of a known currency")
    return prices


def _price(value: Any) -> Decimal | None:
    """Return a plausible price, None for anything else. A float never gets here."""
    if isinstance(value, bool) or not isinstance(value, int | str | Decimal):
        return None
    text = str(value)
    if len(text) > LONGEST_PRICE:
        return None
    try:
        price = _CONTEXT.create_decimal(text)
    except InvalidOperation:
        return None
    return price if price.is_finite() and LEAST <= price <= MOST else None


def _coinbase(answer: Any) -> Pairs | None:
    """Read `{"data": {"currency": "BTC", "rates": {"EUR": "72000.1"}}}`."""
    data = _field(answer, "data", dict)
    rates = _field(data, "rates", dict)
    return rates.items() if rates and data.get("currency") == BITCOIN else None


def _bitpay(answer: Any) -> Pairs | None:
    """Read `{"data": [{"code": "EUR", "rate": 72000.1}]}`, or the list alone."""
    listed = answer if isinstance(answer, list) else _field(answer, "data", list)
    if not listed or not all(isinstance(one, dict) for one in listed):
        return None
    return [(one.get("code"), one.get("rate")) for one in listed]


def _kraken(answer: Any) -> Pairs | None:
    """Read `{"result": {"XXBTZEUR": {"c": ["72000.1", "0.0006"]}}}`; `c` is the last trade."""
    result = _field(answer, "result", dict)
    if not result:
        return None
    pairs = [(_KRAKEN_PAIR.fullmatch(name), ticker) for name, ticker in result.items()]
    return [
        (found[1] or found[2], trade[0])
        for found, ticker in pairs
        if found and (trade := _field(ticker, "c", list))
    ]


def _yadio(answer: Any) -> Pairs | None:
    """Read `{"BTC": {"EUR": 72000.1}, "base": "BTC"}`."""
    rates = _field(answer, BITCOIN, dict)
    return rates.items() if rates and answer.get("base", BITCOIN) == BITCOIN else None


def _field(value: Any, name: str, kind: type) -> Any:
    """Return a field of this type, None if there is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, kind) else None
