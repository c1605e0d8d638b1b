"""Smaller copies of photos, which Telegram keeps in addition to the original.

This module makes the copies in a child process (core/bounded_process.py). The child reads the side
length from four bytes before the picture, and writes nothing if it can't make a copy.
"""

import io

from bot.core import bounded_process

SCALED_MIME = "image/jpeg"
SCALER = __name__
_QUALITY = 80
_SIDE = 4  # bytes


def fitted(width: int, height: int, side: int) -> tuple[int, int]:
    """Fit width and height into a square of `side`; never enlarge them, and keep at least 1."""
    ratio = min(1.0, side / max(width, height, 1))
    return max(1, round(width * ratio)), max(1, round(height * ratio))


def scaled(data: bytes, side: int) -> bytes | None:
    """Make a JPEG of the picture within a square; None if it can't be read as a picture."""
    from PIL import Image  # noqa: PLC0415 - loaded only to make a smaller size

    try:
        with Image.open(io.BytesIO(data)) as picture:
            size = fitted(picture.width, picture.height, side)
            picture.draft("RGB", size)
            small = picture.convert("RGB").resize(size, Image.Resampling.LANCZOS)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return None
    written = io.BytesIO()
    small.save(written, "JPEG", quality=_QUALITY)
    return written.getvalue()


def asked(side: int, data: bytes) -> bytes:
    """Return the input of the child for a copy within a square of `side`."""
    return side.to_bytes(_SIDE) + data


def _work(sent: bytes) -> bytes:
    return scaled(sent[_SIDE:], int.from_bytes(sent[:_SIDE])) or b""


if __name__ == "__main__":
    bounded_process.serve(_work)
