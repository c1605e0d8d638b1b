"""SQL of payment totals, by currency and settlement."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from bot.chat.model import request_spec
from bot.chat.store import link_rows
from bot.core.database import database, tables

EARNED, OVERSOLD, UNDERPAID = 0, 1, 2
"""The settlement of a payment: a sale, no unit left, or less than the price."""

PAID_BACK = 3
"""Added to a settlement for the totals of payments that the seller paid back."""

BETWEEN = (
    "SELECT listing_id, p.currency,"  # noqa: S608 - our own words
    f" CASE WHEN underpaid = 1 THEN {UNDERPAID} ELSE oversold END AS settlement,"
    " CASE WHEN paid_back_at IS NULL THEN 0 ELSE 1 END AS is_back, COUNT(*) AS payments,"
    " SUM(quantity) AS pieces,"
    f" SUM({tables.BILLIONS}) AS billions, SUM({tables.REST}) AS rest"
    " FROM listings JOIN received_payments p ON listing_id = listings.id"
    " WHERE listings.seller_id = :seller AND received_at >= :since AND received_at < :until"
    " GROUP BY 1, 2, 3, 4 ORDER BY payments DESC, listing_id, p.currency"
)
SALES = (
    "SELECT amount, received_at, paid_back_at FROM received_payments WHERE listing_id = :listing"
    " AND currency = :currency AND oversold = 0 AND underpaid = 0 AND transaction_id <> :but"
)


@dataclass(frozen=True, slots=True)
class RevenueTotals:
    """Payment totals in minor units by currency, the most frequent currency first."""

    earned: tuple[tuple[int, str], ...] = ()
    """Sales, including paid-back ones."""
    earned_count: int = 0
    to_refund: tuple[tuple[int, str], ...] = ()
    """Payments that came when no unit was left and must be paid back."""
    refund_count: int = 0
    short: tuple[tuple[int, str], ...] = ()
    """Underpaid payments that were not paid back; they are no sales."""
    short_count: int = 0
    returned: tuple[tuple[int, str], ...] = ()
    """The part of `earned` that was paid back."""
    returned_count: int = 0
    settled_count: int = 0
    """Number of oversold payments that were already paid back."""
    units_sold: int = 0
    """Units bought by the sales."""


NO_REVENUE = RevenueTotals()


@dataclass(frozen=True, slots=True)
class Money:
    """A payment's contribution to the revenue: an amount in minor units, and the units bought."""

    amount: int
    currency: str
    quantity: int = 1


@dataclass(frozen=True, slots=True)
class LinkRevenue:
    """The revenue of a link in a period."""

    link: link_rows.PaymentLink
    totals: RevenueTotals


def add_amount(
    tx: database.Transaction, link_id: str, money: Money, settlement: int, number: int = 1
) -> None:
    """Add a payment to a link's revenue, or remove it (`number` -1)."""
    billions, rest = tables.split_amount(number * money.amount)
    tx.execute(
        "INSERT INTO takings (listing_id, currency, settlement, billions, rest, payments, pieces)"
        " VALUES (:listing, :currency, :settlement, :billions, :rest, :payments, :pieces)"
        " ON CONFLICT (listing_id, currency, settlement) DO UPDATE SET"
        " billions = takings.billions + excluded.billions, rest = takings.rest + excluded.rest,"
        " payments = takings.payments + excluded.payments,"
        " pieces = takings.pieces + excluded.pieces",
        listing=link_id,
        currency=money.currency,
        settlement=settlement,
        billions=billions,
        rest=rest,
        payments=number,
        pieces=number * money.quantity,
    )


def revenue_totals(tx: database.Transaction, link_id: str) -> RevenueTotals:
    """Return a link's revenue."""
    rows = tx.query(
        "SELECT billions, rest, currency, settlement, payments, pieces FROM takings"
        " WHERE listing_id = :listing AND payments > 0 ORDER BY payments DESC, currency",
        listing=link_id,
    )
    return _sum_up((row, row["settlement"]) for row in rows)


def _sum_up(rows: Iterable[tuple[database.Row, int]]) -> RevenueTotals:
    """Add up rows with `billions`, `rest`, `currency`, `payments` and `pieces`, by settlement."""
    sums: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    counts: dict[int, int] = defaultdict(int)
    units: dict[int, int] = defaultdict(int)
    for row, settlement in rows:
        sums[settlement][str(row["currency"])] += tables.join_amount(row)
        counts[settlement] += int(row["payments"])
        units[settlement] += int(row["pieces"])

    def outstanding(settlement: int) -> tuple[tuple[int, str], ...]:
        back = sums[settlement + PAID_BACK]
        left = ((minor - back.get(code, 0), code) for code, minor in sums[settlement].items())
        return tuple(each for each in left if each[0] > 0 or each[1] not in back)

    def whole(settlement: int) -> tuple[tuple[int, str], ...]:
        return tuple((minor, code) for code, minor in sums[settlement].items())

    settled = counts[OVERSOLD + PAID_BACK]
    return RevenueTotals(
        earned=whole(EARNED),
        earned_count=counts[EARNED],
        to_refund=outstanding(OVERSOLD),
        refund_count=counts[OVERSOLD] - settled,
        short=outstanding(UNDERPAID),
        short_count=counts[UNDERPAID] - counts[UNDERPAID + PAID_BACK],
        returned=whole(EARNED + PAID_BACK),
        returned_count=counts[EARNED + PAID_BACK],
        settled_count=settled,
        units_sold=units[EARNED],
    )


def sales(tx: database.Transaction, link_id: str, currency: str, but: str) -> list[database.Row]:
    """Return the amounts and times of a link's sales in a currency, except transaction `but`."""
    return tx.query(SALES, listing=link_id, currency=currency, but=but)


def revenue_between(
    tx: database.Transaction, seller_id: int, since: int, until: int
) -> list[LinkRevenue]:
    """Return the revenue of a seller's links from `since` until before `until` (epoch ms).

    The link with the most payments comes first; links that can't be parsed are left out.
    """
    rows = tx.query(BETWEEN, seller=seller_id, since=since, until=until)
    taken_by: dict[str, list[tuple[database.Row, int]]] = {}
    for row in rows:
        parts = taken_by.setdefault(row["listing_id"], [])
        parts.append((row, row["settlement"]))
        if row["is_back"]:
            parts.append((row, row["settlement"] + PAID_BACK))
    found = [(_link(tx, link_id), parts) for link_id, parts in taken_by.items()]
    read = [LinkRevenue(known, _sum_up(parts)) for known, parts in found if known]
    return sorted(read, key=lambda one: -one.totals.earned_count)


def _link(tx: database.Transaction, link_id: str) -> link_rows.PaymentLink | None:
    """Return a link, or None if it can't be parsed."""
    row = tx.one(f"{link_rows.SELECT_LINK} WHERE id = :id", id=link_id)
    return (
        link_rows.read_link(row)
        if row and request_spec.RequestSpec.from_json(row["wish"]) is not None
        else None
    )
