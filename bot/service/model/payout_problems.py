"""Why the details of a payout account are refused: a code for machines beside each message."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from bot.core.errors import BotError, FieldProblem, InvalidBody
from bot.core.text import sanitize

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LONGEST_NAME = 100
"""Characters of a field's name that an answer repeats."""

MOST_PROBLEMS = 20


class Wrong(StrEnum):
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
    """The only one whose message people need as well: it holds the words of their wallet."""


class BadDetail(BotError):
    """A detail that can't be used; the message says what to do."""

    def __init__(self, wrong: Wrong, message: str) -> None:
        super().__init__(message)
        self.wrong = wrong


def check_names(details: Mapping[str, Any], *known: str) -> None:
    """Raise InvalidBody for fields that are not `known`."""
    if problems := unknown_fields(details, known, "details"):
        raise InvalidBody(info=problems)


def unknown_fields(
    details: Mapping[str, Any], known: Iterable[str], path: str
) -> list[FieldProblem]:
    """Return a problem for each field that is not `known`."""
    unknown = sorted(set(details).difference(known))[:MOST_PROBLEMS]
    return [
        FieldProblem(
            f"{path}.{sanitize.line(name, LONGEST_NAME)}",
            "is not a field of this kind of account",
            Wrong.UNKNOWN_FIELD.value,
        )
        for name in unknown
    ]
