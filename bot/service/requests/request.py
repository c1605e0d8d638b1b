"""A payment request and its state at a moment (interface sections 1 to 3)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Literal, TypeAlias
from urllib.parse import quote

from bot.core import brand
from bot.core.text import contacts, links
from bot.service.notifications import notification
from bot.service.payouts import payout_account

# What a payer may tell the seller: a name and a message.


LONGEST_NAME, LONGEST_MESSAGE = 80, 280
"""Characters."""


@dataclass(frozen=True, slots=True)
class PayerWords:
    """A payer's name and message; None for what the payer left out."""

    name: str | None = None
    message: str | None = None


NO_WORDS = PayerWords()


# Amounts that a payer may choose.


SUGGESTIONS = 4
"""Suggested amounts of a request."""


@dataclass(frozen=True, slots=True)
class AmountChoice:
    """What a payer may pay for one unit, in minor units of the request's currency.

    The suggestions lie between `minimum` and `maximum`; None for the currency's own bound.
    """

    minimum: int
    suggested: tuple[int, ...] = ()
    maximum: int | None = None

    @property
    def first(self) -> int:
        """Return the amount that stands for the price: the first suggestion, or the minimum."""
        return self.suggested[0] if self.suggested else self.minimum

    def allows(self, amount: int) -> bool:
        """Return whether a payer may pay an amount."""
        return self.minimum <= amount and (self.maximum is None or amount <= self.maximum)


# Who sells: the profile that pages and letters show beside the product.


OWNERS = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""References by which an application tells its sellers apart."""

LONGEST_ABOUT = 160
"""Characters of the line about a seller."""


@dataclass(frozen=True, slots=True)
class SellerProfile:
    """Who is paid, as they present themselves; `description` is a line about them.

    `contact` is an @username of Telegram, an email address or a link, `accent` a brand colour.
    """

    name: str
    image_url: str | None = None
    contact: str | None = None
    description: str | None = None
    accent: str | None = None

    @property
    def contact_url(self) -> str | None:
        """Return the URL that reaches the seller, None without a contact."""
        return self.contact and contacts.contact_link(self.contact)


def check_accent(name: str) -> str:
    """Return the name of an accent colour. Raises ValueError for an unknown one."""
    if name not in brand.COLOURS:
        raise ValueError(f"must be one of {', '.join(brand.COLOURS)}")
    return name


# The URLs of a request as headers and the Content-Security-Policy need them.


_KEPT = "%:/?#[]@!$&'()*+,;=-._~"


def with_transaction(url: str, transaction_id: str) -> str:
    """Return a redirect URL in ASCII with `transactionId` added to its query."""
    address, mark, fragment = url.partition("#")
    path, _, query = address.partition("?")
    query = "&".join(filter(None, (query, f"transactionId={transaction_id}")))
    return ascii_url(f"{path}?{query}{mark}{fragment}")


def may_lead_to(url: str, schemes: frozenset[str]) -> bool:
    """Return whether payers may be redirected there: to the web, or to an app of these schemes."""
    try:
        links.check_app(url, schemes)
    except ValueError:
        return False
    return True


def csp_source(url: str) -> str:
    """Return the CSP source of a URL: its origin, or else its scheme."""
    parts = links.split(url)
    if parts.scheme not in links.WEB:
        return f"{parts.scheme}:"
    host = links.authority(parts)
    return f"{parts.scheme}:" if host.startswith("[") else f"{parts.scheme}://{host}"


def ascii_url(url: str) -> str:
    """Return a URL as browsers send it: host by IDNA, the rest percent-encoded."""
    parts = links.split(url)
    if parts.scheme not in links.WEB:
        return quote(url, safe=_KEPT)
    rest = url[len(f"{parts.scheme}://{parts.netloc}") :]
    return f"{parts.scheme}://{links.authority(parts)}{quote(rest, safe=_KEPT)}"


PayerField: TypeAlias = Literal["paymail", "email", "phoneNumber"]

PAYOUT = re.compile(f"{payout_account.DESTINATION}({OWNERS.pattern})")
"""The destination of a receiver that names an owner of payout accounts."""


class WebhookEvent(StrEnum):
    """What a webhook may report; payments always are."""

    PAYMENT = "payment"
    CLAIMED = "checkout.claimed"


class Kind(StrEnum):
    """`expirationType`: how often the request can be paid."""

    NEVER = "never"
    ONCE = "onPaymentCompleted"
    LIMIT = "limit"


class Status(StrEnum):
    """State of a request, as the interface has it."""

    SCHEDULED = "scheduled"
    ACTIVE = "active"
    EXPIRED = "expired"
    COMPLETED = "completed"
    SOLD_OUT = "soldOut"


RESERVED = "reserved"
"""Why an active request can't be paid: every remaining unit is reserved."""

