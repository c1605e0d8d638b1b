"""Payments as messages: an alert for one, a digest for several at once."""

from __future__ import annotations

import html
from dataclasses import replace

import pytest

from bot.chat.cards.alert_text import (
    MAX_NUMBERS,
    MAX_PAYMENTS,
    alert_message,
    alert_reply,
    join_alerts,
    split_digest,
)
from bot.chat.cards.card_text import mark_possibly_repeated
from bot.chat.model.payloads import MESSAGES, Alert, AlertPayment, MessagePayload, TextMessage
from bot.chat.model.replies import TEXT_LIMIT, shown_units
from bot.core.text.translations import languages
from bot.interface.parts import PayerWords
from tests.support.telegram_limits import actions, active_parts, check, labels, parsed

LINK, OTHER = "abcdefghij", "zyxwvutsrq"
MARK = "You may have seen this already."
COFFEE = AlertPayment(LINK, "donation", "Coffee", 500, "USD")
PACK = AlertPayment(OTHER, "drop", "Pack", 250, "USD", {}, 7, 10)
OVERSOLD = "⚠️ OVERSOLD: this payment arrived when you didn't have enough left. Please refund it."
ALERTS = [
    (AlertPayment(LINK, "donation", "Coffee", 500, "USD"), "💰 $5.00 received for Coffee"),
    (
        AlertPayment(LINK, "drop", "Pack", 250, "USD", {}, 7, 10),
        "💰 $2.50 received for Pack\n7 of 10 left",
    ),
    (
        AlertPayment(LINK, "drop", "Pack", 250, "USD", {}, 7),
        "💰 $2.50 received for Pack\n7 left",
    ),
    (
        AlertPayment(LINK, "drop", "Pack", 250, "USD", {}, 0, 10),
        "💰 $2.50 received for Pack\n🏁 SOLD OUT: that was the last one.",
    ),
    (AlertPayment(LINK, "drop", "Pack", 250, "USD"), "💰 $2.50 received for Pack"),
    (
        AlertPayment(LINK, "oneoff", "Dawn", 12000, "EUR"),
        "💰 €120.00 received for Dawn\n✅ Paid and closed",
    ),
    (
        AlertPayment(LINK, "drop", "Pack", 250, "USD", {}, 0, 10, 2),
        "💰 $2.50 received for Pack\n0 of 10 left\n2 payments in progress",
    ),
    (
        AlertPayment(LINK, "drop", "Pack", 250, "USD", {}, 0, 10, oversold=True),
        f"💰 $2.50 received for Pack\n{OVERSOLD}",
    ),
    (
        AlertPayment(
            LINK,
            "donation",
            "<i>",
            500,
            "USD",
            {"size": ["M", None], "phoneNumber": 49, "email": "<a>@b.c", "paymail": "", "x": None},
        ),
        "💰 $5.00 received for <i>\nEmail: <a>@b.c\nPhone: 49\nsize: ['M', None]",
    ),
]


SHORT = replace(COFFEE, amount=400, price=(500, "USD"))
NONE = replace(COFFEE, amount=0, named="-5 <USD>", price=(500, "USD"))
ODD = replace(COFFEE, named="5.005 USD")
AMOUNTS = [
    ([SHORT], "says $4.00 was paid, but the price is $5.00."),
    ([NONE], "says -5 <USD> was paid, but the price is $5.00."),
    ([ODD], "reported an amount that can't be right: 5.005 USD. I've shown the price instead"),
    (
        [COFFEE, SHORT, NONE],
        "2 of these payments didn't match the price of $5.00.",
    ),
    (
        [COFFEE, ODD],
        "For 1 of these payments, the payment service reported",
    ),
]


@pytest.mark.parametrize(("payments", "line"), AMOUNTS)
def test_an_amount_that_is_not_the_price_is_shown_with_the_price(
    payments: list[AlertPayment], line: str
) -> None:
    """Also after it was stored in the queue."""
    read = [payment for one in bodies(*payments) for payment in one.payments]
    assert read == payments
    assert line in check(alert_reply(read, "en")).split("⚠️")[1]


@pytest.mark.parametrize(("payment", "expected"), ALERTS)
def test_an_alert_shows_amount_payer_and_units_left(payment: AlertPayment, expected: str) -> None:
    reply = alert_reply([payment], "en")
    assert expected == check(reply)
    assert actions(reply.rows) == [("card", LINK)]


def test_a_possibly_repeated_alert_begins_with_a_mark() -> None:
    text = alert_reply([COFFEE], "en").text
    marked = parsed(mark_possibly_repeated(text, "en")).text
    assert marked == f"{MARK}\n💰 $5.00 received for Coffee"
    assert mark_possibly_repeated("x" * 4090, "en") == "x" * 4090
    known = alert_reply([replace(COFFEE, repeated=True)], "en")
    assert check(known) == marked


