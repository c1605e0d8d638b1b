"""SQL of recorded payments and their totals, by currency and settlement."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bot.chat.model.payment import PaidBy, fold_number, fold_reference
from bot.chat.store import link_rows
from bot.core import stored_json
from bot.core.database import database
from bot.interface import parts

# Totals.


EARNED, OVERSOLD, UNDERPAID = 0, 1, 2
"""The settlement of a payment: a sale, no unit left, or less than the price."""

PAID_BACK = 3
"""Added to a settlement for the totals of payments that the seller paid back."""

BETWEEN = (
    "SELECT listing_id, p.currency,"  # noqa: S608 - our own words
    f" CASE WHEN underpaid = 1 THEN {UNDERPAID} ELSE oversold END AS settlement,"
    " CASE WHEN paid_back_at IS NULL THEN 0 ELSE 1 END AS is_back, COUNT(*) AS payments,"
    " SUM(quantity) AS pieces,"
    f" SUM({database.BILLIONS}) AS billions, SUM({database.REST}) AS rest"
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
    billions, rest = database.split_amount(number * money.amount)
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
        sums[settlement][str(row["currency"])] += database.join_amount(row)
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
    read = [
        LinkRevenue(link, _sum_up(parts))
        for link_id, parts in taken_by.items()
        if (link := link_rows.read_if_possible(link_rows.find_row(tx, link_id)))
    ]
    return sorted(read, key=lambda one: -one.totals.earned_count)


# Payments.


PLACEHOLDER = "unnamed:"
"""Prefix of a placeholder's transaction id. A placeholder is a payment of which only the unit is
known. No server uses transaction ids with this prefix."""

BY_WEBHOOK, FOUND_LATER, UNCERTAIN = 0, 1, 2
"""Source of a payment: its webhook, the reconciler, or a webhook that replaced a placeholder, which
may stand for another payment."""

SHORT = (
    "DELETE FROM received_payments WHERE request_id = :request AND transaction_id = :transaction"
    " AND listing_id = :listing AND underpaid = 1 AND (:is_short = 0 OR amount < :amount)"
    " RETURNING amount, currency, quantity, received_at, paid_back_at, message_hidden"
)
DROP = "DELETE FROM received_payments WHERE request_id = :request AND transaction_id = :transaction"
SHORT_AT = (
    "UPDATE received_payments SET short_at = :at"
    " WHERE request_id = :request AND transaction_id = :transaction"
)
FREE_PLACEHOLDERS = (  # a key range, because LIKE would read all payments of the request
    "SELECT transaction_id, amount, currency, oversold, received_at FROM received_payments"  # noqa: S608 - our own words
    " WHERE request_id = :request AND listing_id = :listing AND received_at >= :since"
    f" AND transaction_id >= '{PLACEHOLDER}' AND transaction_id < '{PLACEHOLDER[:-1]};'"
    " AND NOT EXISTS (SELECT 1 FROM received_payments WHERE request_id = :request"
    " AND transaction_id = :transaction) ORDER BY transaction_id LIMIT :most"
)


@dataclass(frozen=True, slots=True)
class Payment:
    """A payment to record."""

    request_id: str
    transaction_id: str
    amount: int
    """In minor units of `currency`; the amount received if `underpaid`."""
    currency: str
    payer: dict[str, Any]
    oversold: bool = False
    """No unit was left, so the payment must be paid back."""
    reserved_units: int = 0
    """Units held by open checkouts."""
    found: bool = False
    """True if the reconciler found the payment instead of a webhook."""
    named: str | None = None
    """The amount as the server wrote it, if it can't be parsed."""
    underpaid: bool = False
    """The payer sent less than the price, so nothing was sold."""
    paid_by: PaidBy | None = None
    """Only the embedded service sends `paid_by`, `checkout_id` and `asked`."""
    checkout_id: str | None = None
    asked: tuple[int, str] | None = None
    """The amount asked, if `amount` is the amount received instead of the price."""
    quantity: int = 1
    words: parts.PayerWords = parts.NO_WORDS
    """The payer's name and message."""
    is_hidden: bool = False
    """The seller has hidden the words elsewhere."""
    codes_waiting: int = 0
    """Number of the request's sold units that wait for a code."""

    @property
    def ids(self) -> dict[str, str]:
        """Return the ids of the request and the transaction, as parameters of statements."""
        return {"request": self.request_id, "transaction": self.transaction_id}

    @property
    def money(self) -> Money:
        """Return the payment's contribution to the revenue."""
        return Money(self.amount, self.currency, self.quantity)

    @property
    def settlement(self) -> int:
        """Return the payment's settlement."""
        if self.underpaid:
            return UNDERPAID
        return OVERSOLD if self.oversold else EARNED


