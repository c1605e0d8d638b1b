"""Floods of claims: a few messages, then one digest for each link that is never silent for long."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bot.chat.cards.alerts import DIGEST_PAUSE, DOUBTFUL_PAUSE, OWN_MESSAGES, OWN_OF_SELLER
from bot.chat.cards.claim_cards import EDIT_DELAY, LISTED
from bot.chat.cards.schedule import Schedule
from bot.chat.store import seller_rows
from bot.chat.store.claim_rows import MANY_UNPROVEN
from bot.core.text.translations import t
from bot.sandbox.world.model import Message
from bot.sandbox.world.people import Person
from tests.support.chat_harness import COFFEE, STICKERS, service_answer
from tests.support.claim_steps import CLAIMED, ClaimSteps, checkout
from tests.support.webhook_sender import HELD, WebhookSender

RECEIVED, MISSING, SURE = (
    t("en", key) for key in ("button-received", "button-missing", "button-missing-yes")
)
PAUSE, LONG_PAUSE, DELAY = DIGEST_PAUSE / 1000, DOUBTFUL_PAUSE / 1000, EDIT_DELAY / 1000
DAY = 24 * 3600


def fields(number: int, unproven: int = 1) -> dict[str, Any]:
    """Return the fields of the claim with a number, a second after the one before it."""
    at = f"2027-01-15T08:{number // 60:02d}:{number % 60:02d}.000Z"
    said = {"checkoutId": f"c{number}", "reference": f"REF-{number:04d}", "claimedAt": at}
    return said if unproven == 1 else said | {"unprovenClaims": unproven}


async def flood(steps: ClaimSteps, first: int, last: int, unproven: int = 1) -> None:
    for number in range(first, last):
        await steps.claim(**fields(number, unproven))


def alone(steps: ClaimSteps) -> list[Message]:
    return [message for message in steps.messages if "has it arrived?" in message.text]


def digests(steps: ClaimSteps) -> list[Message]:
    return [message for message in steps.messages if message.text.startswith("📬")]


def sounds(steps: ClaimSteps) -> int:
    """Return how many messages the bot has sent so far with a sound."""
    return sum(
        call.method == "sendMessage" and "disable_notification" not in call.params
        for call in steps.chat.world.calls
    )


async def pass_time(steps: ClaimSteps, seconds: float) -> None:
    """Let time pass; then due work is done, and what it queued is sent."""
    steps.chat.clock.advance(seconds)
    await Schedule(steps.chat.db, steps.chat.queues, steps.chat.clock).tick()
    await steps.cards.work()
    await steps.cards.work_later(DELAY)


async def test_the_first_claims_have_messages_and_the_rest_share_one(steps: ClaimSteps) -> None:
    await flood(steps, 0, OWN_MESSAGES + LISTED + 10)
    await pass_time(steps, 0)
    assert len(alone(steps)) == OWN_MESSAGES
    (digest,) = digests(steps)
    count = LISTED + 10
    newest = OWN_MESSAGES + count - 1
    lines = digest.text.splitlines()
    assert lines[0] == f"📬 {count} more payments for Stickers are waiting for your answer"
    assert lines[3] == "$2.50, reported Fri, 15 Jan 2027, 08:00 (UTC)"
    assert lines[4] == f"🧾 REF-{newest:04d}"
    assert lines[-1] == "… and 10 more. See them all: /payments"
    assert [button["text"] for button in digest.buttons][:2] == [f"✅ REF-{newest:04d}", MISSING]
    assert len(digest.buttons) == 2 * LISTED
    assert sounds(steps) == OWN_MESSAGES + 1


async def test_twenty_one_claims_silence_no_later_one(steps: ClaimSteps) -> None:
    """The digest is a new message as soon as its pause is over, day after day."""
    await flood(steps, 0, 21)
    for day in range(6):
        before = sounds(steps)
        at = f"2027-01-{16 + day}T08:00:00.000Z"
        steps.chat.clock.advance(DAY)
        newest = await steps.claim(checkoutId=f"d{day}", reference=f"DAY-{day:04d}", claimedAt=at)
        assert sounds(steps) == before + 1
        assert f"DAY-{day:04d}" in newest.text


async def test_a_digest_sounds_at_most_once_in_its_pause(steps: ClaimSteps) -> None:
    await flood(steps, 0, OWN_MESSAGES + 1)
    before, (digest,) = sounds(steps), digests(steps)
    await flood(steps, 20, 26)
    await pass_time(steps, DELAY)
    assert digests(steps) == [digest]
    assert "7 more payments" in digest.text
    await pass_time(steps, PAUSE - 3 * DELAY)
    assert sounds(steps) == before
    await pass_time(steps, 2 * DELAY)
    (newest,) = digests(steps)
    assert (sounds(steps), newest.id > digest.id) == (before + 1, True)
    await pass_time(steps, 3 * PAUSE)
    assert (sounds(steps), digests(steps)) == (before + 1, [newest])


async def test_a_digest_that_telegram_deletes_no_more_loses_its_buttons(steps: ClaimSteps) -> None:
    """After 48 hours, so that one digest alone can be pressed."""
    await flood(steps, 0, OWN_MESSAGES + 1)
    (old,) = digests(steps)
    steps.chat.clock.advance(3 * DAY)
    newest = await steps.claim(**fields(20) | {"claimedAt": "2027-01-18T08:00:00.000Z"})
    await steps.cards.work_later(PAUSE)
    await steps.cards.work_later(PAUSE)
    assert digests(steps) == [old, newest]
    assert (old.buttons, len(newest.buttons)) == ([], 4)
    (refused,) = steps.chat.world.refused
    assert refused.method == "deleteMessage"
    steps.chat.world.refused.clear()


async def test_a_digest_that_its_seller_has_deleted_is_sent_anew(steps: ClaimSteps) -> None:
    await flood(steps, 0, OWN_MESSAGES + 1)
    (old,) = digests(steps)
    steps.chat.world.remove(old)
    steps.chat.clock.advance(PAUSE)
    newest = await steps.claim(**fields(20))
    await steps.cards.work_later(PAUSE)
    await steps.cards.work_later(PAUSE)
    assert digests(steps) == [newest]
    assert steps.chat.states(steps.chat.queues.messages) == []
    steps.chat.world.refused.clear()


async def test_claims_of_a_network_with_many_come_last_and_seldom_sound(steps: ClaimSteps) -> None:
    many = MANY_UNPROVEN + 1
    await flood(steps, 0, 30, many)
    assert (alone(steps), len(digests(steps)), sounds(steps)) == ([], 1, 1)
    for _ in range(int(LONG_PAUSE / PAUSE) - 1):
        await pass_time(steps, PAUSE - DELAY)
    assert sounds(steps) == 1
    await pass_time(steps, PAUSE)
    assert sounds(steps) == 2
    honest = await steps.claim(**fields(40))
    assert (alone(steps), sounds(steps)) == ([honest], 3)
    await flood(steps, 41, 41 + OWN_MESSAGES)
    await flood(steps, 60, 70, many)
    await pass_time(steps, PAUSE)
    (digest,) = digests(steps)
    assert digest.text.splitlines()[4] == f"🧾 REF-{40 + OWN_MESSAGES:04d}"
    doubt = f"⚠️ One of {many} unconfirmed payments from the same network"
    assert digest.text.splitlines()[7:9] == ["🧾 REF-0069", doubt]


async def test_a_flood_of_one_link_leaves_another_links_claims_alone(
    steps: ClaimSteps, sam: Person
) -> None:
    await flood(steps, 0, 50)
    chat = steps.chat
    other = chat.add_link(sam, COFFEE, service_answer(id="f" * 24))
    sender = WebhookSender(chat, steps.webhooks.http, other)
    before = sounds(steps)
    body = CLAIMED | fields(60) | {"paymentRequestId": "f" * 24}
    assert await sender.send_signed(body) == 200
    await steps.cards.work()
    assert "$2.50 for Coffee: has it arrived?" in steps.newest.text
    assert sounds(steps) == before + 1


async def test_floods_of_many_links_leave_each_a_message_that_sounds(
    steps: ClaimSteps, sam: Person
) -> None:
    """Beyond so many messages of one seller, claims of further links are in their digests."""
    chat, number = steps.chat, 0
    for nth in range(OWN_OF_SELLER // OWN_MESSAGES + 1):
        request_id = f"{nth:024x}"
        link = chat.add_link(sam, STICKERS, service_answer(id=request_id))
        sender = WebhookSender(chat, steps.webhooks.http, link)
        for _ in range(OWN_MESSAGES):
            body = CLAIMED | fields(number) | {"paymentRequestId": request_id}
            assert await sender.send_signed(body) == 200
            number += 1
        await steps.cards.work()
    assert (len(alone(steps)), len(digests(steps))) == (OWN_OF_SELLER, 1)
    assert sounds(steps) == OWN_OF_SELLER + 1


async def test_a_claim_is_decided_in_the_digest(steps: ClaimSteps) -> None:
    await flood(steps, 0, OWN_MESSAGES + 2)
    await pass_time(steps, DELAY)
    (digest,) = digests(steps)
    newest, other = f"c{OWN_MESSAGES + 1}", f"c{OWN_MESSAGES}"
    label = f"✅ REF-{OWN_MESSAGES + 1:04d}"
    assert await steps.press(digest, label) == t("en", "claims-toast-confirming")
    assert "Another payment for Stickers is waiting for your answer" in digest.text
    assert [button["text"] for button in digest.buttons] == [RECEIVED, MISSING]
    assert await steps.answer(checkout("paid")) == [("POST", "confirm")]
    await steps.pay(checkoutId=newest)
    assert "received for Stickers" in steps.newest.text
    await steps.press(digest, MISSING)
    question = steps.newest
    assert question.text.startswith("Has $2.50 for Stickers really not arrived?")
    await steps.press(question, SURE)
    await steps.answer(checkout("rejected"))
    await pass_time(steps, DELAY)
    assert digest.text == "✅ Nothing for Stickers is waiting here any more."
    assert digest.buttons == []
    rows = {row["checkout_id"]: row["state"] for row in steps.chat.rows("claims")}
    assert (rows[newest], rows[other]) == ("paid", "rejected")


async def test_a_decided_claim_makes_room_for_a_message_of_its_own(steps: ClaimSteps) -> None:
    await flood(steps, 0, OWN_MESSAGES + 1)
    first = alone(steps)[0]
    await steps.press(first, RECEIVED)
    await steps.answer(checkout("paid"))
    assert "has it arrived?" in (await steps.claim(**fields(30))).text
    await steps.claim(**fields(31))
    assert len(alone(steps)) == OWN_MESSAGES
    await pass_time(steps, DELAY)
    assert "2 more payments" in digests(steps)[0].text


async def test_a_claim_decided_elsewhere_leaves_the_digest(steps: ClaimSteps) -> None:
    await flood(steps, 0, OWN_MESSAGES + 2)
    await steps.pay(checkoutId=f"c{OWN_MESSAGES}")
    await pass_time(steps, DELAY)
    (digest,) = digests(steps)
    assert "Another payment for Stickers" in digest.text
    assert f"REF-{OWN_MESSAGES:04d}" not in digest.text


async def test_claims_that_lapse_leave_the_digest(steps: ClaimSteps) -> None:
    await flood(steps, 0, OWN_MESSAGES + 3)
    for _ in range(3):
        await pass_time(steps, DAY)
    await pass_time(steps, HELD / 1000 - 3 * DAY)
    assert digests(steps) == []
    assert steps.messages[-1].text == "✅ Nothing for Stickers is waiting here any more."


async def test_a_day_later_one_digest_reminds_of_all_of_a_link(steps: ClaimSteps) -> None:
    await flood(steps, 0, OWN_MESSAGES + 12)
    before = sounds(steps)
    assert await reminded(steps) == OWN_MESSAGES + 1
    assert [await reminded(steps) for _ in range(3)] == [OWN_MESSAGES + 1] * 2 + [0]
    assert sounds(steps) == before + 3 * (OWN_MESSAGES + 1)
    assert len(digests(steps)) == 1


async def reminded(steps: ClaimSteps) -> int:
    """Let a day pass; return how many messages sounded."""
    before = sounds(steps)
    await pass_time(steps, DAY)
    await pass_time(steps, 2 * PAUSE)
    return sounds(steps) - before


@pytest.mark.parametrize("mode", ["silent", "off"])
async def test_a_digest_of_a_quiet_link_makes_no_sound(steps: ClaimSteps, mode: str) -> None:
    steps.chat.db.run(lambda tx: tx.execute("UPDATE listings SET alerts = :mode", mode=mode))
    await flood(steps, 0, OWN_MESSAGES + 3)
    await pass_time(steps, PAUSE)
    assert (len(digests(steps)), sounds(steps)) == (1, 0)


async def test_a_digest_in_quiet_hours_makes_no_sound(steps: ClaimSteps, sam: Person) -> None:
    steps.chat.db.run(lambda tx: seller_rows.save_quiet(tx, sam.id, (22 * 60, 9 * 60)))
    await flood(steps, 0, OWN_MESSAGES + 3)
    assert (len(digests(steps)), sounds(steps)) == (1, 0)


async def test_a_claim_that_comes_while_the_digest_is_sent_is_in_it(steps: ClaimSteps) -> None:
    """Telegram's answer is awaited, the claim comes, and the message is brought up to date."""
    await flood(steps, 0, OWN_MESSAGES)
    await steps.webhooks.send_signed(CLAIMED | fields(20))
    steps.cards.fault("delay", method="sendMessage", seconds=1)
    sending = asyncio.create_task(steps.cards.work())
    await steps.chat.world.wait_for(lambda: digests(steps), 10)
    await steps.webhooks.send_signed(CLAIMED | fields(21))
    await sending
    await pass_time(steps, DELAY)
    (digest,) = digests(steps)
    assert "2 more payments" in digest.text


