"""SQL of the payments that were told, and of what they come to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bot.chat.model.wish import Wish
from bot.chat.store.listings import SELECT_LISTING, Listing, in_clause, read_listing, short_id
from bot.core import exact_json
from bot.core.database import big_sums

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.core.database.database import Database, Row, Transaction

PLACEHOLDER = "unnamed:"
"""What the transaction of a payment begins with that only the units told; no server's does."""

BY_WEBHOOK, FOUND_LATER, UNCERTAIN = 0, 1, 2
"""How we know of a payment: by its webhook, by looking, or by a webhook that came when one had been
found by its units alone, so that nobody can say whether it is that one."""


@dataclass(frozen=True, slots=True)
class Payment:
    """A payment as it was told; `amount` in minor units of `currency`.

    `oversold`: it came when no unit was left, so that the seller owes it back. `reserved_units`
    were being paid for by others. `found`: no webhook told it, it was found by looking. `named`:
    what its server named where that can't be counted.
    """

    request_id: str
    transaction_id: str
    amount: int
    currency: str
    payer: dict[str, Any]
    oversold: bool = False
    reserved_units: int = 0
    found: bool = False
    named: str | None = None


@dataclass(frozen=True, slots=True)
class ListingTakings:
    """What a listing took within some time: `amounts` in minor units by currency."""

    listing: Listing
    amounts: tuple[tuple[int, str], ...]
    count: int


@dataclass(frozen=True, slots=True)
class AlertCounts:
    """How far the seller of a listing was told of its payments.

    `told` counts those whose alert was delivered, `muted` those that the seller wanted no alert of.
    `is_summed_up`: the line at the end was said.
    """

    listing: Listing
    told: int
    muted: int
    is_summed_up: bool


def paid_request_ids(tx: Transaction, listing_id: str) -> set[str]:
    """Give the ids of the requests of which payments were told for this listing."""
    rows = tx.query(
        "SELECT DISTINCT request_id FROM received_payments WHERE listing_id = :listing",
        listing=listing_id,
    )
    return {str(row["request_id"]) for row in rows}


def add_payment(tx: Transaction, listing_id: str, payment: Payment, now: int) -> bool:
    """Record a payment; False where it was recorded before."""
    fresh = bool(
        tx.execute(
            "INSERT INTO received_payments"
            " (request_id, transaction_id, listing_id, amount, currency, body, oversold, found,"
            " received_at)"
            " VALUES (:request, :transaction, :listing, :amount, :currency, :body, :oversold,"
            " :found, :now)"
            " ON CONFLICT (request_id, transaction_id) DO NOTHING",
            request=payment.request_id,
            transaction=payment.transaction_id,
            listing=listing_id,
            amount=payment.amount,
            currency=payment.currency,
            body=exact_json.dumps(payment.payer),
            oversold=int(payment.oversold),
            found=FOUND_LATER if payment.found else BY_WEBHOOK,
            now=now,
        )
    )
    if fresh:
        _take(tx, listing_id, payment.amount, payment.currency, 1)
    return fresh


def replace_placeholder(tx: Transaction, listing_id: str, payment: Payment, since: int) -> bool:
    """Give a payment that was found by its units alone the transaction that it turns out to be.

    False where this transaction is known, or none was found from `since` (epoch ms) on.
    """
    row = tx.one(
        "SELECT transaction_id, amount, currency FROM received_payments"
        " WHERE request_id = :request AND listing_id = :listing AND transaction_id LIKE :unnamed"
        " AND received_at >= :since AND NOT EXISTS (SELECT 1 FROM received_payments"
        " WHERE request_id = :request AND transaction_id = :transaction)"
        " ORDER BY transaction_id LIMIT 1",
        request=payment.request_id,
        listing=listing_id,
        transaction=payment.transaction_id,
        unnamed=f"{PLACEHOLDER}%",
        since=since,
    )
    if row is None or not _name(tx, payment, row["transaction_id"]):
        return False
    _take(tx, listing_id, -row["amount"], row["currency"], -1)
    _take(tx, listing_id, payment.amount, payment.currency, 1)
    return True


def _name(tx: Transaction, payment: Payment, unnamed_id: str) -> int:
    """Let a payment take the place of an unnamed one, unless that has been taken since."""
    return tx.execute(
        "UPDATE received_payments SET transaction_id = :transaction, amount = :amount,"
        " currency = :currency, body = :body, found = :found"
        " WHERE request_id = :request AND transaction_id = :unnamed",
        request=payment.request_id,
        transaction=payment.transaction_id,
        unnamed=unnamed_id,
        found=FOUND_LATER if payment.found else UNCERTAIN,
        amount=payment.amount,
        currency=payment.currency,
        body=exact_json.dumps(payment.payer),
    )


def _take(tx: Transaction, listing_id: str, amount: int, currency: str, payments: int) -> None:
    """Add so much, of so many payments, to what a listing took."""
    billions, rest = big_sums.split(amount)
    tx.execute(
        "INSERT INTO takings (listing_id, currency, billions, rest, payments)"
        " VALUES (:listing, :currency, :billions, :rest, :payments)"
        " ON CONFLICT (listing_id, currency) DO UPDATE SET"
        " billions = takings.billions + excluded.billions, rest = takings.rest + excluded.rest,"
        " payments = takings.payments + excluded.payments",
        listing=listing_id,
        currency=currency,
        billions=billions,
        rest=rest,
        payments=payments,
    )


