"""Typesetting for pictures: breaking texts into lines and fitting them into boxes.

Heights are measured from the upper edge of capitals to the baseline.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise

from bot.chat.pictures import canvas
from bot.core import brand
from bot.core.images import plain_font, text_fitting, unicode_text

WIDER = 1.04
"""Factor by which lines of equal length are widened until all words fit."""


def break_evenly(text: str, font: text_fitting.Font, width: int, most: int) -> tuple[str, ...]:
    """Split a text between words into as few lines as the width allows, of about equal length.

    Return () if more than `most` lines are needed, or if a word is wider than a line. Each word is
    measured only once, because measuring lines takes longer than drawing them.
    """
    pieces = [*text_fitting.pieces(text)]
    widths = [font.length(piece) for piece in pieces]
    space = font.length(" ")
    bare = [
        wide - space * piece.startswith(" ") for piece, wide in zip(pieces, widths, strict=True)
    ]
    ends = _line_ends(widths, bare, width)
    if max(bare) > width or len(ends) > most:
        return ()
    narrow = max(*bare, sum(widths) / len(ends))
    while narrow < width:
        narrower = _line_ends(widths, bare, narrow)
        if len(narrower) == len(ends):
            ends = narrower
            break
        narrow *= WIDER
    lines = ["".join(pieces[one:other]).strip(" ") for one, other in pairwise((0, *ends))]
    return text_fitting.with_direction(lines, text)


def _line_ends(widths: Sequence[float], bare: Sequence[float], width: float) -> list[int]:
    """Return the index of the piece after each line; `bare` are the widths without a space."""
    ends: list[int] = []
    used = 0.0
    for number, (spaced, alone) in enumerate(zip(widths, bare, strict=True)):
        if number and used + spaced > width:
            ends.append(number)
            used = alone
        else:
            used += spaced
    return [*ends, len(widths)]


# Blocks. The following lengths are multiples of the font size.

CAPITAL, TALL = 0.714, 0.86
"""Height of capitals, and minimum height of lines in other scripts or with emoji."""

OVERSHOOT, DESCENDER = 0.24, 0.25
"""Height of accents above capitals, and depth of letters such as p below the baseline. Both extend
into the space around a block. Ink that extends further, as in Arabic or Thai, makes the block
higher."""

MIDDLE = 0.388  # from the baseline to the middle of a line: half of ascent minus descent

HEADING, READING = 1.16, 1.36
"""Leading of headings and of running text, from baseline to baseline."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of words between two edges, in pixels."""

    left: int
    right: int
    mirrored: bool = False
    """True if lines start at the right edge."""

    @property
    def width(self) -> int:
        """Return the width in pixels."""
        return self.right - self.left

    def inset(self, length: int) -> Column:
        """Return the column with its lines starting `length` pixels later."""
        if self.mirrored:
            return Column(self.left, self.right - length, mirrored=True)
        return Column(self.left + length, self.right)


@dataclass(frozen=True, slots=True)
class Block:
    """Lines of one font size."""

    text: text_fitting.FittedText
    leading: float
    """Distance between baselines, in font sizes."""

    @property
    def height(self) -> int:
        """Return the height from the capitals of the first line to the baseline of the last.

        Ink that extends further than accents and descenders is included.
        """
        _, below = self.text.font.ink(self.text.lines[-1])
        *_, last = self._baselines()
        return round(self.text.font.size * (last + max(0, below - DESCENDER)))

    def _baselines(self) -> Iterator[float]:
        """Yield the distance of each baseline from the top, in font sizes."""
        inks = [*map(self.text.font.ink, self.text.lines)]
        if all(map(plain_font.is_plain, self.text.lines)):
            baseline = max(CAPITAL, inks[0][0] - OVERSHOOT)
        else:
            baseline = max(TALL, inks[0][0])
        yield baseline
        room = max(self.leading, DESCENDER + CAPITAL + OVERSHOOT)
        for (_, below), (above, _) in pairwise(inks):
            baseline += self.leading + max(0, below + above - room)
            yield baseline

    @property
    def depth(self) -> int:
        """Return how far the last line extends below its baseline."""
        return round(self.text.font.size * DESCENDER)

    def draw(self, canvas: canvas.Canvas, column: Column, top: float, colour: brand.Rgb) -> None:
        """Draw the lines; the capitals of the first line begin at `top`."""
        font = self.text.font
        for line, baseline in zip(self.text.lines, self._baselines(), strict=True):
            middle = top + font.size * (baseline - MIDDLE)
            start = column.left - _bearing(line[0], font)
            if column.mirrored:
                start = column.right - round(font.length(line))
            canvas.draw_text(line, (start, middle), self.text, colour)

    def draw_centred(
        self, canvas: canvas.Canvas, across: float, down: float, colour: brand.Rgb
    ) -> None:
        """Draw a single line with the centre of its capitals at (`across`, `down`)."""
        start = round(across - self.text.width / 2)
        middle = down + self.text.font.size * (CAPITAL / 2 - MIDDLE)
        canvas.draw_text(self.text.lines[0], (start, middle), self.text, colour)


