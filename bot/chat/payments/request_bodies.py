"""The payment server of jobs, and the bodies of create and edit (interface 2.1 and 4.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from bot.chat.forms import flow, request_fields
from bot.chat.model import drafts, request_spec
from bot.chat.payments import create_attempt, request_changes
from bot.chat.payments.client import Client, written
from bot.chat.store import link_rows
from bot.core.money import amounts
from bot.interface import bodies, vocabulary

EXPIRATION: dict[str, Literal["never", "onPaymentCompleted", "limit"]] = {
    "donation": "never",
    "oneoff": "onPaymentCompleted",
    "drop": "limit",
}
"""The event that ends a request, by its kind."""

RECEIPT_LINK = "r-{requestId}-{transactionId}"
"""The parameter of the deep link to a receipt; the service fills in the ids."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Our addresses, as sent to the server."""

    receiver: str
    """The address of the webhook receiver."""
    images: str
    """The address of sellers' pictures."""
    events: tuple[vocabulary.WebhookEvent, ...] = ()
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


def create_body(link: link_rows.PaymentLink, addresses: Addresses, now: int) -> bodies.CreateBody:
    """Return the body of a create at `now` (epoch ms) without currencies; None if not set."""
    spec = link.spec
    choice = request_spec.in_major(spec.choice, spec.currency)
    return bodies.CreateBody.model_construct(
        product=bodies.ProductBody.model_construct(
            name=spec.name,
            description=spec.description or None,
            image_url=_image(spec.image, addresses),
        ),
        receivers=[
            bodies.ReceiverBody.model_construct(
                send_amount=amounts.from_minor(share.amount, spec.currency),
                destination=share.destination,
            )
            for share in spec.shares
        ],
        requested_user_data=[*spec.payer_fields] or None,
        redirect_url=spec.redirect_url,
        notifications=bodies.NotificationsBody.model_construct(
            webhook=bodies.WebhookBody.model_construct(
                webhook_url=f"{addresses.receiver}/{link.token}",
                custom_parameters={"listing": link.id},
                events=[*addresses.events] or None,
            ),
            email=spec.email,
        ),
        expiration_type=EXPIRATION[spec.kind],
        total_units=spec.units,
        amount_choice=None
        if choice is None
        else bodies.AmountChoiceBody.model_construct(
            minimum=choice.minimum, suggested=[*choice.suggested] or None, maximum=choice.maximum
        ),
        goal=None if spec.goal is None else amounts.from_minor(spec.goal, spec.currency),
        max_quantity=spec.max_quantity,
        thanks=spec.thanks,
        keep_url=addresses.keep,
        delivery=None if spec.goods is None else delivery_body(spec.goods),
        expiration_in_seconds=None
        if spec.ends_at is None
        else request_spec.seconds_until(spec.ends_at, now),
        enabled_at=spec.starts_at if spec.starts_at is None or spec.starts_at > now else None,
    )


def request_body(
    link: link_rows.PaymentLink,
    addresses: Addresses,
    instrument: str | None,
    now: int,
    dialect: create_attempt.Dialect = create_attempt.DIALECTS[0],
) -> dict[str, Any]:
    """Return the JSON of a create, without unset fields, with the currencies in a dialect.

    `instrument` is the operator's setting, used if the spec names no currency to pay in.
    """
    currencies = dialect.spell(link.spec, create_attempt.instrument_of(link.spec, instrument))
    return {**_set(create_body(link, addresses, now)), **currencies}


def _set(body: bodies.Body) -> dict[str, Any]:
    return body.model_dump(by_alias=True, exclude_none=True)


def _image(image: str | None, addresses: Addresses) -> str | None:
    return image and f"{addresses.images}/{image}"


def delivery_body(goods: request_spec.Goods) -> bodies.DeliveryBody:
    """Return the goods in the form of the interface."""
    if goods.kind == request_spec.TEXT:
        return bodies.DeliveryBody.model_construct(text=goods.text)
    if goods.kind == request_spec.FILE:
        return bodies.DeliveryBody.model_construct(file_id=goods.file_id)
    if goods.file_id:
        return bodies.DeliveryBody.model_construct(codes_file_id=goods.file_id)
    return bodies.DeliveryBody.model_construct(codes=[*goods.codes])


def seller_of_create(profile: drafts.Profile, addresses: Addresses) -> dict[str, Any] | None:
    """Return a profile as the `seller` of a create; None if payers see no profile."""
    seller = _seller(profile, addresses)
    return None if seller is None else _set(seller)


def seller_of_edit(profile: drafts.Profile, addresses: Addresses) -> dict[str, Any]:
    """Return the body of an edit that sets the profile; it clears missing parts."""
    body = bodies.EditBody.model_construct(seller=_seller(profile, addresses))
    return written(body)


def _seller(profile: drafts.Profile, addresses: Addresses) -> bodies.SellerEditBody | None:
    if profile.name is None:
        return None
    return bodies.SellerEditBody.model_construct(
        name=profile.name,
        image_url=_image(profile.image, addresses),
        contact=profile.contact,
        accent_color=profile.accent,
        description=profile.about,
    )


def edit_body(
    change: flow.Change, link: link_rows.PaymentLink, addresses: Addresses, now: int
) -> dict[str, Any]:
    """Return the JSON of an edit at `now` (epoch ms); null clears the field.

    It contains all of `product` or `notifications`, because a server may replace these as a whole.
    """
    field = request_fields.EDITS[change.field]
    if field.edit and field.edit.path:
        return {field.edit.path: change.value}
    if field.wire is None:
        raise ValueError(f"{change.field} is not sent")
    after = replace(link, spec=request_changes.apply_edit(link.spec, change))
    sent = _set(create_body(after, addresses, now))
    whole, _, part = field.wire.path.partition(".")
    if not part:
        return {whole: sent.get(whole)}
    parts = sent.get(whole, {})
    return {whole: {**parts, part: parts.get(part)}}
