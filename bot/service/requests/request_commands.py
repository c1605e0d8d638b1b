"""Create, edit and delete payment requests (interface sections 4.1, 4.3 and 4.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from bot.core import errors
from bot.core.database import database
from bot.core.money import amounts
from bot.core.net import webhook_addresses
from bot.core.ops import audit
from bot.core.text import links
from bot.service.checkouts import inventory, order
from bot.service.goods import contents, fulfillment
from bot.service.notifications import payer_letters, recipients
from bot.service.rails import exchange_rates
from bot.service.requests import changes, idempotency, request, request_rows

INTERNAL_HOST = "bot.internal"
"""Host of the bot's own receiver, resolved to the address on which it listens."""

CONVERTED = ("SAT", "BTC")
"""Currencies that prices are converted to if real money is offered."""

WEBHOOK_FIELD = "notifications.webhook.webhookUrl"


@dataclass(frozen=True, slots=True)
class Policy:
    """What the operator allows."""

    allow: webhook_addresses.AllowList
    exchange: exchange_rates.Exchange

    embedded_app_id: str | None = None
    """The only application that may name the internal host."""

    mails: bool = False
    """True if email can be sent."""

    schemes: frozenset[str] = frozenset()
    """Schemes of the apps to which payers may be redirected."""

    test_money: bool = True


@dataclass(frozen=True, slots=True)
class Caller:
    """The application that calls."""

    app_id: str

    now: int
    """The time of the call in epoch ms."""

    policy: Policy

    owner: str = ""
    """The seller for whom it calls."""

    confirms: bool = False
    """True if anyone can sell through the application. Holders of email addresses must then confirm
    them, and an `account:` destination must belong to the request's owner.
    """


def create(
    tx: database.Transaction,
    caller: Caller,
    creation: changes.Creation,
    key: idempotency.CallKey | None,
) -> request.PaymentRequest:
    """Create a request, or return the request that the same key created before.

    Raises InvalidBody, EmailUnavailable and IdempotencyMismatch.
    """
    new = request_rows.new_id(caller.now)
    return idempotency.once(
        tx, key, lambda: _create(tx, caller, creation, new),
        lambda made: find_own(tx, caller, made), made=new,
    )  # fmt: skip


def _create(
    tx: database.Transaction, caller: Caller, creation: changes.Creation, new: str
) -> request.PaymentRequest:
    terms = creation.terms
    _check(caller, terms.webhook and terms.webhook.url, terms.email, terms.redirect_url)
    _check_owner(caller, terms)
    if caller.policy.test_money:
        _check_price(caller.policy.exchange, terms)
    else:
        _check_real_money(terms)
    request = changes.create(creation, new, caller.app_id, caller.owner, caller.now)
    request = _with_recipient(tx, caller, request)
    request_rows.insert(tx, request)
    if creation.goods is not None:
        request = fulfillment.begin(tx, request, creation.goods)
    record_created(tx, request)
    # With real money, whether it can be paid depends on the accounts of its owner.
    return request if caller.policy.test_money else find_own(tx, caller, request.id)


def edit(
    tx: database.Transaction, caller: Caller, request_id: str, edited: changes.Edit
) -> request.PaymentRequest:
    """Change all fields that the edit names, atomically.

    Raises NotFound, InvalidBody, EmailUnavailable, NotLimited, NotEnoughUnits and BuyersWait.
    """
    _check(caller, edited.webhook_url, edited.email, edited.redirect_url)
    request_rows.lock(tx, request_id)
    request = find_own(tx, caller, request_id)
    inventory.return_lapsed(tx, request_id, caller.now)
    if edited.decrease:
        inventory.make_room(tx, request_id, edited.decrease)
    changed = changes.edit(request, edited)
    if edited.email is not changes.KEEP:
        changed = _with_recipient(tx, caller, changed)
    if not request_rows.write_edit(tx, request, changed, edited.decrease):
        raise errors.NotEnoughUnits
    goods = edited.goods
    delivers = not isinstance(goods, changes.Keep) and fulfillment.change(
        tx, request, goods, caller.now
    )
    after = find_own(tx, caller, request_id)
    if delivers and caller.policy.mails:
        first, last = contents.served(request) + 1, contents.served(after)
        waited = range(first, last + 1)  # the units that got their codes through this edit
        payer_letters.queue_served(tx, after, waited, caller.now)
    details = _changes(request, after)
    if delivers:
        details["delivery"] = CHANGED
    if details:
        _record(tx, after, "edited", caller.now, details)
    return after


