"""The process that prepares one photo (see core/bounded_process.py).

The answer is a byte for the kind, followed by the JPEG, or by two lines with the reason and a
message. With the argument PORTRAIT the result is a seller's portrait.
"""

from __future__ import annotations

from bot.core import bounded_process
from bot.core.errors import PictureError

MODULE = __name__

ACCEPTED, REFUSED = b"+", b"-"
PORTRAIT = "portrait"


def read_answer(answer: bytes) -> bytes:
    """Return the JPEG in an answer. Raises PictureError if the photo was refused."""
    if answer.startswith(ACCEPTED):
        return answer[1:]
    reason, _, message = answer[1:].decode().partition("\n")
    raise PictureError(reason, message)


def _work(data: bytes, *words: str) -> bytes:
    try:
        return ACCEPTED + (prepare_portrait if words == (PORTRAIT,) else prepare)(data)
    except PictureError as error:
        return REFUSED + f"{error.reason}\n{error}".encode()


if __name__ == "__main__":
    from bot.chat.pictures.photo_preparation import prepare, prepare_portrait

    bounded_process.serve(_work)
