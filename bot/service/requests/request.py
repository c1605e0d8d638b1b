"""A payment request and its state at a given time (interface sections 1 to 3)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from urllib.parse import quote, unquote_plus

from bot.core.text import contacts, links
from bot.interface import parts, vocabulary
from bot.service.notifications import notification


@dataclass(frozen=True, slots=True)
class SellerProfile:
    """The seller's own presentation."""

    name: str
    image_url: str | None = None

    contact: str | None = None
    """A Telegram @username, an email address or a link."""

    description: str | None = None
    """A line about the seller."""

    accent: str | None = None
    """The name of a brand colour."""

    @property
    def contact_url(self) -> str | None:
        """Return the URL to contact the seller, or None if there is no contact."""
        return self.contact and contacts.contact_link(self.contact)


# The URLs of a request as headers and the Content-Security-Policy need them.

_KEPT = "%:/?#[]@!$&'()*+,;=-._~"


def receipt_path(request_id: str, transaction_id: str) -> str:
    return f"/pay/{request_id}/receipt/{transaction_id}"


def checkout_path(request_id: str, checkout_id: str) -> str:
    return f"/pay/{request_id}/checkout/{checkout_id}"


def with_transaction(url: str, transaction_id: str) -> str:
    """Return a redirect URL in ASCII with `transactionId` in its query, once and last."""
    address, mark, fragment = url.partition("#")
    path, _, query = address.partition("?")
    others = "&".join(
        one for one in query.split("&") if unquote_plus(one.partition("=")[0]) != "transactionId"
    )
    query = "&".join(filter(None, (others, f"transactionId={transaction_id}")))
    return ascii_url(f"{path}?{query}{mark}{fragment}")


def may_lead_to(url: str, schemes: frozenset[str]) -> bool:
    """Return whether payers may be redirected to a URL of the web or of these app schemes."""
    try:
        links.check_app(url, schemes)
    except ValueError:
        return False
    return True


def csp_source(url: str) -> str:
    """Return the CSP source of a URL: its origin if it has one, otherwise its scheme."""
    parts = links.split(url)
    if parts.scheme not in links.WEB:
        return f"{parts.scheme}:"
    host = links.authority(parts)
    return f"{parts.scheme}:" if host.startswith("[") else f"{parts.scheme}://{host}"


def ascii_url(url: str) -> str:
    """Return a URL as browsers send it: the host in IDNA, the rest percent-encoded."""
    parts = links.split(url)
    if parts.scheme not in links.WEB:
        return quote(url, safe=_KEPT)
    rest = url[len(f"{parts.scheme}://{parts.netloc}") :]
    return f"{parts.scheme}://{links.authority(parts)}{quote(rest, safe=_KEPT)}"


# The terms of an application.


PAYOUT = re.compile(f"{vocabulary.DESTINATION}({vocabulary.OWNERS.pattern})")
"""The destination of a receiver that names an owner of payout accounts."""


@dataclass(frozen=True, slots=True)
class Product:
    """The product that is paid for."""

    name: str
    description: str | None = None
    long_description: str | None = None
    image_url: str | None = None


@dataclass(frozen=True, slots=True)
class Receiver:
    """A receiver's share of each payment; `amount` in minor units of the request's currency."""

    destination: str
    amount: int
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Webhook:
    """The URL that receives payment reports."""

    url: str

    custom_parameters: str | None = None
    """A JSON text."""

    events: tuple[vocabulary.WebhookEvent, ...] | None = None
    """The events that the application wants; None if it knows only the published interface."""


@dataclass(frozen=True, slots=True)
class Units:
    """The units of a request: paid + remaining + reserved + decreased = total."""

    total: int
    remaining: int
    reserved: int = 0
    decreased: int = 0

    @property
    def offered(self) -> int:
        """Return how many units have ever been for sale."""
        return self.total - self.decreased

    @property
    def paid(self) -> int:
        """Return how many units are sold."""
        return self.offered - self.remaining - self.reserved


