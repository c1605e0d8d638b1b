"""A photo that a person sends causes no output beside the log."""

from __future__ import annotations

import subprocess
import sys

from tests.support.paths import ROOT

SEND = """
import struct, zlib
from bot.chat.pictures.photo_preparation import prepare
from bot.core.errors import PictureError

def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

head = struct.pack(">II5B", 12_000, 9_000, 1, 0, 0, 0, 0)
try:
    prepare(b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"")))
except PictureError as error:
    print(error.reason)
"""


def test_a_picture_of_too_many_pixels_is_refused_without_a_warning() -> None:
    found = subprocess.run(
        [sys.executable, "-W", "default", "-c", SEND],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert (found.stdout, found.stderr) == ("tooLarge\n", "")
