"""Payers' receipts as the service returns them, and SQL of those kept in Telegram accounts.

Delivered goods are not stored here; they are fetched from the service whenever they are shown. The
key of a receipt is a secret, because anyone who has it can see the delivered goods. It is never
logged in full.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple, get_args

from bot.chat.model import lenient, payment
from bot.chat.store import link_rows
from bot.core import errors
from bot.core.database import database
from bot.core.money import amounts
from bot.interface import answers, vocabulary

PAID, OVERSOLD, PAID_BACK = get_args(vocabulary.ReceiptStatus)
"""The states of a receipt's payment."""

_KEY = re.compile(r"r-([A-Za-z0-9]{1,40})-([A-Za-z0-9]{1,40})")


class ReceiptKey(NamedTuple):
    """The request id and transaction id of a payment."""

    request_id: str
    transaction_id: str


@dataclass(frozen=True, slots=True)
class DeliveredGoods:
    """The goods that a payment buys: a text, a file or codes."""

    waits: bool = False
    """True while some codes are missing."""
    text: str | None = None
    file: answers.ReceivedFile | None = None
    codes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Receipt:
    """A receipt; times in epoch ms."""

    product: str
    amount: int
    """In minor units."""
    currency: str
    status: str
    """PAID, OVERSOLD or PAID_BACK."""
    url: str
    """URL of the receipt's page."""
    seller: str | None = None
    completed_at: int | None = None
    quantity: int = 1
    units: answers.UnitsAnswer | None = None
    thanks: str | None = None
    marks: payment.PaymentMarks = payment.NO_MARKS
    delivery: DeliveredGoods | None = None
    """None if the request delivers nothing."""

    @property
    def awaited_unit(self) -> int | None:
        """Return the last unit that still waits for its code, or None."""
        if self.delivery is None or not self.delivery.waits:
            return None
        return self.units.last if self.units else 0


def read_key(payload: str) -> ReceiptKey | None:
    """Parse the payload of a receipt's deep link; None for other payloads."""
    found = _KEY.fullmatch(payload)
    return ReceiptKey(found[1], found[2]) if found else None


def read_receipt(data: object) -> Receipt:
    """Parse a receipt. Raises BadAnswer."""
    sent = lenient.read(answers.ReceiptAnswer, data, "receipt")
    try:
        amount = amounts.to_minor(sent.amount, sent.currency_code)
    except errors.MoneyError as error:
        raise errors.BadAnswer("the answer is no receipt") from error
    delivery = None
    if sent.delivery is not None:
        delivery = DeliveredGoods(
            waits=sent.delivery.state is vocabulary.DeliveryProgress.WAITING,
            text=sent.delivery.text,
            file=sent.delivery.file,
            codes=tuple(sent.delivery.codes or ()),
        )
    return Receipt(
        product=sent.product.name,
        amount=amount,
        currency=sent.currency_code,
        status=sent.status,
        url=sent.receipt_url,
        seller=sent.seller.name if sent.seller else None,
        completed_at=lenient.any_time(sent.completed_at),
        quantity=sent.quantity,
        units=sent.units,
        thanks=sent.thanks,
        marks=payment.PaymentMarks(
            sent_at=lenient.any_time(sent.sent_at),
            sent_note=sent.sent_note,
            paid_back_at=lenient.any_time(sent.paid_back_at),
            paid_back_note=sent.paid_back_note,
        ),
        delivery=delivery,
    )


# Receipts kept in Telegram, each in one account.


BY_KEY = "WHERE request_id = :request AND transaction_id = :transaction"
COLUMNS = (
    "id, request_id, transaction_id, account_id, language, kept_at, name, amount, currency,"
    " status, sent, awaited"
)
SELECT = f"SELECT {COLUMNS} FROM kept_receipts"  # noqa: S608 - our own names
# Update the receipt if the same account keeps it; leave another account's receipt unchanged.
KEEP = (
    f"INSERT INTO kept_receipts ({COLUMNS}) VALUES (:id, :request, :transaction, :account,"  # noqa: S608 - our own names
    " :language, :now, :name, :amount, :currency, :status, :sent, :awaited)"
    " ON CONFLICT (request_id, transaction_id) DO UPDATE SET language = excluded.language,"
    " name = excluded.name, amount = excluded.amount, currency = excluded.currency,"
    " status = excluded.status, sent = excluded.sent, awaited = excluded.awaited"
    " WHERE kept_receipts.account_id = excluded.account_id"
)
UPDATE = (
    "UPDATE kept_receipts SET name = :name, amount = :amount, currency = :currency,"  # noqa: S608 - our own names
    f" status = :status, sent = :sent, awaited = :awaited {BY_KEY}"
)
PAGE = (
    f"{SELECT} WHERE account_id = :account ORDER BY kept_at DESC, id DESC"
    " LIMIT :limit OFFSET :start"
)
SERVED = (
    "UPDATE kept_receipts SET awaited = NULL"  # noqa: S608 - our own names
    f" WHERE request_id = :request AND awaited <= :served RETURNING {COLUMNS}"
)


