"""The message that an account is being checked is gone from the chat once the check has ended."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from bot.chat.payments.client import Client
from bot.core.database.database import Database
from bot.sandbox.world.people import Person
from tests.support.chat_harness import ChatHarness, limited_chat, telegram_of
from tests.support.form_harness import IBAN, RAILS, SEPA, answer, refusal
from tests.support.form_questions import question_of
from tests.support.http_peers import ScriptedServer
from tests.support.outbox_queue import bodies, crash
from tests.support.request_jobs import ScriptedJobs
from tests.support.sender_harness import SenderHarness
from tests.support.service_harness import Clock

SECONDS = 9
"""By then a chat has its whole burst again, and what waits for that is due."""


@pytest.fixture
def chat(db: Database, clock: Clock) -> ChatHarness:
    """Open a chat of real money at Telegram's rates, with a sandbox that enforces the limits."""
    return limited_chat(db, clock, RAILS)


@pytest.fixture
def jobs(chat: ChatHarness, peer: ScriptedServer, client: Client) -> ScriptedJobs:
    made = ScriptedJobs(chat, peer, client)
    made.handler = made.made(client, rails=RAILS)
    return made


@pytest.fixture
async def sending(chat: ChatHarness) -> AsyncIterator[SenderHarness]:
    async with telegram_of(chat.world) as bot:
        yield SenderHarness(chat, bot)


async def connect(sending: SenderHarness, sam: Person, *answers: str) -> None:
    """Begin a SEPA account and answer its questions; the check is under way."""
    await sending.chat.presses(sam, "getpaid:bank-sepa")
    for text in answers or (IBAN, "Anna Ott"):
        await sending.work_later(SECONDS)
        await sending.chat.says(sam, text)
    await settle(sending)
    assert checks(sam) == 1


async def settle(sending: SenderHarness) -> None:
    """Wait until nothing is left to send."""
    for _ in range(5):
        await sending.work_later(SECONDS)


def texts(sam: Person) -> list[str]:
    return [message.text for message in sam.chat.from_bot()]


def checks(sam: Person) -> int:
    """Count the messages that say that an account is being checked."""
    return sum("Checking" in text for text in texts(sam))


async def test_the_result_takes_the_place_of_the_check(
    sending: SenderHarness, jobs: ScriptedJobs, sam: Person
) -> None:
    await connect(sending, sam)
    await jobs.work(answer(SEPA))
    await settle(sending)
    assert question_of("payout-found") in texts(sam)[-1]
    assert checks(sam) == 0
    assert sending.chat.world.refused == []


async def test_a_refusal_takes_the_place_of_the_check_too(
    sending: SenderHarness, jobs: ScriptedJobs, sam: Person
) -> None:
    await connect(sending, sam)
    await jobs.work(refusal("details.iban", "No.", "qrIban"))
    await settle(sending)
    assert "QR-IBAN" in texts(sam)[-1]
    assert checks(sam) == 0


@pytest.mark.parametrize("said", ["/cancel", "Hello?", "/getpaid"])
async def test_no_check_stays_where_the_seller_goes_on_first(
    sending: SenderHarness, jobs: ScriptedJobs, sam: Person, said: str
) -> None:
    await connect(sending, sam)
    await sending.chat.says(sam, said)
    await sending.work_later(SECONDS)
    await jobs.work(answer(SEPA))
    await settle(sending)
    assert checks(sam) == 0


async def test_a_check_that_is_sent_after_its_form_ended_is_taken_back(
    sending: SenderHarness, sam: Person
) -> None:
    await sending.chat.presses(sam, "getpaid:bank-sepa")
    await sending.chat.says(sam, IBAN)
    await sending.chat.says(sam, "Anna Ott")
    await sending.chat.says(sam, "/cancel")
    await settle(sending)
    assert checks(sam) == 0


@pytest.mark.parametrize("was_done", [True, False])
async def test_a_kill_around_its_deletion_leaves_no_check(
    sending: SenderHarness, jobs: ScriptedJobs, sam: Person, *, was_done: bool
) -> None:
    """The deletion is a row: it comes again, and of a message that is gone it is done."""
    await connect(sending, sam)
    await jobs.work(answer(SEPA))
    await sending.work_later(0.1)
    assert checks(sam) == 1
    check = next(one for one in sam.chat.from_bot() if "Checking" in one.text)
    sending.chat.clock.advance(SECONDS)
    (deletion,) = crash(sending.chat.db, sending.queues.messages, sending.chat.clock)
    assert deletion.body.message_id == check.id
    if was_done:
        sam.world.remove(check)
    await settle(sending)
    assert checks(sam) == 0
    assert question_of("payout-found") in texts(sam)[-1]
    assert bodies(sending.chat.db, sending.queues.messages) == []


async def test_a_kill_before_the_result_is_sent_loses_neither(
    sending: SenderHarness, jobs: ScriptedJobs, sam: Person
) -> None:
    await connect(sending, sam)
    await jobs.work(answer(SEPA))
    crash(sending.chat.db, sending.queues.messages, sending.chat.clock)
    await settle(sending)
    assert sum(question_of("payout-found") in text for text in texts(sam)) == 1
    assert checks(sam) == 0


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "cut"},
        {"kind": "drop"},
        {"kind": "error", "code": 500},
        {"kind": "error", "code": 429, "retry_after": 7},
    ],
)
async def test_a_deletion_without_an_outcome_is_repeated(
    sending: SenderHarness, jobs: ScriptedJobs, sam: Person, fault: dict[str, Any]
) -> None:
    await connect(sending, sam)
    await jobs.work(answer(SEPA))
    sending.fault(method="deleteMessage", **fault)
    await settle(sending)
    assert checks(sam) == 0
    assert bodies(sending.chat.db, sending.queues.messages) == []


async def test_a_result_that_comes_two_days_later_leaves_the_check_alone(
    sending: SenderHarness, jobs: ScriptedJobs, sam: Person
) -> None:
    """Telegram deletes nothing that is so old; nothing waits for it, and nobody is told."""
    await connect(sending, sam)
    sending.chat.clock.advance(49 * 3600)
    await jobs.work(answer(SEPA))
    await settle(sending)
    assert question_of("payout-found") in texts(sam)[-1]
    assert checks(sam) == 1
    assert bodies(sending.chat.db, sending.queues.messages) == []


async def test_a_question_that_was_shown_in_its_place_is_not_deleted(
    sending: SenderHarness, jobs: ScriptedJobs, sam: Person
) -> None:
    """Back is a button of the check: its message asks again before the deletion is due."""
    await connect(sending, sam)
    check = sam.chat.from_bot()[-1]
    await sending.chat.says(sam, "Hello?")
    await sending.work_later(0.1)
    sam.press(check, "Back")
    await sending.chat.take()
    await sending.work_later(0.1)
    assert question_of("payout-ask-bank-sepa-name") in check.text
    await jobs.work(answer(SEPA))
    await settle(sending)
    assert question_of("payout-ask-bank-sepa-name") in check.text
    assert check in sam.chat.from_bot()
