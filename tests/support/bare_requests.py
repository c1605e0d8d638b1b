"""Requests as a server lists them that knows only the interface."""

from __future__ import annotations

from typing import Any

from bot.chat.payments.reconciler import Reconciler
from bot.chat.store.link_rows import PaymentLink
from tests.support.chat_harness import REQUEST_ID, URL, ChatHarness
from tests.support.http_messages import http_response
from tests.support.scripted_server import ScriptedServer


def item(link: PaymentLink, request_id: str = REQUEST_ID, **fields: Any) -> dict[str, Any]:
    """Build a listed request with these fields."""
    of = {"webhook": {"customParameters": {"listing": link.id}}}
    return {"id": request_id, "paymentRequestUrl": URL, "notifications": of, **fields}


def units(left: int) -> dict[str, Any]:
    return {"totalUnits": 5, "remainingUnits": left}


async def looks(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, *items: dict[str, Any]
) -> int:
    """Compare with a server that has these requests, a minute after the comparison before."""
    chat.clock.advance(61)
    await peer.add_answers(http_response(200, {"items": list(items)}))
    return await looking.compare()
