"""Requests that are created, edited and deleted, and what holds after each step of their lives."""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from bot.core.database.database import Database, Row
from bot.core.database.vault import Vault
from bot.core.errors import NoCodes, NotEnoughUnits, NotFound, NotLimited
from bot.interface.parts import AmountChoice
from bot.interface.vocabulary import BANK, LIGHTNING, LNBITS, DeliveryKind, Kind
from bot.service.checkouts import checkout_rows
from bot.service.checkouts.checkout import Checkout
from bot.service.checkouts.paying import PaymentProgress
from bot.service.goods import fulfillment
from bot.service.goods.contents import Goods
from bot.service.payments import payment_marks, payment_rows
from bot.service.payments.payment_marks import MarkEdit, MarksEdit
from bot.service.rails.exchange_rates import SandboxExchange
from bot.service.requests import applications, request_commands, request_rows
from bot.service.requests.changes import Creation, Edit
from bot.service.requests.request import PaymentRequest, Product, Receiver, Terms, Webhook
from bot.service.requests.request_commands import Caller, Policy
from tests.simulation.request_twins import PRICE, Twin
from tests.simulation.scripted_money import OWNER, Wallet, real_money, sandbox_money
from tests.support.databases import open_in
from tests.support.service_harness import LOOPBACK, NOON

SHARED = (Receiver("alice", 300), Receiver("bob", 200))
POLICY = Policy(LOOPBACK, SandboxExchange(), mails=True)
SECOND = 1000
CHOICES = (None, AmountChoice(100, (PRICE, 1000)), AmountChoice(PRICE, (), 900))


@dataclass(frozen=True)
class Form:
    """A form that was posted once, with its token and what came of it."""

    twin_id: str
    token: str
    progress: PaymentProgress


