"""Several processes at one outbox: nothing is handled twice, nothing is stuck, no lock in a circle.

Each thread stands for a process: it has connections of its own. Only PostgreSQL runs transactions
side by side.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial

import pytest

from bot.core.database.database import Database, Row, Transaction
from bot.core.database.opening import open_database
from bot.core.outbox import bulk_changes, leases, outbox
from bot.core.outbox import lanes as lane_locks
from bot.core.outbox.leases import Owners
from bot.core.outbox.outbox import Message, NextAttempt
from bot.core.outbox.queue_policy import Pace, Queue
from tests.support.databases import PostgresDatabases

PROCESSES = 3
MESSAGES = 120
LANES = 8
NOW = 1_800_000_000_000
LEFT = """
    SELECT state, COUNT(*) AS messages, COUNT(lanes.open_at) AS in_open_lanes
    FROM outbox LEFT JOIN lanes ON lanes.queue = outbox.queue AND lanes.lane = outbox.lane
    GROUP BY state
"""


@dataclass
class Race:
    """What processes over one database did."""

    databases: list[Database]
    retries: Counter[str] = field(default_factory=Counter)
    claims: Counter[tuple[str, int]] = field(default_factory=Counter)
    settled: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.putting = threading.Event()
        self._lock = threading.Lock()
        for database in self.databases:
            database.count_with(self._count)

    def run(self, *parts: Callable[[int], None]) -> None:
        """Run each part in every process at once."""
        with ThreadPoolExecutor(PROCESSES * len(parts)) as pool:
            runs = [pool.submit(part, number) for part in parts for number in range(PROCESSES)]
            for one in runs:
                one.result()

    def claim(self, number: int, queue: Queue, now: int = NOW) -> list[Message]:
        found = self.databases[number].run(
            lambda tx: outbox.claim(tx, queue, now, 6, f"process-{number}:1")
        )
        with self._lock:
            self.claims.update((message.id, message.attempts) for message in found)
        return found

    def settle(self, number: int, queue: Queue, message: Message) -> None:
        if self.databases[number].run(lambda tx: outbox.done(tx, queue, message, NOW)):
            with self._lock:
                self.settled[message.id] += 1

    def left(self) -> list[Row]:
        return self.databases[0].run(lambda tx: tx.query(LEFT))

    def _count(self, name: str, *labels: str) -> None:
        if name == "database_retries":
            with self._lock:
                self.retries.update(labels)


@pytest.fixture
def race(postgres: PostgresDatabases) -> Iterator[Race]:
    url = postgres.new()
    with ExitStack() as stack:
        databases = [open_database(url) for _ in range(PROCESSES)]
        for database in databases:
            stack.callback(database.close)
        yield Race(databases)
    postgres.drop(url)


def put_and_claim(race: Race, queue: Queue) -> None:
    """Put messages in all processes, and claim and settle them in all until nothing is left."""
    still_putting = threading.Semaphore(0)

    def put(number: int) -> None:
        chosen = random.Random(number)
        for message in range(MESSAGES):
            lane, body = f"lane {chosen.randrange(LANES)}", {"from": number, "number": message}
            race.databases[number].run(lambda tx: outbox.put(tx, queue, lane, body, NOW))  # noqa: B023 - run at once
        still_putting.release()

    def work(number: int) -> None:
        empty = 0
        while empty < 2 * PROCESSES:
            found = race.claim(number, queue)
            for message in found:
                race.settle(number, queue, message)
            if still_putting._value == PROCESSES:
                empty = 0 if found else empty + 1

    race.run(put, work)


@pytest.mark.long
@pytest.mark.parametrize("ordered", [True, False])
def test_three_claimers_handle_everything_once(race: Race, *, ordered: bool) -> None:
    put_and_claim(race, Queue("race", lease=60_000, ordered=ordered, width=1 if ordered else 4))
    assert len(race.settled) == PROCESSES * MESSAGES
    assert set(race.settled.values()) == set(race.claims.values()) == {1}
    assert (race.left(), race.retries) == ([], {})


@pytest.mark.long
def test_without_the_locks_messages_are_handled_twice_or_stuck(
    race: Race, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This test is of the test above: it would notice."""
    monkeypatch.setattr(lane_locks, "lock", lambda *_: None)
    monkeypatch.setattr(lane_locks, "skip_locked", lambda *_: "")
    put_and_claim(race, Queue("race", lease=60_000))
    twice = [claim for claim, times in race.claims.items() if times > 1]
    assert twice or race.left()


