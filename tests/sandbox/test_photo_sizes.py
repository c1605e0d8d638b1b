"""Photos in their sizes, files, and what may be downloaded of them."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from PIL import Image

from bot.sandbox.world.errors import ApiError
from bot.sandbox.world.scaling import fitted, scaled
from tests.support.sandbox_server import Bot, png_header

if TYPE_CHECKING:
    from bot.sandbox.world import people


def picture(width: int, height: int, kind: str = "PNG", mode: str = "RGB") -> bytes:
    """A picture of one colour, whole."""
    written = io.BytesIO()
    Image.new(mode, (width, height), 128).save(written, kind)
    return written.getvalue()


async def downloaded(bot: Bot, file_id: str) -> bytes:
    file = await bot.done("getFile", file_id=file_id)
    response = await bot.http.get(f"/file/bot{bot.world.token}/{file['file_path']}")
    assert (response.status_code, len(response.content)) == (200, file["file_size"])
    return response.content


@pytest.mark.long
async def test_a_photo_comes_in_sizes_the_smallest_first(bot: Bot, sam: people.Person) -> None:
    """Each is downloaded by its own id and is as large as it says; the last one is the whole."""
    data = picture(1000, 500)
    sam.send_photo(data)
    sizes = (await bot.update())["message"]["photo"]
    told = [(size["width"], size["height"]) for size in sizes]
    assert told == [(90, 45), (320, 160), (800, 400), (1000, 500)]
    assert len({size["file_unique_id"] for size in sizes}) == 4
    for size in sizes[:-1]:
        small = Image.open(io.BytesIO(await downloaded(bot, size["file_id"])))
        assert (small.size, small.format) == ((size["width"], size["height"]), "JPEG")
    assert await downloaded(bot, sizes[-1]["file_id"]) == data
    assert sizes[-1]["file_size"] == len(data)


async def test_a_photo_as_small_as_a_thumbnail_has_one_size(bot: Bot, sam: people.Person) -> None:
    sam.send_photo(png_header(90, 9))
    assert [size["width"] for size in (await bot.update())["message"]["photo"]] == [90]


async def test_any_size_of_a_photo_sends_all_of_it(bot: Bot, sam: people.Person) -> None:
    first = await bot.upload("sendPhoto", {"photo": picture(400, 400)}, chat_id=sam.id)
    sizes = first["result"]["photo"]
    again = await bot.done("sendPhoto", chat_id=sam.id, photo=sizes[0]["file_id"])
    assert again["photo"] == sizes


async def test_what_cannot_be_read_is_given_as_it_came(bot: Bot, sam: people.Person) -> None:
    """A picture whose first bytes alone make sense: its smaller size holds the same bytes."""
    sam.send_photo(png_header(300, 200))
    small = (await bot.update())["message"]["photo"][0]
    assert (small["width"], small["height"]) == (90, 60)
    assert await downloaded(bot, small["file_id"]) == png_header(300, 200)


async def test_a_picture_sent_as_a_file_keeps_its_bytes_and_has_a_thumbnail(
    bot: Bot, sam: people.Person
) -> None:
    data = picture(1000, 500, "WEBP")
    sam.send_document("cake.webp", data, caption="the cake")
    message = (await bot.update())["message"]
    document = message["document"]
    assert (document["mime_type"], document["file_name"]) == ("image/webp", "cake.webp")
    assert message["caption"] == "the cake"
    assert await downloaded(bot, document["file_id"]) == data
    small = Image.open(io.BytesIO(await downloaded(bot, document["thumbnail"]["file_id"])))
    assert small.size == (320, 160)


async def test_another_file_has_no_thumbnail(bot: Bot, sam: people.Person) -> None:
    sam.send_document("a.txt", b"x")
    assert "thumbnail" not in (await bot.update())["message"]["document"]


@pytest.mark.parametrize(
    ("width", "height", "size"),
    [(1000, 500, (90, 45)), (5, 9, (5, 9)), (2000, 1, (90, 1)), (90, 90, (90, 90))],
)
def test_a_smaller_size_keeps_the_shape(width: int, height: int, size: tuple[int, int]) -> None:
    assert fitted(width, height, 90) == size


@pytest.mark.parametrize("mode", ["1", "L", "RGBA", "P", "CMYK"])
def test_pictures_of_every_kind_of_colour_are_scaled(mode: str) -> None:
    kind = "TIFF" if mode == "CMYK" else "PNG"
    small = scaled(picture(200, 100, kind, mode), 90)
    assert small is not None
    assert Image.open(io.BytesIO(small)).size == (90, 45)


async def test_bots_see_the_profile_photos_that_people_show_them(
    bot: Bot, sam: people.Person
) -> None:
    """They are square, in up to three sizes, the newest photo first (UserProfilePhotos)."""
    sam.set_profile_photo(picture(1000, 1000))
    sam.set_profile_photo(picture(200, 200))
    found = await bot.done("getUserProfilePhotos", user_id=sam.id)
    sides = [[size["width"] for size in sizes] for sizes in found["photos"]]
    assert (found["total_count"], sides) == (2, [[160, 200], [160, 320, 640]])
    largest = found["photos"][1][-1]["file_id"]
    assert Image.open(io.BytesIO(await downloaded(bot, largest))).size == (640, 640)


async def test_profile_photos_come_in_pages(bot: Bot, sam: people.Person) -> None:
    for side in (160, 170, 180):
        sam.set_profile_photo(picture(side, side))
    found = await bot.done("getUserProfilePhotos", user_id=sam.id, offset=1, limit=1)
    assert (found["total_count"], [sizes[-1]["width"] for sizes in found["photos"]]) == (3, [170])


async def test_hidden_profile_photos_count_as_none(bot: Bot, sam: people.Person) -> None:
    sam.set_profile_photo(picture(200, 200))
    sam.hide_profile_photos()
    found = await bot.done("getUserProfilePhotos", user_id=sam.id)
    assert found == {"total_count": 0, "photos": []}


async def test_only_people_have_profile_photos_and_square_ones(
    bot: Bot, sam: people.Person
) -> None:
    refused = await bot.refused("getUserProfilePhotos", user_id=5)
    assert refused == (400, "Bad Request: user not found")
    with pytest.raises(ApiError):
        sam.set_profile_photo(picture(300, 200))