def test_a_marked_text_is_not_marked_again() -> None:
    known = alert_reply([replace(COFFEE, repeated=True)], "en").text
    assert mark_possibly_repeated(known, "en") == known


def test_a_payment_that_the_reconciler_found_is_marked_so() -> None:
    found = check(alert_reply([replace(PACK, found=True)], "en"))
    assert found == (
        "💰 $2.50 received for Pack\n"
        "🔎 Found later: I wasn't notified of this payment at the time.\n7 of 10 left"
    )


def test_a_digest_shows_payments_and_units_left_by_request() -> None:
    payments = [PACK, COFFEE, replace(PACK, remaining_units=5), COFFEE, COFFEE]
    reply = alert_reply(payments, "en")
    assert check(reply) == (
        "5 payments\n"
        "💰 $5.00 received for Pack: 2 payments of $2.50\n5 of 10 left\n"
        "💰 $15.00 received for Coffee: 3 payments of $5.00"
    )
    assert actions(reply.rows) == [("card", OTHER), ("card", LINK)]
    assert labels(reply.rows) == ["Pack", "Coffee"]


def test_a_digest_of_one_request_needs_no_headline() -> None:
    reply = alert_reply([COFFEE, replace(COFFEE, amount=700)], "en")
    assert check(reply) == "💰 $12.00 received for Coffee: 2 payments"
    assert labels(reply.rows) == ["Show payment link"]


def test_a_digest_never_adds_two_currencies() -> None:
    reply = alert_reply([COFFEE, replace(COFFEE, currency="EUR"), COFFEE], "en")
    assert check(reply) == (
        "3 payments\n"
        "💰 $10.00 received for Coffee: 2 payments of $5.00\n💰 €5.00 received for Coffee"
    )
    assert actions(reply.rows) == [("card", LINK)]


def test_an_alert_ends_with_the_total_of_its_request() -> None:
    """As of that payment; the first payment has no total."""
    first = replace(PACK, together=((250, "USD"),), count=1)
    tenth = replace(PACK, together=((2500, "USD"),), count=10)
    assert check(alert_reply([first], "en")) == "💰 $2.50 received for Pack\n7 of 10 left"
    assert check(alert_reply([tenth], "en")) == (
        "💰 $2.50 received for Pack\n7 of 10 left\nTotal: $25.00 from 10 payments"
    )


def test_an_alert_shows_the_transaction_number_so_that_a_tap_copies_it() -> None:
    paid = replace(PACK, transaction_id="4f<b>", payer={"email": "ann@a.b"})
    reply = alert_reply([paid], "en")
    assert check(reply).splitlines()[-3:] == [
        "Email: ann@a.b",
        "7 of 10 left",
        "🧾 4f<b>",
    ]
    assert "<code>4f&lt;b&gt;</code>" in reply.text


def test_a_digest_shows_its_first_transaction_numbers_and_counts_the_others() -> None:
    """Beside their payers; a payment without a known number is not counted."""
    ann = replace(PACK, transaction_id="t0", payer={"email": "ann@a.b"})
    paid = [ann, *(replace(COFFEE, transaction_id=f"t{n}") for n in range(1, MAX_NUMBERS + 2))]
    lines = check(alert_reply([*paid, COFFEE], "en")).splitlines()
    shown = [line.rpartition("🧾 ")[2] for line in lines if "🧾" in line]
    assert shown == [f"t{number}" for number in range(MAX_NUMBERS)]
    assert lines[-1] == "… and 2 more payments: their numbers are under More → Payments."
    two = check(alert_reply([ann, replace(ann, transaction_id="t1")], "en")).splitlines()
    assert two[1:3] == [
        "Email: ann@a.b · 🧾 t0",
        "Email: ann@a.b · 🧾 t1",
    ]


def test_the_total_of_an_alert_leaves_oversold_payments_out() -> None:
    """They are shown apart, as money to refund; without any earned money there is no total."""
    owed = replace(PACK, count=10, to_refund=((250, "USD"),), refund_count=1)
    mixed = replace(owed, together=((2250, "USD"),))
    lines = check(alert_reply([mixed], "en")).splitlines()
    assert lines[-2:] == [
        "Total: $22.50 from 9 payments",
        "⚠️ To refund: $2.50 (1 payment)",
    ]
    nothing = replace(PACK, count=2, to_refund=((500, "USD"),), refund_count=2)
    lines = check(alert_reply([nothing], "en")).splitlines()
    assert lines[-1] == "⚠️ To refund: $5.00 (2 payments)"
    assert not [line for line in lines if "Total" in line]


