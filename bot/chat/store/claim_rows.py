"""SQL of claims: payers say that they have sent the money, and the seller confirms it.

Underpaid payments are stored here too, because sellers confirm them in the same way. Claiming costs
nothing, so claims from networks with many unconfirmed claims come last in every list.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from bot.chat.model import payment
from bot.chat.store import link_rows
from bot.core.database import database
from bot.core.outbox import queries

WAITING, CONFIRMING, REJECTING = "waiting", "confirming", "rejecting"
CONFIRMED, REJECTED, PAID, CLOSED = "confirmed", "rejected", "paid", "closed"
UNDERPAID = "underpaid"
"""The last of the claim states. CONFIRMED: confirmed by the seller, payment not recorded yet. PAID:
payment recorded. CLOSED: decided elsewhere, or deleted at the service. UNDERPAID: the payer sent
less than the price; no decision is needed."""

MANY_UNPROVEN = 3
"""Number of unconfirmed claims from one network above which further claims are doubtful."""

COLUMNS = (
    "id, checkout_id, request_id, listing_id AS link_id, seller_id, kind, amount, currency,"
    " reference, state, claimed_at, lapses_at, message_id, answered_in, reminders, remind_at,"
    " unproven, alone"
)
SELECT = f"SELECT {COLUMNS} FROM claims"  # noqa: S608 - our own words

SAVE = (
    "INSERT INTO claims (id, checkout_id, request_id, listing_id, seller_id, kind, amount,"
    " currency, reference, folded, state, claimed_at, lapses_at, remind_at, unproven, alone)"
    " VALUES (:id, :checkout_id, :request_id, :link_id, :seller_id, :kind, :amount, :currency,"
    " :reference, :folded, :state, :claimed_at, :lapses_at, :remind_at, :unproven, :alone)"
    " ON CONFLICT (checkout_id) DO UPDATE SET"
    " state = CASE claims.state WHEN 'confirming' THEN claims.state ELSE excluded.state END,"
    " claimed_at = excluded.claimed_at, lapses_at = excluded.lapses_at, reminders = 0,"
    " remind_at = excluded.remind_at, unproven = excluded.unproven, alone = excluded.alone"
    " WHERE claims.claimed_at < excluded.claimed_at RETURNING id"
)

OF_SELLER = "FROM claims WHERE seller_id = :seller AND state = 'waiting' AND lapses_at > :now"
OF_DIGEST = (
    "FROM claims WHERE listing_id = :listing AND state = 'waiting' AND alone = 0"
    " AND lapses_at > :now"
)
DOUBTFUL_LAST = f"CASE WHEN unproven > {MANY_UNPROVEN} THEN 1 ELSE 0 END"
DIGEST = (
    "SELECT listing_id AS link_id, message_id, sounded_at, digests.due_at, sent.id AS sending,"  # noqa: S608 - our own words
    f" edited.id AS editing FROM claim_digests AS digests LEFT JOIN {queries.QUEUED} AS sent"
    f" ON sent.id = digests.sending AND sent.state = 'waiting' LEFT JOIN {queries.QUEUED} AS edited"
    " ON edited.id = digests.editing AND edited.state = 'waiting'"
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A payer's claim to have sent money; times in epoch ms."""

    id: str
    """Used in buttons."""
    checkout_id: str
    request_id: str
    link_id: str
    seller_id: int
    kind: str
    amount: int
    """The amount that the payer pays, in minor units."""
    currency: str
    reference: str | None
    state: str
    claimed_at: int
    lapses_at: int
    """The unit is reserved until then."""
    message_id: int | None = None
    """The claim's separate message in the seller's chat."""
    answered_in: int | None = None
    """The same message_id, once the seller has pressed a button there."""
    reminders: int = 0
    remind_at: int | None = None
    unproven: int = 1
    """Number of unconfirmed claims on the request from the payer's network."""
    alone: int = 1
    """1 if the claim has a separate message, 0 if it is in the link's digest."""

    @property
    def is_doubtful(self) -> bool:
        """True if the payer's network has too many unconfirmed claims."""
        return self.unproven > MANY_UNPROVEN

    def is_waiting(self, now: int) -> bool:
        """True if the claim waits for the seller at `now` (epoch ms)."""
        return self.state == WAITING and now < self.lapses_at

    def is_open(self, now: int) -> bool:
        """True if the seller can still decide the claim at `now` (epoch ms)."""
        return self.state == UNDERPAID or self.is_waiting(now)

    def is_under_way(self) -> bool:
        """True if the service is being asked to confirm or reject it."""
        return self.state in (CONFIRMING, REJECTING)


