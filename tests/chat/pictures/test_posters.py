"""Posters and squares: sizes, the layout, the code in every format, and valid PDFs."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
import zxingcpp
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageChops, ImageFont, ImageOps
from reportlab.pdfbase.ttfonts import TTFont

from bot.chat.forms.typed_text import MAX_POSTER_TEXT
from bot.chat.pictures.canvas import PictureContent, encode_png
from bot.chat.pictures.poster import HALF, SIDE, poster_pdf, poster_png, square_png
from bot.chat.pictures.sheet import MAX_TEXT
from bot.chat.pictures.typesetting import drawable_lines
from bot.core.images import qr, text_fitting
from bot.core.images.plain_font import FACES, FONTS
from tests.chat.pictures.samples import ARABIC, LONG_NAME, SELLER, changed_parts
from tests.support.sample_pictures import (
    decode,
    opened,
    pixel,
    prepared_photo,
    sample_link,
    sample_photo,
    saved,
    undecodable_versions,
)

SHORT = "https://pay.example.org/7f3e"
WORDS = "Ten vinyl stickers, cut by hand. " * 9
PLAIN = PictureContent("Sticker pack", "$2.50", sample_link(55), None, "Scan to pay")
RICH = replace(
    PLAIN,
    name=LONG_NAME,
    price="1,000,000,000.00 USD",
    photo=prepared_photo(),
    text=WORDS,
    dark=True,
    code=sample_link(300),
    hint="Pay Mia's Prints",
    seller=replace(SELLER, photo=prepared_photo()),
)
MIRRORED = replace(RICH, name=ARABIC, dark=False)
CONTENTS = {"plain": PLAIN, "rich": RICH, "mirrored": MIRRORED}
LETTERS = "Äq1€Ω"
WIDTH, HEIGHT = 2480, 3508
MARGIN = 142
"""Pixels of 12 mm at 300 dpi."""


def changed(field: str, value: Any) -> PictureContent:
    return replace(PLAIN, **{field: value})


def printed(data: bytes, dpi: int = 150) -> Image.Image:
    """Render the first page of a PDF as a printer does."""
    page = pypdfium2.PdfDocument(data)[0]
    picture: Image.Image = page.render(scale=dpi / 72).to_pil()
    return picture


def words(data: bytes) -> str:
    text: str = pypdfium2.PdfDocument(data)[0].get_textpage().get_text_range()
    return " ".join(text.split())


@pytest.mark.long
@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize("draw", [square_png, poster_png])
def test_two_decoders_read_the_code_at_half_size_and_as_a_rough_jpeg(
    draw: Callable[[PictureContent], bytes], content: PictureContent
) -> None:
    assert not undecodable_versions(opened(draw(content)), content.code)


@settings(max_examples=6)
@given(length=st.integers(20, 300), dark=st.booleans(), with_text=st.booleans())
def test_a_square_with_any_link_is_read(length: int, *, dark: bool, with_text: bool) -> None:
    """By one decoder at least: OpenCV's misses some sound codes."""
    content = replace(RICH, code=sample_link(length), dark=dark, text=WORDS if with_text else None)
    assert not undecodable_versions(opened(square_png(content)), content.code, least=1)


@pytest.mark.parametrize("length", [29, 55, 150, 300])
def test_the_code_of_a_square_is_half_as_wide_as_the_square(length: int) -> None:
    """With its white border, as large as whole pixels a module allow."""
    content = replace(PLAIN, code=sample_link(length))
    (code,) = zxingcpp.read_barcodes(opened(square_png(content)))
    modules = len(qr.matrix(content.code))
    across = code.position.top_right.x - code.position.top_left.x
    whole = across * (modules + 2 * qr.BORDER) / modules
    assert SIDE / 2 == HALF
    assert 0.9 * HALF < whole <= HALF + 4


