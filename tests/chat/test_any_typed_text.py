"""Nothing that a person typed breaks a message: whatever it is, wherever it is shown."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from bot.chat.cards import alert_text, card_text, menus, schedule
from bot.chat.cards.payment_texts import payments_page
from bot.chat.cards.request_card import Card
from bot.chat.conversation.actions import start_reply
from bot.chat.conversation.event_context import EventContext
from bot.chat.conversation.events import Person
from bot.chat.conversation.payments_and_alerts import show_undelivered
from bot.chat.forms.flow import Change
from bot.chat.forms.form import reopen, resume_offer, take_picture
from bot.chat.forms.questions import prompt
from bot.chat.forms.request_fields import BY_NAME, STEPS
from bot.chat.forms.seller_texts import settings as settings_page
from bot.chat.forms.shares_and_amounts import read_amounts, read_portions
from bot.chat.forms.typed_text import (
    read_code,
    read_description,
    read_destination,
    read_email,
    read_name,
    read_poster_text,
    read_price,
    read_quantity,
    read_redirect,
    read_thanks,
)
from bot.chat.model.drafts import NewDraft, Seller
from bot.chat.model.payloads import Alert, AlertPayment, TextMessage
from bot.chat.model.replies import Problem, Reply, escaped, markup, plain, units
from bot.chat.model.request_spec import PAYER_FIELDS
from bot.chat.pictures import card_picture, poster
from bot.chat.pictures.canvas import PictureContent
from bot.chat.store.link_rows import PaymentLink
from bot.chat.store.payment_marks import ListedPayment
from bot.chat.store.payment_rows import LinkRevenue, RevenueTotals
from bot.core.database.database import Transaction
from bot.core.outbox import outbox
from bot.core.outbox.queue_policy import ALERT
from bot.core.text.translations import LOCALES, languages, t
from bot.interface.parts import AmountChoice
from bot.sandbox.world.formatting import blank, cleaned
from tests.support.chat_harness import COFFEE, URL, VAULT, ChatHarness
from tests.support.form_harness import BERLIN, FORM, NOW
from tests.support.telegram_limits import check

LINK = "abcdefghij"
LANGUAGES = sorted(languages())

MESSAGES = re.compile(r"^([\w-]+) =(.*(?:\n[ ].*|\n(?=[ \n]).*)*)", re.MULTILINE)
VARIABLES = set(re.findall(r"\$(\w+)", "".join(p.read_text() for p in LOCALES.glob("en/*.ftl"))))
NAMED = [
    key
    for path in sorted(LOCALES.glob("en/*.ftl"))
    for key, text in MESSAGES.findall(path.read_text())
    if re.search(r"\$name\b", text) and path.name not in ("page.ftl", "mail.ftl")
]
"""The texts of the chat that say what a request is called."""

ODD = (
    "\u202e", "\u202d", "\u2067", "\u2069", "\u2068", "\u200f", "\u200e", "\u200b", "\u200d",
    "\u2060", "\ufeff", "\u00ad", "\u0301", "\u20dd", "\ufe0f", "\u2028", "\u3164", "\ufffc",
    "\u2800", "\U000e0041", "\x00", "\x1f", "\ud800", "\udfff", "\ufffe", "&", "&lt;", "&#0;", "<",
    ">", "<b>", "</b>", '<a href="', "<code", "{ $name }", "{", "%s", '"', "'", "*", "_", "`",
    "אבג", "العربية", "٣", "ﷺ", "👩‍👩‍👧‍👦", "🇩🇪", "👍🏽", "Z͑ͫ̓",
    "ß", "İ", " ", "\n", "/start", "@x_bot", "http://x.org",
)  # fmt: skip
"""What has broken messages elsewhere."""

TYPED = st.one_of(
    st.text(max_size=60),
    st.text(st.characters(categories=["Cc", "Cf", "Cs", "Lo", "Mn", "So", "Zs"]), max_size=60),
    st.lists(st.sampled_from(ODD), min_size=1, max_size=30).map("".join),
    st.tuples(st.sampled_from(ODD), st.integers(1, 4096)).map(lambda two: two[0] * two[1]),
)
WORDS = TYPED.map(lambda text: text[:4096])
"""Up to 4,096 characters, as a client lets one type, or another server's words may have."""

