"""Pay pages and their live parts as texts, cached where many payers see the same."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from bot.core.errors import NotPayable
from bot.service.http.compression import Text, TextTemplate
from bot.service.model.request import NO_PAYOUT
from bot.service.page import page_frame, pay_ways, render, template_values
from bot.service.page.template_values import PayerForm
from bot.service.store import requests
from bot.service.usecases import paying
from bot.service.usecases.request_commands import new_id
from bot.service.wire import json_answers

if TYPE_CHECKING:
    from bot.service.http.service import Service
    from bot.service.model.request import PaymentRequest, Quote
    from bot.service.page.forms import Reader
    from bot.service.usecases.paying import Way

KEPT = 256
"""Pages in the cache, of some KiB each."""

TOKEN, NOW = "\x02", "\x03"
"""Placeholders in a cached page; no field of a request can contain these characters."""

FRESH = 1_000
"""Milliseconds for which a live part is reused."""

MOST, READERS = 1_024, 32
"""Requests in the cache of live parts, and readers for each of whom a part is kept."""


class PageCache:
    """The cache of pages without input, by state of a request and language.

    The key contains everything that a page shows, so no page is out of date.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._cached = lru_cache(maxsize=KEPT)(self._write)

    async def text(self, reader: Reader, found: PaymentRequest, now: int) -> Text:
        """Return the page as of `now`, with a new token."""
        page = self._cached(reader, found, await offered(self._service, found, now))
        return page.fill({TOKEN: new_token(now).encode(), NOW: str(now).encode()})

    def _write(self, reader: Reader, found: PaymentRequest, offer: Offer) -> TextTemplate:
        form = PayerForm({}, refused=offer.state)
        values = template_values.pay_page(reader, found, 0, form)
        slots = {"token": TOKEN, "now": NOW}
        page = _written(self._service, reader, found, offer, values | slots)
        return TextTemplate(page, TOKEN + NOW)


def new_token(now: int) -> str:
    """Return what makes a form one payment, however often it is posted."""
    return new_id(now, 32)


async def write(
    service: Service, reader: Reader, found: PaymentRequest, now: int, form: PayerForm
) -> Text:
    """Render the page with the payer's input and its problems."""
    offer = await offered(service, found, now)
    gone = form.refused in pay_ways.CLOSED and any(map(pay_ways.is_open, offer.ways))
    state = None if gone else form.refused or offer.state
    values = template_values.pay_page(reader, found, now, replace(form, refused=state))
    # The text of NO_PAYOUT says so itself, and who has claimed a payment may well have paid.
    uncharged = state is not None and state != NO_PAYOUT and not form.claimed
    more = {"token": new_token(now), "uncharged": uncharged}
    if gone:
        more["problem"] = reader.t("page-way-gone")
    return Text.of(_written(service, reader, found, offer, values | more))


def _written(
    service: Service,
    reader: Reader,
    found: PaymentRequest,
    offer: Offer,
    values: dict[str, Any],
) -> str:
    url = json_answers.pay_url(service.public_url, found.id)
    ways = pay_ways.values(reader, found, offer.ways, values["way"])
    more = page_frame.frame(reader, found, url, service.operator_contact) | {
        **ways,
        "quote": template_values.exchange_text(reader, found, offer.quote),
        "manners": service.payment_context.rails.manners,
        "about": template_values.about(reader, found),
        "shared": template_values.link_preview(reader, found, url),
    }
    return render.text(
        "pay.html", reader, values | more, test_money=service.payment_context.rails.test_money
    )


@dataclass(slots=True)
class LiveRequest:
    """A request as its open pages show it until `until` (epoch ms); None for an unknown one.

    `texts` are its live parts by reader: languages write amounts in different ways.
    """

    found: PaymentRequest | None
    state: str | None
    now: int
    until: int
    texts: dict[Reader, str] = field(default_factory=dict)

    def part(self, reader: Reader) -> str | None:
        """Return the live part as this reader reads it."""
        if self.found is None:
            return None
        text = self.texts.get(reader)
        if text is None:
            values = template_values.live_part(reader, self.found, self.now, self.state)
            text = render.part(reader, values)
            if len(self.texts) < READERS:
                self.texts[reader] = text
        return text


class LiveParts:
    """The cache of requests with open pages, each read once a second for all of them."""

    def __init__(self) -> None:
        self._kept: dict[str, LiveRequest] = {}
        self._making: dict[str, asyncio.Task[LiveRequest]] = {}

    async def part(self, service: Service, reader: Reader, request_id: str) -> str | None:
        """Return the live part of a request's page; None for an unknown or deleted request."""
        kept, now = self._kept.get(request_id), service.now()
        if kept and now < kept.until <= now + FRESH:
            return kept.part(reader)
        making = self._making.get(request_id)
        if making is None:
            making = asyncio.create_task(_read(service, request_id))
            self._making[request_id] = making
            making.add_done_callback(partial(self._made, request_id))
        # A caller that leaves must not cancel the answer for the others.
        return (await asyncio.shield(making)).part(reader)

    def _made(self, request_id: str, making: asyncio.Task[LiveRequest]) -> None:
        del self._making[request_id]
        self._kept.pop(request_id, None)
        if making.cancelled() or making.exception() or making.result().found is None:
            return
        self._kept[request_id] = making.result()
        if len(self._kept) > MOST:
            del self._kept[next(iter(self._kept))]


async def _read(service: Service, request_id: str) -> LiveRequest:
    now = service.now()
    found = await requests.read(service.db, request_id, now)
    if found is None:
        return LiveRequest(None, None, now, now)
    state = (await offered(service, found, now)).state
    # Not valid beyond the next change by time alone.
    turns = (at for at in (found.enabled_at, found.expires_at) if at is not None and at > now)
    return LiveRequest(found, state, now, min([now + FRESH, *turns]))


@dataclass(frozen=True, slots=True)
class Offer:
    """How a request can be paid now, and the state that prevents it.

    Test money has one `quote`, real money a quote for each of its `ways`.
    """

    quote: Quote | None
    ways: tuple[Way, ...]
    state: str | None


async def offered(service: Service, request: PaymentRequest, now: int) -> Offer:
    """Return how a payer can pay now; with test money nothing more is read."""
    state, context = request.hindrance(now), service.payment_context
    if not context.rails.test_money:
        ways = () if state else tuple(await paying.read_ways(service.db, context, request))
        return Offer(None, ways, state or pay_ways.hindrance(ways))
    try:
        return Offer(context.quote(request), (), state)
    except NotPayable as refusal:
        return Offer(None, (), state or refusal.state)