@dataclass(frozen=True, slots=True)
class AlertCounts:
    """Alert counts of a link's payments."""

    link: link_rows.PaymentLink
    delivered: int
    """Number of delivered alerts."""
    muted: int
    """Number of payments that came while alerts were off."""
    is_summed_up: bool
    """The summary at the end of a drop is queued."""


def known_number(transaction_id: str) -> str | None:
    """Return the transaction number for display, or None for a placeholder."""
    return None if transaction_id.startswith(PLACEHOLDER) else transaction_id


def paid_request_ids(tx: database.Transaction, link_id: str) -> set[str]:
    """Return the ids of a link's requests that have recorded payments."""
    sql = "SELECT DISTINCT request_id FROM received_payments WHERE listing_id = :listing"
    rows = tx.query(sql, listing=link_id)
    return {str(row["request_id"]) for row in rows}


def add_payment(tx: database.Transaction, link_id: str, payment: Payment, now: int) -> bool:
    """Record a payment; return False if it was already recorded."""
    columns = _columns(payment) | {"listing_id": link_id, "received_at": now}
    columns["found"] = FOUND_LATER if payment.found else BY_WEBHOOK
    sql = (
        f"INSERT INTO received_payments ({', '.join(columns)}, seller_id)"  # noqa: S608 - our own names
        f" VALUES ({', '.join(f':{name}' for name in columns)},"
        " (SELECT seller_id FROM listings WHERE id = :listing_id))"
        " ON CONFLICT (request_id, transaction_id) DO NOTHING"
    )
    fresh = bool(tx.execute(sql, **columns))
    if fresh:
        add_amount(tx, link_id, payment.money, payment.settlement)
    return fresh


def replace_underpaid(tx: database.Transaction, link_id: str, payment: Payment, now: int) -> bool:
    """Replace a recorded underpaid payment by its new state: complete, or a larger amount.

    Return False if no such payment is recorded. A "paid back" mark is dropped. Words that the
    seller hid stay hidden, and buttons with the time of the old record still find the payment.
    """
    amount, is_short = payment.amount, int(payment.underpaid)
    rows = tx.query(SHORT, **payment.ids, listing=link_id, is_short=is_short, amount=amount)
    for row in rows:
        before = Money(row["amount"], row["currency"], row["quantity"])
        add_amount(tx, link_id, before, UNDERPAID, -1)
        if row["paid_back_at"] is not None:
            add_amount(tx, link_id, before, UNDERPAID + PAID_BACK, -1)
    is_hidden = payment.is_hidden or any(row["message_hidden"] for row in rows)
    if not rows or not add_payment(tx, link_id, replace(payment, is_hidden=is_hidden), now):
        return False
    tx.execute(SHORT_AT, **payment.ids, at=rows[0]["received_at"])
    return True


def is_checkout_paid(tx: database.Transaction, link_id: str, checkout_id: str) -> bool:
    """True if a payment of the checkout is recorded that is not underpaid."""
    sql = (
        "SELECT 1 AS one FROM received_payments"
        " WHERE listing_id = :listing AND checkout_id = :checkout AND underpaid = 0 LIMIT 1"
    )
    return tx.one(sql, listing=link_id, checkout=checkout_id) is not None


def replace_placeholder(
    tx: database.Transaction, link_id: str, payment: Payment, since: int
) -> bool:
    """Replace placeholders recorded since `since` (epoch ms) by a payment, one for each unit.

    Return False if there is no placeholder, or if the transaction is already recorded. Underpaid
    payments sold no unit, so they never replace a placeholder.
    """
    if payment.underpaid:
        return False
    most = payment.quantity
    rows = tx.query(FREE_PLACEHOLDERS, **payment.ids, listing=link_id, since=since, most=most)
    if not rows or not _replace(tx, payment, rows[0]["transaction_id"]):
        return False
    for row in rows:
        add_amount(tx, link_id, Money(row["amount"], row["currency"]), row["oversold"], -1)
    for row in rows[1:]:
        tx.execute(DROP, request=payment.request_id, transaction=row["transaction_id"])
    add_amount(tx, link_id, payment.money, payment.settlement)
    return True


def _replace(tx: database.Transaction, payment: Payment, placeholder: str) -> int:
    columns = _columns(payment) | {"found": FOUND_LATER if payment.found else UNCERTAIN}
    sql = (
        f"UPDATE received_payments SET {', '.join(f'{name} = :{name}' for name in columns)}"  # noqa: S608 - our own names
        " WHERE request_id = :request_id AND transaction_id = :placeholder"
    )
    return tx.execute(sql, **columns, placeholder=placeholder)


