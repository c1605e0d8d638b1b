"""Entries of the audit log, and metrics, about requests: created, edited, deleted.

An entry has the host of a webhook only, because the rest of its address may be a secret; its
custom parameters, the seller's profile and thanks, and what payers get are not shown, only that
they changed.
"""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from bot.core.money import amounts
from bot.core.net import webhook_addresses
from bot.core.ops import audit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bot.core.database.database import Transaction
    from bot.service.model.amount_choice import AmountChoice
    from bot.service.model.request import PaymentRequest, Terms

CHANGED = "changed"
"""Stands for the values before and after where they are private."""


def record_created(tx: Transaction, request: PaymentRequest) -> None:
    """Record a new request: its price or the choice of it, its receivers, and what goes with it."""
    terms, units = request.terms, request.units
    details: dict[str, Any] = {
        "kind": terms.kind.value,
        "name": terms.product.name,
        "price": _price(terms, terms.amount),
        "to": [receiver.destination for receiver in terms.receivers],
    }
    if units is not None:
        details["units"] = units.total
    if terms.choice is not None:
        details |= _choice(terms, terms.choice)
    if terms.goal is not None:
        details["goal"] = _price(terms, terms.goal)
    if terms.max_quantity is not None:
        details["max_quantity"] = terms.max_quantity
    if request.delivers is not None:
        details["delivery"] = request.delivers.value
    _record(tx, request, "created", request.created_at, details)


def record_edited(
    tx: Transaction, before: PaymentRequest, after: PaymentRequest, now: int, *, delivers: bool
) -> None:
    """Record an edit with each field before and after; an edit that changed nothing is skipped.

    `delivers`: payers get something else than before.
    """
    details = dict(_changes(before, after))
    if delivers:
        details["delivery"] = CHANGED
    if details:
        _record(tx, after, "edited", now, details)


def record_codes(tx: Transaction, request: PaymentRequest, added: int, now: int) -> None:
    """Record that codes were added, if one was new."""
    if added:
        subject, details = audit.app(request.app_id), {"added": added}
        audit.record(tx, subject, "request.codes", request.id, now, details)


def record_deleted(tx: Transaction, request: PaymentRequest, now: int) -> None:
    """Record a deletion with the number of payments."""
    details = {"name": request.terms.product.name, "payments": request.payments_count}
    _record(tx, request, "deleted", now, details)


def _record(
    tx: Transaction, request: PaymentRequest, change: str, now: int, details: dict[str, Any]
) -> None:
    audit.record(tx, audit.app(request.app_id), f"request.{change}", request.id, now, details)
    tx.count("payment_requests", change, request.terms.kind.value)


def _changes(before: PaymentRequest, after: PaymentRequest) -> Iterator[tuple[str, Any]]:
    old, new = before.terms, after.terms
    for field in fields(old.product):
        name = field.name
        yield from _pair(name, getattr(old.product, name), getattr(new.product, name))
    prices = (_price(terms, terms.price_before_discount) for terms in (old, new))
    yield from _pair("price_before_discount", *prices)
    yield from _pair("goal", *(_price(terms, terms.goal) for terms in (old, new)))
    yield from _pair("max_quantity", old.max_quantity, new.max_quantity)
    yield from _url("redirect_url", old.redirect_url, new.redirect_url)
    yield from _url("keep_url", old.keep_url, new.keep_url)
    yield from _webhook(old, new)
    yield from _pair("email", old.email, new.email)
    for name in ("seller", "thanks"):
        if getattr(old, name) != getattr(new, name):
            yield name, CHANGED
    yield from _pair("expires", _time(before.expires_at), _time(after.expires_at))
    if before.units and after.units and after.units.decreased > before.units.decreased:
        yield "units_taken_out", after.units.decreased - before.units.decreased


def _pair(name: str, before: object, after: object) -> Iterator[tuple[str, Any]]:
    if before != after:
        yield name, [before, after]


def _url(name: str, before: str | None, after: str | None) -> Iterator[tuple[str, Any]]:
    """Yield the change of an address, whose query may be a secret."""
    shown = [url and url.partition("?")[0].partition("#")[0] for url in (before, after)]
    if shown[0] != shown[1]:
        yield name, shown
    elif before != after:
        yield name, CHANGED


def _webhook(old: Terms, new: Terms) -> Iterator[tuple[str, Any]]:
    hosts = [
        webhook_addresses.endpoint(terms.webhook.url).host if terms.webhook else None
        for terms in (old, new)
    ]
    if hosts[0] != hosts[1]:
        yield "webhook", hosts
    elif old.webhook != new.webhook:
        yield "webhook", CHANGED


def _choice(terms: Terms, choice: AmountChoice) -> dict[str, Any]:
    return {
        "minimum": _price(terms, choice.minimum),
        "suggested": [_price(terms, amount) for amount in choice.suggested],
        "maximum": _price(terms, choice.maximum),
    }


def _price(terms: Terms, amount: int | None) -> str | None:
    if amount is None:
        return None
    return f"{amounts.from_minor(amount, terms.currency)} {terms.currency}"


def _time(moment: int | None) -> str | None:
    if moment is None:
        return None
    return datetime.fromtimestamp(moment / 1000, UTC).isoformat(timespec="seconds")
