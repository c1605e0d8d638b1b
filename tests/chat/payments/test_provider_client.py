"""The service over HTTP: every form of answer read, every failure typed, credentials kept."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from bot.chat.model.remote_request import RemoteRequest, ServerPrice
from bot.chat.payments.client import Client
from bot.core import errors, stored_json
from bot.core.database.database import Database
from bot.core.database.vault import Vault
from bot.core.errors import BotError, FieldProblem
from bot.core.net.http_client import app_client
from bot.interface.bodies import MarksBody
from bot.interface.fields import MAX_SECONDS
from bot.service.pages.app import create_app
from bot.service.requests import applications
from tests.support.asgi_server import serve_asgi
from tests.support.chat_harness import REQUEST_ID as ID
from tests.support.chat_harness import URL
from tests.support.chat_harness import service_answer as answer_with
from tests.support.http_peers import CUT, ScriptedServer, http_response, open_scripted_server
from tests.support.service_harness import LOOPBACK, NEW, NOON, Clock, make_service

LEAST = {"id": ID, "paymentRequestUrl": URL}


async def created(client: Client, peer: ScriptedServer, **fields: Any) -> RemoteRequest:
    """Return what the client parses from an answer with these fields."""
    await peer.add_answers(http_response(200, LEAST | fields))
    return await client.create({}, "key")


async def test_a_call_carries_credentials_body_and_key(
    client: Client, peer: ScriptedServer
) -> None:
    await peer.add_answers(http_response(200, LEAST))
    await client.create({"product": {"name": "Tee & Kaffee"}}, "listing-1")
    (call,) = peer.calls
    assert (call.method, call.path) == ("POST", "/v3/paymentRequests")
    names = ("app-id", "app-secret", "idempotency-key", "content-type", "accept")
    assert [call.headers[name] for name in names] == [
        *("app-1", "s3cret", "listing-1", "application/json", "application/json"),
    ]
    assert json.loads(call.body) == {"product": {"name": "Tee & Kaffee"}}


async def test_a_lost_answer_about_a_mark_does_not_name_the_receipt(
    client: Client, peer: ScriptedServer
) -> None:
    """The error is logged, and both ids together are the address of what was delivered."""
    await peer.add_answers(CUT)
    with pytest.raises(errors.Unreachable) as lost:
        await client.mark_payment(ID, "t" * 24, MarksBody(messageHidden=True))
    assert ID not in str(lost.value)
    assert "t" * 24 not in str(lost.value)


async def test_an_address_with_a_path_is_kept(peer: ScriptedServer) -> None:
    client = Client(f"{peer.url}/cloud", "a", "b")
    await peer.add_answers(http_response(200, {"items": []}))
    assert [page async for page in client.request_pages()] == []
    await client.close()
    assert peer.calls[0].path == "/cloud/v3/paymentRequests?limit=100"


async def test_no_redirect_is_followed_so_credentials_stay_at_the_origin(
    client: Client, peer: ScriptedServer
) -> None:
    async with open_scripted_server() as other:
        for status in (301, 302, 303, 307, 308):
            moved = http_response(status, Location=f"{other.url}/v3/paymentRequests")
            await peer.add_answers(moved)
            with pytest.raises(errors.BadAnswer, match="check PAYMENTS_URL"):
                await client.create({}, "key")
        assert other.calls == []


async def test_an_id_of_any_form_stays_one_part_of_the_path(
    client: Client, peer: ScriptedServer
) -> None:
    for other in ("//evil.test/x", "http://evil.test/", "../../x", "a/b?c#d", "ü "):
        await peer.add_answers(http_response(200, LEAST))
        await client.get(other)
        path = peer.calls[-1].path
        assert path.startswith("/v3/paymentRequests/")
        assert path.count("/") == 3
        assert "?" not in path


async def test_missing_fields_are_none(client: Client, peer: ScriptedServer) -> None:
    assert await created(client, peer) == answer_with()


async def test_every_present_field_is_parsed(client: Client, peer: ScriptedServer) -> None:
    webhook = {"webhookUrl": "x", "customParameters": {"listing": "abc"}}
    answer = await created(
        client, peer, isEnabled=False, totalUnits=10, remainingUnits=7,
        enabledAt="2027-01-15T08:00:00Z", expiresAt="2027-01-15T08:00:01.500Z",
        notifications={"webhook": webhook},
    )  # fmt: skip
    assert answer == answer_with(
        is_enabled=False, total_units=10, remaining_units=7,
        enabled_at=NOON, expires_at=NOON + 1500, link_id="abc",
    )  # fmt: skip
    assert stored_json.read(RemoteRequest, stored_json.write(RemoteRequest, answer)) == answer


@pytest.fixture
def _far_from_greenwich(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


TIMES: dict[Any, int | None] = {
    **dict.fromkeys((None, "", " ")),
    "2027-01-15T08:00:00Z": NOON,
    "2027-01-15T08:00:00.000Z": NOON,
    "2027-01-15T09:00:00+01:00": NOON,
    "2027-01-15T08:00:00": NOON,
    1_800_000_000: NOON,
    1_800_000_000.5: NOON + 500,
    0: 0,
}


@pytest.mark.usefixtures("_far_from_greenwich")
async def test_times_are_parsed_as_text_and_as_seconds(
    client: Client, peer: ScriptedServer
) -> None:
    """A time without a zone is UTC, whatever this machine's zone."""
    read = {told: (await created(client, peer, expiresAt=told)).expires_at for told in TIMES}
    assert read == TIMES