def _columns(payment: Payment) -> dict[str, object]:
    """Return the columns that are filled from the payment itself."""
    paid_by = payment.paid_by
    number = fold_number(known_number(payment.transaction_id) or "") or None
    return {
        "request_id": payment.request_id,
        "transaction_id": payment.transaction_id,
        "amount": payment.amount,
        "currency": payment.currency,
        "body": stored_json.write(dict, payment.payer),
        "oversold": int(payment.oversold),
        "underpaid": int(payment.underpaid),
        "paid_by": paid_by and stored_json.write(PaidBy, paid_by),
        "checkout_id": payment.checkout_id,
        "quantity": payment.quantity,
        "payer_name": payment.words.name,
        "message": payment.words.message,
        "message_hidden": int(payment.is_hidden),
        "reference": fold_reference((paid_by and paid_by.reference) or "") or None,
        "number": number,
        "number_reversed": number and number[::-1],
    }


def read_paid_by(row: database.Row) -> PaidBy | None:
    """Parse the column `paid_by` of a row."""
    text = row["paid_by"]
    return None if text is None else stored_json.read(PaidBy, text)


def alert_counts(tx: database.Transaction, link_id: str) -> AlertCounts | None:
    """Return a link's alert counts, or None if the link doesn't exist or can't be parsed."""
    row = link_rows.find_row(tx, link_id)
    link = link_rows.read_if_possible(row)
    if row is None or link is None:
        return None
    counts = row["delivered_count"], row["muted_count"]
    return AlertCounts(link, *counts, is_summed_up=bool(row["summed_up"]))


def count_alerts(
    tx: database.Transaction, link_id: str, *, delivered: int = 0, muted: int = 0
) -> None:
    """Add to the payments whose alerts were delivered, or that came while alerts were off."""
    sql = (
        "UPDATE listings SET delivered_count = delivered_count + :delivered,"
        " muted_count = muted_count + :muted WHERE id = :id"
    )
    tx.execute(sql, id=link_id, delivered=delivered, muted=muted)


def count_oversold(tx: database.Transaction, link_id: str) -> tuple[int, int]:
    """Count a link's oversold payments and their units; this reads all of its payments."""
    row = tx.one(
        "SELECT COUNT(*) AS number, COALESCE(SUM(quantity), 0) AS pieces FROM received_payments"
        " WHERE listing_id = :listing AND oversold = 1",
        listing=link_id,
    )
    return (int(row["number"]), int(row["pieces"])) if row else (0, 0)


def mark_summed_up(tx: database.Transaction, link_id: str) -> bool:
    """Mark the summary at a drop's end as queued; return False if it already was."""
    sql = "UPDATE listings SET summed_up = 1 WHERE id = :id AND summed_up = 0"
    return bool(tx.execute(sql, id=link_id))


def settle_uncertain(tx: database.Transaction, link_id: str, most: int) -> list[int]:
    """Treat up to `most` uncertain payments as new: their placeholders were other payments.

    Return the times (epoch ms) at which the placeholders were recorded.
    """
    sql = (
        "UPDATE received_payments SET found = :by_webhook"
        " WHERE listing_id = :listing AND transaction_id IN"
        " (SELECT transaction_id FROM received_payments WHERE listing_id = :listing"
        " AND found = :in_doubt ORDER BY received_at LIMIT :most) RETURNING received_at"
    )
    rows = tx.query(sql, listing=link_id, in_doubt=UNCERTAIN, by_webhook=BY_WEBHOOK, most=most)
    return [int(row["received_at"]) for row in rows]


def received_at(tx: database.Transaction, payment: Payment) -> int | None:
    """Return when a payment was recorded (epoch ms), or None if it is not."""
    sql = (
        "SELECT received_at FROM received_payments"
        " WHERE request_id = :request AND transaction_id = :transaction"
    )
    row = tx.one(sql, **payment.ids)
    return int(row["received_at"]) if row else None


async def known_transactions(
    db: database.Database, request_id: str, ids: Sequence[str]
) -> dict[str, bool]:
    """Return which of these transactions of a request are recorded, and whether underpaid.

    Does not use the writer.
    """
    wanted, params = link_rows.in_clause(ids)
    rows = await db.query(
        "SELECT transaction_id, underpaid FROM received_payments"  # noqa: S608 - our own names
        f" WHERE request_id = :request AND transaction_id IN {wanted}",
        request=request_id,
        **params,
    )
    return {row["transaction_id"]: bool(row["underpaid"]) for row in rows}
