"""SQL of kept receipts for operators' commands: erased with what the queues hold, and exported."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from bot.chat.model.receipt import ReceiptKey
from bot.core.money import amounts
from bot.core.outbox import bulk_changes
from bot.core.outbox.queries import TABLE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection

    from bot.core.database.database import Database, Row, Transaction
    from bot.core.privacy.erasure import Scope

PAGE = 1000
"""Rows in memory at once."""

NOTHING, NO_LANE = "{}", "erased"
"""What is left of a queued message, and the lane that it is moved to."""

_BUYER = re.compile(r"buyer-([1-9][0-9]{0,17})")
_SELECT = "SELECT request_id, transaction_id, account_id, kept_at FROM kept_receipts"
_OF_PAYMENT = "request_id = :request_id AND transaction_id = :transaction_id"
_DELETE = f"DELETE FROM kept_receipts WHERE {_OF_PAYMENT} AND account_id = :account"  # noqa: S608 - our own words
_QUEUED = (
    f"SELECT id FROM {TABLE} WHERE queue IN ('messages', 'jobs', 'updates')"  # noqa: S608 - our own name
    " AND lane IN (:account, :receipts) AND body LIKE :mentions"
)
_EXPORT = (
    "SELECT request_id, transaction_id, account_id, kept_at, name, amount, currency, status"
    " FROM kept_receipts WHERE (request_id, transaction_id) > (:request, :transaction)"
    " AND kept_at >= :since AND kept_at < :until AND (:only = '' OR request_id = :only)"
    " ORDER BY request_id, transaction_id LIMIT :page"
)


def is_buyer(word: str) -> bool:
    """Check whether a word names a buyer: `buyer-4711` is the Telegram account 4711."""
    return _BUYER.fullmatch(word) is not None


def kept_receipts(tx: Transaction, scope: Scope, payments: Collection[ReceiptKey]) -> list[Row]:
    """Return the kept receipts that `scope` covers, and those of erased `payments`.

    Of people, it covers those of named accounts, and of payments that are named by their ids.
    """
    if scope.people is None:
        found = tx.query(_SELECT)
        return [row for row in found if _is_covered(row, scope) or _key(row) in payments]
    named = [_BUYER.fullmatch(word) for word in scope.people]
    rows = _of_accounts(tx, {int(found[1]) for found in named if found})
    for number in sorted(scope.numbers):
        rows += tx.query(f"{_SELECT} WHERE transaction_id = :number", number=number)
    rows = [row for row in rows if _is_covered(row, scope)]
    for key in payments:
        rows += tx.query(f"{_SELECT} WHERE {_OF_PAYMENT}", **key._asdict())
    return [*{_key(row): row for row in rows}.values()]


def forget(tx: Transaction, found: Row, now: int) -> None:
    """Delete a kept receipt with all that the queues hold about it, at `now` (epoch ms)."""
    account, transaction = found["account_id"], found["transaction_id"]
    given = {"request_id": found["request_id"], "transaction_id": transaction, "account": account}
    tx.execute(_DELETE, **given)
    lanes = {
        "account": str(account),
        "receipts": f"receipts:{account}",
        "mentions": f"%{transaction}%",
    }
    bulk_changes.end_unsettled(tx, _QUEUED, now, **lanes)
    bulk_changes.overwrite(tx, _QUEUED, NOTHING, NO_LANE, **lanes)


async def exported(
    db: Database, since: int, until: int, request_id: str | None
) -> AsyncIterator[Row]:
    """Yield the receipts kept from `since` until before `until` (epoch ms), by request."""
    last = {"request": "", "transaction": ""}
    given = {"since": since, "until": until, "only": request_id or "", "page": PAGE}
    while rows := await db.query(_EXPORT, **last, **given):
        for row in rows:
            yield row
        last = {"request": rows[-1]["request_id"], "transaction": rows[-1]["transaction_id"]}


def kept_record(row: Row, moment: Callable[[int], str], *, payers: bool) -> dict[str, Any]:
    """Build the exported form of a kept receipt, with the account that keeps it if `payers`.

    `moment` formats epoch ms.
    """
    record = {
        "keptAt": moment(row["kept_at"]),
        "transactionId": row["transaction_id"],
        "paymentRequestId": row["request_id"],
        "product": row["name"],
        "amount": amounts.from_minor(row["amount"], row["currency"]),
        "currencyCode": row["currency"],
        "status": row["status"],
    }
    return {"telegramId": row["account_id"], **record} if payers else record


def _of_accounts(tx: Transaction, accounts: set[int]) -> list[Row]:
    sql = f"{_SELECT} WHERE account_id = :account"
    return [row for account in sorted(accounts) for row in tx.query(sql, account=account)]


def _key(row: Row) -> ReceiptKey:
    return ReceiptKey(row["request_id"], row["transaction_id"])


def _is_covered(row: Row, scope: Scope) -> bool:
    is_asked = scope.request_id in (None, row["request_id"])
    return is_asked and (scope.before is None or row["kept_at"] < scope.before)
