"""The refusals in the OpenAPI document: when each occurs, with an example answer."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from bot.core import errors
from bot.service.checkouts import claiming
from bot.service.goods import files
from bot.service.payments import payment_marks
from bot.service.payouts import payout_accounts
from bot.service.wire import answer_schemas


class Failure(NamedTuple):
    """A documented refusal."""

    when: str
    code: str
    message: str
    """An example; so are the field and its problem."""

    field: str = ""
    problem: str = ""


Failures: TypeAlias = Mapping[int, Failure]
"""Refusals by status."""

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
READ_FAILURES = {
    400: Failure(
        "A parameter is wrong (`invalidBody`).",
        "invalidBody",
        f"cursor: {NO_CURSOR}",
        "cursor",
        NO_CURSOR,
    ),
    404: FAILURES[404]._replace(when="There is nothing of this id (`notFound`)."),
}
"""Overrides for calls without a body."""

PAYOUT_FAILURES = {
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
"""Overrides for calls about payout accounts."""

REMOVAL_FAILURES = {
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
"""Overrides for the removal of a payout account."""

CHECKOUT_FAILURES = {
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
"""Overrides for calls about checkouts."""

MARK_FAILURES = {
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
"""Overrides for calls that mark a payment."""

UPLOAD_FAILURES = {
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
"""Overrides for uploads."""

CODES_FAILURES = {
    400: Failure(
        "A code is wrong, or repeated (`invalidBody`).",
        "invalidBody",
        "codes: 1 code is repeated: number 2",
        "codes",
        "1 code is repeated: number 2",
    ),
    404: READ_FAILURES[404],
    409: Failure("The request delivers no codes (`noCodes`).", "noCodes", errors.NoCodes.default),
    413: FAILURES[413]._replace(
        when="The body is larger than 1 MiB (`bodyTooLarge`).",
        message="The body is larger than 1 MiB.",
    ),
}
"""Overrides for calls that add codes."""

RECEIPT_FAILURES = {
    404: Failure(
        "No payment has this address (`notFound`).", "notFound", errors.NoSuchAddress.default
    ),
}
"""Overrides for receipts."""

HINT_FAILURES = {
    404: Failure(
        "No checkout has this address (`notFound`).", "notFound", errors.NoSuchAddress.default
    ),
}
"""Overrides for hints from wallets."""

MISMATCH = Failure(
    "The Idempotency-Key was used with another call, or with another body (`idempotencyMismatch`).",
    "idempotencyMismatch",
    errors.IdempotencyMismatch.default,
)
"""The refusal of a key that was used by another call."""

EVERYWHERE = (500, 503)
RETRIED_LATER = frozenset({429, 503})
"""Statuses with a Retry-After header."""

RETRY_AFTER_HEADER = {
    "Retry-After": {
        "description": "Seconds to wait",
        "required": True,
        "schema": {"type": "integer", "minimum": 1},
    }
}
NO_OVERRIDES: Failures = MappingProxyType({})


def failures(
    *codes: int, overrides: Failures = NO_OVERRIDES, keyed: bool = False
) -> dict[int | str, dict[str, Any]]:
    """Return the error answers of a route; `overrides` replace the general failures.

    A `keyed` call takes an Idempotency-Key. The key may be malformed or used by another call, or
    the object that the first call made may be gone.
    """
    has_body = HTTPStatus.UNSUPPORTED_MEDIA_TYPE in codes
    known = {**FAILURES, **({} if has_body else READ_FAILURES), **overrides}
    if keyed:
        conflict = known[409] if HTTPStatus.CONFLICT in codes else MISMATCH
        if MISMATCH.code not in conflict.when:
            conflict = conflict._replace(when=f"{conflict.when} {MISMATCH.when}")
        known[409] = conflict
        codes = tuple(sorted({*codes, 400, 404, 409}))
    return {code: _answer(code, known[code]) for code in (*codes, *EVERYWHERE)}


def _answer(code: int, failure: Failure) -> dict[str, Any]:
    info = [{"field": failure.field, "message": failure.problem}] if failure.field else []
    example = {"code": failure.code, "message": failure.message, "info": info}
    answer: dict[str, Any] = {
        "model": answer_schemas.ErrorAnswer,
        "description": failure.when,
        "content": {"application/json": {"example": example}},
    }
    return answer | ({"headers": RETRY_AFTER_HEADER} if code in RETRIED_LATER else {})
