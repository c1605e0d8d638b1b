"""Bursts of payments at Telegram's limits: nothing lost, no limit broken, digests where needed."""

from __future__ import annotations

import asyncio
import math
import os
import random
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

import pytest

from bot.chat.model.payloads import TextMessage
from bot.chat.store.link_rows import PaymentLink
from bot.chat.store.payment_rows import Payment
from bot.core.database.database import Database, Transaction
from bot.core.outbox import leases, outbox
from bot.core.outbox.outbox import Message
from bot.core.outbox.queue_policy import NOTICE
from bot.sandbox.world.errors import Fault
from bot.sandbox.world.model import Draft
from bot.sandbox.world.people import Person
from tests.support.chat_harness import COFFEE, ChatHarness, limited_chat, service_answer
from tests.support.sender_harness import SenderHarness
from tests.support.service_harness import Clock

SECOND = 1_000
ROOM = 8
CHATS = int(os.environ.get("STORM_CHATS", "100"))
PAYMENTS, ARRIVING = 20 * CHATS, CHATS // 10
LONGEST_HOLD = 7
"""Seconds; at the very end somebody may be the last to wait for it."""
SEED = 20261121
MARK = "You may have seen this already.\n"
TOLD = re.compile(r"💰 \$([\d,.]+) received for Coffee(?:: (\d+) payments)?")
OTHER = re.compile(r"\n⚠️ [^\n]* price (?:is|of) \$5\.00\.")
"""The word that an amount is not the price: these are told apart by their amounts."""
NUMBER = re.compile(r"\n(?:🧾 t\d+|… and \d+ more payments?: [^\n]*)")
TOTAL = re.compile(r"\nTotal: \$([\d,.]+) from (\d+) payments$")


@pytest.fixture
def chat(db: Database, clock: Clock) -> ChatHarness:
    """Build the chat at Telegram's rates, with a sandbox that enforces the limits."""
    return limited_chat(db, clock)


@dataclass
class Burst:
    """Payments that arrive while messages are sent, on a clock that moves when all are idle."""

    sending: SenderHarness
    links: dict[int, PaymentLink] = field(default_factory=dict)
    paid: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    @property
    def chat(self) -> ChatHarness:
        return self.sending.chat

    def sells(self, person: Person) -> None:
        self.links[person.id] = self.chat.add_link(
            person, COFFEE, service_answer(id=f"{person.id:024x}")
        )

    def pay(self, sellers: Sequence[int]) -> None:
        """Record a payment for each of these, of one cent more than that seller's last."""

        def work(tx: Transaction) -> None:
            for seller in sellers:
                self._record(tx, seller)

        self.chat.db.run(work)

    def _record(self, tx: Transaction, seller: int) -> None:
        amounts, link = self.paid[seller], self.links[seller]
        amounts.append(len(amounts) + 1)
        request = link.request_id or ""
        payment = Payment(request, f"t{len(amounts)}", amounts[-1], "USD", {})
        assert self.chat.recorder.record(tx, link.id, payment, None)

    async def send(self) -> None:
        """Send all that may go now, as many at once as the product does."""
        while found := await self.chat.db.transaction(self._claim):
            await asyncio.gather(*map(self.sending.sender.send, found))

    def _claim(self, tx: Transaction) -> list[Message]:
        return outbox.claim(tx, self.chat.queues.messages, self.chat.clock(), ROOM)

    async def rest(self, until: float = math.inf) -> None:
        """Send all that may go before `until` (epoch ms), each when it may."""
        clock = self.chat.clock
        await self.send()
        while (wait := self.sending.waits) is not None and clock() + wait < until:
            clock.advance(wait / SECOND)
            await self.send()

    def texts(self, seller: int) -> list[str]:
        """Return the texts sent to the seller, without the totals."""
        return [TOTAL.sub("", text) for text in self.whole(seller)]

    def whole(self, seller: int) -> list[str]:
        """Return the texts sent to the seller, without remarks on amounts and numbers."""
        said = self.chat.world.chats[seller].from_bot()
        return [NUMBER.sub("", OTHER.sub("", message.text)) for message in said]

    def check(self) -> None:
        """Check that each seller got each payment once, in order, with the total at that time."""
        for seller, amounts in self.paid.items():
            left, so_far = iter(amounts), []
            for text in self.whole(seller):
                found = TOLD.fullmatch(TOTAL.sub("", text).split(" of $")[0])
                assert found, text
                told = list(islice(left, int(found[2] or 1)))
                assert sum(told) == cents(found[1])
                so_far += told
                total = TOTAL.search(text)
                stands = (cents(total[1]), int(total[2])) if total else (amounts[0], 1)
                assert stands == (sum(so_far), len(so_far))
            assert list(left) == []


