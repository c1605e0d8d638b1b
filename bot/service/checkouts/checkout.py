"""A checkout: an attempt to pay, which reserves its units until it is paid or given up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from bot.service.checkouts.order import Order
from bot.service.payouts import payout_account
from bot.service.rails import rail
from bot.service.requests import request

# The states of a checkout, and which of them may follow each other.


class CheckoutState(StrEnum):
    """State of a checkout; LATE and OVERSOLD are paid after it held no unit any more.

    OPENING waits for the wallet's invoice, CLAIMED for the seller to confirm the payer's word; it
    may hold no unit, and then is OVERSOLD where none is left once it's confirmed.
    """

    OPENING = "opening"
    OPEN = "open"
    CLAIMED = "claimed"
    PAID = "paid"
    LAPSED = "lapsed"
    CANCELLED = "cancelled"
    FAILED = "failed"
    REJECTED = "rejected"
    LATE = "late"
    OVERSOLD = "oversold"

    @property
    def holds_unit(self) -> bool:
        """Return whether a unit is reserved for it."""
        return self in HOLDING

    @property
    def is_settled(self) -> bool:
        """Return whether its money has arrived."""
        return not NEXT[self]


HOLDING = (CheckoutState.OPENING, CheckoutState.OPEN, CheckoutState.CLAIMED)
"""The states in which a unit is reserved; it is free as soon as a checkout leaves them unpaid."""

_TOO_LATE = frozenset({CheckoutState.LATE, CheckoutState.OVERSOLD})

NEXT: Mapping[CheckoutState, frozenset[CheckoutState]] = {
    CheckoutState.OPENING: frozenset(
        {CheckoutState.OPEN, CheckoutState.FAILED, CheckoutState.LAPSED}
    ),
    CheckoutState.OPEN: frozenset(
        {
            CheckoutState.PAID,
            CheckoutState.CLAIMED,
            CheckoutState.CANCELLED,
            CheckoutState.LAPSED,
        }
    ),
    CheckoutState.CLAIMED: frozenset(
        {
            CheckoutState.PAID,
            CheckoutState.REJECTED,
            CheckoutState.LAPSED,
            CheckoutState.OVERSOLD,
        }
    ),
    CheckoutState.LAPSED: _TOO_LATE | {CheckoutState.CLAIMED},
    CheckoutState.CANCELLED: _TOO_LATE,
    CheckoutState.FAILED: _TOO_LATE,
    CheckoutState.REJECTED: _TOO_LATE,
    CheckoutState.PAID: frozenset(),
    CheckoutState.LATE: frozenset(),
    CheckoutState.OVERSOLD: frozenset(),
}
"""The states that may follow each state."""

ENDED = tuple(state for state, following in NEXT.items() if following and state not in HOLDING)
"""The states without a unit in which money may still arrive."""


def states_before(state: CheckoutState) -> tuple[CheckoutState, ...]:
    """Return the states that this state may follow."""
    return tuple(one for one, following in NEXT.items() if state in following)


# When a wallet is asked for the money of a checkout; times and spans in ms.


SECOND = 1_000
MINUTE, HOUR, DAY = 60 * SECOND, 3_600 * SECOND, 86_400 * SECOND

PACES = ((5 * MINUTE, 5 * SECOND), (15 * MINUTE, 15 * SECOND))
"""Until an age of the invoice, the time between two polls that nobody asks for: many payers leave
the page for the app that pays."""

SLOWEST = MINUTE
GRACE = 10 * MINUTE
"""After its end an invoice is polled as often as before for so long: wallets settle late."""

AFTERWARDS = (HOUR, DAY)
"""The last polls, so long after the others."""

LAST = GRACE + max(AFTERWARDS)
"""After its end an invoice is polled no more."""

PATIENCE = LAST + DAY
"""After its end an invoice is given up at a host that takes no call: it may take none for a day."""

CLOSEST = SECOND
"""Between two polls of one checkout, however often an open page or its wallet asks for them."""


def next_poll(opened_at: int, expires_at: int, now: int) -> int | None:
    """Return when to poll after a poll at `now`; None if no money is expected any more."""
    end = expires_at + GRACE
    if now < end:
        pace = next((pace for age, pace in PACES if now - opened_at < age), SLOWEST)
        return min(now + pace, max(end, now + CLOSEST))
    return next((end + later for later in AFTERWARDS if end + later > now), None)


CLAIMED_SHARE = 2
"""Units of a drop that claims hold at most, as a divisor of all: the others stay for sale."""

FEW, MANY = 4, 8
"""Divisors of a drop: a network may claim the quarter of a small one and PAYER_HOLDS units of a
larger one. It may reserve PAYER_HOLDS units, of a large one an eighth."""

SITE = 2
"""How many times the share of a network an IPv6 site has, which is many networks."""

MOST_OPEN, MOST_OPEN_OF_SITE = 100, 400
"""Open checkouts of a link without units for one network, and for an IPv6 site around it: each
makes calls to a provider that other sellers share."""

NETWORKS_OF_SITE = 4
"""An IPv6 site's claims count as those of so many networks."""

