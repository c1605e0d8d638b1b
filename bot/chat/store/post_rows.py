"""SQL of posts: the messages that show a request, and their refreshes.

A change to a request queues the refresh of its posts in the same transaction. A post has at most
one waiting refresh, whose content is built when it is sent (chat/cards/message_calls.py), so that
many changes make one edit.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from bot.chat.model import payloads, queues, remote_request
from bot.chat.store import link_rows
from bot.core.database import database
from bot.core.outbox import outbox, queries, queue_policy

SHARED, OWN, VISITED = 0, 1, 2
"""Who sees the post: readers of an inline message, the seller, or a visitor via deep link."""

LIVE_CARDS = 3
"""Number of a link's newest cards in one chat that are kept up to date."""

KNOWN_CARDS = 20
"""Number of a link's cards in its seller's chat that are stored, so that buttons on older cards
edit the card itself."""

REFRESH_DELAY = {OWN: 1_000, SHARED: 3_000}
"""Milliseconds for which changes are collected. The seller's card is refreshed first, because its
picture is reused for the inline posts."""

PICTURE_RETRIES = queue_policy.RetryTable((60_000, 600_000, 3_600_000))
"""Milliseconds until a picture that Telegram refused is tried again. After the last attempt the
card stays a text until the picture changes."""

DUE_TOPIC = "schedule"
"""Topic that wakes the schedule."""

WITH_REFRESH = (
    f"FROM posts LEFT JOIN {queries.QUEUED} AS queued"
    " ON queued.id = posts.waiting AND queued.state = 'waiting'"
)
STALE = (
    f"SELECT posts.id, posts.lane, own, shown, waiting, queued.id AS underway {WITH_REFRESH}"
    " WHERE listing_id = :listing AND own IN (:shared, :own)"
    " ORDER BY posts.created_at DESC, posts.id DESC"
)
POST = "SELECT id, listing_id, lane, message_id, own, picture, shown, menu, refused FROM posts"


@dataclass(frozen=True, slots=True)
class MessagePlace:
    """The lane and message_id of a message."""

    lane: str
    message_id: int
    """0 for an inline message."""


@dataclass(frozen=True, slots=True)
class PostContent:
    """The content of a post."""

    picture: str | None
    """Key of the picture; None for a text."""
    words: str | None
    """Key of the words; None while the message shows something else, such as payments."""
    menu: str | None = None
    """The open menu on the card."""


@dataclass(frozen=True, slots=True)
class Post:
    """A message that shows a link."""

    id: str
    link_id: str
    place: MessagePlace
    own: int
    """SHARED, OWN or VISITED."""
    seen: PostContent
    refused: str | None = None
    """Key of the last picture that Telegram refused for this post."""


def refresh(step: queues.ChatStep, link_id: str) -> None:
    """Queue the refresh of a link's posts, and schedule the link's next change by time alone.

    Call this in every transaction that changes a link. Posts of a deleted
    link are updated a last time, then deleted from the table.
    """
    tx = step.tx
    row = tx.one("SELECT answer, state, due_at FROM listings WHERE id = :id", id=link_id)
    if row is not None and (answer := link_rows.read_answer(row)) is not None:
        due_at = remote_request.next_change(answer, row["due_at"], step.now)
        if row["state"] == link_rows.DELETED:
            due_at = None
        if due_at != row["due_at"]:
            tx.execute("UPDATE listings SET due_at = :due WHERE id = :id", id=link_id, due=due_at)
            tx.wake(DUE_TOPIC)
    refresh_cards(step, link_id)


def refresh_cards(step: queues.ChatStep, link_id: str) -> None:
    """Queue the refresh of a link's posts after a change that doesn't affect its answer."""
    own = 0
    for row in step.tx.query(STALE, listing=link_id, shared=SHARED, own=OWN):
        own += row["own"] == OWN
        if row["underway"] is None and row["shown"] is not None and own <= LIVE_CARDS:
            _put(step, row, step.now + REFRESH_DELAY[row["own"]])


