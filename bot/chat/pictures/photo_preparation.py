"""A seller's photo, prepared to be shown: untrusted bytes in, a plain JPEG out.

The header of the file is checked before any pixel is decoded. That doesn't limit memory, so
`decoder_process` runs this in a process of its own.
"""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from contextlib import suppress

from PIL import Image, UnidentifiedImageError, WebPImagePlugin
from PIL.JpegImagePlugin import JpegImageFile

from bot.core import errors

MAX_BYTES = 10_000_000
MAX_SIDE = 1280  # pixels of the longer side of the result; Telegram's own photos have no more
PORTRAIT_SIDE = 320  # of a seller's portrait: 96 CSS pixels on the sharpest phones
MIN_SIDE = 64  # pixels of the shorter side of the original
MAX_RATIO = 20  # of the sides; Telegram refuses longer photos
MAX_PIXELS = 50_000_000
"""Limit for a JPEG that is decoded row by row, to a half, a quarter or an eighth."""

MAX_PIXELS_WHOLE = 25_000_000
"""Limit for a picture that is decoded whole before it is reduced: that takes four bytes a pixel,
or six in a JPEG, where each colour takes two."""

MAX_PIXELS_WEBP = 12_500_000
"""Limit for a WebP, which takes sixteen bytes a pixel; photos of phones have 12.2 megapixels."""

MAX_SCANS = 64
"""Limit for a JPEG; most have ten. Each scan decodes all pixels again, even one of a few bytes."""

MIN_DETAIL = 1.25
"""A picture is first reduced by a whole factor, which is quick, to at least this many times its
final size; the rest is resampled."""

BAND = 64  # rows that are reduced at a time

QUALITY = 85

