"""Amounts that payers choose, in the forms: typed, pressed and shown; not for other servers."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.conversation.actions import help_reply
from bot.chat.forms.form import ExistingRequest, duplicate, edit_form
from bot.chat.forms.one_line import offer_line, one_line
from bot.chat.forms.request_fields import MENU
from bot.chat.forms.shares_and_amounts import read_amounts, usual_choice
from bot.chat.forms.typed_text import Price
from bot.chat.model.drafts import PayoutService, Seller
from bot.chat.model.replies import Problem
from bot.chat.model.request_spec import spelled
from bot.core.money.amounts import currencies, format_money, to_minor
from bot.core.text.translations import languages
from bot.interface.parts import AmountChoice
from tests.support.form_harness import (
    FORM,
    KNOWN,
    OTHER,
    STRANGER,
    Talk,
    form_at_step,
    kind_with,
    new_form,
)
from tests.support.telegram_limits import check, labels

ELSEWHERE = replace(KNOWN, paid_at=PayoutService.at("https://pay.example"))
CHOICE = AmountChoice(500, (500, 1000, 2000))


def line(kind: str, arguments: str, seller: Seller = KNOWN) -> Talk:
    talk = Talk(seller)
    talk.take(one_line(kind, arguments, OTHER, seller))
    return talk


def shown(talk: Talk) -> list[str]:
    return labels(talk.replies[-1].rows)


LINES = [
    ("donation", "5/10/20 EUR Coffee", CHOICE, "EUR", "Coffee"),
    ("oneoff", "5/10/20 EUR Coffee", CHOICE, "EUR", "Coffee"),
    ("drop", "7 5/10/20 EUR Coffee", CHOICE, "EUR", "Coffee"),
    ("donation", "€5/10/20 Coffee", CHOICE, "EUR", "Coffee"),
    ("donation", "€5/10/20 EUR Coffee", CHOICE, "EUR", "Coffee"),
    ("donation", "5 / 10 / 20 EUR Coffee", CHOICE, "EUR", "Coffee"),
    ("donation", "5/10 /20 EUR 1 / 2 price", CHOICE, "EUR", "1 / 2 price"),
    ("donation", "3+ EUR Coffee", AmountChoice(300), "EUR", "Coffee"),
    ("donation", "€3+ Coffee", AmountChoice(300), "EUR", "Coffee"),
    ("donation", "3+ 5/10 EUR Coffee", AmountChoice(300, (500, 1000)), "EUR", "Coffee"),
    ("donation", "€3+ 5/10 Coffee", AmountChoice(300, (500, 1000)), "EUR", "Coffee"),
    ("donation", "3-9 EUR Coffee", AmountChoice(300, (), 900), "EUR", "Coffee"),
    ("donation", "3 - 9 EUR Coffee", AmountChoice(300, (), 900), "EUR", "Coffee"),
    ("donation", "3 \u2013 9 EUR Coffee", AmountChoice(300, (), 900), "EUR", "Coffee"),
    ("donation", "3 -9 5/6 EUR Coffee", AmountChoice(300, (500, 600), 900), "EUR", "Coffee"),
    ("donation", "3- 9 EUR Coffee", AmountChoice(300, (), 900), "EUR", "Coffee"),
    ("donation", "3 + EUR Coffee", AmountChoice(300), "EUR", "Coffee"),
    ("donation", "3 + 5/10 EUR Coffee", AmountChoice(300, (500, 1000)), "EUR", "Coffee"),
    ("donation", "5/10/20 EUR 24/7 Support", CHOICE, "EUR", "24/7 Support"),
    ("donation", "2,50/5 EUR Coffee", AmountChoice(250, (250, 500)), "EUR", "Coffee"),
]


@pytest.mark.parametrize(("kind", "arguments", "choice", "currency", "name"), LINES)
def test_one_line_takes_the_amounts_to_choose_from(
    kind: str, arguments: str, choice: AmountChoice[int], currency: str, name: str
) -> None:
    (spec,) = line(kind, arguments).specs
    assert (spec.choice, spec.currency, spec.name) == (choice, currency, name)
    assert spec.amount == choice.first


NAMES = [
    *("24/7 Support", "3/4 Rohr", "1-1 Coaching", "18+ Party", "2024/25 Saison", "24/7h Hotline"),
    *("12.00-14.00 Lunch", "- 2 cups", "+ Cake", "5 - 10 cups"),
]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_may_begin_like_amounts(name: str) -> None:
    for price in ("5 EUR", "€5"):
        (spec,) = line("oneoff", f"{price} {name}").specs
        assert (spec.amount, spec.choice, spec.name) == (500, None, name)


BAD_LINES = [
    ("5 10 20 EUR Coffee", "Type 5 EUR for one price, or 5/10/20 EUR to let payers choose."),
    ("5 100 EUR Chair", "Type 5100 EUR for one price, or 5/100 EUR to let payers choose."),
    ("1 000 000 EUR Yacht", "Type the amount without spaces, like 1000000 EUR."),
    ("1 000 EUR Chair", "Type the amount without spaces, like 1000 EUR."),
    ("1 000/2 000 EUR Chair", "“1 000/2” can be read in more than one way."),
    ("3+ 5 EUR Coffee", "Suggestions go before the currency, like 3+ 5/10/20 EUR."),
    ("3+ 5 / 10 EUR Coffee", "Suggestions go before the currency, like 3+ 5/10/20 EUR."),
    ("5/10 Coffee", "The currency is missing."),
    ("5/10 EUR", "It needs a name"),
    ("5 EUR 5/10/20", "Suggestions go before the currency"),
    ("5 EUR 5/10/20 EUR Coffee", "Suggestions go before the currency"),
    ("5 EUR 5/10/20 USD Coffee", "Suggestions go before the currency"),
    ("5 EUR 5/10/20 € Coffee", "Suggestions go before the currency"),
    ("5 EUR 5/10/20€ Coffee", "Suggestions go before the currency"),
    ("5 - Coffee", "I don't recognise “-”."),
    ("3+ EUR 5/10 Coffee", "Suggestions go before the currency"),
    ("€5/10 USD Coffee", "Is it EUR or USD?"),
    ("1/2/3/4/5 EUR Coffee", "the limit is 4. Leave some out, like 1/2/3/4 EUR."),
    ("5//10 EUR Coffee", "Type a number and a currency, like 5 EUR."),
    ("1.000/2.000 EUR Coffee", "“1.000” can be read in more than one way."),
]


@pytest.mark.parametrize(("arguments", "answer"), BAD_LINES)
def test_a_line_that_is_unclear_creates_nothing(arguments: str, answer: str) -> None:
    talk = line("donation", arguments)
    assert (talk.specs, talk.draft) == ([], None)
    assert answer in talk.last


def test_a_plain_line_begins_a_form_with_its_choice() -> None:
    talk, begun = Talk(KNOWN), offer_line("5/10/20 EUR Coffee", FORM, KNOWN)
    assert begun
    talk.take(begun)
    assert "👍 Coffee. From €5 · suggested €5, €10, €20." in talk.last
    talk.press("kind", "donation")
    assert "Amount: From €5 · suggested €5, €10, €20" in talk.last
    (spec,) = talk.press_label("✅").specs
    assert spec.choice == CHOICE


def test_a_plain_line_whose_suggestions_are_wrong_is_answered() -> None:
    begun = offer_line("5/5 EUR Coffee", FORM, KNOWN)
    assert begun
    assert "You suggested 5 twice." in begun.replies[0].text


def test_a_plain_line_of_several_bare_numbers_is_asked_about() -> None:
    for text in ("5 10 20 EUR Coffee", "5 100 200 EUR Coffee"):
        begun = offer_line(text, FORM, KNOWN)
        assert begun
        several = "/".join(text.split()[:3])
        words = f"Type 5 EUR for one price, or {several} EUR to let payers choose."
        talk = Talk(KNOWN)
        talk.take(begun)
        assert words in talk.last
    for text in ("5 10 20 people came", "5 10 20"):
        assert offer_line(text, FORM, KNOWN) is None


def test_payers_choose_is_the_first_offer_for_a_donation_alone() -> None:
    seller = replace(KNOWN, prices=((250, "USD"),))
    talk = new_form(seller).press("kind", "donation").say("Coffee")
    assert shown(talk)[:2] == ["💝 Payers choose: $5, $10, $20", "$2.50"]
    assert "Or let payers choose: tap the button below" in talk.last
    talk.press_label("💝")
    assert talk.step == "review"
    assert "Amount: From $1 · suggested $5, $10, $20" in talk.last
    for kind in ("oneoff", "drop"):
        other = new_form(seller).press("kind", kind).say("Coffee")
        assert shown(other)[0] == "$2.50"
        assert "let payers choose" not in other.last
        assert other.say("3+ EUR").form.choice == AmountChoice(Decimal(3))


def test_without_a_usual_currency_payers_choose_after_it() -> None:
    talk = new_form(STRANGER).press("kind", "donation").say("Coffee").press_label("💝")
    assert talk.step == "currency"
    talk.press("currency", "JPY")
    assert talk.step == "amount"
    talk.press_label("💝 Payers choose: ¥500, ¥1,000, ¥2,000")
    choice = AmountChoice(Decimal(100), (Decimal(500), Decimal(1000), Decimal(2000)))
    assert talk.form.choice == choice


def test_a_typed_choice_waits_for_its_currency() -> None:
    talk = new_form(STRANGER).press("kind", "donation").say("Coffee", "2.50/5")
    assert (talk.step, talk.form.amount) == ("currency", Decimal("2.50"))
    talk.say("JPY")
    assert talk.step == "amount"
    assert "JPY has no decimals" in talk.last
    assert talk.form.choice is None
    talk.say("2.50/5 EUR")
    assert talk.form.choice == AmountChoice(Decimal("2.50"), (Decimal("2.50"), Decimal(5)))


def test_a_fixed_price_takes_the_place_of_a_choice() -> None:
    talk = form_at_step("review", "donation").press("open", "amount").say("5/10 EUR")
    assert "✓ Amount: €5, €10" in shown(talk)
    talk.press("open", "amount").say("7 EUR")
    assert talk.form.choice is None
    assert "✓ Amount: €7.00" in shown(talk)


def test_a_duplicate_has_the_choice() -> None:
    (spec,) = line("donation", "3+ 5/10 EUR Coffee").specs
    talk = Talk(KNOWN)
    talk.take(duplicate(spec, OTHER, KNOWN))
    assert talk.press_label("✅").specs == [spec]
    elsewhere = Talk(ELSEWHERE)
    elsewhere.take(duplicate(spec, OTHER, ELSEWHERE))
    assert elsewhere.press_label("✅").specs == [replace(spec, choice=None)]


@pytest.mark.parametrize("arguments", ["5/10 EUR Coffee", "3+ EUR Coffee", "€3+ 5/10 Coffee"])
def test_another_service_is_named_as_the_reason(arguments: str) -> None:
    reason = "Payers can't choose the amount here"
    talk = line("donation", arguments, ELSEWHERE)
    assert talk.specs == []
    assert reason in talk.last
    offered = offer_line(arguments, FORM, ELSEWHERE)
    assert offered
    assert reason in offered.replies[0].text
    typed = new_form(ELSEWHERE).press("kind", "donation").say("Coffee")
    assert not [label for label in shown(typed) if label.startswith("💝")]
    assert "let payers choose" not in typed.last
    assert reason in typed.say("5/10 EUR").last
    assert typed.step == "amount"


def test_another_service_is_offered_none_of_what_only_ours_has() -> None:
    embedded = [field for field in MENU if field.needs_embedded]
    for field in embedded:
        talk = form_at_step("review", kind_with(field))
        talk.seller = ELSEWHERE
        talk.press("options")
        offered = {words[3] for words in talk.offered if words[2:3] == ("open",)}
        assert offered.isdisjoint(each.name for each in embedded)
        assert talk.press("open", field.name).step == "options"


def test_shares_are_said_to_follow_the_amount_that_a_payer_chooses() -> None:
    talk = form_at_step("review", "donation").press("open", "receivers")
    assert "grows or shrinks" not in talk.say("$anna 60%\n$ben rest").last
    talk.press("open", "amount").say("5/10 USD").press("open", "receivers")
    assert "each share grows or shrinks with it" in talk.last
    assert "each share grows or shrinks with it" in talk.press("options").press("done").last


def test_help_names_the_choice_where_it_works() -> None:
    assert "/donation 5/10/20 EUR" in check(help_reply(KNOWN))
    assert "5/10/20" not in check(help_reply(ELSEWHERE))


def test_an_ambiguous_goal_is_asked_about() -> None:
    talk = form_at_step("review", "donation").press("open", "goal").say("1.000")
    assert talk.form.goal is None
    assert shown(talk)[:2] == ["$1.00", "$1,000.00"]
    pressed = talk.offered[1]
    talk.press_label("$1,000.00")
    assert talk.form.goal == 100_000
    assert "👍 Goal: $1,000" in talk.last
    assert talk.press(*pressed[2:]).toast


def test_an_ambiguous_goal_of_an_edit_is_asked_about() -> None:
    (spec,) = line("donation", "5 EUR Coffee").specs
    talk = Talk(KNOWN)
    talk.take(edit_form(OTHER, ExistingRequest("abcdefghij", spec), "goal", KNOWN))
    talk.say("2.000").press_label("€2,000.00")
    assert [change.value for change in talk.changes] == [200_000]


def test_a_goal_is_in_the_currency_of_the_price() -> None:
    talk = form_at_step("review", "donation").press("open", "goal").say("1000 EUR")
    assert "The price is in USD, so the goal must be too." in talk.last
    talk.say("1000").press("open", "amount").say("7 USD")
    assert talk.form.goal == 100_000
    talk.press("open", "amount").say("7 EUR")
    assert talk.form.goal is None
    assert (
        "Your goal was in USD and the price isn't any more, so I've removed the goal." in talk.last
    )


def test_what_the_new_kind_lacks_is_left_out() -> None:
    talk = form_at_step("review", "donation").press("open", "goal").say("1000").press("done")
    for _ in range(5):
        talk.press("back", talk.step or "")
        if talk.step == "kind":
            break
    talk.press("kind", "oneoff")
    assert talk.form.goal is None


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("0", "I need a whole number"), ("two", "I need a whole number"),
        ("101", "the limit is 100 items."),
        ("9999999", "the limit is 100 items."),
        ("1", "Each purchase is for one item."), ("2", "Per purchase: up to 2 items"),
        ("100", "Per purchase: up to 100 items"),
    ],
)  # fmt: skip
def test_items_per_buyer_are_one_to_a_hundred(text: str, answer: str) -> None:
    talk = form_at_step("review").press("open", "perbuyer").say(text)
    assert answer in talk.last


def test_thanks_keep_their_line_breaks() -> None:
    talk = (
        form_at_step("review", "oneoff").press("open", "thanks").say("Thank you!\n  See   you\n\n")
    )
    assert talk.form.thanks == "Thank you!\nSee you"
    talk.press("open", "thanks").say("x" * 501)
    assert "That's 501 characters; the limit is 500." in talk.last


# Amounts to choose from, as they are typed: read exactly, or asked about.


CHOICES = [
    ("5/10/20 EUR", "5", ["5", "10", "20"], None, "EUR"),
    ("20/5/10 EUR", "5", ["20", "5", "10"], None, "EUR"),
    ("€5/10/20", "5", ["5", "10", "20"], None, "EUR"),
    ("5/10/20€", "5", ["5", "10", "20"], None, "EUR"),
    ("5€/10€/20 EUR", "5", ["5", "10", "20"], None, "EUR"),
    ("EUR 5 / 10 / 20", "5", ["5", "10", "20"], None, "EUR"),
    ("3+ EUR", "3", [], None, "EUR"),
    ("€3+", "3", [], None, "EUR"),
    ("3€+", "3", [], None, "EUR"),
    ("3 EUR +", "3", [], None, "EUR"),
    ("3+ 5/10/20 EUR", "3", ["5", "10", "20"], None, "EUR"),
    ("€3+ €5/10", "3", ["5", "10"], None, "EUR"),
    ("3+5/10 EUR", "3", ["5", "10"], None, "EUR"),
    ("3-500 EUR", "3", [], "500", "EUR"),
    ("3-10 3/10 EUR", "3", ["3", "10"], "10", "EUR"),
    ("€3 – €500", "3", [], "500", "EUR"),
    ("3-500 5/10 EUR", "3", ["5", "10"], "500", "EUR"),
    ("2.50/5 EUR", "2.50", ["2.50", "5"], None, "EUR"),
    ("2,50/5,00 €", "2.50", ["2.50", "5.00"], None, "EUR"),
    ("$.50/1", "0.50", ["0.50", "1"], None, "USD"),
    ("$5/10 MXN", "5", ["5", "10"], None, "MXN"),
    ("10'000/20'000 CHF", "10000", ["10000", "20000"], None, "CHF"),
    ("٥/١٠ EUR", "5", ["5", "10"], None, "EUR"),
    ("５／１０ EUR", "5", ["5", "10"], None, "EUR"),
    ("0.001/0.002 BTC", "0.001", ["0.001", "0.002"], None, "BTC"),
    ("5/10/20", "5", ["5", "10", "20"], None, None),
]


@pytest.mark.parametrize(("text", "minimum", "suggested", "maximum", "currency"), CHOICES)
def test_amounts_with_slashes_plus_or_dash_are_a_choice(
    text: str, minimum: str, suggested: list[str], maximum: str | None, currency: str | None
) -> None:
    price = read_amounts(text, None)
    assert isinstance(price, Price)
    assert price.choice
    amounts = [Decimal(each) for each in suggested]
    assert [*price.choice.suggested] == amounts
    assert price.choice.minimum == Decimal(minimum)
    assert price.choice.maximum == (maximum and Decimal(maximum))
    assert (price.amount, price.currency) == ((*amounts, Decimal(minimum))[0], currency)


def test_a_currency_that_is_not_named_is_the_usual_one() -> None:
    price = read_amounts("5/10", "EUR")
    assert isinstance(price, Price)
    assert price.currency == "EUR"


PROBLEMS = [
    ("5 10 20 EUR", "problem-choice-bare"),
    ("5, 10, 20 EUR", "problem-choice-bare"),
    ("1 000/2 000 EUR", "problem-choice-bare"),
    ("5 + 10 EUR", "problem-choice-bare"),
    ("3+ 5 EUR", "problem-choice-bare"),
    ("1/2/3/4/5 EUR", "problem-choice-many"),
    ("5/10/5 EUR", "problem-choice-twice"),
    ("5/5.00 EUR", "problem-choice-twice"),
    ("5+ 3/10 EUR", "problem-choice-low"),
    ("3-10 5/20 EUR", "problem-choice-high"),
    ("10-3 EUR", "problem-choice-range"),
    ("3-3 EUR", "problem-choice-range"),
    ("€5/$10", "problem-choice-mixed"),
    ("5 EUR/10 USD/20 GBP", "problem-choice-mixed"),
    ("1.000/2.000 EUR", "problem-choice-unclear"),
    ("5.001/10 EUR", "problem-choice-unclear"),
    ("5/10 foo", "problem-currency"),
    ("5/10 kr", "problem-currency"),
    ("0/5 EUR", "problem-amount-notPositive"),
    ("-5/10 EUR", "problem-amount-notPositive"),
    ("5/2000000000 EUR", "problem-amount-tooLarge"),
    ("2.5555/5 EUR", "problem-amount-decimals"),
    ("1/2.5 JPY", "problem-amount-decimals"),
    ("5²/10 EUR", "problem-amount"),
    ("5//10 EUR", "problem-amount"),
    ("/5 EUR", "problem-amount"),
]


@pytest.mark.parametrize(("text", "key"), PROBLEMS)
def test_any_other_amounts_are_asked_about(text: str, key: str) -> None:
    problem = read_amounts(text, None)
    assert isinstance(problem, Problem)
    assert problem.key == key
    for language in languages():
        assert problem.text(language).startswith("⚠")


FIXED = ["5 EUR", "€5", "1 000 EUR", "500/- INR", "500/= KES", "5,- EUR", "12€50"]


@pytest.mark.parametrize("text", FIXED)
def test_a_price_stays_one_price(text: str) -> None:
    price = read_amounts(text, None)
    assert isinstance(price, Price)
    assert price.choice is None


@pytest.mark.parametrize("currency", sorted(currencies()))
def test_the_usual_choice_of_each_currency_is_sound(currency: str) -> None:
    choice = usual_choice(currency)
    assert choice.is_sound
    assert len(choice.suggested) == 3
    assert [format_money(to_minor(each, currency), currency, "en") for each in choice.amounts]


@given(st.sets(st.decimals("0.01", "999", places=2), min_size=1, max_size=6), st.booleans())
def test_a_choice_is_read_as_it_is_spelled(amounts: set[Decimal], has_maximum: bool) -> None:  # noqa: FBT001
    minimum, *rest = sorted(amounts)
    maximum = rest.pop() if has_maximum and rest else None
    suggested = () if len(rest) == 1 else (*rest[:4],)
    choice = AmountChoice(minimum, suggested, maximum)
    price = read_amounts(f"{spelled(choice)} EUR", None)
    assert price == Price(choice.first, "EUR", choice)


@given(st.text(st.sampled_from("0159.,/+- €$EURk'\u066b٣٤/½²\n"), max_size=40))
def test_whatever_is_typed_is_read_or_asked_about(text: str) -> None:
    found = read_amounts(text, "EUR")
    if isinstance(found, Price) and found.choice:
        assert found.choice.is_sound
        assert found.choice.first == found.amount