SHARES: list[dict[str, Any]] = [{"sendAmount": 2}, {"sendAmount": "0.50"}]
PRICES: list[tuple[dict[str, Any], ServerPrice | None]] = [
    ({}, None),
    ({"paymentAmount": None}, None),
    ({"paymentAmount": {"amount": 5}}, None),
    ({"paymentAmount": {"amount": 5, "currencyCode": "USD"}}, ServerPrice("5", "USD")),
    (
        {"paymentAmount": {"amount": "5.00", "currencyCode": "bsv", "denominatedIn": "usd"}},
        ServerPrice("5.00", "USD", "BSV"),
    ),
    (
        {"currencyCode": "MNEE", "paymentAmount": {"amount": 5, "denominatedIn": "USD"}},
        ServerPrice("5", "USD", "MNEE"),
    ),
    ({"paymentAmount": {"amount": True, "denominatedIn": "USD"}}, None),
    ({"paymentAmount": {"amount": "much", "denominatedIn": "USD"}}, None),
    ({"paymentAmount": {"amount": 5, "denominatedIn": "x" * 17}}, None),
    ({"receivers": SHARES}, None),
    ({"receivers": [one | {"currencyCode": "USD"} for one in SHARES]}, ServerPrice("2.50", "USD")),
    ({"receivers": [SHARES[0] | {"currencyCode": "USD"}, SHARES[1]]}, None),
    ({"receivers": [{"currencyCode": "USD"}]}, None),
    ({"receivers": []}, None),
    ({"receivers": ["$anna"]}, None),
    ({"receivers": 5}, None),
]


async def test_a_price_is_found_wherever_the_server_sends_it(
    client: Client, peer: ScriptedServer
) -> None:
    for fields, price in PRICES:
        answer = await created(client, peer, **fields)
        assert answer.price == price, fields
        assert stored_json.read(RemoteRequest, stored_json.write(RemoteRequest, answer)) == answer


async def test_the_link_is_found_wherever_the_server_echoes_it(
    client: Client, peer: ScriptedServer
) -> None:
    echoed = {"customParameters": {"listing": "abc"}}
    for parameters in (echoed, {"notifications": {"webhook": echoed}}):
        assert (await created(client, peer, **parameters)).link_id == "abc"


