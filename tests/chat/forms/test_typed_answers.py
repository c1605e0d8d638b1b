"""Texts typed at each step: taken, asked about, or answered by their problem at that step."""

from __future__ import annotations

from decimal import Decimal

import pytest

from bot.chat.forms.one_line import one_line
from bot.chat.forms.seller_forms import settings_form
from bot.chat.forms.shares_and_amounts import read_portions
from bot.chat.model.drafts import PayoutService, Seller
from bot.chat.model.replies import Problem
from tests.support.form_harness import OTHER, STRANGER, Talk, form_at_step, new_form
from tests.support.telegram_limits import labels

SHALOM = "\u05e9\u05dc\u05d5\u05dd"
NAMES = [
    ("Coffee <b>&\"'</b>", "Coffee <b>&\"'</b>"),
    ("  two\n lines\tand more ", "two lines and more"),
    ("x" * 100, "x" * 100),
    ("😀" * 100, "😀" * 100),
    (f"\u200f{SHALOM}\u200e", f"\u200f{SHALOM}\u200e"),
    ("a\u200bb", "a\u200bb"),
    ("/start", "/start"),
    ("$5", "$5"),
]


@pytest.mark.parametrize(("said", "name"), NAMES)
def test_a_name_is_folded_to_one_line(said: str, name: str) -> None:
    talk = form_at_step("name").say(said)
    assert talk.step == "amount"
    assert talk.form.name == name


TYPOS = [
    ("kind", "donation", "Please tap one of the buttons below."),
    ("name", "", "It needs a name, like Coffee for the team."),
    ("name", " \n\u200b\u3164", "It needs a name"),
    ("name", "x" * 101, "That's 101 characters; the limit is 100."),
    ("name", "x" * 4096, "That's 4,096 characters"),
    ("name", "a\x00b", "a character I can't display"),
    ("name", "a\x1bb", "a character I can't display"),
    ("name", "a\ud800b", "a character I can't display"),
    ("amount", "a lot", "I couldn't find an amount. Type a number and a currency, like 5 USD."),
    ("amount", "", "I need an amount. Type a number and a currency, like 5 USD."),
    ("amount", "1 2", "Is that one price, or several to choose from?"),
    ("amount", "0", "The amount must be more than zero"),
    ("amount", "-5", "The amount must be more than zero"),
    ("amount", "2000000000", "the limit is 1,000,000,000"),
    ("amount", "2.5 JPY", "JPY has no decimals."),
    ("amount", "2.55555 USD", "USD has at most 2 decimals."),
    ("amount", "5 <b>", "I don't recognise “5 <b>”."),
    ("units", "", "I need a number of items, like 100."),
    ("units", "many", "Please type a whole number of items, 1 or more"),
    ("units", "0", "Please type a whole number of items"),
    ("units", "-3", "Please type a whole number of items"),
    ("units", "2.5", "Please type a whole number of items"),
    ("units", "5 USD", "Please type a whole number of items"),
    ("units", "1000001", "The limit is 1,000,000 items."),
    ("review", "yes", "Please tap one of the buttons below."),
]


@pytest.mark.parametrize(("step", "said", "answer"), TYPOS)
def test_a_wrong_answer_is_asked_for_again_at_its_step(step: str, said: str, answer: str) -> None:
    talk = form_at_step(step)
    before = talk.draft
    talk.say(said)
    assert talk.draft == before
    assert answer in talk.last
    assert ("\n\nStep " in talk.last) == (step != "kind")
    assert talk.specs == []


AMOUNTS = [
    ("5", "5", "USD"),
    ("2.50", "2.50", "USD"),
    ("2,50 €", "2.50", "EUR"),
    ("1 000", "1000", "USD"),
    ("$5", "5", "USD"),
    ("5usd", "5", "USD"),
    ("0.00000001 btc", "0.00000001", "BTC"),
    ("500 JPY", "500", "JPY"),
]


@pytest.mark.parametrize(("said", "amount", "currency"), AMOUNTS)
def test_an_amount_without_a_currency_is_in_the_usual_one(
    said: str, amount: str, currency: str
) -> None:
    talk = form_at_step("amount", "donation").say(said)
    assert talk.step == "review"
    assert (talk.form.amount, talk.form.currency) == (Decimal(amount), currency)


