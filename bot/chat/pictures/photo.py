"""A seller's photo, made ready to be shown: untrusted bytes in, a plain JPEG out.

What can be told from the head of the file is judged before any pixel is decoded. That bounds no
memory: `child` does.
"""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from contextlib import suppress

from PIL import Image, UnidentifiedImageError, WebPImagePlugin
from PIL.JpegImagePlugin import JpegImageFile

from bot.core.errors import PictureError

MOST_BYTES = 10_000_000
LONGEST = 1280  # pixels of the longer side of what is made; Telegram's own photos have no more
SHORTEST = 64  # pixels of the shorter side of what is taken
MOST_RATIO = 20  # Telegram refuses photos beyond it
MOST_PIXELS = 50_000_000
"""Of a JPEG that is decoded row by row, to a half, a quarter or an eighth."""

MOST_PIXELS_WHOLE = 25_000_000
"""Of what is decoded whole before it can be made smaller: four bytes a pixel, six in a JPEG, where
each colour takes two."""

MOST_PIXELS_WEBP = 12_500_000
"""Of a WebP, which takes sixteen bytes a pixel; telephones take photos of 12.2 megapixels."""

FINE_ENOUGH = 1.25
"""Times the size wanted that a picture may be made smaller to in the quick way."""

BAND = 64  # rows that are made smaller at a time

MOST_SCANS = 64
"""Of a JPEG, usually ten: each goes over all pixels again, though it may be a few bytes."""

QUALITY = 85

_FORMATS = ("JPEG", "PNG", "WEBP", "GIF")
_PLAIN = ("L", "RGB", "CMYK")
_START_OF_SCAN = b"\xff\xda"
_SEQUENTIAL = (0xC0, 0xC1, 0xC9)  # ITU-T T.81 table B.1: frames that are decoded row by row
_NO_FRAMES = (0xC4, 0xC8, 0xCC)  # markers in the midst of those of frames
_ORIENTATION = 0x0112  # EXIF 2.32 section 4.6.4
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_DAMAGE = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, OSError, SyntaxError),
    *(TypeError, ValueError, struct.error, zlib.error),
)
"""What Pillow's readers raise at files that are not as they should be."""

_PLUGINS = (WebPImagePlugin,)
"""What Pillow does not load by itself, unless it loads all forty."""

# Judged here by its head, so nobody need be warned of it besides.
warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)


def prepared(data: bytes) -> bytes:
    """Give a photo as a JPEG in sRGB of at most 1280 pixels a side.

    Upright, on white, of an animation the first frame; nothing is left of what the file said
    beside its pixels. Raises PictureError, and MemoryError where that is bounded.
    """
    if len(data) > MOST_BYTES:
        raise PictureError("tooLarge", "Send a photo of at most 10 MB.")
    try:
        with _opened(data) as image:
            _judge(image, data)
            turn = _turn(image)
            return _saved(_turned(_coloured(_reduced(image)), turn))
    except _DAMAGE as error:
        raise PictureError("damaged", "The photo is damaged: send another one.") from error


def _opened(data: bytes) -> Image.Image:
    """Read the head of the file."""
    try:
        return Image.open(io.BytesIO(data), formats=_FORMATS)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise _too_many_pixels(MOST_PIXELS) from error
    except UnidentifiedImageError as error:
        raise PictureError("unknownFormat", "Send a JPEG, PNG, WebP or GIF.") from error


def _judge(image: Image.Image, data: bytes) -> None:
    """Refuse what is too large, too small or too long, by what the head says."""
    short, long = sorted(image.size)
    most = MOST_PIXELS_WEBP if image.format == "WEBP" else MOST_PIXELS_WHOLE
    if isinstance(image, JpegImageFile):
        most = MOST_PIXELS if _is_streamed(data) else most * 3 // max(3, image.layers)
    if short * long > most:
        raise _too_many_pixels(most)
    if short < SHORTEST:
        raise PictureError("tooSmall", f"Send a photo of at least {SHORTEST} pixels a side.")
    if long > MOST_RATIO * short:
        raise PictureError("tooLong", f"Send a photo not longer than {MOST_RATIO} times its width.")
    if isinstance(image, JpegImageFile) and data.count(_START_OF_SCAN) > MOST_SCANS:
        raise PictureError("damaged", "The photo is saved oddly: save it anew and send that.")