SHORTEST = 16
"""UTF-16 units of what was typed that every place has room for."""

SPOKEN = st.sampled_from(LANGUAGES)

TURNS = frozenset(["LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI"])
HARD = ('"' * 500, "&" * 100, "א" * 4096, "😀" * 4096, "</b><i>", "\u202e\u2067x", "\ufffc")
"""What is tried in any case."""

Test: TypeAlias = "Callable[..., None]"


def typed(number: int, **more: st.SearchStrategy[str]) -> Callable[[Test], Test]:
    """Run a test with so many words; without shrinking, which takes minutes for thousands."""

    def decorate(test: Test) -> Test:
        for words in HARD:
            test = example(words=words, **dict.fromkeys(more, "de"))(test)
        return settings(
            max_examples=number,
            phases=[Phase.explicit, Phase.reuse, Phase.generate],
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
        )(given(words=WORDS, **more)(test))

    return decorate


def isolated(text: str) -> None:
    """Whatever is written from right to left turns nothing beside it."""
    for line in text.split("\n"):
        depth = 0
        for char in line:
            kind = unicodedata.bidirectional(char)
            depth += (kind == "FSI") - (kind == "PDI")
            assert kind not in TURNS
            assert depth >= 0
            assert depth or kind not in ("R", "AL", "AN"), line
        assert depth == 0, line


def visible(text: str) -> str:
    """What a person sees of it, as far as Telegram lets it through."""
    return "".join(char for char in cleaned(text) if unicodedata.category(char)[0] in "LNPS")


def held(reply: Reply, *typed: object) -> str:
    """Hold a reply to Telegram's limits, its words to their place: all that was typed is there."""
    text = check(reply)
    isolated(text)
    rows = (markup(reply.rows) or {}).get("inline_keyboard", [])
    labels = [button["text"] for row in rows for button in row]
    for label in labels:
        isolated(label)
    shown = visible("\n".join([text, *labels]))
    for words in typed:
        assert visible(plain(words, SHORTEST)).removesuffix("…")[:3] in shown
    return text


def name_of(words: str) -> str:
    """A name of these words, with a letter before what alone can't be one."""
    return f"N{words}" if isinstance(read_name(words), Problem) else words


def seller_of(words: str, language: str) -> Seller:
    destination = read_destination(words)
    known = "$anna" if isinstance(destination, Problem) else destination
    return Seller(language, known, "USD", zone=BERLIN, prices=((500, "USD"),))


def draft_of(words: str, step: str) -> NewDraft:
    """A form with these words wherever they can be an answer."""

    def known(value: object, otherwise: str | None = None) -> str | None:
        return otherwise if isinstance(value, Problem) else str(value)

    portions = read_portions(f"{words} 60%\n$ben 40%", "USD")
    return NewDraft(
        id=FORM, step=step, kind="drop", name=known(read_name(words), "Coffee"),
        description=known(read_description(words)), amount=Decimal(5), currency="USD", units=7,
        receivers=() if isinstance(portions, Problem) else portions, instrument="BSV",
        image="0" * 24,
        starts_at=NOW + 1, ends_at=NOW + 9, payer_fields=PAYER_FIELDS,
        redirect_url=known(read_redirect(words)), email=known(read_email(words)),
        thanks=known(read_thanks(words)), max_quantity=3,
        choice=AmountChoice(Decimal(1), (Decimal(5), Decimal(10)), Decimal(99)),
    )  # fmt: skip


def card_of(words: str, **given: object) -> Card:
    """A request of that name and description, its words of any length."""
    card = Card(
        LINK, "drop", name_of(words), words, 250, "USD", 10, 7, 3, "active", URL, 1, None, NOW,
        zone=BERLIN, totals=RevenueTotals(((750, "USD"),), 3),
    )  # fmt: skip
    return replace(card, **given)  # type: ignore[arg-type] # a card's own fields


