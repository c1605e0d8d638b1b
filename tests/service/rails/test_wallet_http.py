"""Wallets are called at public addresses over https, or where the operator allows it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
from starlette.responses import Response

from bot.core.errors import (
    BadAnswer,
    ForbiddenAddress,
    NotReached,
    Overloaded,
    PeerError,
    Throttled,
)
from bot.core.net.guarded_transport import MOST_READ
from bot.core.net.webhook_addresses import AllowList
from bot.service.checkouts import wallet_calls
from bot.service.rails.wallet_http import WalletHttp
from tests.support.http_peers import endless_answers
from tests.support.lightning_wallet import (
    BROKEN_ANSWERS,
    THIS_MACHINE,
    LnurlService,
    serve_wallet,
    shorten_unfinished,
    text_answer,
)
from tests.support.service_harness import Clock


@pytest.fixture
async def wallet(clock: Clock) -> AsyncIterator[LnurlService]:
    made = LnurlService(clock)
    async with serve_wallet(made):
        yield made


@pytest.fixture
async def http() -> AsyncIterator[WalletHttp]:
    made = WalletHttp(THIS_MACHINE)
    yield made
    await made.close()


@pytest.mark.parametrize(
    "url",
    [
        *("http://wallet.example/", "ftp://wallet.example/", "wallet.example", ""),
        *("https://10.0.0.1/", "https://127.0.0.2/", "https://[::1]/", "https://localhost/"),
        *("https://169.254.169.254/", "https://user:pw@wallet.example/", "https://2130706434/"),
        *("http://127.0.0.2:80/", "https://wallet.example:0/", "https://wal let.example/"),
    ],
)
async def test_what_is_not_public_or_not_encrypted_is_not_called(url: str) -> None:
    http = WalletHttp(THIS_MACHINE)
    with pytest.raises(ForbiddenAddress):
        await http.get(url)
    with pytest.raises(ForbiddenAddress):
        await http.post(url, {}, {})
    await http.close()


async def test_a_public_name_of_a_private_address_is_not_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The address that is dialled counts, not the name."""
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.1", 0))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    http = WalletHttp(AllowList())
    with pytest.raises(ForbiddenAddress):
        await http.get("https://wallet.example/")
    await http.close()


@pytest.mark.parametrize(
    "url",
    [
        *("https://wallet.example/", "https://wallet.example:8443/x?y", "HTTPS://wallet.example"),
        *("http://127.0.0.1:5055/", "http://pay.lan/", "http://10.1.2.3:80/", "https://pay.lan/"),
    ],
)
async def test_the_operator_may_allow_hosts_and_networks_with_http_and_ports(url: str) -> None:
    http = WalletHttp(AllowList.parse("127.0.0.1, pay.lan, 10.0.0.0/8"))
    assert http.check(url) == url
    await http.close()


async def test_an_allowed_port_is_the_only_one_with_http() -> None:
    http = WalletHttp(AllowList.parse("127.0.0.1:5055, pay.lan:443, pay.lan:80"))
    for url in ("http://127.0.0.1:5055/", "http://pay.lan/", "https://pay.lan:9000/"):
        assert http.check(url) == url
    for url in ("http://127.0.0.1/", "https://127.0.0.1:5056/", "http://pay.lan:5055/"):
        with pytest.raises(ForbiddenAddress):
            http.check(url)
    await http.close()


async def test_an_answer_is_a_status_and_an_object(wallet: LnurlService, http: WalletHttp) -> None:
    wallet.answers["offer"] = text_answer('{"a": 1.50}', 404)
    found = await http.get(f"{wallet.url}/.well-known/lnurlp/shop")
    assert found.status == 404
    assert str(found.fields["a"]) == "1.50"
    (call,) = wallet.asked
    assert call.headers["accept-encoding"] == "identity"


@pytest.mark.long
@pytest.mark.parametrize("name", BROKEN_ANSWERS)
async def test_a_broken_answer_is_an_error_of_the_peer(
    name: str, wallet: LnurlService, http: WalletHttp, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten_unfinished(name, monkeypatch)
    wallet.answers["offer"] = BROKEN_ANSWERS[name]
    with pytest.raises(PeerError) as raised:
        await http.get(f"{wallet.url}/.well-known/lnurlp/shop?secret=1")
    assert "secret" not in str(raised.value)
    assert len(wallet.asked) == 1


@pytest.mark.parametrize(
    ("name", "error"),
    [
        *[("tooManyCalls", Throttled), ("htmlError", Overloaded), ("html", BadAnswer)],
        *[("redirectToPrivate", BadAnswer), ("endless", BadAnswer), ("gzip", BadAnswer)],
    ],
)
async def test_the_kind_of_error_says_whether_to_ask_again(
    name: str, error: type[PeerError], wallet: LnurlService, http: WalletHttp
) -> None:
    wallet.answers["offer"] = BROKEN_ANSWERS[name]
    with pytest.raises(error):
        await http.get(f"{wallet.url}/.well-known/lnurlp/shop")


async def test_a_wallet_that_is_down_was_not_reached(http: WalletHttp) -> None:
    with pytest.raises(NotReached):
        await http.get("http://127.0.0.1:9/")


async def test_a_cookie_is_never_sent_back(wallet: LnurlService, http: WalletHttp) -> None:
    wallet.answers["offer"] = lambda: Response("{}", headers={"set-cookie": "id=1; path=/"})
    for _ in range(2):
        await http.get(f"{wallet.url}/.well-known/lnurlp/shop")
    assert "cookie" not in wallet.asked[1].headers


@pytest.mark.long
async def test_wallets_that_stay_silent_take_no_connection_of_another(
    wallet: LnurlService, http: WalletHttp
) -> None:
    """As many as may be opened and polled together, each at a host of its own."""

    async def keep_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await reader.read()
        writer.close()

    server = await asyncio.start_server(keep_silent, "127.0.0.1", 0)
    silent = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    asks = [asyncio.create_task(http.get(silent)) for _ in range(2 * wallet_calls.ROOM)]
    await asyncio.sleep(0)
    try:
        async with asyncio.timeout(5):
            await http.get(f"{wallet.url}/.well-known/lnurlp/shop")
    finally:
        for ask in asks:
            ask.cancel()
        await asyncio.gather(*asks, return_exceptions=True)
        server.close()


async def test_interim_answers_without_end_are_cut_off(http: WalletHttp) -> None:
    """Each of them is parsed before the answer begins, so no limit of the body sees them."""
    async with endless_answers(b"\r\n\r\n") as server:
        with pytest.raises(PeerError):
            await http.get(server.url)
        began = server.sent
        await http.close()
        await asyncio.sleep(0)
    assert began < 64 * MOST_READ