def takings(tx: Transaction, listing_id: str) -> list[tuple[int, str]]:
    """Give what a listing took so far: minor units and currency, the one most often paid first."""
    rows = tx.query(
        "SELECT billions, rest, currency FROM takings WHERE listing_id = :listing AND payments > 0"
        " ORDER BY payments DESC, currency",
        listing=listing_id,
    )
    return [(big_sums.whole(row), str(row["currency"])) for row in rows]


def alert_counts(tx: Transaction, listing_id: str) -> AlertCounts | None:
    """Give how far payments were told; None where there is no such listing that can be read."""
    row = tx.one(f"{SELECT_LISTING} WHERE id = :id", id=listing_id)
    if row is None or Wish.from_json(row["wish"]) is None:
        return None
    return AlertCounts(
        read_listing(row), row["told_count"], row["muted_count"], bool(row["summed_up"])
    )


def add_delivered(tx: Transaction, listing_id: str, payments: int) -> None:
    """Note that alerts of so many payments more were delivered."""
    tx.execute(
        "UPDATE listings SET told_count = told_count + :payments WHERE id = :id",
        id=listing_id,
        payments=payments,
    )


def add_muted(tx: Transaction, listing_id: str, payments: int) -> None:
    """Note that so many payments more came of which the seller wants no alert."""
    tx.execute(
        "UPDATE listings SET muted_count = muted_count + :payments WHERE id = :id",
        id=listing_id,
        payments=payments,
    )


def count_oversold(tx: Transaction, listing_id: str) -> int:
    """Count the payments that came when nothing was left; it looks at each."""
    row = tx.one(
        "SELECT COUNT(*) AS number FROM received_payments"
        " WHERE listing_id = :listing AND oversold = 1",
        listing=listing_id,
    )
    return int(row["number"]) if row else 0


def mark_summed_up(tx: Transaction, listing_id: str) -> bool:
    """Note that the line at a drop's end is said; False where it was before."""
    return bool(
        tx.execute(
            "UPDATE listings SET summed_up = 1 WHERE id = :id AND summed_up = 0", id=listing_id
        )
    )


def takings_between(
    tx: Transaction, seller_id: int, since: int, until: int
) -> list[ListingTakings]:
    """Give what a seller's listings took from `since` to before `until` (epoch ms).

    Those most often paid first; one that can't be read, since a later version wrote it, is left
    out.
    """
    rows = tx.query(
        "SELECT listing_id, p.currency, COUNT(*) AS payments,"  # noqa: S608 - our own words
        f" SUM({big_sums.BILLIONS}) AS billions, SUM({big_sums.REST}) AS rest"
        " FROM listings JOIN received_payments p ON listing_id = listings.id"
        " WHERE seller_id = :seller AND received_at >= :since AND received_at < :until"
        " GROUP BY listing_id, p.currency ORDER BY payments DESC, listing_id, p.currency",
        seller=seller_id,
        since=since,
        until=until,
    )
    taken_by: dict[str, list[Row]] = {}
    for row in rows:
        taken_by.setdefault(row["listing_id"], []).append(row)
    found = [(alert_counts(tx, listing_id), parts) for listing_id, parts in taken_by.items()]
    read = [_day(known.listing, parts) for known, parts in found if known]
    return sorted(read, key=lambda day: -day.count)


def _day(listing: Listing, parts: Sequence[Row]) -> ListingTakings:
    amounts = tuple((big_sums.whole(row), str(row["currency"])) for row in parts)
    return ListingTakings(listing, amounts, sum(int(row["payments"]) for row in parts))


def settle_uncertain(tx: Transaction, listing_id: str, most: int) -> list[int]:
    """Settle that payments which explained others were new: when those others had been found.

    At most `most` of them, whose place is free again then.
    """
    rows = tx.query(
        "UPDATE received_payments SET found = :told"
        " WHERE listing_id = :listing AND transaction_id IN"
        " (SELECT transaction_id FROM received_payments WHERE listing_id = :listing"
        " AND found = :in_doubt ORDER BY received_at LIMIT :most) RETURNING received_at",
        listing=listing_id,
        in_doubt=UNCERTAIN,
        told=BY_WEBHOOK,
        most=most,
    )
    return [int(row["received_at"]) for row in rows]


def placeholder_id() -> str:
    """Give a transaction id for a payment of which no more is known than that it was made."""
    return f"{PLACEHOLDER}{short_id(16)}"


async def known_transactions(db: Database, request_id: str, ids: Sequence[str]) -> set[str]:
    """Give those of a request's transactions that were told, beside the writer."""
    wanted, params = in_clause(ids)
    rows = await db.query(
        "SELECT transaction_id FROM received_payments"  # noqa: S608 - our own names
        f" WHERE request_id = :request AND transaction_id IN {wanted}",
        request=request_id,
        **params,
    )
    return {row["transaction_id"] for row in rows}
