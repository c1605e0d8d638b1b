"""A checkout: an attempt to pay, which reserves its units until it is paid or given up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bot.interface import parts, vocabulary
from bot.service.checkouts.order import Order
from bot.service.rails import rail
from bot.service.requests import request

State = vocabulary.CheckoutState

HOLDING = (State.OPENING, State.OPEN, State.CLAIMED)
"""The states in which units are reserved; a checkout that leaves them unpaid returns its units."""

_TOO_LATE = frozenset({State.LATE, State.OVERSOLD})

NEXT: Mapping[State, frozenset[State]] = {
    State.OPENING: frozenset({State.OPEN, State.FAILED, State.LAPSED}),
    State.OPEN: frozenset({State.PAID, State.CLAIMED, State.CANCELLED, State.LAPSED}),
    State.CLAIMED: frozenset({State.PAID, State.REJECTED, State.LAPSED, State.OVERSOLD}),
    State.LAPSED: _TOO_LATE | {State.CLAIMED},
    State.CANCELLED: _TOO_LATE,
    State.FAILED: _TOO_LATE,
    State.REJECTED: _TOO_LATE,
    State.PAID: frozenset(),
    State.LATE: frozenset(),
    State.OVERSOLD: frozenset(),
}
"""The states that may follow each state."""

ENDED = tuple(state for state, following in NEXT.items() if following and state not in HOLDING)
"""The states without units in which money may still arrive."""

SETTLED = frozenset(state for state, following in NEXT.items() if not following)
"""The states in which money has arrived."""


def states_before(state: State) -> tuple[State, ...]:
    """Return the states that this state may follow."""
    return tuple(one for one, following in NEXT.items() if state in following)


def one_of(states: Iterable[State]) -> str:
    """Return the SQL condition for these states, in the same form as in the indexes.

    SQLite builds a table for an `IN` of three or more values each time it examines the indexes of a
    row.
    """
    terms = " OR ".join(f"state = '{state}'" for state in states)
    return f"({terms})"


HOLDS = one_of(HOLDING)
GIVEN_UP = one_of(ENDED)


# When a wallet is polled for the money of a checkout, in milliseconds.


SECOND = 1_000
MINUTE, HOUR, DAY = 60 * SECOND, 3_600 * SECOND, 86_400 * SECOND

PACES = ((5 * MINUTE, 5 * SECOND), (15 * MINUTE, 15 * SECOND))
"""Interval of regular polls up to each age of the invoice: many payers leave the page for the app
that pays.
"""

SLOWEST = MINUTE
"""Interval of regular polls for older invoices."""

GRACE = 10 * MINUTE
"""Time after an invoice ends during which it is polled as often as before: wallets settle late."""

AFTERWARDS = (HOUR, DAY)
"""The last polls, counted from the end of GRACE."""

LAST = GRACE + max(AFTERWARDS)
"""Time from the end of an invoice to its last poll."""

PATIENCE = LAST + DAY
"""Time from the end of an invoice until it is given up without a poll. A host can refuse all calls
for a day.
"""

CLOSEST = SECOND
"""Minimum time between two polls of a checkout, whoever requests them."""


def next_poll(opened_at: int, expires_at: int, now: int) -> int | None:
    """Return when to poll after a poll at `now`, or None if money is no longer expected."""
    end = expires_at + GRACE
    if now < end:
        pace = next((pace for age, pace in PACES if now - opened_at < age), SLOWEST)
        return min(now + pace, max(end, now + CLOSEST))
    return next((end + later for later in AFTERWARDS if end + later > now), None)


LONGEST_INVOICE = DAY
"""Milliseconds after which an invoice counts as expired, whatever its wallet says."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """A checkout as it is stored; times in epoch ms."""

    id: str
    request_id: str

    token: str
    """The token in the payer's form."""

    user_data: dict[vocabulary.PayerField, str]

    quote: request.Quote
    """What the payer pays."""

    created_at: int

    lapses_at: int
    """The end of the reservation of its units."""

    stored_state: State = State.OPEN

    language: str | None = None
    """Language of the emailed receipt, None if the payer wants no receipt."""

    kind: str = vocabulary.SANDBOX
    """Kind of the payout account, such as `bank`."""

    way: str = vocabulary.SANDBOX
    """Way to pay, such as `bank:sepa`."""

    account_id: str | None = None

    automatic: bool = True
    """True if the rail learns of the money itself; otherwise the seller confirms it."""

    host: str = ""
    """The host to poll for the money, "" if there is no wallet."""

    external_id: str | None = None
    """Id of the invoice, unique over all rails."""

    reference: str | None = None
    """What the payer writes on a bank transfer."""

    pay_with: rail.PayWith | None = None
    """The invoice or code to pay with, None while the checkout is opening."""

    poll_details: dict[str, Any] = field(default_factory=dict)
    """What the rail needs for its polls."""

    failure: str | None = None
    """Why the checkout could not be opened."""

    invalid_answer: str | None = None
    """The first answer from the wallet that failed a check."""

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
    """The price that the payer chose for one unit, None if the request's price applies."""

    quantity: int = 1
    words: parts.PayerWords = parts.NO_WORDS

    def state(self, now: int) -> State:
        """Return its state; a lapsed checkout may still be stored as holding its units."""
        if self.stored_state in HOLDING and self.ends_at <= now:
            return State.LAPSED
        return self.stored_state

    @property
    def ends_at(self) -> int:
        """Return when the checkout lapses. A claim may outlast the reservation of its units."""
        return self.claim_lapses_at or self.lapses_at

    @property
    def is_promised(self) -> bool:
        """Return whether the units are held until the claim lapses."""
        return self.is_held and self.lapses_at == self.claim_lapses_at

    @property
    def order(self) -> Order:
        """Return the quantity and the price that the payer chose."""
        return Order(self.price, self.quantity)

    @property
    def wallet_host(self) -> str:
        """Return the host of the wallet or relay for the log, without the wallet's key."""
        return self.host.partition("/")[0]

    @property
    def settles_as(self) -> str:
        """Return the external id of its payment."""
        return self.external_id or f"{self.kind}-{self.id}"

    def charge(
        self,
        memo: str,
        details: dict[str, Any],
        scenario: rail.SandboxScenario = rail.SandboxScenario.AT_ONCE,
    ) -> rail.Charge:
        """Return the charge for the rail, with the product's name and the account's details."""
        return rail.Charge(
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
        """Return the invoice or code that the rail opened, for a poll."""
        return rail.Opened(self.settles_as, self.pay_with, self.expires_at, self.poll_details)

    def open(
        self,
        opened: rail.Opened,
        now: int,
        state: State = State.OPEN,
    ) -> Checkout:
        """Return the opened checkout; it lapses with its invoice at the latest."""
        ends = opened.lapses_at or self.lapses_at
        return replace(
            self,
            stored_state=state,
            # Money that arrived with the opening is identified by its payment.
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
    """A rail's report that the money of a checkout arrived."""

    rail: str
    checkout_id: str

    external_id: str
    """Identifies a payment, however often the rail reports it."""

    amount: int | None = None
    """The total that has arrived, in minor units; None if it equals the quote."""

    confirmed: bool = False
    """True if the seller confirmed the payment, so any amount is enough."""


# How many units payers on one network may hold, and which claims give up their units.


@dataclass(frozen=True, slots=True)
class Holder:
    """The payer who opens a checkout, as the caps identify them."""

    network: str | None = None
    """Identifies the payer's address, None if addresses are not limited."""

    payer: str | None = None
    """The id in the payer's cookie, None if there is no cookie."""

    site: str | None = None
    """Identifies the IPv6 site of the payer's address, or the address itself with IPv4."""

    is_counted: bool = False
    """True if the caps count the units that the payer holds or recently held."""

    peer: str = ""
    """Identifies the payer's network at all hosts for a day."""


UNKNOWN_HOLDER = Holder()


@dataclass(frozen=True, slots=True)
class Held:
    """Units of a request that the caps count for one network, or for its IPv6 site."""

    open: int = 0
    """Units reserved by checkouts that are waiting for money."""

    nameless: int = 0
    """Units reserved by payers without a cookie."""

    checkouts: int = 0
    """The number of open and claimed checkouts."""

    lapsed: int = 0
    """Units returned unpaid. They count for as long again as they were held."""

    given_up: int = 0
    """The number of checkouts given up unpaid; each counts for three times its duration."""

    paid: int = 0
    """Units paid within EARNED_FOR."""

    claims: int = 0
    """Units claimed but not yet confirmed by the seller."""


EARNED_FOR = HOUR
"""Milliseconds for which a payment allows its network to reserve more units."""

CLAIMED_SHARE = 2
"""Divisor of a drop's units: claims hold at most this share, and the rest stay for sale."""

FEW, MANY = 4, 8
"""Divisors of a drop. A network may claim a quarter of a small drop, and PAYER_HOLDS units of a
larger drop. It may reserve PAYER_HOLDS units, or an eighth of a large drop.
"""

SITE = 2
"""Multiple of a network's share that an IPv6 site gets, because a site contains many networks."""

MOST_OPEN, MOST_OPEN_OF_SITE = 100, 400
"""Maximum open checkouts of a request with unlimited units, per network and per IPv6 site. Each
checkout calls a provider that other sellers share.
"""

NETWORKS_OF_SITE = 4
"""Divisor of an IPv6 site's unproven claims, because a site contains many networks."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim that holds units."""

    id: str

    site: str | None
    """None if no cap counts the claim; it then yields only to proven money."""

    claims: int
    """All units claimed by its site."""

    quantity: int
    claimed_at: int

    is_promised: bool
    """True if its units are held until the claim lapses, not only for the ordinary reservation."""


def share(units: int, cap: int) -> int:
    """Return how many of these units one network may claim; `cap` is PAYER_HOLDS."""
    return max(1, min(cap, units // FEW))


def may_reserve(
    holder: Holder, held: Held, of_site: Held, unsold: int | None, cap: int, quantity: int
) -> bool:
    """Return whether the holder's network may open another checkout of `quantity` units.

    `unsold` counts the units that remain or are reserved, None if they are unlimited. `cap` is
    PAYER_HOLDS, the number of units that all payers without a cookie may hold together. Each paid
    unit allows another. The first checkout may take as many units as the seller allows. So may the
    second if only one checkout was given up, because a payer who let an invoice expire may try
    again.
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
    """Return whether payers without a cookie have reached their limit at this address."""
    return holder.payer is None and held.nameless > 0 and held.nameless + quantity > cap


def may_claim(units: request.Units, held: Held, of_site: Held, cap: int, quantity: int) -> bool:
    """Return whether a network's payers may hold `quantity` more units with claims.

    Claims that the seller has rejected or let lapse count for as long again as a claim lasts.
    """
    most = share(units.offered, cap)
    return held.claims + quantity <= most and of_site.claims + quantity <= SITE * most


def over_budget(units: request.Units, promised: int, quantity: int) -> int:
    """Return by how many units claims exceed their share if they hold `quantity` more."""
    return promised + quantity - units.offered // CLAIMED_SHARE


def yielding(
    claims: Iterable[Claim], lacking: int, *, rival: int | None = None, is_proven: bool = False
) -> list[Claim]:
    """Return the claims to take `lacking` units from, or [] if all claims hold too few.

    The site with the most claimed units yields first, starting with its newest claim. The first
    claim of each site stays. A new claim that brings its site to `rival` units gets units promised
    to sites that claim more. Proven money also gets units that are held only for the ordinary
    reservation.
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
