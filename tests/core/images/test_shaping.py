"""Names in many scripts, as they are drawn: facts about glyphs and ink, not pixels."""

from __future__ import annotations

import subprocess
import sys
from time import process_time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageOps

from bot.core.images import shaping, text_fitting
from bot.core.images.shaping import Glyph
from bot.core.images.text_fitting import Anchor, Font
from tests.support.source_tree import ROOT

SIZE, WIDTH = 40, 400
LINES = 2
MARGIN = 100
MOST_SECONDS = 0.5
"""Many times what fitting and drawing a hostile text takes, for tests run on busy machines."""

FAMILY, FLAG, ASTRONAUT = "👨\u200d👩\u200d👧\u200d👦", "🇩🇪", "👩🏽\u200d🚀"
LONG = {
    "arabic": "ملصقات مقاومة للماء للدراجات وأجهزة الكمبيوتر المحمولة والغيتار",
    "japanese": "自転車やノートパソコン、ギター用の手切り耐候性ビニールステッカー",
    "emoji": "🎉🇩🇪👍🏽" * 20,
    "hindi": "साइकिल और गिटार के लिए हाथ से कटे मौसमरोधी विनाइल स्टिकर दस डिज़ाइन",
}


def glyphs(line: str) -> tuple[Glyph, ...]:
    return shaping.shape(line, "regular", "").glyphs


def ink(text: str, anchor: Anchor = "left", sizes: tuple[int, ...] = (SIZE,)) -> Any:
    """Return the box of what is drawn of a text that begins at (MARGIN, MARGIN), and its block."""
    block = text_fitting.fit_drawable(text, WIDTH, sizes, max_lines=LINES)
    assert block
    image = Image.new("RGB", (2 * MARGIN + WIDTH, 2 * MARGIN + 200), "white")
    start = {"left": 0, "middle": WIDTH // 2, "right": WIDTH}[anchor]
    block.draw(image, (MARGIN + start, MARGIN), (0, 0, 0), anchor)
    return ImageOps.invert(image.convert("L")).getbbox(), block


def test_arabic_letters_are_joined() -> None:
    """Four forms of one letter differ in width: alone, first, between and last."""
    word, alone = Font(100).length("ببب"), Font(100).length("ب")
    assert word < 2.5 * alone


def test_the_first_letter_of_a_hebrew_word_is_at_its_right_end() -> None:
    first, last = (glyphs(letter)[0].number for letter in "שם")
    assert [glyph.number for glyph in glyphs("שם")] == [last, first]


def test_devanagari_consonants_form_one_glyph() -> None:
    assert len(glyphs("क्ष")) == 1


@pytest.mark.parametrize("emoji", [FAMILY, FLAG, ASTRONAUT, "👍🏽", "1️⃣", "❤️\u200d🔥", "☕"])
def test_an_emoji_is_one_glyph_in_colour(emoji: str) -> None:
    (glyph,) = glyphs(emoji)
    assert glyph.face == shaping.EMOJI
    colours = {layer.colour for layer in shaping.layers(shaping.shape(emoji, "regular", ""))}
    assert len(colours - {None}) > 1


def test_han_characters_have_the_forms_of_japan_beside_kana() -> None:
    japanese, chinese = (text_fitting.fit(text, WIDTH, (SIZE,)).font for text in ("直す", "直"))
    assert (japanese.language, chinese.language) == ("ja", "")
    assert shaping.shape("直", "regular", "ja").glyphs[0].face == shaping.JAPANESE
    assert shaping.shape("直", "regular", "").glyphs[0].face == shaping.CHINESE


def test_weights_differ() -> None:
    for text in ("قهوة", "咖啡", "हिन्दी"):
        assert len({drawn(text, weight) for weight in ("regular", "semibold", "bold")}) == 3


def drawn(text: str, weight: Any) -> bytes:
    image = Image.new("L", (300, 100))
    Font(SIZE, weight).draw(image, text, (20, 50), 255)
    return image.tobytes()


def test_a_text_ends_with_an_ellipsis_at_its_own_side() -> None:
    """Which is the left one where it is read from right to left."""
    block = text_fitting.fit(LONG["arabic"], WIDTH, (SIZE,))
    (line,) = block.lines
    assert line.endswith(text_fitting.ELLIPSIS)
    assert block.direction == "rtl"
    ellipsis = glyphs(text_fitting.ELLIPSIS)[0].number
    assert glyphs(line)[0].number == ellipsis


def test_a_latin_line_of_an_arabic_text_keeps_the_direction_of_the_text() -> None:
    block = text_fitting.fit("قهوة لذيذة Coffee!", 200, (SIZE,), max_lines=2)
    latin = block.lines[1]
    assert "Coffee" in latin
    exclamation = glyphs("!")[0].number
    assert glyphs(latin)[0].number == exclamation


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_a_long_text_fills_its_lines_and_no_more(text: str) -> None:
    block = text_fitting.fit(text, WIDTH, (SIZE,), max_lines=LINES)
    assert len(block.lines) == LINES
    assert all(0.6 * WIDTH < block.font.length(line) <= WIDTH for line in block.lines)


@pytest.mark.parametrize("anchor", ["left", "middle", "right"])
def test_lines_begin_or_end_where_the_anchor_is(anchor: Anchor) -> None:
    (left, _, right, _), block = ink("קפה", anchor)
    free = WIDTH - block.width
    start = MARGIN + {"left": 0, "middle": free / 2, "right": free}[anchor]
    assert left == pytest.approx(start, abs=4)
    assert right == pytest.approx(start + block.width, abs=4)


scripts = st.sampled_from(
    "بتثשםकि्षコ漢가ไม้🎉👩🏽🇩🇪\u200d\ufe0f\u20e3\u0301\u0489\u202e\u2067\u200f(1 a"
)
hostile = st.text(st.characters() | scripts, max_size=100) | st.text(scripts, max_size=100)


@pytest.mark.property
@settings(max_examples=150, deadline=None)
@given(text=hostile)
@example("a" + "\u0301" * 99)
@example("👩\u200d" * 50)
@example("\u202e\u2067\u061cשa1" * 16)
@example("".join(map(chr, range(0x1F600, 0x1F664))))
@example("क्" * 50)
@example("가" * 100)
def test_no_text_of_a_hundred_characters_leaves_its_box_or_takes_long(text: str) -> None:
    if text_fitting.drawable_text(text) is None:
        return
    begun = process_time()
    box, block = ink(text, sizes=(SIZE, 32, 24))
    assert process_time() - begun < MOST_SECONDS
    assert all(block.font.length(line) <= WIDTH for line in block.lines)
    if box:
        bleed = 0.25 * SIZE
        assert MARGIN - bleed <= box[0] <= box[2] <= MARGIN + WIDTH + bleed
        assert MARGIN - bleed <= box[1] <= box[3] <= MARGIN + block.height + bleed


@pytest.mark.parametrize(("text", "loaded"), [("Žluťoučký Кофе €5", False), ("قهوة", True)])
def test_the_library_is_loaded_for_the_first_text_that_needs_it(text: str, *, loaded: bool) -> None:
    look = (
        "import sys; from bot.core.images import text_fitting;"
        f"text_fitting.fit_drawable({text!r}, 300, (40,)); print('uharfbuzz' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", look], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(loaded)
