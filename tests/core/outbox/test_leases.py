"""Whose a lease is: what a worker at work has is nobody else's, what it leaves comes again."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from functools import partial
from pathlib import Path

import pytest

from bot.core.database.database import Database, Transaction
from bot.core.outbox import lanes, leases, outbox
from bot.core.outbox.leases import LONGEST_HOLD
from bot.core.outbox.outbox import Message, NextAttempt
from bot.core.outbox.queue_policy import Queue
from tests.support.outbox_queue import ANN, BOB, SECOND, QueueHarness, sent_at
from tests.support.service_harness import Clock

BEGIN = "from bot.core.outbox.leases import LOCAL; print(LOCAL.register(), flush=True); input()"


@pytest.fixture
def owner() -> Iterator[str]:
    made = leases.LOCAL.register()
    yield made
    leases.LOCAL.unregister(made)


def claim(post: QueueHarness, owner: str) -> list[Message]:
    return post.db.run(lambda tx: outbox.claim(tx, post.queue, post.clock(), 10, owner))


def inherit(post: QueueHarness) -> int:
    return post.db.run(lambda tx: leases.release_dead(tx, post.queue, post.clock()))


def recover(post: QueueHarness) -> int:
    return post.db.run(lambda tx: leases.recover(tx, post.queue, post.clock()))


def test_every_worker_has_a_name_of_its_own() -> None:
    one, other = leases.LOCAL.register(), leases.LOCAL.register()
    assert one != other
    assert leases.is_alive(one)
    leases.LOCAL.unregister(one)
    assert (leases.is_alive(one), leases.is_alive(other)) == (False, True)
    leases.LOCAL.unregister(other)


@pytest.mark.parametrize("name", ["", "x", "::", "elsewhere:1:2:3", "a:b:c:d:e:f"])
def test_an_unknown_owner_is_not_alive(name: str) -> None:
    assert leases.is_alive(name) is False


def test_a_worker_of_another_process_is_alive_as_long_as_its_process() -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", BEGIN],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout
    name = child.stdout.readline().strip()
    assert name.split(":")[1] == str(child.pid)
    assert leases.is_alive(name) is True
    child.communicate("\n")
    assert leases.is_alive(name) is False


def test_a_reused_process_id_is_not_the_old_owner() -> None:
    host, pid, _, number = leases.LOCAL.register().split(":")
    assert pid == str(os.getpid())
    parent = os.getppid()
    assert leases.is_alive(f"{host}:{parent}:1:{number}") is False


def test_a_worker_of_another_process_namespace_is_neither_alive_nor_dead() -> None:
    """Two containers may have one host name, and one machine before and after it starts anew."""
    ours = leases.LOCAL.register()
    host, pid, _, number = ours.split(":")
    boot = Path("/proc/sys/kernel/random/boot_id").read_text()[:8]
    numbering = str(Path("/proc/self/ns/pid").stat().st_ino)
    foreign = {socket.gethostname(), host.replace(boot, "0" * 8), host.replace(numbering, "1")}
    assert len(foreign - {host}) == 3
    assert leases.is_dead(f"{host}:{pid}:1:{number}") is True
    for other in foreign:
        gone = f"{other}:{pid}:1:{number}"
        assert (leases.is_dead(gone), leases.is_alive(gone)) == (False, False)
    leases.LOCAL.unregister(ours)


def test_a_lease_lasts_as_long_as_its_owner_works_whatever_the_clock_says(
    post: QueueHarness, owner: str
) -> None:
    post.put("a", "one")
    (message,) = claim(post, owner)
    post.clock.advance(24 * 3600)
    assert (claim(post, ""), recover(post)) == ([], 0)
    post.done(message)
    assert post.rows() == []


def test_a_start_releases_the_leases_of_a_dead_owner(post: QueueHarness, owner: str) -> None:
    post.put("a", "one")
    claim(post, owner)
    leases.LOCAL.unregister(owner)
    assert recover(post) == 1
    again = post.first()
    assert (again.uncertain, again.attempts) == (True, 2)


def test_leases_of_a_dead_worker_are_released_before_they_expire(
    post: QueueHarness, owner: str
) -> None:
    """A clock that was set back would keep it for an hour; of other machines' nobody knows."""
    post.put("a", "one")
    claim(post, owner)
    post.put("b", "elsewhere's")
    claim(post, "elsewhere:1:2:3")
    assert inherit(post) == 0
    leases.LOCAL.unregister(owner)
    assert inherit(post) == 1
    again = post.first()
    assert (again.body["word"], again.uncertain) == ("one", True)


