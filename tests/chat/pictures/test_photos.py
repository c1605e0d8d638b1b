"""The preparation of photos: accepted formats, the result, and refusals before decoding."""

from __future__ import annotations

import struct
import subprocess
import sys
import tracemalloc
import zlib
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageCms

from bot.chat.pictures import decoder_process, photo_preparation
from bot.chat.pictures.photo_preparation import MAX_SIDE, prepare
from bot.core.bounded_process import PICTURE_BUDGET, BoundedChild
from bot.core.errors import OverBudget, PictureError
from tests.support.sample_pictures import CRAFTED, opened, sample_photo, saved
from tests.support.source_tree import ROOT

SECRET = b"48.8583N 2.2945E"
RED, GREEN, BLUE = (220, 30, 30), (30, 180, 40), (30, 40, 220)


def refused(data: bytes) -> str:
    with pytest.raises(PictureError) as caught:
        prepare(data)
    assert str(caught.value)
    return caught.value.reason


def corners() -> Image.Image:
    """Draw red at the upper left, green at the upper right, blue below."""
    picture = Image.new("RGB", (300, 200), BLUE)
    picture.paste(RED, (0, 0, 150, 100))
    picture.paste(GREEN, (150, 0, 300, 100))
    return picture


def colour(picture: Image.Image, across: float, down: float) -> str:
    found = picture.convert("RGB").getpixel(
        (int(picture.width * across), int(picture.height * down))
    )
    assert isinstance(found, tuple)
    known = {"red": RED, "green": GREEN, "blue": BLUE, "white": (255, 255, 255)}
    return min(
        known, key=lambda name: sum((a - b) ** 2 for a, b in zip(found, known[name], strict=True))
    )


def png_head(width: int, height: int, *, data: bytes = b"") -> bytes:
    """Build a PNG whose header claims this size, without its pixels."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">L", len(body)) + kind + body + struct.pack(">L", zlib.crc32(kind + body))
        )

    head = struct.pack(">LL5B", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ((1600, 1200), (1280, 960)),
        ((1200, 4000), (384, 1280)),
        ((300, 200), (300, 200)),
        ((64, 1280), (64, 1280)),
        ((1281, 65), (1280, 65)),
    ],
)
def test_a_photo_is_at_most_1280_pixels_a_side_and_never_enlarged(
    size: tuple[int, int], expected: tuple[int, int]
) -> None:
    made = opened(prepare(saved(sample_photo(size))))
    assert (made.size, made.format, made.mode) == (expected, "JPEG", "RGB")
    assert "progressive" not in made.info  # cards would take twice as long to draw


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF"])
def test_each_format_of_photos_is_accepted(kind: str) -> None:
    made = opened(prepare(saved(corners(), kind)))
    assert [colour(made, 0.2, 0.2), colour(made, 0.8, 0.2), colour(made, 0.5, 0.8)] == [
        "red", "green", "blue",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["BMP", "TIFF", "PPM", "ICO", "PDF"])
def test_other_formats_are_refused(kind: str) -> None:
    assert refused(saved(corners(), kind)) == "unknownFormat"


@pytest.mark.parametrize(
    "mode", ["1", "L", "LA", "P", "CMYK", "I;16", "RGBA", "YCbCr"], ids=lambda mode: mode
)
def test_a_photo_in_any_colour_mode_looks_the_same(mode: str) -> None:
    """Bright stays bright and dark stays dark in any bit depth."""
    grey = Image.new("L", (200, 100), 40)
    grey.paste(215, (100, 0, 200, 100))
    if mode == "I;16":
        picture = Image.frombytes(
            mode, grey.size, b"".join(struct.pack("<H", level * 257) for level in grey.tobytes())
        )
    else:
        picture = (
            grey.convert("1", dither=Image.Dither.NONE) if mode == "1" else grey.convert("RGB")
        )
        picture = picture if mode == "1" else picture.convert(mode)
    kind = "JPEG" if mode in {"CMYK", "YCbCr"} else "PNG"
    made = opened(prepare(saved(picture, kind))).convert("L")
    dark, bright = made.getpixel((40, 50)), made.getpixel((160, 50))
    expected = (0, 255) if mode == "1" else (40, 215)
    assert (dark, bright) == pytest.approx(expected, abs=20)


def test_transparent_pixels_become_white() -> None:
    picture = corners().convert("RGBA")
    picture.paste((0, 0, 0, 0), (0, 100, 300, 200))
    made = opened(prepare(saved(picture, "PNG")))
    assert [colour(made, 0.2, 0.2), colour(made, 0.5, 0.8)] == ["red", "white"]
    palette = Image.new("P", (100, 100), 1)
    palette.putpalette([0, 0, 0, *RED])
    palette.paste(0, (0, 50, 100, 100))
    made = opened(prepare(saved(palette, "GIF", transparency=0)))
    assert [colour(made, 0.5, 0.2), colour(made, 0.5, 0.8)] == ["red", "white"]


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
def test_the_first_frame_of_an_animation_is_used(kind: str) -> None:
    later = [Image.new("RGB", (300, 200), BLUE)]
    data = saved(Image.new("RGB", (300, 200), RED), kind, save_all=True, append_images=later)
    assert colour(opened(prepare(data)), 0.5, 0.5) == "red"


@pytest.mark.parametrize(
    ("orientation", "expected"),
    [
        (1, "red green blue"), (2, "green red blue"), (3, "blue blue green"),
        (4, "blue blue red"), (5, "red blue green"), (6, "blue red blue"),
        (7, "blue green blue"), (8, "green blue red"),
    ],
)  # fmt: skip
def test_a_photo_is_rotated_upright(orientation: int, expected: str) -> None:
    """For each of EXIF's eight orientations: upper left, upper right and lower left."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    made = opened(prepare(saved(corners(), exif=exif)))
    assert made.size == ((300, 200) if orientation < 5 else (200, 300))
    found = [colour(made, *at) for at in ((0.2, 0.2), (0.8, 0.2), (0.2, 0.8))]
    assert found == expected.split()


