"""Payout accounts, which receive the money of sellers, and problems in their details."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bot.core import errors
from bot.core.text import sanitize
from bot.interface import vocabulary

SANDBOX = "sandbox"


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
        return self.kind != vocabulary.BANK or currency in self.currencies


# Refused details: each message has a code for machines.

LONGEST_NAME = 100
"""Characters of a field's name that an answer repeats."""

MOST_PROBLEMS = 20


class BadDetail(errors.BotError):
    """A detail that can't be used; the message says how to correct it."""

    def __init__(self, wrong: vocabulary.DetailError, message: str) -> None:
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
            vocabulary.DetailError.UNKNOWN_FIELD.value,
        )
        for name in unknown
    ]
