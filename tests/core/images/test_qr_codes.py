"""QR codes: readable by every decoder in every size."""

from __future__ import annotations

import io
import re
from xml.etree import ElementTree as ET

import cv2
import numpy as np
import pytest
import zxingcpp
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from PIL import Image
from qrcode import QRCode
from qrcode.constants import ERROR_CORRECT_M
from qrcode.util import lost_point

from bot.core.images import qr

URL = "https://pay.example.com/pay/0123456789abcdef01234567"
TEXTS = [
    URL,
    "http://127.0.0.1:8080/pay/ffffffffffffffffffffffff",
    "A",
    "0123456789" * 5,
    "HELLO WORLD 123",
    "Zoë — ☕",
    "https://example.org/?" + "x" * 300,
    "https://example.org/?" + "1234567890" * 60,
]


def image(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data))


def decoded(picture: Image.Image) -> set[str]:
    """Return the results of two decoders: OpenCV's misses a few valid codes."""
    grey = np.asarray(picture.convert("L"))
    found = {code.text for code in zxingcpp.read_barcodes(grey)}
    return found | {cv2.QRCodeDetector().detectAndDecode(grey)[0]} - {""}


def as_jpeg(picture: Image.Image, quality: int) -> Image.Image:
    out = io.BytesIO()
    picture.convert("L").save(out, "JPEG", quality=quality)
    return image(out.getvalue())


@pytest.mark.parametrize("text", TEXTS)
def test_every_picture_decodes_back(text: str) -> None:
    """As sent, at half the size, and as the JPEG that Telegram makes of it."""
    picture = image(qr.png(text))
    half = picture.convert("L").resize(
        (picture.width // 2, picture.height // 2), Image.Resampling.BILINEAR
    )
    assert decoded(picture) == {text}
    assert decoded(half) == {text}
    assert decoded(as_jpeg(picture, 60)) == {text}


def test_both_decoders_read_a_typical_address() -> None:
    """The pay link is read by each of two independent decoders."""
    grey = np.asarray(image(qr.png(URL)).convert("L"))
    assert [code.text for code in zxingcpp.read_barcodes(grey)] == [URL]
    assert cv2.QRCodeDetector().detectAndDecode(grey)[0] == URL


@settings(max_examples=60)
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=400))
@example("123456789" * 600)
@example("x" * qr.MAX_BYTES)
def test_any_text_decodes_back(text: str) -> None:
    """Any text that fits is read unchanged, also in the largest version."""
    assume("0" * 40 not in text)  # qrcode 8.2 can't divide a block that is all zeros
    assert text in decoded(qr.enlarge(qr.module_image(text), 4))


@pytest.mark.parametrize("text", TEXTS)
def test_the_border_is_exactly_four_modules(text: str) -> None:
    """Four white modules on each side, then the finder's dark corner."""
    grey = np.asarray(image(qr.png(text)).convert("L"))
    side = len(qr.matrix(text)) + 2 * qr.BORDER
    module = len(grey) // side
    assert grey.shape == (side * module, side * module)
    dark_rows, dark_columns = np.nonzero(grey == 0)
    edge = qr.BORDER * module
    assert (dark_rows.min(), dark_columns.min()) == (edge, edge)
    assert len(grey) - 1 - dark_columns.max() == edge
    assert len(grey) - 1 - dark_rows.max() == edge
    assert set(np.unique(grey)) == {0, 255}


@pytest.mark.parametrize("text", TEXTS)
def test_pictures_are_large_enough_and_small_files(text: str) -> None:
    """At least 512 pixels, one bit each, whole pixels a module."""
    data = qr.png(text)
    picture = image(data)
    assert picture.mode == "1"
    assert picture.width == picture.height >= 512
    assert len(data) < 20_000


@pytest.mark.parametrize("text", TEXTS)
def test_the_svg_has_the_same_modules(text: str) -> None:
    """The SVG's path covers exactly the dark modules, four in from each side."""
    root = ET.fromstring(qr.svg(text))
    modules = qr.matrix(text)
    side = len(modules) + 2 * qr.BORDER
    assert root.get("viewBox") == f"0 0 {side} {side}"
    rect, path = list(root)
    assert (rect.get("width"), rect.get("height"), rect.get("fill")) == (
        str(side),
        str(side),
        "#fff",
    )
    drawn = np.zeros((side, side), dtype=int)
    outline = path.get("d") or ""
    steps = re.findall(r"M(\d+) (\d+)h(\d+)v1h-(\d+)z", outline)
    assert re.sub(r"M\d+ \d+h\d+v1h-\d+z", "", outline) == ""
    for column, row, there, back in (map(int, step) for step in steps):
        assert there == back
        drawn[row, column : column + there] += 1
    assert np.array_equal(drawn, np.pad(np.array(modules, dtype=int), qr.BORDER))
    big = Image.fromarray(np.uint8(255 * (1 - drawn))).resize((side * 8, side * 8))
    assert decoded(big) == {text}


@pytest.mark.parametrize("text", TEXTS)
def test_the_symbol_is_the_librarys_under_the_mask_that_the_standard_prefers(text: str) -> None:
    """Our scores of all masks equal the library's, and the best mask is used."""
    scores, made = [], []
    for mask in range(8):
        code: QRCode = QRCode(error_correction=ERROR_CORRECT_M, mask_pattern=mask)
        code.add_data(text)
        code.make()
        scores.append(lost_point(code.modules))
        made.append(code.modules)
        assert scores[-1] == qr._penalty(qr._read(code))
    assert qr.matrix(text) == made[scores.index(min(scores))]


@pytest.mark.parametrize("text", ["", "x" * (qr.MAX_BYTES + 1), "0" * 100_000, "\ud800"])
def test_texts_that_no_code_holds_are_value_errors(text: str) -> None:
    """Callers limit their texts; a longer one raises ValueError."""
    with pytest.raises(ValueError, match=r"QR code|surrogates"):
        qr.png(text)
    with pytest.raises(ValueError, match=r"QR code|surrogates"):
        qr.svg(text)
