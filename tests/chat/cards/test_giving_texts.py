"""What payers choose, give and get, on cards: the amount, the goal's bar, units and goods."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from bot.chat.cards.card_text import (
    inline_article,
    list_label,
    public_card,
    seller_card,
    visitor_card,
)
from bot.chat.cards.request_card import Card, goal_bar
from bot.chat.cards.views import view_of
from bot.chat.model.payment import PAID_BACK
from bot.chat.store import payment_marks
from bot.chat.store.link_rows import PaymentLink
from bot.chat.store.payment_marks import payments_of_seller
from bot.chat.store.payment_rows import Payment
from bot.chat.store.post_rows import OWN, SHARED
from bot.interface.parts import AmountChoice
from tests.support.chat_harness import COFFEE, REQUEST_ID, ChatHarness, service_answer
from tests.support.telegram_limits import check

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


URL = "https://pay.example.org/pay/1"
DRUMS = Card("abcdefghij", "donation", "Drums", None, 500, "EUR", None, None, 3, "active", URL)
CHOICE = AmountChoice(300, (500, 1000, 2000))


@pytest.mark.parametrize(
    ("share", "bar"),
    [
        (0, "▱▱▱▱▱▱▱▱▱▱"),
        (9, "▱▱▱▱▱▱▱▱▱▱"),
        (42, "▰▰▰▰▱▱▱▱▱▱"),
        (99, "▰▰▰▰▰▰▰▰▰▱"),
        (100, "▰▰▰▰▰▰▰▰▰▰"),
        (104, "▰▰▰▰▰▰▰▰▰▰"),
    ],
)
def test_a_bar_is_full_at_the_goal_and_not_before(share: int, bar: str) -> None:
    assert goal_bar(share) == bar


@pytest.mark.parametrize(
    ("language", "raised", "line"),
    [
        ("en", 42_000, "€420 of €1,000 · 42%"),
        ("en", 99_999, "€999.99 of €1,000 · 99%"),
        ("de", 104_000, "1.040 € von 1.000 € · 104 %"),
    ],
)
def test_a_goal_is_shown_to_everybody_also_beyond_it(language: str, raised: int, line: str) -> None:
    card = replace(DRUMS, goal=100_000, raised=raised)
    for render in (seller_card, public_card, visitor_card):
        lines = [each.replace("\u00a0", " ") for each in check(render(card, language)).splitlines()]
        bar = lines[lines.index(line) - 1]
        assert (len(bar), bar.count("▰")) == (10, min(10, raised // 10_000))
    assert line in inline_article(card, language).description.replace("\u00a0", " ")


def test_a_choice_of_amounts_takes_the_place_of_the_price() -> None:
    card = replace(DRUMS, choice=replace(CHOICE, maximum=50_000))
    shown = public_card(card, "en")
    assert check(shown).splitlines()[1:4] == [
        "Donation · From €3",
        "Suggested: €5 · €10 · €20",
        "Up to €500",
    ]
    assert [button.label for row in shown.rows for button in row] == ["Choose amount"]
    assert list_label(card, "en") == "🟢 Drums · From €3"


def test_a_minimum_alone_and_another_currency() -> None:
    card = replace(DRUMS, currency="JPY", choice=AmountChoice(500))
    assert "Spende · Ab 500 ¥" in check(public_card(card, "de")).replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("delivers", "line"),
    [
        ("text", "🎁 Comes with a message after you pay"),
        ("file", "🎁 Comes with a file to download"),
        ("codes", "🎁 Comes with your own code"),
    ],
)
def test_units_and_goods_are_named(delivers: str, line: str) -> None:
    card = replace(DRUMS, kind="drop", total_units=9, remaining_units=9)
    lines = check(public_card(replace(card, max_quantity=5, delivers=delivers), "en")).splitlines()
    assert lines[2:4] == ["Up to 5 per purchase", line]
    assert "each" not in check(public_card(replace(card, max_quantity=1), "en"))


@pytest.fixture
def link(chat: ChatHarness, sam: Person) -> PaymentLink:
    return chat.add_link(sam, replace(COFFEE, goal=1_000), service_answer())


def shown(chat: ChatHarness, link: PaymentLink, own: int) -> tuple[str, str | None]:
    """Return the line of the goal in a view, and the key of its picture."""
    found = chat.link(link.id)
    view = chat.db.run(lambda tx: view_of(tx, found, own, chat.clock()))
    (line,) = (line for line in view.reply.text.splitlines() if "of $10" in line)
    return line, view.seen.picture


async def pay(chat: ChatHarness, link: PaymentLink, number: str, *, oversold: bool = False) -> None:
    paid = Payment(REQUEST_ID, number * 24, 500, "USD", {}, oversold=oversold)
    await chat.record(chat.link(link.id), paid, None)


async def test_a_goal_counts_neither_oversold_money_nor_what_was_paid_back(
    chat: ChatHarness, sam: Person, link: PaymentLink
) -> None:
    for number in "abc":
        await pay(chat, link, number)
    await pay(chat, link, "d", oversold=True)
    for own in (OWN, SHARED):
        assert shown(chat, link, own)[0] == "$15 of $10 · 150%"
    found = next(
        one
        for one in chat.db.run(lambda tx: payments_of_seller(tx, sam.id, 9, 0))
        if not one.payment.oversold
    )
    chat.db.run(lambda tx: payment_marks.set_mark(tx, found, PAID_BACK, chat.clock()))
    assert shown(chat, link, SHARED)[0] == "$10 of $10 · 100%"


async def test_a_payment_changes_the_words_of_a_card_and_not_its_picture(
    chat: ChatHarness, link: PaymentLink
) -> None:
    before = shown(chat, link, OWN)
    await pay(chat, link, "a")
    after = shown(chat, link, OWN)
    assert (before[0], after[0]) == ("$0 of $10 · 0%", "$5 of $10 · 50%")
    assert before[1] == after[1]


@pytest.mark.parametrize("design", ["print-light.png", "print-dark.pdf", "square-dark.png"])
async def test_a_poster_has_the_bar_of_its_goal_as_it_stands(
    chat: ChatHarness, sam: Person, link: PaymentLink, design: str
) -> None:
    plain = chat.add_link(sam, COFFEE, service_answer(id="b" * 24))
    without, empty = poster(chat, plain, design), poster(chat, link, design)
    await pay(chat, link, "a")
    await pay(chat, plain, "b")
    assert poster(chat, plain, design) == without
    assert len({without, empty, poster(chat, link, design)}) == 3


def poster(chat: ChatHarness, link: PaymentLink, design: str) -> bytes:
    """Draw a request's poster as it is sent."""
    found = chat.link(link.id)
    return chat.db.run(lambda tx: view_of(tx, found, OWN, chat.clock())).draw_poster(design, None)
