"""SQL of facts about payment servers: dialects, refusals, and the reconciler's observations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bot.core.database import database


@dataclass(frozen=True, slots=True)
class UnitGapObservation:
    """A comparison in which the server had sold more units than the chat had recorded."""

    sold: int
    """Total units sold, according to the server."""
    seen_at: int
    """In epoch ms."""


def find_observation(tx: database.Transaction, link_id: str) -> UnitGapObservation | None:
    """Return the observation of a link, or None."""
    row = tx.one("SELECT sold, seen_at FROM sightings WHERE listing_id = :id", id=link_id)
    return UnitGapObservation(row["sold"], row["seen_at"]) if row else None


def observed_links(tx: database.Transaction) -> set[str]:
    """Return the ids of all links that have an observation."""
    return {str(row["listing_id"]) for row in tx.query("SELECT listing_id FROM sightings")}


def save_observation(
    tx: database.Transaction, link_id: str, observation: UnitGapObservation
) -> None:
    """Store the observation of a link, replacing an earlier one."""
    sql = (
        "INSERT INTO sightings (listing_id, sold, seen_at) VALUES (:id, :sold, :seen_at)"
        " ON CONFLICT (listing_id) DO UPDATE SET sold = excluded.sold, seen_at = excluded.seen_at"
    )
    tx.execute(sql, id=link_id, sold=observation.sold, seen_at=observation.seen_at)


def delete_observations(tx: database.Transaction, link_ids: Iterable[str]) -> None:
    """Delete the observations of these links."""
    for link_id in link_ids:
        tx.execute("DELETE FROM sightings WHERE listing_id = :id", id=link_id)


def is_gap_known(tx: database.Transaction, link_id: str, gap: tuple[int, int], since: int) -> bool:
    """True if a search after `since` (epoch ms) left this gap (see `save_gap`)."""
    sql = (
        "SELECT 1 AS one FROM payment_gaps WHERE listing_id = :id"
        " AND counted = :counted AND recorded = :recorded AND searched_at > :since"
    )
    counted, recorded = gap
    return tx.one(sql, id=link_id, counted=counted, recorded=recorded, since=since) is not None


def save_gap(tx: database.Transaction, link_id: str, gap: tuple[int, int], now: int) -> None:
    """Store a gap: the numbers of payments that the server counts and that the chat recorded.

    It remains if the server lists fewer payments than it counts.
    """
    sql = (
        "INSERT INTO payment_gaps (listing_id, counted, recorded, searched_at)"
        " VALUES (:id, :counted, :recorded, :now) ON CONFLICT (listing_id) DO UPDATE SET"
        " counted = excluded.counted, recorded = excluded.recorded,"
        " searched_at = excluded.searched_at"
    )
    tx.execute(sql, id=link_id, counted=gap[0], recorded=gap[1], now=now)


def mark_double_reported(tx: database.Transaction, link_id: str, request_id: str) -> bool:
    """Store that a paid duplicate was reported to the operator; False if it already was."""
    sql = (
        "INSERT INTO paid_doubles (request_id, listing_id) VALUES (:request, :listing)"
        " ON CONFLICT (request_id) DO NOTHING"
    )
    return bool(tx.execute(sql, request=request_id, listing=link_id))


def known_dialect(tx: database.Transaction, server: str) -> str | None:
    """Return the name of the dialect that worked last; None means the first dialect."""
    row = tx.one("SELECT name FROM dialects WHERE server = :server", server=server)
    return str(row["name"]) if row else None


def remember_dialect(tx: database.Transaction, server: str, name: str | None) -> None:
    """Store the dialect that worked; None means the first dialect."""
    if name is None:
        tx.execute("DELETE FROM dialects WHERE server = :server", server=server)
        return
    tx.execute(
        "INSERT INTO dialects (server, name) VALUES (:server, :name)"
        " ON CONFLICT (server) DO UPDATE SET name = excluded.name",
        server=server,
        name=name,
    )


def refuses_seller(tx: database.Transaction, server: str, since: int) -> bool:
    """True if a server has refused a request's `seller` field since `since` (epoch ms)."""
    sql = "SELECT 1 AS one FROM seller_refusals WHERE server = :server AND refused_at > :since"
    return tx.one(sql, server=server, since=since) is not None


def remember_seller_refusal(tx: database.Transaction, server: str, now: int) -> None:
    """Store that a server refuses a request's `seller` field."""
    sql = (
        "INSERT INTO seller_refusals (server, refused_at) VALUES (:server, :now)"
        " ON CONFLICT (server) DO UPDATE SET refused_at = excluded.refused_at"
    )
    tx.execute(sql, server=server, now=now)


def mark_price_warning(tx: database.Transaction, server: str, seller_id: int) -> bool:
    """Store that a seller was warned that the server sends no prices; False if already warned."""
    sql = (
        "INSERT INTO unchecked_prices (server, seller_id) VALUES (:server, :seller)"
        " ON CONFLICT (server, seller_id) DO NOTHING"
    )
    return bool(tx.execute(sql, server=server, seller=seller_id))
