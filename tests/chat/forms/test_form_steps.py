"""The guided form: its steps, answers and buttons."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from bot.chat.forms.request_fields import read_draft, write_draft
from bot.chat.model.drafts import (
    CodesDraft,
    Draft,
    EditDraft,
    LineDraft,
    NewDraft,
    NoteDraft,
    PayoutDraft,
    Seller,
    SettingsDraft,
)
from bot.chat.model.payout import PayoutAnswer
from bot.chat.model.request_spec import RequestSpec
from bot.interface.parts import AmountChoice
from tests.support.form_harness import (
    FORM,
    KNOWN,
    OTHER,
    STRANGER,
    ButtonInput,
    form_at_step,
    new_form,
)
from tests.support.telegram_limits import check, labels

COFFEE = RequestSpec("donation", "Coffee", None, 500, "USD", None, "$anna")


def test_a_donation_takes_three_answers_and_create() -> None:
    talk = form_at_step("review", "donation")
    assert talk.specs == []
    assert talk.last == (
        "Step 4 of 4\n\nDoes everything look right?\nName: Coffee\nType: Donation\n"
        "Amount: $5.00\nMoney goes to: $anna"
    )
    talk.press_label("✅")
    assert talk.specs == [COFFEE]
    assert talk.draft is None
    assert talk.toast == "Creating…"


def test_a_new_sellers_drop_asks_every_question_and_saves_the_destination() -> None:
    talk = new_form(STRANGER).press_label("🎟").say("Pack", "2,50")
    assert talk.step == "currency"
    talk.press("currency", "EUR").say("1 000", " $bob ")
    assert talk.seller.destination == "$bob"
    assert talk.step == "review"
    talk.press_label("✅")
    expected = RequestSpec("drop", "Pack", None, 250, "EUR", 1000, "$bob")
    assert talk.specs == [expected]


@pytest.mark.parametrize(
    ("seller", "kind", "steps"),
    [(KNOWN, "donation", 4), (KNOWN, "drop", 5), (STRANGER, "oneoff", 5), (STRANGER, "drop", 6)],
)
def test_the_number_of_steps_is_steady_once_the_kind_is_known(
    seller: Seller, kind: str, steps: int
) -> None:
    talk = new_form(seller).press("kind", kind)
    talk.say("Coffee", "5")
    if talk.step == "currency":
        talk.say("EUR")
    if talk.step == "units":
        talk.say("10")
    if talk.step == "destination":
        talk.say("$anna")
    counted = [check(reply).split("\n\n")[0] for reply in talk.replies[1:]]
    expected = [f"Step {step} of {steps}" for step in range(2, steps + 1)]
    assert expected == list(dict.fromkeys(counted))


@pytest.mark.parametrize("step", ["kind", "name", "amount", "units", "review", "options"])
def test_cancel_is_on_every_step_and_creates_nothing(step: str) -> None:
    talk = form_at_step(step) if step != "options" else form_at_step("review").press_label("⚙")
    assert talk.step == step
    talk.press_label("✖")
    assert talk.draft is None
    assert talk.specs == []
    assert talk.last == "Cancelled. Nothing was created."


@pytest.mark.parametrize(
    ("step", "before"),
    [("name", "kind"), ("amount", "name"), ("units", "amount"), ("review", "units")],
)
def test_back_goes_one_step_back_however_often_it_is_pressed(step: str, before: str) -> None:
    talk = form_at_step(step)
    back = ("draft", FORM, "back", step)
    assert back in talk.offered
    assert talk.give(ButtonInput(back)).step == before
    assert talk.give(ButtonInput(back)).step == before


def test_back_from_the_currency_asks_the_amount_again() -> None:
    talk = new_form(STRANGER).press("kind", "oneoff").say("Dawn").say("120")
    assert talk.press_label("⬅").step == "amount"


def test_a_changed_answer_leads_back_to_the_review() -> None:
    talk = form_at_step("review", "donation").press_label("⬅").press_label("⬅")
    assert talk.step == "name"
    assert talk.say("Tea").step == "review"
    assert "Name: Tea" in talk.last
    assert "Amount: $5.00" in talk.last


@pytest.mark.parametrize(
    ("step", "label"),
    [("name", "Keep: Coffee"), ("amount", "Keep: $5.00"), ("units", "Keep: 10 items")],
)
def test_keep_leaves_an_answer_as_it_is(step: str, label: str) -> None:
    talk = form_at_step("review")
    while talk.step != step:
        talk.press_label("⬅")
    assert label in labels(talk.replies[-1].rows)
    assert talk.press_label("Keep").step == "review"


def test_another_kind_drops_the_units_or_asks_for_them() -> None:
    talk = form_at_step("review", "drop").press("kind", "donation")
    assert talk.step == "review"
    assert talk.form.units is None
    assert talk.press("kind", "drop").step == "units"


def test_an_old_button_answers_its_own_question() -> None:
    talk = form_at_step("amount").press("kind", "oneoff")
    assert talk.step == "amount"
    assert talk.form.kind == "oneoff"


def test_create_pressed_twice_creates_once() -> None:
    talk = form_at_step("review")
    create = talk.offered[0]
    talk.give(ButtonInput(create), ButtonInput(create))
    assert len(talk.specs) == 1
    assert talk.toast == "This form is closed. Use /new to start another."


def test_create_while_a_question_is_open_asks_it() -> None:
    talk = form_at_step("amount").press("create", "00000000")
    assert talk.specs == []
    assert talk.step == "amount"


def test_a_button_of_another_form_changes_nothing() -> None:
    talk = form_at_step("amount")
    before = talk.draft
    talk.give(ButtonInput(("draft", OTHER, "kind", "oneoff")))
    assert talk.draft == before
    assert talk.toast == "This form is closed. Use /new to start another."


@pytest.mark.parametrize("action", [(), ("draft",), ("draft", FORM), ("card", "abcdefghij")])
def test_a_button_of_no_form_changes_nothing(action: tuple[str, ...]) -> None:
    talk = form_at_step("amount")
    before = talk.draft
    talk.give(ButtonInput(action))
    assert talk.draft == before
    assert talk.toast


@pytest.mark.parametrize(("seller", "said"), [(STRANGER, "0.12345"), (KNOWN, "0.12345 BTC")])
def test_keep_shows_every_digit_of_an_amount(seller: Seller, said: str) -> None:
    talk = new_form(seller).press("kind", "donation").say("Coffee").say(said)
    talk.press_label("⬅")
    assert f"Keep: {said}" in labels(talk.replies[-1].rows)


# Drafts as they are stored: read as they were written, or not at all.


SOUND = NewDraft(id=FORM, step="units", kind="drop", name="N", amount=Decimal(5), currency="USD")
LINE = LineDraft(id=FORM, step="amount", kind="drop", name="N", units=3)
EDIT = EditDraft(id=FORM, step="email", link_id="abcdefghij", name="N", poster_text="Hi\nyou")
SETTINGS = SettingsDraft(id=OTHER, step="zone", step_after_zone="quiet")
PAYOUT = PayoutDraft(
    id=FORM, step="payname", way="bank-sepa", answers=(PayoutAnswer("iban", "DE89"),)
)
NOTE = NoteDraft(id=FORM, step="paidback", payment="abcdefghij:1790000000000:0123abcd")
CODES = CodesDraft(id=FORM, step="codes", link_id="abcdefghij")
CHOICE = AmountChoice(Decimal("1.5"), (Decimal(5), Decimal(9)))


@pytest.mark.parametrize("draft", [SOUND, LINE, EDIT, SETTINGS, PAYOUT, NOTE, CODES])
def test_a_draft_is_read_as_it_was_written(draft: Draft) -> None:
    assert read_draft(write_draft(draft)) == draft
    paused = replace(SOUND, id="qwerty", step="review", units=3, choice=CHOICE)
    interrupting = replace(draft, paused=paused, must_resume=True)
    assert read_draft(write_draft(interrupting)) == interrupting


@pytest.mark.parametrize(
    "text",
    [
        "", "null", "[]", "{}", "{" * 5000, "[" * 5000, '{"id": 1}', "\x00", "1e999",
        *[write_draft(replace(SOUND, **change)) for change in (
            {"id": "ABC"}, {"step": "old"}, {"kind": "gift"}, {"kind": None},
            {"amount": Decimal("5.001")}, {"amount": Decimal(0)}, {"currency": "XXX"},
            {"instrument": "XXX"}, {"units": -1}, {"step": "review", "amount": None},
            {"step_after_zone": "old"},
            {"choice": AmountChoice(Decimal(5), (), Decimal(4))},
            {"choice": AmountChoice(Decimal(4))}, {"choice": AmountChoice(Decimal("5.001"))},
            {"choice": AmountChoice(Decimal(5)), "amount": None},
            {"paused": replace(SOUND, id=OTHER, step="old")},
        )],
        *[write_draft(draft) for draft in (
            replace(LINE, step="units"), replace(EDIT, link_id="../e"), replace(EDIT, step="kind"),
            replace(SETTINGS, step_after_zone="ends"), replace(SETTINGS, step="name"),
            replace(PAYOUT, way="cash"), replace(PAYOUT, step="payaddress"),
            replace(PAYOUT, step="paycheck"), replace(PAYOUT, step="payfound"),
            replace(PAYOUT, answers=(PayoutAnswer("address", "a@b.example"),)),
            replace(NOTE, payment="abc"), replace(NOTE, step="codes"), replace(CODES, link_id=""),
        )],
        write_draft(SOUND).replace('"amount":5', '"amount":"five"'),
        write_draft(SOUND).replace('"amount":5', '"amount":5e300'),
        write_draft(SOUND).replace('"name":"N"', '"name":5'),
        write_draft(SOUND).replace('"units"', '"pieces"'),
        write_draft(SOUND).replace('"form":"new"', '"form":"old"'),
        write_draft(SOUND).replace('"form":"new",', ""),
        write_draft(LINE).replace('"name":"N"', '"name":null'),
        write_draft(LINE).replace(',"name":"N"', ""),
        write_draft(NOTE).replace('"payment"', '"payments"'),
    ],
)  # fmt: skip
def test_a_draft_of_another_shape_is_none(text: str) -> None:
    assert text not in map(write_draft, (SOUND, LINE, NOTE))
    assert read_draft(text) is None


PAUSED = (
    '"form":"new","id":"ab2c3d","step":"review","kind":"oneoff","name":"N","amount":5,'
    '"currency":"USD"'
)
REVIEW = replace(SOUND, step="review", kind="oneoff")
STORED = {
    f"{{{PAUSED}}}": REVIEW,
    '{"id":"ab2c3d","form":"line","step":"amount","kind":"drop","name":"N","units":3}': LINE,
    '{"id":"ab2c3d","form":"edit","step":"email","name":"N","link_id":"abcdefghij",'
    '"poster_text":"Hi\\nyou"}': EDIT,
    f'{{"id":"zzzzzz","form":"settings","step":"zone","paused":{{{PAUSED}}},'
    '"step_after_zone":"quiet"}': replace(SETTINGS, paused=REVIEW),
    '{"id":"ab2c3d","form":"payout","step":"payname","way":"bank-sepa",'
    '"answers":[{"field":"iban","text":"DE89"}]}': PAYOUT,
    '{"id":"ab2c3d","form":"payback","step":"paidback",'
    '"payment":"abcdefghij:1790000000000:0123abcd"}': NOTE,
    '{"id":"ab2c3d","form":"codes","step":"codes","link_id":"abcdefghij"}': CODES,
}
"""A draft of each form, as version 0.1 stores it."""


@pytest.mark.parametrize("text", STORED)
def test_a_draft_that_was_stored_before_is_read(text: str) -> None:
    """A person continues a form that was begun before an update of the bot."""
    assert read_draft(text) == STORED[text]
