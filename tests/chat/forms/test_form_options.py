"""The options of a request: each one's answers, buttons and ways out."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from bot.chat.forms.flow import FormResult
from bot.chat.forms.form import take_picture
from bot.chat.forms.request_fields import OPTIONS
from bot.chat.model.drafts import Seller
from bot.chat.model.request_spec import PAYER_FIELDS, Share
from bot.interface.parts import AmountChoice
from tests.support.form_harness import (
    BERLIN,
    FORM,
    KNOWN,
    NOW,
    ButtonInput,
    MessageInput,
    Talk,
    form_at_step,
    new_form,
    open_option,
)
from tests.support.telegram_limits import labels

SETTLED = replace(KNOWN, zone=BERLIN)
HOUR = 3_600_000


def shown(talk: Talk) -> list[str]:
    return labels(talk.replies[-1].rows)


def test_the_review_leads_to_the_options_and_back() -> None:
    talk = form_at_step("review", "donation").press_label("⚙")
    assert talk.last.startswith("Anything else?")
    assert shown(talk)[:2] == ["✓ Name: Coffee", "✓ Amount: $5.00"]
    assert "Quantity" not in " ".join(shown(talk))
    assert "✓ Quantity: 10" in shown(form_at_step("review").press_label("⚙"))
    talk.press_label("✅ Done")
    assert (talk.step, talk.form.in_menu) == ("review", False)


@pytest.mark.parametrize("step", [*OPTIONS, "name", "amount", "units"])
def test_each_option_can_be_left_by_back_and_by_cancel(step: str) -> None:
    talk = open_option(step, seller=SETTLED)
    assert talk.step == step
    assert not talk.last.startswith("Step")
    talk.press_label("⬅")
    assert talk.step == "options"
    talk.press("open", step).press_label("✖")
    assert (talk.draft, talk.last) == (None, "Cancelled. Nothing was created.")


@pytest.mark.parametrize("step", OPTIONS)
def test_each_option_can_be_skipped(step: str) -> None:
    talk = open_option(step, seller=SETTLED)
    before = replace(talk.form, step="options")
    assert talk.press_label("Skip").draft == before


SAID = [
    ("name", "Tea", "name", "Tea", "👍 Name: Tea"),
    ("amount", "7,50 €", "currency", "EUR", "👍 Amount: €7.50"),
    ("units", "12", "units", 12, "👍 Quantity: 12"),
    ("description", "Two\nlines", "description", "Two lines", "👍 Description: Two lines"),
    ("instrument", "bsv", "instrument", "BSV", "👍 Paid in: BSV"),
    ("redirect", "https://a.example/b?c=<d", None, None, "⚠ That isn't a web address I can use."),
    (
        "redirect", " https://a.example/b?c=d&e ", "redirect_url", "https://a.example/b?c=d&e",
        "👍 After payment: https://a.example/b?c=d&e",
    ),
    ("redirect", "myapp://paid", "redirect_url", "myapp://paid", "👍 After payment: myapp://paid"),
    ("redirect", "javascript:alert(1)", None, None, "⚠ That isn't a web address I can use."),
    (
        "redirect", "example.org/thanks", "redirect_url", "https://example.org/thanks",
        "👍 After payment: https://example.org/thanks",
    ),
    (
        "redirect", "bücher.example:8443/a?b=c.d", "redirect_url",
        "https://bücher.example:8443/a?b=c.d", "👍 After payment: https://",
    ),
    ("redirect", "", None, None, "⚠ I need a web address, like https://example.org/thanks."),
    ("redirect", "\u200b", None, None, "⚠ I need a web address"),
    ("redirect", "thanks", None, None, "⚠ That isn't a web address I can use."),
    ("redirect", "1.5", None, None, "⚠ That isn't a web address I can use."),
    ("redirect", "anna@example.org", None, None, "⚠ That isn't a web address I can use."),
    ("redirect", "example.org/two words", None, None, "⚠ That isn't a web address I can use."),
    ("redirect", "example.org/" + "x" * 2037, None, None, "⚠ That's 2,057"),
    ("redirect", "localhost:8080", None, None, "⚠ That isn't a web address I can use."),
    (
        "redirect", "com.example.app:/paid", "redirect_url", "com.example.app:/paid",
        "👍 After payment: com.example.app:/paid",
    ),
    ("redirect", "https://a.example/\u200dx", None, None, "⚠ That isn't a web address I can use."),
    (
        "redirect", "\ufeffＨttps://a．example\u200b/\u202e", "redirect_url", "Https://a.example/",
        "👍 After payment: Https://a.example/",
    ),
    ("redirect", "https://a.example/" + "x" * 2031, None, None, "⚠ That's 2,049"),
    ("email", "anna@example.org", "email", "anna@example.org", "👍 Payment emails go to: anna"),
    ("email", " ", None, None, "⚠ I need an email address, like anna@example.org."),
    ("email", "anna at home", None, None, "⚠ That isn't an email address."),
    ("email", "x" * 65 + "@example.org", None, None, "⚠ That isn't an email address."),
    ("description", "\u200d", None, None, "⚠ I couldn't find any text in that."),
    ("description", "x" * 501, None, None, "⚠ That's 501 characters; the limit is 500."),
    ("instrument", "nonsense", None, None, "⚠ I don't recognise “nonsense”."),
    ("picture", "a photo", None, None, "⚠ I need a photo here."),
    ("asks", "all", None, None, "Please tap one of the buttons below."),
    ("options", "more", None, None, "Please tap one of the buttons below."),
]  # fmt: skip


@pytest.mark.parametrize(("step", "said", "field", "value", "answer"), SAID)
def test_an_answer_is_repeated_above_the_options_and_a_wrong_one_asked_again(
    step: str, said: str, field: str | None, value: object, answer: str
) -> None:
    talk = form_at_step("review").press("options") if step == "options" else open_option(step)
    before = talk.draft
    talk.say(said)
    assert talk.last.startswith(answer)
    if field is None:
        assert talk.draft == before
    else:
        assert (talk.step, getattr(talk.form, field)) == ("options", value)
        assert "Anything else?" in talk.last


def test_an_option_that_is_set_can_be_removed() -> None:
    talk = open_option("email").say("anna@example.org").press_label("✓ Payment emails: anna@")
    assert "Payment emails go to: anna@example.org" in talk.last
    assert talk.press_label("🗑").form.email is None
    assert "Payment emails" in shown(talk)


def test_the_currency_of_the_price_unsets_the_instrument() -> None:
    talk = open_option("instrument").press_label("BSV")
    assert talk.form.instrument == "BSV"
    talk.press("open", "instrument").say("USD")
    assert talk.form.instrument is None
    talk.press("instrument", "EUR").press("open", "amount").say("5 EUR")
    assert (talk.form.currency, talk.form.instrument) == ("EUR", None)


def test_each_payer_field_is_switched_on_and_off() -> None:
    talk = open_option("asks").press("ask", "paymail", "on").press("ask", "email", "on")
    assert (talk.step, talk.form.payer_fields) == ("asks", ("email", "paymail"))
    assert shown(talk)[:3] == ["✓ Email", "Phone", "✓ Paymail"]
    talk.press("ask", "email", "on")
    assert talk.form.payer_fields == ("email", "paymail")
    talk.press_label("✓ Email").press_label("✅ Done")
    assert talk.step == "options"
    assert "✓ Payer details: Paymail" in shown(talk)


def test_the_last_prices_are_one_tap_away() -> None:
    seller = Seller("en", "$anna", "USD", prices=((250, "USD"), (1000, "JPY"), (5, "XXX")))
    talk = new_form(seller).press("kind", "oneoff").say("Coffee")
    assert shown(talk)[:2] == ["$2.50", "¥1,000"]
    talk.press_label("¥1,000")
    assert (talk.step, talk.form.currency) == ("review", "JPY")


def test_the_zone_is_asked_for_once_before_a_time() -> None:
    talk = open_option("starts")
    assert "Which time zone are you in?" in talk.last
    talk.say("nowhere at all").say("Berlin")
    assert (talk.step, talk.seller.zone) == ("starts", BERLIN)
    assert talk.last.startswith("Saved. Your time zone is Berlin (UTC+1).")
    talk.say("tomorrow 18:00")
    assert talk.form.starts_at == NOW + 33 * HOUR
    assert talk.last.startswith("👍 Opens: Saturday, 16 January 2027, 18:00, Berlin time (in 33 h)")
    talk.press("open", "ends").say("20.1.")
    assert "👍 Ends: Wednesday, 20 January 2027, 23:59, Berlin time (in 5 days)" in talk.last


def test_a_zone_is_pressed_or_chosen_from_several() -> None:
    talk = open_option("ends").press_label("New York")
    assert (talk.step, talk.seller.zone) == ("ends", "America/New_York")
    other = open_option("ends").say("CET")
    assert "Which one do you mean?" in other.last
    assert other.press_label("Rome").seller.zone == "Europe/Rome"


def test_an_ambiguous_time_is_asked_about() -> None:
    talk = open_option("ends", seller=SETTLED)
    before = talk.draft
    talk.say("3/4")
    assert talk.draft == before
    assert "Which time do you mean?" in talk.last
    chosen = talk.offered[0]
    assert chosen[:4] == ("draft", FORM, "moment", "ends")
    talk.give(ButtonInput(chosen))
    assert (talk.step, talk.form.ends_at) == ("options", int(chosen[4]))


@pytest.mark.parametrize(
    ("step", "said", "answer"),
    [
        ("starts", "yesterday", "⚠"),
        ("starts", "2020-01-01", "⚠ That's in the past: Wednesday, 1 January 2020"),
        ("ends", "whenever", "⚠ I couldn't find a time in that."),
        ("starts", "in 11 years", "⚠"),
    ],
)
def test_an_impossible_time_is_asked_for_again(step: str, said: str, answer: str) -> None:
    talk = open_option(step, seller=SETTLED)
    before = talk.draft
    talk.say(said)
    assert talk.draft == before
    assert talk.last.startswith(answer)


def test_the_end_follows_the_start() -> None:
    talk = open_option("starts", seller=SETTLED).say("tomorrow 18:00")
    talk.press("open", "ends").say("tomorrow 18:00")
    assert (talk.step, talk.form.ends_at) == ("ends", None)
    assert "⚠ It would end before it opens." in talk.last
    talk.say("tomorrow 18:01").press("open", "starts").say("tomorrow 20:00")
    assert "⚠ It would open after it ends." in talk.last
    assert talk.form.starts_at == NOW + 33 * HOUR


def test_an_end_that_passed_before_create_is_asked_for_again() -> None:
    talk = open_option("ends", seller=SETTLED).say("in 1 h").press("done")
    talk.now = NOW + HOUR
    talk.press_label("✅")
    assert (talk.specs, talk.step) == ([], "ends")
    assert "⚠ That's in the past" in talk.last
    talk.say("in 1 h").press_label("✅")
    assert [spec.ends_at for spec in talk.specs] == [NOW + 2 * HOUR]


def test_a_start_that_passed_before_create_is_dropped() -> None:
    talk = open_option("starts", seller=SETTLED).say("in 1 h").press("done")
    talk.now = NOW + HOUR
    talk.press_label("✅")
    assert [spec.starts_at for spec in talk.specs] == [None]


def full() -> Talk:
    """A talk whose form has every option, at its review."""
    talk = open_option("description", seller=SETTLED).say("Warm")
    talk.press("open", "instrument").press("instrument", "BSV")
    talk.press("open", "receivers").say("$anna 60%\n$ben 40%")
    talk.press("open", "starts").say("tomorrow 18:00")
    talk.press("open", "ends").say("in 3 days")
    talk.press("open", "asks").press("ask", "email", "on").press("options")
    talk.press("open", "redirect").say("https://a.example/b")
    talk.press("open", "email").say("anna@example.org")
    talk.give(MessageInput("", photo="file"))
    talk.take(pictured_as(talk, "0" * 24))
    return talk.press("done")


def pictured_as(talk: Talk, image: str | None, problem: str | None = None) -> FormResult:
    return take_picture(talk.draft, talk.photos[-1].draft_id, image, problem, talk.seller)


def test_the_review_shows_all_fields_of_the_spec() -> None:
    talk = full()
    assert talk.last.splitlines()[3:] == [
        "Name: Coffee",
        "Type: Limited drop",
        "Amount: $5.00",
        "Paid in: BSV",
        "Quantity: 10",
        "Description: Warm",
        "Photo added ✓",
        "Each payment is split:",
        "• $anna $3.00",
        "• $ben $2.00",
        "Opens: Saturday, 16 January 2027, 18:00, Berlin time",
        "Ends: Monday, 18 January 2027, 09:00, Berlin time",
        "Payers are asked for: Email",
        "After payment: https://a.example/b",
        "Payment emails go to: anna@example.org",
    ]
    (spec,) = talk.press_label("✅").specs
    assert spec.receivers == (Share("$anna", 300, "60%"), Share("$ben", 200, "40%"))
    assert (spec.description, spec.instrument, spec.image) == ("Warm", "BSV", "0" * 24)
    assert (spec.starts_at, spec.ends_at) == (NOW + 33 * HOUR, NOW + 72 * HOUR)
    assert (spec.payer_fields, spec.redirect_url) == (("email",), "https://a.example/b")
    assert spec.email == "anna@example.org"


def test_the_review_says_where_the_receipt_comes_before_the_web_address() -> None:
    """Payers must see what they bought and the seller's thanks."""
    first = "Payers see their receipt first, with a button that takes them to your web address."
    talk = open_option("redirect").say("https://a.example/b").press("done")
    assert "After payment: https://a.example/b" in talk.last
    assert first not in talk.last
    talk.press("options").press("open", "thanks").say("See you on Friday").press("done")
    assert f"After payment: https://a.example/b\n{first}" in talk.last
    talk.press("options").press("clear", "redirect").press("done")
    assert first not in talk.last


