"""The outbox in tests: short words for putting, claiming and looking."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from bot.chat.model.queues import make_queues
from bot.core import exact_json
from bot.core.database.database import Database, Row, Transaction
from bot.core.net.rates import Rate
from bot.core.outbox import lanes, leases, outbox
from bot.core.outbox.claiming import next_claim
from bot.core.outbox.outbox import Message
from bot.core.outbox.queue_policy import REPLY, Queue
from tests.support.service_harness import Clock

SELECT = "SELECT * FROM outbox WHERE queue = :queue ORDER BY priority, id"
SECOND = 1000
MESSAGES = replace(make_queues(Rate(30, 1), Rate(1, 1), Rate(20, 60)).messages, payloads=None)
"""The product's queue at Telegram's rates."""
ANN, BOB, GROUP = "7", "8", "-7"


@dataclass
class QueueHarness:
    """One queue on a database, at the time of a clock, with words instead of payloads."""

    db: Database
    queue: Queue
    clock: Clock

    def __post_init__(self) -> None:
        self.queue = replace(self.queue, payloads=None)

    def put(self, lane: str, *words: str, priority: int = REPLY, key: str | None = None) -> bool:
        """Put a message for each word; whether the last one was new."""
        return [self._put(lane, word, priority=priority, key=key) for word in words][-1]

    def put_later(self, lane: str, word: str, seconds: float) -> None:
        """Put a message that is to go so much later than now."""
        self._put(lane, word, due_at=self.clock() + int(seconds * 1000))

    def _put(self, lane: str, word: str, **how: Any) -> bool:
        body, now = {"word": word}, self.clock()
        return self.db.run(lambda tx: outbox.put(tx, self.queue, lane, body, now, **how))

    def claim(self, room: int = 100) -> list[Message]:
        return self.db.run(lambda tx: claim(tx, self.queue, self.clock(), room))

    def first(self) -> Message:
        (message,) = self.claim(1)
        return message

    def words(self, room: int = 100) -> list[str]:
        """Claim; the words of what came."""
        return [message.body["word"] for message in self.claim(room)]

    def done(self, *messages: Message) -> None:
        def work(tx: Transaction) -> None:
            for message in messages:
                outbox.done(tx, self.queue, message, self.clock())

        self.db.run(work)

    def retry(self, message: Message, seconds: float, note: str = "later") -> None:
        due_at = self.clock() + int(seconds * 1000)
        self.db.run(lambda tx: outbox.retry(tx, self.queue, message, due_at, note))

    def sweep(self) -> int:
        return self.db.run(lambda tx: lanes.sweep(tx, self.queue, self.clock()))

    def next_open(self) -> int | None:
        """Return the milliseconds until the next message may be claimed."""
        moment = self.db.run(lambda tx: next_claim(tx, self.queue, self.clock())).at
        return None if moment is None else moment - self.clock()

    def rows(self) -> list[Row]:
        return self.db.run(lambda tx: tx.query(SELECT, queue=self.queue.name))

    def states(self) -> dict[str, str]:
        """Return the state of each message by its word."""
        return {exact_json.loads(row["body"])["word"]: row["state"] for row in self.rows()}


def claim(tx: Transaction, queue: Queue, now: int, room: int) -> list[Message]:
    """Claim as a worker does, but without an owner: expired leases end first."""
    leases.release_expired(tx, queue, now)
    return outbox.claim(tx, queue, now, room)


def bodies(db: Database, queue: Queue) -> list[Any]:
    """Return the bodies in a queue, in order of putting."""
    rows = db.run(lambda tx: tx.query(SELECT, queue=queue.name))
    return [queue.decode(row["body"]) for row in sorted(rows, key=lambda row: str(row["id"]))]


async def handle_all(
    db: Database, queue: Queue, handle: Callable[[Message], Awaitable[None]], clock: Clock
) -> int:
    """Handle all that may go now, one after the other, as a worker does; how many."""
    handled = 0
    while found := await db.transaction(lambda tx: claim(tx, queue, clock(), 1)):
        await handle(found[0])
        handled += 1
    return handled


def sent_at(post: QueueHarness, most: int = 1000) -> list[int]:
    """Claim and settle until the queue is empty; return the ms from now of each message."""
    start = post.clock()
    times: list[int] = []
    while (wait := post.next_open()) is not None and len(times) < most:
        post.clock.at += max(wait, 0)
        claimed = post.claim(1)
        assert claimed, "next_open named a moment at which nothing may go"
        times += [post.clock() - start]
        post.done(*claimed)
    return times
