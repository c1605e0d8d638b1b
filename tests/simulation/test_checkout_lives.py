"""Whole lives of requests at random, which reach every state by every way to pay.

The steps and what holds after each of them are those of the state machine; a seed names a life.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bot.interface.vocabulary import Kind
from bot.service.checkouts.checkout import Holder
from bot.service.checkouts.order import Order
from bot.service.rails.rail import SandboxScenario
from tests.simulation.scripted_money import WAYS
from tests.simulation.shop_machine import CHOICES, Form
from tests.simulation.test_request_machine import (
    PAYERS,
    PRICES,
    QUANTITIES,
    SITES,
    Payments,
    make_holder,
)

LIVES, STEPS, SEED = 700, 40, 20261122
SLOW, REPEATED, PAID_BACK = 0.5, 0.5, 0.7
UNITS, PARTLY = "units", "partly"
CROWDS = (SandboxScenario.AT_ONCE, SandboxScenario.NEVER)
REACHED = {
    "sandbox": "open claimed paid lapsed cancelled rejected late oversold",
    "lightning": "opening open paid lapsed cancelled failed late oversold",
    "lnbits": "opening open claimed paid lapsed cancelled failed rejected late oversold",
    UNITS: f"opening open claimed paid lapsed cancelled failed rejected late oversold {PARTLY}",
    "bank:sepa": "open claimed paid lapsed cancelled rejected late oversold",
}
"""The states of each way; a rail that knows of its payments takes no claim, banks can't fail.

PARTLY: the money came late for several units, of which some were left.
"""


class Life:
    """One life of a shop with two links, real or not."""

    def __init__(self, seed: int, *, real: bool) -> None:
        self.random = random.Random(seed)
        self.shop = Payments()
        self.shop.open(real=real)
        self.forms: list[Form] = []
        self.twins: list[Any] = [
            self.shop.create(
                kind,
                5,
                hook=True,
                mail=False,
                begins=None,
                ends=None,
                most=self._one(None, 2, 3),
                choice=self._one(*CHOICES),
                codes=self._one(0, 2, 9),
            )
            for kind in (Kind.LIMIT, self.random.choice([*Kind]))
        ]
        self.steps: tuple[tuple[int, Callable[[], object]], ...] = (
            (5, self._pay),
            (2, lambda: self.shop.open_one(self._one("invoice", "invoice", "refused", "used"))),
            (3, lambda: self.shop.hear(self._one(None, -1, 0, 7))),
            (2, lambda: self.shop.wait(self._one(1, 6, 60, 130, 301))),
            (2, lambda: self._with_form(partial(self.shop.claim, holder=self._holder()))),
            (1, lambda: self._with_form(self.shop.confirm)),
            (1, lambda: self._with_form(self.shop.reject)),
            (1, lambda: self._with_form(self.shop.cancel)),
            (1, lambda: self._with_form(self.shop.hint)),
            (1, lambda: self._with_form(self.shop.pay_again)),
            (1, lambda: self._with_form(self._hear_again)),
            (1, self.shop.sweep),
            (1, lambda: self.shop.crowd(self.random.choice(self.twins), self._one(*CROWDS))),
            (1, lambda: self.shop.add_codes(self.random.choice(self.twins), 1)),
            (1, self._pay_back),
        )

    def live(self) -> set[tuple[str, str]]:
        """Take the steps, and return the states of the ways that were reached.

        Also those of several units, under UNITS instead of the way.
        """
        weights, steps = zip(*self.steps, strict=True)
        reached = set[tuple[str, str]]()
        for step in self.random.choices(steps, weights, k=STEPS):
            step()
            reached |= {
                (one.way, one.at(self.shop.now))
                for twin in self.twins
                for one in twin.attempts.values()
            }
            reached |= {
                (UNITS, one.at(self.shop.now))
                for twin in self.twins
                for one in twin.attempts.values()
                if one.quantity > 1
            }
        if any(twin.partly for twin in self.twins):
            reached.add((UNITS, PARTLY))
        self.shop.units_balance()
        self.shop.money_balances()
        self.shop.each_code_is_shown_to_one_payer_at_most()
        self.shop.each_unit_has_one_number_and_each_number_one_payment()
        self.shop.each_payment_is_told_once_on_each_channel()
        self.shop.shares_sum_to_what_was_paid()
        self.shop.each_checkout_is_in_its_state()
        self.shop.is_enabled_as_decided()
        self.shop.teardown()
        return reached

    def _pay(self) -> None:
        form: Any = self.shop.pay(
            self.random.choice(self.twins),
            self._one(*SandboxScenario),
            self._one(None, *WAYS),
            self._holder(),
            Order(self._one(*PRICES), self._one(*QUANTITIES)),
            slow=self.random.random() < SLOW,
        )
        if hasattr(form, "progress"):
            self.forms.append(form)

    def _holder(self) -> Holder:
        return make_holder(self._one(*SITES, "venue"), self._one(*PAYERS))

    def _pay_back(self) -> None:
        twin, number = self.random.choice(self.twins), self.random.randrange(9)
        self.shop.pay_back(twin, number, back=self.random.random() < PAID_BACK)

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
