"""SQL of sellers and of their drafts."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bot.chat.forms.stored_draft import read_draft, write_draft
from bot.chat.model.draft import Seller
from bot.chat.model.payout import names_accounts
from bot.chat.store.profiles import read_profile
from bot.core import exact_json

if TYPE_CHECKING:
    from bot.chat.model.draft import Draft
    from bot.core.database.database import Row, Transaction

FIELDS = (
    "language, destination, pays_later, currency, prices, zone, quiet, summary,"
    " name, image, about, contact, accent"
)
"""Columns that `read_seller` needs."""

KNOWN = f"SELECT {FIELDS} FROM sellers WHERE id = :id"  # noqa: S608 - our own words
SEEN = (
    "INSERT INTO sellers (id, language, created_at) VALUES (:id, :language, :now)"  # noqa: S608 - our own words
    f" ON CONFLICT (id) DO UPDATE SET language = excluded.language RETURNING {FIELDS}"
)
DUE = (
    f"SELECT id, summary_at, {FIELDS} FROM sellers"  # noqa: S608 - our own words
    " WHERE summary_at IS NOT NULL AND summary IS NOT NULL"
    " AND (summary_at <= :now OR summary_at > :late) ORDER BY summary_at LIMIT :most"
)

LAST_PRICES = 4
"""A seller's latest prices, offered again in forms."""


def ensure_seller(tx: Transaction, seller_id: int, language: str, now: int) -> Seller:
    """Return the seller, stored at the first message; `language` is the latest one."""
    row = tx.one(
        SEEN,
        id=seller_id,
        language=language,
        now=now,
    )
    return read_seller(row) if row else Seller(language)


def find_seller(tx: Transaction, seller_id: int) -> Seller | None:
    """Return a seller, None for a person who never wrote to the bot."""
    row = tx.one(KNOWN, id=seller_id)
    return read_seller(row) if row else None


def read_seller(row: Row) -> Seller:
    """Parse a row with FIELDS; a saved destination that nobody may type any more is none."""
    start, _, end = (row["quiet"] or "").partition("-")
    return Seller(
        language=row["language"],
        destination=None if names_accounts(row["destination"] or "") else row["destination"],
        currency=row["currency"],
        prices=tuple((int(amount), str(code)) for amount, code in exact_json.loads(row["prices"])),
        zone=row["zone"],
        quiet=(int(start), int(end)) if end else None,
        summary=row["summary"],
        profile=read_profile(row),
        pays_later=bool(row["pays_later"]),
    )


def language_of(tx: Transaction, seller_id: int) -> str | None:
    """Return a person's latest language, None for a person who never wrote to the bot."""
    row = tx.one("SELECT language FROM sellers WHERE id = :id", id=seller_id)
    return str(row["language"]) if row else None


def mark_greeted(tx: Transaction, seller_id: int, now: int) -> bool:
    """Mark a seller as greeted; return True the first time."""
    sql = "UPDATE sellers SET greeted_at = :now WHERE id = :id AND greeted_at IS NULL"
    return bool(tx.execute(sql, id=seller_id, now=now))


def answered_album(tx: Transaction, seller_id: int) -> str | None:
    """Return the last album that was answered, as `save_answered_album` stored it."""
    row = tx.one("SELECT album FROM sellers WHERE id = :id", id=seller_id)
    return row["album"] if row else None


def save_answered_album(tx: Transaction, seller_id: int, album: str) -> None:
    """Store the album of which one message was answered, so that no other one of it is."""
    tx.execute("UPDATE sellers SET album = :album WHERE id = :id", id=seller_id, album=album)


def save_destination(tx: Transaction, seller_id: int, destination: str) -> None:
    """Store where a seller's money goes."""
    sql = "UPDATE sellers SET destination = :destination WHERE id = :id"
    tx.execute(sql, id=seller_id, destination=destination)


def save_price(tx: Transaction, seller_id: int, amount: int, currency: str) -> None:
    """Store a seller's latest price, in minor units, as the first of LAST_PRICES."""
    known = find_seller(tx, seller_id)
    earlier = known.prices if known else ()
    prices = list(dict.fromkeys([(amount, currency), *earlier]))[:LAST_PRICES]
    sql = "UPDATE sellers SET currency = :currency, prices = :prices WHERE id = :id"
    tx.execute(sql, id=seller_id, currency=currency, prices=json.dumps(prices))


def save_zone(tx: Transaction, seller_id: int, zone: str) -> None:
    """Store a seller's time zone, an IANA name."""
    tx.execute("UPDATE sellers SET zone = :zone WHERE id = :id", id=seller_id, zone=zone)


def save_quiet(tx: Transaction, seller_id: int, hours: tuple[int, int] | None) -> None:
    """Store the quiet hours, as minutes of the local day from and to; None for none."""
    quiet = f"{hours[0]}-{hours[1]}" if hours else None
    tx.execute("UPDATE sellers SET quiet = :quiet WHERE id = :id", id=seller_id, quiet=quiet)


def save_summary(tx: Transaction, seller_id: int, minute: int | None, due_at: int | None) -> None:
    """Store at which minute of the local day the summary comes, and when next (epoch ms)."""
    sql = "UPDATE sellers SET summary = :minute, summary_at = :due WHERE id = :id"
    tx.execute(sql, id=seller_id, minute=minute, due=due_at)


@dataclass(frozen=True, slots=True)
class DueSummary:
    """A seller whose daily summary is due since `due_at` (epoch ms)."""

    seller_id: int
    seller: Seller
    due_at: int


def summaries_due(tx: Transaction, now: int, ahead: int, most: int) -> list[DueSummary]:
    """Return the sellers whose summary is due at `now` (epoch ms), the longest overdue first.

    A time more than `ahead` ms from now was stored while the clock ran ahead: it is due as well.
    """
    rows = tx.query(DUE, now=now, late=now + ahead, most=most)
    return [DueSummary(int(row["id"]), read_seller(row), int(row["summary_at"])) for row in rows]


def claim_summary(tx: Transaction, summary: DueSummary, next_at: int) -> bool:
    """Set when the next summary is due (epoch ms); False if another process claimed this one."""
    sql = "UPDATE sellers SET summary_at = :next WHERE id = :id AND summary_at = :due"
    return bool(tx.execute(sql, id=summary.seller_id, due=summary.due_at, next=next_at))


def find_draft(tx: Transaction, chat_id: int, seller_id: int) -> Draft | None:
    """Return a seller's draft in a chat, None if there is none that can be parsed."""
    sql = "SELECT body, updated_at FROM drafts WHERE chat_id = :chat AND seller_id = :seller"
    row = tx.one(sql, chat=chat_id, seller=seller_id)
    form = read_draft(row["body"]) if row else None
    return form and replace(form, touched_at=row["updated_at"] if row else None)


def save_draft(
    tx: Transaction, chat_id: int, seller_id: int, form: Draft | None, now: int
) -> int | None:
    """Store a draft; None deletes it, and the message_id of its last question is returned."""
    if form is None:
        sql = "DELETE FROM drafts WHERE chat_id = :chat AND seller_id = :seller RETURNING question"
        row = tx.one(sql, chat=chat_id, seller=seller_id)
        return row["question"] if row else None
    sql = (
        "INSERT INTO drafts (chat_id, seller_id, body, updated_at)"
        " VALUES (:chat, :seller, :body, :now) ON CONFLICT (chat_id, seller_id)"
        " DO UPDATE SET body = excluded.body, updated_at = excluded.updated_at"
    )
    tx.execute(sql, chat=chat_id, seller=seller_id, body=write_draft(form), now=now)
    return None
