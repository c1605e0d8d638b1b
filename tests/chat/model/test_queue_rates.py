"""The chat's queues: their rates as Telegram's limits, and what each of them keeps."""

from __future__ import annotations

import pytest

from bot.chat.model.queues import make_queues
from bot.core.net.rates import Rate
from bot.core.outbox.queue_policy import Pace

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


def test_callback_answers_wait_for_no_rate_limit_and_no_other_answer() -> None:
    """A spinning button is answered at once, whatever is to be sent to that chat."""
    answers = TELEGRAM.answers
    assert (answers.pace, answers.lane_pace("7"), answers.ordered) == (None, None, False)


def test_everything_else_keeps_its_order() -> None:
    assert (TELEGRAM.updates.ordered, TELEGRAM.jobs.ordered, TELEGRAM.messages.ordered) == (
        *(True, True, True),
    )
    assert (TELEGRAM.updates.width, TELEGRAM.jobs.width, TELEGRAM.messages.width) == (1, 1, 1)


def test_only_updates_are_kept_since_telegram_may_send_them_twice() -> None:
    kept = [queue.keep for queue in (TELEGRAM.updates, TELEGRAM.jobs, TELEGRAM.messages)]
    assert kept == [True, False, False]


def test_updates_are_fair_among_people_unless_no_rate_makes_anything_scarce() -> None:
    assert TELEGRAM.updates.account_pace == Pace(1000, 20)
    assert make_queues(None, None, Rate(20, 60)).updates.account_pace is None


def test_updates_altogether_are_handled_as_fast_as_messages_may_be_sent() -> None:
    assert TELEGRAM.updates.pace == Pace(34, 30)
    assert TELEGRAM.updates.lane_pace("7") is None
