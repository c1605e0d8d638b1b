"""Sellers' portraits: from Telegram's profile photo or sent to the bot, cropped to a square."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest
from PIL import Image

from bot.chat.model.drafts import Profile
from bot.chat.pictures.photo_preparation import PORTRAIT_SIDE, prepare_portrait
from bot.chat.store import seller_rows
from bot.chat.telegram.downloads import Downloads, PhotoIntake
from bot.core import exact_json
from bot.sandbox.world.errors import Fault
from tests.support.chat_harness import ChatHarness, telegram_of
from tests.support.outbox_queue import handle_all
from tests.support.sample_pictures import opened, saved

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


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