def payment_of(words: str, number: int = 0) -> AlertPayment:
    payer = {"email": words, words: words, "phoneNumber": "+44"}
    return AlertPayment(
        f"{LINK[:-1]}{number}", "drop", name_of(words), 250, "USD", payer, 6, 10, 1,
        together=((1000, "USD"),), count=4,
    )  # fmt: skip


@typed(10, language=SPOKEN)
def test_a_form_shows_what_was_typed_at_each_step(language: str, words: str) -> None:
    seller, draft = seller_of(words, language), draft_of(words, "review")
    for step in STEPS["new"]:
        held(prompt(replace(draft, step=step), seller))
        field = BY_NAME.get(step)
        line = t(language, "understood", line=(field and field.line(draft, seller)) or "x")
        held(prompt(replace(draft, step=step, in_menu=True), seller, line))
    shown = [draft.name, draft.description, draft.redirect_url, draft.email, draft.thanks]
    receivers = [portion.destination for portion in draft.receivers]
    held(prompt(draft, seller), *filter(None, shown), *receivers)
    held(prompt(replace(draft, receivers=()), seller), seller.destination)


@typed(25, language=SPOKEN)
def test_what_is_wrong_with_an_answer_can_be_said_of_any(language: str, words: str) -> None:
    read: tuple[Callable[[str], object], ...] = (
        read_name, read_description, read_destination, read_poster_text, read_redirect, read_email,
        read_code, lambda text: read_price(text, "USD"), lambda text: read_portions(text, "USD"),
        read_thanks, read_quantity, lambda text: read_amounts(text, "USD"),
        lambda text: read_amounts(f"5/{text}", None), lambda text: read_amounts(f"{text} 3+", None),
    )  # fmt: skip
    for reads in read:
        found = reads(words)
        if isinstance(found, Problem):
            held(prompt(draft_of(words, "name"), seller_of(words, language), found.text(language)))


@typed(25, language=SPOKEN)
def test_what_another_server_says_is_shown_with_the_form(language: str, words: str) -> None:
    spec = replace(COFFEE, name=draft_of(words, "name").name or "")
    for field in ("product.name", "receivers[0].sendAmount", words):
        asked = reopen(spec, FORM, field, words, seller_of(words, language))
        for reply in asked.replies:
            held(reply, words)


@typed(25, language=SPOKEN)
def test_a_form_left_is_offered_by_its_name(language: str, words: str) -> None:
    seller, draft = seller_of(words, language), draft_of(words, "review")
    left = resume_offer(draft, seller)
    assert left is not None
    held(left, draft.name)
    held(start_reply(seller, new=True, offer=left), draft.name)
    held(settings_page(replace(seller, quiet=(1, 2), summary=3)), seller.destination)
    for reply in take_picture(draft, FORM, "1" * 24, None, seller).replies:
        held(reply)


@typed(25, language=SPOKEN)
def test_a_card_fits_below_its_picture_whatever_it_is_called(language: str, words: str) -> None:
    states = ("active", "scheduled", "expired", "stopped", "completed", "soldOut", "deleted")
    for status in states:
        card = card_of(words, status=status, starts_at=NOW)
        held(card_text.seller_card(card, language), card.name)
        held(card_text.public_card(card, language), card.name)
        held(card_text.visitor_card(card, language), card.name)
    for url in (f"{URL}{'x' * 2000}", f"{URL}?{words}"):
        held(card_text.seller_card(card_of(words, url=url), language), name_of(words))


@typed(25, language=SPOKEN)
def test_what_is_done_with_a_request_says_its_name(language: str, words: str) -> None:
    card, seller = card_of(words), seller_of(words, language)
    held(menus.open_menu(card, "edit", language), card.name)
    held(menus.fixed_menu(card, language), card.name)
    held(menus.open_menu(card, "delete", language), card.name)
    held(replace(menus.poster_menu(card, words, "x_bot", language), picture=LINK), card.name)
    for field in ("name", "description", "redirect", "email", "postertext", "thanks"):
        held(menus.saved_reply(card, Change(LINK, field, words), seller, NOW), card.name)
    receipt = ListedPayment(
        250, "USD", {"email": words, words: words}, oversold=True, found=True, in_doubt=True,
        received_at=NOW,
    )  # fmt: skip
    held(payments_page(card, [receipt] * 10, (0, 3), seller), card.name)


