"""Payments as the chat records them: each told once, and how a request then stands."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest

from bot.chat.cards.request_card import card_of, status_of
from bot.chat.model.request_spec import CodeCounts
from bot.chat.payments.recording import PaymentRecorder
from bot.chat.store import link_rows
from bot.chat.store.link_rows import STOPPED, PaymentLink
from bot.chat.store.payment_rows import (
    BY_WEBHOOK,
    FOUND_LATER,
    FREE_PLACEHOLDERS,
    UNCERTAIN,
    Payment,
    RevenueTotals,
    revenue_totals,
)
from bot.core.database.database import Transaction
from bot.core.outbox.queue_policy import ALERT
from bot.sandbox.world.people import Person
from tests.support.chat_harness import (
    COFFEE,
    DROP,
    PAINTING,
    REQUEST_ID,
    STICKERS,
    ChatHarness,
    service_answer,
)
from tests.support.databases import SQLITE, CountedTransaction


def test_the_status_of_a_link_is_one_word(chat: ChatHarness, sam: Person) -> None:
    now = chat.clock()
    stands = {
        "active": chat.add_link(sam, COFFEE, service_answer(id="1", expires_at=now + 1)),
        "expired": chat.add_link(sam, COFFEE, service_answer(id="2", expires_at=now)),
        "scheduled": chat.add_link(sam, COFFEE, service_answer(id="3", enabled_at=now + 1)),
        "stopped": chat.add_link(sam, COFFEE, service_answer(id="4"), state=STOPPED),
        "soldOut": chat.add_link(sam, STICKERS, service_answer(id="5", remaining_units=0)),
    }
    held = chat.add_link(sam, STICKERS, service_answer(id="6", remaining_units=0, reserved_units=1))
    assert status_of(held, now) == "active"
    assert {status_of(link, now) for link in stands.values()} == stands.keys()
    for word, link in stands.items():
        assert status_of(link, now) == word


def pay(number: int, request: str = "r") -> Payment:
    return Payment(request, f"t{number}", 250, "USD", {})


async def test_a_payment_has_one_record_and_one_alert(chat: ChatHarness, sam: Person) -> None:
    link = chat.add_link(sam, STICKERS, service_answer(remaining_units=3))
    assert await chat.record(link, pay(1), 2) is True
    assert await chat.record(link, pay(1), 2) is False
    assert (len(chat.rows("received_payments")), len(chat.said)) == (1, 1)
    (row,) = [row for row in chat.rows("outbox") if row["queue"] == "messages"]
    assert (row["lane"], row["priority"]) == (str(sam.id), ALERT)
    assert chat.link(link.id).paid_count == 1


async def test_an_alert_has_the_moment_at_which_its_payment_is_stored(
    chat: ChatHarness, sam: Person
) -> None:
    """Its buttons find the payment by that moment, so the clock is read once."""
    link = chat.add_link(sam, COFFEE, service_answer())
    ticks = count(chat.clock())
    recorder = PaymentRecorder(chat.queues, lambda: next(ticks))
    await chat.db.transaction(lambda tx: recorder.receive(tx, link, pay(1), None))
    (stored,) = chat.rows("received_payments")
    (row,) = [row for row in chat.rows("outbox") if row["queue"] == "messages"]
    (alert,) = chat.queues.messages.decode(row["body"]).payments
    assert alert.at == stored["received_at"]


async def test_the_same_transaction_of_two_requests_is_two_payments(
    chat: ChatHarness, sam: Person
) -> None:
    """The second is paid before the answer to its create."""
    for request, answer in (("a", service_answer(id="a")), ("b", None)):
        link = chat.add_link(sam, COFFEE, answer)
        assert await chat.record(link, pay(1, request), None) is True
    assert len(chat.said) == 2


@pytest.mark.parametrize(("told", "known"), [([2, 1], 1), ([1, 2], 1), ([None, None], 1), ([0], 0)])
async def test_the_units_left_only_go_down_in_any_order_of_webhooks(
    chat: ChatHarness, sam: Person, told: list[int | None], known: int
) -> None:
    """Without a number from the service, the recorded payments are subtracted."""
    link = chat.add_link(sam, STICKERS, service_answer(remaining_units=3))
    for number, left in enumerate(told):
        await chat.record(link, pay(number), left)
    kept = chat.link(link.id).answer
    assert kept is not None
    assert kept.remaining_units == known


@pytest.mark.parametrize("told", [[3, 2, 1], [1, 2, 3], [None, None, None]])
async def test_codes_go_with_the_units_sold_in_any_order_of_webhooks(
    chat: ChatHarness, sam: Person, told: list[int | None]
) -> None:
    """The card says who waits as soon as the alert does."""
    codes = CodeCounts(total=2, assigned=0, waiting=0)
    answer = service_answer(total_units=4, remaining_units=4, codes=codes)
    link = chat.add_link(sam, replace(DROP, units=4), answer)
    for number, left in enumerate(told):
        await chat.record(link, pay(number), left)
    kept = chat.link(link.id).answer
    assert kept is not None
    assert kept.codes == CodeCounts(total=2, assigned=2, waiting=1)


async def test_codes_of_a_donation_go_with_its_payments(chat: ChatHarness, sam: Person) -> None:
    codes = CodeCounts(total=2, assigned=0, waiting=0)
    link = chat.add_link(sam, COFFEE, service_answer(codes=codes))
    await chat.record(link, pay(1), None)
    await chat.record(link, replace(pay(2), oversold=True), None)
    kept = chat.link(link.id).answer
    assert kept is not None
    assert kept.codes == CodeCounts(total=2, assigned=1, waiting=0)


async def test_units_of_lapsed_reservations_are_available_again(
    chat: ChatHarness, sam: Person
) -> None:
    """Of three units, two are held while one is paid; they lapse, and one more is paid."""
    link = chat.add_link(sam, STICKERS, service_answer(remaining_units=3))
    for payment, left in [(replace(pay(1), reserved_units=2), 0), (pay(2), 1)]:
        await chat.record(link, payment, left)
    card = card_of(chat.link(link.id), chat.clock())
    assert (card.status, card.remaining_units, card.reserved_units) == ("active", 1, 0)


async def test_units_of_a_lapsed_reservation_are_taken_from_the_webhook(
    chat: ChatHarness, sam: Person
) -> None:
    """The sum of remaining and reserved units is the same, but a reservation lapsed."""
    link = chat.add_link(sam, STICKERS, service_answer(remaining_units=0, reserved_units=2))
    await chat.record(link, pay(1), 2)
    card = card_of(chat.link(link.id), chat.clock())
    assert (card.remaining_units, card.reserved_units) == (2, 0)


async def test_a_drop_whose_last_units_are_only_reserved_is_not_sold_out(
    chat: ChatHarness, sam: Person
) -> None:
    """Their payers may still give up."""
    link = chat.add_link(sam, STICKERS, service_answer(remaining_units=3))
    held = replace(pay(1), reserved_units=2)
    await chat.record(link, held, 0)
    (text,) = chat.texts
    assert text.splitlines()[1:3] == ["0 of 3 left", "2 payments in progress"]
    card = card_of(chat.link(link.id), chat.clock())
    assert (card.status, card.remaining_units, card.reserved_units) == ("active", 0, 2)


async def test_oversold_money_is_summed_apart(chat: ChatHarness, sam: Person) -> None:
    """Also where the payment replaces a placeholder, which counted as sold."""
    link = chat.add_link(sam, STICKERS, service_answer())
    first, second, third = (pay(number, REQUEST_ID) for number in (1, 2, 3))
    await chat.record(link, first, 2)
    await chat.record(link, replace(second, oversold=True), 0)
    await chat.record_missing(link.id, 2, 1)
    before = chat.db.run(lambda tx: revenue_totals(tx, link.id))
    assert (before.earned_count, before.refund_count) == (2, 1)
    await chat.record(link, replace(third, oversold=True), 0)
    sums = chat.db.run(lambda tx: revenue_totals(tx, link.id))
    assert sums == RevenueTotals(((250, "USD"),), 1, ((500, "USD"),), 2, units_sold=1)
    (told,) = chat.said[-1].payments
    assert (told.together, told.count) == (sums.earned, 3)
    assert (told.to_refund, told.refund_count) == (sums.to_refund, 2)


async def test_an_oversold_payment_is_announced_as_such(chat: ChatHarness, sam: Person) -> None:
    link = chat.add_link(sam, STICKERS, service_answer(remaining_units=0))
    await chat.record(link, replace(pay(1), oversold=True), 0)
    (text,) = chat.texts
    assert "OVERSOLD" in text
    assert "SOLD OUT" not in text
    (row,) = chat.rows("received_payments")
    assert row["oversold"] == 1


async def test_a_one_off_that_is_paid_is_completed(chat: ChatHarness, sam: Person) -> None:
    link = chat.add_link(sam, PAINTING, service_answer())
    assert status_of(link, chat.clock()) == "active"
    await chat.record(link, pay(1), None)
    assert status_of(chat.link(link.id), chat.clock()) == "completed"


async def test_each_alert_shows_the_units_left_after_its_own_payment(
    chat: ChatHarness, sam: Person
) -> None:
    """In any order of webhooks, exactly one alert says sold out."""
    link = chat.add_link(sam, STICKERS, service_answer(remaining_units=3))
    for number, left in enumerate([1, 0, 2]):
        await chat.record(link, pay(number), left)
    assert ["sold out" in text.lower() for text in chat.texts] == [False, True, False]


async def test_placeholders_have_alerts_as_found_later(chat: ChatHarness, sam: Person) -> None:
    link = chat.add_link(sam, STICKERS, service_answer(id="r", remaining_units=3))
    assert await chat.record_missing(link.id, 1, 2) == 0
    assert await chat.record_missing(link.id, 0, 2) == 2
    found = "🔎 Found later: I wasn't notified of this payment at the time."
    price = "💰 <b>$2.50</b> received for <b>Stickers</b>"
    total = "Total: <b>$5.00</b> from 2 payments"
    assert chat.texts == [
        f"{price}\n{found}\n2 of 3 left",
        f"{price}\n{found}\n1 of 3 left\n{total}",
    ]
    assert chat.link(link.id).paid_count == 2


async def test_the_webhook_of_a_placeholder_counts_once_as_possibly_repeated(
    chat: ChatHarness, sam: Person
) -> None:
    link = chat.add_link(sam, STICKERS, service_answer(id="r", remaining_units=3))
    await chat.record_missing(link.id, 0, 1)
    late = replace(pay(1), payer={"email": "pat@example.org"})
    assert await chat.record(link, late, None) is True
    assert await chat.record(link, late, None) is False
    assert chat.link(link.id).paid_count == 1
    assert chat.texts[1].startswith("<i>You may have seen this already.")
    assert "pat@example.org" in chat.texts[1]
    assert len(chat.texts) == 2


async def test_a_repeated_webhook_replaces_one_placeholder_only(
    chat: ChatHarness, sam: Person
) -> None:
    """Another placeholder stays."""
    link = chat.add_link(sam, STICKERS, service_answer(id="r", remaining_units=3))
    await chat.record_missing(link.id, 0, 2)
    chat.clear_messages()
    came = [await chat.record(link, pay(1), None) for _ in range(2)]
    assert (came, len(chat.texts)) == ([True, False], 1)
    assert chat.link(link.id).paid_count == 2


async def test_one_more_payment_settles_one_uncertain_payment_only(
    chat: ChatHarness, sam: Person
) -> None:
    link = chat.add_link(sam, STICKERS, service_answer(id="r", remaining_units=5))
    await chat.record_missing(link.id, 0, 2)
    for number in (1, 2):
        await chat.record(link, pay(number), None)
    chat.clear_messages()
    assert await chat.record_missing(link.id, 2, 1) == 0
    assert (chat.texts, chat.link(link.id).paid_count) == ([], 3)
    stand = sorted(row["found"] for row in chat.rows("received_payments"))
    assert stand == sorted([BY_WEBHOOK, FOUND_LATER, UNCERTAIN])


async def test_a_settled_uncertain_payment_has_no_second_alert(
    chat: ChatHarness, sam: Person
) -> None:
    """The lost webhook never comes: each later payment has one alert, marked for a day."""
    link = chat.add_link(sam, STICKERS, service_answer(id="r", remaining_units=3))
    await chat.record_missing(link.id, 0, 1)
    for number in (1, 2):
        assert await chat.record(link, pay(number), None) is True
        assert await chat.record_missing(link.id, number, 1) == 0
        assert chat.link(link.id).paid_count == number + 1
    assert [text.startswith("<i>You may have seen this already.") for text in chat.texts] == [
        False,
        True,
        True,
    ]
    chat.clock.advance(24 * 3600 + 1)
    assert await chat.record(link, pay(3), None) is True
    assert not chat.texts[3].startswith("<i>You may have seen this already.")
    assert chat.link(link.id).paid_count == 4


async def test_a_list_of_payments_replaces_placeholders_without_an_alert(
    chat: ChatHarness, sam: Person
) -> None:
    """The server lists payments from now on: they are the placeholders' payments."""
    link = chat.add_link(sam, STICKERS, service_answer(id="r", remaining_units=3))
    await chat.record_missing(link.id, 0, 1)
    assert await chat.record(link, replace(pay(1), found=True), None) is False
    assert await chat.record(link, pay(1), None) is False
    assert (len(chat.texts), chat.link(link.id).paid_count) == (1, 1)


