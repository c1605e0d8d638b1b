"""What a request and its checkouts should be, kept beside them in the plainest way there is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.service.model.amount_choice import AmountChoice
    from bot.service.model.checkout import Holder
    from bot.service.model.request import Kind

CAP = 1
PRICE, DEAREST = 500, 100_000_000_000
"""What one piece costs, and the most that a payment may be, in cents."""

HOLDING = {"opening", "open", "claimed"}
GIVEN_UP = {"lapsed", "cancelled", "failed", "rejected"}


@dataclass
class Attempt:
    """A checkout: its units are held until `until`, unless it left the states that hold them.

    `price` is that of one piece, chosen or not.
    """

    way: str
    holder: Holder
    state: str
    until: int
    automatic: bool = True
    quantity: int = 1
    price: int = 0

    @property
    def amount(self) -> int:
        return self.quantity * self.price

    def at(self, now: int) -> str:
        return "lapsed" if self.state in HOLDING and self.until <= now else self.state

    def holds(self, now: int) -> bool:
        return self.at(now) in HOLDING


@dataclass
class Twin:
    """A request; `external` are the ids of its money that came, `short` what was too little of it.

    `most` are the pieces of one checkout, `numbers` the first unit and the quantity of each payment
    that took its units, by its id. `sales` counts these, `raised` is their sum, and `volume` that
    of all payments; `partly` counts those that were oversold although some of their units were
    left. `codes` are those of its units in their order, if it delivers codes. `paid_back` are the
    ids of payments whose money went back, and `amounts` what was asked for by id. `replaced` are
    the ids of payments that were told as too little first, once for each time.
    """

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
    most: int = 1
    choice: AmountChoice | None = None
    partly: int = 0
    sales: int = 0
    volume: int = 0
    numbers: dict[str, tuple[int, int]] = field(default_factory=dict)
    codes: list[str] = field(default_factory=list)
    paid_back: set[str] = field(default_factory=set)
    amounts: dict[str, int] = field(default_factory=dict)
    attempts: dict[str, Attempt] = field(default_factory=dict)
    external: set[str] = field(default_factory=set)
    short: dict[str, int] = field(default_factory=dict)
    replaced: list[str] = field(default_factory=list)

    def held_by(self, holder: Holder, now: int) -> str | None:
        """Return the checkout that holds a unit for this payer."""
        if holder.payer is None:
            return None
        mine = (key for key, one in self.attempts.items() if one.holder == holder)
        return next((key for key in mine if self.attempts[key].holds(now)), None)

    def is_capped(self, holder: Holder, quantity: int, now: int) -> bool:
        """Return whether a network has too many units; the first checkout has what it wants."""
        if holder.network is None:
            return False
        held = [one for one in self.attempts.values() if one.holds(now)]
        there = [one for one in held if one.holder.network == holder.network]
        nameless = sum(one.quantity for one in there if one.holder.payer is None)
        if holder.payer is None and nameless and nameless + quantity > CAP:
            return True
        if self.total is None or not there:
            return False
        unsold = self.total - self.sold - self.decreased
        return sum(one.quantity for one in there) + quantity > max(CAP, unsold // 2)

    def is_closed(self, quantity: int, now: int) -> bool:
        """Return whether so many units may not wait for the seller to confirm them."""
        if self.total is None:
            return False
        held = [one for one in self.attempts.values() if one.holds(now)]
        waiting = sum(one.quantity for one in held if not one.automatic)
        return waiting + quantity > max(quantity, (self.total - self.decreased) // 2)

    def is_priced(self, price: int | None) -> bool:
        """Return whether a payer may choose this price."""
        if self.choice is None or price is None:
            return price in {None, PRICE}
        most = min(self.choice.maximum or DEAREST, DEAREST)
        return self.choice.minimum <= price <= most

    def has(self, quantity: int, now: int) -> bool:
        """Return whether so many units remain."""
        remaining = self.remaining(now)
        return remaining is None or remaining >= quantity

    def reserved(self, now: int) -> int:
        return sum(one.quantity for one in self.attempts.values() if one.holds(now))

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

    def arrive(
        self, checkout: str, external_id: str, now: int, *, short: int | None = None
    ) -> str | None:
        """Book money that arrived: for its units, for others that are left, or for none.

        `short` is the amount of too little; what raises or completes it takes its place. Return the
        state of its payment, None if it was booked before.
        """
        before = self.short.pop(external_id, None)
        if external_id in self.external:
            if before is None:
                return None
            if short is not None and short <= before:
                self.short[external_id] = before
                return None
            self.replaced.append(external_id)
            self.paid_back.discard(external_id)
        self.external.add(external_id)
        if short is not None:
            self.short[external_id] = short
            return "underpaid"
        one = self.attempts[checkout]
        state = one.at(now)
        booked = "oversold"
        if state in {"open", "claimed"}:
            booked = "paid"
        elif state in GIVEN_UP and self.has(one.quantity, now):
            booked = "late"
        elif state in GIVEN_UP and self.remaining(now):
            self.partly += 1
        if state in {"open", "claimed", *GIVEN_UP}:
            one.state = booked
        self._count(one, external_id, booked)
        return booked

    def _count(self, one: Attempt, external_id: str, booked: str) -> None:
        """Add up a payment: its units have the next numbers."""
        self.volume += one.amount
        self.amounts[external_id] = one.amount
        if booked == "oversold":
            self.oversold += 1
            return
        self.numbers[external_id] = (self.sold + 1, one.quantity)
        self.sold += one.quantity
        self.sales += 1

    @property
    def raised(self) -> int:
        kept = self.numbers.keys() - self.paid_back
        return sum(self.amounts[external] for external in kept)

    def codes_of(self, external_id: str) -> tuple[list[str], int] | None:
        """Return the codes that a payment shows, and how many of its units wait for one."""
        if not self.codes or external_id not in self.numbers or external_id in self.paid_back:
            return None
        first, quantity = self.numbers[external_id]
        mine = self.codes[first - 1 : first - 1 + quantity]
        return mine, quantity - len(mine)
