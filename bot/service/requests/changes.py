"""Rules for creating and editing a request (interface sections 3 and 4.3)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum
from typing import Any, TypeVar

from bot.core import errors
from bot.core.money import amounts
from bot.interface import parts, vocabulary
from bot.service.goods import contents
from bot.service.requests.request import (
    PaymentRequest,
    SellerProfile,
    Terms,
    Units,
    Webhook,
)

T = TypeVar("T")


class Keep(Enum):
    """Marks a field that an edit does not name."""

    KEEP = "keep"


KEEP = Keep.KEEP

AT_ONCE = 1_000
"""Milliseconds until the earliest expiry that an edit can set: `expirationInSeconds` is at least 1.
"""


@dataclass(frozen=True, slots=True)
class Creation:
    """A checked body of a create call; times in UTC epoch ms."""

    terms: Terms
    total_units: int | None = None
    enabled_at: int | None = None
    expires_at: int | None = None
    goods: contents.Goods | None = None


@dataclass(frozen=True, slots=True)
class SellerEdit:
    """The fields of a seller's profile to change."""

    name: str | Keep = KEEP
    image_url: str | Keep | None = KEEP
    contact: str | Keep | None = KEEP
    description: str | Keep | None = KEEP
    accent: str | Keep | None = KEEP


@dataclass(frozen=True, slots=True)
class Edit:
    """A checked body of an edit call; None clears a field, KEEP leaves it.

    `price_before_discount` and `goal` are in major units of the request's currency.
    """

    name: str | Keep = KEEP
    description: str | Keep | None = KEEP
    long_description: str | Keep | None = KEEP
    image_url: str | Keep | None = KEEP
    price_before_discount: Decimal | Keep | None = KEEP
    redirect_url: str | Keep | None = KEEP
    goal: Decimal | Keep | None = KEEP
    max_quantity: int | Keep | None = KEEP
    thanks: str | Keep | None = KEEP
    keep_url: str | Keep | None = KEEP
    goods: contents.Goods | Keep | None = KEEP
    webhook_url: str | Keep | None = KEEP
    custom_parameters: str | Keep | None = KEEP
    webhook_events: tuple[vocabulary.WebhookEvent, ...] | Keep | None = KEEP
    email: str | Keep | None = KEEP
    seller: SellerEdit | Keep | None = KEEP
    expires_at: int | Keep | None = KEEP
    paused: bool | Keep = KEEP
    decrease: int = 0


def create(
    creation: Creation, request_id: str, app_id: str, owner: str, now: int
) -> PaymentRequest:
    """Return a new request; a one-off request has one unit.

    Raises InvalidBody if `totalUnits`, the goal or the quantity doesn't suit the kind, or if the
    amounts to choose contradict each other or the price.
    """
    kind, total = creation.terms.kind, creation.total_units
    _check_extras(creation.terms)
    if kind is vocabulary.Kind.LIMIT and total is None:
        raise errors.InvalidBody.of_field("totalUnits", "is required with expirationType limit")
    if kind is not vocabulary.Kind.LIMIT and total is not None:
        raise errors.InvalidBody.of_field(
            "totalUnits", f"goes with expirationType limit, not with {kind}"
        )
    if kind is vocabulary.Kind.ONCE:
        total = 1
    return PaymentRequest(
        id=request_id,
        app_id=app_id,
        owner=owner,
        created_at=now,
        terms=creation.terms,
        units=None if total is None else Units(total, total),
        enabled_at=creation.enabled_at,
        expires_at=creation.expires_at,
    )


def _check_extras(terms: Terms) -> None:
    if terms.goal is not None and terms.kind is not vocabulary.Kind.NEVER:
        raise errors.InvalidBody.of_field(
            "goal", f"goes with expirationType never, not with {terms.kind}"
        )
    if terms.max_quantity is not None and terms.kind is not vocabulary.Kind.LIMIT:
        raise errors.InvalidBody.of_field(
            "maxQuantity", f"goes with expirationType limit, not with {terms.kind}"
        )
    if terms.amount * (terms.max_quantity or 1) > amounts.most_minor(terms.currency):
        message = f"of this price come to more than {amounts.MAX_AMOUNT} {terms.currency}"
        raise errors.InvalidBody.of_field("maxQuantity", message)
    if terms.choice:
        _check_choice(terms, terms.choice)


