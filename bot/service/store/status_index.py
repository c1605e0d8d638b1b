"""SQL of the status of requests, stored in `stage` so that a list of one status reads an index.

Time and the last unit change a status without a statement that stores it. So before a list by
status, `refresh` stores the changes since the last such list, each change once.
"""

from __future__ import annotations

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

# The ways in which a stored stage becomes outdated, by an edit and a clock set back too. A spent
# request stays spent.
SPENT = "r.remaining_units = 0 AND r.reserved_units = 0 AND r.stage NOT IN ('soldOut', 'completed')"
_OUTDATED = (
    SPENT,
    "r.stage IN ('active', 'scheduled') AND r.expires_at IS NOT NULL AND r.expires_at <= :now",
    "r.stage = 'expired' AND r.expires_at > :now",
    "r.stage = 'expired' AND r.expires_at IS NULL",
    "r.stage = 'scheduled' AND r.enabled_at <= :now",
    "r.stage = 'active' AND r.enabled_at > :now",
)
OUTDATED = " UNION ALL ".join(
    "SELECT r.id FROM payment_requests r"  # noqa: S608 - our own conditions
    f" WHERE r.app_id = :app_id AND r.deleted_at IS NULL AND {condition}"
    for condition in _OUTDATED
)
FIRST = f"SELECT id FROM ({OUTDATED}) AS outdated LIMIT 1"  # noqa: S608 - as above
COUNTS = OUTDATED.replace("r.id FROM", "COUNT(*) AS n FROM")
SOME = f"SELECT id FROM ({OUTDATED}) AS outdated LIMIT :many"  # noqa: S608 - as above
UPDATE = f"UPDATE payment_requests AS r SET stage = {STATUS} WHERE r.id = :id"  # noqa: S608 - as above
MANY = 100
"""Requests whose stages are stored in one transaction: payers wait for it."""


async def refresh(db: Database, app_id: str, clock: Callable[[], int]) -> int:
    """Store the present status of the application's requests; return the time (epoch ms) of it.

    A concurrent refresh may use another time and undo this one: so each transaction reads the
    clock, and their number is limited by the work found at the beginning.
    """
    now = clock()
    if await db.one(FIRST, app_id=app_id, now=now):
        counts = await db.query(COUNTS, app_id=app_id, now=now)
        for _ in range(0, sum(row["n"] for row in counts), MANY):
            if not await db.transaction(lambda tx: refresh_some(tx, app_id, clock())):
                break
    return clock()


def refresh_some(tx: Transaction, app_id: str, now: int) -> int:
    """Store the status of at most MANY requests; return how many, 0 if none is outdated."""
    found = {row["id"] for row in tx.query(SOME, app_id=app_id, now=now, many=MANY)}
    for request_id in sorted(found):  # whoever locks several requests locks them in this order
        tx.execute(UPDATE, id=request_id, now=now)
    return len(found)
