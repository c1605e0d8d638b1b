"""The words of the interface: kinds, states and codes.

The OpenAPI document publishes the values, and the docstrings of enumerations.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Literal, TypeAlias

# Requests.


class Kind(StrEnum):
    """`expirationType`: how often the request can be paid."""

    NEVER = "never"
    ONCE = "onPaymentCompleted"
    LIMIT = "limit"


class Status(StrEnum):
    """State of a request in the interface."""

    SCHEDULED = "scheduled"
    ACTIVE = "active"
    EXPIRED = "expired"
    COMPLETED = "completed"
    SOLD_OUT = "soldOut"


NO_PAYOUT = "noPayoutAccount"
"""Instead of `active`: the seller has no account that takes real money in the price's currency."""

PENDING = "pending"
"""HandCash Cloud's name of the state `scheduled`."""

ON_CHAIN = "onChain"
"""HandCash Cloud's name of a payment in the instrument currency, its default."""

PayerField: TypeAlias = Literal["paymail", "email", "phoneNumber"]


class WebhookEvent(StrEnum):
    """What a webhook may report; it always reports payments."""

    PAYMENT = "payment"
    CLAIMED = "checkout.claimed"


class DeliveryKind(StrEnum):
    """What a payer gets after payment."""

    TEXT = "text"
    FILE = "file"
    CODES = "codes"


class DeliveryProgress(StrEnum):
    """Whether a payer has everything that was bought."""

    DELIVERED = "delivered"
    WAITING = "waiting"


# Payments and checkouts.


Settlement: TypeAlias = Literal["late", "oversold", "underpaid"]
ReceiptStatus: TypeAlias = Literal["paid", "oversold", "paidBack"]


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


# Webhooks and letters about payments.


class NotificationState(StrEnum):
    """State of a delivery. DEAD: given up; JOINED: sent in another delivery's letter.

    ENDED: not sent, because the recipient wants or may get no letters.
    """

    WAITING = "waiting"
    SENDING = "sending"
    DELIVERED = "delivered"
    DEAD = "dead"
    JOINED = "joined"
    ENDED = "ended"


# Sellers and their payout accounts.


OWNERS = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""References by which an application tells its sellers apart."""

SANDBOX = "sandbox"
BANK, LIGHTNING, LNBITS, NWC = "bank", "lightning", "lnbits", "nwc"
PAYOUT_KINDS = (BANK, LIGHTNING, LNBITS, NWC)
"""The kinds of real money, in the order in which they are offered."""

DESTINATION = "account:"
"""Prefix of a receiver's destination that names an owner, whose accounts get the money."""

OUTSIDE_EEA = frozenset(["AD", "AL", "CH", "GB", "GI", "MC", "MD", "ME", "MK", "RS", "SM", "VA"])
"""Countries of SEPA outside the European Economic Area. A SEPA code needs the BIC of their banks
(EPC069-12, version 002)."""


def needs_bic(iban: str) -> bool:
    """True if a SEPA account needs a BIC besides its IBAN."""
    return iban[:2] in OUTSIDE_EEA


class DetailError(StrEnum):
    """What is wrong with a field; the chat has a text for each in every language."""

    MISSING = "missing"
    TOO_LONG = "tooLong"
    INVISIBLE = "invisible"
    NOT_LATIN = "notLatin"
    SCHEME = "unknownScheme"
    UNKNOWN_FIELD = "unknownField"

    IBAN_FORM = "ibanForm"
    IBAN_COUNTRY = "ibanCountry"
    IBAN_LENGTH = "ibanLength"
    IBAN_TYPO = "ibanTypo"
    IBAN_LETTERS = "ibanLetters"
    NOT_SEPA = "notSepa"
    NOT_SWISS = "notSwiss"
    QR_IBAN = "qrIban"
    BIC_FORM = "bicForm"
    PIX_KEY = "pixKey"
    PIX_CPF = "pixCpf"
    PIX_EMAIL = "pixEmail"
    PIX_PHONE = "pixPhone"
    UPI_FORM = "upiForm"
    COUNTRY_FORM = "countryForm"

    ADDRESS_FORM = "addressForm"
    ADDRESS_PORT = "addressPort"
    LNURL = "lnurl"
    INVOICE = "invoice"
    NO_SUCH_ADDRESS = "noSuchAddress"
    NOT_LNURL = "notLnurl"
    WRONG_INVOICE = "wrongInvoice"

    URL_FORM = "urlForm"
    KEY_FORM = "keyForm"
    UNKNOWN_KEY = "unknownKey"
    SPENDING_KEY = "spendingKey"
    NOT_LNBITS = "notLnbits"
    LNBITS_MOVED = "lnbitsMoved"

    CONNECTION_FORM = "connectionForm"
    RELAY_PRIVATE = "relayPrivate"
    RELAY_PLAIN = "relayPlain"
    SPENDING_CONNECTION = "spendingConnection"
    RECEIVES_NOTHING = "receivesNothing"
    RIGHTS_UNKNOWN = "rightsUnknown"
    TEST_NETWORK = "testNetwork"
    CONNECTION_ENDED = "connectionEnded"
    WALLET_SILENT = "walletSilent"
    WALLET_BUSY = "walletBusy"
    WALLET_UNREADABLE = "walletUnreadable"
    WALLET_FAILED = "walletFailed"

    HOST_PRIVATE = "hostPrivate"
    HOST_UNKNOWN = "hostUnknown"
    HOST_UNSAFE = "hostUnsafe"
    HOST_CLOSED = "hostClosed"
    HOST_SILENT = "hostSilent"
    HOST_BUSY = "hostBusy"
    HOST_BROKEN = "hostBroken"
    HOST_DENIES = "hostDenies"
    HOST_MOVED = "hostMoved"
    HOST_SAYS = "hostSays"
    """Also show the message: it contains the words of the seller's wallet."""
