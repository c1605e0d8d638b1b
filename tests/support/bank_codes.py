"""Bank codes read back: by decoders from the picture, and field by field from the text."""

from __future__ import annotations

import io
import shutil
import subprocess
import tempfile
from urllib.parse import parse_qsl, urlsplit

import cv2
import numpy as np
import zxingcpp
from PIL import Image

_SWISS = (
    "header version coding iban type name street houseNumber postalCode town country"
    " u1 u2 u3 u4 u5 u6 u7 amount currency d1 d2 d3 d4 d5 d6 d7 referenceType reference"
    " message end"
)
_EPC = "tag version charset kind bic name iban amount purpose structured text"


def zxing(picture: bytes) -> tuple[str, str]:
    """Return the text and the error correction level that ZXing reads."""
    (found,) = zxingcpp.read_barcodes(
        _grey(picture), zxingcpp.BarcodeFormats(zxingcpp.BarcodeFormat.QRCode)
    )
    return bytes(found.bytes).decode("utf-8"), str(found.ec_level)


def second_decoder(picture: bytes) -> str | None:
    """Return the text that ZBar reads.

    Without `zbarimg` (Debian's zbar-tools) OpenCV reads it, which finds nineteen of twenty codes:
    None if it finds none.
    """
    if not shutil.which("zbarimg"):
        return cv2.QRCodeDetector().detectAndDecode(_grey(picture))[0] or None
    with tempfile.NamedTemporaryFile(suffix=".png") as file:
        file.write(picture)
        file.flush()
        command = ["zbarimg", "-q", "--raw", "--oneshot", "-Sbinary", file.name]
        return subprocess.run(command, capture_output=True, check=True).stdout.decode()


def _grey(picture: bytes) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return np.asarray(Image.open(io.BytesIO(picture)).convert("L"))


def read_epc(text: str) -> dict[str, str]:
    """Read EPC069-12: line feeds, no line after the last that has something."""
    lines = text.split("\n")
    assert lines[-1], "a last empty line"
    return dict(zip(_EPC.split(), lines, strict=False))


def read_tlv(text: str) -> dict[str, str]:
    """Read one level of EMV's tags, lengths and values."""
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        tag, size = text[at : at + 2], int(text[at + 2 : at + 4])
        value = text[at + 4 : at + 4 + size]
        assert tag not in found
        assert len(value) == size > 0
        found[tag] = value
        at += 4 + size
    return found


def crc16(text: str) -> str:
    """Return CRC-16/IBM-3740 by its definition: polynomial x^16+x^12+x^5+1, all ones at first."""
    value = 0xFFFF
    for byte in text.encode("ascii"):
        for bit in range(7, -1, -1):
            over = (value >> 15 ^ byte >> bit) & 1
            value = (value << 1 & 0xFFFF) ^ (0x1021 if over else 0)
    return f"{value:04X}"


def read_pix(text: str) -> dict[str, str]:
    """Read a static BR Code whose checksum is right."""
    fields = read_tlv(text)
    assert list(fields) == sorted(fields, key=int)
    assert fields["63"] == crc16(text[:-4])
    account, more = read_tlv(fields["26"]), read_tlv(fields["62"])
    named = {"currency": "53", "amount": "54", "country": "58", "name": "59", "city": "60"}
    read = {name: fields[tag] for name, tag in named.items()}
    return read | {"gui": account["00"], "key": account["01"], "txid": more["05"]}


def read_upi(text: str) -> dict[str, str]:
    parts = urlsplit(text)
    assert (parts.scheme, parts.netloc, parts.path) == ("upi", "pay", "")
    return dict(parse_qsl(parts.query, strict_parsing=True))


def read_swiss(text: str) -> dict[str, str]:
    return dict(zip(_SWISS.split(), text.split("\r\n"), strict=True))


READERS = {"sepa": read_epc, "pix": read_pix, "upi": read_upi, "swiss": read_swiss}
