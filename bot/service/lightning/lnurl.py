"""Read the answers of LNURL-pay services (LUD-06, LUD-12, LUD-16, LUD-21).

HTTP statuses have no meaning there (LUD-01): an error is the field `status`. Unknown fields are
skipped, because services add their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from bot.core.errors import BadAnswer, PeerRefusal
from bot.core.text import sanitize

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST_REASON = 200  # characters
LONGEST_URL = 2_000  # characters
MOST_COMMENT = 2_000  # characters
_MOST = 10**20
"""Millisatoshi, more than all there are: a longer number fills memory, logs and messages."""


@dataclass(frozen=True, slots=True)
class PayOffer:
    """What a service takes: `least` and `most` in millisatoshi, comments of so many characters."""

    callback: str
    least: int
    most: int
    comment_length: int


@dataclass(frozen=True, slots=True)
class OfferedInvoice:
    """An invoice, unread; `verify` is the address that reports its payment, if there is one."""

    text: str
    verify: str | None


@dataclass(frozen=True, slots=True)
class Verification:
    """A service's word on an invoice; preimage and invoice are None where it names none."""

    settled: bool
    preimage: str | None
    invoice: str | None


def read_offer(answer: Mapping[str, Any]) -> PayOffer:
    """Read the answer of an address (LUD-06). Raises PeerRefusal and BadAnswer."""
    _check_status(answer)
    if answer.get("tag") != "payRequest":
        raise BadAnswer("the answer is no LNURL-pay request")
    least, most = _whole(answer.get("minSendable")), _whole(answer.get("maxSendable"))
    if not 0 < least <= most:
        raise BadAnswer("minSendable and maxSendable are no range of amounts")
    comment_length = min(max(_whole(answer.get("commentAllowed"), 0), 0), MOST_COMMENT)
    return PayOffer(_url(answer, "callback"), least, most, comment_length)


def callback_url(offer: PayOffer, msat: int, comment: str) -> str:
    """Return the address that answers with an invoice; the service's own query stays as it is."""
    query = {"amount": str(msat)}
    if offer.comment_length and comment:
        query["comment"] = comment[: offer.comment_length]
    plain = offer.callback.partition("#")[0]
    return f"{plain}{'&' if '?' in plain else '?'}{urlencode(query)}"


def read_invoice(answer: Mapping[str, Any]) -> OfferedInvoice:
    """Read the answer of a callback. Raises PeerRefusal and BadAnswer."""
    _check_status(answer)
    text = answer.get("pr")
    if not isinstance(text, str):
        raise BadAnswer("the answer holds no invoice")
    return OfferedInvoice(text, _url(answer, "verify") if answer.get("verify") else None)


def read_verification(answer: Mapping[str, Any]) -> Verification:
    """Read the answer of a verify address (LUD-21). Raises PeerRefusal and BadAnswer."""
    _check_status(answer)
    settled = answer.get("settled")
    if not isinstance(settled, bool):
        raise BadAnswer("the answer does not say whether the invoice is settled")
    return Verification(settled, _text(answer, "preimage"), _text(answer, "pr"))


def _check_status(answer: Mapping[str, Any]) -> None:
    if str(answer.get("status", "")).upper() == "ERROR":
        reason = sanitize.line(str(answer.get("reason") or ""), LONGEST_REASON)
        raise PeerRefusal(reason or "no reason given")


def _whole(value: Any, missing: int | None = None) -> int:
    if value is None and missing is not None:
        return missing
    if isinstance(value, Decimal) and -_MOST < value < _MOST and value == value.to_integral_value():
        value = int(value)
    if type(value) is not int or not -_MOST < value < _MOST:
        raise BadAnswer("an amount of the answer is no whole number")
    return value


def _url(answer: Mapping[str, Any], name: str) -> str:
    value = answer.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_URL:
        raise BadAnswer(f"{name} is no address")
    return value


def _text(answer: Mapping[str, Any], name: str) -> str | None:
    value = answer.get(name)
    if value is not None and not isinstance(value, str):
        raise BadAnswer(f"{name} is no text")
    return value or None
