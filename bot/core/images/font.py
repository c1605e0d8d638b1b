"""The project's font in a size and a weight: how wide it sets a line, and drawing one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from PIL import ImageDraw, ImageFont

if TYPE_CHECKING:
    from PIL import Image
    from PIL.ImageFont import FreeTypeFont

FONTS = Path(__file__).parent / "fonts"

Weight: TypeAlias = Literal["regular", "semibold", "bold"]
Anchor: TypeAlias = Literal["left", "middle", "right"]
Fill: TypeAlias = tuple[int, int, int] | int
"""A colour of an RGB image, or the level of a grey one."""

FACES: dict[Weight, str] = {
    "regular": "NotoSans-Regular",
    "semibold": "NotoSans-SemiBold",
    "bold": "NotoSans-Bold",
}
"""The names of the font files, by weight."""

_PILLOW_ANCHORS: dict[Anchor, str] = {"left": "lm", "middle": "mm", "right": "rm"}


@dataclass(frozen=True, slots=True)
class Font:
    """The project's font in a size of `size` pixels."""

    size: int
    weight: Weight = "regular"

    def length(self, line: str) -> float:
        """Return the width of a line in pixels."""
        return load_face(self.size, self.weight).getlength(line)

    def draw(
        self,
        image: Image.Image,
        line: str,
        at: tuple[float, float],
        fill: Fill,
        anchor: Anchor = "left",
    ) -> None:
        """Draw a line; `at` is the middle of the height of its left end, middle or right end."""
        face, place = load_face(self.size, self.weight), _PILLOW_ANCHORS[anchor]
        ImageDraw.Draw(image).text(at, line, fill=fill, font=face, anchor=place)


@lru_cache(maxsize=64)
def load_face(size: int, weight: Weight) -> FreeTypeFont:
    """Return the font in a size, which places letters one after the other."""
    path = FONTS / f"{FACES[weight]}.ttf"
    return ImageFont.truetype(str(path), size, layout_engine=ImageFont.Layout.BASIC)
