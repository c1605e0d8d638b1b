"""The payment server of jobs, and the bodies of create and edit (interface 2.1 and 4.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bot.chat.forms import flow, request_fields
from bot.chat.jobs import dialects, request_changes
from bot.chat.jobs.client import Client
from bot.chat.model import drafts
from bot.chat.store import link_rows

RECEIPT_LINK = "r-{requestId}-{transactionId}"
"""The parameter of the deep link to a receipt; the service fills in the ids."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Our addresses, as sent to the server."""

    receiver: str
    """The address of the webhook receiver."""
    images: str
    """The address of sellers' pictures."""
    events: tuple[str, ...] = ()
    """The events to ask for in addition to payments."""
    bot_name: Callable[[], str] | None = None
    """Returns the bot's username, "" until Telegram was reached. None if the server is external,
    because only the embedded service links its receipts to the bot."""
    chat_page: str | None = None
    """The page where people chat with the bot if they don't use Telegram."""

    @property
    def keep(self) -> str | None:
        """Return the link that keeps a payer's receipt in Telegram, for any payment."""
        name = self.bot_name() if self.bot_name else ""
        return f"{self.chat_page or f'https://t.me/{name}'}?start={RECEIPT_LINK}" if name else None


SETTLING = 60_000
"""Milliseconds after a lost answer until the server's list reliably shows new requests."""


@dataclass(frozen=True, slots=True)
class PaymentServer:
    """A payment server with its settings."""

    client: Client
    addresses: Addresses
    instrument: str | None = None
    """The operator's INSTRUMENT_CURRENCY."""
    settling: int = SETTLING
    """0 for a server that knows Idempotency-Keys."""
    url: str | None = None
    """None if the service is embedded: its dialect is known."""
    rails: tuple[str, ...] = ()
    """The kinds of real money that it accepts."""

    @property
    def payout_service(self) -> drafts.PayoutService:
        """Return the service that pays the sellers."""
        return drafts.PayoutService.at(self.url, self.rails)


_WEBHOOK = "notifications.webhook"


def request_body(
    link: link_rows.PaymentLink,
    addresses: Addresses,
    instrument: str | None,
    now: int,
    dialect: dialects.Dialect = dialects.DIALECTS[0],
) -> dict[str, Any]:
    """Return the body of a create at `now` (epoch ms), without unset fields.

    `instrument` is the operator's setting, used if the spec names no currency to pay in.
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


def seller_of_create(profile: drafts.Profile, addresses: Addresses) -> dict[str, str] | None:
    """Return a profile as the `seller` of a create; None if payers see no profile."""
    values = seller_of_edit(profile, addresses) or {}
    return {name: value for name, value in values.items() if value is not None} or None


def seller_of_edit(profile: drafts.Profile, addresses: Addresses) -> dict[str, str | None] | None:
    """Return a profile as the `seller` of an edit, which clears missing parts."""
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
    change: flow.Change, link: link_rows.PaymentLink, addresses: Addresses, now: int
) -> dict[str, Any]:
    """Return the body of an edit at `now` (epoch ms).

    The body contains all of `product` and `notifications`, because a server may replace these as a
    whole.
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


def _webhook(link: link_rows.PaymentLink, addresses: Addresses) -> dict[str, Any]:
    events = {"events": [*addresses.events]} if addresses.events else {}
    return {
        "webhookUrl": f"{addresses.receiver}/{link.token}",
        "customParameters": {"listing": link.id},
        **events,
    }


def _nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Turn paths into nested objects: `product.name` becomes `name` in `product`."""
    body: dict[str, Any] = {}
    for path, value in values.items():
        whole, _, part = path.partition(".")
        if part:
            body.setdefault(whole, {})[part] = value
        else:
            body[whole] = value
    return body
