"""SQL of listings: requests as their sellers know them."""

from __future__ import annotations

import base64
import json
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.chat.model.answers import Answer
from bot.chat.model.wish import Wish
from bot.core import exact_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.core.database.database import Database, Row, Transaction

CREATING, LIVE, STOPPED, FAILED, DELETED = "creating", "live", "stopped", "failed", "deleted"

ALERTS = ("on", "silent", "off")
"""How the seller hears of a request's payments: with a sound, without, or only on its card."""

SELECT_LISTING = (
    "SELECT listings.*, (SELECT COALESCE(SUM(payments), 0) FROM takings"
    " WHERE listing_id = listings.id) AS paid_count FROM listings"
)


@dataclass(frozen=True, slots=True)
class Listing:
    """A request as its seller knows it; `answer` is the service's last word on it.

    `created_at` in epoch ms; `paid_count` counts the payments told so far; `alerts` is one of
    ALERTS; `poster_text` the seller's own words on the poster.
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
    alerts: str = "on"
    poster_text: str | None = None

    @property
    def left(self) -> int | None:
        """What is left of a drop, counted from the payments told; None for the other kinds."""
        units = self.wish.units
        return None if units is None else max(0, units - self.paid_count)


def short_id(length: int) -> str:
    """Give a new id of `length` lower-case base32 characters (5 bits each)."""
    return base64.b32encode(secrets.token_bytes(length)).decode().lower()[:length]


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


def find_listing(tx: Transaction, listing_id: str) -> Listing | None:
    """Give a listing, whosoever's."""
    row = tx.one(f"{SELECT_LISTING} WHERE id = :id", id=listing_id)
    return read_listing(row) if row else None


def get_listing(tx: Transaction, listing_id: str) -> Listing:
    """Give a listing that is sure to be there: nothing ever drops one."""
    found = find_listing(tx, listing_id)
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
    wanted, params = in_clause(ids)
    rows = await db.query(f"{SELECT_LISTING} WHERE id IN {wanted}", **params)
    return {row["id"]: read_listing(row) for row in rows if Wish.from_json(row["wish"]) is not None}


def in_clause(ids: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Give the list of an IN with its parameters; none at all is a list that nothing is in."""
    params = {f"id{number}": each for number, each in enumerate(ids)}
    return f"({', '.join(f':{name}' for name in params) or 'NULL'})", params


def set_wish(tx: Transaction, listing_id: str, wish: Wish) -> None:
    """Keep what a request is after an edit; lists search by the name."""
    tx.execute(
        "UPDATE listings SET wish = :wish, folded_name = :folded_name WHERE id = :id",
        id=listing_id,
        wish=wish.to_json(),
        folded_name=wish.name.casefold(),
    )


def set_alerts(tx: Transaction, listing_id: str, alerts: str) -> None:
    """Note how the seller wants to hear of a request's payments: one of ALERTS."""
    tx.execute("UPDATE listings SET alerts = :alerts WHERE id = :id", id=listing_id, alerts=alerts)


def set_poster_text(tx: Transaction, listing_id: str, text: str | None) -> None:
    """Keep the seller's own words for a request's poster."""
    tx.execute("UPDATE listings SET poster_text = :text WHERE id = :id", id=listing_id, text=text)


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
        answer=Answer.from_json(exact_json.loads(row["answer"])) if row["answer"] else None,
        paid_count=int(row["paid_count"]),
        created_at=row["created_at"],
        alerts=row["alerts"],
        poster_text=row["poster_text"],
    )
