"""Whole lives of requests at random, which reach every state by every way to pay.

The steps and what holds after each of them are those of the state machine; a seed names a life.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from bot.service.model.checkout import Holder
from bot.service.model.rail_answers import Manner
from bot.service.model.request import Kind
from tests.simulation.scripted_money import WAYS
from tests.simulation.test_request_machine import NETWORKS, PAYERS, Payments

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.simulation.shop_machine import Form

LIVES, STEPS, SEED = 700, 40, 20261122
SLOW, REPEATED = 0.5, 0.5
REACHED = {
    "sandbox": "open claimed paid lapsed cancelled rejected late oversold",
    "lightning": "opening open paid lapsed cancelled failed late oversold",
    "lnbits": "opening open claimed paid lapsed cancelled failed rejected late oversold",
    "bank:sepa": "open claimed paid lapsed cancelled rejected late oversold",
}
"""The states of each way; a rail that knows of its payments takes no claim, banks can't fail."""


class Life:
    """One life of a shop with two links, real or not."""

    def __init__(self, seed: int, *, real: bool) -> None:
        self.random = random.Random(seed)
        self.shop = Payments()
        self.shop.open(real=real)
        self.forms: list[Form] = []
        self.twins: list[Any] = [
            self.shop.create(kind, 3, hook=True, mail=False, begins=None, ends=None)
            for kind in (Kind.LIMIT, self.random.choice([*Kind]))
        ]
        self.steps: tuple[tuple[int, Callable[[], object]], ...] = (
            (5, self._pay),
            (2, lambda: self.shop.open_one(self._one("invoice", "invoice", "refused", "used"))),
            (3, lambda: self.shop.hear(self._one(None, -1, 0, 7))),
            (2, lambda: self.shop.wait(self._one(1, 6, 60, 130, 301))),
            (2, lambda: self._with_form(self.shop.claim)),
            (1, lambda: self._with_form(self.shop.confirm)),
            (1, lambda: self._with_form(self.shop.reject)),
            (1, lambda: self._with_form(self.shop.cancel)),
            (1, lambda: self._with_form(self.shop.hint)),
            (1, lambda: self._with_form(self.shop.pay_again)),
            (1, lambda: self._with_form(self._hear_again)),
            (1, self.shop.sweep),
        )

    def live(self) -> set[tuple[str, str]]:
        """Take the steps, and return the states of the ways that were reached."""
        weights, steps = zip(*self.steps, strict=True)
        reached = set[tuple[str, str]]()
        for step in self.random.choices(steps, weights, k=STEPS):
            step()
            reached |= {
                (one.way, one.at(self.shop.now))
                for twin in self.twins
                for one in twin.attempts.values()
            }
        self.shop.units_balance()
        self.shop.each_payment_is_told_once_on_each_channel()
        self.shop.shares_sum_to_what_was_paid()
        self.shop.each_checkout_is_in_its_state()
        self.shop.is_enabled_as_decided()
        self.shop.teardown()
        return reached

    def _pay(self) -> None:
        form: Any = self.shop.pay(
            self.random.choice(self.twins),
            self._one(*Manner),
            self._one(None, *WAYS),
            Holder(self._one(*NETWORKS), self._one(*PAYERS)),
            slow=self.random.random() < SLOW,
        )
        if hasattr(form, "standing"):
            self.forms.append(form)

    def _hear_again(self, form: Form) -> None:
        self.shop.hear_out_of_turn(
            form, repeat=self.random.random() < REPEATED, change=self._one(-1, 0, 0, 3)
        )

    def _with_form(self, act: Callable[[Form], object]) -> None:
        if self.forms:
            act(self.random.choice(self.forms[-4:]))

    def _one(self, *choices: Any) -> Any:
        return self.random.choice(choices)


@pytest.mark.timeout(300)  # seven hundred lives
def test_every_state_of_every_way_is_reached_and_no_money_is_lost(tmp_path: Path) -> None:
    Payments.folders = tmp_path
    reached = set[tuple[str, str]]()
    for number in range(LIVES):
        reached |= Life(SEED + number, real=number % 4 > 0).live()
    expected = {(way, state) for way, states in REACHED.items() for state in states.split()}
    assert reached == expected
