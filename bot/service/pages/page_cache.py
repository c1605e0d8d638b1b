"""Pay pages and their live parts as texts, cached where many payers see the same."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

from bot.core import errors
from bot.service.checkouts import paying
from bot.service.http import callers, responses
from bot.service.pages import page_texts, page_values, payer_form, render
from bot.service.requests import request, request_commands, request_rows
from bot.service.wire import json_answers

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

    def __init__(self, service: callers.Service) -> None:
        self._service = service
        self._cached = lru_cache(maxsize=KEPT)(self._write)

    async def text(
        self, reader: payer_form.Reader, found: request.PaymentRequest, now: int
    ) -> responses.Text:
        """Return the page as of `now`, with a new token."""
        page = self._cached(reader, found, await offered(self._service, found, now))
        return page.fill({TOKEN: new_token(now).encode(), NOW: str(now).encode()})

    def _write(
        self, reader: payer_form.Reader, found: request.PaymentRequest, offer: Offer
    ) -> responses.TextTemplate:
        form = page_values.PayerForm({}, refused=offer.state)
        values = page_values.pay_page(reader, found, 0, form)
        slots = {"token": TOKEN, "now": NOW}
        page = _written(self._service, reader, found, offer, values | slots)
        return responses.TextTemplate(page, TOKEN + NOW)


def new_token(now: int) -> str:
    """Return what makes a form one payment, however often it is posted."""
    return request_commands.new_id(now, 32)


async def write(
    service: callers.Service,
    reader: payer_form.Reader,
    found: request.PaymentRequest,
    now: int,
    form: page_values.PayerForm,
) -> responses.Text:
    """Render the page with the payer's input and its problems."""
    offer = await offered(service, found, now)
    gone = form.refused in page_values.CLOSED and any(map(page_values.is_open, offer.ways))
    state = None if gone else form.refused or offer.state
    values = page_values.pay_page(reader, found, now, replace(form, refused=state))
    # The text of NO_PAYOUT says so itself, and who has claimed a payment may well have paid.
    uncharged = state is not None and state != request.NO_PAYOUT and not form.claimed
    more = {"token": new_token(now), "uncharged": uncharged}
    if gone:
        more["problem"] = reader.t("page-way-gone")
    return responses.Text.of(_written(service, reader, found, offer, values | more))


def _written(
    service: callers.Service,
    reader: payer_form.Reader,
    found: request.PaymentRequest,
    offer: Offer,
    values: dict[str, Any],
) -> str:
    url = json_answers.pay_url(service.public_url, found.id)
    ways = page_values.way_values(reader, found, offer.ways, values["way"])
    more = page_texts.frame(reader, found, url, service.operator_contact) | {
        **ways,
        "quote": page_values.exchange_text(reader, found, offer.quote),
        "manners": service.payment_context.rails.scenarios,
        "about": page_values.about(reader, found),
        "shared": page_values.link_preview(reader, found, url),
    }
    return render.text(
        "pay.html", reader, values | more, test_money=service.payment_context.rails.test_money
    )


@dataclass(slots=True)
class LiveRequest:
    """A request as its open pages show it until `until` (epoch ms); None for an unknown one.

    `texts` are its live parts by reader: languages write amounts in different ways.
    """

    found: request.PaymentRequest | None
    state: str | None
    now: int
    until: int
    texts: dict[payer_form.Reader, str] = field(default_factory=dict)

    def part(self, reader: payer_form.Reader) -> str | None:
        """Return the live part as this reader reads it."""
        if self.found is None:
            return None
        text = self.texts.get(reader)
        if text is None:
            values = page_values.live_part(reader, self.found, self.now, self.state)
            text = render.part(reader, values)
            if len(self.texts) < READERS:
                self.texts[reader] = text
        return text


class LiveParts:
    """The cache of requests with open pages, each read once a second for all of them."""

    def __init__(self) -> None:
        self._kept: dict[str, LiveRequest] = {}
        self._making: dict[str, asyncio.Task[LiveRequest]] = {}

    async def part(
        self, service: callers.Service, reader: payer_form.Reader, request_id: str
    ) -> str | None:
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


async def _read(service: callers.Service, request_id: str) -> LiveRequest:
    now = service.now()
    found = await request_rows.read(service.db, request_id, now)
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

    quote: request.Quote | None
    ways: tuple[paying.Way, ...]
    state: str | None


async def offered(service: callers.Service, request: request.PaymentRequest, now: int) -> Offer:
    """Return how a payer can pay now; with test money nothing more is read."""
    state, context = request.hindrance(now), service.payment_context
    if not context.rails.test_money:
        ways = () if state else tuple(await paying.read_ways(service.db, context, request))
        return Offer(None, ways, state or page_values.hindrance(ways))
    try:
        return Offer(context.quote(request), (), state)
    except errors.NotPayable as refusal:
        return Offer(None, (), state or refusal.state)
