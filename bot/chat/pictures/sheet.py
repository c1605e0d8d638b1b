"""The parts that the card, the poster and the square have in common, on one axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PIL import ImageOps

from bot.chat.pictures.palette import BLACK, WHITE, palette_of
from bot.chat.pictures.photo_frame import framed
from bot.chat.pictures.typesetting import (
    Column,
    is_right_to_left,
    set_heading,
    set_line,
    set_words,
)
from bot.core.images import qr
from bot.core.text.initials import initials

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PIL import Image

    from bot.chat.pictures.canvas import Box, Canvas, PictureContent, SellerLook
    from bot.chat.pictures.typesetting import Block
    from bot.core.accents import Colour

MAX_TEXT = 300
"""Characters of the seller's text, as many as the chat stores; the rest is ignored."""

FADED = (0xDD, 0xE0, 0xE5)  # the modules under a stamp

FULL = 100  # per cent: a bar goes no further

HINT = 0.8  # of the face's height: that of two lines beside it at most
INITIALS = 0.42  # of the face's width: the font size of its letters
BESIDE_FACE = 0.3  # of the face's width, before the words beside it


@dataclass(frozen=True, slots=True)
class Code:
    """A QR code with its white border, `scale` pixels a module."""

    modules: Image.Image
    scale: int

    @property
    def side(self) -> int:
        """Return the width with the border, in pixels."""
        return self.modules.width * self.scale

    @property
    def border(self) -> int:
        """Return the width of the border in pixels."""
        return qr.BORDER * self.scale


@dataclass(frozen=True, slots=True)
class Heading:
    """How a name is set: font sizes from the preferred one downwards, and lines at most."""

    sizes: tuple[int, ...]
    lines: int


@dataclass(frozen=True, slots=True)
class Style:
    """How the other words are set: sizes of each, the width of the face, and gaps in pixels."""

    prices: tuple[int, ...]
    words: tuple[int, ...]
    hints: tuple[int, ...]
    face: int
    gap: int

    @property
    def bar(self) -> int:
        """Return the height of a goal's bar in pixels."""
        return self.face // 4


class Sheet:
    """A canvas with a content on it.

    Where the name is written from right to left, the layout is mirrored: words start at the right,
    the code stands at the left. Boxes and columns are given as if it were not.
    """

    def __init__(self, canvas: Canvas, size: tuple[int, int], content: PictureContent) -> None:
        self.canvas, self.size, self.content = canvas, size, content
        self.accent = content.seller.accent if content.seller else None
        shown = "grey" if content.stamp else self.accent
        self.palette = palette_of(shown, dark=content.dark)
        self._mirrored = is_right_to_left(content.name)
        canvas.draw_panel((0, 0, *size), self.palette.ground)

    def column(self, left: int, right: int) -> Column:
        """Return a column of words between two edges."""
        box = self.box((left, 0, right, 0))
        return Column(box[0], box[2], self._mirrored)

    def box(self, box: Box) -> Box:
        """Return where a box is on the canvas."""
        left, top, right, bottom = box
        width = self.size[0]
        return (width - right, top, width - left, bottom) if self._mirrored else box

    def draw_photo(self, photo: bytes, box: Box, grain: int = 1) -> None:
        """Draw a photo, `grain` pixels for one of it each way; without colours under a stamp."""
        left, top, right, bottom = box = self.box(box)
        picture = framed(photo, ((right - left) // grain, (bottom - top) // grain))
        if self.content.stamp:
            dark, light = sorted((self.palette.ground, self.palette.muted))
            picture = ImageOps.colorize(picture.convert("L"), dark, light)
        self.canvas.draw_image(picture, box)

    def draw_field(self, box: Box, words: Box, heading: Heading) -> None:
        """Draw a field in the accent in place of a photo, with the name in a part of it."""
        self.canvas.draw_panel(self.box(box), self.palette.field)
        left, top, right, bottom = words
        name = self.set_name(right - left, bottom - top, heading)
        if name:
            name.draw(self.canvas, self.column(left, right), top, self.palette.on_field)

    def set_name(self, width: int, height: int, heading: Heading) -> Block | None:
        """Fit the name into a room."""
        return set_heading(self.content.name, (width, height), heading.sizes, heading.lines)

    def draw_code(self, code: Code, panel: Box, corner: tuple[int, int], radius: int = 0) -> None:
        """Draw the code on a white panel; `corner` is its upper left one."""
        left, top = corner
        self.canvas.draw_panel(self.box(panel), WHITE, radius)
        box = self.box((left, top, left + code.side, top + code.side))
        colour = FADED if self.content.stamp else BLACK
        self.canvas.draw_code(code.modules, box[:2], code.scale, colour)

    def draw_words(self, column: Column, top: int, bottom: int, style: Style) -> None:
        """Draw price and seller's words from the top downwards, the hint at the bottom."""
        content, canvas, palette = self.content, self.canvas, self.palette
        price = set_line(content.price, column.width, style.prices, "bold")
        if price:
            price.draw(canvas, column, top, palette.accent)
            top += price.height + style.gap
        top = self._draw_goal(column, top, style)
        room = (column.width, bottom - style.face - style.gap - top)
        words = set_words((content.text or "")[:MAX_TEXT], room, style.words)
        if words:
            words.draw(canvas, column, top, palette.ink)
        self.draw_hint(column, bottom, style.hints, style.face)

    def _draw_goal(self, column: Column, top: int, style: Style) -> int:
        """Draw a goal's words with its bar below them; return where the next words begin."""
        goal, palette = self.content.goal, self.palette
        label = set_line(goal.text, column.width, style.words, "semibold") if goal else None
        if goal is None or label is None:
            return top
        label.draw(self.canvas, column, top, palette.ink)
        top += label.height + style.gap // 2
        whole, radius = column.right - column.left, style.bar // 2
        reached = max(style.bar, whole * min(goal.share, FULL) // FULL)
        start = column.right - reached if column.mirrored else column.left
        below = top + style.bar
        self.canvas.draw_panel((column.left, top, column.right, below), palette.track, radius)
        if goal.share:
            self.canvas.draw_panel((start, top, start + reached, below), palette.accent, radius)
        return below + style.gap

    def draw_hint(self, column: Column, bottom: int, sizes: Sequence[int], face: int) -> None:
        """Draw the hint, with the seller's face before it."""
        seller = self.content.seller
        if seller:
            self._draw_face(seller, column, bottom - face, face)
            column = column.inset(face + round(BESIDE_FACE * face))
        words = self.content.hint or (seller.name if seller else "")
        hint = set_heading(words, (column.width, round(HINT * face)), sizes, 2)
        if hint:
            below = (face - hint.height) / 2 if seller else hint.depth
            hint.draw(self.canvas, column, bottom - below - hint.height, self.palette.ink)

    def _draw_face(self, seller: SellerLook, column: Column, top: int, side: int) -> None:
        left = column.right - side if column.mirrored else column.left
        box = (left, top, left + side, top + side)
        if seller.photo:
            self.canvas.draw_image(framed(seller.photo, (side, side)), box, side // 2)
            return
        self.canvas.draw_panel(box, self.palette.accent, side // 2)
        size = round(INITIALS * side)
        self.draw_label(initials(seller.name), box, [size], self.palette.on_accent)

    def draw_label(self, text: str, box: Box, sizes: Sequence[int], colour: Colour) -> None:
        """Draw a line of text in the middle of a box on the canvas."""
        left, top, right, bottom = box
        label = set_line(text, right - left, sizes, "semibold")
        if label:
            label.draw_centred(self.canvas, (left + right) / 2, (top + bottom) / 2, colour)