def add_codes(
    tx: database.Transaction,
    caller: Caller,
    request_id: str,
    listed: Sequence[str],
    key: idempotency.CallKey | None = None,
) -> fulfillment.AddedCodes:
    """Add the codes that a request doesn't have yet, and email the buyers who waited for codes.

    This also works for deleted requests, whose buyers are still waiting. A repeat with the same
    `key` returns the same number of new codes. Raises NotFound, NoCodes and InvalidBody.
    """
    request_rows.lock(tx, request_id)
    request = _find_own_ever(tx, caller, request_id)
    added = fulfillment.add_codes(tx, request, listed)
    if caller.policy.mails:
        payer_letters.queue_served(tx, request, added.served, caller.now)
    if added.added:
        details = {"added": added.added}
        audit.record(tx, audit.app(caller.app_id), "request.codes", request.id, caller.now, details)
    idempotency.keep(tx, key, str(added.added))
    return added


def count_added(
    tx: database.Transaction, caller: Caller, request_id: str, added: int
) -> fulfillment.AddedCodes:
    """Return the answer to a repeat of a call that added codes. Raises NotFound."""
    counts = contents.count_codes(_find_own_ever(tx, caller, request_id))
    return fulfillment.AddedCodes(counts, added, range(0))


def delete(tx: database.Transaction, caller: Caller, request_id: str) -> None:
    """Delete a request for good. Raises NotFound if the application has no such request."""
    request_rows.lock(tx, request_id)
    request = find_own(tx, caller, request_id)
    request_rows.delete(tx, request_id, caller.now)
    fulfillment.end(tx, request_id, caller.now)
    details = {"name": request.terms.product.name, "payments": request.payments_count}
    _record(tx, request, "deleted", caller.now, details)


def _check(caller: Caller, webhook: object, email: object, redirect: object) -> None:
    """Check the addresses of a body. Raises InvalidBody and EmailUnavailable."""
    if isinstance(webhook, str):
        try:
            host = webhook_addresses.check_url(webhook, caller.policy.allow)
        except errors.ForbiddenAddress as error:
            raise errors.InvalidBody.of_field(WEBHOOK_FIELD, str(error)) from None
        if host == INTERNAL_HOST and caller.app_id != caller.policy.embedded_app_id:
            message = f"Webhooks may not go to {INTERNAL_HOST}: it is the bot's own"
            raise errors.InvalidBody.of_field(WEBHOOK_FIELD, message)
    if isinstance(redirect, str):
        try:
            links.check_app(redirect, caller.policy.schemes)
        except ValueError as error:
            raise errors.InvalidBody.of_field("redirectUrl", str(error)) from None
    if isinstance(email, str) and not caller.policy.mails:
        problem = errors.FieldProblem("notifications.email", "is not available")
        raise errors.EmailUnavailable(info=[problem])


def _check_owner(caller: Caller, terms: request.Terms) -> None:
    """Refuse a receiver that names payout accounts of another seller.

    This applies to test money too, because the kind of money may change later. An application that
    vouches for its sellers needn't name a seller.
    """
    for place, receiver in enumerate(terms.receivers):
        named = request.PAYOUT.fullmatch(receiver.destination)
        if named and named[1] != caller.owner and (caller.owner or caller.confirms):
            field = f"receivers.{place}.destination"
            raise errors.InvalidBody.of_field(field, "names the payout accounts of another owner")


def _check_price(exchange: exchange_rates.Exchange, terms: request.Terms) -> None:
    """Refuse a price or share that rounds to nothing in the instrument currency.

    If the payer chooses the price, the lowest price counts.
    """
    least = order.Order(terms.choice.minimum if terms.choice else None).terms(terms)
    try:
        rate = exchange.rate(terms.currency, terms.instrument)
        shares = order.quote(least, rate).shares
        place = shares.index(0) if 0 in shares else None
        if terms.choice and len(shares) > 1:
            place = order.unsure_share(terms, least.amount, rate)
    except errors.MoneyError as error:
        raise errors.InvalidBody.of_field("denominationCurrencyCode", str(error)) from None
    if place is not None:
        field = f"receivers.{place}.sendAmount"
        raise errors.InvalidBody.of_field(field, f"comes to nothing in {terms.instrument}")


