"""Whose lease is whose among replicas: a living replica's is nobody else's."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from bot.core.database.database import Database
from bot.core.outbox import leases, outbox
from bot.core.outbox.queue_policy import Queue
from bot.core.replicas import membership
from bot.core.replicas.membership import ReplicaInfo
from bot.core.replicas.replica import ReplicaOwners
from tests.support.databases import POSTGRESQL

pytestmark = pytest.mark.only(POSTGRESQL, "replicas share no file")

NOW = 1_800_000_000_000
DAY = 24 * 3600 * 1000
INFO = ReplicaInfo(role="all", version="1.0", migration=1, settings="digest")
QUEUE = Queue("test", lease=60_000)
IN_SCOPE = replace(QUEUE, write_scope="chat")


@dataclass
class Process:
    """A replica with one worker; `name` is None while it doesn't know whether it is alive."""

    db: Database
    name: str | None

    def __post_init__(self) -> None:
        self.owners = ReplicaOwners(lambda: self.name)
        self.worker = self.owners.register()
        owner = str(self.name)
        self.db.run(lambda tx: membership.join(tx, owner, INFO, NOW))

    def claim(self, queue: Queue = QUEUE) -> outbox.Message:
        owner = self.owners.name_of(self.worker)
        assert owner
        self.db.run(lambda tx: outbox.put(tx, queue, "lane", {}, NOW))
        (message,) = self.db.run(lambda tx: outbox.claim(tx, queue, NOW, 1, owner))
        return message

    def release(self, queue: Queue = QUEUE) -> list[int]:
        """Release by each of the three searches; how many leases each has ended."""
        later = NOW + DAY
        return [
            self.db.run(lambda tx: leases.release_expired(tx, queue, later, self.owners)),
            self.db.run(lambda tx: leases.release_dead(tx, queue, later, self.owners)),
            self.db.run(lambda tx: leases.recover(tx, queue, later, self.owners)),
        ]

    def leave(self) -> None:
        self.db.run(lambda tx: membership.leave(tx, str(self.name)))


@pytest.fixture
def one(db: Database) -> Process:
    return Process(db, "one")


@pytest.fixture
def other(db: Database) -> Process:
    return Process(db, "other")


def test_the_lease_of_a_living_replica_never_ends(one: Process, other: Process) -> None:
    """Neither by the clock nor at the start of another one's worker."""
    one.claim()
    assert other.release() == one.release() == [0, 0, 0]


def test_the_leases_of_a_gone_replica_end_at_once(one: Process, other: Process) -> None:
    message = one.claim()
    one.leave()
    assert other.release() == [0, 1, 0]
    queue = QUEUE
    assert one.db.run(lambda tx: outbox.done(tx, queue, message, NOW)) is False
    (again,) = one.db.run(lambda tx: outbox.claim(tx, queue, NOW, 1, "other:1"))
    assert (again.uncertain, again.crashes) == (True, 1)


def test_a_worker_s_start_ends_the_leases_of_gone_replicas(one: Process, other: Process) -> None:
    one.claim()
    one.leave()
    owners = other.owners
    assert other.db.run(lambda tx: leases.recover(tx, QUEUE, NOW, owners)) == 1


def test_a_stopped_worker_of_a_living_replica_is_dead_to_that_one(
    one: Process, other: Process
) -> None:
    one.claim()
    one.owners.unregister(one.worker)
    assert other.release() == [0, 0, 0]
    assert one.release() == [0, 1, 0]


def test_a_replica_under_a_new_name_has_lost_its_leases(one: Process, other: Process) -> None:
    one.claim()
    one.leave()
    one.name = "one again"
    assert other.release() == [0, 1, 0]
    assert one.owners.name_of(one.worker) == "one again:1"


def test_leases_from_before_there_were_replicas_end(one: Process) -> None:
    """Such as those in a file that was moved to PostgreSQL."""
    one.db.run(lambda tx: outbox.put(tx, QUEUE, "lane", {}, NOW))
    one.db.run(lambda tx: outbox.claim(tx, QUEUE, NOW, 1, "host/boot:17:1:1"))
    assert one.release() == [0, 1, 0]


def test_in_a_write_scope_only_the_lead_s_own_leases_hold(one: Process, other: Process) -> None:
    """The former lead is alive, but can settle nothing there any more."""
    one.claim(IN_SCOPE)
    assert one.release(IN_SCOPE) == [0, 0, 0]
    assert other.release(IN_SCOPE) == [0, 1, 0]


def test_a_replica_that_may_be_gone_claims_and_releases_nothing(
    one: Process, other: Process
) -> None:
    one.claim()
    one.claim(replace(IN_SCOPE, name="chat"))
    one.name = None
    assert one.owners.name_of(one.worker) is None
    assert one.release() == one.release(replace(IN_SCOPE, name="chat")) == [0, 0, 0]
    assert other.release() == [0, 0, 0]