def test_no_message_of_a_lane_is_claimed_beside_another(race: Race) -> None:
    """The order of a lane holds among processes: its second message waits for the first."""
    queue = Queue("race", lease=60_000)
    for number in range(20):
        race.databases[0].run(lambda tx: outbox.put(tx, queue, "lane", {"number": number}, NOW))  # noqa: B023 - run at once
    order: list[int] = []

    def work(number: int) -> None:
        while len(order) < 20:
            for message in race.claim(number, queue):
                order.append(message.body["number"])
                race.settle(number, queue, message)

    race.run(work)
    assert order == list(range(20))


@pytest.mark.parametrize("account_pace", [None, Pace(100, burst=2)])
def test_a_pace_of_a_queue_holds_among_processes(race: Race, account_pace: Pace | None) -> None:
    """The clock stands still: the burst may go, and nothing else, however many claim at once."""
    queue = Queue("race", lease=60_000, pace=Pace(1000, burst=5), account_pace=account_pace)

    def put_and_claim(number: int) -> None:
        for message in range(20):
            lane = f"{number}-{message}"
            race.databases[number].run(
                lambda tx: outbox.put(tx, queue, lane, {}, NOW, account="someone")  # noqa: B023 - run at once
            )
            race.claim(number, queue)

    race.run(put_and_claim)
    assert (len(race.claims), race.retries) == (5, {})


@pytest.mark.long
def test_no_two_changes_wait_for_each_other_in_a_circle(race: Race) -> None:
    """Everything that an outbox can do, at once, in two queues: the server finds no deadlock."""
    queues = [
        Queue("plain", lease=60_000, ordered=False, width=4, group=lambda _: "group", keep=True),
        Queue("paced", lease=60_000, pace=Pace(1, burst=1000), account_pace=Pace(100, burst=2)),
    ]
    leased: set[str] = set()
    twice: list[str] = []

    def work(number: int) -> None:
        chosen, held = random.Random(number), list[tuple[Queue, outbox.Message]]()
        database = race.databases[number]
        for step in range(150):
            queue = chosen.choice(queues)
            lanes = [f"lane {one}" for one in chosen.sample(range(5), 2)]
            database.run(lambda tx: change(tx, chosen, queue, lanes))  # noqa: B023 - run at once
            if step % 2:
                found = race.claim(number, queue)
                twice.extend(message.id for message in found if message.id in leased)
                leased.update(message.id for message in found)
                held += [(queue, message) for message in found]
            if held:
                taken, message = held.pop(chosen.randrange(len(held)))
                leased.remove(message.id)
                database.run(lambda tx: end(tx, chosen, taken, message, lanes[0]))  # noqa: B023 - run at once

    race.run(work)
    race.retries.pop("overtaken", None)
    assert (twice, race.retries) == ([], {})


BLOCKED = """
    SELECT COUNT(*) AS others FROM pg_locks
    WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))
"""


def others_wait(tx: Transaction, count: int) -> None:
    """Return once this many transactions wait for this one."""
    while tx.query(BLOCKED)[0]["others"] < count:
        time.sleep(0.01)