def test_a_lease_of_an_unknown_owner_is_released_when_it_expires(post: QueueHarness) -> None:
    post.put("a", "one", "two")
    claim(post, "elsewhere:1:2:3")
    post.clock.advance(59.999)
    assert post.claim() == []
    post.clock.advance(0.001)
    again = post.first()
    assert (again.body["word"], again.attempts, again.uncertain) == ("one", 2, True)


def test_a_worker_releases_its_own_leases_except_those_that_it_handles(
    post: QueueHarness, owner: str
) -> None:
    """The others are of claims whose answer was lost, which is no crash."""
    post.put("a", "one")
    post.put("b", "two")
    handled, _ = claim(post, owner)
    keep = {handled.lease}
    assert post.db.run(lambda tx: leases.release_own(tx, post.queue, owner, keep)) == 1
    again = post.first()
    assert (again.body["word"], again.uncertain, again.crashes) == ("two", True, 0)


def test_a_lease_taken_meanwhile_is_not_released(post: QueueHarness, owner: str) -> None:
    """The dead worker's message went to another process between the search and the release."""

    class Late(leases.Owners):
        def find_dead(self, tx: Transaction, _queue: Queue, names: AbstractSet[str]) -> set[str]:
            tx.execute("UPDATE outbox SET lease = :lease", lease=f"{owner}/another")
            return {name for name in names if name != owner}

    post.put("a", "one")
    claim(post, "elsewhere:1:2:3")
    assert post.db.run(lambda tx: leases.release_dead(tx, post.queue, post.clock(), Late())) == 0
    assert post.states() == {"one": "leased"}


def test_an_attempt_that_never_began_does_not_count(post: QueueHarness) -> None:
    post.put("a", "one")
    message = post.first()
    assert post.db.run(lambda tx: outbox.release(tx, post.queue, message, post.clock())) is True
    again = post.first()
    assert (again.attempts, again.uncertain) == (1, False)


def end_by(end: Callable[[Transaction, Message], bool], message: Message, tx: Transaction) -> bool:
    return end(tx, message)


@pytest.mark.parametrize("keep", [False, True])
def test_a_lost_lease_settles_nothing(db: Database, clock: Clock, *, keep: bool) -> None:
    """Whatever became of the message, and after as many attempts as the holder counted."""
    queue = Queue("test", lease=60_000, keep=keep)
    again = NextAttempt({"word": "again"}, lane="b")
    ends: dict[str, Callable[[Transaction, Message], bool]] = {
        "done": lambda tx, it: outbox.done(tx, queue, it, 0),
        "retry": lambda tx, it: outbox.retry(tx, queue, it, 0, "later"),
        "next attempt": lambda tx, it: outbox.retry(tx, queue, it, 0, "", following=again),
        "fail": lambda tx, it: outbox.fail(tx, queue, it, 0, "bug"),
        "release": lambda tx, it: outbox.release(tx, queue, it, 0),
        "give back": lambda tx, it: outbox.release(tx, queue, it),
        "dead letter": lambda tx, it: outbox.dead_letter(tx, queue, it, 0, "no use"),
        "end": lambda tx, it: outbox.end(tx, queue, it, 0, "unwanted"),
        "split": lambda tx, it: outbox.split(tx, queue, it, [{"word": "half"}] * 2, 0),
    }
    for name, end in ends.items():
        post = QueueHarness(db, queue, clock)
        post.put("a", "one")
        lost = post.first()
        clock.advance(60)
        post.db.run(partial(outbox.release, queue=queue, message=post.first()))
        held = post.first()
        assert (lost.attempts, held.attempts) == (1, 2)
        before = post.rows()
        assert post.db.run(partial(end_by, end, lost)) is False, name
        assert post.rows() == before, name
        ended = [post.db.run(partial(end_by, end, held)) for _ in range(2)]
        assert ended == [True, False], name
        post.db.run(lambda tx: tx.execute("DELETE FROM outbox") + tx.execute("DELETE FROM lanes"))


