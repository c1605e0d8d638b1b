"""Which messages show a request, and what waits to change them: at most one message each."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from bot.chat.model.payloads import Refresh
from bot.chat.model.remote_request import RESERVATION_LAPSE, RemoteRequest
from bot.chat.store import link_rows, post_rows
from bot.chat.store.link_rows import DELETED, PaymentLink
from bot.chat.store.post_rows import (
    KNOWN_CARDS,
    LIVE_CARDS,
    OWN,
    REFRESH_DELAY,
    SHARED,
    VISITED,
    MessagePlace,
    Post,
    PostContent,
)
from bot.core.database.database import Transaction
from bot.core.outbox import leases, outbox
from bot.core.outbox.queue_policy import NOTICE
from tests.support.chat_harness import DROP, ChatHarness, service_answer

HOUR = 3600 * 1000
INLINE = MessagePlace("inline:abc", 0)


class Posting:
    """Posts of one drop, changed as its seller's cards and payments do."""

    def __init__(self, chat: ChatHarness) -> None:
        self.chat = chat
        self.db = chat.db
        self.link: PaymentLink = chat.add_link(chat.add_person("Sam"), DROP, service_answer())

    def keep(self, place: MessagePlace, own: int = OWN) -> Post:
        now = self.chat.clock()
        made = self.db.run(lambda tx: post_rows.save_post(tx, self.link.id, place, own, now))
        self.db.run(lambda tx: post_rows.record_shown(tx, made.id, PostContent("picture", "words")))
        return made

    def own(self, message_id: int, own: int = OWN) -> Post:
        return self.keep(MessagePlace(str(self.link.chat_id), message_id), own)

    def refresh(self) -> None:
        self.db.run(partial(self.chat.refresh, self.link.id))

    def claim(self) -> list[outbox.Message]:
        queue, now = self.chat.queues.messages, self.chat.clock()
        return self.db.run(lambda tx: outbox.claim(tx, queue, now, 10))

    def told(self, told: RemoteRequest) -> int | None:
        """Keep an answer, refresh; when time alone changes the link next."""
        self.db.run(lambda tx: link_rows.set_answer(tx, self.link.id, told))
        self.refresh()
        return self.due

    @property
    def due(self) -> int | None:
        row = next(row for row in self.chat.rows("listings") if row["id"] == self.link.id)
        return None if row["due_at"] is None else int(row["due_at"])

    @property
    def waiting(self) -> list[tuple[str, int, int]]:
        """Return the lane, class and wait in ms of each refresh."""
        rows = [row for row in self.chat.rows("outbox") if row["state"] == "waiting"]
        return [(row["lane"], row["priority"], row["due_at"] - self.chat.clock()) for row in rows]


@pytest.fixture
def posting(chat: ChatHarness) -> Posting:
    return Posting(chat)


def test_each_post_has_one_waiting_refresh_of_the_lowest_class(posting: Posting) -> None:
    posting.own(1)
    posting.keep(INLINE, SHARED)
    for _ in range(3):
        posting.refresh()
    own = (str(posting.link.chat_id), NOTICE, REFRESH_DELAY[OWN])
    assert sorted(posting.waiting) == sorted([own, ("inline:abc", NOTICE, REFRESH_DELAY[SHARED])])


def test_a_change_after_the_claim_queues_another_refresh(posting: Posting) -> None:
    """The refresh under way may have read the link before the change."""
    post = posting.own(1)
    posting.refresh()
    posting.chat.clock.advance(1)
    (message,) = posting.claim()
    assert message.body == Refresh(post.id)
    posting.refresh()
    posting.refresh()
    assert len(posting.waiting) == 1


def test_a_restart_does_not_queue_a_waiting_refresh_twice(posting: Posting) -> None:
    posting.own(1)
    posting.refresh()
    posting.chat.clock.advance(1)
    posting.claim()
    queue, now = posting.chat.queues.messages, posting.chat.clock()
    posting.db.run(lambda tx: leases.recover(tx, queue, now))
    posting.refresh()
    assert len(posting.waiting) == 1


def test_only_the_newest_own_cards_are_kept_up_to_date(posting: Posting) -> None:
    made = []
    for number in range(1, LIVE_CARDS + 3):
        made.append(posting.own(number).id)
        posting.chat.clock.advance(1)
    posting.refresh()
    assert sorted(posting.chat.refreshes) == sorted(made[-LIVE_CARDS:])


def test_older_cards_are_deleted_over_time(posting: Posting) -> None:
    for number in range(1, KNOWN_CARDS + 4):
        posting.own(number)
        posting.chat.clock.advance(1)
    kept = sorted(row["message_id"] for row in posting.chat.rows("posts"))
    assert kept == list(range(4, KNOWN_CARDS + 4))


def test_visitors_cards_are_not_refreshed(posting: Posting) -> None:
    """A request with thousands of visitors would cost thousands of edits a payment."""
    posting.keep(MessagePlace("7", 1), VISITED)
    posting.refresh()
    assert posting.waiting == []


def test_a_post_that_shows_something_else_is_left_alone(posting: Posting) -> None:
    post = posting.own(1)
    posting.db.run(lambda tx: post_rows.mark_replaced(tx, post.place))
    posting.refresh()
    assert posting.waiting == []
    known = posting.db.run(lambda tx: post_rows.post_at(tx, post.place))
    assert known
    assert known.seen == PostContent("picture", None)


def test_a_new_picture_refreshes_only_posts_without_it(posting: Posting) -> None:
    posting.own(1)
    shared = posting.keep(INLINE, SHARED)
    chat = posting.chat

    def lend(tx: Transaction, key: str) -> None:
        post_rows.refresh_shared(chat.step(tx), posting.link.id, key)

    posting.db.run(partial(lend, key="picture"))
    assert chat.refreshes == []
    posting.db.run(partial(lend, key="another"))
    assert chat.refreshes == [shared.id]


def test_a_message_shows_one_link(posting: Posting, chat: ChatHarness) -> None:
    first = posting.own(1)
    other = chat.add_link(chat.add_person("Sam"), DROP, service_answer(id="b" * 24))
    now = chat.clock()
    second = chat.db.run(lambda tx: post_rows.save_post(tx, other.id, first.place, OWN, now))
    assert (second.id, second.link_id) == (first.id, other.id)


def test_starts_ends_and_lapses_of_reservations_are_scheduled(
    posting: Posting,
) -> None:
    now = posting.chat.clock()
    start, end = now + HOUR, now + 2 * HOUR
    assert posting.told(service_answer(enabled_at=start, expires_at=end)) == start
    assert posting.told(service_answer(enabled_at=now - 1, expires_at=end)) == end
    assert posting.told(service_answer(expires_at=end, reserved_units=1)) == now + RESERVATION_LAPSE
    posting.chat.clock.advance(60)
    assert posting.told(service_answer(reserved_units=2)) == now + RESERVATION_LAPSE
    assert posting.told(service_answer(enabled_at=now - 1, expires_at=now - 1)) is None


def test_nothing_is_scheduled_for_a_deleted_request(posting: Posting) -> None:
    ends = service_answer(expires_at=posting.chat.clock() + HOUR)
    assert posting.told(ends) is not None
    posting.db.run(lambda tx: link_rows.set_state(tx, posting.link.id, DELETED))
    assert posting.told(replace(ends)) is None
