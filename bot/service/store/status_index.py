"""SQL of the status of requests, stored in `stage` so that a list of one status reads an index.

Time and the last unit change a status without a statement that stores it. So before a list by
status, `refresh` stores the changes since the last such list, each change once.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from bot.service.model.request import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.core.database.database import Database, Transaction

# The same rule as `PaymentRequest.status`: a test compares the two.
STATUS = f"""
    CASE WHEN r.remaining_units = 0 AND r.reserved_units = 0
              THEN CASE r.expiration_type WHEN 'limit' THEN '{Status.SOLD_OUT}'
                   ELSE '{Status.COMPLETED}' END
         WHEN r.expires_at <= :now THEN '{Status.EXPIRED}'
         WHEN r.enabled_at > :now THEN '{Status.SCHEDULED}'
         ELSE '{Status.ACTIVE}' END
"""
# Nothing about times: SQLite would use the index by time.
IN_STATUS = f"r.stage = :status AND {STATUS} = :status"

# The ways in which a stored stage becomes outdated, by an edit and a clock set back too; each with
# the columns by which its index is ordered. A spent request stays spent.
SPENT = "r.remaining_units = 0 AND r.reserved_units = 0 AND r.stage NOT IN ('soldOut', 'completed')"
_WAYS = (
    (SPENT, "r.id"),
    (
        "r.stage IN ('active', 'scheduled') AND r.expires_at IS NOT NULL AND r.expires_at <= :now",
        "r.expires_at",
    ),
    ("r.stage = 'expired' AND r.expires_at > :now", "r.expires_at"),
    ("r.stage = 'expired' AND r.expires_at IS NULL", "r.expires_at, r.id"),
    ("r.stage = 'scheduled' AND r.enabled_at <= :now", "r.enabled_at"),
    ("r.stage = 'active' AND r.enabled_at > :now", "r.enabled_at"),
)
UPDATE = f"UPDATE payment_requests AS r SET stage = {STATUS} WHERE r.id = :id"  # noqa: S608 - our own words
MANY = 100
"""Requests whose stages are stored in one transaction: payers wait for it."""


@cache
def outdated(most: int) -> str:
    """Return the statement that finds up to `most` requests whose stored stage is outdated.

    PostgreSQL takes these conditions for much likelier than they are, and would look for the first
    row in the whole table: only an index has them in order.
    """
    ways = " UNION ALL ".join(
        "SELECT id FROM (SELECT r.id FROM payment_requests r"  # noqa: S608 - our own conditions
        f" WHERE r.app_id = :app_id AND r.deleted_at IS NULL AND {condition}"
        f" ORDER BY {order} LIMIT {most}) AS way{number}"
        for number, (condition, order) in enumerate(_WAYS)
    )
    return f"SELECT id FROM ({ways}) AS outdated LIMIT {most}"  # noqa: S608 - as above


async def refresh(db: Database, app_id: str, clock: Callable[[], int]) -> int:
    """Store the present status of the application's requests; return the time (epoch ms) of it.

    A concurrent refresh may use another time and undo this one: so each transaction reads the
    clock, and the last one is that which finds nothing new.
    """
    stored: set[str] = set()
    if await db.one(outdated(1), app_id=app_id, now=clock()):
        while found := await db.bulk(lambda tx: refresh_some(tx, app_id, clock())) - stored:
            stored |= found
    return clock()


def refresh_some(tx: Transaction, app_id: str, now: int) -> set[str]:
    """Store the status of at most MANY requests; return their ids."""
    found = {row["id"] for row in tx.query(outdated(MANY), app_id=app_id, now=now)}
    for request_id in sorted(found):  # whoever locks several requests locks them in this order
        tx.execute(UPDATE, id=request_id, now=now)
    return found