@lru_cache(maxsize=256)
def _bearing(letter: str, font: text_fitting.Font) -> int:
    """Return the left side bearing of a letter in pixels; it is negative for a J."""
    if not plain_font.is_plain(letter):
        return 0
    mask, offset = plain_font.load_face(font.size, font.weight).getmask2(letter, anchor="ls")
    ink = mask.getbbox()
    return int(offset[0] + ink[0]) if ink else 0


def is_right_to_left(text: str) -> bool:
    """True if the first letter with a direction is written from right to left."""
    return bool(unicode_text.base_level(text))


def drawable_lines(text: str) -> list[str]:
    """Return the drawable lines of a text, normalized, without empty lines."""
    lines = map(text_fitting.drawable_text, text.splitlines())
    return [line for line in lines if line]


def set_line(
    text: str, width: int, sizes: Sequence[int], weight: plain_font.Weight = "regular"
) -> Block | None:
    """Fit a text into one line, cut if even the last of `sizes` is too large; None if empty."""
    fitted = text_fitting.fit_drawable(text, width, sizes, weight=weight)
    return Block(fitted, HEADING) if fitted else None


def set_heading(
    text: str, room: tuple[int, int], sizes: Sequence[int], max_lines: int
) -> Block | None:
    """Fit a text into lines of about equal length, in the largest size that fits into the room.

    Only if even the last of `sizes` is too large, words are split and the end is cut off. A text
    with a split word is as large as its lines allow, so that the last line is no single letter.
    """
    shown = text_fitting.drawable_text(text)
    if not shown:
        return None
    length = _relative_length(shown, sizes[0], "semibold")
    for size in sizes:
        most = min(max_lines, _capacity(room[1], size, HEADING))
        if length * size > most * room[0]:
            continue
        font = text_fitting.font_for(shown, size, "semibold")
        lines = break_evenly(shown, font, room[0], most)
        if lines and _fits(block := Block(text_fitting.FittedText(lines, font), HEADING), room[1]):
            return block
    most = min(max_lines, max(1, _capacity(room[1], sizes[-1], HEADING)))
    fit = partial(text_fitting.fit, shown, room[0], weight="semibold")
    for lines_left in range(most, 0, -1):
        count = len(fit(sizes[-1:], max_lines=lines_left).lines)
        larger = [size for size in sizes[:-1] if _capacity(room[1], size, HEADING) >= count]
        for start in range(len(larger) + 1):
            block = Block(fit([*larger[start:], sizes[-1]], max_lines=count), HEADING)
            if _fits(block, room[1]):
                return block
    return block


def set_words(text: str, room: tuple[int, int], sizes: Sequence[int]) -> Block | None:
    """Fit the lines of a text into a room; None if there are no lines, or no room for a line.

    If the lines don't fit even in the last of `sizes`, they are joined, then cut off.
    """
    lines = drawable_lines(text)
    capacity = _capacity(room[1], sizes[-1], READING)
    if not lines or not capacity:
        return None
    whole = " ".join(lines)
    for kept in (lines, [whole]):
        length = sum(_relative_length(line, sizes[0], "regular") for line in kept)
        for size in sizes:
            most = _capacity(room[1], size, READING)
            if length * size > most * room[0]:
                continue
            font = text_fitting.font_for(whole, size)
            rows = tuple(row for line in kept for row in _split(line, room[0], font))
            if len(rows) <= most and _fits(
                block := Block(text_fitting.FittedText(rows, font), READING), room[1]
            ):
                return block
    for lines_left in range(capacity, 0, -1):
        block = Block(text_fitting.fit(whole, room[0], sizes[-1:], max_lines=lines_left), READING)
        if _fits(block, room[1]):
            return block
    return None


def _fits(block: Block, height: int) -> bool:
    """True if a block fits into a height, allowing for rounding."""
    return block.height <= height + 1


def _split(line: str, width: int, font: text_fitting.Font) -> tuple[str, ...]:
    fitted = text_fitting.fit(line, width, (font.size,), max_lines=len(line), weight=font.weight)
    return fitted.lines


def _capacity(height: int, size: int, leading: float) -> int:
    """Return the number of lines that fit into a height."""
    return max(0, int((height / size - CAPITAL) / leading + 1))


TRIMMED = 0.96  # share of a text's width without rounding and spaces at line ends


def _relative_length(text: str, size: int, weight: plain_font.Weight) -> float:
    """Return a lower bound for the width of a text in one line, in font sizes.

    This rules out most sizes that are too large without measuring the words.
    """
    return TRIMMED * text_fitting.Font(size, weight).length(text) / size
