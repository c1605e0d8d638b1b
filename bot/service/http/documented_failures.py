"""The documented refusals of calls: when each comes, and an answer as its example."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from bot.core import errors
from bot.service.checkouts import claiming
from bot.service.goods import files
from bot.service.payments import payment_marks
from bot.service.payouts import payout_accounts
from bot.service.wire import answer_schemas


class Failure(NamedTuple):
    """A documented refusal: when it comes, and the parts of an answer as an example."""

    when: str
    code: str
    message: str
    field: str = ""
    problem: str = ""


Failures: TypeAlias = Mapping[int, Failure]
"""Refusals by their status."""

FAILURES = {
    400: Failure(
        "A field is wrong (`invalidBody`), or email is asked for (`emailUnavailable`).",
        "invalidBody",
        "product.name: is required",
        "product.name",
        "is required",
    ),
    401: Failure(
        "The App-Id and App-Secret headers are missing or wrong (`unauthorized`).",
        "unauthorized",
        "The App-Id and App-Secret headers are missing or wrong.",
    ),
    404: Failure(
        "The application has nothing of this id, or no longer what the key made (`notFound`).",
        "notFound",
        "There is no such payment request.",
    ),
    409: Failure(
        "It can't be done now"
        " (`notLimited`, `notEnoughUnits`, `buyersWait`, `idempotencyMismatch`).",
        "notEnoughUnits",
        "3 units remain, 5 were to be taken out.",
    ),
    413: Failure(
        "The body is larger than 64 KiB (`bodyTooLarge`).",
        "bodyTooLarge",
        "The body is larger than 64 KiB.",
    ),
    415: Failure(
        "The body is not JSON (`unsupportedMediaType`).",
        "unsupportedMediaType",
        "Send the body as application/json.",
    ),
    429: Failure(
        "Too many calls (`rateLimited`): see Retry-After.",
        "rateLimited",
        "Too many calls: slow down.",
    ),
    500: Failure(
        "Something went wrong here (`internal`); it is in the operator's log.",
        "internal",
        "Something went wrong here. It is in the operator's log.",
    ),
    503: Failure(
        "The service can't be used just now (`unavailable`): see Retry-After.",
        "unavailable",
        "Not just now: please try again.",
    ),
}
TOO_LONG = f"String should have at most {payment_marks.LONGEST_NOTE} characters"
NO_CURSOR = "is none that this list gave"
OF_READING = {
    400: Failure(
        "A parameter is wrong (`invalidBody`).",
        "invalidBody",
        f"cursor: {NO_CURSOR}",
        "cursor",
        NO_CURSOR,
    ),
    404: FAILURES[404]._replace(when="There is nothing of this id (`notFound`)."),
}
"""The same for calls without a body."""

OF_PAYOUTS = {
    400: Failure(
        "A field is wrong, or the server takes test money, which goes to no account"
        " (`invalidBody`).",
        "invalidBody",
        "owner: is required",
        "owner",
        "is required",
    ),
    404: Failure(
        "The account that the key made is gone (`notFound`).", "notFound", payout_accounts.UNKNOWN
    ),
    429: FAILURES[429]._replace(
        when="Too many calls, or too many accounts at once (`rateLimited`): see Retry-After."
    ),
}
"""The same for calls about payout accounts."""

OF_REMOVALS = {
    400: Failure(
        "The server takes test money, which goes to no account (`invalidBody`).",
        "invalidBody",
        payout_accounts.TEST_MONEY,
    ),
    404: Failure(
        "The application has no such payout account (`notFound`).",
        "notFound",
        payout_accounts.UNKNOWN,
    ),
}
"""The same for the removal of a payout account."""

OF_CHECKOUTS = {
    404: Failure(
        "The application has no such checkout (`notFound`).",
        "notFound",
        claiming.UNKNOWN,
    ),
    409: Failure(
        "The checkout is in a state that doesn't allow it (`wrongState`).",
        "wrongState",
        "This checkout is opening. Confirm it once it's open.",
    ),
}
"""The same for calls about checkouts."""

OF_MARKS = {
    400: Failure(
        "A field is wrong (`invalidBody`).",
        "invalidBody",
        f"sent.note: {TOO_LONG}",
        "sent.note",
        TOO_LONG,
    ),
    404: Failure(
        "The application has no such payment of such a request (`notFound`).",
        "notFound",
        payment_marks.UNKNOWN,
    ),
}
"""The same for calls that mark a payment."""

OF_FILES = {
    400: Failure(
        "The name is wrong, or the body is empty or broke off (`invalidBody`).",
        "invalidBody",
        "name: must be a name without a path",
        "name",
        "must be a name without a path",
    ),
    404: Failure("The file that the key made is gone (`notFound`).", "notFound", files.GONE),
    409: Failure(
        "Files that no payment request delivers use up their room (`tooManyFiles`).",
        "tooManyFiles",
        errors.TooManyFiles.default,
    ),
    415: FAILURES[415]._replace(
        when="The body is a form (`unsupportedMediaType`).",
        message="Send the file itself as the body, not a form.",
    ),
    413: FAILURES[413]._replace(
        when="The file is larger than 20 MiB (`bodyTooLarge`).",
        message="The body is larger than 20 MiB.",
    ),
    429: FAILURES[429]._replace(
        when="Too many calls, or more than 4 uploads at once (`rateLimited`): see Retry-After."
    ),
}
"""The same for uploads."""

OF_CODES = {
    400: Failure(
        "A code is wrong, or repeated (`invalidBody`).",
        "invalidBody",
        "codes: 1 code is repeated: number 2",
        "codes",
        "1 code is repeated: number 2",
    ),
    404: OF_READING[404],
    409: Failure("The request delivers no codes (`noCodes`).", "noCodes", errors.NoCodes.default),
    413: FAILURES[413]._replace(
        when="The body is larger than 1 MiB (`bodyTooLarge`).",
        message="The body is larger than 1 MiB.",
    ),
}
"""The same for codes that are added."""

OF_RECEIPTS = {
    404: Failure(
        "No payment has this address (`notFound`).", "notFound", errors.NoSuchAddress.default
    ),
}
"""The same for receipts."""

OF_HINTS = {
    404: Failure(
        "No checkout has this address (`notFound`).", "notFound", errors.NoSuchAddress.default
    ),
}
"""The same for hints of wallets."""

MISMATCH = Failure(
    "The Idempotency-Key was used with another call, or with another body (`idempotencyMismatch`).",
    "idempotencyMismatch",
    errors.IdempotencyMismatch.default,
)
"""The refusal of a key that another call has."""

ANYWHERE = (500, 503)
MALFORMED, GONE, CONFLICT = 400, 404, 409
NO_JSON = 415
"""The status that marks calls with a body."""

LATER = frozenset({429, 503})
"""Statuses with a Retry-After header."""

RETRY_AFTER = {
    "Retry-After": {
        "description": "Seconds to wait",
        "required": True,
        "schema": {"type": "integer", "minimum": 1},
    }
}
NOTHING_ELSE: Failures = MappingProxyType({})


def failures(
    *codes: int, said: Failures = NOTHING_ELSE, keyed: bool = False
) -> dict[int | str, dict[str, Any]]:
    """Return the error answers of a route; `said` has its own words on some.

    A call that is `keyed` takes an Idempotency-Key, which may be malformed, or another call's, or
    have made what is gone.
    """
    known = {**FAILURES, **({} if NO_JSON in codes else OF_READING), **said}
    if keyed:
        conflict = known[CONFLICT] if CONFLICT in codes else MISMATCH
        if MISMATCH.code not in conflict.when:
            conflict = conflict._replace(when=f"{conflict.when} {MISMATCH.when}")
        known[CONFLICT] = conflict
        codes = tuple(sorted({*codes, MALFORMED, GONE, CONFLICT}))
    return {code: _answer(code, known[code]) for code in (*codes, *ANYWHERE)}


def _answer(code: int, it: Failure) -> dict[str, Any]:
    info = [{"field": it.field, "message": it.problem}] if it.field else []
    example = {"code": it.code, "message": it.message, "info": info}
    answer: dict[str, Any] = {
        "model": answer_schemas.ErrorAnswer,
        "description": it.when,
        "content": {"application/json": {"example": example}},
    }
    return answer | ({"headers": RETRY_AFTER} if code in LATER else {})