def test_a_message_that_is_revived_meanwhile_is_not_swept(race: Race) -> None:
    """The sweep has chosen it, and waits for the transaction that revives it."""
    queue = Queue("kept", lease=60_000, keep=True)
    race.databases[0].run(lambda tx: outbox.put(tx, queue, "lane", {}, NOW, key="it"))
    race.settle(0, queue, *race.claim(0, queue))
    revived = threading.Event()

    def revive(tx: Transaction) -> None:
        outbox.revive(tx, queue, "it", NOW)
        revived.set()
        others_wait(tx, 1)

    with ThreadPoolExecutor() as pool:
        reviving = pool.submit(race.databases[0].run, revive)
        revived.wait()
        sweep = partial(outbox.sweep, queue=queue, before=NOW + 1)
        assert pool.submit(race.databases[1].run, sweep).result() == []
        reviving.result()


def test_a_message_moved_while_its_lane_is_locked_is_looked_for_again(race: Race) -> None:
    """Otherwise `revive` holds its old lane while it waits for the new one: a circle."""
    queue = Queue("moves", lease=60_000)
    race.databases[0].run(lambda tx: outbox.put(tx, queue, "lane 2", {}, NOW, key="it"))

    def move(tx: Transaction) -> None:
        outbox.move_lane(tx, queue, "lane 2", "lane 1")
        moved.set()
        others_wait(tx, 2)

    def lock_both(tx: Transaction) -> None:
        lane_locks.lock(tx, queue, "lane 1")
        others_wait(tx, 1)
        lane_locks.lock(tx, queue, "lane 2")

    def revive(tx: Transaction) -> bool:
        return outbox.revive(tx, queue, "it", NOW + 1)

    moved = threading.Event()
    with ThreadPoolExecutor() as pool:
        moving = pool.submit(race.databases[0].run, move)
        moved.wait()
        both = pool.submit(race.databases[1].run, lock_both)
        revived = pool.submit(race.databases[2].run, revive)
        moving.result()
        both.result()
        assert revived.result()
    assert race.retries == {"overtaken": 1}


def change(tx: Transaction, chosen: random.Random, queue: Queue, lanes: list[str]) -> None:
    """Make one of the changes that callers make."""
    about = f"SELECT id FROM outbox WHERE queue = '{queue.name}' AND subject = :subject"
    subject, account = chosen.choice("abc"), chosen.choice("xyz")
    row = tx.one("SELECT id FROM outbox WHERE queue = :queue LIMIT 1", queue=queue.name)
    message_id = row["id"] if row else "none"
    put = partial(outbox.put, tx, queue, lanes[0], {}, NOW, account=account, subject=subject)
    changes: list[Callable[[], object]] = [
        put,
        put,
        put,
        lambda: bulk_changes.hasten(tx, about, NOW, subject=subject),
        lambda: bulk_changes.postpone(tx, about, NOW, subject=subject),
        lambda: outbox.move_lane(tx, queue, lanes[0], lanes[1]),
        lambda: outbox.bring_forward(tx, queue, message_id, NOW),
        lambda: outbox.revive(tx, queue, message_id, NOW),
        lambda: lane_locks.sweep(tx, queue, NOW),
        lambda: leases.recover(tx, queue, NOW, Nobody()),
    ]
    chosen.choice(changes)()


class Nobody(Owners):
    """Owners of whom none is dead."""

    def presume_dead(self, _tx: Transaction, _queue: Queue, _names: AbstractSet[str]) -> set[str]:
        return set()


def end(tx: Transaction, chosen: random.Random, queue: Queue, message: Message, lane: str) -> None:
    """Settle a message in one of the ways."""
    ways: list[Callable[[], object]] = [
        lambda: outbox.done(tx, queue, message, NOW),
        lambda: outbox.retry(tx, queue, message, NOW, "again", following=NextAttempt({}, lane)),
        lambda: outbox.split(tx, queue, message, [{}, {}], NOW),
        lambda: outbox.dead_letter(tx, queue, message, NOW, "dead"),
    ]
    chosen.choice(ways)()
