"""A seller's photo, prepared to be shown: untrusted bytes in, a plain JPEG out.

The header of the file is checked before any pixel is decoded. That does not limit memory, so
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
MAX_RATIO = 20  # Telegram refuses photos beyond it
MAX_PIXELS = 50_000_000
"""Of a JPEG that is decoded row by row, to a half, a quarter or an eighth."""

MAX_PIXELS_WHOLE = 25_000_000
"""Of a picture that is decoded whole before it is reduced: four bytes a pixel, six in a JPEG, in
which each colour takes two."""

MAX_PIXELS_WEBP = 12_500_000
"""Of a WebP, which takes sixteen bytes a pixel; photos of phones have 12.2 megapixels."""

MIN_DETAIL = 1.25
"""Times the final size that a picture keeps at least when it is reduced by a whole factor, which
is quick; the rest is resampled."""

BAND = 64  # rows that are reduced at a time

MAX_SCANS = 64
"""Of a JPEG, usually ten: each decodes all pixels again, though it may have a few bytes."""

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

    It is upright, on white, the first frame of an animation; all metadata is removed.
    Raises PictureError, and MemoryError where memory is limited.
    """
    return _encode(_prepared(data))


def prepare_portrait(data: bytes) -> bytes:
    """Return a photo of a seller as a square JPEG: the centre of it, otherwise as `prepare`."""
    photo = _prepared(data)
    side = min(photo.size)
    left, top = (photo.width - side) // 2, (photo.height - side) // 2
    square = photo.crop((left, top, left + side, top + side))
    square.thumbnail((PORTRAIT_SIDE, PORTRAIT_SIDE), Image.Resampling.LANCZOS)
    return _encode(square)


def _prepared(data: bytes) -> Image.Image:
    if len(data) > MAX_BYTES:
        raise errors.PictureError("tooLarge", "Send a photo of at most 10 MB.")
    # Pillow warns of many pixels, which `_check_header` refuses, and of metadata that it skips.
    with warnings.catch_warnings(action="ignore"):
        try:
            with _open(data) as image:
                _check_header(image, data)
                turn = _rotation(image)
                return _rotate(_to_srgb(_reduce(image)), turn)
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
    """Raise PictureError for a picture that its header shows to be too large, small or long."""
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
    """Return whether a JPEG is decoded row by row: sequential, all colours in the first scan.

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
    """Return the rotation that puts the photo upright; None where the file names none."""
    with suppress(*_DAMAGE):
        return _ROTATIONS.get(image.getexif().get(_ORIENTATION, 1))
    return None


def _reduce(image: Image.Image) -> Image.Image:
    """Decode a picture as small as its format allows and fit it, on white, in L, RGB or CMYK."""
    profile = image.info.get("icc_profile")
    scale = MAX_SIDE / max(image.size)
    image.draft(None, (max(1, int(image.width * scale)), max(1, int(image.height * scale))))
    image.load()
    reduced = _reduce_in_bands(image, max(1, int(max(image.size) / (MIN_DETAIL * MAX_SIDE))))
    reduced.thumbnail((MAX_SIDE, MAX_SIDE), Image.Resampling.LANCZOS)
    # Everything else in it, such as comments, would be written again.
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
    profile = image.info.get("icc_profile")
    return (_apply_profile(image, profile) if profile else None) or image.convert("RGB")


def _apply_profile(image: Image.Image, profile: bytes) -> Image.Image | None:
    """Convert the colours of a profile to sRGB; None where it does not fit the picture."""
    from PIL import ImageCms  # noqa: PLC0415 - costs memory, seldom used

    with suppress(ImageCms.PyCMSError, *_DAMAGE):
        own, srgb = ImageCms.ImageCmsProfile(io.BytesIO(profile)), ImageCms.createProfile("sRGB")
        return ImageCms.profileToProfile(image, own, srgb, outputMode="RGB")
    return None


def _rotate(image: Image.Image, turn: Image.Transpose | None) -> Image.Image:
    return image if turn is None else image.transpose(turn)


def _encode(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "JPEG", quality=QUALITY, optimize=True)
    return out.getvalue()
