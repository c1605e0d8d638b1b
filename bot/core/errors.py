"""The error tree.

BotError
├── MoneyError             an amount or a currency that can't be taken
├── PictureError           a photo that can't be taken
├── OverBudget             work on a stranger's bytes that takes too much memory or time
├── BadSignature           a webhook that doesn't prove where it comes from
├── Unreadable             an update that nobody can make sense of
├── ConfigProblem          one thing wrong with one setting
├── ConfigError            all of them together
├── ForbiddenAddress       an address that webhooks may not reach
├── MailRefused            an e-mail that the mail server did not take
├── StorageError           the database can't be used just now: locked, full, read-only
├── Refused                the caller asked for what can't be done
│   ├── InvalidBody            400 invalidBody
│   ├── EmailUnavailable       400 emailUnavailable
│   ├── Unauthorized           401 unauthorized
│   ├── NotFound               404 notFound
│   ├── MethodNotAllowed       405 methodNotAllowed
│   ├── NotLimited             409 notLimited
│   ├── NotEnoughUnits         409 notEnoughUnits
│   ├── IdempotencyMismatch    409 idempotencyMismatch
│   ├── NotPayable             409 notPayable
│   ├── BodyTooLarge           413 bodyTooLarge
│   ├── UnsupportedMediaType   415 unsupportedMediaType
│   └── RateLimited            429 rateLimited
└── PeerError              the other server
    ├── Unreachable            no connection, or no answer in time
    │   └── NotReached             no connection: it has not heard of what was asked
    ├── Overloaded             429 or 5xx: later it may work
    │   └── Throttled              429: it did nothing of what was asked
    └── BadAnswer              an answer that the interface doesn't know
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from decimal import Decimal


class BotError(Exception):
    """Everything that the design foresees; anything else is a bug."""


class MoneyError(BotError):
    """An amount or a currency that can't be taken.

    `reason` is one of unknownCurrency, notPositive, tooManyDecimals, tooLarge,
    notAnAmount and ambiguous; `choices` are the readings of an ambiguous amount.
    """

    def __init__(self, reason: str, message: str, choices: tuple[Decimal, ...] = ()) -> None:
        super().__init__(message)
        self.reason = reason
        self.choices = choices


class PictureError(BotError):
    """A photo that can't be taken.

    `reason` is one of unknownFormat, tooLarge (bytes or pixels), tooSmall, tooLong (one side beside
    the other), tooHeavy (memory or time) and damaged.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class OverBudget(BotError):
    """Work on a stranger's bytes that takes more memory or time than it may; says how much."""


class BadSignature(BotError):
    """A webhook that doesn't prove where it comes from."""


class Unreadable(BotError):
    """A stored update or message with a field missing or of the wrong type; names the field."""


class ConfigProblem(BotError):
    """One thing wrong with one setting, said so that it can be mended."""


class ConfigError(BotError):
    """Every problem of the configuration at once, one line each."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class ForbiddenAddress(BotError):
    """An address that webhooks may not reach; the message says which and why."""


class MailRefused(BotError):
    """An e-mail that the mail server did not take; `told` says it to the operator, in 1 KiB.

    `told` names nobody whom an e-mail is for, so that it may stand in a log. `final` where trying
    again is of no use; `code` and `answer` are the server's, where it said something; `remedy` is
    what to look at, where `told` does not say it.
    """

    def __init__(
        self,
        told: str,
        *,
        final: bool = False,
        code: int | None = None,
        answer: str = "",
        remedy: str = "",
    ) -> None:
        super().__init__(told)
        self.told = told
        self.final = final
        self.code = code
        self.answer = answer
        self.remedy = remedy


class StorageError(BotError):
    """The database can't be used just now: locked, full, read-only or gone."""


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """What is wrong with one field of a body; `field` is its dotted path."""

    field: str
    message: str


class Refused(BotError):
    """The caller asked for what can't be done.

    `code` is for machines, the message for people, `info` names the fields.
    """

    code: ClassVar[str] = "refused"
    default: ClassVar[str] = "This can't be done."

    def __init__(self, message: str | None = None, info: Iterable[FieldProblem] = ()) -> None:
        super().__init__(message or self.default)
        self.message = message or self.default
        self.info = tuple(info)


class InvalidBody(Refused):
    code = "invalidBody"
    default = "The body is not valid."


class EmailUnavailable(Refused):
    code = "emailUnavailable"
    default = "This server sends no e-mail: leave notifications.email out."


class Unauthorized(Refused):
    code = "unauthorized"
    default = "The App-Id and App-Secret headers are missing or wrong."


class NotFound(Refused):
    code = "notFound"
    default = "There is no such payment request."


class MethodNotAllowed(Refused):
    code = "methodNotAllowed"
    default = "This address does not know this method."


class NotLimited(Refused):
    code = "notLimited"
    default = "Only requests with expirationType limit have units to take out."


class NotEnoughUnits(Refused):
    code = "notEnoughUnits"
    default = "Fewer units remain than were to be taken out."


class IdempotencyMismatch(Refused):
    code = "idempotencyMismatch"
    default = "This Idempotency-Key was used with another body."


class NotPayable(Refused):
    """The request can't be paid now; `state` is its state as the page names it."""

    code = "notPayable"
    default = "This request can't be paid now."

    def __init__(self, state: str) -> None:
        super().__init__()
        self.state = state


class BodyTooLarge(Refused):
    code = "bodyTooLarge"
    default = "The body is larger than 64 KiB."


class UnsupportedMediaType(Refused):
    code = "unsupportedMediaType"
    default = "Send the body as application/json."


class RateLimited(Refused):
    """Too many calls; `retry_after` in whole seconds."""

    code = "rateLimited"
    default = "Too many calls: slow down."

    def __init__(self, retry_after: int) -> None:
        super().__init__()
        self.retry_after = retry_after


class TooManyHolds(RateLimited):
    """Too many checkouts of a request are open from one network; the first of them may lapse."""

    code = "tooManyHolds"
    default = "Too many payments are open from this network: finish or cancel one."


class PeerError(BotError):
    """The other server did not do what was asked."""


class Unreachable(PeerError):
    """No connection, or no answer in time: whether it was done is not known."""


class NotReached(Unreachable):
    """No connection, so nothing of what was asked has arrived."""


class Overloaded(PeerError):
    """429 or 5xx; `retry_after` in seconds where the peer said so."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Throttled(Overloaded):
    """429, so nothing of what was asked was done."""


class BadAnswer(PeerError):
    """An answer that the interface doesn't know."""


def requested_wait(error: Exception) -> float:
    """Seconds for which a peer wants to be left alone; 0 where it says nothing of it."""
    return error.retry_after or 0.0 if isinstance(error, Overloaded) else 0.0