LONGEST_INVOICE = 24 * 3600 * 1000
"""Milliseconds after which an invoice counts as expired, whatever its wallet says."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """A checkout as it is stored; times in epoch ms."""

    id: str
    request_id: str

    token: str
    """The hidden token of the payer's form."""

    user_data: dict[request.PayerField, str]

    quote: request.Quote
    """What the payer pays."""

    created_at: int

    lapses_at: int
    """The end of the reservation of its units."""

    stored_state: CheckoutState = CheckoutState.OPEN

    language: str | None = None
    """Language of the receipt to email to the payer, None for no receipt."""

    kind: str = payout_account.SANDBOX
    """Kind of the payout account, such as `bank`."""

    way: str = payout_account.SANDBOX
    """Way to pay, such as `bank:sepa`."""

    account_id: str | None = None

    automatic: bool = True
    """True if the rail learns of the money itself; otherwise the seller confirms it."""

    host: str = ""
    """The host to poll for the money, "" without a wallet."""

    external_id: str | None = None
    """Id of the invoice, unique over all rails."""

    reference: str | None = None
    """What the payer writes on a bank transfer."""

    pay_with: rail.PayWith | None = None
    """What the payer is shown, None while the checkout is opening."""

    poll_details: dict[str, Any] = field(default_factory=dict)
    """What the rail needs for its polls."""

    failure: str | None = None
    """Why the checkout could not be opened."""

    invalid_answer: str | None = None
    """The first answer of its wallet that was not believed."""

    opened_at: int | None = None

    polled_at: int | None = None
    """Time of the last poll, None if no wallet is polled."""

    expires_at: int | None = None
    """The end of the invoice."""

    claimed_at: int | None = None
    claim_lapses_at: int | None = None

    is_held: bool = True
    """True if units are reserved for the claim, until `lapses_at`."""

    price: int | None = None
    """What the payer chose to pay for one unit, None for the request's price."""

    quantity: int = 1
    words: request.PayerWords = request.NO_WORDS

    def state(self, now: int) -> CheckoutState:
        """Return its state; one that has lapsed may still be stored as holding its unit."""
        if self.stored_state.holds_unit and self.ends_at <= now:
            return CheckoutState.LAPSED
        return self.stored_state

    @property
    def ends_at(self) -> int:
        """Return when it lapses: a claim may outlast its units."""
        return self.claim_lapses_at or self.lapses_at

    @property
    def is_promised(self) -> bool:
        """Return whether its units are held until its claim lapses."""
        return self.is_held and self.lapses_at == self.claim_lapses_at

    @property
    def order(self) -> Order:
        """Return what the payer takes."""
        return Order(self.price, self.quantity)

    @property
    def wallet_host(self) -> str:
        """Return the wallet's or relay's host, for the log: without the key of a wallet there."""
        return self.host.partition("/")[0]

    @property
    def settles_as(self) -> str:
        """Return the external id of its payment."""
        return self.external_id or f"{self.kind}-{self.id}"

    def asked(
        self,
        memo: str,
        details: dict[str, Any],
        scenario: rail.SandboxScenario = rail.SandboxScenario.AT_ONCE,
    ) -> rail.Asked:
        """Return what its rail is asked, for the product's name and the account's details."""
        return rail.Asked(
            checkout_id=self.id,
            amount=self.quote.amount,
            currency=self.quote.currency,
            memo=memo,
            reference=self.reference or "",
            created_at=self.created_at,
            lapses_at=self.lapses_at,
            details=details,
            scenario=scenario,
        )

    def as_opened(self) -> rail.Opened:
        """Return what its rail has opened, for a poll."""
        return rail.Opened(self.settles_as, self.pay_with, self.expires_at, self.poll_details)

    def open(
        self, opened: rail.Opened, now: int, state: CheckoutState = CheckoutState.OPEN
    ) -> Checkout:
        """Return it as its rail has opened it; an invoice that ends earlier shortens it."""
        ends = opened.lapses_at or self.lapses_at
        return replace(
            self,
            stored_state=state,
            # Money that came with the opening is found by its payment.
            external_id=None if opened.arrived else opened.external_id,
            pay_with=opened.pay_with,
            poll_details=opened.poll_details,
            host=opened.host or self.host,
            opened_at=now,
            polled_at=now if opened.poll_times is None else None,
            expires_at=min(ends, now + LONGEST_INVOICE),
            lapses_at=min(self.lapses_at, ends),
        )


@dataclass(frozen=True, slots=True)
class Settlement:
    """A rail's report that the money of a checkout arrived.

    `external_id` is one payment, however often its rail reports it. `amount` is what arrived of it
    in all, None for exactly what was asked. `confirmed`: its seller says so, so that what arrived
    before is enough.
    """

    rail: str
    checkout_id: str
    external_id: str
    amount: int | None = None
    confirmed: bool = False


