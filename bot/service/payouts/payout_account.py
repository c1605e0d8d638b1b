"""Payout accounts, which receive the money of sellers, and problems in their details."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from bot.core import errors
from bot.core.text import sanitize

BANK = "bank"
LIGHTNING = "lightning"
LNBITS = "lnbits"
NWC = "nwc"
SANDBOX = "sandbox"
KINDS = (BANK, LIGHTNING, LNBITS, NWC)
"""The kinds of real money, in the order in which they are offered."""

DESTINATION = "account:"
"""Prefix of a receiver's destination that names an owner, whose accounts get the money."""


@dataclass(frozen=True, slots=True)
class PayoutAccount:
    """An owner's account. An owner has one account per way to pay. Times are epoch ms."""

    id: str
    app_id: str

    owner: str
    """The seller within the application."""

    kind: str

    scheme: str
    """Format of the bank code, such as `sepa`; "" for other kinds."""

    automatic: bool
    """True if the rail learns of payments itself."""

    currencies: tuple[str, ...]

    label: str
    """The account's name for people."""

    sealed: str
    """Its details, encrypted."""

    since: int
    """Time of the owner's first account of this way; ways are sorted by this time."""

    created_at: int

    retired_at: int | None = None
    """When it was replaced or removed; money requested earlier may still arrive."""

    @property
    def way(self) -> str:
        """Return the name of its way to pay: the kind, plus the scheme for banks."""
        return f"{self.kind}:{self.scheme}" if self.scheme else self.kind

    def takes(self, currency: str) -> bool:
        """Return whether a price in this currency can be paid to it. Bank codes never convert."""
        return self.kind != BANK or currency in self.currencies


# Refused details: each message has a code for machines.

LONGEST_NAME = 100
"""Characters of a field's name that an answer repeats."""

MOST_PROBLEMS = 20


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


class BadDetail(errors.BotError):
    """A detail that can't be used; the message says how to correct it."""

    def __init__(self, wrong: DetailError, message: str) -> None:
        super().__init__(message)
        self.wrong = wrong


def check_names(details: Mapping[str, Any], *known: str) -> None:
    """Raise InvalidBody for fields that are not `known`."""
    if problems := unknown_fields(details, known, "details"):
        raise errors.InvalidBody(info=problems)


def unknown_fields(
    details: Mapping[str, Any], known: Iterable[str], path: str
) -> list[errors.FieldProblem]:
    """Return a problem for each field that is not `known`."""
    unknown = sorted(set(details).difference(known))[:MOST_PROBLEMS]
    return [
        errors.FieldProblem(
            f"{path}.{sanitize.line(name, LONGEST_NAME)}",
            "is not a field of this kind of account",
            DetailError.UNKNOWN_FIELD.value,
        )
        for name in unknown
    ]