@dataclass(frozen=True, slots=True)
class Digest:
    """The digest of a link's claims that have no separate message; times in epoch ms."""

    link_id: str
    message_id: int | None = None
    """The message that shows the digest; None if it was never sent."""
    sounded_at: int | None = None
    """When the digest was last sent as a new message."""
    due_at: int | None = None
    """When the digest is to be sent as a new message again."""
    sending: str | None = None
    """Id of the queued new message, or None if none is waiting."""
    editing: str | None = None
    """Id of the queued edit, or None if none is waiting."""


def save_claim(tx: database.Transaction, claim: Claim) -> str | None:
    """Store a new claim, or a newer claim of the same checkout; return its id, or None if known."""
    values = asdict(claim)
    for unset in ("message_id", "answered_in", "reminders"):
        values.pop(unset)
    row = tx.one(SAVE, **values, folded=payment.fold_reference(claim.reference or "") or None)
    return str(row["id"]) if row else None


def find_claim(tx: database.Transaction, claim_id: str) -> Claim | None:
    """Return a claim of any seller, or None."""
    row = tx.one(f"{SELECT} WHERE id = :id", id=claim_id)
    return _read(row) if row else None


def claim_of_checkout(tx: database.Transaction, checkout_id: str) -> Claim | None:
    """Return the claim of a checkout, or None."""
    row = tx.one(f"{SELECT} WHERE checkout_id = :checkout", checkout=checkout_id)
    return _read(row) if row else None


def waiting_claims(
    tx: database.Transaction, seller_id: int, now: int, most: int, skipped: int = 0
) -> list[Claim]:
    """Return up to `most` claims waiting for this seller at `now`, doubtful last, then by age."""
    sql = (
        f"SELECT {COLUMNS} {OF_SELLER} ORDER BY {DOUBTFUL_LAST}, claimed_at, id"
        " LIMIT :most OFFSET :skipped"
    )
    rows = tx.query(sql, seller=seller_id, now=now, most=most, skipped=skipped)
    return [_read(row) for row in rows]


def count_waiting(tx: database.Transaction, seller_id: int, now: int) -> int:
    """Count the claims that wait for this seller at `now` (epoch ms)."""
    (row,) = tx.query(f"SELECT COUNT(*) AS n {OF_SELLER}", seller=seller_id, now=now)
    return int(row["n"])


def count_alone(tx: database.Transaction, link: link_rows.PaymentLink, now: int) -> tuple[int, int]:
    """Count the waiting claims with separate messages, for a link and for its seller."""
    sql = (
        "SELECT COUNT(CASE WHEN listing_id = :listing THEN 1 END) AS of_listing,"
        f" COUNT(*) AS of_seller {OF_SELLER} AND alone = 1"
    )
    (row,) = tx.query(sql, listing=link.id, seller=link.seller_id, now=now)
    return int(row["of_listing"]), int(row["of_seller"])


def set_alone(tx: database.Transaction, claim_id: str) -> None:
    """Store that a claim has a separate message."""
    tx.execute("UPDATE claims SET alone = 1 WHERE id = :id", id=claim_id)


def digest_claims(
    tx: database.Transaction, link_id: str, now: int, most: int
) -> tuple[list[Claim], int]:
    """Return up to `most` claims of a link's digest, newest first, and their total number."""
    (row,) = tx.query(f"SELECT COUNT(*) AS n {OF_DIGEST}", listing=link_id, now=now)
    order = f"ORDER BY {DOUBTFUL_LAST}, claimed_at DESC, id DESC LIMIT :most"
    sql = f"SELECT {COLUMNS} {OF_DIGEST} {order}"
    rows = tx.query(sql, listing=link_id, now=now, most=most)
    return [_read(one) for one in rows], int(row["n"])


