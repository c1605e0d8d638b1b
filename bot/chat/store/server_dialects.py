"""SQL of payment servers: their dialects, and the sellers who were warned about prices."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.core.database.database import Transaction


def known_dialect(tx: Transaction, server: str) -> str | None:
    """Return the name of the dialect that worked last, None for the first dialect."""
    row = tx.one("SELECT name FROM dialects WHERE server = :server", server=server)
    return str(row["name"]) if row else None


def remember_dialect(tx: Transaction, server: str, name: str | None) -> None:
    """Store the dialect that worked, None for the first dialect."""
    if name is None:
        tx.execute("DELETE FROM dialects WHERE server = :server", server=server)
        return
    tx.execute(
        "INSERT INTO dialects (server, name) VALUES (:server, :name)"
        " ON CONFLICT (server) DO UPDATE SET name = excluded.name",
        server=server,
        name=name,
    )


def mark_price_warning(tx: Transaction, server: str, seller_id: int) -> bool:
    """Store that a seller is warned that the server sends no prices; False if warned before."""
    return bool(
        tx.execute(
            "INSERT INTO unchecked_prices (server, seller_id) VALUES (:server, :seller)"
            " ON CONFLICT (server, seller_id) DO NOTHING",
            server=server,
            seller=seller_id,
        )
    )