class Shop(RuleBasedStateMachine):
    """Creates, edits and deletes requests; its payments are those of a subclass."""

    folders: Path
    """Where each run makes a folder of its own."""

    twins = Bundle("twins")
    forms = Bundle("forms")

    @initialize(real=st.booleans())
    def open(self, *, real: bool) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=self.folders))
        self.db: Database = open_in(self.folder)
        self.now, self.number = NOON, 0
        self.known: dict[str, Twin] = {}
        self.app = self.db.run(
            lambda tx: applications.create(tx, Vault("key"), "shop", NOON)
        ).app_id
        self.real = real
        automatic = Wallet(LIGHTNING, automatic=True)
        self.wallets = [automatic, Wallet(LNBITS), Wallet(BANK)]
        self.context = (
            real_money(self.db, self.app, NOON, *self.wallets) if real else sandbox_money()
        )

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
        most=st.sampled_from([None, 2, 3]),
        choice=st.sampled_from(CHOICES),
        codes=st.sampled_from([0, 1, 3, 9]),
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
        most: int | None = None,
        choice: AmountChoice[int] | None = None,
        codes: int = 0,
    ) -> Twin:
        terms = Terms(
            kind,
            Product("Coffee"),
            (Receiver(f"account:{OWNER}", PRICE),) if self.real else SHARED,
            "USD" if self.real else "BSV",
            "USD",
            webhook=Webhook("https://h.example/w") if hook else None,
            email="seller@example.org" if mail else None,
            max_quantity=most if kind is Kind.LIMIT else None,
            choice=choice,
        )
        enabled_at = None if begins is None else self.now + begins * SECOND
        expires_at = None if ends is None else self.now + ends * SECOND
        units = total if kind is Kind.LIMIT else None
        listed = [self.token() for _ in range(codes)]
        goods = Goods(DeliveryKind.CODES, codes=tuple(listed)) if codes else None
        body = Creation(terms, units, enabled_at, expires_at, goods)
        made = self.db.run(lambda tx: request_commands.create(tx, self.caller(), body, None))
        channels = {name for name, on in (("webhook", hook), ("email", mail)) if on}
        of_units = 1 if kind is Kind.ONCE else units
        twin = Twin(made.id, kind, of_units, channels, enabled_at, expires_at, choice=choice)
        twin.most, twin.codes = terms.max_quantity or 1, listed
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
        twin.make_room(count, self.now)
        twin.decreased += count

    def _refusal_of_decrease(self, twin: Twin, count: int) -> type[Exception] | None:
        if twin.deleted:
            return NotFound
        if twin.kind is not Kind.LIMIT:
            return NotLimited
        left = (twin.remaining(self.now) or 0) + twin.yields(self.now)
        return NotEnoughUnits if count > left else None

    @rule(twin=twins, count=st.integers(1, 3))
    def add_codes(self, twin: Twin, count: int) -> None:
        """Add codes, and one that is known: the units that waited have theirs at once."""
        new = [self.token() for _ in range(count)]
        listed = [*twin.codes[-1:], *new]
        add = partial(
            request_commands.add_codes, caller=self.caller(), request_id=twin.id, listed=listed
        )
        if not twin.codes:
            with pytest.raises(NoCodes):
                self.db.run(add)
            return
        assert self.db.run(add).added == count
        twin.codes += new

    @rule(twin=twins, number=st.integers(0, 9), back=st.booleans())
    def pay_back(self, twin: Twin, number: int, *, back: bool) -> None:
        """Mark a payment as paid back, or take the mark back."""
        rows = self._payments(twin)
        if not rows:
            return
        row = rows[number % len(rows)]
        edit = MarksEdit(paid_back=MarkEdit() if back else None, notify_payer=False)
        self.db.run(lambda tx: payment_marks.mark(tx, self.caller(), twin.id, row["id"], edit))
        if back:
            twin.paid_back.add(row["external_id"])
        else:
            twin.paid_back.discard(row["external_id"])

    @rule(twin=twins)
    def delete(self, twin: Twin) -> None:
        if twin.deleted:
            with pytest.raises(NotFound):
                self.db.run(lambda tx: request_commands.delete(tx, self.caller(), twin.id))
            return
        self.db.run(lambda tx: request_commands.delete(tx, self.caller(), twin.id))
        twin.deleted = True

    def _twin_of(self, checkout: str) -> Twin:
        return next(twin for twin in self.known.values() if checkout in twin.attempts)

    def _checkout(self, checkout_id: str) -> Checkout:
        found = self.db.run(lambda tx: checkout_rows.find(tx, checkout_id))
        assert found is not None
        return found

    @invariant()
    def each_checkout_is_in_its_state(self) -> None:
        for twin in getattr(self, "known", {}).values():
            for checkout, one in twin.attempts.items():
                assert self._checkout(checkout).state(self.now) == one.at(self.now)

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
                free = twin.yields(self.now)
                assert it.units.remaining == (remaining or 0) + free
                assert it.units.reserved == twin.reserved(self.now) - free
                assert it.units.decreased == twin.decreased
                assert it.units.paid == it.paid_count
            assert (it.paid_count, it.oversold_count) == (twin.sold, twin.oversold)

    @invariant()
    def money_balances(self) -> None:
        """The sums are those of the payments that have units and weren't paid back, and of all."""
        for twin in getattr(self, "known", {}).values():
            it = self._request(twin)
            assert (it.sales_count, it.raised, it.volume) == (twin.sales, twin.raised, twin.volume)
            rows = self._payments(twin)
            took = [
                row["amount"]
                for row in rows
                if row["state"] in {"paid", "late"} and row["paid_back_at"] is None
            ]
            told = [row["amount"] for row in rows if row["state"] != "underpaid"]
            assert (sum(took), sum(told)) == (twin.raised, twin.volume)

    @invariant()
    def each_unit_has_one_number_and_each_number_one_payment(self) -> None:
        """By these numbers payers get their codes; money without units has none."""
        for twin in getattr(self, "known", {}).values():
            rows = self._payments(twin)
            numbers = {
                row["external_id"]: (row["first_unit"], row["quantity"])
                for row in rows
                if row["first_unit"] is not None
            }
            assert numbers == twin.numbers
            assert {row["state"] for row in rows if row["first_unit"] is None} <= {
                "oversold", "underpaid",
            }  # fmt: skip
            given = [first + n for first, quantity in numbers.values() for n in range(quantity)]
            assert sorted(given) == list(range(1, twin.sold + 1))

    @invariant()
    def each_payment_is_told_once_on_each_channel(self) -> None:
        """One that was too little at first by a letter more; its webhook is for who knows it."""
        if not getattr(self, "known", None):
            return
        rows = self.db.run(lambda tx: tx.query("SELECT * FROM payments"))
        assert sorted(row["external_id"] for row in rows) == sorted(
            external for twin in self.known.values() for external in twin.external
        )
        expected = [
            (row["id"], channel)
            for row in rows
            for channel in self.known[row["request_id"]].channels
            for state in [row["state"], *self._told_before(row)]
            if (state, channel) != ("underpaid", "webhook")
        ]
        sql = "SELECT id, payment_id, channel FROM deliveries WHERE channel <> 'receipt'"
        owed = self.db.run(lambda tx: tx.query(sql))
        told = [(row["payment_id"], row["channel"]) for row in owed if row["payment_id"]]
        assert sorted(told) == sorted(expected)  # the others tell of claims
        queued = self.db.run(
            lambda tx: tx.query("SELECT id FROM outbox WHERE queue IN ('webhooks', 'mails')")
        )
        assert {row["id"] for row in queued} == {row["id"] for row in owed}

    def _told_before(self, payment: Row) -> list[str]:
        """Return the states in which a payment was told before its present one."""
        replaced = self.known[payment["request_id"]].replaced
        return ["underpaid"] * replaced.count(payment["external_id"])

    @invariant()
    def shares_sum_to_what_was_paid(self) -> None:
        if not getattr(self, "known", None):
            return
        for row in self.db.run(lambda tx: tx.query("SELECT * FROM payments")):
            shares = [int(share) for share in row["instrument_shares"].strip("[]").split(",")]
            assert sum(shares) == row["instrument_amount"] > 0
            assert sum(one["amount"] for one in json.loads(row["receivers"])) == row["amount"]
            converted = row["instrument_currency"] != row["currency"]
            assert bool(row["rate_source"]) is bool(row["rated_at"]) is converted

    @invariant()
    def is_enabled_as_decided(self) -> None:
        for twin in getattr(self, "known", {}).values():
            if twin.deleted:
                assert (
                    self.db.run(partial(request_rows.find, request_id=twin.id, now=self.now))
                    is None
                )
            else:
                assert self._request(twin).is_enabled(self.now) is twin.enabled(self.now)

    @invariant()
    def each_code_is_shown_to_one_payer_at_most(self) -> None:
        """Also codes that come after the payment; oversold money and what is paid back has none."""
        for twin in getattr(self, "known", {}).values():
            shown: list[str] = []
            for row in self._payments(twin):
                found = self.db.run(
                    partial(fulfillment.find_received, payment=payment_rows.read_row(row))
                )
                codes = None if found is None else ([*found.codes], found.waiting)
                assert codes == twin.codes_of(row["external_id"])
                shown += codes[0] if codes else []
            assert len(shown) == len({*shown})
            waiting = twin.sold - len(twin.codes) if twin.codes else 0
            assert self._request(twin).codes_waiting == max(0, waiting)

    def _payments(self, twin: Twin) -> list[Row]:
        sql = "SELECT * FROM payments WHERE request_id = :id"
        return self.db.run(lambda tx: tx.query(sql, id=twin.id))

    def _request(self, twin: Twin) -> PaymentRequest:
        found = self.db.run(lambda tx: request_rows.find_ever(tx, twin.id, self.now))
        assert found is not None
        return found
