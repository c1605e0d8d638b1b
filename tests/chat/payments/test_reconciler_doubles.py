"""Doubles: requests that a server has twice are deleted, but one that was paid is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from bot.chat.model.request_spec import RequestSpec
from bot.chat.payments.reconciler import Reconciler
from bot.chat.store.link_rows import DELETED, FAILED, LIVE, STOPPED
from tests.support.bare_requests import item, looks, units
from tests.support.chat_harness import COFFEE, DROP, PAINTING, ChatHarness, service_answer
from tests.support.http_messages import http_response
from tests.support.reconciler_service import alerts
from tests.support.scripted_server import ScriptedServer

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


OTHER = "f" * 24


@pytest.mark.parametrize("state", [LIVE, STOPPED, DELETED])
async def test_a_double_request_is_deleted(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person, state: str
) -> None:
    """It is deleted in every state of the link: nobody has its link."""
    link = chat.add_link(sam, DROP, service_answer(), state=state)
    await peer.add_answers(
        http_response(200, {"items": [item(link), item(link, OTHER)]}), http_response(200)
    )
    await looking.compare()
    assert [(call.method, call.path) for call in peer.calls[1:]] == [
        ("DELETE", f"/v3/paymentRequests/{OTHER}")
    ]


async def test_a_request_of_a_failed_create_is_deleted(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    link = chat.add_link(sam, state=FAILED)
    await peer.add_answers(http_response(200, {"items": [item(link)]}), http_response(404))
    await looking.compare()
    assert [call.method for call in peer.calls] == ["GET", "DELETE"]


async def test_doubles_are_left_alone_while_the_create_job_is_at_work(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    link = chat.add_link(sam, COFFEE)
    both = item(link), item(link, OTHER, paymentsCount=1)
    assert await looks(chat, looking, peer, *both) == 0
    assert len(peer.calls) == 1


async def test_a_deleted_links_own_request_is_not_touched(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    """A server that has it counted as having lost it; its link may be in use."""
    link = chat.add_link(sam, COFFEE, service_answer(), state=DELETED)
    await looks(chat, looking, peer, item(link))
    assert len(peer.calls) == 1


PAID_TWICE: list[tuple[RequestSpec, dict[str, Any]]] = [
    (COFFEE, {"paymentsCount": 1}),
    (DROP, units(4)),
    (PAINTING, {"isEnabled": False}),
]


@pytest.mark.parametrize("case", PAID_TWICE, ids=range(3))
async def test_a_paid_double_is_left_to_the_operator(
    chat: ChatHarness,
    looking: Reconciler,
    peer: ScriptedServer,
    sam: Person,
    case: tuple[RequestSpec, dict[str, Any]],
) -> None:
    """It is logged once, not at each comparison."""
    spec, fields = case
    link = chat.add_link(sam, spec, service_answer())
    with capture_logs() as logs:
        for _ in range(2):
            await looks(chat, looking, peer, item(link, OTHER, **fields))
    assert [call.method for call in peer.calls] == ["GET", "GET"]
    said = [(line["listing"], line["request"]) for line in logs if line["log_level"] == "error"]
    assert said == [(link.id, OTHER)]
    assert alerts(chat) == []
