"""A checkout: an attempt to pay, which reserves its units until it is paid or given up."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from bot.service.model.checkout_states import CheckoutState
from bot.service.model.order import Order
from bot.service.model.payer_words import NO_WORDS, PayerWords
from bot.service.model.payout import SANDBOX
from bot.service.model.rail_answers import Asked, Manner, Opened

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bot.service.model.rail_answers import PayWith
    from bot.service.model.request import PayerField, Quote, Units

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
    """A checkout as it is stored; times in epoch ms, `token` is the form's hidden token.

    `quote` is what the payer pays, by `way` (`bank:sepa`) of a `kind` (`bank`) to an account;
    `automatic`: the rail learns of its money itself. `external_id` is the invoice's, over all
    rails, or the `reference` that a bank transfer has. `pay_with` is what the payer is shown, None
    while it is opening, `look` what the rail looks for, `failure` why it could not be opened.
    `lie` is the first answer of its wallet that was not believed. `host` is asked for the money, ''
    without a wallet. `lapses_at` is the end of its unit, `expires_at` that of its invoice;
    `looked_at` is the time of the last look, None where no wallet is asked. `language`
    is that of the receipt to email to the payer, None if none is. `price` is what the payer chose
    to pay for one of `quantity` pieces, None for the request's price. A claim lasts until
    `claim_lapses_at`; `is_held` tells whether units are reserved for it, until `lapses_at`.
    """

    id: str
    request_id: str
    token: str
    user_data: dict[PayerField, str]
    quote: Quote
    created_at: int
    lapses_at: int
    stored_state: CheckoutState = CheckoutState.OPEN
    language: str | None = None
    kind: str = SANDBOX
    way: str = SANDBOX
    account_id: str | None = None
    automatic: bool = True
    host: str = ""
    external_id: str | None = None
    reference: str | None = None
    pay_with: PayWith | None = None
    look: dict[str, Any] = field(default_factory=dict)
    failure: str | None = None
    lie: str | None = None
    opened_at: int | None = None
    looked_at: int | None = None
    expires_at: int | None = None
    claimed_at: int | None = None
    claim_lapses_at: int | None = None
    is_held: bool = True
    price: int | None = None
    quantity: int = 1
    words: PayerWords = NO_WORDS

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

    def asked(self, memo: str, details: dict[str, Any], manner: Manner = Manner.AT_ONCE) -> Asked:
        """Return what its rail is asked, for the product's name and the account's details."""
        return Asked(
            checkout_id=self.id,
            amount=self.quote.amount,
            currency=self.quote.currency,
            memo=memo,
            reference=self.reference or "",
            created_at=self.created_at,
            lapses_at=self.lapses_at,
            details=details,
            manner=manner,
        )

    def as_opened(self) -> Opened:
        """Return what its rail has opened, for a look."""
        return Opened(self.settles_as, self.pay_with, self.expires_at, self.look)

    def open(self, opened: Opened, now: int, state: CheckoutState = CheckoutState.OPEN) -> Checkout:
        """Return it as its rail has opened it; an invoice that ends earlier shortens it."""
        ends = opened.lapses_at or self.lapses_at
        return replace(
            self,
            stored_state=state,
            # Money that came with the opening is found by its payment.
            external_id=None if opened.arrived else opened.external_id,
            pay_with=opened.pay_with,
            look=opened.look,
            host=opened.host or self.host,
            opened_at=now,
            looked_at=now if opened.looks is None else None,
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


def may_claim(units: Units, held: Held, of_site: Held, cap: int, quantity: int) -> bool:
    """Return whether a network may have `quantity` more units held for claims of its payers.

    Those that its seller has rejected or let lapse count for as long again as a claim lasts.
    """
    most = share(units.offered, cap)
    return held.claims + quantity <= most and of_site.claims + quantity <= SITE * most


def over_budget(units: Units, promised: int, quantity: int) -> int:
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