@dataclass(frozen=True, slots=True)
class Terms:
    """The application's terms; some of them can be edited later."""

    kind: vocabulary.Kind
    product: Product

    receivers: tuple[Receiver, ...]
    """The receivers' shares of the price, or of the first amount if there is a `choice`."""

    instrument: str
    """The currency that is paid."""

    denomination: str | None = None
    """The currency of the price if it isn't `instrument`."""

    price_before_discount: int | None = None
    """In minor units of `currency`, like the goal."""

    requested_user_data: tuple[vocabulary.PayerField, ...] = ()
    redirect_url: str | None = None
    webhook: Webhook | None = None

    email: str | None = None
    """Address for letters about its payments."""

    seller: SellerProfile | None = None
    """The request's own profile."""

    choice: parts.AmountChoice[int] | None = None
    """None if the payer can't choose the amount."""

    goal: int | None = None

    max_quantity: int | None = None
    """Maximum units per checkout, None for 1."""

    thanks: str | None = None
    """The seller's words on the receipt."""

    keep_url: str | None = None
    """Where the payer can keep the receipt."""

    shop: str | None = None
    """A JSON text of the application, which answers repeat."""

    @property
    def currency(self) -> str:
        """Return the currency of the amounts: the denomination if one is given."""
        return self.denomination or self.instrument

    @property
    def amount(self) -> int:
        """Return what a payer pays: the sum of the shares, in minor units."""
        return sum(receiver.amount for receiver in self.receivers)

    @property
    def payout(self) -> str | None:
        """Return the owner whose payout accounts get the money, None if it goes elsewhere."""
        named = PAYOUT.fullmatch(self.receivers[0].destination)
        return named[1] if named else None


# Reasons why a request can't be paid, in addition to its status.

RESERVED = "reserved"
"""All remaining units are reserved."""

TOO_FEW = "tooFew"
"""Fewer units remain than the payer wants."""

PAUSED = "paused"
"""The request has expired because its seller ended it with an edit."""

UNPRICED = "unpriced"
"""The exchange rate is unknown."""


WAY_CLOSED = "wayClosed"
"""The seller has removed the chosen way to pay since the payer opened the page."""


@dataclass(frozen=True, slots=True)
class PaymentRequest:
    """A request as it is stored; times in UTC epoch ms."""

    id: str
    app_id: str
    created_at: int
    terms: Terms

    units: Units | None = None
    """None if the units are unlimited."""

    paid_count: int = 0
    """The number of sold units."""

    sales_count: int = 0
    """The number of payments that took units."""

    oversold_count: int = 0
    """The number of payments that took no units."""

    enabled_at: int | None = None
    expires_at: int | None = None

    owner: str = ""
    """Its seller within the application."""

    recipient: notification.RecipientStatus | None = None
    """Status of the email address that gets letters about its payments."""

    paused: bool = False
    """True if an edit ended it at once."""

    app_seller: SellerProfile | None = None
    """The profile of its application."""

    payable: bool = True
    """True if it takes test money, or if an account of its owner takes its currency."""

    volume: int = 0
    """The sum of all payments, in minor units of the price's currency."""

    raised: int = 0
    """The same without payments that took no units or were paid back."""

    delivers: vocabulary.DeliveryKind | None = None
    """The kind of goods that payers get."""

    codes_count: int = 0
    """The number of the last unit with a code."""

    codes_skipped: int = 0
    """The number of earlier units without a code."""

    @property
    def seller(self) -> SellerProfile | None:
        """Return the profile to show: its own or its application's."""
        return self.terms.seller or self.app_seller

    @property
    def payout(self) -> str | None:
        """Return the owner whose payout accounts get its money, None if it goes elsewhere."""
        return self.terms.payout

    @property
    def leads_away(self) -> bool:
        """Return whether payers are redirected directly, because there are no goods or thanks."""
        return self.delivers is None and self.terms.thanks is None

    @property
    def payments_count(self) -> int:
        """Return the number of payments, including oversold payments, whatever their quantities."""
        return self.sales_count + self.oversold_count

    @property
    def codes_waiting(self) -> int:
        """Return how many sold units wait for their codes."""
        if self.delivers is not vocabulary.DeliveryKind.CODES:
            return 0
        return max(0, self.paid_count - self.codes_count)

    def status(self, now: int) -> vocabulary.Status:
        """Return its status; sold out and completed come before the times."""
        if self.units and self.units.remaining == self.units.reserved == 0:
            is_drop = self.terms.kind is vocabulary.Kind.LIMIT
            return vocabulary.Status.SOLD_OUT if is_drop else vocabulary.Status.COMPLETED
        if self.expires_at is not None and self.expires_at <= now:
            return vocabulary.Status.EXPIRED
        if self.enabled_at is not None and self.enabled_at > now:
            return vocabulary.Status.SCHEDULED
        return vocabulary.Status.ACTIVE

    def public_status(self, now: int) -> str:
        """Return its status, or NO_PAYOUT if it is active but no account can take the money."""
        status = self.status(now)
        is_payable = self.payable or status is not vocabulary.Status.ACTIVE
        return status if is_payable else vocabulary.NO_PAYOUT

    def is_enabled(self, now: int) -> bool:
        """Return whether it can be paid at this moment."""
        return self.hindrance(now) is None

    def hindrance(self, now: int) -> str | None:
        """Return why it can't be paid now (a status, NO_PAYOUT or RESERVED), None if it can."""
        status = self.public_status(now)
        if status is not vocabulary.Status.ACTIVE:
            return status
        return RESERVED if self.units and self.units.remaining == 0 else None


