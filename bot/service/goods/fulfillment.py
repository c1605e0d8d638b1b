"""What a request delivers: set when it is created, changed by edits and shown to its buyers.

The code of unit number n is the row with place n. The statement that sells a unit assigns its
number, so each code is sold once and a payment needs no extra statement. Callers that change goods
hold the request's lock, which payments take too (docs/decisions/database.md#0069).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from bot.core import errors
from bot.core.database import database
from bot.interface import vocabulary
from bot.service.goods import contents, files
from bot.service.payments import payment_rows
from bot.service.requests.request import Payment, PaymentRequest

# Codes.

ROWS = 200
"""Rows per statement: every statement of a list except the last has the same text."""

OF_UNITS = (
    "SELECT code FROM codes WHERE request_id = :request_id AND place >= :first AND place <= :last"
    " ORDER BY place"
)
COUNT = """
    UPDATE payment_requests SET codes_count = :last, codes_skipped = :skipped WHERE id = :id
"""
LAST_CODE = "SELECT codes_count FROM payment_requests WHERE id = :id"
OF_SELLER = """
    SELECT COALESCE(SUM(codes_count - codes_skipped), 0) AS codes FROM payment_requests
    WHERE app_id = :app_id AND owner = :owner AND codes_count > 0
"""


def insert_codes(
    tx: database.Transaction, request_id: str, first: int, codes: Sequence[str]
) -> None:
    """Store new codes at the places from `first` up."""
    for start, some in _slices(codes):
        rows = ", ".join(
            f"(:request_id, CAST(:first AS BIGINT) + {number}, :code{number})"
            for number in range(len(some))
        )
        tx.execute(
            f"INSERT INTO codes (request_id, place, code) VALUES {rows}",  # noqa: S608 - numbers
            request_id=request_id,
            first=first + start,
            **_named(some),
        )


def new_ones(tx: database.Transaction, request_id: str, codes: Sequence[str]) -> list[str]:
    """Return the codes that the request doesn't have yet."""
    known: set[str] = set()
    for _, some in _slices(codes):
        listed = ", ".join(f":code{number}" for number in range(len(some)))
        rows = tx.query(
            f"SELECT code FROM codes WHERE request_id = :request_id AND code IN ({listed})",  # noqa: S608 - names
            request_id=request_id,
            **_named(some),
        )
        known.update(row["code"] for row in rows)
    return [code for code in codes if code not in known]


def set_counts(tx: database.Transaction, request_id: str, last: int, skipped: int) -> None:
    """Store the last unit that has a code, and how many units up to it have none."""
    tx.execute(COUNT, id=request_id, last=last, skipped=skipped)


