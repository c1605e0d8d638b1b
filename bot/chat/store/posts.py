"""SQL of posts: the messages that show a request, and what is to change them.

Whoever changes a request asks for its posts to be refreshed, in the same transaction. At most one
message a post waits to do it, and what it shows is made when it is sent
(see chat/cards/rendering.py), so many changes are one edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from bot.chat.messages.payloads import Refresh
from bot.chat.model.answers import Answer
from bot.chat.store.listings import DELETED, short_id
from bot.core import exact_json
from bot.core.outbox import lanes, outbox

if TYPE_CHECKING:
    from bot.core.database.database import Row, Transaction
    from bot.core.outbox.lanes import Queue

SHARED, OWN, VISITED = 0, 1, 2
"""Where a post stands: in a message posted inline, with the seller, with who followed the link."""

LIVE_CARDS = 3
"""Cards of a listing in its seller's chat that are kept up to date: the newest."""

KNOWN_CARDS = 20
"""Of them as many are known, so that a button of an older one changes no more than has to be."""

REFRESH_DELAY = {OWN: 1_000, SHARED: 3_000}
"""Milliseconds for which changes are gathered; the own card comes first, it lends its picture."""

RESERVATION_LAPSE = 16 * 60 * 1000
"""Milliseconds after which a reservation is looked at: a minute more than RESERVATION_SECONDS."""

DUE_TOPIC = "schedule"
"""What is woken when something is to happen by time alone."""

STALE = (
    "SELECT posts.id, posts.lane, own, shown, waiting, outbox.id AS underway FROM posts"
    " LEFT JOIN outbox ON outbox.id = posts.waiting AND outbox.state = 'waiting'"
    " WHERE listing_id = :listing AND own IN (:shared, :own)"
    " ORDER BY posts.created_at DESC, posts.id DESC"
)
POST = "SELECT id, listing_id, lane, message_id, own, picture, shown FROM posts"


class Outgoing(Protocol):
    """The queues of the chat, as far as posts need them."""

    @property
    def messages(self) -> Queue:
        """What goes out to Telegram."""


@dataclass(frozen=True, slots=True)
class MessagePlace:
    """Where a message stands: its lane, and its message_id, which is 0 for one posted inline."""

    lane: str
    message_id: int


@dataclass(frozen=True, slots=True)
class Shown:
    """What a message shows: `picture` by its key, None for a text; `words` by theirs.

    No `words` where it shows something else by now, such as a menu in the card's place.
    """

    picture: str | None
    words: str | None


@dataclass(frozen=True, slots=True)
class Post:
    """A message that shows a listing; `own` is SHARED, OWN or VISITED."""

    id: str
    listing_id: str
    place: MessagePlace
    own: int
    seen: Shown


def refresh(tx: Transaction, queues: Outgoing, listing_id: str, now: int) -> None:
    """Let every live post of a listing show how it stands, and see when time alone changes that.

    For everybody who changes a listing, in that transaction, at `now` (epoch ms). Posts of a
    deleted one say so and are dropped once they do.
    """
    _set_due(tx, listing_id, now)
    own = 0
    for row in tx.query(STALE, listing=listing_id, shared=SHARED, own=OWN):
        own += row["own"] == OWN
        if row["underway"] is None and row["shown"] is not None and own <= LIVE_CARDS:
            _put(tx, queues, row, now, now + REFRESH_DELAY[row["own"]])


def refresh_shared(
    tx: Transaction, queues: Outgoing, listing_id: str, picture: str, now: int
) -> None:
    """Let the posts shared inline show `picture`, which Telegram now has, where they don't."""
    rows = tx.query(
        "SELECT posts.id, posts.lane, own FROM posts"
        " LEFT JOIN outbox ON outbox.id = posts.waiting AND outbox.state = 'waiting'"
        " WHERE listing_id = :listing AND own = :shared AND outbox.id IS NULL"
        " AND (picture IS NULL OR picture <> :picture)",
        listing=listing_id,
        shared=SHARED,
        picture=picture,
    )
    for row in rows:
        _put(tx, queues, row, now, now)


def refresh_one(tx: Transaction, queues: Outgoing, post: Post, now: int) -> None:
    """Let one post show how its listing stands, at once."""
    _put(tx, queues, {"id": post.id, "lane": post.place.lane}, now, now)


def _put(tx: Transaction, queues: Outgoing, row: Row, now: int, due_at: int) -> None:
    """Put the message that changes a post."""
    key, body = outbox.new_id(now), Refresh(row["id"])
    outbox.put(
        tx, queues.messages, row["lane"], body, now,
        key=key, priority=lanes.NOTICE, due_at=due_at,
    )  # fmt: skip
    tx.execute("UPDATE posts SET waiting = :key WHERE id = :id", id=row["id"], key=key)


def find_post(tx: Transaction, post_id: str) -> Post | None:
    """Give a post; None once it is dropped."""
    row = tx.one(f"{POST} WHERE id = :id", id=post_id)
    return _read(row) if row else None


def post_at(tx: Transaction, place: MessagePlace) -> Post | None:
    """Give the post that a message is; None where nothing is known of it."""
    row = tx.one(
        f"{POST} WHERE lane = :lane AND message_id = :message",
        lane=place.lane,
        message=place.message_id,
    )
    return _read(row) if row else None


def _read(row: Row) -> Post:
    place = MessagePlace(row["lane"], row["message_id"])
    return Post(
        row["id"], row["listing_id"], place, row["own"], Shown(row["picture"], row["shown"])
    )