@pytest.mark.long
@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_poster_has_margins_of_12_millimetres(content: PictureContent, *, dark: bool) -> None:
    picture = opened(poster_png(replace(content, dark=dark)))
    around = picture.copy()
    ground = pixel(picture, (0, 0))
    around.paste(ground, (MARGIN, MARGIN, WIDTH - MARGIN, HEIGHT - MARGIN))
    assert around.getcolors() == [(WIDTH * HEIGHT, ground)]
    within = ImageChops.difference(picture, Image.new("RGB", picture.size, ground)).getbbox()
    assert within == (MARGIN, MARGIN, WIDTH - MARGIN, HEIGHT - MARGIN)


@pytest.mark.parametrize("name", ["Tea", LONG_NAME, ARABIC])
def test_a_poster_shows_the_photo_unobstructed_on_almost_half_of_its_height(name: str) -> None:
    photo = saved(Image.new("RGB", (1280, 960), (10, 120, 250)))
    picture = opened(poster_png(replace(RICH, name=name, photo=photo)))
    shown = picture.crop((MARGIN, MARGIN, WIDTH - MARGIN, HEIGHT))
    colour = pixel(shown, (0, 0))
    other = ImageChops.difference(shown, Image.new("RGB", shown.size, colour)).convert("L")
    box = other.point(lambda level: 255 * (level > 2)).getbbox()
    assert box is not None
    assert 0.45 <= box[1] / HEIGHT <= 0.50


def test_every_line_on_a_poster_begins_at_the_left_margin() -> None:
    content = replace(PLAIN, name="Jam", photo=prepared_photo(), text="Thank you!")
    page = pypdfium2.PdfDocument(poster_pdf(content))[0].get_textpage()
    starts = [page.get_rect(number)[0] for number in range(page.count_rects())]
    assert len(starts) >= len(("name", "price", "text", "hint", "address"))
    assert [start * 25.4 / 72 for start in starts] == pytest.approx([12] * len(starts), abs=0.4)


@pytest.mark.long
@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_the_code_of_a_printed_pdf_is_read(content: PictureContent) -> None:
    """It is one page of exactly A4, readable at fine and coarse resolution."""
    data = poster_pdf(content)
    document = pypdfium2.PdfDocument(data)
    assert len(document) == 1
    millimetres = [points * 25.4 / 72 for points in document[0].get_size()]
    assert millimetres == pytest.approx([210, 297], abs=0.01)
    assert not undecodable_versions(printed(data), content.code)
    assert decode(printed(data, 72)) == {content.code}


def test_a_poster_has_300_dpi_on_a4_and_a_square_1080_pixels() -> None:
    poster, square = opened(poster_png(PLAIN)), opened(square_png(PLAIN))
    assert (poster.size, poster.format) == ((2480, 3508), "PNG")
    assert poster.info["dpi"] == pytest.approx((300, 300), abs=0.01)
    assert (square.size, square.format) == ((1080, 1080), "PNG")


@pytest.mark.long
@pytest.mark.parametrize("name", ["Sticker pack", "ÄÅéñşžǘ Ωά Жёй ﬁ ½ №"])
def test_png_and_pdf_look_the_same(name: str) -> None:
    """Letters, composed ones too, photo and code are at the same places."""
    small, content = (496, 702), replace(RICH, name=name, text=WORDS[:33])
    pixels = opened(poster_png(content)).resize(small, Image.Resampling.BOX).convert("L")
    page = printed(poster_pdf(content), 300).resize(small, Image.Resampling.BOX).convert("L")
    pairs = zip(pixels.tobytes(), page.tobytes(), strict=True)
    assert sum(abs(one - other) > 90 for one, other in pairs) < 0.001 * small[0] * small[1]


def test_the_text_of_a_pdf_can_be_copied() -> None:
    """Its text is text, and only the photo is an image."""
    content = replace(PLAIN, name="Crème Ω Ж", price="5,00 €", text="Für alle.", code=SHORT)
    data = poster_pdf(content)
    assert words(data) == f"Crème Ω Ж 5,00 € Für alle. Scan to pay {SHORT[8:]}"
    assert data.count(b"/Subtype /Image") == 0
    with_photo = poster_pdf(replace(content, photo=prepared_photo(), seller=SELLER))
    assert words(with_photo) == words(data).replace("Scan", "MP Scan")
    assert with_photo.count(b"/Subtype /Image") == 1


