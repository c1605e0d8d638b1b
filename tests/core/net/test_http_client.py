"""Calls through the guard: what is sent, what counts as an answer, which connection is reused."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from bot.core import errors
from bot.core.net import http_client
from bot.core.net.guarded_transport import MOST_READ, guarded_client
from bot.core.net.http_client import HttpClient
from bot.core.net.webhook_addresses import AllowList
from tests.support.asgi_server import make_tls
from tests.support.http_peers import OK, Receiver, empty_answer, endless_answers, open_receiver

LOOPBACK = AllowList.parse("127.0.0.0/8")
LONGEST = 16
SECONDS = 5.0


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with open_receiver() as it:
        yield it


@asynccontextmanager
async def open_client(
    allow: AllowList = LOOPBACK, context: ssl.SSLContext | None = None
) -> AsyncIterator[HttpClient]:
    async with guarded_client(allow, verify=context) as it:
        yield it


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    async with open_client() as it:
        yield it


async def post(client: HttpClient, url: str, body: bytes = b"{}") -> tuple[int, bytes]:
    """Post; return the status and the first bytes of the body, as far as they came."""
    kept = b""
    async with (
        asyncio.timeout(SECONDS),
        await client.send("POST", url, {"webhook-id": "w"}, body, seconds=SECONDS) as answer,
    ):
        with suppress(errors.Unreachable):
            async for chunk in answer.chunks():
                kept += chunk
                if len(kept) >= LONGEST:
                    break
    return answer.status, kept[:LONGEST]


def test_certificates_are_verified_unless_a_caller_says_otherwise() -> None:
    for context in (http_client.ssl_context(), http_client.new_ssl_context()):
        assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)


async def test_a_post_has_its_line_host_headers_and_body(
    client: HttpClient, receiver: Receiver
) -> None:
    """The query is sent, the fragment is not; a port that is no default is part of the host."""
    url = f"{receiver.url}/%C3%A9?key=a%20b#part"
    assert await post(client, url, b'{"a":1}') == (200, b"ok")
    (received,) = receiver.received
    assert received.line == "POST /hook/%C3%A9?key=a%20b HTTP/1.1"
    assert received.headers == {
        "host": f"127.0.0.1:{receiver.port}",
        "user-agent": "payment-request-bot",
        "accept": "*/*",
        "accept-encoding": "identity",
        "webhook-id": "w",
        "content-length": "7",
    }
    assert received.body == b'{"a":1}'


async def test_a_connection_is_used_again_after_a_whole_answer(
    client: HttpClient, receiver: Receiver
) -> None:
    for _ in range(3):
        assert await post(client, receiver.url) == (200, b"ok")
        assert len(receiver.open) == 1


async def test_simultaneous_posts_have_a_connection_each_and_all_are_kept(
    client: HttpClient, receiver: Receiver
) -> None:
    receiver.silent = True
    asking = [asyncio.create_task(post(client, receiver.url)) for _ in range(40)]
    await receiver.count(40)
    receiver.silent = False
    receiver.release.set()
    assert set(await asyncio.gather(*asking)) == {(200, b"ok")}
    first = set(receiver.open)
    await asyncio.gather(*(post(client, receiver.url) for _ in range(40)))
    assert set(receiver.open) == first


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nnonsense\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 999999\r\n\r\n" + b"x" * LONGEST,
    ],
    ids=["close", "1.0", "broken", "long"],
)
async def test_a_connection_is_closed_after_any_other_answer(
    client: HttpClient, receiver: Receiver, answer: bytes
) -> None:
    receiver.answers = [answer]
    assert (await post(client, receiver.url))[0] == 200
    assert await post(client, receiver.url) == (200, b"ok")
    assert len(receiver.received) == 2
    assert len(receiver.open) == 1


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (empty_answer(204), (204, b"")),
        (b"HTTP/1.1 304 X\r\nContent-Length: 9\r\n\r\n", (304, b"")),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 X\r\nLink: a\r\n\r\n" + OK, (200, b"ok")),
        (
            b"HTTP/1.1 201 X\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
            (201, b"abc"),
        ),
        (b"HTTP/1.1 200 X\r\nContent-Length: 99\r\n\r\n" + b"y" * 99, (200, b"y" * LONGEST)),
        (
            b"HTTP/1.1 200 X\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08",
            (200, b"\x1f\x8b\x08"),
        ),
    ],
    ids=["empty", "no body", "interim", "chunked", "long", "compressed"],
)
async def test_answers_are_read_as_the_standard_says(
    client: HttpClient, receiver: Receiver, answer: bytes, expected: tuple[int, bytes]
) -> None:
    receiver.answers = [answer]
    assert await post(client, receiver.url) == expected


async def test_a_body_without_a_length_ends_with_the_connection(client: HttpClient) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(b"HTTP/1.1 200 OK\r\nRetry-After: 7\r\n\r\nend")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        reply = await client.call("POST", url, {}, b"{}", seconds=SECONDS)
    assert (dict(reply.headers), reply.body) == ({"retry-after": "7"}, b"end")


@pytest.mark.parametrize(
    "answer",
    [
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 2x0 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * MOST_READ,
        b"HTTP/1.1 101 Upgrade\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\nok",
    ],
    ids=["nonsense", "status", "two lengths", "endless head", "upgrade"],
)
async def test_what_is_no_answer_is_an_error(
    client: HttpClient, receiver: Receiver, answer: bytes
) -> None:
    receiver.answers = [answer]
    with pytest.raises(errors.BrokenOff, match="RemoteProtocolError: "):
        await post(client, receiver.url)


async def test_interim_answers_without_end_are_cut_off(client: HttpClient) -> None:
    """Each of them is parsed before the answer begins, so no limit of the body sees them."""
    async with endless_answers(b"{}") as server:
        with pytest.raises(errors.BrokenOff, match="without end"):
            await post(client, server.url)
    assert server.sent < 64 * MOST_READ


async def test_a_connection_that_the_server_closed_is_not_used_again(
    client: HttpClient, receiver: Receiver
) -> None:
    await post(client, receiver.url)
    (writer,) = receiver.open
    writer.close()
    await receiver.left()
    assert await post(client, receiver.url) == (200, b"ok")


async def test_a_post_whose_connection_ends_is_an_error_and_is_not_sent_again(
    client: HttpClient, receiver: Receiver
) -> None:
    """The server may have acted on it, so only the caller may decide to repeat it."""
    await post(client, receiver.url)
    receiver.silent = True
    asking = asyncio.create_task(post(client, receiver.url))
    await receiver.count(2)
    (writer,) = receiver.open
    writer.transport.abort()
    with pytest.raises(errors.BrokenOff):
        await asking
    assert len(receiver.received) == 2


async def test_bytes_that_nobody_asked_for_close_the_connection(
    client: HttpClient, receiver: Receiver
) -> None:
    """They would be read as the answer to the next post."""
    await post(client, receiver.url)
    (writer,) = receiver.open
    writer.write(empty_answer(410))
    await writer.drain()
    assert await post(client, receiver.url) == (200, b"ok")


async def test_an_answer_that_came_before_its_post_is_an_error(
    client: HttpClient, receiver: Receiver
) -> None:
    """It came with the last answer."""
    receiver.answers = [OK + empty_answer(410)]
    assert await post(client, receiver.url) == (200, b"ok")
    with pytest.raises(errors.BrokenOff, match="nobody asked for"):
        await post(client, receiver.url)
    assert await post(client, receiver.url) == (200, b"ok")


async def test_a_connection_is_not_used_when_servers_close_theirs(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert http_client.KEPT_SECONDS < 5
    monkeypatch.setattr(http_client, "KEPT_SECONDS", 0.0)
    async with open_client() as client:
        await post(client, receiver.url)
        (first,) = receiver.open
        await post(client, receiver.url)
        assert set(receiver.open) - {first}


async def test_a_post_that_is_given_up_closes_its_connection(
    client: HttpClient, receiver: Receiver
) -> None:
    receiver.silent = True
    asking = asyncio.create_task(post(client, receiver.url))
    await receiver.count(1)
    asking.cancel()
    await asyncio.wait([asking])
    receiver.silent = False
    receiver.release.set()
    assert await post(client, receiver.url) == (200, b"ok")
    assert len(receiver.received) == 2


async def test_a_silent_server_is_unreachable(client: HttpClient, receiver: Receiver) -> None:
    receiver.silent = True
    with pytest.raises(errors.Unreachable, match=r"^ReadTimeout$") as raised:
        await client.call("GET", receiver.url, {}, seconds=0.05)
    assert type(raised.value) is errors.Unreachable


async def test_cookies_are_not_kept_and_redirects_not_followed(
    client: HttpClient, receiver: Receiver
) -> None:
    receiver.answers = [empty_answer(302, f"Location: {receiver.url}/x", "Set-Cookie: a=b; Path=/")]
    assert (await post(client, receiver.url))[0] == 302
    await post(client, receiver.url)
    assert [one.line for one in receiver.received] == ["POST /hook HTTP/1.1"] * 2
    assert ["cookie" in one.headers for one in receiver.received] == [False] * 2


async def test_only_permitted_addresses_are_dialled(receiver: Receiver) -> None:
    async with open_client(AllowList()) as strict:
        for url in (receiver.url, receiver.url.replace("127.0.0.1", "0x7f.1")):
            with pytest.raises(errors.ForbiddenAddress):
                await post(strict, url)
    assert receiver.received == []


async def test_an_error_of_a_connection_does_not_name_its_address(client: HttpClient) -> None:
    """A name that the operator allows may stand for a private one."""
    with pytest.raises(errors.NotReached) as raised:
        await post(client, "http://127.0.0.1:1/")
    assert str(raised.value) == "ConnectError: Connection refused"


async def test_a_name_without_an_address_is_an_error_of_its_own() -> None:
    async def unknown(_host: str, _port: int) -> list[str]:
        raise OSError("[Errno -2] Name or service not known")

    async with guarded_client(LOOPBACK, resolver=unknown) as client:
        with pytest.raises(errors.NoSuchHost) as raised:
            await post(client, "http://pay.example/")
    text = "ConnectError: pay.example: [Errno -2] Name or service not known"
    assert str(raised.value) == text


@pytest.mark.parametrize(
    "url", ["ftp://h.example/", "http:///w", "mailto:a@h.example", "//h/", "http://xn--a.example/"]
)
async def test_what_is_no_web_address_is_an_error(client: HttpClient, url: str) -> None:
    with pytest.raises(errors.NotReached):
        await post(client, url)


async def test_tls_is_checked_and_its_connection_is_kept(tmp_path: Path) -> None:
    contexts = make_tls(tmp_path)
    receiver = Receiver()
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0, ssl=contexts.server)
    url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"
    async with server, open_client() as strict, open_client(context=contexts.client) as trusting:
        with pytest.raises(errors.NotSecure, match="CERTIFICATE_VERIFY_FAILED"):
            await post(strict, url)
        for _ in range(2):
            assert await post(trusting, url) == (200, b"ok")
        assert len(receiver.open) == 1
        await trusting.close()


# Addresses that may be reached through the environment's proxy.


@pytest.mark.parametrize(
    ("url", "leaves"),
    [
        ("https://api.telegram.org", True),
        ("https://93.184.216.34/x", True),
        ("http://127.0.0.1:8080", False),
        ("http://[::1]:8080", False),
        ("http://192.168.1.7:8081", False),
        ("http://localhost:8081", False),
    ],
)
def test_only_public_addresses_use_the_proxy(url: str, *, leaves: bool) -> None:
    assert http_client.may_use_proxy(url) == leaves


def test_certificates_are_loaded_once() -> None:
    assert http_client.ssl_context() is http_client.ssl_context()


@pytest.mark.parametrize(
    ("environment", "proxy"),
    [
        ({}, None),
        ({"HTTPS_PROXY": "http://proxy.example:3128"}, "http://proxy.example:3128"),
        ({"ALL_PROXY": "proxy.example:3128"}, "http://proxy.example:3128"),
        ({"HTTP_PROXY": "http://proxy.example:3128"}, None),
        ({"HTTPS_PROXY": "http://proxy.example:3128", "NO_PROXY": "telegram.org"}, None),
        ({"HTTPS_PROXY": "http://proxy.example:3128", "NO_PROXY": "*"}, None),
    ],
)
def test_the_environment_names_the_proxy_of_an_address(
    environment: dict[str, str], proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert http_client.proxy_for("https://api.telegram.org") == proxy
    assert http_client.proxy_for("https://127.0.0.1:8081") is None
