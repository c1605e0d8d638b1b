"""Drafts as they are stored: read as they were written, or not at all."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from bot.chat.forms.stored_draft import read_draft, write_draft
from bot.chat.model.drafts import (
    CodesDraft,
    Draft,
    EditDraft,
    LineDraft,
    NewDraft,
    NoteDraft,
    PayoutDraft,
    SettingsDraft,
)
from bot.chat.model.payout import PayoutAnswer
from bot.interface.parts import AmountChoice
from tests.support.form_harness import FORM, OTHER

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