def _check_real_money(terms: request.Terms) -> None:
    """Refuse several receivers, and currencies to which prices can't be converted.

    The price is not converted here, so that no request fails because a rate is unknown now.
    """
    if len(terms.receivers) > 1:
        raise errors.InvalidBody.of_field(
            "receivers", "must be one: real money goes to one account"
        )
    if terms.instrument not in {terms.currency, *CONVERTED}:
        others = ", ".join((terms.currency, *CONVERTED))
        raise errors.InvalidBody.of_field("instrumentCurrencyCode", f"must be one of {others}")


def _with_recipient(
    tx: database.Transaction, caller: Caller, request: request.PaymentRequest
) -> request.PaymentRequest:
    recipient = recipients.find_or_ask(tx, request, caller.now, confirms=caller.confirms)
    return request if recipient == request.recipient else replace(request, recipient=recipient)


def find_own(tx: database.Transaction, caller: Caller, request_id: str) -> request.PaymentRequest:
    """Return the application's request. Raises NotFound."""
    request = request_rows.find_of_app(tx, caller.app_id, request_id, caller.now)
    if request is None:
        raise errors.NotFound
    return request


def _find_own_ever(
    tx: database.Transaction, caller: Caller, request_id: str
) -> request.PaymentRequest:
    """Return the application's request, even if it is deleted. Raises NotFound."""
    request = request_rows.find_ever(tx, request_id, caller.now)
    if request is None or request.app_id != caller.app_id:
        raise errors.NotFound
    return request


# Metrics and entries of the audit log. For custom parameters, the seller's profile and thanks, and
# goods, an entry says only that they changed.

CHANGED = "changed"
"""Replaces private values before and after an edit."""


def record_created(tx: database.Transaction, request: request.PaymentRequest) -> None:
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
        details |= {
            "minimum": _price(terms, terms.choice.minimum),
            "suggested": [_price(terms, amount) for amount in terms.choice.suggested],
            "maximum": _price(terms, terms.choice.maximum),
        }
    if terms.goal is not None:
        details["goal"] = _price(terms, terms.goal)
    if terms.max_quantity is not None:
        details["max_quantity"] = terms.max_quantity
    if request.delivers is not None:
        details["delivery"] = request.delivers.value
    _record(tx, request, "created", request.created_at, details)


def _record(
    tx: database.Transaction,
    request: request.PaymentRequest,
    change: str,
    now: int,
    details: dict[str, Any],
) -> None:
    audit.record(tx, audit.app(request.app_id), f"request.{change}", request.id, now, details)
    tx.count("payment_requests", change, request.terms.kind.value)


def _changes(before: request.PaymentRequest, after: request.PaymentRequest) -> dict[str, Any]:
    """Return what an edit changed: both values, or CHANGED if the log shows no difference."""
    old, new = _shown(before), _shown(after)
    found: dict[str, Any] = {name: [old[name], new[name]] for name in old if old[name] != new[name]}
    for name in ("redirect_url", "keep_url", "webhook", "seller", "thanks"):
        if getattr(before.terms, name) != getattr(after.terms, name):
            found.setdefault(name, CHANGED)
    if before.units and after.units and after.units.decreased > before.units.decreased:
        found["units_taken_out"] = after.units.decreased - before.units.decreased
    return found


def _shown(request: request.PaymentRequest) -> dict[str, Any]:
    """Return the fields that can be edited, as the log shows them.

    Of a webhook only the host, and of other addresses not the query, because it may be a secret.
    """
    terms, expires_at = request.terms, request.expires_at
    redirect_url, keep_url = (
        url and url.partition("?")[0].partition("#")[0]
        for url in (terms.redirect_url, terms.keep_url)
    )
    return asdict(terms.product) | {
        "price_before_discount": _price(terms, terms.price_before_discount),
        "goal": _price(terms, terms.goal),
        "max_quantity": terms.max_quantity,
        "redirect_url": redirect_url,
        "keep_url": keep_url,
        "webhook": terms.webhook and webhook_addresses.endpoint(terms.webhook.url).host,
        "email": terms.email,
        "expires": None
        if expires_at is None
        else datetime.fromtimestamp(expires_at / 1000, UTC).isoformat(timespec="seconds"),
    }


def _price(terms: request.Terms, amount: int | None) -> str | None:
    if amount is None:
        return None
    return f"{amounts.from_minor(amount, terms.currency)} {terms.currency}"
