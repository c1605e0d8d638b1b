"""A photo prepared in a process of its own (see core/bounded_process.py).

Its answer is a byte that says what follows: the JPEG, or a reason and a message, a line each.
"""

from __future__ import annotations

from bot.core.bounded_process import serve
from bot.core.errors import PictureError

MODULE = __name__

TAKEN, REFUSED = b"+", b"-"


def read(answer: bytes) -> bytes:
    """Return the JPEG of a child's answer. Raises PictureError with the reason that it gives."""
    if answer.startswith(TAKEN):
        return answer[1:]
    reason, _, message = answer[1:].decode().partition("\n")
    raise PictureError(reason, message)


def _work(data: bytes) -> bytes:
    try:
        return TAKEN + prepared(data)
    except PictureError as error:
        return REFUSED + f"{error.reason}\n{error}".encode()


if __name__ == "__main__":
    from bot.chat.pictures.photo import prepared

    serve(_work)