@dataclass(frozen=True, slots=True)
class ExchangeRate:
    """How many units of the instrument currency one unit of the denomination buys."""

    rate: Decimal

    source: str
    """Its publisher."""

    at: int
    """Its time in epoch ms."""


@dataclass(frozen=True, slots=True)
class Quote:
    """What a payer pays, in minor units of `currency`."""

    amount: int
    currency: str

    shares: tuple[int, ...]
    """A share for each receiver; their sum is the amount."""

    rate: ExchangeRate | None = None
    """None if the price is in this currency."""


class PaymentState(StrEnum):
    """State of a payment."""

    PAID = "paid"

    LATE = "late"
    """Paid after its reservation lapsed; it got other units."""

    OVERSOLD = "oversold"
    """Paid when too few units were left."""

    UNDERPAID = "underpaid"
    """Less than the price arrived: it took no units, and its checkout goes on."""


@dataclass(frozen=True, slots=True)
class Marks:
    """A seller's marks on a payment; times in epoch ms."""

    message_hidden: bool = False
    sent_at: int | None = None
    sent_note: str | None = None
    paid_back_at: int | None = None
    paid_back_note: str | None = None


NO_MARKS = Marks()


@dataclass(frozen=True, slots=True)
class Payment:
    """A payment; `amount` and shares are in minor units of the price's currency."""

    id: str
    request_id: str

    amount: int
    """The sum of all its units."""

    currency: str
    receivers: tuple[Receiver, ...]
    user_data: dict[vocabulary.PayerField, str]

    completed_at: int
    """In epoch ms."""

    paid: Quote
    """What the payer paid in the instrument currency."""

    state: PaymentState = PaymentState.PAID
    rail: str = vocabulary.SANDBOX

    external_id: str = ""
    """Id of the invoice, or the reference of the transfer."""

    checkout_id: str = ""
    quantity: int = 1

    first_unit: int | None = None
    """The number of its first unit, None if it took none."""

    of_units: int | None = None
    """The number of units of its drop, None if it wasn't read."""

    words: parts.PayerWords = parts.NO_WORDS
    marks: Marks = NO_MARKS

    @property
    def last_unit(self) -> int:
        """Return the number of its last unit, 0 if it took none."""
        return 0 if self.first_unit is None else self.first_unit + self.quantity - 1

    @property
    def took_unit(self) -> bool:
        """Return whether the payer gets the goods."""
        return self.state in {PaymentState.PAID, PaymentState.LATE}

    @property
    def oversold(self) -> bool:
        """Return whether no unit was left, so that the seller has to refund the payment."""
        return self.state is PaymentState.OVERSOLD