NO_REQUEST: list[Any] = [
    *(None, [], 5, "x", {}, {"id": ID}, {"paymentRequestUrl": URL}, LEAST | {"id": 5}),
    *(LEAST | {"id": ""}, LEAST | {"id": "a\x00b"}, LEAST | {"paymentRequestUrl": "x" * 2049}),
    *(LEAST | {"expiresAt": "soon"}, LEAST | {"expiresAt": [1]}, LEAST | {"totalUnits": "many"}),
    *(LEAST | {"notifications": 5}, LEAST | {"id": "a\ud800"}),
]


async def test_an_answer_that_is_no_payment_request_is_a_bad_answer(
    client: Client, peer: ScriptedServer
) -> None:
    for body in NO_REQUEST:
        await peer.add_answers(http_response(200, body))
        with pytest.raises(errors.BadAnswer):
            await client.create({}, "key")
    for body in (b"<html>", b"{", b"NaN", b"\xff"):
        await peer.add_answers(http_response(200, body))
        with pytest.raises(errors.BadAnswer, match="no JSON"):
            await client.create({}, "key")


REFUSALS: list[tuple[int, str | None, type[BotError]]] = [
    (400, "invalidBody", errors.InvalidBody),
    (400, "emailUnavailable", errors.EmailUnavailable),
    (400, "somethingNew", errors.InvalidBody),
    (400, None, errors.InvalidBody),
    (422, None, errors.InvalidBody),
    (401, "unauthorized", errors.Unauthorized),
    (403, None, errors.Unauthorized),
    (404, "notFound", errors.NotFound),
    (401, None, errors.Unauthorized),
    (404, None, errors.NotFound),
    (405, None, errors.MethodNotAllowed),
    (409, None, errors.NotEnoughUnits),
    (409, "notLimited", errors.NotLimited),
    (409, "notEnoughUnits", errors.NotEnoughUnits),
    (409, "idempotencyMismatch", errors.IdempotencyMismatch),
    (413, None, errors.BodyTooLarge),
    (415, None, errors.UnsupportedMediaType),
    (418, None, errors.BadAnswer),
    (429, "rateLimited", errors.Throttled),
    (500, "internal", errors.Overloaded),
    (503, None, errors.Overloaded),
]


async def test_each_refusal_raises_its_own_error(client: Client, peer: ScriptedServer) -> None:
    for status, code, kind in REFUSALS:
        refusal: dict[str, Any] = {"code": code, "message": "Words.", "info": []}
        await peer.add_answers(http_response(status, refusal))
        with pytest.raises(BotError) as caught:
            await client.create({}, "key")
        assert type(caught.value) is kind, (status, code)


async def test_a_refusal_carries_its_field_and_message(
    client: Client, peer: ScriptedServer
) -> None:
    info = [{"field": "product.name", "message": "Too long."}, "odd", {"message": 5}]
    await peer.add_answers(
        http_response(400, {"code": "invalidBody", "message": "Words.", "info": info})
    )
    with pytest.raises(errors.InvalidBody, match=r"^Words\.$") as caught:
        await client.create({}, "key")
    assert caught.value.info == (FieldProblem("product.name", "Too long."), FieldProblem("", "5"))


async def test_a_refusal_without_a_message_has_our_own(
    client: Client, peer: ScriptedServer
) -> None:
    for body in (b"<html>", b"", b"[1]", b'{"message": 5, "info": 7, "code": {}}'):
        await peer.add_answers(http_response(400, body))
        with pytest.raises(errors.InvalidBody, match=r"^The body is not valid\.$"):
            await client.create({}, "key")


async def test_retry_after_is_parsed_as_seconds(client: Client, peer: ScriptedServer) -> None:
    """It is sent as seconds or as a date, which is compared with the server's own Date."""
    date = "Fri, 15 Jan 2027 08:00:00 GMT"
    seconds = {"17": 17, "Fri, 15 Jan 2027 08:02:00 GMT": 120}
    odd = ("soon", "-1", "", "1.5", "0", "Fri, 15 Jan 2027 07:00:00 GMT")
    for header in (*seconds, *odd):
        await peer.add_answers(http_response(429, Retry_After=header, Date=date))
        with pytest.raises(errors.Overloaded) as caught:
            await client.create({}, "key")
        assert caught.value.retry_after == seconds.get(header), header