def save_post(tx: Transaction, listing_id: str, place: MessagePlace, own: int, now: int) -> Post:
    """Note that a message shows a listing; the newest from now on, of its seller's cards."""
    row = tx.one(
        "INSERT INTO posts (id, listing_id, lane, message_id, own, created_at)"
        " VALUES (:id, :listing, :lane, :message, :own, :now) ON CONFLICT (lane, message_id)"
        " DO UPDATE SET listing_id = excluded.listing_id, own = excluded.own,"
        " created_at = excluded.created_at"
        " RETURNING id, listing_id, lane, message_id, own, picture, shown",
        id=short_id(16),
        listing=listing_id,
        lane=place.lane,
        message=place.message_id,
        own=own,
        now=now,
    )
    if own != SHARED:
        _drop_older(tx, listing_id, place.lane, own)
    if row is None:
        raise ValueError("an upsert gives its row")
    return _read(row)


def _drop_older(tx: Transaction, listing_id: str, lane: str, own: int) -> None:
    """Forget what nobody scrolls back to; of a visitor's cards all but a few."""
    tx.execute(
        "DELETE FROM posts WHERE listing_id = :listing AND lane = :lane AND own = :own"
        " AND id NOT IN (SELECT id FROM posts WHERE listing_id = :listing AND lane = :lane"
        " AND own = :own ORDER BY created_at DESC, id DESC LIMIT :kept)",
        listing=listing_id,
        lane=lane,
        own=own,
        kept=KNOWN_CARDS if own == OWN else LIVE_CARDS,
    )


def record_shown(tx: Transaction, post_id: str, seen: Shown) -> None:
    """Note what a post shows now."""
    tx.execute(
        "UPDATE posts SET picture = :picture, shown = :words WHERE id = :id",
        id=post_id,
        picture=seen.picture,
        words=seen.words,
    )


def mark_replaced(tx: Transaction, place: MessagePlace) -> None:
    """Note that a message shows something else than its listing, so that this is left alone."""
    tx.execute(
        "UPDATE posts SET shown = NULL WHERE lane = :lane AND message_id = :message",
        lane=place.lane,
        message=place.message_id,
    )


def delete_post(tx: Transaction, place: MessagePlace) -> None:
    """Forget a message that is gone, or shows a request that is."""
    tx.execute(
        "DELETE FROM posts WHERE lane = :lane AND message_id = :message",
        lane=place.lane,
        message=place.message_id,
    )


def has_live_card(tx: Transaction, listing_id: str) -> bool:
    """Whether a card in the seller's chat is going to have the listing's picture of today."""
    row = tx.one(
        "SELECT 1 AS one FROM posts WHERE listing_id = :listing AND own = :own"
        " AND shown IS NOT NULL LIMIT 1",
        listing=listing_id,
        own=OWN,
    )
    return row is not None


def card_picture(tx: Transaction, listing_id: str) -> tuple[str, str] | None:
    """Give the listing's picture that Telegram has: its file_id, and the key of what it shows."""
    row = tx.one("SELECT file_id, file_key FROM listings WHERE id = :id", id=listing_id)
    return (row["file_id"], row["file_key"]) if row and row["file_id"] else None


def save_card_picture(
    tx: Transaction, listing_id: str, file_id: str | None, key: str | None
) -> None:
    """Keep the name that Telegram gave to a listing's picture; None forgets it."""
    tx.execute(
        "UPDATE listings SET file_id = :file, file_key = :key WHERE id = :id",
        id=listing_id,
        file=file_id,
        key=key,
    )


def claim_due(tx: Transaction, now: int, most: int) -> list[str]:
    """Give up to `most` listings that time has changed by `now`, each once."""
    rows = tx.query(
        "UPDATE listings SET due_at = NULL WHERE due_at <= :now AND id IN (SELECT id FROM listings"
        " WHERE due_at <= :now ORDER BY due_at LIMIT :most) RETURNING id",
        now=now,
        most=most,
    )
    return [row["id"] for row in rows]


def next_due(tx: Transaction) -> int | None:
    """When time alone changes a listing next, in epoch ms."""
    row = tx.one("SELECT MIN(due_at) AS due FROM listings WHERE due_at IS NOT NULL")
    return None if row is None else row["due"]


def pull_due(tx: Transaction, now: int) -> None:
    """Have all looked at that waits for a time: the clock was set back, and some were counted."""
    tx.execute("UPDATE listings SET due_at = :now WHERE due_at > :now", now=now)


def _set_due(tx: Transaction, listing_id: str, now: int) -> None:
    row = tx.one("SELECT answer, state, due_at FROM listings WHERE id = :id", id=listing_id)
    if row is None or row["answer"] is None:
        return
    due_at = _due(Answer.from_json(exact_json.loads(row["answer"])), row["due_at"], now)
    if row["state"] == DELETED:
        due_at = None
    if due_at != row["due_at"]:
        tx.execute("UPDATE listings SET due_at = :due WHERE id = :id", id=listing_id, due=due_at)
        tx.wake(DUE_TOPIC)


def _due(answer: Answer, known: int | None, now: int) -> int | None:
    """When time changes a request next: its start, its end, the lapse of a reservation."""
    moments = [at for at in (answer.enabled_at, answer.expires_at) if at is not None and at > now]
    if answer.reserved_units:
        lapse = now + RESERVATION_LAPSE
        is_near = known is not None and now < known <= lapse
        moments.append(known if known is not None and is_near else lapse)
    return min(moments, default=None)