CHANGED = [
    {"description": "Hot"}, {"instrument": "BTC"}, {"image": "1" * 24}, {"receivers": ()},
    {"starts_at": None}, {"ends_at": None}, {"payer_fields": PAYER_FIELDS}, {"redirect_url": None},
    {"email": "ben@example.org"}, {"units": 11}, {"name": "Tea"}, {"kind": "donation"},
    {"amount": Decimal(6)}, {"choice": AmountChoice(Decimal(5))},
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGED, ids=lambda change: next(iter(change)))
def test_an_old_create_button_creates_nothing_once_a_field_has_changed(
    change: dict[str, object],
) -> None:
    talk = full()
    create = talk.offered[0]
    talk.draft = replace(talk.form, **change)
    talk.give(ButtonInput(create))
    assert (talk.specs, talk.step) == ([], "review")
    assert talk.toast == "The form has changed since then. Please check it again."


def test_a_photo_sets_the_picture_at_any_step() -> None:
    talk = form_at_step("amount").give(MessageInput("look", photo="file"))
    assert [(photo.file_id, photo.draft_id) for photo in talk.photos] == [("file", FORM)]
    assert (talk.step, talk.toast) == ("amount", None)
    talk.take(pictured_as(talk, "0" * 24))
    assert (talk.step, talk.form.image) == ("amount", "0" * 24)
    assert talk.last.startswith("👍 Photo added.\n\nStep 3 of 5")