@pytest.mark.parametrize(
    ("said", "choices"),
    [
        ("1.000 EUR", ["€1.00", "€1,000.00"]),
        ("1,000", ["$1.00", "$1,000.00"]),
        ("1.234 KWD", ["KWD\u00a01.234", "KWD\u00a01,234.000"]),
    ],
)
def test_an_ambiguous_amount_is_asked_about(said: str, choices: list[str]) -> None:
    talk = form_at_step("amount", "donation").say(said)
    assert talk.step == "amount"
    assert talk.form.amount is None
    assert "Which amount do you mean?" in talk.last
    shown = labels(talk.replies[-1].rows)[: len(choices)]
    assert choices == shown
    assert talk.press_label(shown[-1]).step == "review"


@pytest.mark.parametrize("said", ["1.234 EUR", "1,234 EUR"])
def test_an_amount_with_one_reading_is_taken(said: str) -> None:
    talk = form_at_step("amount", "donation").say(said)
    assert talk.step == "review"
    assert (talk.form.amount, talk.form.currency) == (Decimal(1234), "EUR")


@pytest.mark.parametrize(
    ("currency", "hint"),
    [
        ("USD", "Type 5 for $5.00, or include another currency, like 5 EUR."),
        ("EUR", "Type 5 for €5.00, or include another currency, like 5 USD."),
        ("JPY", "Type 500 for ¥500, or include another currency, like 5 EUR."),
        ("BTC", "Type 0.001 for 0.001 BTC, or include another currency, like 5 EUR."),
        ("SAT", "Type 1000 for 1,000 sat, or include another currency, like 5 EUR."),
    ],
)
def test_examples_fit_the_currency(currency: str, hint: str) -> None:
    talk = new_form(Seller("en", "$anna", currency)).press("kind", "donation").say("Coffee")
    assert hint in talk.last
    example = hint.split()[1]
    assert talk.say(example).step == "review"


def test_an_ambiguous_amount_without_a_currency_asks_for_both() -> None:
    talk = new_form(STRANGER).press("kind", "donation").say("Coffee").say("1.234")
    assert labels(talk.replies[-1].rows)[:2] == ["1.234", "1234"]
    assert talk.press_label("1234").step == "currency"
    talk.say("eur")
    assert (talk.form.amount, talk.form.currency) == (Decimal(1234), "EUR")


def currency_step() -> Talk:
    return new_form(STRANGER).press("kind", "donation").say("Coffee").say("2.50")


@pytest.mark.parametrize("code", ["eur", "€", "SEK", "sats"])
def test_a_currency_can_be_typed(code: str) -> None:
    talk = currency_step().say(code)
    assert talk.step in {"destination", "amount"}


@pytest.mark.parametrize("code", ["kr", "dollars!", "<b>", "x" * 500])
def test_an_unknown_currency_is_asked_for_again(code: str) -> None:
    talk = currency_step().say(code)
    assert talk.step == "currency"
    assert "I don't recognise" in talk.last


def test_an_empty_currency_is_asked_for() -> None:
    talk = currency_step().say("")
    assert talk.step == "currency"
    assert "I need a currency. Choose one below or type its code, like SEK." in talk.last


def test_a_currency_that_does_not_allow_the_amount_asks_for_it_again() -> None:
    talk = currency_step().press("currency", "JPY")
    assert talk.step == "amount"
    assert "JPY has no decimals. Type a whole amount, like 500 JPY." in talk.last
    talk.say("250")
    assert (talk.form.amount, talk.form.currency) == (Decimal(250), "JPY")


def test_an_amount_typed_again_at_the_currency_is_taken() -> None:
    talk = currency_step().say("3 EUR")
    assert (talk.form.amount, talk.form.currency) == (Decimal(3), "EUR")


UNITS = [("100", 100), ("1 000", 1000), ("1,000", 1000), ("1.000", 1000), ("1.500", 1500),
         ("1,000,000", 1_000_000), ("10.0", 10), ("\u0661\u0660", 10)]  # fmt: skip


@pytest.mark.parametrize(("said", "units"), UNITS)
def test_a_number_of_units_may_be_grouped(said: str, units: int) -> None:
    talk = form_at_step("units").say(said)
    assert talk.form.units == units


DESTINATIONS = [
    ("$anna", "$anna"),
    (" anna@wallet.example\n", "anna@wallet.example"),
    ("\u200e$anna\u200b", "$anna"),
    ("x" * 512, "x" * 512),
    ("a<b>&c", "a<b>&c"),
    ("what is that", None),
    ("$an\u200bna", "$anna"),
    ("\uff04anna", "$anna"),
    ("x" * 513, None),
    ("", None),
    ("\u200b", None),
    ("$a\x00", None),
]