@dataclass(frozen=True, slots=True)
class ReceiptOwner:
    """The account that keeps a receipt, and its language."""

    account_id: int
    language: str


@dataclass(frozen=True, slots=True)
class KeptReceipt:
    """A kept receipt as of the last time it was fetched."""

    id: str
    """Used in buttons."""
    key: ReceiptKey
    owner: ReceiptOwner
    kept_at: int
    name: str
    amount: int
    """In minor units."""
    currency: str
    status: str
    is_sent: bool
    awaited: int | None
    """The last unit that waits for a code, or None."""


def keep(
    tx: database.Transaction,
    key: ReceiptKey,
    owner: ReceiptOwner,
    receipt: Receipt,
    now: int,
) -> bool:
    """Store a receipt for an account at `now` (epoch ms); False if another account keeps it.

    If the account already keeps the receipt, update it.
    """
    named = {
        "id": link_rows.short_id(10),
        "account": owner.account_id,
        "language": owner.language,
    }
    return bool(tx.execute(KEEP, **named, now=now, **_ids(key), **_shown(receipt)))


def owner_of(tx: database.Transaction, request_id: str, transaction_id: str) -> ReceiptOwner | None:
    """Return the owner of a payment's receipt, or None if nobody keeps it."""
    row = tx.one(
        f"SELECT account_id, language FROM kept_receipts {BY_KEY}",  # noqa: S608 - our own names
        request=request_id, transaction=transaction_id,
    )  # fmt: skip
    return ReceiptOwner(int(row["account_id"]), str(row["language"])) if row else None


def update(tx: database.Transaction, key: ReceiptKey, receipt: Receipt) -> None:
    """Update a kept receipt; no effect if nobody keeps it."""
    tx.execute(UPDATE, **_ids(key), **_shown(receipt))


def by_key(tx: database.Transaction, key: ReceiptKey, account_id: int) -> KeptReceipt | None:
    """Return a receipt of an account, or None if the account doesn't keep it."""
    row = tx.one(f"{SELECT} {BY_KEY} AND account_id = :account", **_ids(key), account=account_id)
    return _read(row) if row else None


def find(tx: database.Transaction, receipt_id: str, account_id: int) -> KeptReceipt | None:
    """Return a receipt of an account by id, or None if the account doesn't keep it."""
    sql = f"{SELECT} WHERE id = :id AND account_id = :account"
    row = tx.one(sql, id=receipt_id, account=account_id)
    return _read(row) if row else None


def page(tx: database.Transaction, account_id: int, limit: int, start: int) -> list[KeptReceipt]:
    """Return up to `limit` receipts of an account, newest first, after the first `start`."""
    rows = tx.query(PAGE, account=account_id, limit=limit, start=start)
    return [_read(row) for row in rows]


def count(tx: database.Transaction, account_id: int) -> int:
    """Count the receipts that an account keeps."""
    sql = "SELECT COUNT(*) AS number FROM kept_receipts WHERE account_id = :account"
    row = tx.one(sql, account=account_id)
    return int(row["number"]) if row else 0


def remove(tx: database.Transaction, receipt_id: str, account_id: int) -> bool:
    """Remove a receipt from an account; return False if it is not there."""
    sql = "DELETE FROM kept_receipts WHERE id = :id AND account_id = :account"
    return bool(tx.execute(sql, id=receipt_id, account=account_id))


def end_waits(tx: database.Transaction, request_id: str, served: int) -> list[KeptReceipt]:
    """Return the receipts that wait for units up to `served`, and end their waits."""
    return [_read(row) for row in tx.query(SERVED, request=request_id, served=served)]


def _ids(key: ReceiptKey) -> dict[str, object]:
    return {"request": key.request_id, "transaction": key.transaction_id}


def _shown(receipt: Receipt) -> dict[str, object]:
    return {
        "name": receipt.product,
        "amount": receipt.amount,
        "currency": receipt.currency,
        "status": receipt.status,
        "sent": int(receipt.marks.sent_at is not None),
        "awaited": receipt.awaited_unit,
    }


def _read(row: database.Row) -> KeptReceipt:
    return KeptReceipt(
        id=row["id"],
        key=ReceiptKey(row["request_id"], row["transaction_id"]),
        owner=ReceiptOwner(int(row["account_id"]), row["language"]),
        kept_at=row["kept_at"],
        name=row["name"],
        amount=row["amount"],
        currency=row["currency"],
        status=row["status"],
        is_sent=bool(row["sent"]),
        awaited=row["awaited"],
    )