TOO_FEW = "tooFew"
"""Why an active request can't be paid: fewer units remain than the payer wants."""

PAUSED = "paused"
"""Why the page of an expired request can't be paid: its seller stopped it by an edit."""

UNPRICED = "unpriced"
"""Why an active request can't be paid: the exchange rate is unknown."""

NO_PAYOUT = "noPayoutAccount"
"""Why an active request can't be paid: its seller has no account that can get real money for it."""


WAY_CLOSED = "wayClosed"
"""Why one way to pay is closed: its seller has removed it since the payer opened the page."""


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
    """Where payments are reported, with `custom_parameters`, a JSON text.

    `events` are those that the application knows of real money; None: it knows only the interface.
    """

    url: str
    custom_parameters: str | None = None
    events: tuple[WebhookEvent, ...] | None = None


@dataclass(frozen=True, slots=True)
class Units:
    """Times that a request can be paid: paid + remaining + reserved + decreased = total."""

    total: int
    remaining: int
    reserved: int = 0
    decreased: int = 0

    @property
    def offered(self) -> int:
        """Return how many units are or were for sale."""
        return self.total - self.decreased

    @property
    def paid(self) -> int:
        """Return how many are sold."""
        return self.offered - self.remaining - self.reserved


@dataclass(frozen=True, slots=True)
class Terms:
    """What the application asks for; a part of it can be edited later.

    Amounts are minor units of `currency`; `seller` is the request's own. With a `choice` the payer
    chooses the amount, and the shares are those of its first one. `max_quantity` are the units of
    one checkout, `thanks` the seller's words on the receipt, and `keep_url` where that can be kept.
    """

    kind: Kind
    product: Product
    receivers: tuple[Receiver, ...]
    instrument: str
    denomination: str | None = None
    price_before_discount: int | None = None
    requested_user_data: tuple[PayerField, ...] = ()
    redirect_url: str | None = None
    webhook: Webhook | None = None
    email: str | None = None
    seller: SellerProfile | None = None
    choice: AmountChoice | None = None
    goal: int | None = None
    max_quantity: int | None = None
    thanks: str | None = None
    keep_url: str | None = None

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
        """Return the owner whose payout accounts get the money, None for another destination."""
        named = PAYOUT.fullmatch(self.receivers[0].destination)
        return named[1] if named else None


class DeliveryKind(StrEnum):
    """What a payer gets after payment."""

    TEXT = "text"
    FILE = "file"
    CODES = "codes"


