"""SQL of the chat: sellers, drafts, listings and the payments that were told."""

from __future__ import annotations

import base64
import json
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bot.chat.answers import Answer
from bot.chat.conversation import Draft, Seller, Wish
from bot.core import exact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.core.db import Database, Row, Transaction

CREATING, LIVE, STOPPED, FAILED, DELETED = "creating", "live", "stopped", "failed", "deleted"

UNNAMED = "unnamed:"
"""What the transaction of a payment begins with that only the units told; no server's does."""

TOLD, FOUND, IN_DOUBT = 0, 1, 2
"""How we know of a payment: by its webhook, by looking, or by a webhook that came when one had been
found by its units alone, so that nobody can say whether it is that one."""

SELECT_LISTING = (
    "SELECT listings.*, (SELECT COUNT(*) FROM received_payments"
    " WHERE listing_id = listings.id) AS paid_count FROM listings"
)


@dataclass(frozen=True, slots=True)
class Listing:
    """A request as its seller knows it; `answer` is the service's last word on it.

    `created_at` in epoch ms; `paid_count` counts the payments told so far.
    """

    id: str
    seller_id: int
    chat_id: int
    token: str
    state: str
    wish: Wish
    request_id: str | None
    answer: Answer | None
    paid_count: int
    created_at: int

    @property
    def left(self) -> int | None:
        """What is left of a drop, counted from the payments told; None for the other kinds."""
        units = self.wish.units
        return None if units is None else max(0, units - self.paid_count)


def short_id(length: int) -> str:
    """Give a new id of `length` lower-case base32 characters (5 bits each)."""
    return base64.b32encode(secrets.token_bytes(length)).decode().lower()[:length]


def seller(tx: Transaction, seller_id: int, language: str, now: int) -> Seller:
    """Give the seller, made at the first word; the language is that of the last word."""
    row = tx.one(
        "INSERT INTO sellers (id, language, created_at) VALUES (:id, :language, :now)"
        " ON CONFLICT (id) DO UPDATE SET language = excluded.language"
        " RETURNING language, destination, currency",
        id=seller_id,
        language=language,
        now=now,
    )
    return Seller(**row) if row else Seller(language, None, None)


def language_of(tx: Transaction, seller_id: int) -> str | None:
    """Give the language last seen of this person."""
    row = tx.one("SELECT language FROM sellers WHERE id = :id", id=seller_id)
    return str(row["language"]) if row else None


def greet(tx: Transaction, seller_id: int, now: int) -> bool:
    """Note that the seller was greeted; True at the first time."""
    return bool(
        tx.execute(
            "UPDATE sellers SET greeted_at = :now WHERE id = :id AND greeted_at IS NULL",
            id=seller_id,
            now=now,
        )
    )


def save_destination(tx: Transaction, seller_id: int, destination: str) -> None:
    """Keep where this seller's money goes."""
    tx.execute(
        "UPDATE sellers SET destination = :destination WHERE id = :id",
        id=seller_id,
        destination=destination,
    )


def save_currency(tx: Transaction, seller_id: int, currency: str) -> None:
    """Keep the currency that this seller used last."""
    tx.execute(
        "UPDATE sellers SET currency = :currency WHERE id = :id", id=seller_id, currency=currency
    )


def draft(tx: Transaction, chat_id: int, seller_id: int) -> Draft | None:
    """Give the form under way, None where there is none that can be read."""
    row = tx.one(
        "SELECT body FROM drafts WHERE chat_id = :chat AND seller_id = :seller",
        chat=chat_id,
        seller=seller_id,
    )
    return Draft.from_json(row["body"]) if row else None