@dataclass(frozen=True, slots=True)
class Holder:
    """Who opens a checkout: `payer` is the id in their cookie, None without one.

    `network` identifies their address, None if addresses are not limited; `site` the IPv6 site
    around it, which for IPv4 is the address itself. `is_counted`: caps count what it holds, also
    once that has ended. `peer` identifies their network at all hosts, for a day.
    """

    network: str | None = None
    payer: str | None = None
    site: str | None = None
    is_counted: bool = False
    peer: str = ""


UNKNOWN_HOLDER = Holder()


@dataclass(frozen=True, slots=True)
class Held:
    """What caps count of a request for one network, or for the site around it, in units.

    `open` are reserved by checkouts that wait for money, `nameless` of them by payers without a
    cookie; `checkouts` is the number of checkouts, those claimed included. `lapsed` were given back
    unpaid and count for as long again as they were held; `given_up` is the number of checkouts of
    which that is true for three times as long. `paid` were paid within EARNED_FOR, and `claims` are
    claimed, unless their seller has confirmed them.
    """

    open: int = 0
    nameless: int = 0
    checkouts: int = 0
    lapsed: int = 0
    given_up: int = 0
    paid: int = 0
    claims: int = 0


EARNED_FOR = 3_600_000
"""Milliseconds for which a payment gives its network room."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim with units; `claims` are all units that its site claims.

    `site` is None where no cap counts it, so that it yields to proven money alone.

    `is_promised`: they are held until the claim lapses, and not for the ordinary time alone.
    """

    id: str
    site: str | None
    claims: int
    quantity: int
    claimed_at: int
    is_promised: bool


def share(units: int, cap: int) -> int:
    """Return what one network may claim of so many units; `cap` is PAYER_HOLDS."""
    return max(1, min(cap, units // FEW))


def may_reserve(
    holder: Holder, held: Held, of_site: Held, unsold: int | None, cap: int, quantity: int
) -> bool:
    """Return whether the holder's network may open one more checkout, of `quantity` units.

    `unsold` counts the units that remain or are reserved, None if they are unlimited. `cap` is
    PAYER_HOLDS: what payers without a cookie may hold together. Each unit that was paid makes room
    for another. A first checkout, and one after a single one that was given up, may take what the
    seller allows in one: whoever let an invoice expire gets another.
    """
    if is_capped_without_cookie(holder, held, cap, quantity):
        return False
    if unsold is None:
        return held.checkouts < MOST_OPEN and of_site.checkouts < MOST_OPEN_OF_SITE
    room = max(min(cap, unsold), unsold // MANY)
    return _fits(held, room, quantity) and _fits(of_site, SITE * room, quantity)


def _fits(held: Held, room: int, quantity: int) -> bool:
    if not held.open and held.given_up <= 1:
        return True
    return held.open + held.lapsed + quantity <= room + held.paid


def is_capped_without_cookie(holder: Holder, held: Held, cap: int, quantity: int) -> bool:
    """Return whether payers without a cookie hold as much as they may at this address."""
    return holder.payer is None and held.nameless > 0 and held.nameless + quantity > cap


def may_claim(units: request.Units, held: Held, of_site: Held, cap: int, quantity: int) -> bool:
    """Return whether a network may have `quantity` more units held for claims of its payers.

    Those that its seller has rejected or let lapse count for as long again as a claim lasts.
    """
    most = share(units.offered, cap)
    return held.claims + quantity <= most and of_site.claims + quantity <= SITE * most


def over_budget(units: request.Units, promised: int, quantity: int) -> int:
    """Return how many units of claims are too many if so many more than `promised` are held."""
    return promised + quantity - units.offered // CLAIMED_SHARE


def yielding(
    claims: Iterable[Claim], lacking: int, *, rival: int | None = None, is_proven: bool = False
) -> list[Claim]:
    """Return the claims whose units make room for `lacking` others; none if all are too few.

    Those of the site that claims most come first, its newest first; the first claim of each site
    stays. A new claim, of a site that claims `rival` units then, gets what a site above it was
    promised. Money that is proven also gets units that a claim holds for the ordinary time alone.
    """
    ranked = sorted(claims, key=lambda one: (one.claimed_at, one.id))
    firsts = {one.site: one.id for one in reversed(ranked)}
    excess = [
        one
        for one in reversed(ranked)
        if one.site is not None
        and firsts[one.site] != one.id
        and (rival is None or (one.is_promised and one.claims > rival))
    ]
    excess.sort(key=lambda one: (-one.claims, one.site or ""))
    if is_proven:
        excess += [one for one in reversed(ranked) if one not in excess and not one.is_promised]
    chosen = []
    for one in excess:
        if lacking <= 0:
            break
        chosen.append(one)
        lacking -= one.quantity
    return chosen if lacking <= 0 else []


# SQL conditions on the states of checkouts; the schema's indexes have the same.


def one_of(states: Iterable[CheckoutState]) -> str:
    """Write the condition that a checkout is in one of these states.

    For an `IN` of three and more SQLite makes a table each time that a row's indexes are examined.
    """
    terms = " OR ".join(f"state = '{state}'" for state in states)
    return f"({terms})"


HOLDS = one_of(HOLDING)
GIVEN_UP = one_of(ENDED)