_FORMATS = ("JPEG", "PNG", "WEBP", "GIF")
_PLAIN = ("L", "RGB", "CMYK")
_START_OF_SCAN = b"\xff\xda"
_SEQUENTIAL = (0xC0, 0xC1, 0xC9)  # ITU-T T.81 table B.1: frames that are decoded row by row
_NOT_FRAMES = (0xC4, 0xC8, 0xCC)  # other markers among those of frames
_ORIENTATION = 0x0112  # EXIF 2.32 section 4.6.4
_ROTATIONS = {
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
"""The errors that Pillow's readers raise at damaged files."""

_PLUGINS = (WebPImagePlugin,)
"""The plugins that Pillow does not load by itself, unless it loads all forty."""


def prepare(data: bytes) -> bytes:
    """Return a photo as a JPEG in sRGB of at most 1280 pixels a side.

    The photo is upright and on white. Of an animation the first frame is taken. All metadata is
    removed. Raises PictureError, and MemoryError if memory is limited.
    """
    return _encode(_prepared(data))


def prepare_portrait(data: bytes) -> bytes:
    """Return the centre of a seller's photo as a square JPEG, otherwise as `prepare` does."""
    photo = _prepared(data)
    side = min(photo.size)
    left, top = (photo.width - side) // 2, (photo.height - side) // 2
    square = photo.crop((left, top, left + side, top + side))
    square.thumbnail((PORTRAIT_SIDE, PORTRAIT_SIDE), Image.Resampling.LANCZOS)
    return _encode(square)


def _prepared(data: bytes) -> Image.Image:
    if len(data) > MAX_BYTES:
        raise errors.PictureError("tooLarge", "Send a photo of at most 10 MB.")
    # Pillow warns about many pixels, which `_check_header` refuses, and about skipped metadata.
    with warnings.catch_warnings(action="ignore"):
        try:
            with _open(data) as image:
                _check_header(image, data)
                rotation = _rotation(image)
                photo = _to_srgb(_reduce(image))
                return photo if rotation is None else photo.transpose(rotation)
        except _DAMAGE as error:
            raise errors.PictureError(
                "damaged", "The photo is damaged: send another one."
            ) from error


def _open(data: bytes) -> Image.Image:
    try:
        return Image.open(io.BytesIO(data), formats=_FORMATS)
    except Image.DecompressionBombError as error:
        raise _too_many_pixels(MAX_PIXELS) from error
    except UnidentifiedImageError as error:
        raise errors.PictureError("unknownFormat", "Send a JPEG, PNG, WebP or GIF.") from error


def _check_header(image: Image.Image, data: bytes) -> None:
    """Raise PictureError if the header shows that a picture is too large, too small or too long."""
    short, long = sorted(image.size)
    limit = MAX_PIXELS_WEBP if image.format == "WEBP" else MAX_PIXELS_WHOLE
    if isinstance(image, JpegImageFile):
        limit = MAX_PIXELS if _is_streamed(data) else limit * 3 // max(3, image.layers)
    if short * long > limit:
        raise _too_many_pixels(limit)
    if short < MIN_SIDE:
        raise errors.PictureError("tooSmall", f"Send a photo of at least {MIN_SIDE} pixels a side.")
    if long > MAX_RATIO * short:
        raise errors.PictureError(
            "tooLong", f"Send a photo not longer than {MAX_RATIO} times its width."
        )
    if isinstance(image, JpegImageFile) and data.count(_START_OF_SCAN) > MAX_SCANS:
        raise errors.PictureError(
            "damaged", "The photo is encoded oddly: save it again and send that."
        )


def _is_streamed(data: bytes) -> bool:
    """True if a JPEG is decoded row by row: sequential, with all colours in the first scan.

    Otherwise the decoder keeps the whole picture until it has read the last scan.
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
        elif 0xC0 <= marker <= 0xCF and marker not in _NOT_FRAMES:  # noqa: PLR2004 - other frames
            return False
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return False


def _too_many_pixels(limit: int) -> errors.PictureError:
    return errors.PictureError(
        "tooLarge", f"Send a photo of at most {limit // 1_000_000} megapixels."
    )


def _rotation(image: Image.Image) -> Image.Transpose | None:
    """Return the rotation that puts the photo upright; None if the file names none."""
    with suppress(*_DAMAGE):
        return _ROTATIONS.get(image.getexif().get(_ORIENTATION, 1))
    return None


def _reduce(image: Image.Image) -> Image.Image:
    """Decode a picture as small as its format allows, fit it, and flatten it."""
    profile = image.info.get("icc_profile")
    scale = MAX_SIDE / max(image.size)
    image.draft(None, (max(1, int(image.width * scale)), max(1, int(image.height * scale))))
    image.load()
    reduced = _reduce_in_bands(image, max(1, int(max(image.size) / (MIN_DETAIL * MAX_SIDE))))
    reduced.thumbnail((MAX_SIDE, MAX_SIDE), Image.Resampling.LANCZOS)
    # Anything else in `info`, such as comments, would be written into the result.
    reduced.info = {"icc_profile": profile} if profile else {}
    return reduced


def _reduce_in_bands(image: Image.Image, factor: int) -> Image.Image:
    """Reduce a picture by a whole factor and flatten it, with only one copy of it in memory."""
    reduced: Image.Image | None = None
    for top in range(0, image.height, BAND * factor):
        bottom = min(image.height, top + BAND * factor)
        band = _flatten(image.crop((0, top, image.width, bottom))).reduce(factor)
        reduced = reduced or Image.new(band.mode, (band.width, -(-image.height // factor)))
        reduced.paste(band, (0, top // factor))
    return reduced or image


def _flatten(image: Image.Image) -> Image.Image:
    """Return a picture on white, in eight bits a channel: L, RGB or CMYK."""
    if image.has_transparency_data:
        image = image.convert("RGBA")
        white = Image.new("RGB", image.size, "white")
        white.paste(image, mask=image.getchannel("A"))
        return white
    if image.mode.startswith("I"):
        return image.point(lambda level: level * (1 / 256) + 0).convert("L")
    return image if image.mode in _PLAIN else image.convert("RGB")


def _to_srgb(image: Image.Image) -> Image.Image:
    """Convert a picture's colours to sRGB; a profile that doesn't fit the picture is ignored."""
    profile = image.info.get("icc_profile")
    converted = None
    if profile:
        from PIL import ImageCms  # noqa: PLC0415 - costs memory, seldom used

        with suppress(ImageCms.PyCMSError, *_DAMAGE):
            own = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            srgb = ImageCms.createProfile("sRGB")
            converted = ImageCms.profileToProfile(image, own, srgb, outputMode="RGB")
    return converted or image.convert("RGB")


def _encode(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "JPEG", quality=QUALITY, optimize=True)
    return out.getvalue()
