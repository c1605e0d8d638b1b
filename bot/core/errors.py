"""The error tree.

BotError
├── MoneyError             an amount or a currency that is not accepted
├── PictureError           a photo that is not accepted
├── OverBudget             work on a stranger's bytes that exceeds its memory or time
├── BadSignature           a webhook without a valid signature
├── Unreadable             a stored record that can't be read
├── ConfigProblem          one thing wrong with one setting
├── ConfigError            all problems of the configuration
├── InvoiceError           a Lightning invoice that can't be read or is not the requested one
├── ForbiddenAddress       an address that webhooks may not reach
├── MailRefused            an email that the mail server did not accept
├── StorageError           the database can't be used just now: locked, full, read-only
│   ├── CommitUnknown          a commit whose answer was lost: it may be stored or not
│   └── Overtaken              another transaction was faster, so this one runs again
├── ConstraintError        a row that breaks a rule of the schema
├── NoLongerLead           a write scope has another lead
├── Refused                a call that can't be carried out
│   ├── InvalidBody            400 invalidBody
│   ├── EmailUnavailable       400 emailUnavailable
│   ├── Unauthorized           401 unauthorized
│   ├── CrossSite              403 crossSite
│   ├── NotFound               404 notFound
│   │   └── NoSuchAddress          404 notFound
│   ├── MethodNotAllowed       405 methodNotAllowed
│   ├── NotLimited             409 notLimited
│   ├── NotEnoughUnits         409 notEnoughUnits
│   ├── IdempotencyMismatch    409 idempotencyMismatch
│   ├── NotPayable             409 notPayable
│   ├── WrongState             409 wrongState
│   ├── NoCodes                409 noCodes
│   ├── BuyersWait             409 buyersWait
│   ├── TooManyFiles           409 tooManyFiles
│   ├── BodyTooLarge           413 bodyTooLarge
│   ├── UnsupportedMediaType   415 unsupportedMediaType
│   ├── RateLimited            429 rateLimited
│   │   └── TooManyHolds           429 tooManyHolds
│   ├── Internal               500 internal
│   └── Unavailable            503 unavailable
└── PeerError              a failed call of another server
    ├── Unreachable            no connection, or no answer in time
    │   ├── NotReached             no connection: the call did not arrive
    │   │   ├── NoSuchHost             the name has no address
    │   │   └── NotSecure              no TLS, or an invalid certificate
    │   └── BrokenOff              the connection ended before the answer did
    ├── Overloaded             429 or 5xx: a retry may succeed
    │   └── Throttled              429: the call changed nothing
    ├── BadAnswer              an answer that the interface doesn't know
    └── PeerRefusal            a refusal in the peer's own words
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, Self


class BotError(Exception):
    """An expected error; any other exception is a bug."""


class MoneyError(BotError):
    """An amount or a currency that is not accepted."""

    def __init__(self, reason: str, message: str, choices: tuple[Decimal, ...] = ()) -> None:
        super().__init__(message)
        self.reason = reason
        """unknownCurrency, notPositive, tooManyDecimals, tooLarge, notAnAmount or ambiguous."""
        self.choices = choices
        """The possible readings of an ambiguous amount."""


class PictureError(BotError):
    """A photo that is not accepted."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        """unknownFormat, tooLarge (bytes or pixels), tooSmall, tooLong (ratio of the sides),
        tooHeavy (memory or time) or damaged."""


class OverBudget(BotError):
    """Work on a stranger's bytes that exceeds its memory or time; the message has the limit."""


class BadSignature(BotError):
    """A webhook without a valid signature."""


class Unreadable(BotError):
    """A stored update or message with a missing or mistyped field; the message names the field."""


class ConfigProblem(BotError):
    """One problem of one setting, and how to fix it."""


class ConfigError(BotError):
    """All problems of the configuration, one line each."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class ForbiddenAddress(BotError):
    """An address that webhooks may not reach; the message says which and why."""


class InvoiceError(BotError):
    """A Lightning invoice that can't be read or is not the requested one."""