def test_a_pdf_contains_only_the_glyphs_it_uses_and_its_title() -> None:
    data = poster_pdf(replace(PLAIN, name="Tea (5) \\ ☕"))
    assert len(data) < 120_000
    assert pypdfium2.PdfDocument(data).get_metadata_dict()["Title"] == "Tea (5) \\ ☕"


def test_a_pdf_has_any_title_and_no_author() -> None:
    data = poster_pdf(replace(PLAIN, name="\ud800 \u202eTea \0 ☕ שלום"))
    about = pypdfium2.PdfDocument(data).get_metadata_dict()
    assert about["Title"] == "? Tea \0 ☕ שלום"
    assert (about["Author"], about["Subject"], about["Creator"]) == ("", "", "")


def test_a_pdf_embeds_the_fonts_of_the_project_and_no_other() -> None:
    fonts = set(re.findall(rb"/BaseFont /[A-Z]{6}\+(\S+)", poster_pdf(RICH)))
    assert fonts == {b"NotoSans-Regular", b"NotoSans-SemiBold", b"NotoSans-Bold"}
    assert poster_pdf(RICH).count(b"/BaseFont") == len(fonts)


def test_pdfs_drawn_in_parallel_equal_those_drawn_alone() -> None:
    """The same content always makes the same bytes."""
    contents = [replace(PLAIN, name=name, text=name * 3) for name in ("Tea", "Žluť", "Ωά", "Кофе")]
    alone = [*map(poster_pdf, contents)]
    with ThreadPoolExecutor(len(contents)) as threads:
        assert [*threads.map(poster_pdf, contents * 5)] == alone * 5


@pytest.mark.parametrize(
    "path", [FONTS / f"{face}.ttf" for face in FACES.values()], ids=lambda path: path.stem
)
def test_a_pdf_has_the_letter_widths_that_lines_are_split_by(path: Path) -> None:
    font, large = TTFont(path.stem, str(path)), ImageFont.truetype(str(path), 1000)
    for char in LETTERS:
        assert font.stringWidth(char, 1000) == pytest.approx(large.getlength(char), abs=1)


@pytest.mark.parametrize("draw", [square_png, poster_pdf])
def test_each_part_of_the_content_is_drawn(draw: Callable[[PictureContent], bytes]) -> None:
    contents = [*changed_parts(PLAIN), replace(PLAIN, text="Thank you")]
    assert len({draw(content) for content in contents}) == len(contents)


@settings(max_examples=12)
@given(text=st.text(max_size=300), where=st.sampled_from(["name", "price", "text", "hint"]))
def test_no_text_breaks_a_poster_or_draws_a_missing_glyph(text: str, where: str) -> None:
    said = (
        "\n".join(drawable_lines(text))
        if where == "text"
        else text_fitting.drawable_text(text) or ""
    )
    content = changed(where, text)
    assert square_png(content) == square_png(changed(where, said))
    assert "\ufffd" not in words(poster_pdf(content))


def test_a_text_of_300_characters_is_shown_whole() -> None:
    text = " ".join(f"word{number:03}" for number in range(37))
    assert len(text) == 295
    for content in (PLAIN, replace(RICH, dark=False), RICH):
        assert text in words(poster_pdf(replace(content, text=text)))


def test_a_name_of_100_characters_is_shown_whole_in_three_lines() -> None:
    for content in (PLAIN, RICH):
        data = poster_pdf(replace(content, name=LONG_NAME))
        assert words(data).startswith(LONG_NAME)
    assert " ".join(lines(poster_pdf(RICH))[:3]) == LONG_NAME


def lines(data: bytes) -> list[str]:
    text: str = pypdfium2.PdfDocument(data)[0].get_textpage().get_text_range()
    return text.splitlines()


def capital(data: bytes, char: str) -> float:
    """Measure the height of the last such capital in a PDF, in millimetres."""
    page = pypdfium2.PdfDocument(data)[0].get_textpage()
    at = page.get_text_range().rindex(char)
    _, bottom, _, top = page.get_charbox(at)
    return float(top - bottom) * 25.4 / 72


