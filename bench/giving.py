"""Payments whose payer chooses the amount, writes a message and gets a code, beside plain ones."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from bench import load
from bench.service import CLIENTS, FORM, OFFER, ROUNDS, SEE_OTHER, Side, beside, open_shop

if TYPE_CHECKING:
    from bench.service import Shop
    from bench.table import Row

PLAIN = "a payment of a fixed price"
LIST = 5_000
"""Codes of one call: a body has 64 KiB."""

DROP = OFFER | {"expirationType": "limit", "totalUnits": 1_000_000}
CHOSEN = DROP | {
    "amountChoice": {"minimum": 1, "suggested": [2.5, 5, 10], "maximum": 100},
    "maxQuantity": 5,
    "delivery": {"codes": ["first-of-all"]},
}
WORDS = {"amount": "7.50", "quantity": "1", "name": "Mia", "message": "for the drums!"}


async def giving() -> list[Row]:
    """Measure payments with choice, message and code, and those without, each durable."""
    async with open_shop() as shop, open_shop() as other:
        path = await shop.create(json.dumps(CHOSEN).encode())
        await _add_codes(shop, path)
        plain = await other.create(json.dumps(DROP).encode())
        ours = Side(shop.urls, lambda: _form(path, WORDS), SEE_OTHER)
        theirs = Side(other.urls, lambda: _form(plain, {}), SEE_OTHER)
        return await beside(
            "payments with choice, message and code", ours, theirs, PLAIN, "≥ 0.9 ×"
        )


async def _add_codes(shop: Shop, path: str) -> None:
    """Add more codes than payments will come."""
    address = f"/v3/paymentRequests/{path.rpartition('/')[2]}/codes"
    wanted = ROUNDS * sum(CLIENTS.values()) + 2 * LIST
    bodies = (
        json.dumps({"codes": [secrets.token_hex(6) for _ in range(LIST)]}).encode()
        for _ in range(0, wanted, LIST)
    )
    calls = [load.post(address, "application/json", body, shop.headers) for body in bodies]
    await load.drive(shop.urls, calls, clients=1)


def _form(path: str, fields: dict[str, str]) -> bytes:
    body = urlencode({"token": secrets.token_hex(16)} | fields).encode()
    return load.post(path, FORM, body)
