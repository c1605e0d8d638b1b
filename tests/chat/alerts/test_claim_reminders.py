"""Reminders of claims: once a day, three at most, never at night, gone once decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bot.chat.alerts.schedule import Schedule
from bot.chat.model.payloads import ClaimAlert
from bot.chat.store import claim_rows, seller_rows
from bot.chat.store.claim_rows import Claim
from bot.core.database.database import Transaction
from tests.support.chat_harness import STICKERS, ChatHarness, service_answer
from tests.support.webhook_sender import HELD, record_claim

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


HOUR = 3600
DAY = 24 * HOUR


@pytest.fixture
async def claim(chat: ChatHarness, sam: Person) -> Claim:
    link = chat.add_link(sam, STICKERS, service_answer(total_units=3, remaining_units=2))
    assert await record_claim(chat, link, "K7F290XM")
    chat.clear_messages()
    return stored(chat)


def stored(chat: ChatHarness) -> Claim:
    found = chat.db.run(lambda tx: claim_rows.claim_of_checkout(tx, "c1"))
    assert found is not None
    return found


async def after(chat: ChatHarness, seconds: float) -> int:
    """Let time pass; return the number of reminders so far."""
    chat.clock.advance(seconds)
    for _ in range(2):
        await Schedule(chat.db, chat.queues, chat.clock).tick()
    return len([one for one in chat.said if isinstance(one, ClaimAlert) and one.is_reminder])


async def test_an_undecided_claim_is_reminded_once_a_day_three_times_at_most(
    chat: ChatHarness, claim: Claim
) -> None:
    assert await after(chat, DAY - 1) == 0
    assert [await after(chat, 1), await after(chat, DAY - 1), await after(chat, 1)] == [1, 1, 2]
    assert [await after(chat, DAY) for _ in range(3)] == [3, 3, 3]
    assert claim.is_waiting(chat.clock())
    assert chat.texts[0].startswith("⏳ <b>The payer is still waiting for your answer.</b>")


@pytest.mark.parametrize(
    "state", [claim_rows.CONFIRMING, claim_rows.REJECTED, claim_rows.PAID, claim_rows.CLOSED]
)
async def test_a_decided_claim_has_no_reminder(chat: ChatHarness, claim: Claim, state: str) -> None:
    chat.db.run(lambda tx: claim_rows.change_state(tx, claim, state))
    assert await after(chat, DAY) == 0


async def test_a_claim_that_lapsed_has_no_reminder(chat: ChatHarness, claim: Claim) -> None:
    assert claim.remind_at is not None
    assert await after(chat, HELD / 1000) == 0
    assert stored(chat).remind_at is None


async def test_a_reminder_waits_for_the_end_of_quiet_hours(chat: ChatHarness, claim: Claim) -> None:
    """The claim came at 08:00 in UTC, within the seller's quiet hours."""

    def sleep(tx: Transaction) -> None:
        seller_rows.change(tx, claim.seller_id, zone="Etc/UTC")
        seller_rows.save_quiet(tx, claim.seller_id, (22 * 60, 9 * 60))

    chat.db.run(sleep)
    assert await after(chat, DAY) == 0
    assert await after(chat, HOUR - 1) == 0
    assert await after(chat, 1) == 1
    (reminder,) = chat.said
    assert not reminder.is_silent
