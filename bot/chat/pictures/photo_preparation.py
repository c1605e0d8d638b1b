"""Preparation of sellers' photos: untrusted bytes in, a plain JPEG out.

The file's header is checked before any pixel is decoded. That alone doesn't limit memory, so
`decoder_process` runs this module in a separate process.
"""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from contextlib import suppress

from PIL import Image, ImageOps, UnidentifiedImageError, WebPImagePlugin
from PIL.JpegImagePlugin import JpegImageFile

from bot.core import errors

MAX_BYTES = 10_000_000
MAX_SIDE = 1280  # maximum pixels of the result's longer side, as in Telegram's own photos
PORTRAIT_SIDE = 320  # of a portrait: 96 CSS pixels on the sharpest phones
MIN_SIDE = 64  # minimum pixels of the original's shorter side
MAX_RATIO = 20  # of the sides; Telegram refuses longer photos
MAX_PIXELS = 50_000_000
"""Limit for a JPEG that is decoded row by row, at half, a quarter or an eighth of its size."""

MAX_PIXELS_WHOLE = 25_000_000
"""Limit for a picture that is fully decoded before it is reduced. This takes four bytes per pixel,
or six for a JPEG, with two per colour."""

MAX_PIXELS_WEBP = 12_500_000
"""Limit for a WebP, which takes 16 bytes per pixel; phone photos have 12.2 megapixels."""

MAX_SCANS = 64
"""Limit for a JPEG; most have ten. Each scan, however small, decodes all pixels again."""

MIN_DETAIL = 1.25
"""A picture is first reduced by a whole factor, which is fast, to at least this many times its
final size; then it is resampled."""

BAND = 64  # rows reduced at a time

QUALITY = 85

_FORMATS = ("JPEG", "PNG", "WEBP", "GIF")
_PLAIN = ("L", "RGB", "CMYK")
_START_OF_SCAN = b"\xff\xda"
_SEQUENTIAL = (0xC0, 0xC1, 0xC9)  # ITU-T T.81 table B.1: frames that are decoded row by row
_NOT_FRAMES = (0xC4, 0xC8, 0xCC)  # other markers in the range of frame markers
_DAMAGE = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, OSError, SyntaxError),
    *(TypeError, ValueError, struct.error, zlib.error),
)
"""The errors that Pillow's readers raise for damaged files."""

_PLUGINS = (WebPImagePlugin,)
"""The plugins that Pillow loads only together with all forty."""


def prepare(data: bytes) -> bytes:
    """Return a photo as an sRGB JPEG of at most 1280 pixels per side.

    The photo is turned upright and put on white. Only the first frame of an animation is used. All
    metadata is removed. Raises PictureError, and MemoryError if memory is limited.
    """
    return _encode(_prepared(data))


def prepare_portrait(data: bytes) -> bytes:
    """Like `prepare`, but return the centre of a seller's photo as a square."""
    photo = _prepared(data)
    side = min(*photo.size, PORTRAIT_SIDE)
    return _encode(ImageOps.fit(photo, (side, side), Image.Resampling.LANCZOS))


def _prepared(data: bytes) -> Image.Image:
    if len(data) > MAX_BYTES:
        raise errors.PictureError("tooLarge", "Send a photo of at most 10 MB.")
    # Pillow warns about too many pixels, which `_check_header` rejects, and skipped metadata.
    with warnings.catch_warnings(action="ignore"):
        try:
            with _open(data) as image:
                _check_header(image, data)
                photo = _to_srgb(_reduce(image), image.info.get("icc_profile"))
                photo.info = image.info  # with the orientation
                with suppress(*_DAMAGE):
                    ImageOps.exif_transpose(photo, in_place=True)
                photo.info = {}  # Pillow would write some of it into the result, such as comments
                return photo
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
    """Raise PictureError if the header shows a picture that is too large, small or long."""
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
    """True if a JPEG is decoded row by row: it is sequential, with all colours in the first scan.

    Otherwise the decoder keeps the whole picture in memory until it has read the last scan.
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


def _reduce(image: Image.Image) -> Image.Image:
    """Decode a picture at the smallest suitable size, resize it, and flatten it."""
    scale = MAX_SIDE / max(image.size)
    image.draft(None, (max(1, int(image.width * scale)), max(1, int(image.height * scale))))
    image.load()
    reduced = _reduce_in_bands(image, max(1, int(max(image.size) / (MIN_DETAIL * MAX_SIDE))))
    reduced.thumbnail((MAX_SIDE, MAX_SIDE), Image.Resampling.LANCZOS)
    return reduced


def _reduce_in_bands(image: Image.Image, factor: int) -> Image.Image:
    """Reduce a picture by a whole factor and flatten it, with only one copy in memory."""
    reduced: Image.Image | None = None
    for top in range(0, image.height, BAND * factor):
        bottom = min(image.height, top + BAND * factor)
        band = _flatten(image.crop((0, top, image.width, bottom))).reduce(factor)
        reduced = reduced or Image.new(band.mode, (band.width, -(-image.height // factor)))
        reduced.paste(band, (0, top // factor))
    return reduced or image


def _flatten(image: Image.Image) -> Image.Image:
    """Return a picture on white, with eight bits per channel: L, RGB or CMYK."""
    if image.has_transparency_data:
        image = image.convert("RGBA")
        white = Image.new("RGB", image.size, "white")
        white.paste(image, mask=image.getchannel("A"))
        return white
    if image.mode.startswith("I"):
        return image.point(lambda level: level * (1 / 256) + 0).convert("L")
    return image if image.mode in _PLAIN else image.convert("RGB")


def _to_srgb(image: Image.Image, profile: bytes | None) -> Image.Image:
    """Convert a picture's colours to sRGB; a profile that doesn't match the picture is ignored."""
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
