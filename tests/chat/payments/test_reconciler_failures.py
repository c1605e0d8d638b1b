"""The reconciler beside what nobody foresaw: it looks again, and at everything else."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.chat.payments import reconciler
from bot.chat.payments.client import Client
from bot.chat.payments.reconciler import FIRST_WAIT, INTERVAL, LEAST_REST, RETRIES, Reconciler
from bot.chat.store import link_rows
from bot.chat.store.link_rows import PaymentLink
from bot.core import errors
from bot.sandbox.world.people import Person
from tests.support.chat_harness import COFFEE, ChatHarness, service_answer
from tests.support.http_peers import CUT, ScriptedServer, http_response
from tests.support.reconciler_service import RecordedSleep, alerts, item

BACKOFF = [delay / 1000 for delay in RETRIES.delays]

AWAY, BACK = "ALTER TABLE listings RENAME TO away", "ALTER TABLE away RENAME TO listings"
PAID = {"items": [{"transactionId": "t1"}]}
STRANGE = "\ud83d"
"""Half a character: JSON can say it, UTF-8 can't, and so no database."""


def listed(chat: ChatHarness, sam: Person, number: int) -> PaymentLink:
    return chat.add_link(sam, COFFEE, service_answer(id=f"{number:024}"))


async def test_a_failed_comparison_is_a_line_in_the_log_and_the_next_one_runs(
    chat: ChatHarness, client: Client, peer: ScriptedServer, sam: Person
) -> None:
    """A later comparison finds what this one missed."""
    link = listed(chat, sam, 1)
    counted = http_response(200, {"items": [item(link, str(link.request_id), paymentsCount=1)]})
    await peer.add_answers(counted, counted, http_response(200, PAID))
    await chat.db.transaction(lambda tx: tx.execute(AWAY))
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if alerts(chat):
            raise asyncio.CancelledError
        if seconds == BACKOFF[0]:
            await chat.db.transaction(lambda tx: tx.execute(BACK))

    with capture_logs() as logs, pytest.raises(asyncio.CancelledError):
        await Reconciler(chat.db, client, chat.recorder, chat.clock, sleep).run()
    waits = [seconds for seconds in slept if seconds not in (0, LEAST_REST)]
    assert waits == [FIRST_WAIT, BACKOFF[0]]
    errors = [line["event"] for line in logs if line["log_level"] == "error"]
    assert errors == ["not compared with the service"]
    assert [alert.link_id for alert in alerts(chat)] == [link.id]


async def test_an_unreadable_link_does_not_hide_the_others(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    broken, sound = (listed(chat, sam, number) for number in (1, 2))
    spoil = "UPDATE listings SET wish = '{}' WHERE id = :id"
    await chat.db.transaction(lambda tx: tx.execute(spoil, id=broken.id))
    both = [item(one, str(one.request_id), paymentsCount=1) for one in (broken, sound)]
    await peer.add_answers(http_response(200, {"items": both}), http_response(200, PAID))
    with capture_logs():
        assert await looking.compare() == 1
    assert [alert.link_id for alert in alerts(chat)] == [sound.id]


async def test_a_foreign_request_with_half_a_character_is_ignored(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    """A database can't even search for it; the other requests are compared all the same."""
    link = listed(chat, sam, 1)
    ours = item(link, str(link.request_id), paymentsCount=1)
    hook = {"webhook": {"customParameters": {"listing": STRANGE}}}
    theirs = {**ours, "id": "f" * 24, "notifications": hook}
    await peer.add_answers(http_response(200, {"items": [theirs, ours]}), http_response(200, PAID))
    assert await looking.compare() == 1
    assert [alert.link_id for alert in alerts(chat)] == [link.id]


async def test_it_ends_at_once_even_if_the_server_hangs(
    looking: Reconciler, peer: ScriptedServer
) -> None:
    task = asyncio.create_task(looking.run())
    await peer.asked(1)
    task.cancel()
    async with asyncio.timeout(2):
        assert isinstance((await asyncio.gather(task, return_exceptions=True))[0], BaseException)
    assert task.cancelled()


async def runs(looking: Reconciler, recorded_sleep: RecordedSleep, sleeps: int) -> list[float]:
    """Run it for a number of sleeps; return the waits between comparisons."""
    recorded_sleep.most = sleeps
    with pytest.raises(asyncio.CancelledError):
        await looking.run()
    return [one for one in recorded_sleep.seconds if one not in (0, LEAST_REST)]


async def test_failures_delay_the_next_comparison_more_and_more(
    looking: Reconciler, peer: ScriptedServer, recorded_sleep: RecordedSleep
) -> None:
    """Each failure is a line in the log, and a success resets the delays."""
    failures = [
        http_response(500),
        CUT,
        http_response(401),
        http_response(200, b"<html>"),
        http_response(200, {}),
        http_response(418),
    ]
    await peer.add_answers(*failures, http_response(200, {"items": []}), http_response(503))
    with capture_logs() as logs:
        slept = await runs(looking, recorded_sleep, 17)
    backoff = [*BACKOFF, BACKOFF[-1], BACKOFF[-1]]
    assert slept == [FIRST_WAIT, *backoff, INTERVAL, BACKOFF[0]]
    warnings = [line for line in logs if line["log_level"] == "warning"]
    assert [line["again_in"] for line in warnings] == [*backoff, BACKOFF[0]]
    assert warnings[1]["reason"].startswith("Unreachable: ")


@pytest.mark.parametrize(("asked", "wait"), [("1200", 1200), ("30", BACKOFF[0]), ("99999", 3600)])
async def test_the_servers_retry_after_is_respected(
    looking: Reconciler,
    peer: ScriptedServer,
    recorded_sleep: RecordedSleep,
    asked: str,
    wait: float,
) -> None:
    await peer.add_answers(http_response(429, Retry_After=asked))
    assert await runs(looking, recorded_sleep, 3) == [FIRST_WAIT, wait]


async def test_a_locked_database_does_not_end_it(
    chat: ChatHarness,
    looking: Reconciler,
    peer: ScriptedServer,
    recorded_sleep: RecordedSleep,
    monkeypatch: Any,
) -> None:
    link = chat.add_link(chat.add_person("Kim"), COFFEE, service_answer())

    async def locked(*_: object) -> None:
        raise errors.StorageError("database is locked")

    monkeypatch.setattr(link_rows, "links_by_id", locked)
    await peer.add_answers(http_response(200, {"items": [item(link)]}))
    assert await runs(looking, recorded_sleep, 3) == [FIRST_WAIT, BACKOFF[0]]


async def test_a_failure_of_one_request_does_not_hide_the_others(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    first, second = (
        chat.add_link(sam, COFFEE, service_answer(id=f"{number:024}")) for number in range(2)
    )
    counted = [item(one, str(one.request_id), paymentsCount=1) for one in (first, second)]
    listed = http_response(200, {"items": [{"transactionId": "t1"}]})
    await peer.add_answers(http_response(200, {"items": counted}), http_response(500), listed)
    assert await looking.compare() == 1
    assert [alert.link_id for alert in alerts(chat)] == [second.id]


async def test_failures_of_many_requests_are_a_failure_of_the_server(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    many = [chat.add_link(sam, COFFEE, service_answer(id=f"{number:024}")) for number in range(10)]
    counted = [item(one, str(one.request_id), paymentsCount=1) for one in many]
    await peer.add_answers(http_response(200, {"items": counted}), *[http_response(500)] * 10)
    with pytest.raises(errors.Overloaded):
        await looking.compare()
    assert len(peer.calls) == 1 + reconciler.MOST_FAILURES + 1