def test_a_photo_with_a_tag_of_the_wrong_kind_is_rotated_upright() -> None:
    """Pillow can read such tags, but not write them."""
    exif = Image.Exif()
    exif[0x0112], exif[0x011A] = 6, 72.0
    damaged = exif.tobytes().replace(b"\x01\x1a\x00\x05", b"\x01\x1a\x00\x02")
    assert opened(prepare(saved(corners(), exif=damaged))).size == (200, 300)


@pytest.mark.parametrize("profiled", [True, False])
def test_all_metadata_is_removed(*, profiled: bool) -> None:
    """The place, comments, the profile, and the embedded thumbnail."""
    exif = Image.Exif()
    exif[0x010E] = SECRET.decode()
    exif.get_ifd(0x8825)[1] = "N"
    exif.get_ifd(0x8825)[2] = (48.0, 51.0, 30.0)
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    icc: dict[str, Any] = {"icc_profile": profile} if profiled else {}
    data = saved(
        sample_photo((800, 600)), exif=exif, comment=SECRET, xmp=SECRET, dpi=(72, 72), **icc
    )
    assert SECRET in data
    made = prepare(data)
    found = opened(made)
    assert SECRET not in made
    assert not found.getexif()
    assert not {"exif", "icc_profile", "comment", "xmp", "photoshop"} & found.info.keys()
    assert not any(marker in made for marker in (b"Exif", b"ICC_PROFILE", b"http://ns.adobe"))


def test_colours_of_a_profile_are_converted_to_srgb() -> None:
    """A profile that swaps red and green: the visible colours count, not the numbers."""
    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    red, green = profile.index(b"rXYZ"), profile.index(b"gXYZ")
    profile[red : red + 4], profile[green : green + 4] = b"gXYZ", b"rXYZ"
    data = saved(Image.new("RGB", (100, 100), RED), "PNG", icc_profile=bytes(profile))
    assert colour(opened(prepare(data)), 0.5, 0.5) == "green"


def test_an_unreadable_colour_profile_is_ignored() -> None:
    data = saved(corners(), "PNG", icc_profile=b"no profile at all")
    assert colour(opened(prepare(data)), 0.2, 0.2) == "red"


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        ((63, 200), "tooSmall"), ((200, 1), "tooSmall"), ((64, 1281), "tooLong"),
        ((7000, 7200), "tooLarge"), ((30_000, 30_000), "tooLarge"), ((10_000, 10_000), "tooLarge"),
        ((2**31 - 1, 64), "tooLarge"),
    ],
)  # fmt: skip
def test_a_decompression_bomb_is_refused_before_decoding(
    size: tuple[int, int], reason: str
) -> None:
    """Its header is enough: it has no pixels, and no memory is allocated."""
    tracemalloc.start()
    assert refused(png_head(*size)) == reason
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


def test_a_jpeg_that_is_decoded_small_may_have_50_megapixels() -> None:
    made = opened(prepare(saved(Image.new("RGB", (8000, 6200), RED), quality=50)))
    assert made.size == (1280, 992)
    assert refused(saved(Image.new("L", (8000, 6300)), quality=50)) == "tooLarge"