# Times of a clock that was ahead before the start hold nothing up; delays and order are kept.


def test_a_clock_that_was_ahead_delays_nothing_after_a_restart(chats: QueueHarness) -> None:
    chats.clock.advance(3600)
    chats.put(ANN, *"abcdef")
    chats.done(*(chats.first() for _ in "a"))
    chats.clock.at -= 3600 * SECOND
    recover(chats)
    chats.put(BOB, "now")
    assert sent_at(chats)[-1] <= 10 * SECOND


def test_a_clock_set_back_while_running_does_not_stop_the_queue(chats: QueueHarness) -> None:
    chats.clock.advance(3600)
    chats.put(ANN, "before")
    chats.done(chats.first())
    chats.clock.at -= 3600 * SECOND
    chats.put(BOB, "after")
    assert chats.next_open() == 0
    assert chats.words() == ["after"]


def test_an_intended_delay_survives_a_restart(post: QueueHarness) -> None:
    post.put_later("a", "later", 60)
    post.clock.advance(1)
    recover(post)
    assert (post.claim(), post.next_open()) == ([], 59_000)


def test_only_the_messages_of_a_clock_that_was_ahead_get_other_times(post: QueueHarness) -> None:
    post.put_later("a", "later", 60)
    post.clock.advance(3600)
    post.put("b", "ahead")
    post.clock.at -= 3590 * SECOND
    recover(post)
    assert post.words() == ["ahead"]
    assert post.next_open() == 50_000


def test_a_delay_from_a_clock_that_was_ahead_counts_from_the_restart(post: QueueHarness) -> None:
    post.clock.advance(3600)
    post.put("a", "now")
    post.put_later("b", "later", 60)
    post.clock.at -= 3600 * SECOND
    recover(post)
    assert post.words() == ["now"]
    assert post.next_open() == 60_000
    assert {row["created_at"] for row in post.rows()} == {post.clock()}


def test_a_retry_from_a_clock_that_was_ahead_keeps_its_delay(
    post: QueueHarness,
) -> None:
    """The message was put by that clock too; an older message stays as it is."""
    post.clock.advance(3600)
    post.put("a", "one")
    post.retry(post.first(), 300)
    post.clock.at -= 3600 * SECOND
    recover(post)
    assert post.next_open() == 300_000


def hold(post: QueueHarness, lane: str, seconds: float) -> None:
    until = post.clock() + int(seconds * SECOND)
    post.db.run(lambda tx: lanes.hold(tx, post.queue, lane, until))


def test_a_hold_from_a_clock_that_was_ahead_ends_soon_after_a_restart(post: QueueHarness) -> None:
    post.put("a", "one")
    post.clock.advance(3600)
    hold(post, "a", 30)
    post.clock.advance(-3600)
    recover(post)
    assert post.next_open() == LONGEST_HOLD


@pytest.mark.parametrize("seconds", [3600, -3600])
def test_the_order_is_that_of_putting_whatever_the_clock_says(
    post: QueueHarness, seconds: float
) -> None:
    post.put("a", "one", "two")
    taken = post.first()
    post.clock.advance(seconds)
    post.put("a", "three")
    post.clock.advance(-seconds)
    post.put("a", "four")
    post.retry(taken, 0)
    post.clock.advance(7200)
    words = []
    for _ in range(4):
        message = post.first()
        words.append(message.body["word"])
        post.done(message)
    assert words == ["one", "two", "three", "four"]


def test_a_message_put_after_the_clock_was_set_back_goes_behind_leased_ones(
    post: QueueHarness,
) -> None:
    """Nothing else waits, but the leased message may be retried."""
    post.put("a", "one")
    taken = post.first()
    post.clock.advance(-3600)
    post.put("a", "two")
    post.retry(taken, 0)
    first = post.first()
    post.done(first)
    assert [first.body["word"], *post.words()] == ["one", "two"]
