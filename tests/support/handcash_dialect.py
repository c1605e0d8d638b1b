"""HandCash Cloud's dialect of the interface: its refusals, in its words, and its formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from bot.core import exact_json
from tests.support.http_messages import http_response

LONGEST_NAME = 25
INSTRUMENTS = ("BSV", "MNEE")
FIAT = ("USD", "EUR", "GBP", "CHF", "JPY", "SEK", "MXN", "BRL")
KINDS = ("never", "onPaymentCompleted", "limit")


class Refusal(Exception):
    """An answer that is no success: status and message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.answer = http_response(status, {"message": message, "info": None})


def written(data: Any) -> bytes:
    """Build a success: always 200, with a body."""
    return http_response(200, exact_json.dumps(data).encode(), Content_Type="application/json")


def iso(moment: float) -> str:
    """Format a time in seconds since 1970."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds")


def read(body: bytes) -> dict[str, Any]:
    """Parse the JSON object of a call. Raises Refusal."""
    try:
        data = exact_json.loads(body)
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise Refusal(400, "Unexpected token in JSON")
    return data


def echoed(body: dict[str, Any]) -> dict[str, Any]:
    """Return the body as the server keeps it: every custom parameter becomes a string."""
    webhook = body.get("notifications", {}).get("webhook")
    if webhook is None:
        return dict(body)
    told_as = {name: str(value) for name, value in webhook.get("customParameters", {}).items()}
    kept = {**body["notifications"], "webhook": {**webhook, "customParameters": told_as}}
    return {**body, "notifications": kept}


def check(body: Mapping[str, Any]) -> None:
    """Refuse a body as HandCash does, in its words: the field in quotes, then the problem."""
    check_name(body.get("product"))
    _choice(body, "instrumentCurrencyCode", INSTRUMENTS)
    if "denominationCurrencyCode" in body:
        _choice(body, "denominationCurrencyCode", FIAT)
    _choice(body, "expirationType", KINDS)
    if body["expirationType"] == "limit" and not isinstance(body.get("totalUnits"), int):
        raise Refusal(400, '"totalUnits" is required')
    receivers = body.get("receivers")
    if not isinstance(receivers, list) or not receivers:
        raise Refusal(400, '"receivers" must contain at least 1 items')


def check_name(product: Any) -> None:
    """Refuse a product without a name, or with a long one."""
    name = product.get("name") if isinstance(product, dict) else None
    if not isinstance(name, str) or not name:
        raise Refusal(400, '"product.name" is required')
    if len(name) > LONGEST_NAME:
        words = f"length must be less than or equal to {LONGEST_NAME} characters long"
        raise Refusal(400, f'"product.name" {words}')


def _choice(body: Mapping[str, Any], name: str, choices: Sequence[str]) -> None:
    if body.get(name) not in choices:
        raise Refusal(400, f'"{name}" must be one of [{", ".join(choices)}]')
