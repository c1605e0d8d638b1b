"""Split payments: parsed, given shares to the last minor unit, or asked about."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.forms.form import duplicate
from bot.chat.forms.shares_and_amounts import divide_price, read_portions, total_of_amounts
from bot.chat.model.drafts import Portion
from bot.chat.model.replies import Problem
from bot.chat.model.request_spec import RequestSpec, Share
from tests.support.form_harness import KNOWN, OTHER, Talk, form_at_step, open_option
from tests.support.telegram_limits import labels

SHARED = [
    ("$anna 60%\n$ben 40%", 500, [300, 200]),
    ("$anna 60 %; $ben 40 %", 500, [300, 200]),
    ("$anna: 60%, $ben: 40%", 500, [300, 200]),
    ("$anna 3\n$ben 2", 500, [300, 200]),
    ("$anna $3\r\n$ben 2 USD", 500, [300, 200]),
    ("$anna 2,50\n$ben 2,50", 500, [250, 250]),
    ("$anna\n$ben", 501, [251, 250]),
    ("$anna,$ben,$cleo", 1000, [334, 333, 333]),
    ("$anna 33,3%\n$ben 66.7%", 1000, [333, 667]),
    ("$anna 33.333%\n$ben rest", 1000, [333, 667]),
    ("$anna 33.3333%\n$ben 33.3333%\n$cleo 33.3334%", 1, None),
    ("$anna 1.50\n$ben Rest", 500, [150, 350]),
    ("$anna rest\n$ben 1.50", 500, [350, 150]),
    ("$anna 10%\n$ben 10%\n$cleo the rest", 505, [51, 50, 404]),
    ("$anna 50%\n\n  \n$ben 50%\n", 1, None),
    ("$anna 1\n$ben 2", 500, None),
    ("$anna 5\n$ben rest", 500, None),
    ("$anna 60%\n$ben 60%", 500, None),
    ("$anna 60%\n$ben 30%", 500, None),
    ("$anna 100%\n$ben rest", 500, None),
    ("$anna 60%\n$ben 2", 500, None),
    ("$anna 60%\n$ben", 500, None),
    ("$anna\n$ben rest", 500, None),
    ("$anna rest\n$ben rest", 500, None),
]


@pytest.mark.parametrize(("typed", "price", "expected"), SHARED)
def test_shares_sum_to_the_price_or_a_problem_names_the_reason(
    typed: str, price: int, expected: list[int] | None
) -> None:
    portions = read_portions(typed, "USD")
    assert isinstance(portions, tuple)
    shares = divide_price(portions, price, "USD")
    assert [s.amount for s in shares] == expected if isinstance(shares, tuple) else not expected


REFUSED = [
    ("", "few"), ("$anna", "few"), ("$anna 60%", "few"), (" \n;,", "few"),
    ("\n".join(f"$a{number}" for number in range(1001)), "many"),
    ("$anna 60%\n$ANNA 40%", "twice"),
    ("$anna 0%\n$ben 100%", "percent"), ("$anna 101%\n$ben 1%", "percent"),
    ("$anna x%\n$ben 1%", "percent"), ("$anna 1.00001%\n$ben 1%", "percent"),
    ("$anna 5 USD%\n$ben 1%", "percent"),
    ("$anna 3 EUR\n$ben 2", "currency"),
    ("$anna 1.000\n$ben 2", "unclear"),
]  # fmt: skip


@pytest.mark.parametrize(("typed", "why"), REFUSED)
def test_unreadable_receivers_are_asked_for_again(typed: str, why: str) -> None:
    problem = read_portions(typed, "USD")
    assert isinstance(problem, Problem)
    assert problem.key == f"problem-receivers-{why}"
    talk = open_option("receivers")
    before = talk.draft
    talk.say(typed)
    assert talk.draft == before
    assert "Who shares each payment of $5.00?" in talk.last


@pytest.mark.parametrize("typed", ["$anna lots\n$ben 2", "$anna -1\n$ben 2", "$anna 0\n$ben 5"])
def test_an_impossible_amount_of_a_receiver_is_refused(typed: str) -> None:
    assert isinstance(read_portions(typed, "USD"), Problem)


@pytest.mark.parametrize(
    "named",
    ["account:seller-888", "Account:seller-888:", "ａｃｃｏｕｎｔ：seller-888", "acc\u200bount:x"],
)
def test_no_receiver_is_the_account_of_another_seller(named: str) -> None:
    """Nor in a form or a finished request that an earlier version stored."""
    problem = read_portions(f"$ben 60%\n{named} 40%", "USD")
    assert problem == Problem("problem-destination-account")
    stored = replace(
        form_at_step("review", "donation").form,
        receivers=(Portion("$ben", "60%"), Portion(named, "40%")),
    )
    talk = Talk(KNOWN, draft=stored).press("create", "00000000")
    assert talk.step == "receivers"
    shares = (Share("$ben", 300, "60%"), Share(named, 200, "40%"))
    spec = RequestSpec("donation", "Coffee", None, 500, "USD", None, "$anna", shares)
    again = Talk(KNOWN)
    again.take(duplicate(spec, OTHER, KNOWN))
    assert again.step == "receivers"
    assert "can't start with “account:”" in again.last
    assert again.specs == talk.specs == []


def test_receivers_are_repeated_with_their_amounts() -> None:
    talk = open_option("receivers").say("$anna 60%\n$ben 40%")
    assert talk.last.splitlines()[:3] == [
        "👍 Each payment is split:", "• $anna $3.00", "• $ben $2.00",
    ]  # fmt: skip
    assert talk.step == "options"


def test_only_the_problem_of_the_last_answer_is_shown() -> None:
    talk = open_option("receivers").say("$anna 60%\n$ben 50%")
    assert "add up to 110%" in talk.last
    talk.say("$anna 60/40")
    assert "I found only one receiver" in talk.last
    assert talk.last.count("⚠") == 1


def test_amounts_that_miss_the_price_can_become_the_price() -> None:
    talk = open_option("receivers").say("$anna 3\n$ben 3")
    assert talk.step == "receivers"
    assert "⚠ These amounts add up to $6.00, but the price is $5.00." in talk.last
    assert labels(talk.replies[-1].rows)[:2] == ["Set price to $6.00", "🗑 Remove"]
    talk.press_label("Set price to")
    assert (talk.step, talk.form.amount) == ("options", Decimal("6.00"))


def test_amounts_that_miss_the_price_can_be_typed_again_or_removed() -> None:
    talk = open_option("receivers").say("$anna 3\n$ben 3").say("$anna 3\n$ben 2")
    assert talk.step == "options"
    talk = open_option("receivers").say("$anna 3\n$ben 3").press_label("🗑")
    assert (talk.step, talk.form.receivers) == ("options", ())


def test_nothing_is_created_while_the_receivers_miss_the_price() -> None:
    """Back and Done leave the question, but the review asks it again."""
    talk = open_option("receivers").say("$anna 3\n$ben 3")
    create = ("create", "00000000")
    assert talk.press(*create).step == "receivers"
    assert talk.press_label("⬅").step == "options"
    assert talk.press_label("✅ Done").step == "receivers"
    assert talk.press_label("⬅").press_label("⬅").step == "units"
    assert talk.specs == []


def test_after_a_new_price_percentages_stay_and_amounts_are_asked_for_again() -> None:
    percent = (
        open_option("receivers").say("$anna 60%\n$ben 40%").press("open", "amount").say("7 USD")
    )
    assert percent.step == "options"
    (spec,) = percent.press("done").press_label("✅").specs
    assert spec.receivers == (Share("$anna", 420, "60%"), Share("$ben", 280, "40%"))
    amounts = open_option("receivers").say("$anna 3\n$ben 2").press("open", "amount").say("7 USD")
    assert amounts.step == "receivers"
    assert "These amounts add up to $5.00, but the price is $7.00." in amounts.last


def test_a_receiver_whose_share_is_0_is_asked_about() -> None:
    talk = open_option("receivers").say("$anna 99.99%\n$ben 0.01%")
    assert talk.step == "receivers"
    assert "⚠ $ben would get nothing at this price." in talk.last


def test_receivers_that_do_not_fit_into_a_message_are_counted() -> None:
    names = [f"a{number}" + "x" * 30 for number in range(100)]
    talk = open_option("receivers").say("\n".join(names))
    assert "• and 90 more" in talk.last
    assert "✓ Split payments: 100" in labels(talk.replies[-1].rows)
    (spec,) = talk.press("done").press_label("✅").specs
    assert [share.amount for share in spec.receivers] == [5] * 100


MEASURES = st.one_of(
    st.just(""), st.just("rest"), st.decimals("0.0001", 100, places=4).map("{:f}%".format),
    st.decimals("0.01", 1000, places=2).map("{:f}".format),
)  # fmt: skip


@given(st.lists(MEASURES, min_size=2, max_size=100), st.integers(1, 10**11))
def test_shares_sum_to_the_price_exactly_or_are_refused(measures: list[str], price: int) -> None:
    portions = tuple(Portion(f"${n}", measure) for n, measure in enumerate(measures))
    shares = divide_price(portions, price, "USD")
    if isinstance(shares, tuple):
        assert sum(share.amount for share in shares) == price
        assert [share.destination for share in shares] == [p.destination for p in portions]
        assert min(share.amount for share in shares) > 0
        assert [share.measure for share in shares] == measures
    else:
        assert isinstance(shares, Problem)


@given(st.lists(st.integers(1, 9999), min_size=1, max_size=30), st.integers(1, 10**12))
def test_each_share_is_less_than_a_minor_unit_from_its_percentage(
    weights: list[int], price: int
) -> None:
    """Percentages have two decimals; the last receiver gets the rest of a hundred."""
    total = sum(weights)
    cut = [max(1, weight * 9999 // total) for weight in weights]
    if sum(cut) >= 10_000:
        return
    percents = [Decimal(each) / 100 for each in cut]
    portions = (
        *(Portion(f"${n}", f"{percent:f}%") for n, percent in enumerate(percents)),
        Portion("$last", "rest"),
    )
    shares = divide_price(portions, price, "USD")
    if isinstance(shares, tuple):
        for share, percent in zip(shares, percents, strict=False):
            assert abs(share.amount - Fraction(percent) * price / 100) < 1


@given(st.text(), st.sampled_from(["USD", "JPY", "BTC"]))
def test_any_text_is_parsed_or_answered_by_a_problem(text: str, currency: str) -> None:
    for typed in (text, f"$a {text}\n$b {text}", text.replace(" ", "\n")):
        found = read_portions(typed, currency)
        if isinstance(found, Problem):
            assert found.text("de")
        else:
            total_of_amounts(found, currency)
            assert isinstance(divide_price(found, 1000, currency), tuple | Problem)
