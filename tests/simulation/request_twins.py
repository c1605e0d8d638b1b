"""What a request and its checkouts should be, kept beside them in the plainest way there is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.service.model.checkout import Holder
    from bot.service.model.request import Kind

CAP = 1
HOLDING = {"opening", "open", "claimed"}
GIVEN_UP = {"lapsed", "cancelled", "failed", "rejected"}


@dataclass
class Attempt:
    """A checkout: its unit is held until `until`, unless it left the states that hold one."""

    way: str
    holder: Holder
    state: str
    until: int
    automatic: bool = True

    def at(self, now: int) -> str:
        return "lapsed" if self.state in HOLDING and self.until <= now else self.state

    def holds(self, now: int) -> bool:
        return self.at(now) in HOLDING


@dataclass
class Twin:
    """A request; `external` are the ids of its money that came, `short` what was too little of it.

    `replaced` are the ids of payments that were told as too little first, once for each time.
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

    def is_capped(self, holder: Holder, now: int) -> bool:
        if holder.network is None:
            return False
        held = [one.holder for one in self.attempts.values() if one.holds(now)]
        there = [other for other in held if other.network == holder.network]
        if holder.payer is None and sum(one.payer is None for one in there) >= CAP:
            return True
        if self.total is None:
            return False
        unsold = self.total - self.sold - self.decreased
        return len(there) >= max(CAP, unsold // 2)

    def is_closed(self, now: int) -> bool:
        """Return whether no more units may wait for the seller to confirm them."""
        if self.total is None:
            return False
        waiting = sum(one.holds(now) and not one.automatic for one in self.attempts.values())
        return waiting >= max(1, (self.total - self.decreased) // 2)

    def reserved(self, now: int) -> int:
        return sum(one.holds(now) for one in self.attempts.values())

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
        """Book money that arrived: for its unit, for another that is left, or for none.

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
        self.external.add(external_id)
        if short is not None:
            self.short[external_id] = short
            return "underpaid"
        one = self.attempts[checkout]
        state = one.at(now)
        booked = "oversold"
        if state in {"open", "claimed"}:
            booked = "paid"
        elif state in GIVEN_UP and self.remaining(now) != 0:
            booked = "late"
        if state in {"open", "claimed", *GIVEN_UP}:
            one.state = booked
        self.sold += booked != "oversold"
        self.oversold += booked == "oversold"
        return booked
