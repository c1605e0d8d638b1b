"""Pay pages as texts: the one that a payer left, and those that many see alike."""

from __future__ import annotations

import secrets
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from bot.service.page import live_part, render, view
from bot.service.page.view import Form
from bot.service.wire import json_answers

if TYPE_CHECKING:
    from bot.service.http.service import Service
    from bot.service.model.request import PaymentRequest, Quote
    from bot.service.page.view import Reader

KEPT = 256
"""Pages that are kept, some KiB each."""

TOKEN, NOW = "\x02", "\x03"
"""Stand in a kept page for what is new each time; no field of a request may have such a one."""


class PageCache:
    """Pages with nothing typed in, written once for each state of a request and each language.

    What a page shows is all in its key, so none is ever out of date.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._sheet = lru_cache(maxsize=KEPT)(self._write)

    def text(self, who: Reader, found: PaymentRequest, now: int) -> str:
        """Give the page as it is at `now`, with a token that nobody has."""
        quote, unpriced = live_part.quoted(self._service, found)
        sheet = self._sheet(who, found, quote, found.hindrance(now) or unpriced)
        return sheet.replace(TOKEN, secrets.token_hex(16)).replace(NOW, str(now))

    def _write(
        self, who: Reader, found: PaymentRequest, quote: Quote | None, state: str | None
    ) -> str:
        values = view.pay(who, found, 0, Form({}, refused=state))
        return _written(self._service, who, found, quote, values | {"token": TOKEN, "now": NOW})


def write(service: Service, who: Reader, found: PaymentRequest, now: int, form: Form) -> str:
    """Write the page with what the payer typed, and what is wrong with it."""
    quote, unpriced = live_part.quoted(service, found)
    state = form.refused or found.hindrance(now) or unpriced
    values = view.pay(who, found, now, replace(form, refused=state))
    return _written(service, who, found, quote, values | {"token": secrets.token_hex(16)})


def _written(
    service: Service,
    who: Reader,
    found: PaymentRequest,
    quote: Quote | None,
    values: dict[str, Any],
) -> str:
    more = {
        "quote": view.exchanged(who, found, quote),
        "manners": service.payment_context.rail.manners,
        "shared": view.shared(who, found, json_answers.pay_url(service.public_url, found.id)),
    }
    return render.text(
        "pay.html", who, values | more, test_money=service.payment_context.rail.test_money
    )