async def test_a_lost_answer_and_a_refused_connection_are_unreachable(
    client: Client, peer: ScriptedServer
) -> None:
    await peer.add_answers(CUT)
    with pytest.raises(errors.Unreachable) as caught:
        await client.create({}, "key")
    assert "s3cret" not in str(caught.value)
    nobody = Client("http://127.0.0.1:1", "a", "b")
    with pytest.raises(errors.Unreachable, match="ConnectError"):
        await anext(nobody.request_pages())
    await nobody.close()


async def test_stopping_is_an_edit_that_ends_it_in_a_second(
    client: Client, peer: ScriptedServer
) -> None:
    await peer.add_answers(http_response(200, LEAST))
    await client.pause(ID)
    (call,) = peer.calls
    assert (call.method, call.path) == ("PUT", f"/v3/paymentRequests/{ID}")
    assert json.loads(call.body) == {"expirationInSeconds": 1}


async def test_resuming_removes_the_end_or_sets_a_distant_one(
    client: Client, peer: ScriptedServer
) -> None:
    """The distant end is for servers that take no null."""
    await peer.add_answers(http_response(400, {"code": "invalidBody"}), http_response(200, LEAST))
    await client.resume(ID, None)
    assert [json.loads(call.body) for call in peer.calls] == [
        {"expirationInSeconds": None},
        {"expirationInSeconds": MAX_SECONDS},
    ]


@pytest.mark.parametrize("status", [200, 204, 404])
async def test_deleting_a_missing_request_is_no_error(
    client: Client, peer: ScriptedServer, status: int
) -> None:
    await peer.add_answers(http_response(status))
    await client.delete(ID)
    assert (peer.calls[0].method, peer.calls[0].body) == ("DELETE", b"")


@pytest.mark.parametrize("units", [-1, 10**30, 1e300])
async def test_impossible_numbers_of_units_are_unknown(
    client: Client, peer: ScriptedServer, units: float
) -> None:
    assert (await created(client, peer, remainingUnits=units)).remaining_units is None


# Our own service understands every call of the client, over a socket and within the process.


async def with_service(
    db: Database, clock: Clock, act: Callable[[Client], Awaitable[None]], *, inside: bool
) -> None:
    """Run a function with a client of our own service."""
    vault = Vault("key")
    made = db.run(lambda tx: applications.create(tx, vault, "bot", clock()))
    service = make_service(db, clock, "http://pay.test", allow=LOOPBACK)
    app = create_app(service)
    if inside:
        http = app_client(app)
        await act(Client("http://bot.internal", made.app_id, made.app_secret, http=http))
        return
    async with serve_asgi(app) as root:
        client = Client(root, made.app_id, made.app_secret)
        await act(client)
        await client.close()


@pytest.mark.parametrize("inside", [True, False])
async def test_our_own_service_understands_every_call(
    db: Database, clock: Clock, *, inside: bool
) -> None:
    webhook = {"webhookUrl": "http://127.0.0.1/x", "customParameters": {"listing": "abc"}}
    body = NEW | {"notifications": {"webhook": webhook}}

    async def act(client: Client) -> None:
        made = await client.create(body, "abc")
        assert await client.create(body, "abc") == made
        assert (made.link_id, made.is_enabled) == ("abc", True)
        assert (await client.get(made.id), await client.find_by_link("abc", NOON)) == (
            made,
            [made],
        )
        assert await client.find_by_link("other", NOON) == []
        await client.pause(made.id)
        clock.advance(1)
        assert (await client.get(made.id)).is_enabled is False
        await client.resume(made.id, None)
        assert (await client.get(made.id)).is_enabled is True
        await client.delete(made.id)
        await client.delete(made.id)
        with pytest.raises(errors.NotFound):
            await client.get(made.id)

    await with_service(db, clock, act, inside=inside)
