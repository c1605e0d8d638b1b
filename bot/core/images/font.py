"""The project's fonts in a size and a weight: how wide they set a line, and drawing one.

Lines of Latin, Greek and Cyrillic letters are set by Pillow in the plain font. All others are
shaped (`shaping`), which is loaded for the first of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from PIL import ImageDraw

from bot.core.images.plain_font import Weight, is_plain, load_face

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PIL import Image

    from bot.core.images.shaping.outlines import Layer, Path
    from bot.core.images.shaping.shaper import ShapedLine

Anchor: TypeAlias = Literal["left", "middle", "right"]
Direction: TypeAlias = Literal["ltr", "rtl"]
Fill: TypeAlias = tuple[int, int, int] | int
"""A colour of an RGB image, or the level of a grey one."""

_PILLOW_ANCHORS: dict[Anchor, str] = {"left": "lm", "middle": "mm", "right": "rm"}
_SHARES: dict[Anchor, float] = {"left": 0, "middle": 0.5, "right": 1}


def has_glyphs(cluster: str) -> bool:
    """Return whether one of the fonts has a whole grapheme cluster."""
    from bot.core.images.shaping import faces  # noqa: PLC0415 - costs memory, seldom used

    return faces.choose(cluster) is not None


@dataclass(frozen=True, slots=True)
class Font:
    """The fonts in a size of `size` pixels.

    `language` chooses the forms of Han characters: Japan's for "ja", else China's.
    """

    size: int
    weight: Weight = "regular"
    language: str = ""

    def length(self, line: str) -> float:
        """Return the width of a line in pixels."""
        if is_plain(line):
            return load_face(self.size, self.weight).getlength(line)
        return self._shape(line).width * self.size

    def ink(self, line: str) -> tuple[float, float]:
        """Return how far a line reaches above and below its baseline, in font sizes."""
        if is_plain(line):
            _, top, _, bottom = load_face(self.size, self.weight).getbbox(line, anchor="ls")
            return -top / self.size, bottom / self.size
        shaped = self._shape(line)
        return shaped.above, shaped.below

    def draw(
        self,
        image: Image.Image,
        line: str,
        at: tuple[float, float],
        fill: Fill,
        anchor: Anchor = "left",
    ) -> None:
        """Draw a line; `at` is the middle of the height of its left end, middle or right end."""
        if is_plain(line):
            face, place = load_face(self.size, self.weight), _PILLOW_ANCHORS[anchor]
            ImageDraw.Draw(image).text(at, line, fill=fill, font=face, anchor=place)
            return
        from bot.core.images.shaping import raster  # noqa: PLC0415 - costs memory

        shaped = self._shape(line)
        left = at[0] - _SHARES[anchor] * shaped.width * self.size
        origin = (left, at[1] + self._rise())
        raster.draw(image, shaped, self.size, origin, fill)

    def outlines(self, line: str) -> Iterator[Layer]:
        """Yield the outlines of a line, colour by colour."""
        from bot.core.images.shaping import outlines  # noqa: PLC0415 - costs memory

        yield from outlines.layers(self._shape(line))

    def trace(self, layer: Layer, at: tuple[float, float], path: Path) -> None:
        """Add outlines of a line to a path; `at` is the middle of the height of its left end."""
        from bot.core.images.shaping import outlines  # noqa: PLC0415 - costs memory

        outlines.trace(layer, self.size, self.weight, (at[0], at[1] + self._rise()), path)

    def _shape(self, line: str) -> ShapedLine:
        from bot.core.images.shaping import shaper  # noqa: PLC0415 - costs memory

        return shaper.shape(line, self.weight, self.language)

    def _rise(self) -> float:
        """Return how far below the middle of a line its baseline is."""
        ascent, descent = load_face(self.size, self.weight).getmetrics()
        return (ascent - descent) / 2
