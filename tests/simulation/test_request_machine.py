"""A state machine of requests, checkouts and payments: its invariants hold after each step.

With test money and with real money: of a wallet that is asked, of one that isn't, and of a bank.
"""

from __future__ import annotations

import asyncio
from copy import deepcopy
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import multiple, rule

from bot.core.errors import InvalidBody, NotFound, NotPayable, TooManyHolds, WrongState
from bot.core.outbox import outbox
from bot.interface.vocabulary import LIGHTNING, Kind
from bot.service.checkouts import claiming, inventory, paying, wallet_calls
from bot.service.checkouts.checkout import UNKNOWN_HOLDER, Holder, Settlement
from bot.service.checkouts.order import ONE, Order
from bot.service.checkouts.paying import PaymentForm, PaymentProgress
from bot.service.checkouts.wallet_calls import OPENINGS, POLLS, OpeningHandler, PaymentPoller
from bot.service.notifications.notification_queues import WEBHOOKS
from bot.service.payments import settling
from bot.service.rails.rail import Opened, SandboxScenario, Unavailable
from tests.simulation.request_twins import GIVEN_UP, HOLDING, PRICE, Attempt, Twin
from tests.simulation.scripted_money import CLAIMS, RESERVATION, WAYS
from tests.simulation.shop_machine import SECOND, Form, Shop

PAYERS = (None, "ann", "ben", "eve")
SITES = {"venue": "city", "home": "city", "hall": "city", "hotel": None, "inn": None, "bar": None}
"""Sites around networks: a city of three, and addresses that are their own."""


def make_holder(network: str, payer: str | None) -> Holder:
    return Holder(network, payer, SITES[network])


HOLDERS = st.builds(make_holder, st.sampled_from([*SITES, "venue"]), st.sampled_from(PAYERS))
PRICES = (None, None, PRICE, 700, 99, 901)
QUANTITIES = (1, 1, 1, 2, 3, 4)