def save_draft(tx: Transaction, chat_id: int, seller_id: int, form: Draft | None, now: int) -> None:
    """Keep the form under way; None ends it."""
    if form is None:
        tx.execute(
            "DELETE FROM drafts WHERE chat_id = :chat AND seller_id = :seller",
            chat=chat_id,
            seller=seller_id,
        )
        return
    tx.execute(
        "INSERT INTO drafts (chat_id, seller_id, body, updated_at)"
        " VALUES (:chat, :seller, :body, :now) ON CONFLICT (chat_id, seller_id)"
        " DO UPDATE SET body = excluded.body, updated_at = excluded.updated_at",
        chat=chat_id,
        seller=seller_id,
        body=form.to_json(),
        now=now,
    )


def add_listing(tx: Transaction, chat_id: int, seller_id: int, wish: Wish, now: int) -> str:
    """Write down a request that is to be created; its id."""
    listing_id = short_id(10)
    tx.execute(
        "INSERT INTO listings (id, seller_id, chat_id, token, state, wish, folded_name, created_at)"
        " VALUES (:id, :seller, :chat, :token, :state, :wish, :folded_name, :now)",
        id=listing_id,
        seller=seller_id,
        chat=chat_id,
        token=secrets.token_urlsafe(24),
        state=CREATING,
        wish=wish.to_json(),
        folded_name=wish.name.casefold(),
        now=now,
    )
    return listing_id


def listing(tx: Transaction, listing_id: str) -> Listing | None:
    """Give a listing, whosoever's."""
    row = tx.one(f"{SELECT_LISTING} WHERE id = :id", id=listing_id)
    return read_listing(row) if row else None


def known_listing(tx: Transaction, listing_id: str) -> Listing:
    """Give a listing that is sure to be there: nothing ever drops one."""
    found = listing(tx, listing_id)
    if found is None:
        raise ValueError(f"listing {listing_id} is gone")
    return found


def listing_by_token(tx: Transaction, token: str) -> Listing | None:
    """Give the listing whose receiver address ends in `token`."""
    row = tx.one(f"{SELECT_LISTING} WHERE token = :token", token=token)
    return read_listing(row) if row else None


def pending_names(tx: Transaction, seller_id: int) -> list[str]:
    """Give the names of a seller's requests that the service has not made yet, newest first."""
    rows = tx.query(
        f"{SELECT_LISTING} WHERE seller_id = :seller AND state = :creating"
        " ORDER BY created_at DESC, id DESC LIMIT 5",
        seller=seller_id,
        creating=CREATING,
    )
    return [read_listing(row).wish.name for row in rows]


async def listings_by_id(db: Database, ids: Sequence[str]) -> dict[str, Listing]:
    """Give the listings among these ids, beside the writer, in whatever state.

    One that can't be read, since a later version wrote it, is left out.
    """
    among, params = _among(ids)
    rows = await db.query(f"{SELECT_LISTING} WHERE id IN {among}", **params)
    return {row["id"]: read_listing(row) for row in rows if Wish.from_json(row["wish"]) is not None}


async def known_transactions(db: Database, request_id: str, ids: Sequence[str]) -> set[str]:
    """Give those of a request's transactions that were told, beside the writer."""
    among, params = _among(ids)
    rows = await db.query(
        "SELECT transaction_id FROM received_payments"  # noqa: S608 - our own names
        f" WHERE request_id = :request AND transaction_id IN {among}",
        request=request_id,
        **params,
    )
    return {row["transaction_id"] for row in rows}