def test_a_photo_answers_its_question_and_a_bad_one_is_asked_for_again() -> None:
    talk = open_option("picture").give(MessageInput("", photo="file"))
    talk.take(pictured_as(talk, None, "photo-tooSmall"))
    assert (talk.step, talk.form.image) == ("picture", None)
    assert "too small" in talk.last
    talk.take(pictured_as(talk, "0" * 24))
    assert (talk.step, talk.form.image) == ("options", "0" * 24)
    assert talk.last.startswith("👍 Photo added ✓")
    assert "✓ Photo: added" in shown(talk)


def test_a_photo_for_a_form_that_has_ended_gets_no_reply() -> None:
    talk = form_at_step("amount").give(MessageInput("", photo="file")).press("cancel")
    before = len(talk.replies)
    talk.take(pictured_as(talk, "0" * 24))
    assert (talk.draft, len(talk.replies)) == (None, before)


@pytest.mark.parametrize(
    "action",
    [
        ("open", "kind"), ("open", "zone"), ("open",), ("clear", "name"), ("clear", "end"),
        ("instrument", "XXX"), ("ask", "name", "on"), ("ask", "email"), ("zone", "Mars/Base"),
        ("moment", "ends", "99999999999999"), ("moment", "end", "1800000060000"),
        ("moment", "ends", "x"), ("hours", "1-2"), ("minute", "5"), ("off", "quiet"),
        ("kind",), ("kind", "gift"), ("amount",), ("amount", "NaN"), ("amount", "5", "XXX"),
        ("currency", "XXX"), ("back", "nowhere"), ("fly",),
    ],
    ids=":".join,
)  # fmt: skip
def test_a_button_that_makes_no_sense_changes_nothing(action: tuple[str, ...]) -> None:
    talk = form_at_step("review", "donation")
    talk.seller = SETTLED
    before = talk.draft
    talk.press(*action)
    assert (talk.draft, talk.seller) == (before, SETTLED)
    assert talk.toast


@pytest.mark.parametrize(
    "action", [("options",), ("open", "email"), ("ask", "email", "on"), ("done",)], ids=":".join
)
def test_the_options_are_reached_only_after_the_path(action: tuple[str, ...]) -> None:
    talk = form_at_step("amount")
    talk.press(*action)
    assert talk.step == "amount"
