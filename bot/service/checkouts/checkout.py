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


class CheckoutState(StrEnum):
    """State of a checkout; LATE and OVERSOLD are paid after it held no unit any more.

    OPENING waits for the wallet's invoice, CLAIMED for the seller to confirm the payer's word; it
    may hold no unit, and then is OVERSOLD where none is left once it's confirmed.
    """

    # The docstring is the description in the OpenAPI document.

    OPENING = "opening"
    """It waits for the wallet's invoice."""

    OPEN = "open"

    CLAIMED = "claimed"
    """It waits for the seller to confirm the payer's word, with or without units."""

    PAID = "paid"
    LAPSED = "lapsed"
    CANCELLED = "cancelled"
    FAILED = "failed"
    REJECTED = "rejected"

    LATE = "late"
    """Paid when it held no units any more; it got others."""

    OVERSOLD = "oversold"
    """Paid when it held no units any more, and too few were left."""

    @property
    def holds_unit(self) -> bool:
        """Return whether units are reserved for it."""
        return self in HOLDING

    @property
    def is_settled(self) -> bool:
        """Return whether its money has arrived."""
        return not NEXT[self]


HOLDING = (CheckoutState.OPENING, CheckoutState.OPEN, CheckoutState.CLAIMED)
"""The states in which units are reserved; a checkout that leaves them unpaid returns its units."""

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
"""The states without units in which money may still arrive."""


def states_before(state: CheckoutState) -> tuple[CheckoutState, ...]:
    """Return the states that this state may follow."""
    return tuple(one for one, following in NEXT.items() if state in following)


def one_of(states: Iterable[CheckoutState]) -> str:
    """Return the SQL condition that a checkout is in one of these states, as the indexes have it.

    For an `IN` of three and more SQLite makes a table each time that a row's indexes are examined.
    """
    terms = " OR ".join(f"state = '{state}'" for state in states)
    return f"({terms})"


HOLDS = one_of(HOLDING)
GIVEN_UP = one_of(ENDED)


# When a wallet is polled for the money of a checkout, in milliseconds.


SECOND = 1_000
MINUTE, HOUR, DAY = 60 * SECOND, 3_600 * SECOND, 86_400 * SECOND

PACES = ((5 * MINUTE, 5 * SECOND), (15 * MINUTE, 15 * SECOND))
"""Up to an age of the invoice, the interval of regular polls: many payers leave the page for the
app that pays."""

SLOWEST = MINUTE
"""The interval of regular polls of older invoices."""

GRACE = 10 * MINUTE
"""For so long after its end an invoice is polled as often as before: wallets settle late."""

AFTERWARDS = (HOUR, DAY)
"""The last polls, counted from the end of GRACE."""

LAST = GRACE + max(AFTERWARDS)
"""So long after its end an invoice is polled for the last time."""

PATIENCE = LAST + DAY
"""So long after its end an invoice is given up even if its host took no call: a host may take none
for a day."""

CLOSEST = SECOND
"""The least time between two polls of a checkout, whoever requests them."""


def next_poll(opened_at: int, expires_at: int, now: int) -> int | None:
    """Return when to poll after a poll at `now`, None if no money is expected any more."""
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
        """Return its state; a lapsed checkout may still be stored as holding its units."""
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

    def charge(
        self,
        memo: str,
        details: dict[str, Any],
        scenario: rail.SandboxScenario = rail.SandboxScenario.AT_ONCE,
    ) -> rail.Charge:
        """Return what its rail is asked, for the product's name and the account's details."""
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
        """Return what its rail has opened, for a poll."""
        return rail.Opened(self.settles_as, self.pay_with, self.expires_at, self.poll_details)

    def open(
        self, opened: rail.Opened, now: int, state: CheckoutState = CheckoutState.OPEN
    ) -> Checkout:
        """Return the checkout as its rail has opened it, until its invoice ends at most."""
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
    """A rail's report that the money of a checkout arrived."""

    rail: str
    checkout_id: str

    external_id: str
    """Identifies one payment, however often its rail reports it."""

    amount: int | None = None
    """All that arrived so far, in minor units; None for exactly the quote."""

    confirmed: bool = False
    """True if the seller confirms it, so that the amount that arrived is enough."""


# How many units payers of one network may hold, and which claims yield theirs.


@dataclass(frozen=True, slots=True)
class Holder:
    """The payer who opens a checkout, as caps count them."""

    network: str | None = None
    """Identifies their address, None if addresses are not limited."""

    payer: str | None = None
    """The id in their cookie, None without a cookie."""

    site: str | None = None
    """Identifies the IPv6 site around their address; the address itself with IPv4."""

    is_counted: bool = False
    """True if caps count what they hold, and held until recently."""

    peer: str = ""
    """Identifies their network at all hosts, for a day."""


UNKNOWN_HOLDER = Holder()


@dataclass(frozen=True, slots=True)
class Held:
    """What caps count of a request for one network, or for the site around it; in units."""

    open: int = 0
    """Reserved by checkouts that wait for money."""

    nameless: int = 0
    """Reserved by checkouts of payers without a cookie."""

    checkouts: int = 0
    """The number of open and claimed checkouts."""

    lapsed: int = 0
    """Given back unpaid; they count for as long again as they were held."""

    given_up: int = 0
    """The number of checkouts given up unpaid; each counts for three times its duration."""

    paid: int = 0
    """Paid within EARNED_FOR."""

    claims: int = 0
    """Claimed, and not confirmed by the seller yet."""


EARNED_FOR = HOUR
"""Milliseconds for which a payment gives its network room."""

CLAIMED_SHARE = 2
"""Divisor of a drop's units: claims hold so large a part at most, and the others stay for sale."""

FEW, MANY = 4, 8
"""Divisors of a drop: a network may claim the quarter of a small one and PAYER_HOLDS units of a
larger one. It may reserve PAYER_HOLDS units, of a large one an eighth."""

SITE = 2
"""An IPv6 site has so many times the share of a network, since it is many networks."""

MOST_OPEN, MOST_OPEN_OF_SITE = 100, 400
"""Open checkouts of a link without units for one network, and for an IPv6 site around it: each
makes calls to a provider that other sellers share."""

NETWORKS_OF_SITE = 4
"""An IPv6 site's claims count as those of so many networks."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim that holds units."""

    id: str

    site: str | None
    """None if no cap counts the claim, so that it yields only to proven money."""

    claims: int
    """All units that its site claims."""

    quantity: int
    claimed_at: int

    is_promised: bool
    """True if its units are held until the claim lapses, not only for the ordinary time."""


def share(units: int, cap: int) -> int:
    """Return how many of these units one network may claim; `cap` is PAYER_HOLDS."""
    return max(1, min(cap, units // FEW))


def may_reserve(
    holder: Holder, held: Held, of_site: Held, unsold: int | None, cap: int, quantity: int
) -> bool:
    """Return whether the holder's network may open one more checkout, of `quantity` units.

    `unsold` counts the units that remain or are reserved, None if they are unlimited. `cap` is
    PAYER_HOLDS: what payers without a cookie may hold together. Each paid unit makes room for
    another. The first checkout may take as many as the seller allows, and so may the one after a
    single checkout was given up: whoever let an invoice expire gets another.
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
    """Return whether a network may hold `quantity` more units by claims of its payers.

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
    """Return the claims whose units make room for `lacking` others, none if all are too few.

    The site that claims most yields first, its newest claim first; the first claim of each site
    stays. A new claim, with which its site claims `rival` units, gets units that were promised to
    sites that claim more. Proven money also gets units that are held for the ordinary time only.
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
