"""SQL of what messages say by now, so that none is changed into itself: Telegram refuses that.

Kept by key, and for as long as somebody may tap twice; of a message that is not known here, an
edit is made in any case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.chat.store.posts import MessagePlace
    from bot.core.database.database import Transaction


def save_text(tx: Transaction, place: MessagePlace, words: str, now: int) -> None:
    """Note that a message says `words`, the key of its text and buttons, from `now` (epoch ms)."""
    tx.execute(
        "INSERT INTO said (lane, message_id, words, said_at)"
        " VALUES (:lane, :message, :words, :now) ON CONFLICT (lane, message_id)"
        " DO UPDATE SET words = excluded.words, said_at = excluded.said_at",
        lane=place.lane,
        message=place.message_id,
        words=words,
        now=now,
    )


def text_key_at(tx: Transaction, place: MessagePlace) -> str | None:
    """Give the key of what a message says; None where nobody knows."""
    row = tx.one(
        "SELECT words FROM said WHERE lane = :lane AND message_id = :message",
        lane=place.lane,
        message=place.message_id,
    )
    return None if row is None else str(row["words"])


def forget_text(tx: Transaction, place: MessagePlace) -> None:
    """Know no more what a message says: it may be gone, or an edit of it may have come through."""
    tx.execute(
        "DELETE FROM said WHERE lane = :lane AND message_id = :message",
        lane=place.lane,
        message=place.message_id,
    )


def sweep_texts(tx: Transaction, before: int) -> int:
    """Drop what was said before that time (epoch ms); how many messages."""
    return tx.execute("DELETE FROM said WHERE said_at < :before", before=before)
