"""Payments whose payer chooses the amount, writes a message and gets a code, beside plain ones."""

from __future__ import annotations

import secrets
from dataclasses import replace
from urllib.parse import urlencode

from bench.rounds import beside
from bench.service import ALL, OFFER, Shop, open_shop
from bench.table import Row

PLAIN = "a payment of a fixed price"
LINKS = 4
"""A request may have 100,000 codes, which one would use up."""

CODES = 50_000
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
        plain = await other.payments(LINKS, DROP)
        ours = await shop.payments(LINKS, CHOSEN)
        for path in ours.settings["PATHS"].split():
            await _add_codes(shop, path)
        ours = replace(ours, settings={**ours.settings, "FIELDS": "&" + urlencode(WORDS)})
        return await beside("payments with choice, message and code", ours, plain, PLAIN, "≥ 0.9 ×")


async def _add_codes(shop: Shop, path: str) -> None:
    """Add more codes than payments will come."""
    address = f"{ALL}/{path.rpartition('/')[2]}/codes"
    for _ in range(0, CODES, LIST):
        await shop.call(address, {"codes": [secrets.token_hex(6) for _ in range(LIST)]})
