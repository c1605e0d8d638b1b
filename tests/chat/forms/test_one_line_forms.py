"""One-line forms, settings, refusals, and forms that are left and continued."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from bot.chat.conversation.actions import described, help_reply, start_reply
from bot.chat.forms.form import new_form, reopen
from bot.chat.forms.inputs import cancel
from bot.chat.forms.one_line import offer_line, one_line
from bot.chat.forms.seller_forms import settings_form
from bot.chat.forms.seller_texts import settings
from bot.chat.model.drafts import Attachment, Enclosure, NewDraft, PayoutService
from bot.chat.model.replies import units
from bot.chat.model.request_spec import RequestSpec
from bot.core.text.translations import languages, t
from tests.support.form_harness import (
    FORM,
    KNOWN,
    OTHER,
    STRANGER,
    ButtonInput,
    MessageInput,
    Talk,
    form_at_step,
)
from tests.support.source_tree import ROOT
from tests.support.telegram_limits import actions, check, labels

LOCALES = ROOT / "bot" / "core" / "text" / "locales" / "en"
PACK = RequestSpec("drop", "Pack", "Ten", 250, "USD", 10, "$anna")


def line(kind: str, arguments: str, talk: Talk | None = None) -> Talk:
    talk = talk or Talk(KNOWN)
    talk.take(one_line(kind, arguments, OTHER, talk.seller, talk.draft))
    return talk


LINES = [
    ("donation", "5 USD Coffee for the team", (500, "USD", None, "Coffee for the team")),
    ("oneoff", '120 EUR Painting "Dawn"', (12000, "EUR", None, 'Painting "Dawn"')),
    ("drop", "100 2.50 USD Sticker pack", (250, "USD", 100, "Sticker pack")),
    ("donation", "$5 Coffee", (500, "USD", None, "Coffee")),
    ("donation", "5usd Coffee", (500, "USD", None, "Coffee")),
    ("donation", "$5 usd Coffee", (500, "USD", None, "Coffee")),
    ("donation", "$5 All the best", (500, "USD", None, "All the best")),
    ("donation", "2,50 eur Tea <b>", (250, "EUR", None, "Tea <b>")),
    ("donation", "  5\n€   Tea\nfor two ", (500, "EUR", None, "Tea for two")),
    ("donation", "1000 sats Zap", (1000, "SAT", None, "Zap")),
    ("drop", "1,000 1 USD x", (100, "USD", 1000, "x")),
]


@pytest.mark.parametrize(("kind", "arguments", "expected"), LINES)
def test_one_line_creates_at_once(
    kind: str, arguments: str, expected: tuple[int, str, int | None, str]
) -> None:
    talk = line(kind, arguments)
    amount, currency, count, name = expected
    assert talk.specs == [RequestSpec(kind, name, None, amount, currency, count, "$anna")]
    assert talk.draft is None


BAD_LINES = [
    ("donation", "", "The amount is missing."),
    ("donation", "5", "The currency is missing."),
    ("donation", "5 USD", "It needs a name"),
    ("donation", "$5", "It needs a name"),
    ("donation", "Coffee", "I couldn't find an amount. Type a number and a currency, like 5 USD."),
    ("donation", "5 Coffee", "The currency is missing."),
    ("donation", "5 Cup of tea", "The currency is missing."),
    ("donation", "5 coffee", "I don't recognise “coffee”."),
    ("donation", "1 000 USD Coffee", "Type the amount without spaces, like 1000 USD."),
    ("donation", "$5 EUR Coffee", "Is it USD or EUR?"),
    ("donation", "5.001 USD Tea", "Did you mean $5,001.00? Then type 5001 USD."),
    ("donation", "€1.234 Tea", "Did you mean €1,234.00? Then type 1234 EUR."),
    ("donation", "0 USD Coffee", "must be more than zero"),
    ("donation", "-5 USD Coffee", "must be more than zero"),
    ("donation", "2.555555 USD Coffee", "USD has at most 2 decimals."),
    ("donation", "5 USD " + "x" * 101, "That's 101 characters"),
    ("donation", "5 USD a\x00b", "a character I can't display"),
    ("donation", "x" * 4096, "I couldn't find an amount"),
    ("drop", "", "The number of items is missing."),
    ("drop", "ten 5 USD Pack", "the number of items"),
    ("drop", "0 5 USD Pack", "the number of items"),
    ("drop", "5 USD Pack", "I couldn't find an amount"),
    ("drop", "100", "The amount is missing."),
    ("drop", "9999999 5 USD Pack", "The limit is 1,000,000 items."),
]


@pytest.mark.parametrize(("kind", "arguments", "answer"), BAD_LINES)
def test_a_malformed_line_shows_the_right_form_and_creates_nothing(
    kind: str, arguments: str, answer: str
) -> None:
    talk = line(kind, arguments)
    assert talk.specs == []
    assert talk.draft is None
    assert len(talk.replies) == 1
    assert answer in talk.last
    assert f"\n/{kind} " in talk.last


def test_the_example_of_each_line_can_be_typed() -> None:
    for kind in ("donation", "oneoff", "drop"):
        example = line(kind, "").last.splitlines()[-1]
        assert len(line(kind, example.removeprefix(f"/{kind} ")).specs) == 1


def plain(text: str) -> Talk:
    talk, begun = Talk(KNOWN), offer_line(text, FORM, KNOWN)
    assert begun is not None
    talk.take(begun)
    return talk


OFFERS = [
    ("5 USD Coffee", (None, Decimal(5), "USD", None, "Coffee")),
    ("$5 Coffee for the team", (None, Decimal(5), "USD", None, "Coffee for the team")),
    ("2,50 € Tea", (None, Decimal("2.50"), "EUR", None, "Tea")),
    ("100 2.50 USD Pack", ("drop", Decimal("2.50"), "USD", 100, "Pack")),
]


@pytest.mark.parametrize(("text", "expected"), OFFERS)
def test_a_plain_line_begins_a_form_with_its_price_and_name(
    text: str, expected: tuple[str | None, Decimal, str, int | None, str]
) -> None:
    talk = plain(text)
    form, (kind, amount, currency, count, name) = talk.form, expected
    assert (form.kind, form.amount, form.currency) == (kind, amount, currency)
    assert (form.units, form.name) == (count, name)
    assert talk.step == ("review" if kind else "kind")
    assert f"👍 {name} for " in talk.last
    assert talk.specs == []


def test_a_plain_line_with_two_readings_asks_which_amount() -> None:
    talk = plain("10 1.000 EUR Pack")
    assert labels(talk.replies[-1].rows)[:2] == ["€1.00", "€1,000.00"]
    assert talk.press_label("€1,000.00").step == "review"
    assert (talk.form.amount, talk.form.name) == (Decimal(1000), "Pack")


def test_a_plain_line_with_two_readings_and_no_kind_asks_for_the_amount_later() -> None:
    talk = plain("1.000 EUR Coffee")
    assert (talk.step, talk.form.amount, talk.form.currency) == ("kind", None, "EUR")
    assert "👍 Coffee. Let's turn it into a payment link." in talk.last
    assert talk.press("kind", "donation").step == "amount"


def test_a_plain_line_with_a_name_that_is_too_long_says_so() -> None:
    talk = plain("5 USD " + "x" * 101)
    assert talk.draft is None
    assert "That's 101 characters; the limit is 100." in talk.last


@pytest.mark.parametrize(
    "text",
    ["", "hello", "5", "5 USD", "5 kids are here", "Coffee 5 USD", "2 500 USD Chair", "0 5 USD x"],
)
def test_another_plain_text_begins_no_form(text: str) -> None:
    assert offer_line(text, FORM, KNOWN) is None


def test_an_ambiguous_line_asks_then_creates() -> None:
    talk = line("donation", "1.000 EUR Coffee")
    assert labels(talk.replies[-1].rows)[:2] == ["€1.00", "€1,000.00"]
    pressed = ButtonInput(talk.offered[1])
    talk.give(pressed, pressed)
    assert [spec.amount for spec in talk.specs] == [100000]


def test_an_ambiguous_line_can_be_answered_by_typing() -> None:
    talk = line("donation", "1.000 EUR Coffee").say("nonsense", "12,50")
    assert [(spec.amount, spec.currency) for spec in talk.specs] == [(1250, "EUR")]


def test_a_line_without_a_destination_asks_for_it_and_creates_without_a_review() -> None:
    talk = line("donation", "5 USD Coffee", Talk(STRANGER))
    assert "Where should the money go?" in talk.last
    assert talk.specs == []
    talk.say("no spaces please", "$bob")
    assert talk.specs == [RequestSpec("donation", "Coffee", None, 500, "USD", None, "$bob")]
    assert talk.seller.destination == "$bob"
    assert talk.draft is None


def test_a_line_can_be_cancelled() -> None:
    talk = line("donation", "5 USD Coffee", Talk(STRANGER)).press_label("✖")
    assert talk.draft is None
    assert talk.specs == []


def test_a_line_within_a_form_leaves_the_form_as_it_was() -> None:
    talk = form_at_step("amount")
    before = talk.draft
    line("donation", "oops", talk)
    assert talk.draft == before
    line("donation", "5 USD Tea", talk)
    assert talk.draft == before
    assert [spec.name for spec in talk.specs] == ["Tea"]
    assert "You've already started a payment link: Coffee." in talk.last


def test_settings_show_the_destination_and_change_it() -> None:
    reply = settings(KNOWN)
    assert "$anna" in check(reply)
    words = ("destination", "zone", "quiet", "summary")
    assert actions(reply.rows) == [("profile",), *(("settings", word) for word in words)]
    assert "You haven't set a payout address yet" in check(settings(STRANGER))
    talk = Talk(KNOWN)
    talk.take(settings_form("destination", OTHER, talk.seller))
    talk.say("two words")
    assert talk.step == "destination"
    talk.say("<new>")
    assert talk.seller.destination == "<new>"
    assert talk.draft is None
    assert "Saved. From now on, your money goes to <new>" in talk.last
    assert talk.offered == [("profile",), *(("settings", word) for word in words)]


def test_settings_return_to_the_form_that_they_interrupted() -> None:
    talk = form_at_step("units")
    before = talk.draft
    talk.take(settings_form("destination", OTHER, talk.seller, talk.draft))
    talk.say("$new")
    assert talk.draft == before
    assert talk.seller.destination == "$new"
    assert "How many items are there?" in talk.last


def test_a_button_of_a_paused_form_continues_it() -> None:
    talk = form_at_step("amount")
    talk.take(settings_form("destination", OTHER, talk.seller, talk.draft))
    talk.press_label("✖")
    assert talk.step == "amount"
    talk.take(settings_form("destination", OTHER, talk.seller, talk.draft))
    talk.give(ButtonInput(("draft", FORM, "back", "amount")))
    assert (talk.form.id, talk.step) == (FORM, "name")


def test_settings_opened_twice_pause_the_form_once() -> None:
    talk = form_at_step("amount")
    below = talk.draft
    for _ in range(5):
        talk.take(settings_form("destination", OTHER, talk.seller, talk.draft))
    assert talk.form.paused == below


def test_new_offers_to_continue_the_form_under_way() -> None:
    talk = form_at_step("amount")
    before = talk.draft
    talk.take(new_form(talk.draft, OTHER, talk.seller))
    assert talk.draft == before
    assert "You've already started a payment link: Coffee." in talk.last
    assert talk.press_label("Continue").draft == before
    assert "How much does one item cost?" in talk.last
    talk.take(new_form(talk.draft, OTHER, talk.seller))
    talk.press_label("Start over")
    assert (talk.step, talk.form.name) == ("kind", None)


def test_new_asks_again_while_nothing_is_answered() -> None:
    talk = form_at_step("kind")
    talk.take(new_form(talk.draft, OTHER, talk.seller))
    assert talk.form.id == FORM
    assert "What kind of payment link is it?" in talk.last
    fresh = Talk(KNOWN)
    fresh.take(new_form(None, OTHER, fresh.seller))
    assert fresh.form.id == OTHER


def test_cancel_without_a_form_is_answered() -> None:
    talk = Talk(KNOWN)
    talk.take(cancel(None, talk.seller))
    assert talk.last.startswith("There's nothing to cancel.")
    talk = form_at_step("amount")
    talk.take(cancel(talk.draft, talk.seller))
    assert talk.draft is None


FIELDS = [
    ("product.name", "name"),
    ("receivers[0].destination", "destination"),
    ("receivers.0.destination", "destination"),
    ("receivers.0", "destination"),
    ("receivers", "destination"),
    ("receivers.0.sendAmount", "amount"),
    ("receivers[12].sendAmount", "amount"),
    ("instrumentCurrencyCode", "currency"),
    ("currencyCode", "currency"),
    ("denominatedIn", "currency"),
    ("currency", "currency"),
    ("receivers.0.currencyCode", "currency"),
    ("totalUnits", "units"),
    ("expirationType", "kind"),
    ("notifications.webhook.webhookUrl", "review"),
    ("", "review"),
    ("x" * 4096, "review"),
]


@pytest.mark.parametrize(("field", "step"), FIELDS)
def test_a_refusal_leads_to_the_step_of_its_field(field: str, step: str) -> None:
    talk = Talk(KNOWN)
    talk.take(reopen(PACK, OTHER, field, "too <long> \x00" + "x" * 9999, KNOWN))
    assert talk.step == step
    assert "The payment service didn't accept this: too <long>" in talk.last
    answers = {"kind": ("kind", "drop"), "currency": ("currency", "USD")}
    if step in answers:
        talk.press(*answers[step])
    elif step != "review":
        talk.press_label("Keep")
    assert talk.press_label("✅").specs == [PACK]


def test_a_refused_destination_is_asked_for_again_and_saved() -> None:
    talk = Talk(KNOWN)
    talk.take(reopen(PACK, OTHER, "receivers.0.destination", "Unknown", KNOWN))
    assert talk.say("$new").press_label("✅").specs == [replace(PACK, destination="$new")]
    assert talk.seller.destination == "$new"


def test_refused_units_of_a_request_without_units_lead_to_the_review() -> None:
    gift = replace(PACK, kind="donation", units=None)
    talk = Talk(KNOWN)
    talk.take(reopen(gift, OTHER, "totalUnits", "No", KNOWN))
    assert talk.step == "review"
    assert talk.form.amount == Decimal("2.50")


def test_a_refusal_returns_to_the_form_that_it_interrupted() -> None:
    talk = form_at_step("amount")
    before = talk.draft
    talk.take(reopen(PACK, OTHER, "product.name", "No", talk.seller, current=talk.draft))
    talk.say("Better").press_label("✅")
    assert [spec.name for spec in talk.specs] == ["Better"]
    assert talk.draft == before


def test_the_greeting_names_the_rule_for_digital_goods_to_a_new_seller() -> None:
    rule = "Telegram requires Stars for digital goods"
    first = start_reply(STRANGER, new=True)
    assert rule in check(first)
    assert rule not in check(start_reply(STRANGER, new=False))
    assert actions(first.rows) == [("new",), ("list", "0"), ("help",)]
    assert rule in check(help_reply(STRANGER))


@pytest.mark.parametrize("language", languages())
def test_the_profile_keeps_to_telegrams_limits(language: str) -> None:
    offered = described(language)
    assert [name for name, _ in offered] == [
        *("new", "list", "payments", "find", "donation", "oneoff", "drop", "alerts"),
        *("getpaid", "settings", "bought"),
        *("help", "cancel", "privacy", "paysupport", "start"),
    ]
    assert all(1 <= units(what) <= 256 for _, what in offered)
    assert units(t(language, "bot-description")) <= 512
    assert units(t(language, "bot-short-description")) <= 120


def test_no_text_is_defined_in_two_files() -> None:
    """Fluent takes the last of two without an error."""
    keys = [
        text.split(" =")[0]
        for path in LOCALES.glob("*.ftl")
        for text in path.read_text("utf-8").splitlines()
        if text[:1].isalpha()
    ]
    assert sorted(set(keys)) == sorted(keys)


def test_any_words_without_a_form_are_answered_by_the_menu() -> None:
    talk = Talk(KNOWN).give(MessageInput("x" * 4096))
    assert talk.draft is None
    assert talk.last.startswith("I'm not sure what to do with that.")
    assert ("new",) in talk.offered


@pytest.mark.parametrize(
    ("file", "photo", "step"),
    [
        (Attachment("f1", "document", "a.zip", "application/zip"), None, "review"),
        (Attachment("f2", "document", "a.png", "image/png"), "f2", "review"),
    ],
)
def test_a_file_is_not_asked_about_where_buyers_cannot_get_one(
    file: Attachment, photo: str | None, step: str
) -> None:
    """At another payment service a picture is the photo, and what can't be that is named."""
    seller = replace(KNOWN, paid_at=PayoutService("cloud.handcash.io"))
    sent = Enclosure(photo, file)
    result = one_line("oneoff", "9 EUR E-book", OTHER, seller, sent=sent)
    assert isinstance(result.draft, NewDraft)
    assert (result.draft.step, result.draft.file, result.photo) == (step, None, photo)
    unused = t("en", "file-unused-service")
    assert result.replies[0].text.startswith(unused) == (photo is None)