def _is_streamed(data: bytes) -> bool:
    """Whether a JPEG is decoded row by row: sequential, with all its colours in the first scan.

    Otherwise the decoder keeps the whole picture until the last scan has been read.
    """
    at, colours = 2, None
    while at + 9 < len(data):
        marker = data[at + 1]
        if data[at] != 0xFF or marker == 0xFF:  # noqa: PLR2004 - markers begin so, and may be filled
            at += 1
            continue
        if marker == _START_OF_SCAN[1]:
            return data[at + 4] == colours
        if marker in _SEQUENTIAL:
            colours = data[at + 9]
        elif 0xC0 <= marker <= 0xCF and marker not in _NO_FRAMES:  # noqa: PLR2004 - other frames
            return False
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return False


def _too_many_pixels(most: int) -> PictureError:
    return PictureError("tooLarge", f"Send a photo of at most {most // 1_000_000} megapixels.")


def _turn(image: Image.Image) -> Image.Transpose | None:
    """How the photo is to be turned to stand upright; not at all where that can't be read."""
    with suppress(*_DAMAGE):
        return _TURNS.get(image.getexif().get(_ORIENTATION, 1))
    return None


def _reduced(image: Image.Image) -> Image.Image:
    """Decode, as small as the format allows, and make it fit, on white; L, RGB or CMYK."""
    profile = image.info.get("icc_profile")
    scale = LONGEST / max(image.size)
    image.draft(None, (max(1, int(image.width * scale)), max(1, int(image.height * scale))))
    image.load()
    made = _in_bands(image, max(1, int(max(image.size) / (FINE_ENOUGH * LONGEST))))
    made.thumbnail((LONGEST, LONGEST), Image.Resampling.LANCZOS)
    # Whatever else stands in it, comments for one, would be written again.
    made.info = {"icc_profile": profile} if profile else {}
    return made


def _in_bands(image: Image.Image, factor: int) -> Image.Image:
    """Make a picture plain and smaller by a whole number, never having two of it in memory."""
    made: Image.Image | None = None
    for top in range(0, image.height, BAND * factor):
        bottom = min(image.height, top + BAND * factor)
        band = _plain(image.crop((0, top, image.width, bottom))).reduce(factor)
        made = made or Image.new(band.mode, (band.width, -(-image.height // factor)))
        made.paste(band, (0, top // factor))
    return made or image


def _plain(image: Image.Image) -> Image.Image:
    """Return it on white and in eight bits a channel: L, RGB or CMYK."""
    if image.has_transparency_data:
        image = image.convert("RGBA")
        white = Image.new("RGB", image.size, "white")
        white.paste(image, mask=image.getchannel("A"))
        return white
    if image.mode.startswith("I"):
        return image.point(lambda level: level * (1 / 256) + 0).convert("L")
    return image if image.mode in _PLAIN else image.convert("RGB")


def _coloured(image: Image.Image) -> Image.Image:
    """Return it in sRGB."""
    profile = image.info.get("icc_profile")
    return (_translated(image, profile) if profile else None) or image.convert("RGB")


def _translated(image: Image.Image, profile: bytes) -> Image.Image | None:
    """Give colours of a profile in sRGB; None where it is not one for this picture."""
    from PIL import ImageCms  # noqa: PLC0415 - costs memory, seldom used

    with suppress(ImageCms.PyCMSError, *_DAMAGE):
        own, srgb = ImageCms.ImageCmsProfile(io.BytesIO(profile)), ImageCms.createProfile("sRGB")
        return ImageCms.profileToProfile(image, own, srgb, outputMode="RGB")
    return None


def _turned(image: Image.Image, turn: Image.Transpose | None) -> Image.Image:
    return image if turn is None else image.transpose(turn)


def _saved(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "JPEG", quality=QUALITY, optimize=True)
    return out.getvalue()
