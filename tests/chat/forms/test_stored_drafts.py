"""Drafts as they are stored: read as they were written, or not at all."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from bot.chat.forms.stored_draft import read_draft, write_draft
from bot.chat.model.drafts import Draft
from bot.interface.parts import AmountChoice
from tests.support.form_harness import FORM, OTHER


def test_a_draft_is_read_as_it_was_written() -> None:
    draft = Draft(FORM, "new", "review", "drop", "N", "", Decimal("2.50"), "USD", 3)
    draft = replace(draft, choice=AmountChoice(Decimal("1.5"), (Decimal("2.50"), Decimal(5))))
    settings = Draft(OTHER, "settings", "destination", paused=draft)
    assert read_draft(write_draft(settings)) == settings


SOUND = Draft(FORM, "new", "units", "drop", "N", "", Decimal(5), "USD")


@pytest.mark.parametrize(
    "text",
    [
        "", "null", "[]", "{}", "{" * 5000, "[" * 5000, '{"id": 1}', "\x00", "1e999",
        *[write_draft(replace(SOUND, **change)) for change in (
            {"id": "ABC"}, {"form": "old"}, {"step": "old"}, {"kind": "gift"}, {"kind": None},
            {"amount": Decimal("5.001")}, {"amount": Decimal(0)}, {"currency": "XXX"},
            {"units": -1}, {"step": "review", "amount": None},
            {"form": "line", "step": "units"}, {"form": "line", "step": "amount", "name": None},
            {"choice": AmountChoice(Decimal(5), (), Decimal(4))},
            {"choice": AmountChoice(Decimal(4))}, {"choice": AmountChoice(Decimal("5.001"))},
            {"choice": AmountChoice(Decimal(5)), "amount": None},
            {"paused": Draft(OTHER, "settings", "destination")},
        )],
        write_draft(SOUND).replace('"amount":5', '"amount":"five"'),
        write_draft(SOUND).replace('"amount":5', '"amount":5e300'),
        write_draft(SOUND).replace('"name":"N"', '"name":5'),
        write_draft(SOUND).replace('"units"', '"pieces"'),
    ],
)  # fmt: skip
def test_a_draft_of_another_shape_is_none(text: str) -> None:
    assert read_draft(write_draft(SOUND)) == SOUND
    assert read_draft(text) is None
