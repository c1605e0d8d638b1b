"""The sheet: the parts shared by card, poster and square, such as photo, code and words."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from PIL import Image, ImageOps

from bot.chat.pictures import typesetting
from bot.chat.pictures.canvas import (
    BLACK,
    WHITE,
    Box,
    Canvas,
    PictureContent,
    SellerLook,
    palette_of,
)
from bot.core import brand
from bot.core.images import qr, text_fitting

# A printed link, for people who type it.


IMPLIED_SCHEME = "https://"
"""Browsers add this to a typed address, so it is not printed."""

MAX_TYPED = 72
"""Maximum characters of a printed link; for longer links only the site is shown."""


def set_address(link: str, width: int, sizes: Sequence[int]) -> typesetting.Block | None:
    """Fit a link into one or two lines, or its site into one line; None if neither fits.

    The address is never cut short, because it must work when somebody types it.
    """
    for lines in _printed_forms(link):
        for size in sizes:
            block = typesetting.Block(
                text_fitting.FittedText(lines, text_fitting.Font(size)), typesetting.READING
            )
            if block.text.width <= width:
                return block
    return None


def _printed_forms(link: str) -> Iterator[tuple[str, ...]]:
    """Yield the ways to print a link, as lines, best first."""
    shown = link.removeprefix(IMPLIED_SCHEME)
    if text_fitting.drawable_text(shown) != shown:
        return
    if len(shown) <= MAX_TYPED:
        yield (shown,)
        path, _, last = shown.rstrip("/").rpartition("/")
        if path:
            yield f"{path}/", last
    scheme, _, rest = link.rpartition("://")
    if scheme == "https":
        yield (rest.split("/")[0],)


# A photo in a frame: cropped to fill the frame, or whole on a blurred copy of itself.


MIN_DECODED = 0.75
"""Minimum ratio of decoded pixels to shown pixels; decoding fewer pixels is faster."""

MIN_CROP = 0.35
"""Minimum share of a photo that a crop must show; otherwise the photo is shown whole."""

MAX_ENLARGEMENT = 4
"""Maximum enlargement of a photo in each direction; more would be unrecognizable."""

CUT_ABOVE = 0.4
"""Share of the cropped height that is cut at the top; most subjects are in the lower part."""

BACKDROP = 5  # pixels across, so few that only colours remain
DIMMED = 0.8  # brightness of the blurred copy, so that the photo stands out


@lru_cache(maxsize=4)  # at most 2.6 MB each; a drop's card is redrawn after each sale
def framed(photo: bytes, size: tuple[int, int]) -> Image.Image:
    """Return a photo in the size of a frame. The image is cached, so don't draw on it."""
    with Image.open(io.BytesIO(photo)) as image:
        across, down = (part / whole for part, whole in zip(size, image.size, strict=True))
        fill, fit = max(across, down), min(across, down)
        crops = fit >= MIN_CROP * fill and fill <= MAX_ENLARGEMENT
        scale = fill if crops else min(fit, MAX_ENLARGEMENT)
        shown = (round(image.width * scale), round(image.height * scale))
        image.draft("RGB", (int(MIN_DECODED * shown[0]), int(MIN_DECODED * shown[1])))
        return _crop(image, size) if crops else _on_backdrop(image, shown, size)


