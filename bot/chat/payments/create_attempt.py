"""An attempt to create a request, so that each spec leads to one request on every server.

Not every server knows an Idempotency-Key. So the link's id is sent in the request's custom
parameters, and after a lost answer the server's list is searched for this id. Nothing is created
again until the id has been missing in the list for a while, because the server may still be
working. If the server made several requests all the same, only one is kept.

If a request has a price that the seller didn't ask for, it is deleted and created again in the next
dialect. The failure is committed before anything is deleted, so that after a crash the next worker
knows which requests may be deleted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import structlog

from bot.chat.model import jobs, payout, remote_request, request_spec
from bot.chat.payments import client
from bot.chat.store import link_rows
from bot.core import errors
from bot.core.database import database
from bot.core.money import amounts

log = structlog.get_logger()

# Dialects: the field names that servers use for a request's two currencies.
#
# HandCash's pages contradict each other, and a server may ignore an unknown field, so that the
# request has a price that its seller didn't ask for. Therefore the price in the answer is compared
# with the spec. If it differs, the next dialect is tried:
# docs/decisions/other-payment-servers.md#0039.


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


# The attempt.


NOT_THE_INTERFACE = (errors.NotFound, errors.MethodNotAllowed)
"""Refusals of a create that mean a wrong PAYMENTS_URL: no server of the interface sends them."""

FIELD_NAME = re.compile(r'"([\w.\[\]]+)"')
"""A field's name in quotes, in refusals that name the field only in the message."""


class OtherPrice(errors.BotError):
    """The server made `requests` with a price other than the spec's."""

    def __init__(self, requests: Sequence[remote_request.RemoteRequest]) -> None:
        super().__init__(f"the server made it for {_price_of(requests[0]) or 'an unknown price'}")
        self.requests = tuple(requests)


class NoDialect(errors.BotError):
    """No dialect leads to the spec's price."""

    def __init__(self) -> None:
        super().__init__("no spelling of the currencies leads to the price that was wished for")


@dataclass(frozen=True, slots=True)
class Order:
    """A request to create."""

    link: link_rows.PaymentLink
    instrument: str
    """The currency that payers pay in."""
    dialects: tuple[Dialect, ...]
    """The dialects in the order in which they are tried."""
    paid: Collection[str]
    """The ids of the link's requests that have recorded payments."""
    seller: Mapping[str, str] | None
    """The seller's profile for payers; None if there is no profile."""
    profile_version: int
    """The version of the profile in `seller`."""