def cents(amount: str) -> int:
    return int(re.sub("[,.]", "", amount))


@pytest.fixture
def burst(sending: SenderHarness) -> Burst:
    return Burst(sending)


def check_limits(times: dict[int, list[float]], count: int, seconds: float, burst: int) -> None:
    """Check that no window of any length has more calls than its rate and burst allow."""
    for sent in times.values():
        for first, begin in enumerate(sent):
            for number, end in enumerate(sent[first:], start=1):
                allowed = burst + (end - begin) * count / seconds
                assert number <= allowed + 1e-6, (number, begin, end)
                if end - begin > 5 * seconds:
                    break


def sent_by_chat(chat: ChatHarness) -> dict[int, list[float]]:
    times: dict[int, list[float]] = defaultdict(list)
    for call in chat.world.calls_of("sendMessage"):
        times[int(call.params["chat_id"])].append(call.time)
    return times


@pytest.mark.long
async def test_alerts_of_a_storm_take_no_longer_than_the_limits_need(burst: Burst) -> None:
    """Twenty payments for each chat, while Telegram refuses one call in fifty for some seconds.

    The clock stops while something can be done, so this is the time that waiting takes.
    `STORM_CHATS=500` makes it 10,000 payments.
    """
    chat, dice = burst.chat, random.Random(SEED)
    for number in range(CHATS):
        burst.sells(chat.add_person(f"Seller {number}"))
    refusing = [
        chat.world.faults.add(
            Fault("error", "sendMessage", code=429, retry_after=wait, times=10**6, chance=0.01)
        )
        for wait in (1, LONGEST_HOLD)
    ]
    planned = sum(fault.times for fault in refusing)
    sellers = [*burst.links]
    began = chat.clock()
    for second in range(ARRIVING):
        burst.pay([dice.choice(sellers) for _ in range(PAYMENTS // ARRIVING)])
        end = began + (second + 1) * SECOND
        await burst.rest(end)
        chat.clock.advance((end - chat.clock()) / SECOND)
    await burst.rest()
    took = (chat.clock() - began) / SECOND
    burst.check()
    times = sent_by_chat(chat)
    messages = sum(map(len, times.values()))
    refused = planned - sum(fault.times for fault in refusing)
    assert Counter(call.code for call in chat.world.refused) == {429: refused}
    assert refused > messages // 100
    check_limits(times, 1, 1.0, 4)
    check_limits({0: sorted(time for sent in times.values() for time in sent)}, 29, 1.0, 2)
    digests = [text for seller in sellers for text in burst.texts(seller) if "payments" in text]
    print(f"{PAYMENTS} payments, {messages} messages, {len(digests)} digests, {took:.1f} s")  # noqa: T201
    assert len(digests) > CHATS / 2
    holds: Counter[int] = Counter()  # by chat: which calls are refused depends on who comes first
    for call in chat.world.refused:
        holds[int(call.params["chat_id"])] += int(call.reason.rpartition(" ")[2])
    assert took <= max(ARRIVING, messages / 30 * 1.1) + max(holds.values())


async def test_a_few_payments_at_once_get_an_alert_each(burst: Burst) -> None:
    burst.sells(sam := burst.chat.add_person("Sam"))
    burst.pay([sam.id] * 4)
    await burst.rest()
    assert burst.texts(sam.id) == [f"💰 $0.0{number} received for Coffee" for number in range(1, 5)]


async def test_payments_beyond_a_chats_limit_are_joined_to_a_digest(burst: Burst) -> None:
    burst.sells(sam := burst.chat.add_person("Sam"))
    burst.pay([sam.id] * 10)
    began = burst.chat.clock()
    await burst.rest()
    assert burst.texts(sam.id)[3:] == ["💰 $0.49 received for Coffee: 7 payments"]
    assert burst.chat.clock() - began < SECOND
    burst.check()


async def digest_in_doubt(burst: Burst) -> Person:
    """Send a seller three alerts, and three more payments in a digest whose answer is lost."""
    burst.sells(sam := burst.chat.add_person("Sam"))
    burst.pay([sam.id] * 3)
    await burst.rest()
    burst.sending.fault("cut", method="sendMessage")
    burst.pay([sam.id] * 3)
    await burst.rest(burst.chat.clock() + SECOND)
    return sam


async def test_a_digest_whose_answer_was_lost_repeats_the_same_payments_with_a_mark(
    burst: Burst,
) -> None:
    sam = await digest_in_doubt(burst)
    burst.pay([sam.id] * 4)
    await burst.rest()
    lost = "💰 $0.15 received for Coffee: 3 payments"
    rest = "💰 $0.34 received for Coffee: 4 payments"
    assert burst.texts(sam.id)[3:] == [lost, f"{MARK}{lost}", rest]


async def test_a_refused_digest_is_split_into_alerts(burst: Burst) -> None:
    """So that one bad payment costs no other one its alert."""
    chat = burst.chat
    burst.sells(sam := chat.add_person("Sam"))
    burst.pay([sam.id] * 3)
    await burst.rest()
    burst.sending.fault("error", method="sendMessage", code=400, description="Bad Request: no")
    burst.pay([sam.id] * 3)
    await burst.rest()
    burst.pay([sam.id] * 2)
    await burst.rest()
    told = [f"💰 $0.0{number} received for Coffee" for number in (4, 5, 6)]
    assert burst.texts(sam.id)[3:6] == told
    burst.check()
    assert chat.states(chat.queues.messages) == []


async def test_an_uncertain_digest_that_is_refused_makes_each_part_uncertain(
    burst: Burst,
) -> None:
    """The lost answer may have belonged to a delivered message."""
    sam = await digest_in_doubt(burst)
    burst.sending.fault("error", method="sendMessage", code=400, description="Bad Request: no")
    await burst.rest()
    parts = [f"{MARK}💰 $0.0{number} received for Coffee" for number in (4, 5, 6)]
    lost = "💰 $0.15 received for Coffee: 3 payments"
    assert burst.texts(sam.id)[3:] == [lost, *parts]


async def test_a_restart_allows_no_new_burst(burst: Burst) -> None:
    chat = burst.chat
    burst.sells(sam := chat.add_person("Sam"))
    burst.pay([sam.id] * 4)
    await burst.rest(chat.clock() + SECOND)
    chat.db.run(lambda tx: leases.recover(tx, chat.queues.messages, chat.clock()))
    burst.pay([sam.id] * 4)
    await burst.rest()
    assert burst.texts(sam.id)[4:] == ["💰 $0.26 received for Coffee: 4 payments"]
    assert chat.world.refused == []


async def test_a_message_posted_inline_has_a_lane_of_its_own(
    sending: SenderHarness,
) -> None:
    """At the pace of a group, because it may be in one."""
    chat = sending.chat
    sam, pat = chat.add_person("Sam"), chat.add_person("Pat")
    shown = chat.world.post(
        sam.chat, pat.user, Draft({"text": "before"}, None), via_bot=chat.world.bot
    )
    inline_id = chat.world.remember_inline(shown)
    lane = f"inline:{inline_id}"
    body = TextMessage("after", "en", message_id=0)
    queue, now = chat.queues.messages, chat.clock()
    chat.db.run(lambda tx: outbox.put(tx, queue, lane, body, now, priority=NOTICE))
    await sending.work()
    assert shown.text == "after"
    assert queue.lane_pace(lane) == queue.lane_pace("-7")