def refresh_shared(step: queues.ChatStep, link_id: str, picture: str) -> None:
    """Queue the refresh of the inline posts that don't show `picture` yet; Telegram now has it."""
    sql = (
        f"SELECT posts.id, posts.lane, own {WITH_REFRESH}"
        " WHERE listing_id = :listing AND own = :shared AND queued.id IS NULL"
        " AND (picture IS NULL OR picture <> :picture)"
    )
    rows = step.tx.query(sql, listing=link_id, shared=SHARED, picture=picture)
    for row in rows:
        _put(step, row, step.now)


def refresh_one(step: queues.ChatStep, post: Post) -> None:
    """Queue the refresh of one post, without delay."""
    _put(step, {"id": post.id, "lane": post.place.lane}, step.now)


def retry_pictures(step: queues.ChatStep, most: int) -> int:
    """Queue another attempt at up to `most` refused pictures that are due; return their number.

    If a post shows a menu instead of its card, the attempt waits until the card is back.
    """
    rows = step.tx.query(
        "UPDATE posts SET retry_at = NULL WHERE retry_at <= :now AND id IN (SELECT id FROM posts"
        " WHERE retry_at <= :now AND shown IS NOT NULL ORDER BY retry_at LIMIT :most)"
        " RETURNING id, lane",
        now=step.now,
        most=most,
    )
    for row in rows:
        _put(step, row, step.now, tries_picture=True)
    return len(rows)


def _put(
    step: queues.ChatStep, row: database.Row, due_at: int, *, tries_picture: bool = False
) -> None:
    key, body = outbox.new_id(step.now), payloads.Refresh(row["id"], tries_picture)
    queues.put_message(step, row["lane"], body, key=key, due_at=due_at)
    step.tx.execute("UPDATE posts SET waiting = :key WHERE id = :id", id=row["id"], key=key)


def find_post(tx: database.Transaction, post_id: str) -> Post | None:
    """Return a post, or None if it was deleted."""
    row = tx.one(f"{POST} WHERE id = :id", id=post_id)
    return _read(row) if row else None


def post_at(tx: database.Transaction, place: MessagePlace) -> Post | None:
    """Return the post in a message, or None if unknown."""
    row = tx.one(f"{POST} WHERE lane = :lane AND message_id = :message_id", **asdict(place))
    return _read(row) if row else None


def _read(row: database.Row) -> Post:
    place = MessagePlace(row["lane"], row["message_id"])
    seen = PostContent(row["picture"], row["shown"], row["menu"])
    return Post(row["id"], row["listing_id"], place, row["own"], seen, row["refused"])


def save_post(
    tx: database.Transaction, link_id: str, place: MessagePlace, own: int, now: int
) -> Post:
    """Store that a message shows a link, as the newest of its posts, and delete the old ones."""
    sql = (
        "INSERT INTO posts (id, listing_id, lane, message_id, own, created_at)"
        " VALUES (:id, :listing, :lane, :message_id, :own, :now) ON CONFLICT (lane, message_id)"
        " DO UPDATE SET listing_id = excluded.listing_id, own = excluded.own,"
        " created_at = excluded.created_at"
        " RETURNING id, listing_id, lane, message_id, own, picture, shown, menu, refused"
    )
    row = tx.one(sql, id=link_rows.short_id(16), listing=link_id, **asdict(place), own=own, now=now)
    if own != SHARED:
        tx.execute(
            "DELETE FROM posts WHERE listing_id = :listing AND lane = :lane AND own = :own"
            " AND id NOT IN (SELECT id FROM posts WHERE listing_id = :listing AND lane = :lane"
            " AND own = :own ORDER BY created_at DESC, id DESC LIMIT :kept)",
            listing=link_id, lane=place.lane, own=own,
            kept=KNOWN_CARDS if own == OWN else LIVE_CARDS,
        )  # fmt: skip
    if row is None:
        raise ValueError("an upsert returns its row")
    return _read(row)


def record_shown(tx: database.Transaction, post_id: str, seen: PostContent) -> None:
    """Store a post's content; if Telegram accepted a refused picture, clear the refusal."""
    sql = (
        "UPDATE posts SET picture = :picture, shown = :words, menu = :menu,"
        " retry_at = CASE WHEN refused = :picture THEN NULL ELSE retry_at END,"
        " refused = CASE WHEN refused = :picture THEN NULL ELSE refused END WHERE id = :id"
    )
    tx.execute(sql, id=post_id, **asdict(seen))


