"""The process that prepares one photo (see core/bounded_process.py).

Its answer is a byte for the kind, then the JPEG, or a reason and a message, a line each.
"""

from __future__ import annotations

from bot.core.bounded_process import serve
from bot.core.errors import PictureError

MODULE = __name__

ACCEPTED, REFUSED = b"+", b"-"


def read_answer(answer: bytes) -> bytes:
    """Return the JPEG of an answer. Raises PictureError with the reason in it."""
    if answer.startswith(ACCEPTED):
        return answer[1:]
    reason, _, message = answer[1:].decode().partition("\n")
    raise PictureError(reason, message)


def _work(data: bytes) -> bytes:
    try:
        return ACCEPTED + prepare(data)
    except PictureError as error:
        return REFUSED + f"{error.reason}\n{error}".encode()


if __name__ == "__main__":
    from bot.chat.pictures.photo_preparation import prepare

    serve(_work)