def _among(ids: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Give the list of an IN with its parameters; none at all is a list that nothing is in."""
    params = {f"id{number}": each for number, each in enumerate(ids)}
    return f"({', '.join(f':{name}' for name in params) or 'NULL'})", params


def set_state(tx: Transaction, listing_id: str, state: str) -> None:
    """Note what became of a listing."""
    tx.execute("UPDATE listings SET state = :state WHERE id = :id", id=listing_id, state=state)


def set_answer(tx: Transaction, listing_id: str, answer: Answer) -> None:
    """Keep the service's last word on a listing."""
    tx.execute(
        "UPDATE listings SET answer = :answer, request_id = :request WHERE id = :id",
        id=listing_id,
        answer=json.dumps(answer.to_json()),
        request=answer.id,
    )


def move_chat(tx: Transaction, old: int, new: int) -> None:
    """Follow a group that became a supergroup under another id."""
    tx.execute("UPDATE listings SET chat_id = :new WHERE chat_id = :old", old=old, new=new)


@dataclass(frozen=True, slots=True)
class Payment:
    """A payment as it was told; `amount` in minor units of `currency`.

    `oversold`: it came when no unit was left, so that the seller owes it back. `reserved_units`
    were being paid for by others. `found`: no webhook told it, it was found by looking.
    """

    request_id: str
    transaction_id: str
    amount: int
    currency: str
    payer: dict[str, Any]
    oversold: bool = False
    reserved_units: int = 0
    found: bool = False


def paid_requests(tx: Transaction, listing_id: str) -> set[str]:
    """Give the ids of the requests of which payments were told for this listing."""
    rows = tx.query(
        "SELECT DISTINCT request_id FROM received_payments WHERE listing_id = :listing",
        listing=listing_id,
    )
    return {str(row["request_id"]) for row in rows}


def add_payment(tx: Transaction, listing_id: str, payment: Payment, now: int) -> bool:
    """Record a payment; False where it was recorded before."""
    return bool(
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
            body=exact.dumps(payment.payer),
            oversold=int(payment.oversold),
            found=FOUND if payment.found else TOLD,
            now=now,
        )
    )


def explain_payment(tx: Transaction, listing_id: str, payment: Payment, since: int) -> bool:
    """Give a payment that was found by its units alone the transaction that it turns out to be.

    False where this transaction is known, or none was found from `since` (epoch ms) on.
    """
    return bool(
        tx.execute(
            "UPDATE received_payments SET transaction_id = :transaction, amount = :amount,"
            " currency = :currency, body = :body, found = :found"
            " WHERE request_id = :request AND transaction_id ="
            " (SELECT MIN(transaction_id) FROM received_payments WHERE request_id = :request"
            " AND listing_id = :listing AND transaction_id LIKE :unnamed"
            " AND received_at >= :since)"
            " AND NOT EXISTS (SELECT 1 FROM received_payments"
            " WHERE request_id = :request AND transaction_id = :transaction)",
            request=payment.request_id,
            listing=listing_id,
            transaction=payment.transaction_id,
            unnamed=f"{UNNAMED}%",
            since=since,
            found=FOUND if payment.found else IN_DOUBT,
            amount=payment.amount,
            currency=payment.currency,
            body=exact.dumps(payment.payer),
        )
    )


def undoubt_payments(tx: Transaction, listing_id: str, most: int) -> list[int]:
    """Settle that payments which explained others were new: when those others had been found.

    At most `most` of them, whose place is free again then.
    """
    rows = tx.query(
        "UPDATE received_payments SET found = :told"
        " WHERE listing_id = :listing AND transaction_id IN"
        " (SELECT transaction_id FROM received_payments WHERE listing_id = :listing"
        " AND found = :in_doubt ORDER BY received_at LIMIT :most) RETURNING received_at",
        listing=listing_id,
        in_doubt=IN_DOUBT,
        told=TOLD,
        most=most,
    )
    return [int(row["received_at"]) for row in rows]


def unnamed() -> str:
    """Give a transaction id for a payment of which no more is known than that it was made."""
    return f"{UNNAMED}{short_id(16)}"


def read_listing(row: Row) -> Listing:
    """Listing from a row of `SELECT_LISTING`; ValueError for a wish that can't be read."""
    wish = Wish.from_json(row["wish"])
    if wish is None:
        raise ValueError(f"listing {row['id']} can't be read")
    return Listing(
        id=row["id"],
        seller_id=row["seller_id"],
        chat_id=row["chat_id"],
        token=row["token"],
        state=row["state"],
        wish=wish,
        request_id=row["request_id"],
        answer=Answer.from_json(json.loads(row["answer"])) if row["answer"] else None,
        paid_count=row["paid_count"],
        created_at=row["created_at"],
    )
