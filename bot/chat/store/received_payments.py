"""SQL of recorded payments and of their sums."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bot.chat.model.transaction_number import fold_number
from bot.chat.model.wish import Wish
from bot.chat.store.listings import SELECT_LISTING, Listing, in_clause, read_listing
from bot.core import exact_json
from bot.core.database import big_sums

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bot.core.database.database import Database, Row, Transaction

PLACEHOLDER = "unnamed:"
"""Prefix of a placeholder's transaction id: of its payment only the unit is known. No server's
transaction ids begin so."""

BY_WEBHOOK, FOUND_LATER, UNCERTAIN = 0, 1, 2
"""How a payment became known: by its webhook, by the reconciler, or by a webhook that replaced a
placeholder, which may stand for another payment."""

FREE_PLACEHOLDER = (
    "SELECT transaction_id, amount, currency, oversold FROM received_payments"
    " WHERE request_id = :request AND listing_id = :listing AND transaction_id LIKE :placeholder"
    " AND received_at >= :since AND NOT EXISTS (SELECT 1 FROM received_payments"
    " WHERE request_id = :request AND transaction_id = :transaction)"
    " ORDER BY transaction_id LIMIT 1"
)


@dataclass(frozen=True, slots=True)
class Payment:
    """A payment to record; `amount` in minor units of `currency`.

    `oversold`: it came when no unit was left and has to be paid back. `reserved_units`: held by
    open checkouts. `found`: the reconciler found it, no webhook brought it. `named`: the amount as
    the server wrote it where it can't be parsed.
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
class Takings:
    """The sums of payments, in minor units by currency, the most frequent currency first.

    `earned` comes from `earned_count` payments. `to_refund` came when no unit was left, from
    `refund_count` payments: it has to be paid back.
    """

    earned: tuple[tuple[int, str], ...] = ()
    earned_count: int = 0
    to_refund: tuple[tuple[int, str], ...] = ()
    refund_count: int = 0


NO_TAKINGS = Takings()


@dataclass(frozen=True, slots=True)
class ListingTakings:
    """The takings of a listing within some time."""

    listing: Listing
    takings: Takings


@dataclass(frozen=True, slots=True)
class AlertCounts:
    """The alerts of a listing's payments.

    `delivered` counts the delivered alerts, `muted` the payments that came while alerts were off.
    `is_summed_up`: the line at the end of a drop is queued.
    """

    listing: Listing
    delivered: int
    muted: int
    is_summed_up: bool


def known_number(transaction_id: str) -> str | None:
    """Return the transaction number that people know, None for a placeholder's."""
    return None if transaction_id.startswith(PLACEHOLDER) else transaction_id


def paid_request_ids(tx: Transaction, listing_id: str) -> set[str]:
    """Return the ids of a listing's requests that have recorded payments."""
    sql = "SELECT DISTINCT request_id FROM received_payments WHERE listing_id = :listing"
    rows = tx.query(sql, listing=listing_id)
    return {str(row["request_id"]) for row in rows}


def add_payment(tx: Transaction, listing_id: str, payment: Payment, now: int) -> bool:
    """Record a payment; return False if it is known already."""
    fresh = bool(
        tx.execute(
            "INSERT INTO received_payments"
            " (request_id, transaction_id, listing_id, amount, currency, body, oversold, found,"
            " received_at, seller_id, number, number_reversed)"
            " VALUES (:request, :transaction, :listing, :amount, :currency, :body, :oversold,"
            " :found, :now, (SELECT seller_id FROM listings WHERE id = :listing),"
            " :number, :number_reversed)"
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
            **_searched(payment.transaction_id),
        )
    )
    if fresh:
        _add_to_takings(tx, listing_id, payment)
    return fresh


def replace_placeholder(tx: Transaction, listing_id: str, payment: Payment, since: int) -> bool:
    """Replace a placeholder, recorded since `since` (epoch ms), by a payment.

    Return False if there is no placeholder or if the transaction is known already.
    """
    row = tx.one(
        FREE_PLACEHOLDER,
        request=payment.request_id,
        listing=listing_id,
        transaction=payment.transaction_id,
        placeholder=f"{PLACEHOLDER}%",
        since=since,
    )
    if row is None or not _replace(tx, payment, row["transaction_id"]):
        return False
    known = replace(
        payment,
        amount=row["amount"],
        currency=row["currency"],
        oversold=bool(row["oversold"]),
    )
    _add_to_takings(tx, listing_id, known, -1)
    _add_to_takings(tx, listing_id, payment)
    return True


def _replace(tx: Transaction, payment: Payment, placeholder: str) -> int:
    return tx.execute(
        "UPDATE received_payments SET transaction_id = :transaction, amount = :amount,"
        " currency = :currency, body = :body, oversold = :oversold, found = :found,"
        " number = :number, number_reversed = :number_reversed"
        " WHERE request_id = :request AND transaction_id = :placeholder",
        request=payment.request_id,
        transaction=payment.transaction_id,
        placeholder=placeholder,
        found=FOUND_LATER if payment.found else UNCERTAIN,
        amount=payment.amount,
        currency=payment.currency,
        body=exact_json.dumps(payment.payer),
        oversold=int(payment.oversold),
        **_searched(payment.transaction_id),
    )


def _searched(transaction_id: str) -> dict[str, str | None]:
    """Return the columns by which a payment is found (store/payment_search.py)."""
    number = fold_number(known_number(transaction_id) or "") or None
    return {"number": number, "number_reversed": number and number[::-1]}


