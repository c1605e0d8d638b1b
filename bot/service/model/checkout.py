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
    from bot.service.model.rail_answers import PayWith
    from bot.service.model.request import PayerField, Quote, Units

SHARE = 2
"""One network holds at most the unsold units divided by this, and claims the whole drop's."""

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
    `lie` is the first answer of its wallet that was not believed.
    `host` is the wallet's, '' without one. `lapses_at` is the end of its unit, `expires_at` that of
    its invoice; `looked_at` is the time of the last look, None where no wallet is asked. `language`
    is that of the receipt to email to the payer, None if none is. `price` is what the payer chose
    to pay for one of `quantity` pieces, None for the request's price.
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
    price: int | None = None
    quantity: int = 1
    words: PayerWords = NO_WORDS

    def state(self, now: int) -> CheckoutState:
        """Return its state; one that has lapsed may still be stored as holding its unit."""
        if self.stored_state.holds_unit and self.lapses_at <= now:
            return CheckoutState.LAPSED
        return self.stored_state

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
            opened_at=now,
            looked_at=now if opened.looks is None else None,
            expires_at=min(ends, now + LONGEST_INVOICE),
            lapses_at=min(self.lapses_at, ends),
        )

    def claimed(self, now: int, until: int) -> Checkout:
        """Return it as claimed by its payer, for its seller to confirm."""
        state = CheckoutState.CLAIMED
        return replace(self, stored_state=state, automatic=False, claimed_at=now, lapses_at=until)


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
    around it, None if it has none.
    """

    network: str | None = None
    payer: str | None = None
    site: str | None = None


UNKNOWN_HOLDER = Holder()


@dataclass(frozen=True, slots=True)
class Held:
    """Units of a request that are held for one network; `nameless`: for payers without a cookie.

    `checkouts` hold them; `of_site` are those of the site around the network.
    """

    total: int
    nameless: int
    checkouts: int = 0
    of_site: int = 0


def may_reserve(holder: Holder, held: Held, unsold: int | None, cap: int, quantity: int) -> bool:
    """Return whether the holder's network may open one more checkout, of `quantity` units.

    `unsold` counts the units that remain or are reserved, None if they are unlimited. `cap` is
    PAYER_HOLDS: what payers without a cookie may hold together, and the least that is always
    allowed to others. A first checkout may take what the seller allows in one.
    """
    if holder.payer is None and held.nameless and held.nameless + quantity > cap:
        return False
    if unsold is None:
        return held.checkouts < MOST_OPEN and held.of_site < MOST_OPEN_OF_SITE
    return not held.total or held.total + quantity <= max(cap, unsold // SHARE)


def may_claim(units: Units | None, held: int, quantity: int) -> bool:
    """Return whether `quantity` units may be held for a payment that its seller has to confirm.

    `held` are so already, these included if they are reserved: half of a drop at most, and always
    those of one checkout.
    """
    return units is None or held <= max(quantity, units.offered // SHARE)