@pytest.mark.parametrize(("said", "destination"), DESTINATIONS)
def test_a_destination_loses_its_invisible_characters(said: str, destination: str | None) -> None:
    talk = currency_step().press("currency", "USD").say(said)
    assert talk.seller.destination == destination
    assert talk.step == ("review" if destination else "destination")


ACCOUNTS = [
    "account:seller-888", "account:", "Account:seller-888", " ACCOUNT:seller-888\n",
    "ac\u200bcount:seller-888", "\u2066account\u200e:\u00adseller-888", "account :seller-888",
    "account\u00a0: seller-888", "ａｃｃｏｕｎｔ：seller-888", "account\ufe55seller-888",
    "a\u034fccount:x", "account\ufe0f:seller-888",
]  # fmt: skip


@pytest.mark.parametrize("said", ACCOUNTS)
@pytest.mark.parametrize("server", [None, "https://cloud.handcash.io", "https://pay.example.org"])
def test_no_seller_types_the_accounts_of_another(said: str, server: str | None) -> None:
    """Telegram ids are public; another server may be one of ours."""
    seller = Seller("en", paid_at=PayoutService.at(server))
    talk = new_form(seller).press("kind", "donation").say("x").say("5 USD").say(said)
    assert (talk.step, talk.seller.destination) == ("destination", None)
    assert "can't start with “account:”" in talk.last
    line = Talk(seller)
    line.take(one_line("oneoff", "9 EUR Book", OTHER, seller))
    assert (line.say(said).step, line.specs) == ("destination", [])
    setting = Talk(seller)
    setting.take(settings_form("destination", OTHER, seller))
    assert (setting.say(said).step, setting.seller.destination) == ("destination", None)


@pytest.mark.parametrize("said", ["accounting:x", "anna:account:x", "$account", "my-account"])
def test_other_words_than_account_are_taken(said: str) -> None:
    talk = new_form(Seller("en")).press("kind", "donation").say("x").say("5 USD").say(said)
    assert talk.seller.destination == said


HANDCASH = PayoutService.at("https://cloud.handcash.io")
OTHER_SERVER = PayoutService.at("https://pay.example.org/api")


@pytest.mark.parametrize(
    ("service", "question"),
    [
        (PayoutService(), "This bot is in test mode, so no real money moves."),
        (HANDCASH, "Type your HandCash handle, like $anna."),
        (PayoutService.at("https://handcash.io"), "Type your HandCash handle"),
        (PayoutService.at("https://nothandcash.io"), "wallet address at nothandcash.io"),
        (OTHER_SERVER, "Type your handle or wallet address at pay.example.org, like $anna."),
    ],
)
def test_the_destination_is_asked_for_in_the_words_of_its_service(
    service: PayoutService, question: str
) -> None:
    talk = new_form(Seller("en", paid_at=service)).press("kind", "donation").say("x").say("5 USD")
    assert talk.step == "destination"
    assert question in talk.last


@pytest.mark.parametrize("said", ["$anna", "anna", "anna.b-c_d", "anna@handcash.io", "A1b2" * 12])
def test_handcash_takes_handles_and_paymails(said: str) -> None:
    talk = new_form(Seller("en", paid_at=HANDCASH)).press("kind", "donation").say("x").say("5 USD")
    assert talk.say(said).step == "review"
    assert talk.seller.destination == said


@pytest.mark.parametrize("said", ["@anna", "https://anna.example", "$", "$$anna", "anna@", "änna"])
def test_handcash_takes_nothing_else(said: str) -> None:
    talk = new_form(Seller("en", paid_at=HANDCASH)).press("kind", "donation").say("x").say("5 USD")
    assert talk.say(said).step == "destination"
    assert "That isn't a HandCash handle. Handles look like $anna" in talk.last


def test_another_server_decides_itself_what_a_handle_is() -> None:
    talk = new_form(Seller("en", paid_at=OTHER_SERVER)).press("kind", "donation")
    assert talk.say("x").say("5 USD").say("acct:änna").step == "review"


def test_each_of_several_receivers_is_checked_as_the_service_does() -> None:
    assert isinstance(read_portions("@anna 60%\n$ben 40%", "USD", HANDCASH), Problem)
    assert not isinstance(read_portions("@anna 60%\n$ben 40%", "USD", OTHER_SERVER), Problem)
