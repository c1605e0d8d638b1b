"""The payment server of jobs, and its bodies of create and edit (interface 2.1 and 4.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bot.chat.fields.registry import EDITS, FIELDS
from bot.chat.model.draft import PayoutService
from bot.chat.provider.dialects import DIALECTS, instrument_of
from bot.chat.requests.edit_rules import apply_edit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bot.chat.forms.outcome import Change
    from bot.chat.model.profile import Profile
    from bot.chat.provider.addresses import Addresses
    from bot.chat.provider.client import Client
    from bot.chat.provider.dialects import Dialect
    from bot.chat.store.listings import Listing

_WEBHOOK = "notifications.webhook"

SETTLING = 60_000
"""Milliseconds from a lost answer until the server's list is trusted to have the request or not."""


@dataclass(frozen=True, slots=True)
class PaymentServer:
    """A payment server with the settings for it.

    `instrument` is the operator's INSTRUMENT_CURRENCY. `settling` is 0 for a server that takes an
    Idempotency-Key. `url` is None for the embedded service, whose dialect is known; `rails` are the
    kinds of real money that it takes.
    """

    client: Client
    addresses: Addresses
    instrument: str | None = None
    settling: int = SETTLING
    url: str | None = None
    rails: tuple[str, ...] = ()

    @property
    def payout_service(self) -> PayoutService:
        """Return the service as the one that pays the sellers."""
        return PayoutService.at(self.url, self.rails)


def request_body(
    listing: Listing,
    addresses: Addresses,
    instrument: str | None,
    now: int,
    dialect: Dialect = DIALECTS[0],
) -> dict[str, Any]:
    """Return the body of create as at `now` (epoch ms), without the fields that are not set.

    `instrument` is the operator's, for a wish that names none.
    """
    wish = listing.wish
    values = {
        field.wire.path: value
        for field in FIELDS
        if field.wire and field.wire.path
        for value in [field.sent(wish, addresses.images, now)]
        if value not in (None, "", [])
    }
    currencies = dialect.spell(wish, instrument_of(wish, instrument))
    keep = {"keepUrl": addresses.keep} if addresses.keep else {}
    return _nested({**values, **currencies, **keep, _WEBHOOK: _webhook(listing, addresses)})


def seller_of_create(profile: Profile, addresses: Addresses) -> dict[str, str] | None:
    """Return a profile as the `seller` of a create; None where payers see none."""
    values = seller_of_edit(profile, addresses) or {}
    return {name: value for name, value in values.items() if value is not None} or None


def seller_of_edit(profile: Profile, addresses: Addresses) -> dict[str, str | None] | None:
    """Return a profile as the `seller` of an edit, which clears what the profile lacks."""
    if profile.name is None:
        return None
    return {
        "name": profile.name,
        "imageUrl": profile.image and f"{addresses.images}/{profile.image}",
        "contact": profile.contact,
        "accentColor": profile.accent,
        "description": profile.about,
    }


def edit_body(change: Change, listing: Listing, addresses: Addresses, now: int) -> dict[str, Any]:
    """Return the body of an edit as at `now` (epoch ms).

    The rest of `product` and of `notifications` goes along: a server may take them as a whole.
    """
    field = EDITS[change.field]
    if field.edit and field.edit.path:
        return {field.edit.path: change.value}
    if field.wire is None:
        raise ValueError(f"{change.field} is not sent")
    whole = field.wire.path.partition(".")[0]
    after = apply_edit(listing.wish, change)
    values = {
        other.wire.path: value
        for other in FIELDS
        if other.wire and other.wire.path.partition(".")[0] == whole
        for value in [other.sent(after, addresses.images, now)]
        if value is not None or other is field
    }
    if _WEBHOOK.startswith(f"{whole}."):
        values[_WEBHOOK] = _webhook(listing, addresses)
    return _nested(values)


def _webhook(listing: Listing, addresses: Addresses) -> dict[str, Any]:
    events = {"events": [*addresses.events]} if addresses.events else {}
    return {
        "webhookUrl": f"{addresses.receiver}/{listing.token}",
        "customParameters": {"listing": listing.id},
        **events,
    }


def _nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by their paths as objects: `product.name` is `name` of `product`."""
    body: dict[str, Any] = {}
    for path, value in values.items():
        whole, _, part = path.partition(".")
        if part:
            body.setdefault(whole, {})[part] = value
        else:
            body[whole] = value
    return body
