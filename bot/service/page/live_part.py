"""The live part of open pay pages: read once a second, however many are open."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from bot.core.errors import NotPayable
from bot.service.page import render, template_values
from bot.service.store import requests

if TYPE_CHECKING:
    from bot.service.http.service import Service
    from bot.service.model.request import PaymentRequest, Quote
    from bot.service.page.reader import Reader

FRESH = 1_000
"""Milliseconds for which an answer is reused."""

MOST = 1_024
"""Answers in the cache."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The part of a page, valid until `until` (epoch ms); None for an unknown request."""

    text: str | None
    until: int


class LiveParts:
    """The cache of answers, by request and language."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], Answer] = {}
        self._making: dict[tuple[str, str], asyncio.Task[Answer]] = {}

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

    def _made(self, key: tuple[str, str], making: asyncio.Task[Answer]) -> None:
        del self._making[key]
        self._kept.pop(key, None)
        if making.cancelled() or making.exception() or making.result().text is None:
            return
        self._kept[key] = making.result()
        if len(self._kept) > MOST:
            del self._kept[next(iter(self._kept))]


async def _make(service: Service, reader: Reader, request_id: str) -> Answer:
    now = service.now()
    found = await requests.read(service.db, request_id, now)
    if found is None:
        return Answer(None, now)
    state = found.hindrance(now) or quoted(service, found)[1]
    text = render.part(reader, template_values.live_part(reader, found, now, state))
    # Not valid beyond the next change by time alone.
    turns = (at for at in (found.enabled_at, found.expires_at) if at is not None and at > now)
    return Answer(text, min([now + FRESH, *turns]))


def quoted(service: Service, request: PaymentRequest) -> tuple[Quote | None, str | None]:
    """Return the quote for a payer now, or else the state that prevents the payment."""
    try:
        return service.payment_context.quote(request), None
    except NotPayable as refusal:
        return None, refusal.state
