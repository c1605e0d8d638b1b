"""The part of a file that a Range header asks for (RFC 9110, section 14)."""

from __future__ import annotations

import re

ONE_RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})")


class Unsatisfiable(ValueError):
    """A range that begins after the end of the file."""


def read_range(header: str | None, size: int) -> range | None:
    """Return the bytes that a header asks for, None where the whole file is to be sent.

    So it is for several ranges and for what is no range: a server may ignore the header. Raises
    Unsatisfiable.
    """
    found = ONE_RANGE.fullmatch(header.replace(" ", "")) if header else None
    if found is None or not (found[1] or found[2]):
        return None
    if not found[1]:  # the last bytes
        first, last = max(0, size - int(found[2])), size - 1
        if not int(found[2]):
            raise Unsatisfiable
    else:
        first, last = int(found[1]), min(int(found[2] or size), size - 1)
        if found[2] and int(found[2]) < first:
            return None
    if first >= size:
        raise Unsatisfiable
    return range(first, last + 1)