def _add_to_takings(tx: Transaction, listing_id: str, payment: Payment, number: int = 1) -> None:
    """Add a payment to a listing's takings, or remove it (`number` -1)."""
    billions, rest = big_sums.split_amount(number * payment.amount)
    tx.execute(
        "INSERT INTO takings (listing_id, currency, oversold, billions, rest, payments)"
        " VALUES (:listing, :currency, :oversold, :billions, :rest, :payments)"
        " ON CONFLICT (listing_id, currency, oversold) DO UPDATE SET"
        " billions = takings.billions + excluded.billions, rest = takings.rest + excluded.rest,"
        " payments = takings.payments + excluded.payments",
        listing=listing_id,
        currency=payment.currency,
        oversold=int(payment.oversold),
        billions=billions,
        rest=rest,
        payments=number,
    )


def takings(tx: Transaction, listing_id: str) -> Takings:
    """Return a listing's takings."""
    rows = tx.query(
        "SELECT billions, rest, currency, oversold, payments FROM takings"
        " WHERE listing_id = :listing AND payments > 0 ORDER BY payments DESC, currency",
        listing=listing_id,
    )
    return _takings(rows)


def _takings(rows: Iterable[Row]) -> Takings:
    """Sum up rows with `billions`, `rest`, `currency`, `oversold` and `payments`."""
    amounts: tuple[list[tuple[int, str]], ...] = ([], [])
    counts = [0, 0]
    for row in rows:
        amounts[row["oversold"]].append((big_sums.join_amount(row), str(row["currency"])))
        counts[row["oversold"]] += int(row["payments"])
    return Takings(tuple(amounts[0]), counts[0], tuple(amounts[1]), counts[1])


def alert_counts(tx: Transaction, listing_id: str) -> AlertCounts | None:
    """Return the alert counts of a listing, None if there is no such listing that can be parsed."""
    row = tx.one(f"{SELECT_LISTING} WHERE id = :id", id=listing_id)
    if row is None or Wish.from_json(row["wish"]) is None:
        return None
    return AlertCounts(
        read_listing(row), row["delivered_count"], row["muted_count"], bool(row["summed_up"])
    )


def count_alerts(tx: Transaction, listing_id: str, *, delivered: int = 0, muted: int = 0) -> None:
    """Add payments whose alerts were delivered, or that came while alerts were off."""
    sql = (
        "UPDATE listings SET delivered_count = delivered_count + :delivered,"
        " muted_count = muted_count + :muted WHERE id = :id"
    )
    tx.execute(sql, id=listing_id, delivered=delivered, muted=muted)


def count_oversold(tx: Transaction, listing_id: str) -> int:
    """Count a listing's oversold payments; it reads every payment of the listing."""
    row = tx.one(
        "SELECT COUNT(*) AS number FROM received_payments"
        " WHERE listing_id = :listing AND oversold = 1",
        listing=listing_id,
    )
    return int(row["number"]) if row else 0


def mark_summed_up(tx: Transaction, listing_id: str) -> bool:
    """Mark the line at a drop's end as queued; return False if it was before."""
    sql = "UPDATE listings SET summed_up = 1 WHERE id = :id AND summed_up = 0"
    return bool(tx.execute(sql, id=listing_id))


def takings_between(
    tx: Transaction, seller_id: int, since: int, until: int
) -> list[ListingTakings]:
    """Return the takings of a seller's listings from `since` until before `until` (epoch ms).

    The listing with the most payments comes first; one that can't be parsed is left out.
    """
    rows = tx.query(
        "SELECT listing_id, p.currency, oversold, COUNT(*) AS payments,"  # noqa: S608 - our own words
        f" SUM({big_sums.BILLIONS}) AS billions, SUM({big_sums.REST}) AS rest"
        " FROM listings JOIN received_payments p ON listing_id = listings.id"
        " WHERE listings.seller_id = :seller AND received_at >= :since AND received_at < :until"
        " GROUP BY listing_id, p.currency, oversold"
        " ORDER BY payments DESC, listing_id, p.currency",
        seller=seller_id,
        since=since,
        until=until,
    )
    taken_by: dict[str, list[Row]] = {}
    for row in rows:
        taken_by.setdefault(row["listing_id"], []).append(row)
    found = [(alert_counts(tx, listing_id), parts) for listing_id, parts in taken_by.items()]
    read = [ListingTakings(known.listing, _takings(parts)) for known, parts in found if known]
    return sorted(read, key=lambda one: -one.takings.earned_count)


def settle_uncertain(tx: Transaction, listing_id: str, most: int) -> list[int]:
    """Settle up to `most` uncertain payments as new ones: their placeholders were other payments.

    Return the times (epoch ms) at which those placeholders had been recorded.
    """
    sql = (
        "UPDATE received_payments SET found = :by_webhook"
        " WHERE listing_id = :listing AND transaction_id IN"
        " (SELECT transaction_id FROM received_payments WHERE listing_id = :listing"
        " AND found = :in_doubt ORDER BY received_at LIMIT :most) RETURNING received_at"
    )
    rows = tx.query(sql, listing=listing_id, in_doubt=UNCERTAIN, by_webhook=BY_WEBHOOK, most=most)
    return [int(row["received_at"]) for row in rows]


async def known_transactions(db: Database, request_id: str, ids: Sequence[str]) -> set[str]:
    """Return those of a request's transactions that are recorded, read without the writer."""
    wanted, params = in_clause(ids)
    rows = await db.query(
        "SELECT transaction_id FROM received_payments"  # noqa: S608 - our own names
        f" WHERE request_id = :request AND transaction_id IN {wanted}",
        request=request_id,
        **params,
    )
    return {row["transaction_id"] for row in rows}
