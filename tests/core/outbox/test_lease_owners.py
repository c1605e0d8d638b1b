"""Whose a lease is: what a worker at work has is nobody else's, what it leaves comes again."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path

import pytest

from bot.core.database.database import Transaction
from bot.core.outbox import leases, outbox
from bot.core.outbox.outbox import Message
from bot.core.outbox.queue_policy import Queue
from tests.support.outbox_queue import QueueHarness

BEGIN = "from bot.core.outbox import leases; print(leases.register_owner(), flush=True); input()"


@pytest.fixture
def owner() -> Iterator[str]:
    made = leases.register_owner()
    yield made
    leases.unregister_owner(made)


def claim(post: QueueHarness, owner: str) -> list[Message]:
    return post.db.run(lambda tx: outbox.claim(tx, post.queue, post.clock(), 10, owner))


def inherit(post: QueueHarness) -> int:
    return post.db.run(lambda tx: leases.release_dead(tx, post.queue))


def recover(post: QueueHarness) -> int:
    return post.db.run(lambda tx: leases.recover(tx, post.queue, post.clock()))


def test_every_worker_has_a_name_of_its_own() -> None:
    one, other = leases.register_owner(), leases.register_owner()
    assert one != other
    assert leases.is_alive(one)
    leases.unregister_owner(one)
    assert (leases.is_alive(one), leases.is_alive(other)) == (False, True)
    leases.unregister_owner(other)


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
    host, pid, _, number = leases.register_owner().split(":")
    assert pid == str(os.getpid())
    parent = os.getppid()
    assert leases.is_alive(f"{host}:{parent}:1:{number}") is False


def test_a_worker_of_another_process_namespace_is_neither_alive_nor_dead() -> None:
    """Two containers may have one host name, and one machine before and after it starts anew."""
    ours = leases.register_owner()
    host, pid, _, number = ours.split(":")
    boot = Path("/proc/sys/kernel/random/boot_id").read_text()[:8]
    numbering = str(Path("/proc/self/ns/pid").stat().st_ino)
    foreign = {socket.gethostname(), host.replace(boot, "0" * 8), host.replace(numbering, "1")}
    assert len(foreign - {host}) == 3
    assert leases.is_dead(f"{host}:{pid}:1:{number}") is True
    for other in foreign:
        gone = f"{other}:{pid}:1:{number}"
        assert (leases.is_dead(gone), leases.is_alive(gone)) == (False, False)
    leases.unregister_owner(ours)


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
    leases.unregister_owner(owner)
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
    leases.unregister_owner(owner)
    assert inherit(post) == 1
    again = post.first()
    assert (again.body["word"], again.uncertain) == ("one", True)


def test_a_lease_of_an_unknown_owner_is_released_when_it_expires(post: QueueHarness) -> None:
    post.put("a", "one")
    claim(post, "elsewhere:1:2:3")
    post.clock.advance(59)
    assert post.claim() == []
    post.clock.advance(1)
    assert post.first().uncertain is True


def test_a_lost_lease_settles_nothing(post: QueueHarness) -> None:
    """Not even after as many attempts as it thinks there were."""
    post.put("a", "one")
    lost = post.first()
    post.clock.advance(60)
    ours = post.first()
    post.db.run(lambda tx: outbox.release(tx, post.queue, ours, post.clock()))
    again = post.first()
    assert (again.attempts, lost.attempts) == (2, 1)
    assert post.db.run(lambda tx: outbox.done(tx, post.queue, ours, 0)) is False
    assert post.db.run(lambda tx: outbox.release(tx, post.queue, ours, 0)) is False
    assert post.db.run(lambda tx: outbox.dead_letter(tx, post.queue, lost, 0, "lost")) is False
    assert post.db.run(lambda tx: outbox.retry(tx, post.queue, lost, 0, "lost")) is False
    assert post.states() == {"one": "leased"}


def test_a_lease_taken_meanwhile_is_not_released(post: QueueHarness, owner: str) -> None:
    """The dead worker's message went to another process between the search and the release."""

    class Late(leases.LocalOwners):
        def find_dead(self, tx: Transaction, _queue: Queue, names: AbstractSet[str]) -> set[str]:
            tx.execute("UPDATE outbox SET lease = :lease", lease=f"{owner}/another")
            return {name for name in names if name != owner}

    post.put("a", "one")
    claim(post, "elsewhere:1:2:3")
    assert post.db.run(lambda tx: leases.release_dead(tx, post.queue, Late())) == 0
    assert post.states() == {"one": "leased"}


def test_an_attempt_that_never_began_does_not_count(post: QueueHarness) -> None:
    post.put("a", "one")
    message = post.first()
    assert post.db.run(lambda tx: outbox.release(tx, post.queue, message, post.clock())) is True
    again = post.first()
    assert (again.attempts, again.uncertain) == (1, False)
