"""SQL that erases who sells, and where their money goes; their payments stay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.core.ops import audit
from bot.core.privacy.erasure import match_key, mentions_any
from bot.service.store.requests import read_seller

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bot.core.database.database import Row, Transaction
    from bot.core.privacy.erasure import Scope

BATCH = 50
"""Profiles erased in one transaction: payments wait for it."""

NAMED = (
    "SELECT id, app_id, owner, seller FROM payment_requests"
    " WHERE seller IS NOT NULL AND (owner <> '' OR {named})"
)
OF_OWNER = (
    "SELECT id FROM payment_requests"
    " WHERE app_id = :app_id AND owner = :owner AND seller IS NOT NULL"
)
OF_APPS = "SELECT id, seller FROM apps WHERE seller IS NOT NULL"
FORGET = {
    "payment_requests": "UPDATE payment_requests SET seller = NULL WHERE id = :id",
    "apps": "UPDATE apps SET seller = NULL WHERE id = :id",
    "payout_accounts": "DELETE FROM payout_accounts WHERE id = :id",
    "checkouts": "UPDATE checkouts SET pay_with = NULL, look = NULL WHERE id = :id",
    "audit": audit.BLANK,
}
OWNERS = (
    "SELECT app_id, payout AS owner FROM payment_requests WHERE payout IS NOT NULL"
    " UNION SELECT app_id, owner FROM payout_accounts"
)
ACCOUNTS = "SELECT id FROM payout_accounts WHERE app_id = :app_id AND owner = :owner"
# What payers were shown names the account, also one that was deleted since.
SHOWN = (
    "SELECT c.id FROM payment_requests r JOIN checkouts c ON c.request_id = r.id"
    " WHERE r.app_id = :app_id AND r.payout = :owner"
    " AND (c.pay_with IS NOT NULL OR c.look IS NOT NULL)"
)


def profiles(tx: Transaction, scope: Scope) -> list[tuple[str, str]]:
    """Return table and id of all that shows who the people of the scope are, or their accounts.

    The profiles are those of all requests of a seller. People are sellers by their contact or by
    their reference (`Owner-Ref`). Returns none if the scope is limited to payments.
    """
    people = scope.sellers
    if scope.before is not None or scope.request_id is not None or not people:
        return []
    named, given = mentions_any("seller", people)
    rows = [
        row
        for row in tx.query(NAMED.format(named=named), **given)
        if row["owner"].casefold() in people or _is_contact(row, people)
    ]
    ids = {row["id"] for row in rows}
    owners = {(row["app_id"], row["owner"]) for row in rows if row["owner"]}
    for app_id, owner in owners:
        ids.update(row["id"] for row in tx.query(OF_OWNER, app_id=app_id, owner=owner))
    apps = (row["id"] for row in tx.query(OF_APPS) if _is_contact(row, people))
    paid = (row for row in tx.query(OWNERS) if row["owner"].casefold() in people)
    owners |= {(row["app_id"], row["owner"]) for row in paid}
    return [
        *(("payment_requests", one) for one in sorted(ids)),
        *(("apps", one) for one in apps),
        *_accounts(tx, owners),
    ]


def _accounts(tx: Transaction, owners: set[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield table and id of all that shows where the money of these owners goes."""
    for app_id, owner in sorted(owners):
        for table, sql in (("payout_accounts", ACCOUNTS), ("checkouts", SHOWN)):
            for row in tx.query(sql, app_id=app_id, owner=owner):
                yield table, row["id"]
    actors = {(audit.app(app_id), owner) for app_id, owner in owners}
    for line in audit.read_all(tx, "payout.") if owners else ():
        if (line.actor, line.details.get("owner")) in actors:
            yield "audit", line.id


def forget(tx: Transaction, found: list[tuple[str, str]]) -> None:
    """Erase these profiles and accounts."""
    for table, row_id in found:
        tx.execute(FORGET[table], id=row_id)


def batches(found: list[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    """Yield the profiles in parts of one transaction each."""
    for start in range(0, len(found), BATCH):
        yield found[start : start + BATCH]


def _is_contact(row: Row, people: frozenset[str]) -> bool:
    seller = read_seller(row["seller"])
    return seller is not None and match_key(seller.contact or "") in people
