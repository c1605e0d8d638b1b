"""Specs as they are stored: read as they were written, or not at all."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bot.chat.model.request_spec import AmountChoice, RequestSpec, Share

COFFEE = RequestSpec("donation", "Coffee", None, 500, "USD", None, "$anna")
FULL = RequestSpec(
    "drop", "Coffee", "Warm", 500, "USD", 3, "$anna",
    (Share("$anna", 300, "60%"), Share("$ben", 200, "40%")), instrument="BSV", image="0" * 24,
    starts_at=1, ends_at=2, payer_fields=("email", "paymail"),
    redirect_url="app://x", email="a@b.example", goal=100_000, max_quantity=3, thanks="See\nyou",
    choice=AmountChoice(300, (500, 1000), 2000),
)  # fmt: skip


@pytest.mark.parametrize("spec", [COFFEE, FULL])
def test_a_spec_is_read_as_it_was_written(spec: RequestSpec) -> None:
    assert RequestSpec.from_json(spec.to_json()) == spec


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "gift"}, {"name": None}, {"amount": 0}, {"amount": 2**63}, {"amount": True},
        {"currency": "XXX"}, {"units": 5}, {"kind": "drop"}, {"destination": None},
    ],
)  # fmt: skip
def test_a_spec_that_is_not_sound_is_none(change: dict[str, object]) -> None:
    assert RequestSpec.from_json(COFFEE.to_json()) == COFFEE
    assert RequestSpec.from_json(replace(COFFEE, **change).to_json()) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change",
    [
        {"receivers": (Share("$anna", 300, "60%"),)}, {"payer_fields": ("email", "email")},
        {"payer_fields": ("name",)},
        {"starts_at": 0}, {"redirect_url": 5}, {"goal": 0}, {"max_quantity": 0}, {"thanks": 1},
        {"choice": AmountChoice(300, (600, 1000))}, {"choice": AmountChoice(600, (500, 1000))},
        {"choice": AmountChoice(300, (500, 500))}, {"choice": AmountChoice(0, (500,))},
        {"choice": AmountChoice(300, (500, 1000), 900)}, {"choice": AmountChoice(500, (), 400)},
        {"choice": AmountChoice(1, (500, 2, 3, 4, 5))}, {"choice": AmountChoice(2**63, (500,))},
        {"choice": ()},
    ],
)  # fmt: skip
def test_a_spec_whose_options_are_not_sound_is_none(change: dict[str, object]) -> None:
    assert RequestSpec.from_json(replace(FULL, **change).to_json()) is None  # type: ignore[arg-type]


def test_a_spec_of_another_shape_is_none() -> None:
    """Nothing is filled in and nothing is ignored."""
    stored = json.loads(FULL.to_json())
    for name in stored:
        fewer = {key: value for key, value in stored.items() if key != name}
        assert RequestSpec.from_json(json.dumps(fewer)) is None
    assert RequestSpec.from_json(json.dumps({**stored, "color": "red"})) is None
