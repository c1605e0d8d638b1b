"""What must hold of a shop in the chat: it and the service know the same, and so do its buyers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bot.chat.store.payment_rows import EARNED, OVERSOLD, PAID_BACK, UNDERPAID
from bot.core.database.database import Row
from tests.simulation.faults.chat_shop import ChatShop
from tests.simulation.faults.faulty_product import SimulatedProduct
from tests.simulation.faults.shop_invariants import PAYMENTS, balance_problems

CODE = re.compile(r"(?:CODE|LATER)-\d{3}")
RECORDED = "SELECT * FROM received_payments"
SAME = (
    "amount", "currency", "quantity", "payer_name", "message", "message_hidden", "sent_note",
    "paid_back_note",
)  # fmt: skip
"""The columns that chat and service have in common."""

TAKINGS = (
    "SELECT settlement, SUM(payments) AS payments, SUM(pieces) AS pieces,"
    " SUM(billions * 1000000000 + rest) AS sum FROM takings JOIN listings ON listings.id ="
    " listing_id WHERE request_id = :id GROUP BY settlement"
)


def chat_shop_problems(product: SimulatedProduct, shop: ChatShop) -> list[str]:
    """Return every broken promise of the shop in words."""
    if not shop.donation:
        return ["the shop never opened"]
    rows = {i: product.rows("bot", PAYMENTS, id=i) for i in (shop.drop, shop.donation)}
    every = [row for found in rows.values() for row in found]
    return [
        *balance_problems(product, shop),
        *_recorded(product, every),
        *_marked(every, shop),
        *(line for i, found in rows.items() for line in _takings(product, i, found)),
        *_kept(shop),
    ]


def _recorded(product: SimulatedProduct, rows: list[Row]) -> Iterator[str]:
    """Check that the chat has recorded each payment as the service has it."""
    recorded = {row["transaction_id"]: row for row in product.rows("bot", RECORDED)}
    for row in rows:
        here = recorded.get(row["id"])
        if here is None:
            yield f"{row['email']} paid, and the chat doesn't know"
            continue
        states = here["oversold"], here["underpaid"]
        odd = [name for name in SAME if here[name] != row[name]]
        odd += [n for n in ("sent_at", "paid_back_at") if (here[n] is None) != (row[n] is None)]
        if odd or states != (row["state"] == "oversold", row["state"] == "underpaid"):
            yield f"{row['email']} differs in {odd}: recorded {here}, paid {row}"


def _marked(rows: list[Row], shop: ChatShop) -> Iterator[str]:
    """Check that payments are marked as the keeper's last presses say."""
    for name, column, asked in (
        ("paid back", "paid_back_at", shop.paid_back),
        ("sent", "sent_at", shop.sent),
        ("hidden", "message_hidden", shop.hidden),
    ):
        found = {row["id"] for row in rows if row[column]}
        if found != asked:
            yield f"{name} is {found}, not {asked}"


def _takings(product: SimulatedProduct, request_id: str, rows: list[Row]) -> Iterator[str]:
    """Check that the sums in the chat are those of the payments, by what became of them."""
    expected: dict[int, tuple[int, int, int]] = {}
    for row in rows:
        became = {"oversold": OVERSOLD, "underpaid": UNDERPAID}.get(row["state"], EARNED)
        beside = [] if row["paid_back_at"] is None else [became + PAID_BACK]
        for one in (became, *beside):
            payments, pieces, total = expected.get(one, (0, 0, 0))
            expected[one] = payments + 1, pieces + row["quantity"], total + row["amount"]
    found = {
        row["settlement"]: (row["payments"], row["pieces"], row["sum"])
        for row in product.rows("bot", TAKINGS, id=request_id)
        if row["payments"]
    }
    if found != expected:
        yield f"the chat sums up {found}, paid was {expected}"


def _kept(shop: ChatShop) -> Iterator[str]:
    """Check that buyers were sent all of their codes once all are there, and none of others."""
    for transaction, buyer in shop.kept.items():
        delivery = (shop.receipts[transaction] or {}).get("delivery") or {}
        mine = set(delivery.get("codes", []))
        told = {code for one in buyer.chat.from_bot() for code in CODE.findall(one.text)}
        if delivery.get("state") == "delivered" and mine - told:
            yield f"{buyer.user.first_name} was not sent {mine - told}"
        if told - mine and transaction not in shop.paid_back:
            yield f"{buyer.user.first_name} was sent {told - mine} of others"
