"""A state machine of requests, checkouts and payments: its invariants hold after each step."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
)

from bot.core.database.database import Database, open_database
from bot.core.database.vault import Vault
from bot.core.errors import NotEnoughUnits, NotFound, NotLimited, NotPayable, TooManyHolds
from bot.core.outbox import outbox
from bot.service.model.changes import Creation, Edit
from bot.service.model.checkout import UNKNOWN_HOLDER, Holder, Settlement
from bot.service.model.rail_answers import Manner
from bot.service.model.request import Kind, PaymentRequest, Product, Receiver, Terms, Webhook
from bot.service.rails.exchange_rates import SandboxExchange
from bot.service.rails.rail import Rails
from bot.service.rails.sandbox import SandboxRail
from bot.service.store import requests as store
from bot.service.usecases import applications, claiming, paying, request_commands, settling
from bot.service.usecases.looking import LOOKS
from bot.service.usecases.paying import PaymentForm, PaymentProgress
from bot.service.usecases.payment_context import PaymentContext
from bot.service.usecases.request_commands import Caller, Policy
from tests.support.service_harness import LOOPBACK, NOON

RESERVATION = 60_000
CAP = 1
CONTEXT = PaymentContext(Rails(SandboxRail()), SandboxExchange(), RESERVATION, CAP)
NETWORKS, PAYERS = ("venue", "venue", "home"), (None, "ann", "ben", "eve")
POLICY = Policy(LOOPBACK, SandboxExchange(), mails=True)
SECOND = 1000


@dataclass
class Twin:
    """What a request should be, kept beside it in the plainest way there is."""

    id: str
    kind: Kind
    total: int | None
    channels: set[str]
    enabled_at: int | None
    expires_at: int | None
    deleted: bool = False
    sold: int = 0
    oversold: int = 0
    decreased: int = 0
    held: dict[str, int] = field(default_factory=dict)  # unpaid checkouts: until when they hold
    holders: dict[str, Holder] = field(default_factory=dict)  # of checkouts, open or not
    paid: set[str] = field(default_factory=set)  # external ids of money that came

    def open_of(self, network: str | None, now: int) -> dict[str, Holder]:
        """Open checkouts of a network, with who holds them."""
        held = {key: self.holders[key] for key, until in self.held.items() if until > now}
        return {key: holder for key, holder in held.items() if holder.network == network}

    def holds(self, holder: Holder, now: int) -> str | None:
        """Return the open checkout that this payer holds."""
        mine = self.open_of(holder.network, now).items()
        return next((key for key, other in mine if other == holder), None)

    def is_capped(self, holder: Holder, now: int) -> bool:
        if holder.network is None:
            return False
        there = self.open_of(holder.network, now).values()
        if holder.payer is None and sum(one.payer is None for one in there) >= CAP:
            return True
        if self.total is None:
            return False
        unsold = self.total - self.sold - self.decreased
        return len(there) >= max(CAP, unsold // 2)

    def reserved(self, now: int) -> int:
        return sum(lapses_at > now for lapses_at in self.held.values())

    def remaining(self, now: int) -> int | None:
        if self.total is None:
            return None
        return self.total - self.sold - self.decreased - self.reserved(now)

    def enabled(self, now: int) -> bool:
        return (
            not self.deleted
            and self.remaining(now) != 0
            and (self.enabled_at is None or self.enabled_at <= now)
            and (self.expires_at is None or now < self.expires_at)
        )


@dataclass(frozen=True)
class Form:
    """A form that was posted once, with its token and what came of it."""

    twin_id: str
    token: str
    standing: PaymentProgress


class Shop(RuleBasedStateMachine):
    """Creates, edits, pays, waits, deletes; the rail's word comes when it likes."""

    empty: Path

    twins = Bundle("twins")
    forms = Bundle("forms")

    @initialize()
    def open(self) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=self.empty.parent))
        shutil.copy(self.empty, self.folder / "bot.db")
        self.db: Database = open_database(f"sqlite:///{self.folder}/bot.db")
        self.now, self.number = NOON, 0
        self.known: dict[str, Twin] = {}
        self.app = self.db.run(
            lambda tx: applications.create(tx, Vault("key"), "shop", NOON)
        ).app_id

    def teardown(self) -> None:
        if hasattr(self, "db"):
            self.db.close()
            shutil.rmtree(self.folder)

    def caller(self) -> Caller:
        return Caller(self.app, self.now, POLICY)

    def token(self) -> str:
        self.number += 1
        return f"token-{self.number:010d}"

    @rule(
        target=twins,
        kind=st.sampled_from([Kind.LIMIT, Kind.LIMIT, Kind.ONCE, Kind.NEVER]),
        total=st.integers(1, 6),
        hook=st.booleans(),
        mail=st.booleans(),
        begins=st.sampled_from([None, None, -5, 0, 90]),
        ends=st.sampled_from([None, None, None, 1, 200]),
    )
    def create(
        self,
        kind: Kind,
        total: int,
        *,
        hook: bool,
        mail: bool,
        begins: int | None,
        ends: int | None,
    ) -> Twin:
        terms = Terms(
            kind,
            Product("Coffee"),
            (Receiver("alice", 300), Receiver("bob", 200)),
            "BSV",
            "USD",
            webhook=Webhook("https://h.example/w") if hook else None,
            email="seller@example.org" if mail else None,
        )
        enabled_at = None if begins is None else self.now + begins * SECOND
        expires_at = None if ends is None else self.now + ends * SECOND
        units = total if kind is Kind.LIMIT else None
        body = Creation(terms, units, enabled_at, expires_at)
        made = self.db.run(lambda tx: request_commands.create(tx, self.caller(), body, None))
        channels = {name for name, on in (("webhook", hook), ("email", mail)) if on}
        twin = Twin(
            made.id, kind, 1 if kind is Kind.ONCE else units, channels, enabled_at, expires_at
        )
        self.known[twin.id] = twin
        return twin

    @rule(twin=twins, ends=st.none() | st.integers(-2, 200))
    def edit(self, twin: Twin, ends: int | None) -> None:
        """Remove the end, bring it forward, or put it off, which revives the request."""
        expires_at = None if ends is None else self.now + ends * SECOND
        change = Edit(name="Tea", expires_at=expires_at)
        if twin.deleted:
            with pytest.raises(NotFound):
                self.db.run(lambda tx: request_commands.edit(tx, self.caller(), twin.id, change))
            return
        self.db.run(lambda tx: request_commands.edit(tx, self.caller(), twin.id, change))
        twin.expires_at = expires_at

    @rule(twin=twins, count=st.integers(1, 3))
    def decrease(self, twin: Twin, count: int) -> None:
        change = Edit(decrease=count)
        refusal = self._refusal_of_decrease(twin, count)
        if refusal:
            with pytest.raises(refusal):
                self.db.run(lambda tx: request_commands.edit(tx, self.caller(), twin.id, change))
            return
        self.db.run(lambda tx: request_commands.edit(tx, self.caller(), twin.id, change))
        twin.decreased += count

    def _refusal_of_decrease(self, twin: Twin, count: int) -> type[Exception] | None:
        if twin.deleted:
            return NotFound
        if twin.kind is not Kind.LIMIT:
            return NotLimited
        return NotEnoughUnits if count > (twin.remaining(self.now) or 0) else None

    @rule(
        target=forms,
        twin=twins,
        manner=st.sampled_from(Manner),
        holder=st.builds(Holder, st.sampled_from(NETWORKS), st.sampled_from(PAYERS)),
    )
    def pay(self, twin: Twin, manner: Manner, holder: Holder = UNKNOWN_HOLDER) -> object:
        posted = PaymentForm(twin.id, self.token(), {"email": "p@example.org"}, manner, holder)
        if holder.payer and (held := twin.holds(holder, self.now)):
            standing = self.db.run(lambda tx: paying.pay(tx, CONTEXT, posted, self.now))
            assert standing == PaymentProgress(held, None)
            return multiple()
        if not twin.enabled(self.now):
            with pytest.raises(NotFound if twin.deleted else NotPayable):
                self.db.run(lambda tx: paying.pay(tx, CONTEXT, posted, self.now))
            return multiple()
        if twin.is_capped(holder, self.now):
            with pytest.raises(TooManyHolds):
                self.db.run(lambda tx: paying.pay(tx, CONTEXT, posted, self.now))
            return multiple()
        standing = self.db.run(lambda tx: paying.pay(tx, CONTEXT, posted, self.now))
        twin.held[standing.checkout_id] = self.now + RESERVATION
        twin.holders[standing.checkout_id] = holder
        if manner in {Manner.AT_ONCE, Manner.TWICE}:
            assert standing.payment is not None
            self._arrived(
                twin, Settlement("sandbox", standing.checkout_id, f"sandbox-{standing.checkout_id}")
            )
        else:
            assert standing.payment is None
        return Form(twin.id, posted.token, standing)

    @rule(form=forms)
    def pay_again(self, form: Form) -> None:
        """Post the form again, as after a double click: the payment is the same one."""
        posted = PaymentForm(form.twin_id, form.token, {"email": "other@example.org"})
        standing = self.db.run(lambda tx: paying.pay(tx, CONTEXT, posted, self.now))
        assert standing.checkout_id == form.standing.checkout_id
        if form.standing.payment:
            assert standing.payment == form.standing.payment

    @rule(form=forms)
    def cancel(self, form: Form) -> None:
        """Cancel the payer's checkout: its unit is free at once, and nothing else changes."""
        twin, checkout = self.known[form.twin_id], form.standing.checkout_id
        done = self.db.run(lambda tx: claiming.cancel(tx, form.twin_id, checkout, self.now))
        assert done is (twin.held.get(checkout, 0) > self.now)
        if done:
            twin.held[checkout] = 0

    @rule(seconds=st.sampled_from([1, 6, 59, 60, 66, 130]))
    def wait(self, seconds: int) -> None:
        self.now += seconds * SECOND

    @rule()
    def hear(self) -> None:
        """Find all money that is due by now."""
        for message in self.db.run(lambda tx: outbox.claim(tx, LOOKS, self.now, 50)):
            checkout = message.body.checkout_id
            self._take(Settlement("sandbox", checkout, f"sandbox-{checkout}"))
            self.db.run(partial(outbox.done, queue=LOOKS, message=message, now=self.now))

    @rule(form=forms, repeat=st.booleans())
    def hear_out_of_turn(self, form: Form, *, repeat: bool) -> None:
        """Report a settlement that nobody waits for: an old one, or a second of one checkout."""
        checkout = form.standing.checkout_id
        external = f"sandbox-{checkout}" if repeat else f"more-{self.token()}"
        self._take(Settlement("sandbox", checkout, external))

    @rule(twin=twins, count=st.integers(1, 3), late=st.booleans())
    def begin_and_go_away(self, twin: Twin, count: int, *, late: bool) -> None:
        """Open checkouts that lapse; their money may come later."""
        for _ in range(count):
            self.pay(twin, Manner.LATE if late else Manner.NEVER)
        self.now += RESERVATION + 6 * SECOND * late
        if late:
            self.hear()

    @rule(twin=twins)
    def delete(self, twin: Twin) -> None:
        if twin.deleted:
            with pytest.raises(NotFound):
                self.db.run(lambda tx: request_commands.delete(tx, self.caller(), twin.id))
            return
        self.db.run(lambda tx: request_commands.delete(tx, self.caller(), twin.id))
        twin.deleted = True

    def _take(self, settlement: Settlement) -> None:
        twin = next(twin for twin in self.known.values() if self._is_of(twin, settlement))
        first = self.db.run(lambda tx: settling.record_settlement(tx, settlement, self.now))
        assert (first and first.state.value) == self._arrived(twin, settlement)

    def _is_of(self, twin: Twin, settlement: Settlement) -> bool:
        row = self.db.run(
            lambda tx: tx.one(
                "SELECT request_id FROM checkouts WHERE id = :id", id=settlement.checkout_id
            )
        )
        return row is not None and row["request_id"] == twin.id

    def _arrived(self, twin: Twin, settlement: Settlement) -> str | None:
        """Record the money on the twin: for its unit, for another that is left, or for none."""
        if settlement.external_id in twin.paid:
            return None
        first = settlement.checkout_id in twin.held
        twin.paid.add(settlement.external_id)
        lapses_at = twin.held.pop(settlement.checkout_id, 0)
        if lapses_at > self.now:
            twin.sold += 1
            return "paid"
        if first and twin.remaining(self.now) != 0:
            twin.sold += 1
            return "late"
        twin.oversold += 1
        return "oversold"

    @invariant()
    def units_balance(self) -> None:
        for twin in getattr(self, "known", {}).values():
            it = self._request(twin)
            remaining = twin.remaining(self.now)
            if it.units is None:
                assert remaining is None
            else:
                total = it.units.total
                assert 0 <= it.units.remaining <= total
                assert it.units.remaining == remaining
                assert it.units.reserved == twin.reserved(self.now)
                assert it.units.decreased == twin.decreased
                assert it.units.paid == it.paid_count
            assert (it.paid_count, it.oversold_count) == (twin.sold, twin.oversold)

    @invariant()
    def each_payment_is_told_once_on_each_channel(self) -> None:
        if not getattr(self, "known", None):
            return
        payments = self.db.run(lambda tx: tx.query("SELECT * FROM payments"))
        assert sorted(row["external_id"] for row in payments) == sorted(
            external for twin in self.known.values() for external in twin.paid
        )
        expected = [
            (row["id"], channel)
            for row in payments
            for channel in self.known[row["request_id"]].channels
        ]
        owed = self.db.run(lambda tx: tx.query("SELECT id, payment_id, channel FROM deliveries"))
        assert sorted((row["payment_id"], row["channel"]) for row in owed) == sorted(expected)
        queued = self.db.run(
            lambda tx: tx.query("SELECT id FROM outbox WHERE queue IN ('webhooks', 'mails')")
        )
        assert {row["id"] for row in queued} == {row["id"] for row in owed}

    @invariant()
    def shares_sum_to_what_was_paid(self) -> None:
        if not getattr(self, "known", None):
            return
        for row in self.db.run(lambda tx: tx.query("SELECT * FROM payments")):
            shares = [int(share) for share in row["instrument_shares"].strip("[]").split(",")]
            assert sum(shares) == row["instrument_amount"] > 0
            assert row["rate_source"]
            assert row["rated_at"]

    @invariant()
    def is_enabled_as_decided(self) -> None:
        for twin in getattr(self, "known", {}).values():
            if twin.deleted:
                assert self.db.run(partial(store.find, request_id=twin.id, now=self.now)) is None
            else:
                assert self._request(twin).is_enabled(self.now) is twin.enabled(self.now)

    def _request(self, twin: Twin) -> PaymentRequest:
        found = self.db.run(lambda tx: store.find_ever(tx, twin.id, self.now))
        assert found is not None
        return found


@pytest.fixture(autouse=True)
def template(empty_file: Path, tmp_path: Path) -> None:
    Shop.empty = Path(shutil.copy(empty_file, tmp_path / "empty.db"))


TestLife = Shop.TestCase
TestLife.settings = settings(
    max_examples=60,
    stateful_step_count=40,
    suppress_health_check=list(HealthCheck),
)
