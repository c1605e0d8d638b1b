"""What the payment service answers about payout accounts, for tests that script it."""

from __future__ import annotations

from typing import Any

from bot.chat.model.payout import PayoutAccount
from tests.support.http_messages import http_response


def shown(account: PayoutAccount) -> dict[str, Any]:
    """Return an account as the service sends it."""
    return {
        "id": account.id, "owner": "seller-1", "kind": account.kind, "scheme": account.scheme,
        "automatic": account.automatic, "currency": account.currencies[0],
        "currencies": [*account.currencies], "label": account.label,
    }  # fmt: skip


def answer(account: PayoutAccount) -> bytes:
    return http_response(200, shown(account))


def link(*accounts: PayoutAccount) -> bytes:
    items = [shown(account) for account in accounts]
    return http_response(200, {"items": items})


def refusal(field: str, message: str, code: object = None) -> bytes:
    info = [{"field": field, "message": message, "code": code}]
    body = {"code": "invalidBody", "message": "No.", "info": info}
    return http_response(400, body)
