"""Lists of the service over HTTP: page by page where it has pages, whole where it has none."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.chat.model.remote_request import RemoteRequest, SentPayment
from bot.chat.payments.client import PAGE, Client
from bot.core import errors
from bot.service.pages.app import create_app
from tests.support.asgi_server import serve_asgi
from tests.support.chat_harness import REQUEST_ID as ID
from tests.support.chat_harness import URL
from tests.support.chat_harness import service_answer as answer_with
from tests.support.http_peers import ScriptedServer, http_response
from tests.support.service_harness import NEW, NOON, NOON_ISO, ServiceHarness, make_service

LEAST = {"id": ID, "paymentRequestUrl": URL}
ALL = "/v3/paymentRequests"
OF_ONE = f"{ALL}/{ID}/payments"
DAY = 24 * 3600
OF = {"customParameters": {"listing": "abc"}}


@pytest.fixture
async def ours(service: ServiceHarness) -> AsyncIterator[Client]:
    """Open a client of that service, over HTTP."""
    app = create_app(make_service(service.db, service.clock, "http://pay.test"))
    keys = service.credentials
    async with serve_asgi(app) as root:
        client = Client(root, keys.app_id, keys.app_secret)
        yield client
        await client.close()


async def requests(client: Client) -> list[RemoteRequest]:
    return [item async for page in client.request_pages() for item in page]


async def payments(client: Client, request_id: str = ID) -> list[SentPayment]:
    return [item async for page in client.payment_pages(request_id) for item in page]


def numbered(first: int, last: int) -> list[dict[str, Any]]:
    return [LEAST | {"id": f"{number:024x}"} for number in range(first, last)]


async def test_a_list_in_pages_is_read_to_its_end(client: Client, peer: ScriptedServer) -> None:
    await peer.add_answers(
        http_response(200, {"items": numbered(0, 2), "nextCursor": "a/b&c"}),
        http_response(200, {"items": numbered(2, 3), "nextCursor": None}),
    )
    assert [item.id for item in await requests(client)] == [one["id"] for one in numbered(0, 3)]
    assert [call.path for call in peer.calls] == [
        f"{ALL}?limit=100",
        f"{ALL}?limit=100&cursor=a%2Fb%26c",
    ]


async def test_a_list_that_comes_whole_is_cut_into_pages(
    client: Client, peer: ScriptedServer
) -> None:
    """HandCash has no pages."""
    await peer.add_answers(http_response(200, {"items": numbered(0, 2 * PAGE + 1)}))
    pages = [page async for page in client.request_pages()]
    assert [len(page) for page in pages] == [PAGE, PAGE, 1]
    assert len({item.id for page in pages for item in page}) == 2 * PAGE + 1


@pytest.mark.parametrize("status", [400, 422])
async def test_a_server_that_refuses_the_limit_parameter_is_asked_without_it(
    client: Client, peer: ScriptedServer, status: int
) -> None:
    await peer.add_answers(
        http_response(status, {"code": "x"}), http_response(200, {"items": [LEAST]})
    )
    assert [item.id for item in await requests(client)] == [ID]
    assert [call.path for call in peer.calls] == [f"{ALL}?limit=100", ALL]


@pytest.mark.parametrize("cursors", [["a", "a"], ["a", "b", "a"]])
async def test_a_list_that_repeats_a_cursor_is_a_bad_answer(
    client: Client, peer: ScriptedServer, cursors: list[str]
) -> None:
    await peer.add_answers(
        *(http_response(200, {"items": [LEAST], "nextCursor": one}) for one in cursors)
    )
    with pytest.raises(errors.BadAnswer, match="never ends"):
        await requests(client)


async def test_pages_are_fetched_only_as_needed(client: Client, peer: ScriptedServer) -> None:
    await peer.add_answers(http_response(200, {"items": [LEAST], "nextCursor": "a"}))
    async with aclosing(client.request_pages()) as pages:
        assert len(await anext(pages)) == 1
    assert len(peer.calls) == 1


async def test_our_own_services_pages_are_all_read(ours: Client, service: ServiceHarness) -> None:
    made = []
    for _ in range(PAGE + 1):
        made.append((await service.create())["id"])
        service.clock.advance(1)
    pages = [page async for page in ours.request_pages()]
    assert [len(page) for page in pages] == [PAGE, 1]
    assert [item.id for page in pages for item in page] == made[::-1]
    assert {item.paid_count for page in pages for item in page} == {0}
    assert {item.status for page in pages for item in page} == {"active"}


async def test_our_own_services_payments_are_all_read(
    ours: Client, service: ServiceHarness
) -> None:
    made = await service.create(requestedUserData=["email"], receivers=NEW["receivers"])
    paid = []
    for number in range(PAGE + 1):
        answer = await service.pay(made["id"], f"{number:032}", email=f"{number}@a.example")
        paid.append(answer.headers["location"].rpartition("/")[2])
        service.clock.advance(1)
    found = await payments(ours, made["id"])
    assert [one.transaction_id for one in found] == paid[::-1]
    oldest = found[-1]
    assert (oldest.amount, oldest.currency, oldest.completed_at) == (5, "USD", NOON)
    assert oldest.payer == {"email": "0@a.example"}
    assert (await ours.get(made["id"])).paid_count == PAGE + 1


@pytest.mark.parametrize(
    ("fields", "read"),
    [
        ({}, {}),
        ({"amount": 2, "currencyCode": "USD"}, {"amount": 2, "currency": "USD"}),
        ({"amount": "2.5", "currencyCode": {}}, {"amount": "2.5", "currency": {}}),
        ({"completedAt": NOON_ISO}, {"completed_at": NOON}),
        ({"completedAt": NOON // 1000}, {"completed_at": NOON}),
        ({"completedAt": "yesterday"}, {}),
        ({"settlement": "oversold"}, {"settlement": "oversold", "oversold": True}),
        ({"settlement": "underpaid"}, {"settlement": "underpaid", "underpaid": True}),
        ({"settlement": "late", "userData": 5}, {"settlement": "late"}),
        ({"oversold": 1, "underpaid": True}, {"underpaid": True}),
        ({"userData": {"email": "a"}}, {"payer": {"email": "a"}}),
    ],
)
async def test_a_payment_is_parsed_as_far_as_possible(
    client: Client, peer: ScriptedServer, fields: dict[str, Any], read: dict[str, Any]
) -> None:
    await peer.add_answers(
        http_response(200, {"items": [{"transactionId": "t1", **fields}, {}, 5, None]})
    )
    (found,) = await payments(client)
    assert found.model_dump(exclude_defaults=True) == {"transaction_id": "t1", **read}
    assert [call.path for call in peer.calls] == [f"{OF_ONE}?limit=100"]


@pytest.mark.parametrize(
    ("status", "kind"), [(404, errors.NotFound), (405, errors.MethodNotAllowed)]
)
async def test_a_server_without_a_list_of_payments_raises_not_found(
    client: Client, peer: ScriptedServer, status: int, kind: type[errors.Refused]
) -> None:
    await peer.add_answers(http_response(status))
    with pytest.raises(kind):
        await payments(client)


async def test_requests_of_one_link_come_oldest_first(client: Client, peer: ScriptedServer) -> None:
    """There are several if a server made a lost create twice, anywhere in the list."""
    one, two, three = (item | OF for item in numbered(0, 3))
    await peer.add_answers(
        http_response(200, {"items": [two | {"createdAt": NOON_ISO}, LEAST], "nextCursor": "a"}),
        http_response(
            200, {"items": [three | {"createdAt": NOON // 1000 + 1}, one | {"createdAt": [5]}]}
        ),
    )
    assert [item.id for item in await client.find_by_link("abc", NOON)] == [
        one["id"],
        two["id"],
        three["id"],
    ]


@pytest.mark.parametrize(
    ("ages", "pages"),
    [
        ((DAY, DAY + 1), 1),
        ((0, DAY), 2),
        ((DAY + 2, DAY + 1), 2),
        ((DAY + 1, DAY + 1), 2),
        ((DAY + 1, None), 2),
        ((1, 3 * DAY, 2 * DAY), 2),
    ],
)
async def test_a_list_is_read_back_to_the_links_creation(
    client: Client, peer: ScriptedServer, ages: tuple[int | None, ...], pages: int
) -> None:
    """A day is added for clocks that differ; a list in another order is read to its end."""
    items = [LEAST | ({} if age is None else {"createdAt": NOON // 1000 - age}) for age in ages]
    await peer.add_answers(
        http_response(200, {"items": items, "nextCursor": "a"}),
        http_response(200, {"items": [LEAST | OF]}),
    )
    assert len(await client.find_by_link("abc", NOON)) == pages - 1
    assert len(peer.calls) == pages


@pytest.mark.parametrize("status", [404, 405])
async def test_a_server_without_single_requests_is_asked_for_its_list(
    client: Client, peer: ScriptedServer, status: int
) -> None:
    """The published interface has no call for a single request."""
    other = LEAST | {"id": "f" * 24}
    await peer.add_answers(http_response(status), http_response(200, {"items": [other, LEAST]}))
    assert (await client.get(ID)).id == ID
    assert [call.path for call in peer.calls] == [
        f"/v3/paymentRequests/{ID}",
        "/v3/paymentRequests?limit=100",
    ]


@pytest.mark.parametrize("status", [404, 405])
async def test_a_request_that_is_in_no_list_is_not_found(
    client: Client, peer: ScriptedServer, status: int
) -> None:
    await peer.add_answers(http_response(status), http_response(200, {"items": []}))
    with pytest.raises(errors.NotFound):
        await client.get(ID)


@pytest.mark.parametrize("body", [None, [], {}, {"items": None}])
async def test_a_list_without_items_is_a_bad_answer(
    client: Client, peer: ScriptedServer, body: Any
) -> None:
    await peer.add_answers(http_response(200, body))
    with pytest.raises(errors.BadAnswer):
        await requests(client)


BROKEN = {"id": "f" * 24, "customParameters": {"listing": "broken"}}


async def test_an_unreadable_item_does_not_hide_the_others(
    client: Client, peer: ScriptedServer
) -> None:
    items = [5, BROKEN, LEAST | {"customParameters": {"listing": "abc"}}, {"customParameters": 5}]
    await peer.add_answers(
        *[
            http_response(200, {"items": items}),
            http_response(404),
            http_response(200, {"items": items}),
        ]
        * 2
    )
    with capture_logs() as logs:
        assert [item.id for item in await requests(client)] == [ID]
    assert [line.get("number") for line in logs] == [3]
    assert (await client.get(ID)).id == ID
    assert await client.find_by_link("abc", NOON) == [answer_with(link_id="abc")]


async def test_an_unreadable_request_does_not_count_as_missing(
    client: Client, peer: ScriptedServer
) -> None:
    """Otherwise it would be created a second time."""
    listed = http_response(200, {"items": [BROKEN]})
    await peer.add_answers(http_response(404), listed, listed, listed)
    with pytest.raises(errors.BadAnswer):
        await client.get("f" * 24)
    with pytest.raises(errors.BadAnswer):
        await client.find_by_link("broken", NOON)
    assert await client.find_by_link("abc", NOON) == []
