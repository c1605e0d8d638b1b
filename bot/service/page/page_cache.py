"""Pay pages and their live parts as texts, cached where many payers see the same."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from bot.core.errors import NotPayable
from bot.service.http.compression import Text, TextTemplate
from bot.service.model.request import NO_PAYOUT
from bot.service.page import page_frame, pay_ways, render, template_values
from bot.service.page.template_values import PayerForm
from bot.service.store import requests
from bot.service.usecases import paying
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

MOST = 1_024
"""Live parts in the cache."""


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
        return page.fill({TOKEN: secrets.token_hex(16).encode(), NOW: str(now).encode()})

    def _write(self, reader: Reader, found: PaymentRequest, offer: Offer) -> TextTemplate:
        form = PayerForm({}, refused=offer.state)
        values = template_values.pay_page(reader, found, 0, form)
        slots = {"token": TOKEN, "now": NOW}
        page = _written(self._service, reader, found, offer, values | slots)
        return TextTemplate(page, TOKEN + NOW)


async def write(
    service: Service, reader: Reader, found: PaymentRequest, now: int, form: PayerForm
) -> Text:
    """Render the page with the payer's input and its problems."""
    offer = await offered(service, found, now)
    gone = form.refused in pay_ways.CLOSED and any(map(pay_ways.is_open, offer.ways))
    state = None if gone else form.refused or offer.state
    values = template_values.pay_page(reader, found, now, replace(form, refused=state))
    uncharged = state is not None and state != NO_PAYOUT  # whose own text says so
    more = {"token": secrets.token_hex(16), "uncharged": uncharged}
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


@dataclass(frozen=True, slots=True)
class LivePart:
    """The changing part of a page, valid until `until` (epoch ms); None for an unknown request."""

    text: str | None
    until: int


class LiveParts:
    """The cache of live parts by request and language, read once a second for all open pages."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], LivePart] = {}
        self._making: dict[tuple[str, str], asyncio.Task[LivePart]] = {}

    async def part(self, service: Service, reader: Reader, request_id: str) -> str | None:
        """Return the live part of a request's page; None for an unknown or deleted request."""
        key = (request_id, reader.language)
        kept, now = self._kept.get(key), service.now()
        if kept and now < kept.until <= now + FRESH:
            return kept.text
        making = self._making.get(key)
        if making is None:
            making = asyncio.create_task(_make(service, reader, request_id))
            self._making[key] = making
            making.add_done_callback(partial(self._made, key))
        # A caller that leaves must not cancel the answer for the others.
        return (await asyncio.shield(making)).text

    def _made(self, key: tuple[str, str], making: asyncio.Task[LivePart]) -> None:
        del self._making[key]
        self._kept.pop(key, None)
        if making.cancelled() or making.exception() or making.result().text is None:
            return
        self._kept[key] = making.result()
        if len(self._kept) > MOST:
            del self._kept[next(iter(self._kept))]


async def _make(service: Service, reader: Reader, request_id: str) -> LivePart:
    now = service.now()
    found = await requests.read(service.db, request_id, now)
    if found is None:
        return LivePart(None, now)
    state = (await offered(service, found, now)).state
    text = render.part(reader, template_values.live_part(reader, found, now, state))
    # Not valid beyond the next change by time alone.
    turns = (at for at in (found.enabled_at, found.expires_at) if at is not None and at > now)
    return LivePart(text, min([now + FRESH, *turns]))


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
        ways = () if state else tuple(await paying.read_ways(service.db, context, request, now))
        return Offer(None, ways, state or pay_ways.hindrance(ways))
    try:
        return Offer(context.quote(request), (), state)
    except NotPayable as refusal:
        return Offer(None, (), state or refusal.state)
