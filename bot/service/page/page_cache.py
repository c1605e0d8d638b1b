"""Pay pages as texts: cached ones that many see alike, and those with a payer's input."""

from __future__ import annotations

import secrets
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from bot.service.page import live_part, render, template_values
from bot.service.page.template_values import PayerForm
from bot.service.wire import json_answers

if TYPE_CHECKING:
    from bot.service.http.service import Service
    from bot.service.model.request import PaymentRequest, Quote
    from bot.service.page.reader import Reader

KEPT = 256
"""Pages in the cache, of some KiB each."""

TOKEN, NOW = "\x02", "\x03"
"""Placeholders in a cached page; no field of a request can contain these characters."""


class PageCache:
    """The cache of pages without input, by state of a request and language.

    The key contains everything that a page shows, so no page is out of date.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._cached = lru_cache(maxsize=KEPT)(self._write)

    def text(self, reader: Reader, found: PaymentRequest, now: int) -> str:
        """Return the page as of `now`, with a new token."""
        quote, unpriced = live_part.quoted(self._service, found)
        page = self._cached(reader, found, quote, found.hindrance(now) or unpriced)
        return page.replace(TOKEN, secrets.token_hex(16)).replace(NOW, str(now))

    def _write(
        self, reader: Reader, found: PaymentRequest, quote: Quote | None, state: str | None
    ) -> str:
        values = template_values.pay_page(reader, found, 0, PayerForm({}, refused=state))
        return _written(self._service, reader, found, quote, values | {"token": TOKEN, "now": NOW})


def write(
    service: Service, reader: Reader, found: PaymentRequest, now: int, form: PayerForm
) -> str:
    """Render the page with the payer's input and its problems."""
    quote, unpriced = live_part.quoted(service, found)
    state = form.refused or found.hindrance(now) or unpriced
    values = template_values.pay_page(reader, found, now, replace(form, refused=state))
    return _written(service, reader, found, quote, values | {"token": secrets.token_hex(16)})


def _written(
    service: Service,
    reader: Reader,
    found: PaymentRequest,
    quote: Quote | None,
    values: dict[str, Any],
) -> str:
    more = {
        "quote": template_values.exchange_text(reader, found, quote),
        "manners": service.payment_context.rail.manners,
        "shared": template_values.link_preview(
            reader, found, json_answers.pay_url(service.public_url, found.id)
        ),
    }
    return render.text(
        "pay.html", reader, values | more, test_money=service.payment_context.rail.test_money
    )
