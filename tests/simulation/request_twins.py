"""What a request and its checkouts should be, kept beside them in the plainest way there is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from bot.interface.parts import AmountChoice
from bot.interface.vocabulary import Kind
from bot.service.checkouts.checkout import EARNED_FOR, Holder

CAP = 1
PRICE, DEAREST = 500, 100_000_000_000
"""What one unit costs, and the most that a payment may be, in cents."""

HOLDING = {"opening", "open", "claimed"}
GIVEN_UP = {"lapsed", "cancelled", "failed", "rejected"}


@dataclass
class Attempt:
    """A checkout: its units are held until `until`, unless it left the states that hold them.

    `price` is that of one unit, chosen or not. A claim lasts until `claim_until`, whether it `has`
    its units or not. `counted` is until when it counts for its network, None if nothing does.
    """

    way: str
    holder: Holder
    state: str
    begun: int
    until: int
    automatic: bool = True
    quantity: int = 1
    price: int = 0
    has: bool = True
    claimed: int | None = None
    claim_until: int | None = None
    counted: int | None = None

    @property
    def amount(self) -> int:
        return self.quantity * self.price

    @property
    def site(self) -> str | None:
        return self.holder.site or self.holder.network

    def pass_time(self, now: int) -> None:
        """Let it lapse, or lose the units that its claim was not promised."""
        if self.state not in HOLDING or self.until > now:
            return
        self.counted = 4 * self.until - 3 * self.begun
        if self.claim_until is None:
            self.state = "lapsed"
        elif self.claim_until > now:
            self.has, self.until = False, self.claim_until
        else:
            self.state, self.until = "lapsed", self.claim_until
            self.counted = 2 * self.claim_until - (self.claimed or 0)

    def at(self, now: int) -> str:
        self.pass_time(now)
        return self.state

    def lasts(self, now: int) -> bool:
        return self.at(now) in HOLDING

    def holds(self, now: int) -> bool:
        return self.lasts(now) and self.has

    def give_up(self, state: str, now: int) -> None:
        """End it without its money."""
        self.counted = 4 * now - 3 * self.begun
        if state == "rejected":
            self.counted = now + (self.claim_until or 0) - (self.claimed or 0)
        if state == "failed":
            self.counted = None
        self.state = state

    def sums(self, now: int) -> Counter[str]:
        """Return what it counts for its network, by the names of Held."""
        state, found = self.at(now), Counter[str]()
        counts = self.counted is not None and self.counted > now
        if state in HOLDING and self.has and self.until != self.claim_until:
            found["open"] = self.quantity
            found["nameless"] = self.quantity if self.holder.payer is None else 0
        ended = state in {"lapsed", "cancelled"} and self.claimed is None
        if counts and (ended or (state == "claimed" and not self.has)):
            found["given_up"] = 1
            found["lapsed"] = self.quantity * ((self.counted or 0) + self.begun > 2 * now)
        if counts and state in {"paid", "late"}:
            found["paid"] = self.quantity
        if state == "claimed" or (counts and self.claimed and state in {"lapsed", "rejected"}):
            found["claims"] = self.quantity
        return found


@dataclass
class Twin:
    """A request; `external` are the ids of its money that came, `short` what was too little of it.

    `most` are the units of one checkout, `numbers` the first unit and the quantity of each payment
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
    choice: AmountChoice[int] | None = None
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
        return next((key for key in mine if self.attempts[key].lasts(now)), None)

    def _sums(self, holder: Holder, now: int, but: str | None) -> tuple[Counter[str], Counter[str]]:
        """Return what counts for a holder's network, and for its site."""
        network, site = Counter[str](), Counter[str]()
        for key, one in self.attempts.items():
            sums = one.sums(now)
            if key != but and one.site is not None:
                site += sums if one.site == (holder.site or holder.network) else Counter()
                network += sums if one.holder.network == holder.network else Counter()
        return network, site

    def is_capped(self, holder: Holder, quantity: int, now: int, but: str | None = None) -> bool:
        """Return whether a network has too many units; the first checkout has what it wants."""
        if holder.network is None:
            return False
        network, site = self._sums(holder, now, but)
        nameless = network["nameless"] if holder.payer is None else 0
        if nameless and nameless + quantity > CAP:
            return True
        if self.total is None:
            return False
        room = max(1, (self.total - self.sold - self.decreased) // 8)
        return any(
            (sums["open"] or sums["given_up"] > 1)
            and sums["open"] + sums["lapsed"] + quantity > most + sums["paid"]
            for sums, most in ((network, room), (site, 2 * room))
        )

    def promise(self, key: str, holder: Holder, now: int) -> list[str] | None:
        """Return the claims that yield so that a claim's units are held; None if they aren't."""
        if self.total is None:
            return []
        quantity, rival = self.attempts[key].quantity, self.attempts[key].quantity
        if holder.network is not None:
            network, site = self._sums(holder, now, key)
            if network["claims"] + quantity > CAP or site["claims"] + quantity > 2 * CAP:
                return None
            rival += site["claims"]
        held = [one for one in self.attempts.values() if one.holds(now)]
        promised = sum(one.quantity for one in held if one.until == one.claim_until)
        lacking = promised + quantity - (self.total - self.decreased) // 2
        if lacking <= 0:
            return []
        found = [
            key
            for key in self._yielding(now)
            if self._claims(key) > rival
            and self.attempts[key].until == self.attempts[key].claim_until
        ]
        return self._first(found, lacking) or None

    def _claims(self, key: str) -> int:
        """Return the units that the site of a claim claims."""
        all_of = [one for one in self.attempts.values() if one.state == "claimed"]
        return sum(one.quantity for one in all_of if one.site == self.attempts[key].site)

    def _newest(self, now: int) -> list[str]:
        """Return the claims that have their units, the newest first."""
        found = [key for key, one in self.attempts.items() if one.holds(now)]
        found = [key for key in found if self.attempts[key].at(now) == "claimed"]
        return sorted(found, key=lambda key: (self.attempts[key].claimed, key), reverse=True)

    def _yielding(self, now: int) -> list[str]:
        """Return the claims that are not the first of their site, which claims most on top."""
        newest = self._newest(now)
        first = {self.attempts[key].site: key for key in newest}
        rest = [key for key in newest if self.attempts[key].site and key not in first.values()]
        return sorted(rest, key=lambda key: (-self._claims(key), self.attempts[key].site or ""))

    def _first(self, keys: list[str], lacking: int) -> list[str]:
        """Return as many as bring the units that are lacking, none if all bring too few."""
        for count in range(len(keys) + 1):
            if sum(self.attempts[key].quantity for key in keys[:count]) >= lacking:
                return keys[:count]
        return []

    def take_back(self, keys: list[str]) -> None:
        for key in keys:
            one = self.attempts[key]
            one.has, one.until, one.counted = False, one.claim_until or 0, 0

    def make_room(self, quantity: int, now: int, *, proven: bool = False) -> bool:
        """Let claims yield until so many units remain; return whether they do."""
        if self.has(quantity, now):
            return True
        keys = self._yielding(now)
        if proven:
            rest = [key for key in self._newest(now) if key not in keys]
            alone = [
                key for key in rest if self.attempts[key].until != self.attempts[key].claim_until
            ]
            keys += alone
        self.take_back(self._first(keys, quantity - (self.remaining(now) or 0)))
        return self.has(quantity, now)

    def yields(self, now: int) -> int:
        """Return the units of claims that are shown as remaining: where no others do."""
        if self.total is None or self.remaining(now):
            return 0
        return sum(self.attempts[key].quantity for key in self._yielding(now))

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
            and (self.remaining(now) != 0 or self.yields(now) > 0)
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
        if state == "open" or (state == "claimed" and one.has):
            booked = "paid"
        elif state in {"claimed", *GIVEN_UP} and self.make_room(one.quantity, now, proven=True):
            booked = "paid" if state == "claimed" else "late"
        elif state in GIVEN_UP and self.remaining(now):
            self.partly += 1
        if state in {"open", "claimed", *GIVEN_UP}:
            one.state = booked
            if state in GIVEN_UP and (one.counted or 0) <= now:
                one.counted = None
            one.counted = None if one.counted is None else now + EARNED_FOR
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
