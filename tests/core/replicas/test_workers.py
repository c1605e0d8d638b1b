"""Workers among replicas: a former lead's end by themselves, a dead one's messages go on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.core.database.database import Database, WriteLease
from bot.core.errors import CommitUnknown
from bot.core.outbox import outbox
from bot.core.outbox.outbox import Message
from bot.core.outbox.queue_policy import Queue
from bot.core.outbox.worker import QueueHandler, Worker
from bot.core.replicas import membership
from bot.core.replicas.membership import ReplicaInfo
from bot.core.replicas.replica import ReplicaOwners
from tests.support.product_process import until

NOW = 1_800_000_000_000
SECONDS = 15.0
INFO = ReplicaInfo(role="all", version="1.0", migration=1, settings="digest")
QUEUE = Queue("test", lease=60_000)
IN_SCOPE = Queue("test", lease=60_000, write_scope="chat")


@dataclass(eq=False)
class Process:
    """A replica whose worker takes messages, and settles them once it `may_go`."""

    db: Database
    queue: Queue
    name: str | None
    taken: list[Message] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.may_go = asyncio.Event()
        self.owners = ReplicaOwners(lambda: self.name)
        self.owners.search_seconds = 0.0
        self.worker = Worker(
            self.db, QueueHandler(self.queue, self.handle), lambda: NOW, self.owners
        )
        self.running = asyncio.create_task(self.worker.run())

    async def handle(self, message: Message) -> None:
        self.taken.append(message)
        await self.may_go.wait()
        queue = self.queue
        await self.db.transaction_until_stored(lambda tx: outbox.done(tx, queue, message, NOW))

    async def took(self) -> Message:
        async def look() -> bool:
            return bool(self.taken)

        await until(look)
        return self.taken[0]


def join(db: Database, *names: str) -> None:
    for name in names:
        db.run(lambda tx: membership.join(tx, name, INFO, NOW))  # noqa: B023 - run at once


def put(db: Database) -> None:
    db.run(lambda tx: outbox.put(tx, QUEUE, "lane", {}, NOW))


def take_over(db: Database, owner: str, former: WriteLease) -> WriteLease:
    lead = db.run(lambda tx: membership.take_over_lead(tx, owner, "chat", former))
    assert lead
    return lead


@pytest.mark.long
async def test_a_former_lead_s_worker_ends_by_itself_and_settles_nothing(
    shared: Database,
) -> None:
    join(shared, "one", "other")
    lead = take_over(shared, "one", WriteLease("", 0))
    put(shared)
    one = Process(shared.in_write_scope("chat", lead=lead), IN_SCOPE, "one")
    message = await one.took()
    shared.run(lambda tx: membership.leave(tx, "one"))
    lead = take_over(shared, "other", lead)
    with capture_logs() as logs:
        one.may_go.set()
        async with asyncio.timeout(SECONDS):
            await one.running
    assert [line for line in logs if line["log_level"] != "debug"] == []
    (row,) = await shared.query("SELECT state, lease FROM outbox")
    assert row == {"state": "leased", "lease": message.lease}
    other = Process(shared.in_write_scope("chat", lead=lead), IN_SCOPE, "other")
    assert (await other.took()).uncertain
    other.may_go.set()
    await other.worker.stop(SECONDS)
    await one.worker.stop(SECONDS)


async def test_the_messages_of_a_gone_replica_go_on_elsewhere(shared: Database) -> None:
    join(shared, "one", "other")
    one = Process(shared, QUEUE, "one")
    put(shared)
    first = await one.took()
    other = Process(shared, QUEUE, "other")
    one.name = None  # it claims nothing from now on
    shared.run(lambda tx: membership.leave(tx, "one"))
    second = await other.took()
    assert (second.id, second.uncertain) == (first.id, True)
    other.may_go.set()
    one.may_go.set()
    for process in (one, other):
        await process.worker.stop(SECONDS)
    assert await shared.query("SELECT id FROM outbox") == []


async def test_a_replica_that_may_be_gone_claims_nothing(
    shared: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once it knows that it is alive it goes on, under the name that it has then."""
    monkeypatch.setattr("bot.core.outbox.worker.LONGEST_WAIT", 0.01)
    join(shared, "again")
    put(shared)
    process = Process(shared, QUEUE, None)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(process.took(), 0.2)
    process.name = "again"
    assert (await process.took()).lease.startswith("again:1/")
    process.may_go.set()
    await process.worker.stop(SECONDS)


async def test_a_claim_whose_commit_nobody_knows_is_made_again(
    shared: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lease of a living worker never ends by the clock: the worker gives back what it lost."""
    transaction = type(shared).transaction
    lost: list[Message] = []

    async def lose_the_first_claim(db: Database, work: Callable[[Any], Any]) -> Any:
        result = await transaction(db, work)
        if isinstance(result, tuple) and result[0] and not lost:
            lost.extend(result[0])
            raise CommitUnknown("the answer to a commit was lost")
        return result

    monkeypatch.setattr(type(shared), "transaction", lose_the_first_claim)
    monkeypatch.setattr("bot.core.outbox.worker.LONGEST_WAIT", 0.01)
    join(shared, "one")
    put(shared)
    one = Process(shared, QUEUE, "one")
    message = await one.took()
    assert [claimed.id for claimed in lost] == [message.id]
    assert message.lease != lost[0].lease
    one.may_go.set()
    await one.worker.stop(SECONDS)
    assert await shared.query("SELECT id FROM outbox") == []
