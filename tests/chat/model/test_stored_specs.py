"""Specs as they are stored: read as they were written, or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.chat.model.request_spec import RequestSpec, Share
from bot.interface.parts import AmountChoice

COFFEE = RequestSpec("donation", "Coffee", None, 500, "USD", None, "$anna")
FULL = RequestSpec(
    "drop", "Coffee", "Warm", 500, "USD", 3, "$anna",
    (Share("$anna", 300, "60%"), Share("$ben", 200, "40%")), instrument="BSV", image="0" * 24,
    starts_at=1, ends_at=2, payer_fields=("email", "paymail"),
    redirect_url="app://x", email="a@b.example", goal=100_000, max_quantity=3, thanks="See\nyou",
    choice=AmountChoice(300, (500, 1000), 2000),
)  # fmt: skip
REQUIRED = {"kind", "name", "description", "amount", "currency", "units", "destination"}


def read(spec: RequestSpec, **change: Any) -> RequestSpec | None:
    """Return what is read from a stored spec with other values."""
    return RequestSpec.from_json(json.dumps(json.loads(spec.to_json()) | change))


@pytest.mark.parametrize("spec", [COFFEE, FULL])
def test_a_spec_is_read_as_it_was_written_also_with_fields_of_a_newer_version(
    spec: RequestSpec,
) -> None:
    assert RequestSpec.from_json(spec.to_json()) == spec
    receivers = [each | {"color": "red"} for each in json.loads(FULL.to_json())["receivers"]]
    assert read(spec, color="red") == spec
    assert read(FULL, receivers=receivers) == FULL


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "gift"}, {"name": None}, {"amount": 0}, {"amount": 2**63}, {"amount": True},
        {"amount": "500"}, {"currency": "XXX"}, {"units": 5}, {"kind": "drop"},
        {"destination": None},
    ],
)  # fmt: skip
def test_a_spec_that_is_not_sound_is_none(change: dict[str, object]) -> None:
    assert read(COFFEE) == COFFEE
    assert read(COFFEE, **change) is None


@pytest.mark.parametrize(
    "change",
    [
        {"receivers": [{"destination": "$anna", "amount": 300, "measure": "60%"}]},
        {"receivers": [{"destination": "$anna", "amount": 500, "measure": "half"}]},
        {"payer_fields": ["email", "email"]}, {"payer_fields": ["name"]},
        {"starts_at": 0}, {"redirect_url": 5}, {"goal": 0}, {"max_quantity": 0}, {"thanks": 1},
        {"choice": {"minimum": 300, "suggested": [600, 1000]}},
        {"choice": {"minimum": 600, "suggested": [500, 1000]}},
        {"choice": {"minimum": 300, "suggested": [500, 500]}},
        {"choice": {"minimum": 0, "suggested": [500]}},
        {"choice": {"minimum": 300, "suggested": [500, 1000], "maximum": 900}},
        {"choice": {"minimum": 500, "maximum": 400}},
        {"choice": {"minimum": 1, "suggested": [500, 2, 3, 4, 5]}},
        {"choice": {"minimum": 2**63, "suggested": [500]}},
        {"choice": []}, {"goods": {"kind": "gift"}}, {"goods": {}},
    ],
)  # fmt: skip
def test_a_spec_whose_options_are_not_sound_is_none(change: dict[str, object]) -> None:
    assert read(FULL) == FULL
    assert read(FULL, **change) is None


def test_a_spec_of_another_shape_is_none() -> None:
    """An option that isn't stored isn't set; nothing else is filled in."""
    stored = json.loads(FULL.to_json())
    for name in REQUIRED:
        fewer = {key: value for key, value in stored.items() if key != name}
        assert RequestSpec.from_json(json.dumps(fewer)) is None
    assert stored.keys() - REQUIRED == {
        name for name in stored if name not in json.loads(COFFEE.to_json())
    }