class Attempt:
    """One attempt to create a request, after the earlier attempts in `progress`."""

    def __init__(self, client: client.Client, order: Order, progress: jobs.CreateProgress) -> None:
        self.dialect_used: Dialect | None = None
        """The dialect of the request that was made."""
        self.is_other_price_left = False
        """True if a request with another price could not be deleted."""
        self.is_seller_refused = False
        """True if the server refused the order's `seller`, so that the request was created without
        it."""
        self._client = client
        self._order = order
        self._progress = progress
        self._is_sent = self._is_made = False
        self._found = 0
        self._is_copy_left = False
        self._unchecked: set[str] = set()

    async def create(
        self, write: Callable[[Dialect], Mapping[str, Any]]
    ) -> remote_request.RemoteRequest:
        """Create the request in the next dialect, with the body that `write` returns.

        Raises OtherPrice, NoDialect, PeerError and Refused.
        """
        dialect = self._dialect
        if dialect is None:
            raise NoDialect
        self._is_sent = True
        made = await self._send(write(dialect), dialect)
        self._is_made = True
        if await self._is_other(made):
            raise OtherPrice([made])
        self.dialect_used = dialect
        return made

    async def _send(
        self, body: Mapping[str, Any], dialect: Dialect
    ) -> remote_request.RemoteRequest:
        """Create the request; if the server refuses the field `seller`, leave it out.

        Not every server knows this field, and a create should not fail because of it.
        """
        link, seller = self._order.link, self._order.seller
        # Each dialect has its own idempotency key, because its body differs.
        key = link.id if dialect is DIALECTS[0] else f"{link.id}-{dialect.name}"
        owner = payout.owner_ref(link.seller_id)
        if seller is None or not dialect.has_seller:
            return await self._client.create(body, key, owner=owner)
        try:
            return await self._client.create({**body, "seller": seller}, key, owner=owner)
        except errors.InvalidBody as error:
            made = await self._client.create(body, f"{key}.plain", owner=owner)
            self.is_seller_refused = is_seller_unknown(error)
            return made

    async def find(self) -> remote_request.RemoteRequest | None:
        """Find the request in the server's list, and delete any copies of it.

        Raises PeerError, Refused, and OtherPrice if the lost create made a request with another
        price.
        """
        link = self._order.link
        listed = await self._client.find_by_link(link.id, link.created_at)
        found = [one for one in listed if one.id not in self._progress.doomed]
        others = [one for one in found if await self._is_other(one)]
        right = [one for one in found if one not in others]
        if others and not right:
            raise OtherPrice(others)
        return await self._keep_one(right, others) if right else None

    async def delete_doomed(self) -> None:
        """Delete the requests with another price; raises NoDialect if the server refuses."""
        for request_id in self._progress.doomed:
            if request_id in self._order.paid:
                continue
            try:
                await self._client.delete(request_id)
            except errors.Refused as error:
                self.is_other_price_left = True
                reason = str(error)
                log.error("other price not deleted", request=request_id, reason=reason)  # noqa: TRY400 - expected
                raise NoDialect from error

    def is_unchecked(self, made: remote_request.RemoteRequest) -> bool:
        """True if the server doesn't send this request's price."""
        return made.id in self._unchecked

    def progress_after(self, error: Exception, now: int) -> jobs.CreateProgress:
        """Return the progress after an error: failed dialects, and creates of unknown outcome."""
        dialect = self._dialect
        if isinstance(error, OtherPrice) and dialect:
            made = [one.id for one in error.requests]
            failure = jobs.DialectFailure(price=_price_of(error.requests[0]))
            return self._progress.after_failure(dialect.name, failure, made)
        if self.is_misspelled(error) and dialect and isinstance(error, errors.Refused):
            problem = refused_field(error)
            failure = jobs.DialectFailure(field=problem.field, message=problem.message)
            return self._progress.after_failure(dialect.name, failure)
        not_done = isinstance(error, errors.NotReached | errors.Throttled | errors.Refused)
        is_lost = self._is_made or (self._is_sent and not not_done)
        return self._progress.after_loss(now) if is_lost else self._progress

    @property
    def leaves_more(self) -> bool:
        """True if the server has, or may still create, copies of the kept request."""
        return self._is_copy_left or self._progress.lost > self._found

    @property
    def profile_version(self) -> int:
        """Return the version of the profile that the request was created with; 0 if unknown."""
        return self._order.profile_version if self.dialect_used else 0

    def is_misspelled(self, error: Exception) -> bool:
        """True if another dialect may help."""
        if isinstance(error, OtherPrice):
            return True
        several = len(self._order.dialects) > 1
        if not several or not self._is_sent or not isinstance(error, errors.InvalidBody):
            return False
        return is_about_spelling(refused_field(error))

    def is_final(self, error: Exception) -> bool:
        """True if a retry can't help.

        A retry may help if no server of the interface answers, or while the request may have been
        made.
        """
        if isinstance(error, errors.Unauthorized):
            return self._progress.lost_at is None
        is_refused = isinstance(error, errors.Refused) and not isinstance(error, NOT_THE_INTERFACE)
        return self._is_sent and is_refused

    @property
    def _dialect(self) -> Dialect | None:
        left = (one for one in self._order.dialects if one.name not in self._progress.failed)
        return next(left, None)

    async def _is_other(self, answer: remote_request.RemoteRequest) -> bool:
        """True if a request's price differs from the spec's; a paid request counts as right.

        If the answer has no price, the request is fetched. After a failed dialect, a missing price
        counts as wrong. Raises PeerError, because a price that can't be fetched now isn't missing.
        """
        if answer.id in self._order.paid or answer.paid_count:
            return False
        spec, instrument = self._order.link.spec, self._order.instrument
        is_right = is_price_right(answer, spec, instrument)
        if is_right is None:
            with suppress(errors.Refused):
                full = await self._client.get(answer.id)
                is_right = is_price_right(full, spec, instrument)
        if is_right is None:
            self._unchecked.add(answer.id)
        return is_right is False or (is_right is None and bool(self._progress.failed))

    async def _keep_one(
        self,
        right: Sequence[remote_request.RemoteRequest],
        others: Sequence[remote_request.RemoteRequest],
    ) -> remote_request.RemoteRequest:
        order, client = self._order, self._client
        self._found = len(right) + len(others)
        kept = next((one for one in right if remote_request.was_paid(one, order.paid)), right[0])
        try:
            for other in others:
                await client.delete(other.id)
            await _delete_all_but(client, order.link.id, right, {kept.id, *order.paid})
        except (errors.PeerError, errors.Refused) as error:
            self._is_copy_left = True
            log.warning("double request not deleted", listing=order.link.id, reason=str(error))
        return kept


async def delete_accidental_copies(
    client: client.Client, link: link_rows.PaymentLink, paid: Collection[str]
) -> None:
    """Delete the requests that lost creates made late, except the seller's request.

    Raises PeerError and Refused.
    """
    found = await client.find_by_link(link.id, link.created_at)
    await _delete_all_but(client, link.id, found, {link.request_id or "", *paid})


async def _delete_all_but(
    client: client.Client,
    link_id: str,
    found: Sequence[remote_request.RemoteRequest],
    kept: Collection[str],
) -> None:
    for extra in found:
        if extra.id in kept:
            continue
        if remote_request.was_paid(extra):
            log.error("double request was paid", listing=link_id, request=extra.id)
            continue
        await client.delete(extra.id)
        log.warning("double request deleted", listing=link_id, request=extra.id)


def is_seller_unknown(error: errors.InvalidBody) -> bool:
    """True if a refusal may concern the field `seller` itself, not a value in it."""
    return not refused_field(error).field.startswith("seller.")


def refused_field(error: errors.Refused) -> errors.FieldProblem:
    """Return the refused field, from the refusal's `info` or message."""
    if error.info:
        return error.info[0]
    name = FIELD_NAME.search(error.message)
    return errors.FieldProblem(name[1] if name else "", error.message)


def _price_of(answer: remote_request.RemoteRequest) -> str | None:
    price = answer.price
    return None if price is None else f"{price.amount} {price.currency}"