def test_a_total_never_adds_two_currencies() -> None:
    paid = replace(COFFEE, together=((1000, "USD"), (700, "EUR")), count=3)
    last = check(alert_reply([paid], "en")).splitlines()[-1]
    assert last == "Total: $10.00 + €7.00 from 3 payments"


def test_a_digest_shows_the_total_of_each_request_once() -> None:
    """In any order of arrival, also for a request paid in two currencies."""
    coffee = [replace(COFFEE, together=((500 * count, "USD"),), count=count) for count in (4, 6, 5)]
    euro = replace(COFFEE, currency="EUR", together=((3000, "USD"), (500, "EUR")), count=7)
    pack = replace(PACK, together=((500, "USD"),), count=2)
    assert check(alert_reply([*coffee, pack, euro], "en")) == (
        "5 payments\n"
        "💰 $15.00 received for Coffee: 3 payments of $5.00\n"
        "💰 $2.50 received for Pack\n7 of 10 left\nTotal: $5.00 from 2 payments\n"
        "💰 €5.00 received for Coffee\nTotal: $30.00 + €5.00 from 7 payments"
    )


def test_a_digest_names_every_payer_and_each_remark() -> None:
    ann = replace(PACK, payer={"email": "ann@a.b", "paymail": "ann"})
    bob = replace(PACK, payer={"email": "bob@a.b"}, oversold=True, remaining_units=0)
    assert check(alert_reply([ann, bob, replace(PACK, found=True)], "en")) == (
        "💰 $7.50 received for Pack: 3 payments of $2.50\n"
        "Paymail: ann · Email: ann@a.b\nEmail: bob@a.b\n"
        "🔎 Found later: I wasn't notified of 1 of these payments at the time.\n"
        "⚠️ OVERSOLD: 1 of these payments arrived when you didn't have enough left."
        " Please refund it.\n"
        "🏁 SOLD OUT: that was the last one."
    )


def test_a_digest_shows_the_lowest_number_of_units_left() -> None:
    """Reserved units may return: an older payment can have fewer remaining units."""
    older = replace(PACK, remaining_units=1, reserved_units=3)
    newer = replace(PACK, remaining_units=2, reserved_units=0)
    expected = "💰 $5.00 received for Pack: 2 payments of $2.50\n2 of 10 left"
    for payments in ([older, newer], [newer, older]):
        assert check(alert_reply(payments, "en")) == expected


def bodies(*payments: AlertPayment) -> list[Alert]:
    """Return the payloads of these payments, encoded and decoded as by the outbox."""
    return [MESSAGES.decode(MESSAGES.encode(Alert((payment,), "en"))) for payment in payments]


def test_a_digest_keeps_its_payments_in_order() -> None:
    total = ((750, "USD"), (500, "EUR"))
    payments = [PACK, COFFEE, replace(PACK, payer={"email": "ann@a.b"}, together=total, count=3)]
    gathered = join_alerts(bodies(*payments))
    assert gathered is not None
    count, made = gathered
    assert (count, made.payments) == (3, tuple(payments))
    again = join_alerts([made, *bodies(COFFEE)])
    assert again is not None
    assert again[1].payments == (*payments, COFFEE)


def test_a_single_alert_and_other_messages_are_not_joined() -> None:
    words = TextMessage("Hello", "en")
    (repeated,) = bodies(replace(COFFEE, repeated=True))
    alone: list[list[MessagePayload]]
    alone = [[words, *bodies(COFFEE)], [*bodies(COFFEE), words], [*bodies(COFFEE)]]
    for found in alone:
        assert join_alerts(found) is None
    assert join_alerts([repeated, *bodies(COFFEE)]) is None
    assert join_alerts([*bodies(COFFEE, COFFEE), repeated, *bodies(COFFEE)]) == (
        2,
        Alert((COFFEE, COFFEE), "en"),
    )


@pytest.mark.parametrize(
    ("silent", "expected"), [((True, True), True), ((True, False), False), ((False, True), False)]
)
def test_a_digest_is_silent_only_if_all_its_alerts_are(
    silent: tuple[bool, bool], *, expected: bool
) -> None:
    gathered = join_alerts([Alert((COFFEE,), "en", is_silent=one) for one in silent])
    assert gathered is not None
    assert alert_message(gathered[1]).is_silent is expected
    assert alert_message(Alert((COFFEE,), "en", is_silent=silent[0])).is_silent is silent[0]


def test_a_digest_is_split_into_alerts_that_stay_alone() -> None:
    gathered = join_alerts(bodies(PACK, COFFEE))
    assert gathered is not None
    single = split_digest(gathered[1])
    assert [one.payments for one in single] == [(PACK,), (COFFEE,)]
    assert join_alerts(single) is None
    assert split_digest(single[0]) == []


