"""Cached texts of pay pages and their live parts, which many payers share."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

from bot.core import errors
from bot.interface import vocabulary
from bot.service.api import callers, to_answers
from bot.service.checkouts import paying
from bot.service.pages import page_texts, page_values, render
from bot.service.requests import request_rows
from bot.service.requests.request import PaymentRequest, Quote

# The offer to a payer.


@dataclass(frozen=True, slots=True)
class Offer:
    """How a request can be paid now, or the state that prevents it."""

    quote: Quote | None
    """The quote in test money; with real money each way has its own quote."""

    ways: tuple[paying.Way, ...]
    state: str | None


async def read_offer(service: callers.Service, request: PaymentRequest, now: int) -> Offer:
    """Return how a payer can pay now; with test money it does no I/O."""
    state, context = request.hindrance(now), service.payment_context
    if not context.rails.test_money:
        ways = () if state else tuple(await paying.read_ways(service.db, context, request))
        return Offer(None, ways, state or page_values.hindrance(ways))
    try:
        return Offer(context.quote(request), (), state)
    except errors.NotPayable as refusal:
        return Offer(None, (), state or refusal.state)


# Pages.


CACHED_PAGES = 256
"""Pages in the cache, each of some KiB."""

TOKEN, NOW = "\x02", "\x03"
"""Placeholders in a cached page; no field of a request can contain these characters."""


class PageCache:
    """The cache of pages without input, keyed by the state of the request and the locale.

    The key contains everything that a page shows, so no page is stale.
    """

    def __init__(self, service: callers.Service) -> None:
        self._service = service
        self._cached = lru_cache(maxsize=CACHED_PAGES)(self._write)

    async def text(self, locale: page_texts.Locale, request: PaymentRequest, now: int) -> str:
        """Return the page as of `now`, with a new token."""
        page = self._cached(locale, request, await read_offer(self._service, request, now))
        return page.replace(TOKEN, new_token(now)).replace(NOW, str(now))

    def _write(self, locale: page_texts.Locale, request: PaymentRequest, offer: Offer) -> str:
        form = page_values.PayerForm({}, refused=offer.state)
        values = page_values.pay_page(locale, request, 0, form)
        placeholders = {"token": TOKEN, "now": NOW}
        return _render(self._service, locale, request, offer, values | placeholders)


def new_token(now: int) -> str:
    """Return a token that identifies a form, so that repeated posts are one payment."""
    return request_rows.new_id(now, 32)


async def write(
    service: callers.Service,
    locale: page_texts.Locale,
    request: PaymentRequest,
    now: int,
    form: page_values.PayerForm,
) -> str:
    """Render the page with the payer's input and its problems."""
    offer = await read_offer(service, request, now)
    can_pay_otherwise = any(map(page_values.is_open, offer.ways))
    way_gone = form.refused in page_values.WAY_HINDRANCES and can_pay_otherwise
    state = None if way_gone else form.refused or offer.state
    values = page_values.pay_page(locale, request, now, replace(form, refused=state))
    # The text of NO_PAYOUT also says so, and a payer who claimed a payment may have paid.
    uncharged = state is not None and state != vocabulary.NO_PAYOUT and not form.claimed
    more = {"token": new_token(now), "uncharged": uncharged}
    if way_gone:
        more["problem"] = locale.t("page-way-gone")
    return _render(service, locale, request, offer, values | more)


def _render(
    service: callers.Service,
    locale: page_texts.Locale,
    request: PaymentRequest,
    offer: Offer,
    values: dict[str, Any],
) -> str:
    url = to_answers.pay_url(service.public_url, request.id)
    ways = page_values.way_values(locale, request, offer.ways, values["way"])
    more = page_texts.layout_values(locale, request, url, service.operator_contact) | {
        **ways,
        "quote": page_values.exchange_text(locale, request, offer.quote),
        "scenarios": service.payment_context.rails.scenarios,
        "about": page_values.about(locale, request),
        "shared": page_values.link_preview(locale, request, url),
    }
    return render.text(
        "pay.html", locale, values | more, test_money=service.payment_context.rails.test_money
    )


# Live parts of open pages.


FRESH_MS = 1_000
"""How long a live part is reused."""

MAX_LIVE_REQUESTS = 1_024
MAX_LOCALES = 32
"""Locales for which the live part of one request is cached."""


@dataclass(slots=True)
class LiveRequest:
    """A request as its open pages show it until the cached copy expires."""

    request: PaymentRequest | None
    state: str | None
    now: int
    until: int
    """Epoch ms."""

    texts: dict[page_texts.Locale, str] = field(default_factory=dict)
    """Its live parts."""

    def part(self, locale: page_texts.Locale) -> str | None:
        """Return the live part, or None for an unknown request."""
        if self.request is None:
            return None
        text = self.texts.get(locale)
        if text is None:
            values = page_values.live_part(locale, self.request, self.now, self.state)
            text = render.part(locale, values)
            if len(self.texts) < MAX_LOCALES:
                self.texts[locale] = text
        return text


class LiveParts:
    """The cache of requests with open pages; each request is read once a second for all pages."""

    def __init__(self) -> None:
        self._cached: dict[str, LiveRequest] = {}
        self._reading: dict[str, asyncio.Task[LiveRequest]] = {}

    async def part(
        self, service: callers.Service, locale: page_texts.Locale, request_id: str
    ) -> str | None:
        """Return the live part of a request's page; None for an unknown or deleted request."""
        cached, now = self._cached.get(request_id), service.now()
        if cached and now < cached.until <= now + FRESH_MS:
            return cached.part(locale)
        reading = self._reading.get(request_id)
        if reading is None:
            reading = asyncio.create_task(_read(service, request_id))
            self._reading[request_id] = reading
            reading.add_done_callback(partial(self._store, request_id))
        # A caller that disconnects must not cancel the answer for the others.
        return (await asyncio.shield(reading)).part(locale)

    def _store(self, request_id: str, reading: asyncio.Task[LiveRequest]) -> None:
        del self._reading[request_id]
        self._cached.pop(request_id, None)
        if reading.cancelled() or reading.exception() or reading.result().request is None:
            return
        self._cached[request_id] = reading.result()
        if len(self._cached) > MAX_LIVE_REQUESTS:
            del self._cached[next(iter(self._cached))]


async def _read(service: callers.Service, request_id: str) -> LiveRequest:
    now = service.now()
    request = await request_rows.read(service.db, request_id, now)
    if request is None:
        return LiveRequest(None, None, now, now)
    state = (await read_offer(service, request, now)).state
    # The part is valid at most until the request opens or expires.
    changes = [at for at in (request.enabled_at, request.expires_at) if at is not None and at > now]
    return LiveRequest(request, state, now, min([now + FRESH_MS, *changes]))