async def test_a_seller_who_blocked_the_bot_finds_one_digest_afterwards(steps: ClaimSteps) -> None:
    await flood(steps, 0, OWN_MESSAGES)
    blocked = {"code": 403, "description": "Forbidden: bot was blocked by the user"}
    steps.cards.fault("error", method="sendMessage", times=2, **blocked)
    await steps.claim(**fields(20))
    for number in range(6):
        await steps.webhooks.send_signed(CLAIMED | fields(30 + number))
        await pass_time(steps, PAUSE)
    assert digests(steps) == []
    waiting = [body for body in steps.chat.said if type(body).__name__ == "ClaimDigest"]
    assert len(waiting) == 1
    steps.chat.world.refused.clear()
    await steps.says("/start")
    await steps.cards.work_later()
    (digest,) = digests(steps)
    assert "7 more payments" in digest.text


async def test_payments_lists_all_that_wait_the_credible_ones_first(steps: ClaimSteps) -> None:
    await flood(steps, 0, 7, MANY_UNPROVEN + 1)
    await flood(steps, 10, 12)
    page = await steps.says("/payments")
    assert "Waiting for your answer (9)" in page.text
    assert references(page) == ["0010", "0011", "0000", "0001", "0002"]
    await steps.press(page, t("en", "button-next"))
    assert references(page) == ["0003", "0004", "0005", "0006"]
    assert "Waiting for your answer (9)" in page.text
    assert [button["text"] for button in page.buttons][-1] == t("en", "button-previous")


def references(page: Message) -> list[str]:
    return [line[-4:] for line in page.text.splitlines() if line.startswith("🧾 REF-")]