class MailRefused(BotError):
    """An email that the mail server did not accept."""

    def __init__(
        self,
        reason: str,
        *,
        final: bool = False,
        code: int | None = None,
        answer: str = "",
        remedy: str = "",
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        """For the operator: at most 1 KiB, without the recipient, so that it can be logged."""
        self.final = final
        """True if a retry is useless."""
        self.code = code
        """The server's reply code."""
        self.answer = answer
        """The server's reply."""
        self.remedy = remedy
        """Advice for the operator, if `reason` gives none."""


class StorageError(BotError):
    """The database can't be used just now: locked, full, read-only or gone."""


class ConstraintError(BotError):
    """A row that breaks a rule of the schema: a duplicate key, or a missing referenced row."""


class CommitUnknown(StorageError):
    """A commit whose answer was lost: its rows may be stored or not."""


class Overtaken(StorageError):
    """Another transaction was faster; this one is rolled back and runs again."""


class NoLongerLead(BotError):
    """Another replica leads the write scope, so this replica can no longer change its data."""


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """A problem with one field of a body."""

    field: str
    """The dotted path of the field."""
    message: str
    code: str | None = None
    """Names the problem for machines."""


class Refused(BotError):
    """A call that can't be carried out; the message is for people, `info` lists bad fields."""

    code: ClassVar[str] = "refused"
    """For machines."""
    default: ClassVar[str] = "This can't be done."
    """The message if the error is raised without one."""

    def __init__(self, message: str | None = None, info: Iterable[FieldProblem] = ()) -> None:
        super().__init__(message or self.default)
        self.message = message or self.default
        self.info = tuple(info)


class InvalidBody(Refused):
    """A wrong body or parameter; the message defaults to the first entry of `info`."""

    code = "invalidBody"
    default = "The body is not valid."

    def __init__(self, message: str | None = None, info: Iterable[FieldProblem] = ()) -> None:
        problems = tuple(info)
        if message is None and problems:
            message = f"{problems[0].field}: {problems[0].message}"
        super().__init__(message, problems)

    @classmethod
    def of_field(cls, field: str, message: str) -> Self:
        """Return the refusal of one field."""
        return cls(info=[FieldProblem(field, message)])


class EmailUnavailable(Refused):
    code = "emailUnavailable"
    default = "This server sends no email: leave notifications.email out."


class Unauthorized(Refused):
    code = "unauthorized"
    default = "The App-Id and App-Secret headers are missing or wrong."


class CrossSite(Refused):
    code = "crossSite"
    default = "A page of another site posted this form."


class NotFound(Refused):
    code = "notFound"
    default = "There is no such payment request."


class NoSuchAddress(NotFound):
    default = "There is nothing at this address."


class MethodNotAllowed(Refused):
    code = "methodNotAllowed"
    default = "This address does not support this method."


class NotLimited(Refused):
    code = "notLimited"
    default = "Only requests with expirationType limit have units to take out."


class NotEnoughUnits(Refused):
    code = "notEnoughUnits"
    default = "Fewer units remain than you asked to take out."


class IdempotencyMismatch(Refused):
    code = "idempotencyMismatch"
    default = "This Idempotency-Key was used with another call, or with another body."


class NotPayable(Refused):
    """The request can't be paid now."""

    code = "notPayable"
    default = "This request can't be paid now."

    def __init__(self, state: str, left: int | None = None) -> None:
        super().__init__(None if left is None else f"Only {left} left: take fewer.")
        self.state = state
        """The state of the request, as the pay page names it."""
        self.left = left
        """The number of remaining units, if more were asked for."""


class WrongState(Refused):
    """A checkout is in a `state` that doesn't allow the call."""

    code = "wrongState"
    default = "This checkout can't change so in its state."

    def __init__(self, state: str, advice: str = "") -> None:
        super().__init__(f"This checkout is {state}. {advice}".rstrip())
        self.state = state


class NoCodes(Refused):
    code = "noCodes"
    default = "This payment request delivers no codes: edit its delivery first."


class BuyersWait(Refused):
    code = "buyersWait"
    default = "Buyers wait for codes: deliver codes, a text or a file to them first."


class TooManyFiles(Refused):
    code = "tooManyFiles"
    default = "There is no room for another file: use those that were uploaded, or wait."


class BodyTooLarge(Refused):
    code = "bodyTooLarge"
    default = "The body is larger than 64 KiB."


class UnsupportedMediaType(Refused):
    code = "unsupportedMediaType"
    default = "Send the body as application/json."


class RateLimited(Refused):
    """Too many calls."""

    code = "rateLimited"
    default = "Too many calls: slow down."

    def __init__(self, retry_after: int) -> None:
        super().__init__()
        self.retry_after = retry_after
        """In whole seconds."""


class TooManyHolds(RateLimited):
    """Too many checkouts of a request are open from one network; the oldest lapses first."""

    code = "tooManyHolds"
    default = "Too many payments are open from this network: finish or cancel one."


class Internal(Refused):
    """The answer to a bug, without its details."""

    code = "internal"
    default = "Something went wrong here. It is in the operator's log."


class Unavailable(Refused):
    """The answer while the database can't be used."""

    code = "unavailable"
    default = "Not just now: please try again."
    retry_after = 5
    """In seconds."""


class PeerError(BotError):
    """A failed call of another server."""


class Unreachable(PeerError):
    """No connection, or no answer in time: the call may have succeeded."""


class NotReached(Unreachable):
    """No connection: the call did not arrive."""


class NoSuchHost(NotReached):
    """No connection, because the name has no address."""


class NotSecure(NotReached):
    """No connection, because there is no TLS or the certificate is invalid."""


class BrokenOff(Unreachable):
    """The connection ended before the answer did, or the answer isn't HTTP."""


class Overloaded(PeerError):
    """429 or 5xx: a retry may succeed."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """In seconds; None if the server didn't say."""


class Throttled(Overloaded):
    """429: the call changed nothing."""


class BadAnswer(PeerError):
    """An answer that the interface doesn't know."""


class PeerRefusal(PeerError):
    """A refusal; the message holds the peer's own words, sanitized and cut."""


def requested_wait(error: Exception) -> float:
    """Return the wait that a server asked for, in seconds; 0 if it named none."""
    return error.retry_after or 0.0 if isinstance(error, Overloaded) else 0.0
