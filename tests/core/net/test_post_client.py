"""Posts over kept connections: what is sent, what counts as an answer, what is used again."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from bot.core.errors import ForbiddenAddress
from bot.core.net import post_client
from bot.core.net.guarded_transport import MOST_READ, GuardedDialler
from bot.core.net.http_client import ssl_context
from bot.core.net.post_client import PostClient
from bot.core.net.webhook_addresses import AllowList
from tests.support.certificates import make_tls
from tests.support.endless_answers import endless_answers
from tests.support.webhook_receiver import OK, Receiver, empty_answer, open_receiver

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
) -> AsyncIterator[PostClient]:
    made = PostClient(
        GuardedDialler(allow),
        context or ssl_context(),
        {"User-Agent": "us"},
        seconds=SECONDS,
        longest=LONGEST,
    )
    yield made
    await made.close()


@pytest.fixture
async def posts() -> AsyncIterator[PostClient]:
    async with open_client() as it:
        yield it


async def post(posts: PostClient, url: str, body: bytes = b"{}") -> tuple[int, bytes]:
    async with asyncio.timeout(SECONDS):
        reply = await posts.post(url, {"webhook-id": "w"}, body)
        return reply.status, await reply.read(SECONDS)


async def test_a_post_has_its_line_host_headers_and_body(
    posts: PostClient, receiver: Receiver
) -> None:
    """The query is sent, the fragment is not; a port that is no default is part of the host."""
    url = f"{receiver.url}/%C3%A9?key=a%20b#part"
    assert await post(posts, url, b'{"a":1}') == (200, b"ok")
    (received,) = receiver.received
    assert received.line == "POST /hook/%C3%A9?key=a%20b HTTP/1.1"
    assert received.headers == {
        "host": f"127.0.0.1:{receiver.port}",
        "user-agent": "us",
        "webhook-id": "w",
        "content-length": "7",
    }
    assert received.body == b'{"a":1}'


async def test_a_connection_is_used_again_after_a_whole_answer(
    posts: PostClient, receiver: Receiver
) -> None:
    for _ in range(3):
        assert await post(posts, receiver.url) == (200, b"ok")
        assert len(receiver.open) == 1


async def test_simultaneous_posts_have_a_connection_each_and_all_are_kept(
    posts: PostClient, receiver: Receiver
) -> None:
    receiver.silent = True
    asking = [asyncio.create_task(post(posts, receiver.url)) for _ in range(40)]
    await receiver.count(40)
    receiver.silent = False
    receiver.release.set()
    assert set(await asyncio.gather(*asking)) == {(200, b"ok")}
    first = set(receiver.open)
    await asyncio.gather(*(post(posts, receiver.url) for _ in range(40)))
    assert set(receiver.open) == first


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nnonsense\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 999999\r\n\r\n" + b"x" * LONGEST,
        OK + empty_answer(410),
        b"HTTP/1.1 101 Upgrade\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\nok",
    ],
    ids=["close", "1.0", "broken", "long", "two", "upgrade"],
)
async def test_a_connection_is_closed_after_any_other_answer(
    posts: PostClient, receiver: Receiver, answer: bytes
) -> None:
    receiver.answers = [answer]
    status, _ = await post(posts, receiver.url)
    assert status == (101 if b"101" in answer else 200)
    assert await post(posts, receiver.url) == (200, b"ok")
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
    ],
    ids=["empty", "no body", "interim", "chunked", "long"],
)
async def test_answers_are_read_as_the_standard_says(
    posts: PostClient, receiver: Receiver, answer: bytes, expected: tuple[int, bytes]
) -> None:
    receiver.answers = [answer]
    assert await post(posts, receiver.url) == expected


async def test_a_body_without_a_length_ends_with_the_connection(posts: PostClient) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(b"HTTP/1.1 200 OK\r\nRetry-After: 7\r\n\r\nend")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        reply = await posts.post(url, {}, b"{}")
        assert reply.headers == {"retry-after": "7"}
        assert await reply.read(SECONDS) == b"end"


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"nonsense\r\n\r\n", httpx.RemoteProtocolError),
        (b"HTTP/1.1 2x0 OK\r\n\r\n", httpx.RemoteProtocolError),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
            httpx.RemoteProtocolError,
        ),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * MOST_READ, httpx.ReadError),
    ],
    ids=["nonsense", "status", "two lengths", "endless head"],
)
async def test_what_is_no_answer_is_an_error(
    posts: PostClient, receiver: Receiver, answer: bytes, error: type[Exception]
) -> None:
    receiver.answers = [answer]
    with pytest.raises(error):
        await post(posts, receiver.url)


async def test_interim_answers_without_end_are_cut_off(posts: PostClient) -> None:
    """Each of them is parsed before the answer begins, so no limit of the body sees them."""
    async with endless_answers(b"{}") as server:
        with pytest.raises(httpx.ReadError, match="without end"):
            await post(posts, server.url)
    assert server.sent < 64 * MOST_READ


async def test_a_connection_that_the_server_closed_is_not_used_again(
    posts: PostClient, receiver: Receiver
) -> None:
    await post(posts, receiver.url)
    (writer,) = receiver.open
    writer.close()
    await receiver.left()
    assert await post(posts, receiver.url) == (200, b"ok")


async def test_bytes_that_nobody_asked_for_close_the_connection(
    posts: PostClient, receiver: Receiver
) -> None:
    """They would be read as the answer to the next post."""
    await post(posts, receiver.url)
    (writer,) = receiver.open
    writer.write(empty_answer(410))
    await receiver.left()
    assert await post(posts, receiver.url) == (200, b"ok")


async def test_an_idle_connection_is_closed_before_servers_close_theirs(
    posts: PostClient, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert post_client.KEPT_SECONDS < 5
    monkeypatch.setattr(post_client, "KEPT_SECONDS", 0.01)
    await post(posts, receiver.url)
    await receiver.left()


async def test_a_post_that_is_given_up_closes_its_connection(
    posts: PostClient, receiver: Receiver
) -> None:
    receiver.silent = True
    asking = asyncio.create_task(post(posts, receiver.url))
    await receiver.count(1)
    asking.cancel()
    await asyncio.wait([asking])
    receiver.silent = False
    receiver.release.set()
    assert await post(posts, receiver.url) == (200, b"ok")
    assert len(receiver.received) == 2


async def test_only_permitted_addresses_are_dialled(receiver: Receiver) -> None:
    async with open_client(AllowList()) as strict:
        for url in (receiver.url, receiver.url.replace("127.0.0.1", "0x7f.1")):
            with pytest.raises(ForbiddenAddress):
                await post(strict, url)
    assert receiver.received == []


async def test_an_error_of_a_connection_does_not_name_its_address(posts: PostClient) -> None:
    """A name that the operator allows may stand for a private one."""
    with pytest.raises(httpx.ConnectError) as raised:
        await post(posts, "http://127.0.0.1:1/")
    assert str(raised.value) == "Connection refused"


@pytest.mark.parametrize("url", ["ftp://h.example/", "http:///w", "mailto:a@h.example", "//h/"])
async def test_what_is_no_web_address_is_an_error(posts: PostClient, url: str) -> None:
    with pytest.raises((httpx.UnsupportedProtocol, httpx.InvalidURL)):
        await post(posts, url)


async def test_tls_is_checked_and_its_connection_is_kept(tmp_path: Path) -> None:
    contexts = make_tls(tmp_path)
    receiver = Receiver()
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0, ssl=contexts.server)
    url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"
    async with server, open_client() as strict, open_client(context=contexts.client) as trusting:
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            await post(strict, url)
        for _ in range(2):
            assert await post(trusting, url) == (200, b"ok")
        assert len(receiver.open) == 1
        await trusting.close()