@pytest.mark.only(SQLITE, "its query plans; PostgreSQL's are in test_query_plans.py")
def test_a_payment_reads_none_of_the_others_of_its_request(chat: ChatHarness) -> None:
    """Before it is recorded placeholders are searched for, among a million payments too."""
    names = ("request", "listing", "transaction", "since", "most")
    given = dict.fromkeys(names, "1")
    plan = chat.db.run(lambda tx: tx.query(f"EXPLAIN QUERY PLAN {FREE_PLACEHOLDERS}", **given))
    first = str(plan[0]["detail"])
    assert first.endswith("(request_id=? AND transaction_id>? AND transaction_id<?)")


# How many statements a webhook of a payment takes: all of a burst wait for one writer.


def record(
    chat: ChatHarness, link: PaymentLink, *numbers: int, units: int | None = None
) -> list[str]:
    """Record payments as the receiver does; return the statements of the last one."""

    def work(tx: Transaction, number: int) -> list[str]:
        counted = CountedTransaction(tx)
        known = link_rows.link_by_token(counted, link.token)
        assert known is not None
        payment = Payment(known.request_id or "", f"t{number}", 250, "USD", {})
        left = None if units is None else units - number
        assert chat.recorder.receive(counted, known, payment, left)
        return counted.texts

    return [chat.db.run(lambda tx: work(tx, number)) for number in numbers][-1]  # noqa: B023 - run at once


def test_a_payment_behind_others_is_nine_statements(chat: ChatHarness, sam: Person) -> None:
    """Link, placeholders, payment, revenue added and read, cards, seller, and two of the put."""
    link = chat.add_link(sam, COFFEE, service_answer(remaining_units=None))
    assert len(record(chat, link, 1, 2)) == 9


def test_the_first_payment_opens_the_lane_of_its_chat(chat: ChatHarness, sam: Person) -> None:
    link = chat.add_link(sam, COFFEE, service_answer(remaining_units=None))
    assert len(record(chat, link, 1)) == 11


def test_a_unit_sold_is_two_statements_more(chat: ChatHarness, sam: Person) -> None:
    """The units left are stored in the answer, and what time changes next is read from it."""
    link = chat.add_link(sam, STICKERS, service_answer(remaining_units=3))
    assert len(record(chat, link, 1, 2, units=3)) == 11
