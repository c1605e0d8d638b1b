"""Downloads from the Bot API server: over HTTP, by path, and within the limit of bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from bot.chat.telegram.downloads import Downloads
from bot.chat.telegram.transport import make_bot
from bot.core.errors import BadAnswer, Overloaded, PictureError, Refused, Unreachable
from tests.support.asgi_server import serve_asgi
from tests.support.service_harness import Clock

if TYPE_CHECKING:
    from starlette.requests import Request


TOKEN = "42:secret"
MOST = 1_000
RESULT = {"file_id": "f", "file_unique_id": "u", "file_path": "photos/file 0.jpg"}


@dataclass
class Server:
    """A Bot API server that answers getFile with `result`, and a download with `response`."""

    clock: Clock
    result: Any = None
    response: Response = field(default_factory=lambda: Response(b"bytes"))
    downloads: list[str] = field(default_factory=list)
    sent: int = 0
    root: str = ""

    async def get_file(self, _request: Request) -> Response:
        return JSONResponse({"ok": True, "result": self.result or RESULT})

    async def download(self, request: Request) -> Response:
        self.downloads.append(request.path_params["path"])
        return self.response

    async def fetch(self) -> bytes:
        bot = make_bot(self.root, TOKEN, 2)
        downloads = Downloads(bot, self.root, self.clock)
        try:
            return bytes(await downloads.fetch("f", MOST))
        finally:
            await downloads.close()
            await bot.request.shutdown()

    async def endless(self) -> AsyncIterator[bytes]:
        """Stream more than any client may read; one that stops reads far less."""
        for _ in range(100_000):
            self.sent += MOST
            yield bytes(MOST)
            await asyncio.sleep(0)


@asynccontextmanager
async def serving(clock: Clock) -> AsyncIterator[Server]:
    server = Server(clock)
    routes = [
        Route(f"/bot{TOKEN}/getFile", server.get_file, methods=["POST"]),
        Route(f"/file/bot{TOKEN}/{{path:path}}", server.download),
    ]
    async with serve_asgi(Starlette(routes=routes)) as server.root:
        yield server


@pytest.fixture
async def server(clock: Clock) -> AsyncIterator[Server]:
    async with serving(clock) as made:
        yield made


async def test_a_file_is_fetched_from_its_path_below_the_bots_files(server: Server) -> None:
    assert await server.fetch() == b"bytes"
    assert server.downloads == ["photos/file 0.jpg"]


async def test_a_file_on_this_machine_is_not_read(server: Server, tmp_path: Path) -> None:
    """As a server in local mode names it; nor is it requested over HTTP."""
    secret = tmp_path / "secret.jpg"
    secret.write_bytes(b"of the disk")
    server.result = RESULT | {"file_path": str(secret)}
    with pytest.raises(Refused, match="file_path"):
        await server.fetch()
    assert server.downloads == []


@pytest.mark.parametrize(
    "path",
    [
        None, "", "/etc/nothing", "//etc/nothing", "../../bot42:secret/getMe", "photos/../x",
        "a//b", "./x", "https://elsewhere.example/x", "file:///etc/hosts", "C:\\secret.jpg", "a\\b",
        "line\nbreak", 7, ["photos/x"], {"a": 1},
    ],
)  # fmt: skip
async def test_an_odd_path_is_refused(server: Server, path: object) -> None:
    server.result = RESULT | {"file_path": path}
    with pytest.raises(Refused):
        await server.fetch()
    assert server.downloads == []


@pytest.mark.parametrize("result", [[], "text", 7, {"file_path": "photos/x"}])
async def test_an_answer_of_another_shape_is_refused(server: Server, result: object) -> None:
    server.result = result or [1]
    with pytest.raises(Refused, match="can't be read"):
        await server.fetch()


async def test_a_download_without_end_is_cancelled(server: Server) -> None:
    server.response = StreamingResponse(server.endless())
    with pytest.raises(PictureError, match="too large"):
        await server.fetch()
    assert server.sent < 10_000_000


async def test_a_file_announced_as_too_large_is_not_fetched(server: Server) -> None:
    server.result = RESULT | {"file_size": MOST + 1}
    with pytest.raises(PictureError, match="too large"):
        await server.fetch()
    assert server.downloads == []


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (Response(status_code=404), Refused),
        (Response(status_code=500), Overloaded),
        (RedirectResponse("https://elsewhere.example/"), BadAnswer),
    ],
)
async def test_an_answer_that_is_no_file_is_an_error(
    server: Server, response: Response, error: type[Exception]
) -> None:
    """A redirect is not followed, wherever it leads."""
    server.response = response
    with pytest.raises(error, match="download was answered"):
        await server.fetch()


async def test_the_wait_that_a_server_requests_is_kept(server: Server) -> None:
    server.response = Response(status_code=429, headers={"Retry-After": "7"})
    with pytest.raises(Overloaded) as caught:
        await server.fetch()
    assert caught.value.retry_after == 7


async def test_a_lost_connection_is_reported_without_the_token(server: Server) -> None:
    """The text of the error contains the address, and so the token."""
    server.root = "http://127.0.0.1:1"
    downloads = Downloads(make_bot(server.root, TOKEN, 2), server.root, server.clock)
    with pytest.raises(Unreachable) as caught:
        await downloads._download(f"{server.root}/file/bot{TOKEN}/x", MOST)
    await downloads.close()
    assert TOKEN not in str(caught.value)
