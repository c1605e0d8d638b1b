"""SQL of the texts that messages show: Telegram refuses an edit that changes nothing.

Only the key of a text is stored, for as long as somebody may tap a button twice. A message that is
not known here is edited in any case.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.chat.store.posts import MessagePlace
    from bot.core.database.database import Transaction


BARE = "-"
"""The first character of a key whose message has no buttons."""

PASSING = "~"
"""The first character of a key whose message is deleted once its form goes on."""


def save_text(tx: Transaction, place: MessagePlace, key: str, now: int) -> None:
    """Store the key of the text and buttons that a message shows from `now` (epoch ms)."""
    sql = (
        "INSERT INTO shown_texts (lane, message_id, text_key, shown_at)"
        " VALUES (:lane, :message_id, :key, :now) ON CONFLICT (lane, message_id)"
        " DO UPDATE SET text_key = excluded.text_key, shown_at = excluded.shown_at"
    )
    tx.execute(sql, **asdict(place), key=key, now=now)


def text_key_at(tx: Transaction, place: MessagePlace) -> str | None:
    """Return the key of the text that a message shows, None if it is not known."""
    sql = "SELECT text_key FROM shown_texts WHERE lane = :lane AND message_id = :message_id"
    row = tx.one(sql, **asdict(place))
    return None if row is None else str(row["text_key"])


def forget_text(tx: Transaction, place: MessagePlace) -> None:
    """Forget the text of a message: it may be deleted, or an uncertain edit may have changed it."""
    tx.execute(
        "DELETE FROM shown_texts WHERE lane = :lane AND message_id = :message_id", **asdict(place)
    )


def sweep_texts(tx: Transaction, before: int) -> int:
    """Delete the keys stored before a time (epoch ms); return their number."""
    return tx.execute("DELETE FROM shown_texts WHERE shown_at < :before", before=before)
