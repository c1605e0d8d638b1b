"""Downloads from the Bot API server: over HTTP, by path, and within the limit of bytes."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from bot.chat.model.drafts import Profile
from bot.chat.pictures.photo_preparation import PORTRAIT_SIDE, prepare_portrait
from bot.chat.store import seller_rows
from bot.chat.telegram.downloads import Downloads, PhotoIntake
from bot.chat.telegram.transport import make_bot
from bot.core import exact_json
from bot.core.errors import BadAnswer, Overloaded, PictureError, Refused, Unreachable
from bot.sandbox.world.errors import Fault
from bot.sandbox.world.people import Person
from tests.support.asgi_server import serve_asgi
from tests.support.chat_harness import ChatHarness, telegram_of
from tests.support.outbox_queue import handle_all
from tests.support.sample_pictures import opened, saved
from tests.support.service_harness import Clock

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


ODD_PATHS: tuple[object, ...] = (
    *(None, "", "/etc/nothing", "//etc/nothing", "../../bot42:secret/getMe", "photos/../x"),
    *("a//b", "./x", "https://elsewhere.example/x", "file:///etc/hosts", "C:\\secret.jpg", "a\\b"),
    *("line\nbreak", 7, ["photos/x"], {"a": 1}),
)


async def test_an_odd_path_is_refused(server: Server) -> None:
    for path in ODD_PATHS:
        server.result = RESULT | {"file_path": path}
        with pytest.raises(Refused):
            await server.fetch()
    assert server.downloads == []


async def test_an_answer_of_another_shape_is_refused(server: Server) -> None:
    for result in ([1], "text", 7, {"file_path": "photos/x"}):
        server.result = result
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


# Sellers' portraits: from Telegram's profile photo or sent to the bot, cropped to a square.


class Portraits:
    """A seller at the profile's step that asks for a picture."""

    def __init__(self, chat: ChatHarness, photos: PhotoIntake) -> None:
        self.chat = chat
        self.photos = photos
        self.anna: Person = chat.add_person("Anna")

    async def ask(self) -> None:
        await self.chat.presses(self.anna, "settings:sellerimage")

    async def press_own_photo(self) -> None:
        (row,) = self.chat.rows("drafts")
        draft = exact_json.loads(row["body"])["id"]
        await self.chat.presses(self.anna, f"draft:{draft}:telegram-photo")
        await self.fetch()

    async def fetch(self) -> None:
        await handle_all(self.chat.db, self.chat.queues.photos, self.photos.take, self.chat.clock)

    @property
    def profile(self) -> Profile:
        found = self.chat.db.run(lambda tx: seller_rows.find_seller(tx, self.anna.id))
        assert found is not None
        return found.profile

    @property
    def portrait(self) -> Image.Image:
        (row,) = self.chat.rows("images")
        assert (row["id"], row["kept"]) == (self.profile.image, 1)
        return opened(bytes(row["data"]))


@pytest.fixture
async def portraits(chat: ChatHarness) -> AsyncIterator[Portraits]:
    async with telegram_of(chat.world) as bot:
        root = bot.base_url.removesuffix(f"/bot{bot.token}")
        downloads = Downloads(bot, root, chat.clock)
        yield Portraits(
            chat, PhotoIntake(chat.db, downloads, chat.queues, chat.clock, chat.dialogue)
        )
        await downloads.close()