def _slices(codes: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    for start in range(0, len(codes), ROWS):
        yield start, codes[start : start + ROWS]


def _named(codes: Sequence[str]) -> dict[str, str]:
    return {f"code{number}": code for number, code in enumerate(codes)}


# What a request delivers now, and what it delivered before each edit.

SAME_FOR_ALL = (vocabulary.DeliveryKind.TEXT, vocabulary.DeliveryKind.FILE)
"""Kinds that are the same for every buyer: a new text or file replaces the old one for everyone."""

NOW = "SELECT delivery, delivery_text, delivery_file FROM payment_requests WHERE id = :id"
FORMER = (
    "SELECT last_unit, delivery, delivery_text, delivery_file FROM former_deliveries"
    " WHERE request_id = :id ORDER BY last_unit"
)
SET = (
    "UPDATE payment_requests SET delivery = :kind, delivery_text = :text, delivery_file = :file"
    " WHERE id = :id"
)
# If no unit was sold since the last edit, there is nothing to keep.
KEEP_FORMER = """
    INSERT INTO former_deliveries (request_id, last_unit, delivery, delivery_text, delivery_file)
    SELECT r.id, CAST(:last AS BIGINT), r.delivery, r.delivery_text, r.delivery_file
    FROM payment_requests r WHERE r.id = :id AND :last > COALESCE(
      (SELECT MAX(f.last_unit) FROM former_deliveries f WHERE f.request_id = r.id), 0)
"""
# Finds a payment, not paid back, that waits for the code of unit :first or a later unit.
WAITS = f"""
    SELECT 1 AS waits FROM payments
    WHERE {payment_rows.FROM_UNIT} AND first_unit + quantity > :first AND paid_back_at IS NULL
    LIMIT 1
"""  # noqa: S608 - our own words


@dataclass(frozen=True, slots=True)
class AddedCodes:
    """The codes of a request after some were added."""

    counts: contents.CodeCounts
    added: int

    served: range
    """The waiting units that got a new code."""


def begin(
    tx: database.Transaction, request: PaymentRequest, goods: contents.Goods
) -> PaymentRequest:
    """Store the goods of a new request, and return the request with them. Raises InvalidBody."""
    _set(tx, request, goods)
    if goods.kind is vocabulary.DeliveryKind.CODES:
        _append(tx, request, 0, goods.codes, skipped=0)
    return replace(request, delivers=goods.kind, codes_count=len(goods.codes))


def change(
    tx: database.Transaction, request: PaymentRequest, goods: contents.Goods | None, now: int
) -> bool:
    """Store what a request delivers from now on; return False if nothing changes.

    A text or a file that replaces another corrects it for all buyers. Otherwise sold units keep
    their goods. Raises InvalidBody, and BuyersWait if the goods are removed while buyers wait for
    codes.
    """
    before = _now(tx, request.id)
    if _is_same(before, goods):
        return False
    last = contents.served(request)
    if goods is None and request.codes_waiting:
        waiting = tx.one(WAITS, request_id=request.id, first=last + 1)
        if waiting is not None:
            raise errors.BuyersWait
    if request.delivers is vocabulary.DeliveryKind.CODES:
        unsold = "DELETE FROM codes WHERE request_id = :request_id AND place > :last"
        tx.execute(unsold, request_id=request.id, last=last)
        set_counts(tx, request.id, last, request.codes_skipped)
        request = replace(request, codes_count=last)
    if (
        goods is None
        or goods.kind != before.kind
        or goods.kind is not vocabulary.DeliveryKind.CODES
    ):
        corrects = goods is not None and goods.kind in SAME_FOR_ALL and before.kind in SAME_FOR_ALL
        if not corrects:
            tx.execute(KEEP_FORMER, id=request.id, last=last)
        _set(tx, request, goods)
        files.release(tx, before.file_id, now + (files.AFTER_CORRECTION if last else 0))
    if goods is not None and goods.kind is vocabulary.DeliveryKind.CODES:
        new = new_ones(tx, request.id, goods.codes)
        skipped = request.codes_skipped + last - request.codes_count
        _append(tx, request, last, new, skipped=skipped)
    return True


def add_codes(
    tx: database.Transaction, request: PaymentRequest, listed: Sequence[str]
) -> AddedCodes:
    """Append the codes that are new to a request; waiting buyers get the first codes.

    Raises NoCodes if the request doesn't deliver codes, and InvalidBody if there are too many.
    """
    if request.delivers is not vocabulary.DeliveryKind.CODES:
        raise errors.NoCodes
    new, last = new_ones(tx, request.id, listed), request.codes_count
    if new:
        _append(tx, request, last, new, skipped=request.codes_skipped)
    after = replace(request, codes_count=last + len(new))
    first_waiting, last_served = last + 1, min(after.codes_count, after.paid_count)
    return AddedCodes(contents.count_codes(after), len(new), range(first_waiting, last_served + 1))


def end(tx: database.Transaction, request_id: str, now: int) -> None:
    """Set when the file of a request just deleted expires, unless somebody bought it."""
    files.release(tx, _now(tx, request_id).file_id, now)


def find_all(tx: database.Transaction, request_id: str) -> list[contents.Delivered]:
    """Return the goods of a request's units in order; the last entry is what it delivers now.

    The present goods are read first, so that the second statement sees an edit in between.
    """
    now = _now(tx, request_id)
    former = [_delivered(row, row["last_unit"]) for row in tx.query(FORMER, id=request_id)]
    return [*former, now]


def _now(tx: database.Transaction, request_id: str) -> contents.Delivered:
    (row,) = tx.query(NOW, id=request_id)
    return _delivered(row, None)


def _delivered(row: database.Row, last_unit: int | None) -> contents.Delivered:
    kind = vocabulary.DeliveryKind(row["delivery"]) if row["delivery"] else None
    return contents.Delivered(last_unit, kind, row["delivery_text"], row["delivery_file"])


def _is_same(before: contents.Delivered, goods: contents.Goods | None) -> bool:
    if goods is None or before.kind is None:
        return goods is None and before.kind is None
    if goods.kind is vocabulary.DeliveryKind.CODES:
        return False
    return (before.kind, before.text, before.file_id) == (goods.kind, goods.text, goods.file_id)


def _set(tx: database.Transaction, request: PaymentRequest, goods: contents.Goods | None) -> None:
    kind = text = file_id = None
    if goods is not None:
        kind, text, file_id = goods.kind.value, goods.text, goods.file_id
    if file_id is not None and not files.attach(tx, request.app_id, file_id):
        raise _invalid("fileId", "is no file of this application")
    tx.execute(SET, id=request.id, kind=kind, text=text, file=file_id)


def _append(
    tx: database.Transaction,
    request: PaymentRequest,
    last: int,
    new: Sequence[str],
    *,
    skipped: int,
) -> None:
    """Store codes for the units after number `last`."""
    most = contents.MOST_CODES_OF_REQUEST
    if last + len(new) - skipped > most:
        raise _invalid("codes", f"are more than {most} with those that it has")
    insert_codes(tx, request.id, last + 1, new)
    set_counts(tx, request.id, last + len(new), skipped)
    if not request.owner:
        return
    (row,) = tx.query(OF_SELLER, app_id=request.app_id, owner=request.owner)
    most = contents.MOST_CODES_OF_SELLER
    if int(row["codes"]) > most:
        raise _invalid("codes", f"are more than {most} with the seller's others")


def _invalid(field: str, message: str) -> errors.InvalidBody:
    return errors.InvalidBody(info=[errors.FieldProblem(f"delivery.{field}", message)])


# The goods that the holder of a payment sees on the receipt's page, in its API, email and download:
# none if the money took no units or was paid back. Anyone with the receipt's address sees them.


async def read_received(db: database.Database, payment: Payment) -> contents.Received | None:
    """Return the goods of a payment, or None if nothing is delivered."""
    if payment.first_unit is None:
        return None
    return await db.read(lambda tx: find_received(tx, payment))


async def read_progress(
    db: database.Database, request_id: str, payments: Sequence[Payment]
) -> list[vocabulary.DeliveryProgress | None]:
    """Return for each payment of a request whether its payer has received everything."""
    if not payments:
        return []
    what, counts = await db.read(
        lambda tx: (find_all(tx, request_id), tx.query(LAST_CODE, id=request_id))
    )
    last = int(counts[0]["codes_count"])
    return [contents.progress(payment, what, last) for payment in payments]


def find_received(tx: database.Transaction, payment: Payment) -> contents.Received | None:
    """Return the same as `read_received`, within a transaction."""
    found = contents.shares(payment, find_all(tx, payment.request_id))
    if not found:
        return None
    text, file, waiting = None, None, 0
    own: tuple[str, ...] = ()
    for units, one in found:
        if one.kind is vocabulary.DeliveryKind.CODES:
            place = {"first": units[0], "last": units[-1]}
            rows = tx.query(OF_UNITS, request_id=payment.request_id, **place)
            own += tuple(row["code"] for row in rows)
            waiting += len(units) - len(rows)
        elif one.file_id is not None:
            file = files.find(tx, one.file_id)
        else:
            text = one.text
    return contents.Received(text, file, own, waiting)
