"""Refusals: their statuses, how the document shows them, and wrong fields in our words."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from bot.core import errors
from bot.interface import answers, vocabulary

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

B = TypeVar("B", bound=BaseModel)


STATUS: dict[type[errors.Refused], int] = {
    errors.InvalidBody: 400,
    errors.EmailUnavailable: 400,
    errors.Unauthorized: 401,
    errors.CrossSite: 403,
    errors.NotFound: 404,
    errors.NoSuchAddress: 404,
    errors.MethodNotAllowed: 405,
    errors.NotLimited: 409,
    errors.NotEnoughUnits: 409,
    errors.IdempotencyMismatch: 409,
    errors.NotPayable: 409,
    errors.WrongState: 409,
    errors.NoCodes: 409,
    errors.BuyersWait: 409,
    errors.TooManyFiles: 409,
    errors.BodyTooLarge: 413,
    errors.UnsupportedMediaType: 415,
    errors.RateLimited: 429,
    errors.TooManyHolds: 429,
    errors.Internal: 500,
    errors.Unavailable: 503,
}


def status(refusal: errors.Refused) -> int:
    """Return the HTTP status of a refusal."""
    return STATUS.get(type(refusal), 400)


def answer(refusal: errors.Refused) -> answers.ErrorAnswer:
    """Return the answer of a refusal."""
    info = [
        answers.FieldProblemAnswer(
            field=one.field,
            message=one.message,
            code=None if one.code is None else vocabulary.DetailError(one.code),
        )
        for one in refusal.info
    ]
    return answers.ErrorAnswer(code=refusal.code, message=refusal.message, info=info)


# Refusals in the OpenAPI document.


class Failure(NamedTuple):
    """A documented refusal: when it occurs, and an error as its example."""

    when: str
    error: errors.Refused

    @property
    def status(self) -> int:
        """Return its HTTP status."""
        return status(self.error)


NO_CURSOR = "is none that this list gave"
FAILURES = (
    Failure(
        "A field is wrong (`invalidBody`), or email is asked for (`emailUnavailable`).",
        errors.InvalidBody.of_field("product.name", "is required"),
    ),
    Failure(
        "The App-Id and App-Secret headers are missing or wrong (`unauthorized`).",
        errors.Unauthorized(),
    ),
    Failure(
        "The application has nothing of this id, or no longer what the key made (`notFound`).",
        errors.NotFound(),
    ),
    Failure(
        "It can't be done now"
        " (`notLimited`, `notEnoughUnits`, `buyersWait`, `idempotencyMismatch`).",
        errors.NotEnoughUnits("3 units remain, 5 were to be taken out."),
    ),
    Failure("The body is larger than 64 KiB (`bodyTooLarge`).", errors.BodyTooLarge()),
    Failure("The body is not JSON (`unsupportedMediaType`).", errors.UnsupportedMediaType()),
    Failure("Too many calls (`rateLimited`): see Retry-After.", errors.RateLimited(1)),
    Failure(
        "Something went wrong here (`internal`); it is in the operator's log.", errors.Internal()
    ),
    Failure(
        "The service can't be used just now (`unavailable`): see Retry-After.",
        errors.Unavailable(),
    ),
)
"""The refusals of most calls; a route declares others itself."""

OF_READING = (
    Failure(
        "A parameter is wrong (`invalidBody`).", errors.InvalidBody.of_field("cursor", NO_CURSOR)
    ),
    Failure("There is nothing of this id (`notFound`).", errors.NotFound()),
)
"""Those of calls without a body."""

MISMATCH = Failure(
    "The Idempotency-Key was used with another call, or with another body (`idempotencyMismatch`).",
    errors.IdempotencyMismatch(),
)
"""The refusal of a key that was used by another call."""


def documented(*codes: int, but: Iterable[Failure] = (), keyed: bool = False) -> list[Failure]:
    """Return the refusals of a call by their statuses; `but` replaces the general ones.

    A `keyed` call takes an Idempotency-Key. The key may be malformed or used by another call, or
    the object that the first call made may be gone.
    """
    reads = () if HTTPStatus.UNSUPPORTED_MEDIA_TYPE in codes else OF_READING
    known = {one.status: one for one in (*FAILURES, *reads, *but)}
    if keyed:
        conflict = known[MISMATCH.status] if MISMATCH.status in codes else MISMATCH
        if MISMATCH.error.code not in conflict.when:
            conflict = conflict._replace(when=f"{conflict.when} {MISMATCH.when}")
        known[MISMATCH.status] = conflict
        codes = tuple(sorted({*codes, 400, 404, MISMATCH.status}))
    return [known[code] for code in (*codes, 500, 503)]


# Wrong fields, in our words: those of pydantic speak of Python.


MAX_PROBLEMS = 20
MAX_FIELD = 100
"""Characters of a field's name that an answer repeats."""

SENTENCES = {
    "missing": "is required",
    "extra_forbidden": "is not a field of this body",
    "string_type": "must be a string",
    "string_unicode": "must be Unicode text",
    "string_too_short": "is empty",
    "string_too_long": "has more than {max_length} characters",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "is too large",
    "int_from_float": "must be a whole number",
    "decimal_type": "must be a number",
    "decimal_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "too_short": "is empty",
    "too_long": "has more than {max_length} entries",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
}
"""A sentence for each type of error that our models raise."""

NOT_VALID = "is not valid"


def checked(kind: type[B], given: dict[str, Any]) -> B:
    """Return the fields of a body that no call sent. Raises InvalidBody."""
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        raise invalid_body(error.errors(include_url=False)) from None


def invalid_body(
    found: Iterable[ErrorDetails | Any], strip: int = 0, within: str = ""
) -> errors.InvalidBody:
    """Return the InvalidBody of pydantic's errors, each path without its first `strip` parts.

    Errors without a path are about the field `within`.
    """
    info = [
        errors.FieldProblem(
            ".".join(str(part)[:MAX_FIELD] for part in error["loc"][strip:]) or within,
            _sentence(error),
        )
        for error in [*found][:MAX_PROBLEMS]
    ]
    return errors.InvalidBody(info=info)


def _sentence(error: ErrorDetails) -> str:
    if error["type"] == "value_error":
        return error["msg"].removeprefix("Value error, ")
    return SENTENCES.get(error["type"], NOT_VALID).format_map(error.get("ctx") or {})
