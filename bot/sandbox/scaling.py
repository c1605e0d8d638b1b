"""Smaller copies of photos, as Telegram keeps them beside the whole one."""

import io

SCALED_MIME = "image/jpeg"
_QUALITY = 80


def fitted(width: int, height: int, side: int) -> tuple[int, int]:
    """Fit width and height into a square of `side`, never larger and never nothing."""
    ratio = min(1.0, side / max(width, height, 1))
    return max(1, round(width * ratio)), max(1, round(height * ratio))


def scaled(data: bytes, side: int) -> bytes | None:
    """Make a JPEG of the picture within a square; None for what can't be read as a picture."""
    from PIL import Image  # noqa: PLC0415 - only who downloads a small size pays for it

    try:
        with Image.open(io.BytesIO(data)) as picture:
            size = fitted(picture.width, picture.height, side)
            small = picture.convert("RGB").resize(size, Image.Resampling.LANCZOS)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return None
    written = io.BytesIO()
    small.save(written, "JPEG", quality=_QUALITY)
    return written.getvalue()
