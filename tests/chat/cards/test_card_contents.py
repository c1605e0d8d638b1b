"""What payers choose, give and get, on cards: the amount, the goal's bar, units and goods."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from bot.chat.cards.card_text import (
    inline_article,
    list_label,
    public_card,
    seller_card,
    visitor_card,
)
from bot.chat.cards.request_card import Card, card_of, goal_bar
from bot.chat.cards.views import View, view_of
from bot.chat.model.drafts import Profile
from bot.chat.model.payment import PAID_BACK
from bot.chat.model.replies import CAPTION_LIMIT, shown_units
from bot.chat.model.request_spec import RequestSpec, Share
from bot.chat.store import payment_marks, seller_rows
from bot.chat.store.link_rows import PaymentLink
from bot.chat.store.payment_marks import payments_of_seller
from bot.chat.store.payment_rows import Payment
from bot.chat.store.post_rows import OWN, SHARED
from bot.core.brand import COLOURS
from bot.core.text.translations import languages
from bot.interface.parts import AmountChoice
from bot.sandbox.world.people import Person
from tests.support.chat_harness import COFFEE, REQUEST_ID, STICKERS, ChatHarness, service_answer
from tests.support.telegram_limits import check, labels

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


# Who sells, on the cards that others see, in inline results and in pictures.


PAY_URL = "https://pay.example.com/pay/0123456789abcdef01234567"
ANNA = Profile("Anna & Co", accent="green")
DROP = Card(
    "abcdefghij", "drop", "Stickers", None, 250, "USD", 10, 7, 3, "active", PAY_URL, seller=ANNA
)
GIFT = replace(DROP, kind="donation", total_units=None, remaining_units=None)


def test_others_read_who_sells_and_the_seller_does_not() -> None:
    for reply in (public_card(DROP, "en"), visitor_card(DROP, "en")):
        assert "\nSold by Anna & Co\n" in check(reply)
    assert "Anna" not in check(seller_card(DROP, "en"))
    assert "Sold by" not in check(public_card(replace(DROP, seller=Profile(about="Bread")), "en"))


def test_a_donation_is_for_somebody_and_not_sold() -> None:
    assert "\nFor Anna & Co\n" in check(public_card(GIFT, "en"))
    assert "\nFür Anna & Co\n" in check(public_card(GIFT, "de"))


def test_an_inline_result_names_the_seller() -> None:
    article = inline_article(DROP, "en")
    assert article.description == "$2.50 · 7 of 10 left · Sold by Anna & Co"
    assert "Sold by Anna &amp; Co" in article.text


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize("kind", ["drop", "donation", "oneoff"])
def test_the_longest_names_and_links_fit_into_a_caption(kind: str, language: str) -> None:
    longest = replace(
        DROP, kind=kind, name="🌊" * 100, url=f"https://{'a' * 480}.example", currency="BTC",
        description="x" * 500, seller=Profile("🌊" * 100), ends_at=4_000_000_000_000,
        status="active", amount=10**17,
    )  # fmt: skip
    text = public_card(longest, language).text
    assert shown_units(text) <= CAPTION_LIMIT


def draw(chat: ChatHarness, own: int = OWN) -> View:
    (row,) = chat.rows("listings")
    link = chat.link(row["id"])
    return chat.db.run(lambda tx: view_of(tx, link, own, chat.clock()))


async def test_a_change_of_the_profile_changes_the_key_of_pictures_and_of_shared_texts(
    chat: ChatHarness,
) -> None:
    anna = chat.add_person("Anna")
    chat.add_link(anna, STICKERS, service_answer())
    image = chat.db.run(lambda tx: seller_rows.add_image(tx, anna.id, b"", chat.clock()))
    pictures, texts = [draw(chat).seen.picture], [draw(chat, SHARED).seen.words]
    changes = [Profile(about="Bread"), Profile("Anna"), Profile("Anna", image), Profile("Mia")]
    for changed in (*changes, *(Profile("Mia", accent=accent) for accent in COLOURS)):
        chat.db.run(partial(seller_rows.save_profile, seller_id=anna.id, profile=changed))
        pictures.append(draw(chat).seen.picture)
        texts.append(draw(chat, SHARED).seen.words)
    assert pictures[0] == pictures[1]  # payers don't see a profile without a name
    assert len({*pictures}) == len(pictures) - 1
    assert len({*texts}) == 3


# Cards of requests that real money can't reach yet: what is wrong, and what to do.


UNPAYABLE = service_answer(is_enabled=False, status="noPayoutAccount")
TO_OTHERS = replace(COFFEE, destination="account:seller-7")
TO_ACCOUNTS = replace(COFFEE, destination="account:seller-1001")
"""To Sam's accounts, by the first id of a test's world."""

DIVIDED = replace(TO_ACCOUNTS, receivers=(Share("$anna", 300, "60%"), Share("$ben", 200, "40%")))


@pytest.mark.parametrize(
    ("spec", "words", "button"),
    [
        (TO_ACCOUNTS, "Can't be paid yet", "Connect an account"),
        (COFFEE, "made for test money", "Duplicate"),
        (DIVIDED, "made for test money", "Duplicate"),
        (TO_OTHERS, "made for test money", "Duplicate"),
    ],
)
def test_a_request_that_no_account_takes_says_what_to_do(
    chat: ChatHarness, sam: Person, spec: RequestSpec, words: str, button: str
) -> None:
    card = card_of(chat.add_link(sam, spec, told=UNPAYABLE), chat.clock())
    shown = seller_card(card, "en")
    assert words in shown.text
    assert any(label.endswith(button) for label in labels(shown.rows))


def test_others_are_offered_no_way_to_pay_it(chat: ChatHarness, sam: Person) -> None:
    card = card_of(chat.add_link(sam, TO_ACCOUNTS, told=UNPAYABLE), chat.clock())
    shown = public_card(card, "en")
    assert shown.rows == ()
    assert "This can't be paid right now." in shown.text


def test_what_ended_or_was_paused_says_so_first(chat: ChatHarness, sam: Person) -> None:
    ended = replace(UNPAYABLE, expires_at=chat.clock() - 1)
    over = card_of(chat.add_link(sam, TO_ACCOUNTS, told=ended), chat.clock())
    paused = replace(UNPAYABLE, id="1" * 24)
    stopped = chat.add_link(sam, TO_ACCOUNTS, told=paused, state="stopped")
    assert [over.status, card_of(stopped, chat.clock()).status] == ["expired", "stopped"]
