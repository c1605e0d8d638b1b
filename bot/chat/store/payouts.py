"""SQL of sellers' payout accounts as the service last listed them, and of the links paid to them.

The service has the accounts. What is stored here is what it shows of them, so that forms and cards
need not ask it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.model.payout import BANK, PayoutAccount, account_destination
from bot.chat.store.listings import LIVE, SELECT_LISTING, read_listing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.chat.model.draft import PayoutService, Seller
    from bot.chat.store.listings import Listing
    from bot.core.database.database import Transaction

BATCH = 50
"""Requests that are looked at in one transaction."""

ACCOUNTS = (
    "SELECT id, kind, scheme, automatic, currencies, label FROM seller_accounts"
    " WHERE seller_id = :seller ORDER BY place"
)
ADD = (
    "INSERT INTO seller_accounts (seller_id, place, id, kind, scheme, automatic, currencies, label)"
    " VALUES (:seller, :place, :id, :kind, :scheme, :automatic, :currencies, :label)"
)
LIVE_LINKS = "FROM listings WHERE seller_id = :seller AND state = :live"
OLDER = (
    f"{SELECT_LISTING} WHERE seller_id = :seller AND state = :live"
    " AND (created_at, id) < (:created_at, :before) ORDER BY created_at DESC, id DESC LIMIT :most"
)
CREATED_AT = "SELECT created_at FROM listings WHERE id = :id"
LATEST = 2**63 - 1


def at_service(tx: Transaction, seller: Seller, seller_id: int, paid_at: PayoutService) -> Seller:
    """Return the seller as one whom that service pays, with their accounts for real money."""
    if not paid_at.rails:
        return replace(seller, paid_at=paid_at)
    return replace(
        seller,
        paid_at=paid_at,
        destination=account_destination(seller_id),
        accounts=accounts_of(tx, seller_id),
    )


def accounts_of(tx: Transaction, seller_id: int) -> tuple[PayoutAccount, ...]:
    """Return a seller's payout accounts, the one that is asked first on top."""
    rows = tx.query(ACCOUNTS, seller=seller_id)
    return tuple(
        PayoutAccount(
            row["id"],
            row["kind"],
            row["scheme"],
            bool(row["automatic"]),
            tuple(row["currencies"].split()),
            row["label"],
        )
        for row in rows
    )


def save_accounts(tx: Transaction, seller_id: int, accounts: Sequence[PayoutAccount]) -> None:
    """Store a seller's payout accounts in place of those known before."""
    tx.execute("DELETE FROM seller_accounts WHERE seller_id = :seller", seller=seller_id)
    for place, one in enumerate(accounts):
        tx.execute(
            ADD,
            seller=seller_id,
            place=place,
            id=one.id,
            kind=one.kind,
            scheme=one.scheme,
            automatic=int(one.automatic),
            currencies=" ".join(one.currencies),
            label=one.label,
        )
    if accounts:
        tx.execute("UPDATE sellers SET pays_later = 0 WHERE id = :id", id=seller_id)


def forget_accounts(tx: Transaction, seller_id: int) -> None:
    """Erase what is known of a seller's payout accounts, with the forms that they left open."""
    save_accounts(tx, seller_id, ())
    tx.execute("DELETE FROM drafts WHERE seller_id = :seller", seller=seller_id)


def choose_later(tx: Transaction, seller_id: int) -> None:
    """Store that a seller without an account makes links that can't be paid yet."""
    tx.execute("UPDATE sellers SET pays_later = 1 WHERE id = :id", id=seller_id)


def links_without(tx: Transaction, seller_id: int, accounts: Sequence[PayoutAccount]) -> int:
    """Count a seller's links that none of these accounts takes."""
    if any(account.kind != BANK for account in accounts):
        return 0
    row = tx.one(f"SELECT COUNT(*) AS number {LIVE_LINKS}", seller=seller_id, live=LIVE)
    number = int(row["number"]) if row else 0
    if not accounts or not number:
        return number
    rows = tx.query(
        f"{SELECT_LISTING} WHERE seller_id = :seller AND state = :live", seller=seller_id, live=LIVE
    )
    prices = (read_listing(each).wish.currency for each in rows)
    return sum(not any(one.takes(price) for one in accounts) for price in prices)


def live_links_before(tx: Transaction, seller_id: int, before: str | None) -> list[Listing]:
    """Return a seller's next BATCH live requests older than one, the newest first."""
    row = tx.one(CREATED_AT, id=before) if before else None
    rows = tx.query(
        OLDER,
        seller=seller_id,
        live=LIVE,
        created_at=int(row["created_at"]) if row else LATEST,
        before=before or "",
        most=BATCH,
    )
    return [read_listing(each) for each in rows]
