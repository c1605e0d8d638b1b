"""The peers' process: `python draw.py LIBRARY SCALE LINK...` prints a picture's milliseconds.

It runs with the peers' Python. A level of M is not raised, the border is of four modules.
"""

import io
import json
import sys
import time
from collections.abc import Callable

import qrcode
import segno
from qrcode.image.pil import PilImage


def by_segno(link: str, scale: int) -> None:
    code = segno.make(link, error="m", boost_error=False, micro=False)
    code.save(io.BytesIO(), kind="png", scale=scale, border=4)


def by_qrcode(link: str, scale: int) -> None:
    code = qrcode.QRCode(
        error_correction=qrcode.ERROR_CORRECT_M, box_size=scale, image_factory=PilImage
    )
    code.add_data(link)
    code.make_image().save(io.BytesIO())


DRAWING: dict[str, Callable[[str, int], None]] = {"segno": by_segno, "qrcode": by_qrcode}


def milliseconds(library: str, link: str, scale: int) -> float:
    began = time.perf_counter()
    DRAWING[library](link, scale)
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    library, scale, *links = sys.argv[1:]
    print(json.dumps([milliseconds(library, link, int(scale)) for link in links]))