@pytest.mark.parametrize(
    "text", ["Thank You", "Home made jam. Thank you very much for your help, You"]
)
def test_a_short_text_can_be_read_from_a_metre(text: str) -> None:
    assert capital(poster_pdf(replace(PLAIN, text=text)), "Y") >= 4.5
    assert capital(poster_pdf(replace(PLAIN, text=text)), "S") >= 6


@pytest.mark.long
@pytest.mark.parametrize(
    ("content", "width"), [(PLAIN, 80), (replace(RICH, code=PLAIN.code), 55), (RICH, 55)]
)
@pytest.mark.parametrize("dark", [False, True])
def test_the_code_of_a_poster_can_be_read_from_afar(
    content: PictureContent, width: int, *, dark: bool
) -> None:
    """It is several centimetres wide, and has four white modules on each side."""
    picture = opened(poster_png(replace(content, dark=dark)))
    (code,) = zxingcpp.read_barcodes(picture)
    spots = code.position
    across = spots.top_right.x - spots.top_left.x
    assert across >= width * WIDTH / 210
    border = qr.BORDER * across // len(qr.matrix(content.code)) - 4
    left, top, side = spots.top_left.x, spots.top_left.y, across + 2 * border
    part = picture.convert("L").crop((left - border, top - border, left + side, top + side))
    part = part.crop((0, 0, side, side))
    within = ImageOps.invert(part).point(lambda level: 255 * (level > 60)).getbbox()
    assert within == pytest.approx([border] * 2 + [border + across] * 2, abs=3)


@pytest.mark.long
def test_a_layout_is_mirrored_for_a_name_written_from_right_to_left() -> None:
    """Words begin at the right, so the code is at the left."""
    for draw in (poster_png, square_png):
        for name, is_left in ((ARABIC, True), ("Tea", False)):
            picture = opened(draw(replace(PLAIN, name=name)))
            (code,) = zxingcpp.read_barcodes(picture)
            assert (code.position.top_right.x < 0.55 * picture.width) == is_left


def test_line_breaks_are_kept_and_each_line_is_normalized() -> None:
    text = "  Mo-Fr  9-18 \r\n\n Sa 9-13\n\u200b\nThank you!"
    data = poster_pdf(replace(PLAIN, text=text))
    assert lines(data)[3:6] == ["Mo-Fr 9-18", "Sa 9-13", "Thank you!"]


def test_too_many_lines_are_joined_rather_than_cut() -> None:
    text = "\n".join(f"n{number}" for number in range(70))
    data = poster_pdf(replace(PLAIN, text=text))
    assert " ".join(text.split()) in words(data)


@pytest.mark.parametrize("text", ["q" * 4096, "quite a word " * 290, "q\n" * 2048])
def test_a_text_beyond_its_limit_is_ignored(text: str) -> None:
    """Thousands of characters take no longer to split into lines than three hundred."""
    assert MAX_TEXT == MAX_POSTER_TEXT
    assert square_png(replace(PLAIN, text=text)) == square_png(replace(PLAIN, text=text[:300]))
    assert words(poster_pdf(replace(PLAIN, text=text))).count("q") <= MAX_TEXT


def test_a_text_that_ends_with_an_ellipsis_is_as_large_as_others() -> None:
    one, other = (poster_pdf(replace(PLAIN, text=f"And Yet{end}")) for end in ("…", "."))
    assert capital(one, "Y") == capital(other, "Y")


@pytest.mark.parametrize("draw", [square_png, poster_png, poster_pdf])
def test_a_link_that_no_code_holds_is_a_value_error(
    draw: Callable[[PictureContent], bytes],
) -> None:
    with pytest.raises(ValueError, match="QR code"):
        draw(replace(PLAIN, code="x" * 3000))


@pytest.mark.parametrize("size", [(1, 1), (7, 64), (33, 65), (200, 300)])
def test_an_encoded_png_has_the_same_pixels(size: tuple[int, int]) -> None:
    picture = sample_photo((max(size[0], 4), max(size[1], 40))).crop((0, 0, *size))
    picture.paste((1, 2, 3), (0, size[1] // 2, *size))
    made = opened(encode_png(picture, 72))
    assert made.tobytes() == picture.tobytes()
    assert saved(made, "PNG")