class Payments(Shop):
    """Pays, claims, confirms and rejects; the rails' word comes when it likes."""

    @rule(
        target=Shop.forms,
        twin=Shop.twins,
        scenario=st.sampled_from(SandboxScenario),
        way=st.sampled_from([None, *WAYS]),
        holder=HOLDERS,
        slow=st.booleans(),
        order=st.builds(Order, st.sampled_from(PRICES), st.sampled_from(QUANTITIES)),
    )
    def pay(
        self,
        twin: Twin,
        scenario: SandboxScenario,
        way: str | None = None,
        holder: Holder = UNKNOWN_HOLDER,
        order: Order = ONE,
        *,
        slow: bool = False,
    ) -> object:
        """Post a form: the payer's own checkout, a new one, or a refusal that changes nothing."""
        way = way if self.real else None
        form = PaymentForm(
            twin.id, self.token(), {"email": "p@example.org"}, scenario, holder, way=way,
            price=order.price, quantity=order.quantity, payer_name="Mia",
        )  # fmt: skip
        post = partial(paying.pay, context=self.context, form=form, now=self.now)
        held = twin.held_by(holder, self.now)
        former = twin.attempts[held] if held else None
        if held and former and self._stays(twin, former, way, order):
            is_claimed = former.at(self.now) == "claimed"
            assert self.db.run(post) == PaymentProgress(held, None, is_claimed=is_claimed)
            return multiple()
        before = deepcopy(twin.attempts)
        if former:
            former.give_up("cancelled" if former.state == "open" else "lapsed", self.now)
        at_once = not self.real and scenario.is_at_once
        if refusal := self._refusal_to_pay(twin, holder, order, held, at_once=at_once):
            twin.attempts = before
            with pytest.raises(refusal):
                self.db.run(post)
            return multiple()
        progress = self.db.run(post)
        by_word = not WAYS[way or LIGHTNING] if self.real else scenario is SandboxScenario.CLAIMED
        attempt = Attempt(
            (way or LIGHTNING) if self.real else "sandbox", UNKNOWN_HOLDER if at_once else holder,
            "opening" if self.real and way != "bank:sepa" else "open",
            self.now, self.now + RESERVATION, not by_word, order.quantity, order.price or PRICE,
            counted=None if twin.total is None or at_once else 0,
        )  # fmt: skip
        twin.attempts[progress.checkout_id] = attempt
        if not self.real and by_word:
            self._claim(twin, progress.checkout_id, holder)
        if not self.real and scenario in {SandboxScenario.AT_ONCE, SandboxScenario.TWICE}:
            assert progress.payment is not None
            external = f"sandbox-{progress.checkout_id}"
            assert twin.arrive(progress.checkout_id, external, self.now) == "paid"
            self._check_told_units(twin, progress.payment.id)
        else:
            assert progress.payment is None
        if not slow:
            self.open_one("invoice")
        return Form(twin.id, form.token, progress)

    def _check_told_units(self, twin: Twin, payment_id: str) -> None:
        """Check that a webhook just queued has the units that are left after its payment."""
        if twin.kind is not Kind.LIMIT or "webhook" not in twin.channels:
            return
        sql = (
            "SELECT body FROM outbox JOIN deliveries USING (id)"
            " WHERE payment_id = :id AND channel = 'webhook'"
        )
        (row,) = self.db.run(lambda tx: tx.query(sql, id=payment_id))
        report = WEBHOOKS.decode(row["body"])
        told = (report.remaining_units, report.reserved_units or 0)
        assert told == (twin.remaining(self.now), twin.reserved(self.now))

    def _stays(self, twin: Twin, former: Attempt, way: str | None, order: Order) -> bool:
        """Return whether a payer's checkout stays theirs: one claimed, or of the same order."""
        same_price = twin.choice is None or order.price in {None, former.price}
        same = way in {None, former.way} and former.quantity == order.quantity and same_price
        return same or former.at(self.now) == "claimed"

    def _claim(self, twin: Twin, checkout: str, holder: Holder) -> None:
        """Book a claim that the service has taken."""
        one, until = twin.attempts[checkout], self.now + CLAIMS
        room, was_open = twin.promise(checkout, holder, self.now), one.at(self.now) == "open"
        twin.take_back(room or [])
        if room is not None and not was_open:
            twin.make_room(one.quantity, self.now)
        one.state, one.claimed, one.claim_until = "claimed", self.now, until
        one.has = was_open or room is not None
        one.until = min(one.until, until) if was_open and room is None else until
        one.holder = Holder(holder.network, one.holder.payer if was_open else None, holder.site)
        one.counted = None if twin.total is None else 0

    def _refusal_to_pay(
        self, twin: Twin, holder: Holder, order: Order, former: str | None, *, at_once: bool
    ) -> type[Exception] | None:
        """Return why a form is refused; otherwise claims have yielded to it."""
        if not twin.enabled(self.now):
            return NotFound if twin.deleted else NotPayable
        if order.quantity > twin.most:
            return InvalidBody
        if not twin.make_room(order.quantity, self.now):
            return NotPayable
        if not at_once and twin.is_capped(holder, order.quantity, self.now, former):
            return TooManyHolds
        return None if twin.is_priced(order.price) else InvalidBody

    @rule(form=Shop.forms)
    def pay_again(self, form: Form) -> None:
        """Post the form again, as after a double click: the payment is the same one."""
        posted = PaymentForm(form.twin_id, form.token, {"email": "other@example.org"})
        progress = self.db.run(lambda tx: paying.pay(tx, self.context, posted, self.now))
        assert progress.checkout_id == form.progress.checkout_id
        if form.progress.payment:
            assert progress.payment
            assert progress.payment.id == form.progress.payment.id

    @rule(answer=st.sampled_from(["invoice", "invoice", "invoice", "refused", "used", "ended"]))
    def open_one(self, answer: str) -> None:
        """Ask the wallet that is due first; it answers, refuses or lies."""
        handler = OpeningHandler(self.db, self.context, lambda: self.now)
        for message in self.db.run(lambda tx: outbox.claim(tx, OPENINGS, self.now, 1)):
            checkout = message.body.checkout_id
            twin = self._twin_of(checkout)
            one = twin.attempts[checkout]
            opens = self._answer_openings(answer)
            asyncio.run(handler.handle(message))
            if one.at(self.now) == "opening":
                if opens:
                    one.state = "open"
                else:
                    one.give_up("failed", self.now)

    def _answer_openings(self, answer: str) -> bool:
        """Set what the wallets answer; return whether it opens a checkout."""
        given: Opened | Unavailable | None = None
        if answer == "refused":
            given = Unavailable("refused")
        if answer == "used" and (invoices := self._invoices()):
            given = Opened(invoices[0])
        if answer == "ended":
            given = Opened("ended", lapses_at=self.now)
        for wallet in self.wallets:
            wallet.opens = given
        return given is None

    def _invoices(self) -> list[str]:
        rows = self.db.run(lambda tx: tx.query("SELECT external_id FROM checkouts ORDER BY id"))
        return [row["external_id"] for row in rows if row["external_id"]]

    @rule(form=Shop.forms)
    def cancel(self, form: Form) -> None:
        """Cancel the payer's checkout: its unit is free at once, and nothing else changes."""
        twin, checkout = self.known[form.twin_id], form.progress.checkout_id
        done = self.db.run(lambda tx: claiming.cancel(tx, form.twin_id, checkout, self.now))
        one = twin.attempts[checkout]
        assert done is (one.at(self.now) == "open")
        if done:
            one.give_up("cancelled", self.now)

    @rule(form=Shop.forms, holder=HOLDERS)
    def claim(self, form: Form, holder: Holder = UNKNOWN_HOLDER) -> None:
        """Claim that the money was sent, in any state, with any unit left or none."""
        twin, checkout = self.known[form.twin_id], form.progress.checkout_id
        one = twin.attempts[checkout]
        state = one.at(self.now)
        act = partial(
            claiming.claim,
            context=self.context, request_id=twin.id, checkout_id=checkout, now=self.now,
            holder=holder,
        )  # fmt: skip
        refusal: type[Exception] | None = None
        if state != "claimed" and (one.automatic or state not in {"open", "lapsed"}):
            refusal = WrongState
        elif state == "lapsed" and twin.deleted:
            refusal = NotFound
        elif state == "lapsed" and not self._has_units(twin, checkout, holder):
            refusal = NotPayable
        if refusal:
            with pytest.raises(refusal):
                self.db.run(act)
            return
        assert self.db.run(act).stored_state == "claimed"
        if state != "claimed":
            self._claim(twin, checkout, holder)

    def _has_units(self, twin: Twin, checkout: str, holder: Holder) -> bool:
        """Return whether a lapsed checkout gets units: free ones, or claims' if promised."""
        left, one = deepcopy(twin), twin.attempts[checkout]
        room = left.promise(checkout, holder, self.now)
        if room is None:
            shown = left.remaining(self.now)
            return shown is None or shown + left.yields(self.now) >= one.quantity
        left.take_back(room)
        return left.make_room(one.quantity, self.now)

    @rule(form=Shop.forms)
    def confirm(self, form: Form) -> None:
        """Confirm as the seller: whatever its state was, the money is booked once."""
        twin, checkout = self.known[form.twin_id], form.progress.checkout_id
        one, it = twin.attempts[checkout], self._checkout(checkout)
        act = partial(claiming.confirm, app_id=self.app, checkout_id=checkout, now=self.now)
        state = one.at(self.now)
        if state == "opening":
            with pytest.raises(WrongState):
                self.db.run(act)
            return
        if state in HOLDING | GIVEN_UP:
            state = twin.arrive(checkout, it.settles_as, self.now) or ""
        assert self.db.run(act).stored_state == state

    @rule(form=Shop.forms)
    def reject(self, form: Form) -> None:
        """Reject as the seller: only a claim, and its unit is free at once."""
        one = self.known[form.twin_id].attempts[form.progress.checkout_id]
        act = partial(
            claiming.reject,
            app_id=self.app, checkout_id=form.progress.checkout_id, now=self.now,
        )  # fmt: skip
        if one.at(self.now) not in {"claimed", "rejected"}:
            with pytest.raises(WrongState):
                self.db.run(act)
            return
        if one.at(self.now) == "claimed":
            one.give_up("rejected", self.now)
        assert self.db.run(act).stored_state == "rejected"

    @rule(seconds=st.sampled_from([1, 6, 59, 60, 66, 130, 301]))
    def wait(self, seconds: int) -> None:
        self.now += seconds * SECOND

    @rule(arriving=st.sampled_from([None, None, -1, 0, 7]))
    def hear(self, arriving: int | None = None) -> None:
        """Perform the polls that are due; wallets have got as much more or less than was asked."""
        handler = PaymentPoller(self.db, self.context, lambda: self.now)
        for message in self.db.run(lambda tx: outbox.claim(tx, POLLS, self.now, 50)):
            checkout = message.body.checkout_id
            it = self._checkout(checkout)
            asked = it.quote.amount
            amount = it.poll_details.get("amount", asked)
            if self.real:
                amount = None if arriving is None else asked + arriving
                self.wallets[0].amount = amount
            asyncio.run(handler.handle(message))
            if amount is not None:
                short = amount if amount < asked else None
                self._twin_of(checkout).arrive(checkout, it.settles_as, self.now, short=short)

    @rule(form=Shop.forms)
    def hint(self, form: Form) -> None:
        """Hint at any checkout, at any time: nothing is booked by it."""
        self.db.run(lambda tx: wallet_calls.hint(tx, form.progress.checkout_id, self.now))

    @rule(form=Shop.forms, repeat=st.booleans(), change=st.sampled_from([-1, 0, 0, 3]))
    def hear_out_of_turn(self, form: Form, *, repeat: bool, change: int) -> None:
        """Report money that nobody waits for: an old one, or a second of one checkout."""
        twin, checkout = self.known[form.twin_id], form.progress.checkout_id
        if twin.attempts[checkout].at(self.now) == "opening":
            return  # it has no invoice that could be paid
        it = self._checkout(checkout)
        external = it.settles_as if repeat else f"more-{self.token()}"
        amount = it.quote.amount + change
        settlement = Settlement(it.kind, checkout, external, amount)
        first = self.db.run(lambda tx: settling.record_settlement(tx, settlement, self.now))
        short = amount if change < 0 else None
        expected = twin.arrive(checkout, external, self.now, short=short)
        assert (first and first.state.value) == expected

    @rule(twin=Shop.twins, count=st.integers(1, 3), late=st.booleans())
    def begin_and_go_away(self, twin: Twin, count: int, *, late: bool) -> None:
        """Open checkouts that lapse; their money may come later."""
        for _ in range(count):
            self.pay(twin, SandboxScenario.LATE if late else SandboxScenario.NEVER)
        self.now += RESERVATION + 6 * SECOND * late
        if late:
            self.hear(0)

    @rule(twin=Shop.twins, holder=HOLDERS)
    def change_the_order(self, twin: Twin, holder: Holder) -> None:
        """Open a checkout, and pay for two units instead."""
        self.pay(twin, SandboxScenario.NEVER, holder=holder)
        self.pay(twin, SandboxScenario.AT_ONCE, holder=holder, order=Order(quantity=2))

    @rule(
        twin=Shop.twins, scenario=st.sampled_from([SandboxScenario.AT_ONCE, SandboxScenario.NEVER])
    )
    def crowd(self, twin: Twin, scenario: SandboxScenario) -> None:
        """Claim at one site, reserve what is left everywhere, and want one more: claims yield."""
        for network in ("venue", "home"):
            holder = make_holder(network, self.token())
            form = self.pay(twin, SandboxScenario.CLAIMED, "bank:sepa", holder)
            if isinstance(form, Form):
                self.claim(form, holder)
        for network in SITES:
            self.pay(twin, SandboxScenario.NEVER, "bank:sepa", make_holder(network, self.token()))
        self.pay(twin, scenario, "bank:sepa", make_holder("bar", self.token()))

    @rule()
    def sweep(self) -> None:
        """Close lapsed checkouts, as every hour: nothing that anybody sees changes."""
        self.db.run(partial(inventory.close_lapsed, now=self.now, most=9))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> None:
    Payments.folders = tmp_path


TestLife = pytest.mark.timeout(400)(Payments.TestCase)  # a hundred lives
TestLife.settings = settings(
    max_examples=100,
    stateful_step_count=60,
    suppress_health_check=list(HealthCheck),
)