@pytest.mark.parametrize("size", [1, 50, 2000])
def test_a_digest_fits_into_telegrams_limit(size: int) -> None:
    """With room for the mark of a repetition; further payments are in the next message."""
    payer = {"email": "x" * size, "phoneNumber": "&" * size}
    gathered = join_alerts(bodies(*[replace(PACK, payer=payer)] * (MAX_PAYMENTS + 50)))
    assert gathered is not None
    count, made = gathered
    payments = made.payments
    assert 1 < count == len(payments) <= MAX_PAYMENTS
    text = alert_reply(payments, "en").text
    assert mark_possibly_repeated(text, "en") != text
    parsed(mark_possibly_repeated(text, "en"))


def test_a_digest_has_a_limited_number_of_payments() -> None:
    """Payments of a digest count too."""
    assert size_of(bodies(*[COFFEE] * (MAX_PAYMENTS + 1))) == (MAX_PAYMENTS, MAX_PAYMENTS)
    two = join_alerts(bodies(COFFEE, COFFEE))
    assert two is not None
    assert size_of([two[1], *bodies(*[COFFEE] * (MAX_PAYMENTS - 2))]) == (
        MAX_PAYMENTS - 1,
        MAX_PAYMENTS,
    )
    assert size_of([two[1], *bodies(*[COFFEE] * (MAX_PAYMENTS - 1))]) == (
        MAX_PAYMENTS // 2,
        MAX_PAYMENTS // 2 + 1,
    )


def size_of(found: list[Alert]) -> tuple[int, int]:
    """Return the number of messages joined and of their payments."""
    gathered = join_alerts(found)
    assert gathered is not None
    return gathered[0], len(gathered[1].payments)


def test_a_digest_keeps_room_for_the_mark_of_a_repetition() -> None:
    """To the last unit: with one more it has fewer payments."""

    def payments(last: int) -> list[AlertPayment]:
        sizes = [200] * 19 + [last]
        return [replace(COFFEE, payer={"email": "x" * size}) for size in sizes]

    room = TEXT_LIMIT - shown_units(mark_possibly_repeated("", "en"))
    full = 1 + room - shown_units(alert_reply(payments(1), "en").text)
    text = alert_reply(payments(full), "en").text
    assert shown_units(mark_possibly_repeated(text, "en")) == TEXT_LIMIT
    assert size_of(bodies(*payments(full))) == (20, 20)
    assert size_of(bodies(*payments(full + 1))) == (10, 10)


# Alerts with what payers wrote keep to Telegram's limits, and nothing in them can be tapped.


PAID = AlertPayment("abcdefghij", "drop", "Stickers", 250, "USD", {}, 7, 10, at=1)
WORDS = [
    PayerWords("😀" * 80, "🥁" * 280),
    PayerWords("<b>&" * 20, "a.de" * 70),
    PayerWords("Z\u0301\u0301\u0301\u0301\u0301\u0301" * 11, "\n".join("@x/y" for _ in range(56))),
    PayerWords(None, "\u202eevil.example"),
    PayerWords("@evil_bot", None),
]


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize("words", WORDS)
def test_one_alert_and_a_digest_fit_into_a_message(words: PayerWords, language: str) -> None:
    paid = replace(PAID, words=words, transaction_id="t1")
    for payments in ((paid,), (paid, replace(paid, transaction_id="t2", underpaid=True))):
        text = check(alert_reply(payments, language))
        assert active_parts(html.unescape(text)) == {}


@pytest.mark.parametrize(
    ("number", "more"), [(10, ""), (13, "💬 3 more messages are in /payments.")]
)
def test_a_digest_shows_no_words_that_it_has_no_button_to_hide(number: int, more: str) -> None:
    said = PayerWords("Mia", "for the drums")
    payments = [replace(PAID, words=said, transaction_id=f"t{n}") for n in range(number)]
    reply = alert_reply(payments, "en")
    check(reply)
    hides = [label for label in labels(reply.rows) if label.startswith("🙈")]
    assert reply.text.count("for the drums") == len(hides) == 10
    assert reply.text.endswith(more)


@pytest.mark.parametrize("words", WORDS)
def test_a_digest_takes_as_many_as_fit(words: PayerWords) -> None:
    many = [Alert((replace(PAID, words=words, transaction_id=f"t{n}"),), "en") for n in range(99)]
    joined = join_alerts(many)
    assert joined is not None
    count, digest = joined
    assert 1 < count <= MAX_PAYMENTS
    check(alert_reply(digest.payments, "en"))
