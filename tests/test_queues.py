"""The chat's queues: their rates as Telegram's limits, and what each of them keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bot.chat.queues import make_queues
from bot.core.lanes import Pace
from bot.core.rates import Rate
from tests.queueing import Post

if TYPE_CHECKING:
    from bot.core.db import Database
    from tests.serving import Clock

TELEGRAM = make_queues(Rate(30, 1), Rate(1, 1), Rate(20, 60))


@pytest.mark.parametrize(
    ("lane", "pace"),
    [
        ("7", Pace(1000, 4)),
        *(("-7", Pace(3530, 4)), ("-1002000000001", Pace(3530, 4))),
        ("inline:AAAA", Pace(3530, 4)),
    ],
)
def test_a_person_a_group_and_a_message_posted_inline_have_paces_of_their_own(
    lane: str, pace: Pace
) -> None:
    assert TELEGRAM.messages.lane_pace(lane) == pace


def test_all_messages_together_keep_to_the_total_rate_in_every_second() -> None:
    pace = TELEGRAM.messages.pace
    assert pace == Pace(35, 2)
    assert pace.burst + (1000 - 1) // pace.interval <= 30


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 19, 20, 100])
def test_a_group_never_gets_more_in_a_minute_its_burst_included(count: int) -> None:
    pace = make_queues(None, None, Rate(count, 60)).messages.lane_pace("-7")
    assert pace is not None
    assert pace.burst + (60_000 - 1) // pace.interval <= count


def test_a_rate_of_none_is_no_pace() -> None:
    free = make_queues(None, None, None).messages
    assert (free.pace, free.lane_pace("7"), free.lane_pace("-7")) == (None, None, None)


def test_answers_to_buttons_wait_for_no_pace_and_no_other() -> None:
    """A spinning button is answered at once, whatever is to be sent to that chat."""
    answers = TELEGRAM.answers
    assert (answers.pace, answers.lane_pace("7"), answers.ordered) == (None, None, False)


def test_everything_else_keeps_its_order() -> None:
    assert (TELEGRAM.updates.ordered, TELEGRAM.calls.ordered, TELEGRAM.messages.ordered) == (
        *(True, True, True),
    )
    assert (TELEGRAM.updates.width, TELEGRAM.calls.width, TELEGRAM.messages.width) == (1, 1, 1)


def test_only_updates_are_remembered_for_they_may_come_twice() -> None:
    kept = [queue.keep for queue in (TELEGRAM.updates, TELEGRAM.calls, TELEGRAM.messages)]
    assert kept == [True, False, False]


def test_who_floods_waits_so_that_nobody_else_does(db: Database, clock: Clock) -> None:
    """Twenty at once, then five a second, in order; whoever writes meanwhile is next."""
    post = Post(db, TELEGRAM.updates, clock)
    post.put("7", *(f"flood {n}" for n in range(30)))
    taken: list[str] = []

    def take() -> list[str]:
        """Handle what may be handled now, one at a time; the words of it."""
        before = len(taken)
        while claimed := post.claim(1):
            taken.extend(message.body["word"] for message in claimed)
            post.done(*claimed)
        return taken[before:]

    assert len(take()) == 20
    post.put("8", "and me?")
    assert take() == ["and me?"]
    assert post.next_open() == 200
    clock.at += 1000
    assert take() == [f"flood {n}" for n in range(20, 25)]
    clock.at += 1000
    assert take() == [f"flood {n}" for n in range(25, 30)]


def test_where_the_chats_rate_is_lifted_nobody_waits() -> None:
    assert make_queues(Rate(30, 1), None, Rate(20, 60)).updates.lane_pace("7") is None