def find_digest(tx: database.Transaction, link_id: str) -> Digest:
    """Return a link's digest; an empty one if none is stored."""
    row = tx.one(f"{DIGEST} WHERE listing_id = :listing", listing=link_id)
    return Digest(**row) if row else Digest(link_id)


def due_digests(tx: database.Transaction, now: int, most: int) -> list[Digest]:
    """Return up to `most` digests that are due as new messages at `now` (epoch ms)."""
    sql = f"{DIGEST} WHERE digests.due_at <= :now ORDER BY digests.due_at LIMIT :most"
    return [Digest(**row) for row in tx.query(sql, now=now, most=most)]


def save_digest(tx: database.Transaction, digest: Digest) -> None:
    """Store a link's digest."""
    tx.execute(
        "INSERT INTO claim_digests (listing_id, message_id, sounded_at, due_at, sending, editing)"
        " VALUES (:link_id, :message_id, :sounded_at, :due_at, :sending, :editing)"
        " ON CONFLICT (listing_id) DO UPDATE SET message_id = excluded.message_id,"
        " sounded_at = excluded.sounded_at, due_at = excluded.due_at, sending = excluded.sending,"
        " editing = excluded.editing",
        **asdict(digest),
    )


def claims_by_reference(
    tx: database.Transaction, seller_id: int, text: str, most: int
) -> list[Claim]:
    """Return up to `most` of a seller's unpaid claims with this reference, newest first."""
    folded = payment.fold_reference(text)
    if not folded:
        return []
    sql = (
        f"{SELECT} WHERE seller_id = :seller AND folded = :folded AND state <> 'paid'"
        " ORDER BY claimed_at DESC, id DESC LIMIT :most"
    )
    rows = tx.query(sql, seller=seller_id, folded=folded, most=most)
    return [_read(row) for row in rows]


def change_state(
    tx: database.Transaction, claim: Claim, state: str, answered_in: int | None = None
) -> bool:
    """Store a claim's new state; False if another press or the payment changed it first."""
    sql = "UPDATE claims SET state = :new, answered_in = :place WHERE id = :id AND state = :old"
    return bool(tx.execute(sql, id=claim.id, new=state, old=claim.state, place=answered_in))


def set_arrived(tx: database.Transaction, claim_id: str, amount: int, currency: str) -> None:
    """Store the amount received for a claim, in minor units."""
    sql = "UPDATE claims SET amount = :amount, currency = :currency WHERE id = :id"
    tx.execute(sql, id=claim_id, amount=amount, currency=currency)


def lapse(tx: database.Transaction, claim_id: str, now: int) -> None:
    """Store that the service released a claim's unit at `now` (epoch ms)."""
    sql = "UPDATE claims SET lapses_at = :now WHERE id = :id AND lapses_at > :now"
    tx.execute(sql, id=claim_id, now=now)


def set_message(tx: database.Transaction, claim_id: str, message_id: int) -> None:
    """Store the message_id of a claim's separate message."""
    sql = "UPDATE claims SET message_id = :message WHERE id = :id"
    tx.execute(sql, id=claim_id, message=message_id)


def due_claims(tx: database.Transaction, now: int, most: int) -> list[Claim]:
    """Return up to `most` claims whose reminder is due at `now` (epoch ms), in order."""
    sql = f"{SELECT} WHERE state = 'waiting' AND remind_at <= :now ORDER BY remind_at LIMIT :most"
    rows = tx.query(sql, now=now, most=most)
    return [_read(row) for row in rows]


def set_reminder(
    tx: database.Transaction, claim: Claim, reminders: int, remind_at: int | None
) -> bool:
    """Store how many reminders were sent and when the next is due (epoch ms).

    Return False if another process did so first.
    """
    sql = (
        "UPDATE claims SET reminders = :reminders, remind_at = :next"
        " WHERE id = :id AND remind_at = :due"
    )
    given = {"id": claim.id, "due": claim.remind_at}
    return bool(tx.execute(sql, **given, reminders=reminders, next=remind_at))


def _read(row: database.Row) -> Claim:
    return Claim(**row)
