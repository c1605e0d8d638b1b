"""The payment server of jobs, and its bodies of create and edit (interface 2.1 and 4.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.chat.forms import flow, request_fields
from bot.chat.jobs import dialects, request_changes
from bot.chat.jobs.client import Client
from bot.chat.model import drafts
from bot.chat.store import link_rows

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
    addresses: dialects.Addresses
    instrument: str | None = None
    settling: int = SETTLING
    url: str | None = None
    rails: tuple[str, ...] = ()

    @property
    def payout_service(self) -> drafts.PayoutService:
        """Return the service as the one that pays the sellers."""
        return drafts.PayoutService.at(self.url, self.rails)


def request_body(
    link: link_rows.PaymentLink,
    addresses: dialects.Addresses,
    instrument: str | None,
    now: int,
    dialect: dialects.Dialect = dialects.DIALECTS[0],
) -> dict[str, Any]:
    """Return the body of create as at `now` (epoch ms), without the fields that are not set.

    `instrument` is the operator's, for a spec that names none.
    """
    spec = link.spec
    values = {
        field.wire.path: value
        for field in request_fields.FIELDS
        if field.wire and field.wire.path
        for value in [field.sent(spec, addresses.images, now)]
        if value not in (None, "", [])
    }
    currencies = dialect.spell(spec, dialects.instrument_of(spec, instrument))
    keep = {"keepUrl": addresses.keep} if addresses.keep else {}
    return _nested({**values, **currencies, **keep, _WEBHOOK: _webhook(link, addresses)})


def seller_of_create(
    profile: drafts.Profile, addresses: dialects.Addresses
) -> dict[str, str] | None:
    """Return a profile as the `seller` of a create; None where payers see none."""
    values = seller_of_edit(profile, addresses) or {}
    return {name: value for name, value in values.items() if value is not None} or None


def seller_of_edit(
    profile: drafts.Profile, addresses: dialects.Addresses
) -> dict[str, str | None] | None:
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


def edit_body(
    change: flow.Change, link: link_rows.PaymentLink, addresses: dialects.Addresses, now: int
) -> dict[str, Any]:
    """Return the body of an edit as at `now` (epoch ms).

    The rest of `product` and of `notifications` goes along: a server may take them as a whole.
    """
    field = request_fields.EDITS[change.field]
    if field.edit and field.edit.path:
        return {field.edit.path: change.value}
    if field.wire is None:
        raise ValueError(f"{change.field} is not sent")
    whole = field.wire.path.partition(".")[0]
    after = request_changes.apply_edit(link.spec, change)
    values = {
        other.wire.path: value
        for other in request_fields.FIELDS
        if other.wire and other.wire.path.partition(".")[0] == whole
        for value in [other.sent(after, addresses.images, now)]
        if value is not None or other is field
    }
    if _WEBHOOK.startswith(f"{whole}."):
        values[_WEBHOOK] = _webhook(link, addresses)
    return _nested(values)


def _webhook(link: link_rows.PaymentLink, addresses: dialects.Addresses) -> dict[str, Any]:
    events = {"events": [*addresses.events]} if addresses.events else {}
    return {
        "webhookUrl": f"{addresses.receiver}/{link.token}",
        "customParameters": {"listing": link.id},
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
