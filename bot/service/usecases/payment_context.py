"""What payments are taken with: the rails, the exchange rates and the times of units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bot.core.errors import MoneyError, NotPayable
from bot.service.model import quote
from bot.service.model.order import ONE, unconvertible
from bot.service.model.request import UNPRICED

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.service.model.checkout import Holder
    from bot.service.model.order import Order
    from bot.service.model.payout import PayoutAccount
    from bot.service.model.request import PaymentRequest, Quote
    from bot.service.rails.exchange_rates import Exchange
    from bot.service.rails.rail import Rails

CLAIMS_HELD = 168 * 3600 * 1000
"""Milliseconds for which a claimed unit is held unless CLAIM_HOURS says otherwise."""


@dataclass(frozen=True, slots=True)
class PaymentContext:
    """How payments are taken: a checkout reserves its unit for `reservation` ms.

    `holds` is PAYER_HOLDS, 0 for no limit; a payment that its seller has to confirm keeps its unit
    for `claims` ms. `details_of` unseals an account, and `hint_url` returns where a wallet may
    announce the money of a checkout.
    """

    rails: Rails
    exchange: Exchange
    reservation: int
    holds: int = 0
    claims: int = CLAIMS_HELD
    details_of: Callable[[PayoutAccount], dict[str, Any]] = lambda _account: {}
    hint_url: Callable[[str], str | None] = lambda _checkout_id: None

    def holder(self, holder: Holder, request: PaymentRequest) -> Holder:
        """Return a request's holder as it is stored, which caps count where there are any."""
        site = holder.site or holder.network
        counted = self.holds > 0 and site is not None and request.units is not None
        return replace(holder, site=site, is_counted=counted)

    def quote(
        self, request: PaymentRequest, currency: str | None = None, order: Order = ONE
    ) -> Quote:
        """Return what a payer pays now, in another currency than the request's where one is given.

        Raises NotPayable if the exchange rate is unknown, and InvalidBody for an order of an
        amount that comes to nothing in the currency, or to too much.
        """
        terms = order.terms(request.terms)
        if currency is not None:
            terms = replace(terms, instrument=currency, denomination=terms.currency)
        try:
            return quote.quote(terms, self.exchange.rate(terms.currency, terms.instrument))
        except MoneyError as error:
            raise (unconvertible(order, error) or NotPayable(UNPRICED)) from None
