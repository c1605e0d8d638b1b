"""A goal that a payment reaches: its alert says so, once for each goal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from bot.chat.cards.alert_text import alert_reply, join_alerts
from bot.chat.model.payloads import MESSAGES, Alert, AlertPayment
from bot.chat.model.payment import PAID_BACK
from bot.chat.model.remote_request import read_payment
from bot.chat.payments.recording import payment_of
from bot.chat.store import link_rows, payment_marks
from bot.chat.store.link_rows import PaymentLink
from bot.chat.store.payment_marks import FoundPayment, find_payments
from bot.chat.store.payment_rows import Payment
from bot.core.database.database import Transaction
from bot.interface.parts import AmountChoice
from bot.sandbox.world.people import Person
from tests.support.chat_harness import COFFEE, REQUEST_ID, ChatHarness, service_answer
from tests.support.claim_steps import CLAIMED, CONFIRMED
from tests.support.databases import POSTGRESQL
from tests.support.overlapping import overlap
from tests.support.service_harness import client as http_client
from tests.support.telegram_limits import check
from tests.support.webhook_sender import SECRET, WebhookSender, serve

GOAL = 100_000
NEWS = "🎉 Goal reached: "
REACHED = AlertPayment("abcdefghij", "donation", "Drums", 5_300, "EUR", reached=(100_300, GOAL))


class Fund:
    """A donation with a goal, whose payments come a second apart."""

    def __init__(self, chat: ChatHarness, link: PaymentLink) -> None:
        self.chat = chat
        self.link = link
        self.seller = link.seller_id

    async def pay(self, number: str, amount: int, **fields: Any) -> tuple[int, int] | None:
        """Record a payment; return the sum and the goal if its alert says that it is reached."""
        self.chat.clock.advance(1)
        paid = Payment(REQUEST_ID, number * 24, amount, "EUR", {})
        before = len(self.chat.said)
        await self.chat.record(self.chat.link(self.link.id), replace(paid, **fields), None)
        (alert,) = self.chat.said[before:] or (None,)
        return alert and alert.payments[0].reached

    def aim(self, goal: int | None) -> None:
        """Change the goal."""
        spec = replace(self.chat.link(self.link.id).spec, goal=goal)
        self.chat.db.run(lambda tx: link_rows.set_spec(tx, self.link.id, spec))

    def pay_back(self, number: str) -> None:
        self._mark(number, lambda tx, it: payment_marks.set_mark(tx, it, PAID_BACK, self._now()))

    def take_again(self, number: str) -> None:
        """Undo that a payment was paid back."""
        self._mark(number, lambda tx, it: payment_marks.clear_mark(tx, it, PAID_BACK))

    def _mark(self, number: str, work: Callable[[Transaction, FoundPayment], bool]) -> None:
        self.chat.clock.advance(1)

        def mark(tx: Transaction) -> bool:
            (found,) = find_payments(tx, self.seller, number * 24, 2)
            return work(tx, found)

        assert self.chat.db.run(mark)

    def _now(self) -> int:
        return self.chat.clock()


@pytest.fixture
def fund(chat: ChatHarness, sam: Person) -> Fund:
    choice: AmountChoice[int] = AmountChoice(1, (500,))
    spec = replace(COFFEE, name="Drums", currency="EUR", choice=choice, goal=GOAL)
    return Fund(chat, chat.add_link(sam, spec, service_answer()))


async def test_the_payment_that_brings_the_sum_to_the_goal_says_so(fund: Fund) -> None:
    assert await fund.pay("a", 95_000) is None
    assert await fund.pay("b", 5_300) == (100_300, GOAL)
    assert await fund.pay("c", 500) is None
    lines = check(alert_reply(fund.chat.said[1].payments, "en")).splitlines()
    assert lines == [
        "💰 €53.00 received for Drums",
        f"{NEWS}€1,003 of €1,000",
        "🧾 " + "b" * 24,
        "Total: €1,003.00 from 2 payments",
    ]


@pytest.mark.parametrize("amount", [GOAL - 1, GOAL, 3 * GOAL])
async def test_a_goal_is_reached_at_its_last_cent_also_by_one_payment(
    fund: Fund, amount: int
) -> None:
    assert await fund.pay("a", amount) == ((amount, GOAL) if amount >= GOAL else None)


async def test_money_that_counts_for_no_goal_reaches_none(fund: Fund) -> None:
    """Oversold and underpaid money, and that of another currency."""
    assert await fund.pay("a", GOAL, oversold=True) is None
    assert await fund.pay("b", GOAL, underpaid=True) is None
    assert await fund.pay("c", GOAL, currency="USD") is None
    assert await fund.pay("d", GOAL - 1) is None
    assert await fund.pay("b", GOAL) == (2 * GOAL - 1, GOAL)


async def test_a_request_without_a_goal_reaches_none(fund: Fund) -> None:
    fund.aim(None)
    assert await fund.pay("a", GOAL) is None


async def test_money_paid_back_before_does_not_count(fund: Fund) -> None:
    """Nor was the sum ever as high by money that counts for no goal."""
    assert await fund.pay("d", GOAL, oversold=True) is None
    assert await fund.pay("e", GOAL, underpaid=True) is None
    assert await fund.pay("f", GOAL, currency="USD") is None
    assert await fund.pay("a", 60_000) is None
    fund.pay_back("a")
    assert await fund.pay("b", 60_000) is None
    assert await fund.pay("c", 40_000) == (GOAL, GOAL)


async def test_a_goal_that_was_reached_is_no_news_after_a_refund(fund: Fund) -> None:
    assert await fund.pay("a", 60_000) is None
    assert await fund.pay("b", 50_000) == (110_000, GOAL)
    fund.pay_back("a")
    assert await fund.pay("c", 45_000) is None
    assert await fund.pay("d", 45_000) is None
    fund.pay_back("d")
    fund.take_again("a")
    fund.pay_back("b")
    fund.pay_back("c")
    assert await fund.pay("e", 40_000) is None


async def test_a_mark_that_is_undone_reaches_no_goal_again(fund: Fund) -> None:
    assert await fund.pay("a", GOAL) == (GOAL, GOAL)
    fund.pay_back("a")
    fund.take_again("a")
    assert await fund.pay("b", 100) is None


async def test_a_higher_goal_is_reached_again_and_a_lower_one_is_not(fund: Fund) -> None:
    assert await fund.pay("a", GOAL) == (GOAL, GOAL)
    fund.aim(2 * GOAL)
    assert await fund.pay("b", GOAL - 1) is None
    assert await fund.pay("c", 1) == (2 * GOAL, 2 * GOAL)
    fund.aim(GOAL)
    assert await fund.pay("d", 1) is None
    fund.pay_back("a")
    fund.pay_back("b")
    assert await fund.pay("e", GOAL) is None


async def test_a_repeated_webhook_is_no_second_news(fund: Fund) -> None:
    assert await fund.pay("a", GOAL) == (GOAL, GOAL)
    assert await fund.pay("a", GOAL) is None
    assert len(fund.chat.said) == 1


async def test_no_news_without_alerts_and_none_of_it_later(fund: Fund) -> None:
    fund.chat.db.run(lambda tx: link_rows.set_alerts(tx, fund.link.id, "off"))
    assert await fund.pay("a", GOAL) is None
    assert fund.chat.said == []
    fund.chat.db.run(lambda tx: link_rows.set_alerts(tx, fund.link.id, "on"))
    fund.pay_back("a")
    assert await fund.pay("b", GOAL) is None


async def test_a_payment_found_later_reaches_the_goal_too(fund: Fund) -> None:
    listed = {"transactionId": "t1", "amount": 1000, "currencyCode": "EUR"}
    paid = payment_of(read_payment(listed), REQUEST_ID, fund.link)
    await fund.chat.record(fund.link, replace(paid, found=True), None)
    assert f"{NEWS}€1,000 of €1,000" in check(alert_reply(fund.chat.said[0].payments, "en"))


async def test_a_claim_reaches_the_goal_once_its_money_is_confirmed(fund: Fund) -> None:
    money = {"amount": 1000, "currencyCode": "EUR"}
    async with http_client(serve(fund.chat, SECRET)) as http:
        service = WebhookSender(fund.chat, http, fund.link)
        assert await service.send_signed(CLAIMED | money) == 200
        paid = CONFIRMED | money | {"paidBy": CONFIRMED["paidBy"] | money}
        assert await service.send_signed(paid) == 200
    claimed, alert = fund.chat.said
    assert not isinstance(claimed, Alert)
    assert alert.payments[0].reached == (GOAL, GOAL)


@pytest.mark.only(POSTGRESQL, "SQLite has one writer")
async def test_of_two_payments_at_once_the_second_sees_the_sum_of_both(fund: Fund) -> None:
    """So one of them says that the goal is reached, and neither twice."""

    def record(number: str) -> Callable[[Transaction], bool]:
        paid = Payment(REQUEST_ID, number * 24, 60_000, "EUR", {})
        chat = fund.chat
        return lambda tx: chat.recorder.record(tx, fund.link.id, paid, None)

    both = await asyncio.wait_for(overlap(fund.chat.db, record("a"), record("b")), 30)
    assert (both.first, both.second) == (True, True)
    assert [one.payments[0].reached for one in fund.chat.said] == [None, (120_000, GOAL)]


@pytest.mark.parametrize(
    ("language", "line"),
    [("en", f"{NEWS}€1,003 of €1,000"), ("de", "🎉 Spendenziel erreicht: 1.003 € von 1.000 €")],
)
def test_a_digest_says_so_once(language: str, line: str) -> None:
    """Also after it was stored in the queue, where sums are too large for a column too."""
    few, huge = replace(REACHED, reached=None, count=1), replace(REACHED, reached=(10**20, 1))
    bodies = [Alert((one,), language) for one in (few, replace(REACHED, count=2), few)]
    count, digest = join_alerts(bodies) or (0, bodies[0])
    assert count == 3
    for alert in (digest, Alert((huge,), language)):
        assert MESSAGES.decode(MESSAGES.encode(alert)) == alert
    text = check(alert_reply(digest.payments, language)).replace("\xa0", " ")
    assert text.count("🎉") == 1
    assert text.splitlines()[1] == line


def test_two_goals_in_one_digest_are_two_lines() -> None:
    text = check(alert_reply([REACHED, replace(REACHED, reached=(200_000, 150_000))], "en"))
    assert [one for one in text.splitlines() if "🎉" in one] == [
        f"{NEWS}€1,003 of €1,000",
        f"{NEWS}€2,000 of €1,500",
    ]
