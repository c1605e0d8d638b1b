"""SQL of exchange rates: the newest price of one bitcoin by source and currency."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bot.core.database.database import Transaction

    Prices: TypeAlias = Mapping[str, Decimal]

INSERT = """
    INSERT INTO exchange_rates (source, currency, price, at)
    VALUES (:source, :currency, :price, :at)
"""
DROP = "DELETE FROM exchange_rates WHERE source = :source"
NEWEST = "SELECT MAX(at) AS at FROM exchange_rates"
READ = "SELECT source, currency, price, at FROM exchange_rates"


def replace(tx: Transaction, source: str, prices: Prices, now: int) -> None:
    """Store the prices that a source has answered at `now`, and forget its older ones."""
    tx.execute(DROP, source=source)
    for currency, price in prices.items():
        tx.execute(INSERT, source=source, currency=currency, price=str(price), at=now)


def read(tx: Transaction) -> dict[str, tuple[int, dict[str, Decimal]]]:
    """Return, for each source, when it answered last (epoch ms) and its prices."""
    found: dict[str, tuple[int, dict[str, Decimal]]] = {}
    for row in tx.query(READ):
        _, prices = found.setdefault(row["source"], (row["at"], {}))
        prices[row["currency"]] = Decimal(row["price"])
    return found


def newest(tx: Transaction) -> int | None:
    """Return when a source answered last (epoch ms), None if none has."""
    (row,) = tx.query(NEWEST)
    at: int | None = row["at"]
    return at
