"""What a request delivers: set when it is created, changed by edits, with more codes added.

Callers hold the request's lock, which payments take too (docs/decisions/0069-one-lock-order.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bot.core.errors import BuyersWait, FieldProblem, InvalidBody, NoCodes
from bot.service.goods import codes, files
from bot.service.model.goods.delivered import (
    MOST_CODES_OF_REQUEST,
    MOST_CODES_OF_SELLER,
    CodeCounts,
    Delivered,
    count_codes,
    served,
)
from bot.service.model.request import DeliveryKind
from bot.service.store import payments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.core.database.database import Database, Row, Transaction
    from bot.service.model.goods.delivered import Goods
    from bot.service.model.request import PaymentRequest

SAME_FOR_ALL = (DeliveryKind.TEXT, DeliveryKind.FILE)
"""Kinds that are the same for every buyer: a new text or file corrects it for those who have it."""

NOW = "SELECT delivery, delivery_text, delivery_file FROM payment_requests WHERE id = :id"
FORMER = (
    "SELECT last_unit, delivery, delivery_text, delivery_file FROM former_deliveries"
    " WHERE request_id = :id ORDER BY last_unit"
)
SET = (
    "UPDATE payment_requests SET delivery = :kind, delivery_text = :text, delivery_file = :file"
    " WHERE id = :id"
)
# Units that got nothing else since the last edit have no row of their own.
KEEP_FORMER = """
    INSERT INTO former_deliveries (request_id, last_unit, delivery, delivery_text, delivery_file)
    SELECT r.id, CAST(:last AS BIGINT), r.delivery, r.delivery_text, r.delivery_file
    FROM payment_requests r WHERE r.id = :id AND :last > COALESCE(
      (SELECT MAX(f.last_unit) FROM former_deliveries f WHERE f.request_id = r.id), 0)
"""
# Whether somebody who was not paid back waits for the code of unit number :first or a later one.
WAITS = f"""
    SELECT 1 AS waits FROM payments
    WHERE {payments.FROM_UNIT} AND first_unit + quantity > :first AND paid_back_at IS NULL
    LIMIT 1