def _check_choice(terms: Terms, choice: parts.AmountChoice[int]) -> None:
    if terms.price_before_discount is not None:
        raise errors.InvalidBody.of_field(
            "priceBeforeDiscount", "does not go together with amountChoice"
        )
    if choice.maximum is not None and choice.maximum < choice.minimum:
        raise errors.InvalidBody.of_field("amountChoice.maximum", "is less than the minimum")
    for place, amount in enumerate(choice.suggested):
        if not choice.allows(amount):
            field = f"amountChoice.suggested.{place}"
            raise errors.InvalidBody.of_field(
                field, "does not lie between the minimum and the maximum"
            )
    if terms.amount != choice.first:
        meant = "the first suggestion" if choice.suggested else "the minimum"
        raise errors.InvalidBody.of_field("receivers", f"must add up to {meant} of amountChoice")


def edit(request: PaymentRequest, change: Edit) -> PaymentRequest:
    """Return the request after an edit; fields that the edit doesn't name are kept.

    Raises NotLimited, NotEnoughUnits and InvalidBody.
    """
    terms = request.terms
    edited = replace(
        terms,
        product=replace(
            terms.product, **_named(change, "name description long_description image_url")
        ),
        price_before_discount=_minor_or(
            change.price_before_discount, terms.price_before_discount, terms, "priceBeforeDiscount"
        ),
        webhook=_webhook(terms.webhook, change),
        seller=edit_seller(terms.seller, change.seller)
        if isinstance(change.seller, SellerEdit)
        else _or(change.seller, terms.seller),
        goal=_minor_or(change.goal, terms.goal, terms, "goal"),
        **_named(change, "redirect_url email max_quantity thanks keep_url"),
    )
    _check_extras(edited)
    return replace(
        request,
        terms=edited,
        units=_decreased(request, change.decrease),
        **_named(change, "expires_at paused"),
    )


def pauses(expires_at: int | None, now: int) -> bool:
    """Return whether this new expiry pauses the request, because it ends immediately."""
    return expires_at is not None and expires_at <= now + AT_ONCE


def edit_seller(seller: SellerProfile | None, change: SellerEdit) -> SellerProfile:
    """Return the profile after an edit. Raises InvalidBody if a new profile has no name."""
    name = _or(change.name, seller.name if seller else "")
    if not name:
        raise errors.InvalidBody.of_field("seller.name", "is required: there is none yet")
    return replace(
        seller or SellerProfile(name),
        **_named(change, "name image_url contact description accent"),
    )


def _named(change: Edit | SellerEdit, names: str) -> dict[str, Any]:
    """Return those of these fields that the edit names."""
    return {name: value for name in names.split() if (value := getattr(change, name)) is not KEEP}


def _or(value: T | Keep, kept: T) -> T:
    return kept if isinstance(value, Keep) else value


def _minor_or(
    amount: Decimal | Keep | None, kept: int | None, terms: Terms, field: str
) -> int | None:
    if isinstance(amount, Keep):
        return kept
    return None if amount is None else minor(amount, terms.currency, field)


def minor(amount: Decimal, currency: str, field: str) -> int:
    """Return the minor units of an amount. Raises InvalidBody with the name of its field."""
    try:
        return amounts.to_minor(amount, currency)
    except errors.MoneyError as error:
        raise errors.InvalidBody.of_field(field, str(error)) from None


def _webhook(webhook: Webhook | None, change: Edit) -> Webhook | None:
    if change.webhook_url is None:
        return None
    url = _or(change.webhook_url, webhook.url if webhook else None)
    if url is None:
        if change.custom_parameters is change.webhook_events is KEEP:
            return None
        raise errors.InvalidBody.of_field(
            "notifications.webhook.webhookUrl", "is required: there is none yet"
        )
    kept = webhook or Webhook(url)
    return Webhook(
        url,
        _or(change.custom_parameters, kept.custom_parameters),
        _or(change.webhook_events, kept.events),
    )


def _decreased(request: PaymentRequest, count: int) -> Units | None:
    units = request.units
    if not count:
        return units
    if units is None or request.terms.kind is not vocabulary.Kind.LIMIT:
        raise errors.NotLimited
    if count > units.remaining:
        message = f"{units.remaining} units remain, {count} were to be taken out."
        raise errors.NotEnoughUnits(message)
    return replace(units, remaining=units.remaining - count, decreased=units.decreased + count)
