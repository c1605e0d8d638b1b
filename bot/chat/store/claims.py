"""SQL of claims: payers' words that they have sent the money, for the seller to confirm.

Underpaid money is kept here too: its seller may confirm it in the same way.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from bot.chat.model.payment_reference import fold_reference
from bot.chat.store.listings import short_id

if TYPE_CHECKING:
    from bot.core.database.database import Row, Transaction

WAITING, CONFIRMING, REJECTING = "waiting", "confirming", "rejecting"
CONFIRMED, REJECTED, PAID, CLOSED = "confirmed", "rejected", "paid", "closed"
UNDERPAID = "underpaid"
"""States of a claim: CONFIRMED by its seller before the payment's record, PAID with it. CLOSED:
decided elsewhere, or gone at the service. UNDERPAID: less than was asked arrived, which nobody has
to decide about."""

COLUMNS = (
    "id, checkout_id, request_id, listing_id, seller_id, kind, amount, currency, reference,"
    " state, claimed_at, lapses_at, message_id, answered_in, reminders, remind_at"
)
SELECT = f"SELECT {COLUMNS} FROM claims"  # noqa: S608 - our own words

SAVE = (
    "INSERT INTO claims (id, checkout_id, request_id, listing_id, seller_id, kind, amount,"
    " currency, reference, folded, state, claimed_at, lapses_at, remind_at)"
    " VALUES (:id, :checkout_id, :request_id, :listing_id, :seller_id, :kind, :amount, :currency,"
    " :reference, :folded, :state, :claimed_at, :lapses_at, :remind_at)"
    " ON CONFLICT (checkout_id) DO UPDATE SET"
    " state = CASE claims.state WHEN 'confirming' THEN claims.state ELSE excluded.state END,"
    " claimed_at = excluded.claimed_at, lapses_at = excluded.lapses_at, reminders = 0,"
    " remind_at = excluded.remind_at"
    " WHERE claims.claimed_at < excluded.claimed_at RETURNING id"
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim; `amount` in minor units is the payer's side, times in epoch ms.

    The unit is held until `lapses_at`. `message_id` is the claim's own message in the seller's
    chat, `answered_in` the same once its button was pressed there.
    """

    id: str
    checkout_id: str
    request_id: str
    listing_id: str
    seller_id: int
    kind: str
    amount: int
    currency: str
    reference: str | None
    state: str
    claimed_at: int
    lapses_at: int
    message_id: int | None = None
    answered_in: int | None = None
    reminders: int = 0
    remind_at: int | None = None

    def is_waiting(self, now: int) -> bool:
        """Check whether it waits for its seller at `now` (epoch ms)."""
        return self.state == WAITING and now < self.lapses_at

    def is_open(self, now: int) -> bool:
        """Check whether its seller may still decide at `now` (epoch ms) what it asks."""
        return self.state == UNDERPAID or self.is_waiting(now)

    def is_under_way(self) -> bool:
        """Check whether the service is being asked to confirm or reject it."""
        return self.state in (CONFIRMING, REJECTING)


def new_claim_id() -> str:
    """Make the id of a claim, which its buttons carry."""
    return short_id(10)


def save_claim(tx: Transaction, claim: Claim) -> str | None:
    """Store a claim, or a newer one of the same checkout; return its id, None if it is known."""
    values = asdict(claim)
    for unset in ("message_id", "answered_in", "reminders"):
        values.pop(unset)
    row = tx.one(SAVE, **values, folded=fold_reference(claim.reference or "") or None)
    return str(row["id"]) if row else None


def find_claim(tx: Transaction, claim_id: str) -> Claim | None:
    """Return a claim of any seller, None if there is none."""
    row = tx.one(f"{SELECT} WHERE id = :id", id=claim_id)
    return _read(row) if row else None


def claim_of_checkout(tx: Transaction, checkout_id: str) -> Claim | None:
    """Return the claim of a checkout, None if there is none."""
    row = tx.one(f"{SELECT} WHERE checkout_id = :checkout", checkout=checkout_id)
    return _read(row) if row else None


def waiting_claims(tx: Transaction, seller_id: int, now: int, most: int) -> list[Claim]:
    """Return up to `most` claims that wait for this seller at `now` (epoch ms), oldest first."""
    rows = tx.query(
        f"{SELECT} WHERE seller_id = :seller AND state = 'waiting' AND lapses_at > :now"
        " ORDER BY claimed_at, id LIMIT :most",
        seller=seller_id,
        now=now,
        most=most,
    )
    return [_read(row) for row in rows]


def claims_by_reference(tx: Transaction, seller_id: int, text: str, most: int) -> list[Claim]:
    """Return up to `most` of a seller's unpaid claims with this reference, newest first."""
    folded = fold_reference(text)
    if not folded:
        return []
    rows = tx.query(
        f"{SELECT} WHERE seller_id = :seller AND folded = :folded AND state <> 'paid'"
        " ORDER BY claimed_at DESC, id DESC LIMIT :most",
        seller=seller_id,
        folded=folded,
        most=most,
    )
    return [_read(row) for row in rows]


def change_state(tx: Transaction, claim: Claim, state: str, answered_in: int | None = None) -> bool:
    """Store a claim's new state; return False if another press or the payment was first."""
    return bool(
        tx.execute(
            "UPDATE claims SET state = :new, answered_in = :answered_in"
            " WHERE id = :id AND state = :old",
            id=claim.id,
            new=state,
            old=claim.state,
            answered_in=answered_in,
        )
    )


def set_arrived(tx: Transaction, claim_id: str, amount: int, currency: str) -> None:
    """Store what has arrived for a claim, in minor units."""
    sql = "UPDATE claims SET amount = :amount, currency = :currency WHERE id = :id"
    tx.execute(sql, id=claim_id, amount=amount, currency=currency)


def lapse(tx: Transaction, claim_id: str, now: int) -> None:
    """Store that the service holds a claim's unit no longer, at `now` (epoch ms)."""
    sql = "UPDATE claims SET lapses_at = :now WHERE id = :id AND lapses_at > :now"
    tx.execute(sql, id=claim_id, now=now)


def set_message(tx: Transaction, claim_id: str, message_id: int) -> None:
    """Store a claim's own message."""
    sql = "UPDATE claims SET message_id = :message WHERE id = :id"
    tx.execute(sql, id=claim_id, message=message_id)


def due_claims(tx: Transaction, now: int, most: int) -> list[Claim]:
    """Return up to `most` claims whose reminder is due at `now` (epoch ms), in their order."""
    sql = f"{SELECT} WHERE state = 'waiting' AND remind_at <= :now ORDER BY remind_at LIMIT :most"
    rows = tx.query(sql, now=now, most=most)
    return [_read(row) for row in rows]


def set_reminder(tx: Transaction, claim: Claim, reminders: int, remind_at: int | None) -> bool:
    """Store how many reminders were sent and when the next is due (epoch ms).

    Return False if another process did so first.
    """
    sql = (
        "UPDATE claims SET reminders = :reminders, remind_at = :next"
        " WHERE id = :id AND remind_at = :due"
    )
    given = {"id": claim.id, "due": claim.remind_at}
    return bool(tx.execute(sql, **given, reminders=reminders, next=remind_at))


def _read(row: Row) -> Claim:
    return Claim(**row)