"""  # noqa: S608 - our own words
FIELD = "delivery"


@dataclass(frozen=True, slots=True)
class AddedCodes:
    """The codes of a request after some were added, and the waiting units that got one of them."""

    counts: CodeCounts
    added: int
    served: range


def begin(tx: Transaction, request: PaymentRequest, goods: Goods) -> PaymentRequest:
    """Store what a new request delivers, and return the request with it. Raises InvalidBody."""
    _set(tx, request, goods)
    if goods.kind is DeliveryKind.CODES:
        _append(tx, request, 0, goods.codes, skipped=0)
    return replace(request, delivers=goods.kind, codes_count=len(goods.codes))


def change(tx: Transaction, request: PaymentRequest, goods: Goods | None, now: int) -> bool:
    """Store what a request delivers from now on; return whether that is something else.

    A text or a file that takes the place of another corrects it for all who have it. Otherwise
    units that have got what it delivered keep that. Raises InvalidBody, and BuyersWait if it's to
    deliver nothing while buyers wait for codes.
    """
    before = _now(tx, request.id)
    if _is_same(before, goods):
        return False
    last = served(request)
    if goods is None and request.codes_waiting and _waits(tx, request.id, last + 1):
        raise BuyersWait
    if request.delivers is DeliveryKind.CODES:
        codes.delete_after(tx, request.id, last)
        codes.set_counts(tx, request.id, last, request.codes_skipped)
        request = replace(request, codes_count=last)
    if goods is None or goods.kind != before.kind or goods.kind is not DeliveryKind.CODES:
        if not _corrects(before, goods):
            tx.execute(KEEP_FORMER, id=request.id, last=last)
        _set(tx, request, goods)
        files.release(tx, before.file_id, now + (files.AFTER_CORRECTION if last else 0))
    if goods is not None and goods.kind is DeliveryKind.CODES:
        new = codes.new_ones(tx, request.id, goods.codes)
        skipped = request.codes_skipped + last - request.codes_count
        _append(tx, request, last, new, skipped=skipped)
    return True


def add_codes(tx: Transaction, request: PaymentRequest, listed: Sequence[str]) -> AddedCodes:
    """Append the codes that are new to a request, whose waiting buyers get the first of them.

    Raises NoCodes if it delivers none, and InvalidBody if they are too many.
    """
    if request.delivers is not DeliveryKind.CODES:
        raise NoCodes
    new, last = codes.new_ones(tx, request.id, listed), request.codes_count
    if new:
        _append(tx, request, last, new, skipped=request.codes_skipped)
    after = replace(request, codes_count=last + len(new))
    first_waiting, last_served = last + 1, min(after.codes_count, after.paid_count)
    return AddedCodes(count_codes(after), len(new), range(first_waiting, last_served + 1))


def end(tx: Transaction, request_id: str, now: int) -> None:
    """Set when the file of a request just deleted expires, unless somebody bought it."""
    files.release(tx, _now(tx, request_id).file_id, now)


def find_all(tx: Transaction, request_id: str) -> list[Delivered]:
    """Return what the units of a request get, in their order, what it delivers now last.

    That is read first: an edit that comes between the two is then seen in the second.
    """
    now = _now(tx, request_id)
    former = [_delivered(row, row["last_unit"]) for row in tx.query(FORMER, id=request_id)]
    return [*former, now]


async def read_all(db: Database, request_id: str) -> list[Delivered]:
    """Return what `find_all` does, without waiting for the writer."""
    return await db.read(lambda tx: find_all(tx, request_id))


def _waits(tx: Transaction, request_id: str, first: int) -> bool:
    return tx.one(WAITS, request_id=request_id, first=first) is not None


def _now(tx: Transaction, request_id: str) -> Delivered:
    (row,) = tx.query(NOW, id=request_id)
    return _delivered(row, None)


def _delivered(row: Row, last_unit: int | None) -> Delivered:
    kind = DeliveryKind(row["delivery"]) if row["delivery"] else None
    return Delivered(last_unit, kind, row["delivery_text"], row["delivery_file"])


def _is_same(before: Delivered, goods: Goods | None) -> bool:
    if goods is None or before.kind is None:
        return goods is None and before.kind is None
    if goods.kind is DeliveryKind.CODES:
        return False
    return (before.kind, before.text, before.file_id) == (goods.kind, goods.text, goods.file_id)


def _corrects(before: Delivered, goods: Goods | None) -> bool:
    """Return whether the new goods also take the place of what earlier buyers have."""
    return goods is not None and goods.kind in SAME_FOR_ALL and before.kind in SAME_FOR_ALL


def _set(tx: Transaction, request: PaymentRequest, goods: Goods | None) -> None:
    kind = text = file_id = None
    if goods is not None:
        kind, text, file_id = goods.kind.value, goods.text, goods.file_id
    if file_id is not None and not files.attach(tx, request.app_id, file_id):
        raise _wrong("fileId", "is no file of this application")
    tx.execute(SET, id=request.id, kind=kind, text=text, file=file_id)


def _append(
    tx: Transaction, request: PaymentRequest, last: int, new: Sequence[str], *, skipped: int
) -> None:
    """Store codes for the units after number `last`."""
    if last + len(new) - skipped > MOST_CODES_OF_REQUEST:
        raise _wrong("codes", f"are more than {MOST_CODES_OF_REQUEST} with those that it has")
    codes.add(tx, request.id, last + 1, new)
    codes.set_counts(tx, request.id, last + len(new), skipped)
    if request.owner and codes.count_of_seller(tx, request) > MOST_CODES_OF_SELLER:
        raise _wrong("codes", f"are more than {MOST_CODES_OF_SELLER} with the seller's others")


def _wrong(field: str, message: str) -> InvalidBody:
    return InvalidBody(info=[FieldProblem(f"{FIELD}.{field}", message)])