def record_refusal(tx: database.Transaction, place: MessagePlace, picture: str, now: int) -> None:
    """Store that Telegram refused a post's picture, and schedule the next attempt, if any."""
    sql = "SELECT id, refused, refusals FROM posts WHERE lane = :lane AND message_id = :message_id"
    row = tx.one(sql, **asdict(place))
    if row is None:
        return
    refusals = row["refusals"] + 1 if row["refused"] == picture else 1
    delay = PICTURE_RETRIES.delay(refusals)
    tx.execute(
        "UPDATE posts SET refused = :picture, refusals = :refusals, retry_at = :due WHERE id = :id",
        id=row["id"],
        picture=picture,
        refusals=refusals,
        due=None if delay is None else now + delay,
    )
    tx.wake(DUE_TOPIC)


def keep_retry(tx: database.Transaction, post_id: str, now: int) -> None:
    """Reschedule the attempt at a refused picture that an open menu has prevented."""
    sql = (
        "UPDATE posts SET retry_at = :now WHERE id = :id AND shown IS NULL AND refused IS NOT NULL"
    )
    tx.execute(sql, id=post_id, now=now)


def mark_replaced(tx: database.Transaction, place: MessagePlace) -> None:
    """Mark a post as showing something else, so that no refresh overwrites it."""
    sql = "UPDATE posts SET shown = NULL WHERE lane = :lane AND message_id = :message_id"
    tx.execute(sql, **asdict(place))


def delete_post(tx: database.Transaction, place: MessagePlace) -> None:
    """Delete the post of a message that is gone or whose request is deleted."""
    tx.execute("DELETE FROM posts WHERE lane = :lane AND message_id = :message_id", **asdict(place))


def has_live_card(tx: database.Transaction, link_id: str) -> bool:
    """True if a card in the seller's chat will get the link's current picture."""
    sql = (
        "SELECT 1 AS one FROM posts WHERE listing_id = :listing AND own = :own"
        " AND shown IS NOT NULL AND refused IS NULL LIMIT 1"
    )
    return tx.one(sql, listing=link_id, own=OWN) is not None


def card_picture(tx: database.Transaction, link_id: str) -> tuple[str, str] | None:
    """Return Telegram's file_id of the link's picture and the picture's key, or None."""
    row = tx.one("SELECT file_id, file_key FROM listings WHERE id = :id", id=link_id)
    return (row["file_id"], row["file_key"]) if row and row["file_id"] else None


def save_card_picture(
    tx: database.Transaction, link_id: str, file_id: str | None, key: str | None
) -> None:
    """Store Telegram's file_id of a link's picture; None forgets it."""
    sql = "UPDATE listings SET file_id = :file, file_key = :key WHERE id = :id"
    tx.execute(sql, id=link_id, file=file_id, key=key)


def claim_due(tx: database.Transaction, now: int, most: int) -> list[str]:
    """Claim up to `most` links whose scheduled change is due at `now` (epoch ms); return ids."""
    sql = (
        "UPDATE listings SET due_at = NULL WHERE due_at <= :now AND id IN (SELECT id FROM listings"
        " WHERE due_at <= :now ORDER BY due_at LIMIT :most) RETURNING id"
    )
    return [row["id"] for row in tx.query(sql, now=now, most=most)]


def next_due(tx: database.Transaction) -> int | None:
    """Return the time of the next scheduled link change or picture attempt, in epoch ms.

    None if nothing is scheduled.
    """
    changed = "SELECT MIN(due_at) AS due FROM listings WHERE due_at IS NOT NULL"
    retried = (
        "SELECT MIN(retry_at) AS due FROM posts WHERE retry_at IS NOT NULL AND shown IS NOT NULL"
    )
    rows = tx.query(f"{changed} UNION ALL {retried}")
    return min((row["due"] for row in rows if row["due"] is not None), default=None)


def is_card(tx: database.Transaction, chat_id: int, message_id: int | None) -> bool:
    """True if a message in a chat is a card, with or without picture."""
    place = None if message_id is None else MessagePlace(str(chat_id), message_id)
    return place is not None and post_at(tx, place) is not None
