"""SQL of the states that requests are in, each kept in `stage` as it was last seen.

The clock and the last unit change a state, and nobody writes it down then. So who asks for the
requests of a state first writes down what has changed since somebody asked, each change once;
after that the page is read from an index, however many requests there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.service.model.request import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.core.database.database import Database, Transaction

# The same as `PaymentRequest.status`, which a test holds it to.
STATUS = f"""
    CASE WHEN r.remaining_units = 0 AND r.reserved_units = 0
              THEN CASE r.expiration_type WHEN 'limit' THEN '{Status.SOLD_OUT}'
                   ELSE '{Status.COMPLETED}' END
         WHEN r.expires_at <= :now THEN '{Status.EXPIRED}'
         WHEN r.enabled_at > :now THEN '{Status.SCHEDULED}'
         ELSE '{Status.ACTIVE}' END
"""
# No more than that: what else it says of times would send SQLite to an index of these.
IN_STATUS = f"r.stage = :status AND {STATUS} = :status"

# Where a stage is no more the state: one line for each way in which that comes about, an edit
# and a clock that was set back among them. What is gone stays so.
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
UPDATE = (
    f"UPDATE payment_requests AS r SET stage = {STATUS}"  # noqa: S608 - as above
    f" WHERE r.id IN (SELECT id FROM ({OUTDATED}) AS outdated LIMIT :many)"
)
MANY = 100
"""Requests whose stages are written in one transaction: payers wait for it."""


async def refresh(db: Database, app_id: str, clock: Callable[[], int]) -> int:
    """Write down the states of the application's requests; the moment (epoch ms) to read them at.

    It writes nothing where they stand there already, as they mostly do.

    Whoever else does the same may have read another time, and undo it: so each transaction asks
    the clock in its turn, and there are no more of them than there was work for at the beginning.
    """
    now = clock()
    if await db.one(FIRST, app_id=app_id, now=now):
        counts = await db.query(COUNTS, app_id=app_id, now=now)
        for _ in range(0, sum(row["n"] for row in counts), MANY):
            if not await db.transaction(lambda tx: refresh_some(tx, app_id, clock())):
                break
    return clock()


def refresh_some(tx: Transaction, app_id: str, now: int) -> int:
    """Do it for at most MANY of them; how many, 0 where all are written down."""
    return tx.execute(UPDATE, app_id=app_id, now=now, many=MANY)