def _crop(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    above = (0.5, CUT_ABOVE)
    return ImageOps.fit(image.convert("RGB"), size, Image.Resampling.BILINEAR, centering=above)


def _on_backdrop(image: Image.Image, shown: tuple[int, int], size: tuple[int, int]) -> Image.Image:
    plain = image.convert("RGB")
    small = _crop(plain, (BACKDROP, max(1, BACKDROP * size[1] // size[0])))
    backdrop = small.point(lambda level: int(level * DIMMED)).resize(size)
    width, height = (max(1, length) for length in shown)
    photo = plain.resize((width, height), Image.Resampling.BICUBIC)
    backdrop.paste(photo, ((size[0] - width) // 2, (size[1] - height) // 2))
    return backdrop


# The sheet itself.


MAX_TEXT = 300
"""Maximum characters of the seller's text, as in the chat; the rest is ignored."""

FADED = (0xDD, 0xE0, 0xE5)  # the modules under a stamp

FULL = 100  # per cent; the end of a bar

HINT = 0.8  # maximum height of the two lines next to the face, as a share of its height
INITIALS = 0.42  # font size of the letters in the face, as a share of its width
BESIDE_FACE = 0.3  # gap between the face and the words next to it, as a share of its width


@dataclass(frozen=True, slots=True)
class Code:
    """A QR code with its white border, `scale` pixels per module."""

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
    """Typography of a name."""

    sizes: tuple[int, ...]
    """Font sizes, the preferred one first."""
    lines: int
    """Maximum number of lines."""


@dataclass(frozen=True, slots=True)
class Style:
    """Typography of the other words: font sizes, preferred first, and lengths in pixels."""

    prices: tuple[int, ...]
    words: tuple[int, ...]
    hints: tuple[int, ...]
    face: int
    """Width of the seller's face."""
    gap: int

    @property
    def bar(self) -> int:
        """Return the height of a goal's bar in pixels."""
        return self.face // 4


class Sheet:
    """A canvas and the content to draw on it.

    The layout is mirrored if the name is written from right to left: words start at the right, and
    the code is at the left. Callers pass boxes and columns as for the normal layout.
    """

    def __init__(self, canvas: Canvas, size: tuple[int, int], content: PictureContent) -> None:
        self.canvas, self.size, self.content = canvas, size, content
        self.accent = content.seller.accent if content.seller else None
        shown = "grey" if content.stamp else self.accent
        self.palette = palette_of(shown, dark=content.dark)
        self._mirrored = typesetting.is_right_to_left(content.name)
        canvas.draw_panel((0, 0, *size), self.palette.ground)

    def column(self, left: int, right: int) -> typesetting.Column:
        """Return a column of words between two edges."""
        box = self.box((left, 0, right, 0))
        return typesetting.Column(box[0], box[2], self._mirrored)

    def box(self, box: Box) -> Box:
        """Return the box on the canvas, mirrored if the layout is."""
        left, top, right, bottom = box
        width = self.size[0]
        return (width - right, top, width - left, bottom) if self._mirrored else box

    def draw_photo(self, photo: bytes, box: Box, grain: int = 1) -> None:
        """Draw a photo, enlarged `grain` times; in grey if there is a stamp."""
        left, top, right, bottom = box = self.box(box)
        picture = framed(photo, ((right - left) // grain, (bottom - top) // grain))
        if self.content.stamp:
            dark, light = sorted((self.palette.ground, self.palette.muted))
            picture = ImageOps.colorize(picture.convert("L"), dark, light)
        self.canvas.draw_image(picture, box)

    def draw_field(self, box: Box, words: Box, heading: Heading) -> None:
        """Draw a field in the accent colour instead of a photo; the name is in the box `words`."""
        self.canvas.draw_panel(self.box(box), self.palette.field)
        left, top, right, bottom = words
        name = self.set_name(right - left, bottom - top, heading)
        if name:
            name.draw(self.canvas, self.column(left, right), top, self.palette.on_field)

    def set_name(self, width: int, height: int, heading: Heading) -> typesetting.Block | None:
        """Fit the name into a width and height."""
        return typesetting.set_heading(
            self.content.name, (width, height), heading.sizes, heading.lines
        )

    def draw_code(self, code: Code, panel: Box, corner: tuple[int, int], radius: int = 0) -> None:
        """Draw the code on a white panel; `corner` is the code's upper left corner."""
        left, top = corner
        self.canvas.draw_panel(self.box(panel), WHITE, radius)
        box = self.box((left, top, left + code.side, top + code.side))
        colour = FADED if self.content.stamp else BLACK
        self.canvas.draw_code(code.modules, box[:2], code.scale, colour)

    def draw_words(self, column: typesetting.Column, top: int, bottom: int, style: Style) -> None:
        """Draw the price and the seller's words from the top down, and the hint at the bottom."""
        content, canvas, palette = self.content, self.canvas, self.palette
        price = typesetting.set_line(content.price, column.width, style.prices, "bold")
        if price:
            price.draw(canvas, column, top, palette.accent)
            top += price.height + style.gap
        top = self._draw_goal(column, top, style)
        room = (column.width, bottom - style.face - style.gap - top)
        words = typesetting.set_words((content.text or "")[:MAX_TEXT], room, style.words)
        if words:
            words.draw(canvas, column, top, palette.ink)
        self.draw_hint(column, bottom, style.hints, style.face)

    def _draw_goal(self, column: typesetting.Column, top: int, style: Style) -> int:
        """Draw a goal's words with its bar below; return where the next words begin."""
        goal, palette = self.content.goal, self.palette
        label = (
            typesetting.set_line(goal.text, column.width, style.words, "semibold") if goal else None
        )
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

    def draw_hint(
        self, column: typesetting.Column, bottom: int, sizes: Sequence[int], face: int
    ) -> None:
        """Draw the hint, with the seller's face in front of it."""
        seller = self.content.seller
        if seller:
            self._draw_face(seller, column, bottom - face, face)
            column = column.inset(face + round(BESIDE_FACE * face))
        words = self.content.hint or (seller.name if seller else "")
        hint = typesetting.set_heading(words, (column.width, round(HINT * face)), sizes, 2)
        if hint:
            below = (face - hint.height) / 2 if seller else hint.depth
            hint.draw(self.canvas, column, bottom - below - hint.height, self.palette.ink)

    def _draw_face(
        self, seller: SellerLook, column: typesetting.Column, top: int, side: int
    ) -> None:
        left = column.right - side if column.mirrored else column.left
        box = (left, top, left + side, top + side)
        if seller.photo:
            self.canvas.draw_image(framed(seller.photo, (side, side)), box, side // 2)
            return
        self.canvas.draw_panel(box, self.palette.accent, side // 2)
        size = round(INITIALS * side)
        self.draw_label(brand.initials(seller.name), box, [size], self.palette.on_accent)

    def draw_label(self, text: str, box: Box, sizes: Sequence[int], colour: brand.Rgb) -> None:
        """Draw a line of text in the middle of a box on the canvas."""
        left, top, right, bottom = box
        label = typesetting.set_line(text, right - left, sizes, "semibold")
        if label:
            label.draw_centred(self.canvas, (left + right) / 2, (top + bottom) / 2, colour)