def thirds(width: int, height: int) -> Image.Image:
    """Draw a picture of three stripes: red, green in the centre, blue."""
    picture = Image.new("RGB", (width, height), (0, 255, 0))
    if width > height:
        picture.paste((255, 0, 0), (0, 0, (width - height) // 2, height))
        picture.paste((0, 0, 255), ((width + height) // 2, 0, width, height))
    else:
        picture.paste((255, 0, 0), (0, 0, width, (height - width) // 2))
        picture.paste((0, 0, 255), (0, (height + width) // 2, width, height))
    return picture


@pytest.mark.parametrize("size", [(900, 600), (600, 900), (3000, 400)])
def test_a_portrait_is_the_square_at_the_centre(size: tuple[int, int]) -> None:
    portrait = opened(prepare_portrait(saved(thirds(*size))))
    assert (portrait.format, portrait.size) in [
        ("JPEG", (side, side)) for side in range(64, PORTRAIT_SIDE + 1)
    ]
    side = portrait.width
    for at in ((4, 4), (side // 2, side // 2), (side - 5, side - 5)):
        red, green, blue = portrait.getpixel(at)  # type: ignore[misc]  # RGB
        assert green - max(red, blue) > 150


def test_a_small_portrait_is_not_enlarged() -> None:
    assert opened(prepare_portrait(saved(thirds(100, 90)))).size == (90, 90)


async def test_the_profile_photo_of_telegram_is_fetched_once_its_button_is_pressed(
    portraits: Portraits,
) -> None:
    portraits.anna.set_profile_photo(saved(Image.new("RGB", (800, 800), (20, 120, 200))))
    await portraits.ask()
    assert portraits.chat.world.calls_of("getUserProfilePhotos") == []
    await portraits.press_own_photo()
    assert portraits.portrait.size == (PORTRAIT_SIDE, PORTRAIT_SIDE)
    assert portraits.chat.texts[-1].startswith("✅ Saved.")
    assert portraits.chat.rows("drafts") == []


async def test_a_photo_that_is_sent_becomes_the_portrait(portraits: Portraits) -> None:
    await portraits.ask()
    portraits.anna.send_photo(saved(thirds(900, 600)))
    await portraits.chat.take()
    await portraits.fetch()
    assert portraits.portrait.size == (PORTRAIT_SIDE, PORTRAIT_SIDE)


async def test_a_new_portrait_replaces_the_former_one(portraits: Portraits) -> None:
    for colour in ("red", "blue"):
        await portraits.ask()
        portraits.anna.send_photo(saved(Image.new("RGB", (200, 200), colour)))
        await portraits.chat.take()
        await portraits.fetch()
    kept = {row["id"]: row["kept"] for row in portraits.chat.rows("images")}
    assert sorted(kept.values()) == [0, 1]
    assert portraits.profile.image is not None
    assert kept[portraits.profile.image] == 1


async def test_without_a_photo_that_bots_may_see_the_seller_is_asked_to_send_one(
    portraits: Portraits,
) -> None:
    portraits.anna.set_profile_photo(saved(Image.new("RGB", (200, 200))))
    portraits.anna.hide_profile_photos()
    await portraits.ask()
    await portraits.press_own_photo()
    assert "your privacy settings hide it from bots" in portraits.chat.texts[-1]
    assert portraits.profile.image is None
    assert len(portraits.chat.rows("drafts")) == 1


async def test_a_failing_telegram_is_asked_again(portraits: Portraits) -> None:
    portraits.anna.set_profile_photo(saved(Image.new("RGB", (400, 400), "red")))
    portraits.chat.world.faults.add(Fault("error", "getUserProfilePhotos"))
    await portraits.ask()
    await portraits.press_own_photo()
    assert portraits.profile.image is None
    portraits.chat.clock.advance(2)
    await portraits.fetch()
    assert portraits.portrait.size == (PORTRAIT_SIDE, PORTRAIT_SIDE)


async def test_a_hostile_file_is_refused_as_a_products_photo_is(portraits: Portraits) -> None:
    await portraits.ask()
    broken = io.BytesIO()
    Image.new("RGB", (200, 200)).save(broken, "PNG")
    portraits.anna.send_document("me.png", broken.getvalue()[:60])
    await portraits.chat.take()
    await portraits.fetch()
    assert portraits.chat.texts[-1].startswith("⚠")
    assert (portraits.profile.image, portraits.chat.rows("images")) == (None, [])
