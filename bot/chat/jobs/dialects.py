"""Dialects: the field names that servers use for a request's two currencies, and the price check.

HandCash's pages contradict each other, and a server may ignore an unknown field, so that the
request has a price that its seller didn't ask for. Therefore the price in the answer is compared
with the spec. If it differs, the next dialect is tried (docs/decisions/0039).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from bot.chat.model import remote_request, request_spec
from bot.core import errors
from bot.core.database import database
from bot.core.money import amounts


@dataclass(frozen=True, slots=True)
class Dialect:
    """The names of two fields: the payment's currency and the price's currency."""

    name: str
    instrument: str
    denomination: str
    has_seller: bool = True
    """True if servers of this dialect may know our additional field `seller`."""

    def spell(self, spec: request_spec.RequestSpec, instrument: str) -> dict[str, str]:
        """Return the currency fields of a create; an equal denomination is left out."""
        fields = {self.instrument: instrument}
        if spec.currency != instrument:
            fields[self.denomination] = spec.currency
        return fields


DIALECTS = (
    Dialect("typed", "instrumentCurrencyCode", "denominationCurrencyCode"),
    Dialect("corrected", "instrumentCurrencyCode", "currency", has_seller=False),
    Dialect("sample", "currencyCode", "denominatedIn"),
)
"""The dialects in the order in which they are tried: the names in the types of the interface and of
HandCash's OpenAPI, the names on HandCash's page "Corrected Documentation", and the names in the
interface's sample call."""

_FIELDS = frozenset(name for one in DIALECTS for name in (one.instrument, one.denomination))
_WORDS = re.compile("currency|currencies|denominat", re.IGNORECASE)


def instrument_of(spec: request_spec.RequestSpec, instrument: str | None) -> str:
    """Return the currency that payers pay in; `instrument` is the operator's setting."""
    return spec.instrument or instrument or spec.currency


def dialects_to_try(
    known: str | None, spec: request_spec.RequestSpec, instrument: str
) -> tuple[Dialect, ...]:
    """Return the dialects that spell a spec differently, the `known` dialect first."""
    ordered = sorted(DIALECTS, key=lambda one: one.name != known)
    different: dict[tuple[tuple[str, str], ...], Dialect] = {}
    for one in ordered:
        different.setdefault(tuple(one.spell(spec, instrument).items()), one)
    return tuple(different.values())


def may_have_seller(known: str | None) -> bool:
    """True if a server of the `known` dialect may know the field `seller`."""
    return next((one.has_seller for one in DIALECTS if one.name == known), True)


def is_about_spelling(problem: errors.FieldProblem) -> bool:
    """True if a refusal may concern the names of the currency fields."""
    if problem.field:
        return problem.field.rpartition(".")[2] in _FIELDS
    return _WORDS.search(problem.message) is not None


def is_price_right(
    answer: remote_request.RemoteRequest, spec: request_spec.RequestSpec, instrument: str
) -> bool | None:
    """True if a server's answer has the spec's price and amounts; None if it has no price."""
    price = answer.price
    if price is None:
        return None
    asked = Decimal(amounts.from_minor(spec.amount, spec.currency))
    same = Decimal(price.amount) == asked and price.currency == spec.currency
    same = same and answer.choice == spec.choice
    return same and price.instrument in (None, instrument)


# What is remembered of servers.


def known_dialect(tx: database.Transaction, server: str) -> str | None:
    """Return the name of the dialect that worked last; None means the first dialect."""
    row = tx.one("SELECT name FROM dialects WHERE server = :server", server=server)
    return str(row["name"]) if row else None


def remember_dialect(
    tx: database.Transaction,
    server: str,
    used: Dialect,
    spec: request_spec.RequestSpec,
    instrument: str | None,
) -> None:
    """Store the dialect that worked, if the price and the payment have different currencies."""
    name = None if used is DIALECTS[0] else used.name
    is_denominated = spec.currency != instrument_of(spec, instrument)
    if not is_denominated or known_dialect(tx, server) == name:
        return
    if name is None:
        tx.execute("DELETE FROM dialects WHERE server = :server", server=server)
        return
    tx.execute(
        "INSERT INTO dialects (server, name) VALUES (:server, :name)"
        " ON CONFLICT (server) DO UPDATE SET name = excluded.name",
        server=server,
        name=name,
    )


def refuses_seller(tx: database.Transaction, server: str, since: int) -> bool:
    """True if a server has refused a request's `seller` field since `since` (epoch ms)."""
    sql = "SELECT 1 AS one FROM seller_refusals WHERE server = :server AND refused_at > :since"
    return tx.one(sql, server=server, since=since) is not None


def remember_seller_refusal(tx: database.Transaction, server: str, now: int) -> None:
    """Store that a server refuses a request's `seller` field."""
    sql = (
        "INSERT INTO seller_refusals (server, refused_at) VALUES (:server, :now)"
        " ON CONFLICT (server) DO UPDATE SET refused_at = excluded.refused_at"
    )
    tx.execute(sql, server=server, now=now)


def mark_price_warning(tx: database.Transaction, server: str, seller_id: int) -> bool:
    """Store that a seller was warned that the server sends no prices; False if already warned."""
    sql = (
        "INSERT INTO unchecked_prices (server, seller_id) VALUES (:server, :seller)"
        " ON CONFLICT (server, seller_id) DO NOTHING"
    )
    return bool(tx.execute(sql, server=server, seller=seller_id))