@dataclass(frozen=True, slots=True)
class PaymentRequest:
    """A request as it is stored; times in UTC epoch ms, `units` None if they are unlimited.

    `owner` is its seller within the application, `recipient` the status of the email address
    that gets letters about its payments, `app_seller` the profile of its application; `paused`: an
    edit ended it at once; `payable`: test money pays it, or an account of its owner takes its
    currency. `paid_count` are the units sold, `sales_count` the payments that took them,
    `oversold_count` those that took none. `volume` is the sum of all of these payments, `raised`
    without those that took no unit or were paid back. `delivers` is the kind of what payers get:
    `text`, `file` or `codes`; `codes_count` is the last unit that has a code, and `codes_skipped`
    the number of units up to it without one.
    """

    id: str
    app_id: str
    created_at: int
    terms: Terms
    units: Units | None = None
    paid_count: int = 0
    sales_count: int = 0
    oversold_count: int = 0
    enabled_at: int | None = None
    expires_at: int | None = None
    owner: str = ""
    recipient: notification.RecipientStatus | None = None
    paused: bool = False
    app_seller: SellerProfile | None = None
    payable: bool = True
    volume: int = 0
    raised: int = 0
    delivers: DeliveryKind | None = None
    codes_count: int = 0
    codes_skipped: int = 0

    @property
    def seller(self) -> SellerProfile | None:
        """Return the profile to show: its own, or else that of its application."""
        return self.terms.seller or self.app_seller

    @property
    def payout(self) -> str | None:
        """Return the owner whose payout accounts get its money, None for another destination."""
        return self.terms.payout

    @property
    def leads_away(self) -> bool:
        """Return whether payers go straight to its redirect: no receipt has goods or thanks."""
        return self.delivers is None and self.terms.thanks is None

    @property
    def payments_count(self) -> int:
        """Return the number of payments, oversold ones too, whatever their quantities."""
        return self.sales_count + self.oversold_count

    @property
    def codes_waiting(self) -> int:
        """Return how many units were sold whose codes are still to come."""
        if self.delivers is not DeliveryKind.CODES:
            return 0
        return max(0, self.paid_count - self.codes_count)

    def status(self, now: int) -> Status:
        """Return its status; sold out and completed come before the times."""
        if self.units and self.units.remaining == self.units.reserved == 0:
            return Status.SOLD_OUT if self.terms.kind is Kind.LIMIT else Status.COMPLETED
        if self.expires_at is not None and self.expires_at <= now:
            return Status.EXPIRED
        if self.enabled_at is not None and self.enabled_at > now:
            return Status.SCHEDULED
        return Status.ACTIVE

    def public_status(self, now: int) -> str:
        """Return its status, of an active request NO_PAYOUT where its money could go nowhere."""
        status = self.status(now)
        return status if self.payable or status is not Status.ACTIVE else NO_PAYOUT

    def is_enabled(self, now: int) -> bool:
        """Return whether it can be paid at this moment."""
        return self.hindrance(now) is None

    def hindrance(self, now: int) -> str | None:
        """Return why it can't be paid now: a status, NO_PAYOUT or RESERVED; None if it can."""
        status = self.public_status(now)
        if status is not Status.ACTIVE:
            return status
        return RESERVED if self.units and self.units.remaining == 0 else None


@dataclass(frozen=True, slots=True)
class ExchangeRate:
    """How many units of the instrument currency one unit of the denomination buys.

    `source` is its publisher, `at` its time in epoch ms.
    """

    rate: Decimal
    source: str
    at: int


@dataclass(frozen=True, slots=True)
class Quote:
    """What a payer pays: `amount` in minor units of `currency`, with a share for each receiver.

    The sum of the shares is the amount. `rate` is None if the price is in this currency.
    """

    amount: int
    currency: str
    shares: tuple[int, ...]
    rate: ExchangeRate | None = None


class PaymentState(StrEnum):
    """State of a payment. LATE: after its reservation lapsed; OVERSOLD: without a unit.

    UNDERPAID: less than the price arrived, so that it took no unit and its checkout goes on.
    """

    PAID = "paid"
    LATE = "late"
    OVERSOLD = "oversold"
    UNDERPAID = "underpaid"


@dataclass(frozen=True, slots=True)
class Marks:
    """What a seller has noted about a payment; times in epoch ms."""

    message_hidden: bool = False
    sent_at: int | None = None
    sent_note: str | None = None
    paid_back_at: int | None = None
    paid_back_note: str | None = None


NO_MARKS = Marks()


@dataclass(frozen=True, slots=True)
class Payment:
    """A payment; `amount` and shares in minor units of `currency`, that of the price.

    The amount is the sum of `quantity` units, whose units are numbered from `first_unit`, None
    where it took none. `of_units` are those of its drop where a list was read, else None.

    `paid` is what the payer paid in the instrument currency, by a `rail`; `external_id` is the
    invoice or the reference of the transfer.
    """

    id: str
    request_id: str
    amount: int
    currency: str
    receivers: tuple[Receiver, ...]
    user_data: dict[PayerField, str]
    completed_at: int
    paid: Quote
    state: PaymentState = PaymentState.PAID
    rail: str = payout_account.SANDBOX
    external_id: str = ""
    checkout_id: str = ""
    quantity: int = 1
    first_unit: int | None = None
    of_units: int | None = None
    words: PayerWords = NO_WORDS
    marks: Marks = NO_MARKS

    @property
    def last_unit(self) -> int:
        """Return the number of the last unit, 0 where it took none."""
        return 0 if self.first_unit is None else self.first_unit + self.quantity - 1

    @property
    def took_unit(self) -> bool:
        """Return whether the payer gets what was paid for."""
        return self.state in {PaymentState.PAID, PaymentState.LATE}

    @property
    def oversold(self) -> bool:
        """Return whether no unit was left, so that the seller has to pay it back."""
        return self.state is PaymentState.OVERSOLD