@typed(25, language=SPOKEN)
def test_a_list_has_a_line_for_each_whatever_it_is_called(language: str, words: str) -> None:
    held(
        card_text.list_page([card_of(words)] * 8, 0, 2, language, pending=[words] * 3),
        name_of(words),
    )
    held(card_text.list_page([], 0, 1, language, pending=[words]), words)


@typed(25, language=SPOKEN)
def test_alerts_tell_what_the_payer_said(language: str, words: str) -> None:
    held(alert_text.alert_reply([payment_of(words)], language), name_of(words))
    bodies = [Alert((payment_of(words, number % 3),), language) for number in range(30)]
    gathered = alert_text.join_alerts(bodies)
    assert gathered is not None
    held(alert_text.alert_reply(gathered[1].payments, language), name_of(words))


@typed(20, language=SPOKEN)
def test_what_was_not_delivered_is_listed(chat: ChatHarness, language: str, words: str) -> None:
    def look(tx: Transaction) -> None:
        for number in range(4):
            body = Alert((payment_of(words, number),), language)
            outbox.put(tx, chat.queues.messages, "7", body, NOW, priority=ALERT)
        person = Person(7, 7, private=True, tag=None)
        seller = seller_of(words, language)
        show_undelivered(
            EventContext(tx, chat.queues, person, seller, draft=None, now=NOW, vault=VAULT)
        )

    chat.clear_messages()
    chat.db.run(look)
    (page,) = (body.text for body in chat.said if isinstance(body, TextMessage))
    held(Reply(page), name_of(words))


@typed(25, language=SPOKEN)
def test_the_daily_summary_names_what_was_paid(language: str, words: str) -> None:
    spec = replace(COFFEE, name=name_of(words))
    link = PaymentLink(LINK, 7, 7, "", "live", spec, None, None, 3, NOW)
    days = [LinkRevenue(link, RevenueTotals(((250, "USD"),), 3))] * 21
    held(schedule.summary_reply(days, language, NOW), name_of(words))


def test_what_telegram_takes_for_empty_is_no_name() -> None:
    empty = [char for char in map(chr, range(sys.maxunicode + 1)) if blank(char)]
    assert [char for char in empty if not isinstance(read_name(char), Problem)] == []


@typed(25, language=SPOKEN)
def test_what_is_shared_has_a_title_and_fits(language: str, words: str) -> None:
    article = card_text.inline_article(card_of(words), language)
    held(Reply(article.text, article.rows), name_of(words))
    assert units(article.title) <= 120
    for line in (article.title, article.description):
        isolated(line)
        assert not blank(line)


@pytest.mark.parametrize("key", NAMED)
@typed(10)
def test_every_sentence_about_a_request_takes_any_name(key: str, words: str) -> None:
    for language in LANGUAGES:
        values = {**dict.fromkeys(VARIABLES, 2), "name": escaped(name_of(words), 200)}
        held(Reply(t(language, key, **values)), name_of(words))


@typed(8)
def test_a_card_is_drawn_of_any_words(words: str) -> None:
    name = name_of(words)[:100]
    drawn = card_picture.draw_card(
        PictureContent(name, plain(words), URL, stamp=plain(words), hint=name)
    )
    assert drawn.startswith(b"\xff\xd8")


@pytest.mark.parametrize("draw", [poster.poster_png, poster.poster_pdf, poster.square_png])
@typed(1)
def test_a_poster_is_drawn_of_any_words(
    draw: Callable[[PictureContent], bytes], words: str
) -> None:
    sheet = PictureContent(name_of(words)[:100], plain(words), URL, None, "Scan", text=words[:300])
    assert draw(sheet)[:4] in (b"\x89PNG", b"%PDF")