def test_a_large_jpeg_is_never_whole_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is decoded to a half, a quarter or an eighth, as its format allows."""
    widths, plain = set(), photo_preparation._flatten

    def seen(image: Image.Image) -> Image.Image:
        widths.add(image.width)
        return plain(image)

    monkeypatch.setattr(photo_preparation, "_flatten", seen)
    assert opened(prepare(saved(Image.new("RGB", (5200, 4000), RED)))).size == (1280, 985)
    assert widths == {1300}


@pytest.mark.parametrize(("kind", "how"), [("PNG", {}), ("JPEG", {"progressive": True})])
def test_a_picture_decoded_whole_may_have_25_megapixels(kind: str, how: dict[str, bool]) -> None:
    assert refused(saved(Image.new("L", (5100, 5000)), kind, **how)) == "tooLarge"


def test_a_file_of_more_than_10_mb_is_refused() -> None:
    data = saved(corners())
    assert refused(data + bytes(photo_preparation.MAX_BYTES + 1 - len(data))) == "tooLarge"
    assert prepare(data + bytes(photo_preparation.MAX_BYTES - len(data)))


def test_a_jpeg_with_too_many_scans_is_refused() -> None:
    data = saved(sample_photo((400, 300)), progressive=True)
    last = data.rindex(b"\xff\xda")
    scan = data[last:-2]
    assert refused(data[:-2] + scan * 100 + data[-2:]) == "damaged"


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF"])
@pytest.mark.parametrize("part", [0.3, 0.6, 0.9])
def test_a_truncated_photo_is_refused(kind: str, part: float) -> None:
    data = saved(sample_photo((400, 300)), kind)
    assert refused(data[: int(len(data) * part)]) in {"damaged", "unknownFormat"}


@pytest.mark.parametrize("data", [b"", b"\xff\xd8\xff", b"GIF89a", b"hello", bytes(5000)])
def test_rubbish_is_refused(data: bytes) -> None:
    assert refused(data) in {"damaged", "unknownFormat"}


SMALL = {
    kind: saved(sample_photo((80, 70)), kind, **({"exif": Image.Exif()} if kind == "JPEG" else {}))
    for kind in ("JPEG", "PNG", "WEBP", "GIF")
}


@settings(max_examples=300)
@example(kind="JPEG", changes=[(0.02734375, b"\0")])  # EXIF of which Pillow warns
@given(
    kind=st.sampled_from([*SMALL]),
    changes=st.lists(st.tuples(st.floats(0, 0.999), st.binary(min_size=1, max_size=6)), max_size=4),
)
def test_any_damaged_file_is_accepted_or_refused(
    kind: str, changes: list[tuple[float, bytes]]
) -> None:
    """With bytes changed anywhere: a prepared photo or PictureError, never another exception."""
    data = bytearray(SMALL[kind])
    for place, bytes_ in changes:
        at = int(place * len(data))
        data[at : at + len(bytes_)] = bytes_
    with suppress(PictureError):
        made = opened(prepare(bytes(data)))
        assert max(made.size) <= MAX_SIDE
        assert made.format == "JPEG"


# A photo that a person sends causes no output beside the log.


SEND = """
import struct, zlib
from bot.chat.pictures.photo_preparation import prepare
from bot.core.errors import PictureError

def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

head = struct.pack(">II5B", 12_000, 9_000, 1, 0, 0, 0, 0)
try:
    prepare(b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"")))
except PictureError as error:
    print(error.reason)
"""


def test_a_picture_of_too_many_pixels_is_refused_without_a_warning() -> None:
    found = subprocess.run(
        [sys.executable, "-W", "default", "-c", SEND],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert (found.stdout, found.stderr) == ("tooLarge\n", "")


# The child's budget: the largest accepted photos of every kind fit into it.


TAKEN = (
    "jpeg baseline 50 MP", "jpeg apart 25 MP", "jpeg cmyk 50 MP", "jpeg cmyk apart 18 MP",
    "jpeg arithmetic", "jpeg progressive 25 MP", "jpeg long", "png rgba 25 MP",
    "png palette 25 MP", "gif 25 MP", "webp 12 MP",
)  # fmt: skip
REFUSED = {
    "jpeg apart 50 MP": "tooLarge",
    "jpeg cmyk apart 25 MP": "tooLarge",
    "jpeg arithmetic apart": "tooLarge",
    "png 2 gigapixels": "tooLarge",
    "webp 25 MP": "tooLarge",
    "webp rough 25 MP": "tooLarge",
}


BUDGET = replace(PICTURE_BUDGET, seconds=100.0)
"""That of the product, but for the wall clock: a child goes last on a machine that is busy."""


async def prepared(name: str) -> bytes:
    made = BoundedChild(decoder_process.MODULE, BUDGET)
    return decoder_process.read_answer(await made.run(CRAFTED[name]()))


@pytest.mark.long
@pytest.mark.parametrize("name", TAKEN)
async def test_the_largest_accepted_photos_fit_into_the_budget(name: str) -> None:
    assert max(opened(await prepared(name)).size) == 1280


@pytest.mark.long
@pytest.mark.parametrize("name", REFUSED)
async def test_photos_beyond_the_budget_are_refused_by_their_header(name: str) -> None:
    with pytest.raises(PictureError) as caught:
        await prepared(name)
    assert caught.value.reason == REFUSED[name]


@pytest.mark.process
@pytest.mark.parametrize("name", sorted(CRAFTED.keys() - set(TAKEN) - REFUSED.keys()))
async def test_any_other_photo_is_accepted_or_refused_with_a_reason(name: str) -> None:
    with suppress(PictureError, OverBudget):
        assert max(opened(await prepared(name)).size) <= 1280
