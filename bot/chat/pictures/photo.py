"""A seller's photo, made ready to be shown: untrusted bytes in, a plain JPEG out.

What can be told from the head of the file is judged before any pixel is decoded.
"""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from contextlib import suppress

from PIL import Image, UnidentifiedImageError

from bot.core import handles
from bot.core.errors import PictureError

MOST_BYTES = 10_000_000
LONGEST = 1280  # pixels of the longer side of what is made; Telegram's own photos have no more
SHORTEST = 64  # pixels of the shorter side of what is taken
MOST_RATIO = 20  # Telegram refuses photos beyond it
MOST_PIXELS = 50_000_000
MOST_PIXELS_WHOLE = 25_000_000
"""Of formats that are decoded whole before they can be made smaller: 100 MB, for a moment twice."""

MOST_SCANS = 64
"""Of a JPEG, usually ten: each goes over all pixels again, though it may be a few bytes."""

QUALITY = 85

_FORMATS = ("JPEG", "PNG", "WEBP", "GIF")
_JPEGS = ("JPEG", "MPO")  # MPO is a JPEG with further ones behind it, as telephones make them
_PLAIN = ("L", "RGB", "CMYK")
_START_OF_SCAN = b"\xff\xda"
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

# Judged here by its head, so nobody need be warned of it besides.
warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)


def prepared(data: bytes) -> bytes:
    """Give a photo as a JPEG in sRGB of at most 1280 pixels a side.

    Upright, on white, of an animation the first frame; nothing is left of what the file said
    beside its pixels. Raises PictureError, and OSError where there is no file handle.
    """
    if len(data) > MOST_BYTES:
        raise PictureError("tooLarge", "Send a photo of at most 10 MB.")
    try:
        with _opened(data) as image:
            _judge(image, data)
            turn = _turn(image)
            return _saved(_turned(_coloured(_reduced(image)), turn))
    except _DAMAGE as error:
        if handles.are_short(error):  # Pillow reads its plugins late
            raise
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
    jpeg = image.format in _JPEGS
    # A progressive one is kept whole in memory, too, until its last scan is there.
    most = MOST_PIXELS if jpeg and "progressive" not in image.info else MOST_PIXELS_WHOLE
    if short * long > most:
        raise _too_many_pixels(most)
    if short < SHORTEST:
        raise PictureError("tooSmall", f"Send a photo of at least {SHORTEST} pixels a side.")
    if long > MOST_RATIO * short:
        raise PictureError("tooLong", f"Send a photo not longer than {MOST_RATIO} times its width.")
    if jpeg and data.count(_START_OF_SCAN) > MOST_SCANS:
        raise PictureError("damaged", "The photo is saved oddly: save it anew and send that.")


def _too_many_pixels(most: int) -> PictureError:
    return PictureError("tooLarge", f"Send a photo of at most {most // 1_000_000} megapixels.")


def _turn(image: Image.Image) -> Image.Transpose | None:
    """How the photo is to be turned to stand upright; not at all where that can't be read."""
    with suppress(*_DAMAGE):
        return _TURNS.get(image.getexif().get(_ORIENTATION, 1))
    return None


def _reduced(image: Image.Image) -> Image.Image:
    """Decode, as small as the format allows, and make it fit; in a mode that can be resized."""
    profile = image.info.get("icc_profile")
    image.draft(None, (LONGEST, LONGEST))
    image.load()
    made = _plain(image)
    made.thumbnail((LONGEST, LONGEST), Image.Resampling.LANCZOS)
    # Whatever else stands in it, comments for one, would be written again.
    made.info = {"icc_profile": profile} if profile else {}
    return made


def _plain(image: Image.Image) -> Image.Image:
    """Give it in eight bits a channel: L, RGB, RGBA or CMYK."""
    if image.has_transparency_data:
        return image.convert("RGBA")
    if image.mode.startswith("I"):
        return image.point(lambda level: level * (1 / 256) + 0).convert("L")
    return image if image.mode in _PLAIN else image.convert("RGB")


def _coloured(image: Image.Image) -> Image.Image:
    """Give it in sRGB, on white."""
    profile = image.info.get("icc_profile")
    if image.mode == "RGBA":
        white = Image.new("RGB", image.size, "white")
        white.paste(image, mask=image.getchannel("A"))
        image = white
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
