"""A link in print, for people who type it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.pictures.typesetting import READING, Block
from bot.core.images import text_fitting
from bot.core.images.font import Font
from bot.core.images.text_fitting import FittedText

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TYPED = "https://"
"""The scheme that browsers add to a typed address, so it is left out."""

LONGEST = 72
"""Characters that somebody types; of a longer link only the site is shown."""


def set_address(link: str, width: int, sizes: Sequence[int]) -> Block | None:
    """Fit a link into one line or two, or its site into one; None where it can't be shown whole.

    It is never cut short: what is in print leads there when it is typed.
    """
    for lines in _shortenings(link):
        for size in sizes:
            block = Block(FittedText(lines, Font(size)), READING)
            if block.text.width <= width:
                return block
    return None


def _shortenings(link: str) -> Iterator[tuple[str, ...]]:
    """Yield ways to print a link as lines, the best first."""
    shown = link.removeprefix(TYPED)
    if text_fitting.drawable_text(shown) != shown:
        return
    if len(shown) <= LONGEST:
        yield (shown,)
        path, _, last = shown.rstrip("/").rpartition("/")
        if path:
            yield f"{path}/", last
    scheme, _, rest = link.rpartition("://")
    if scheme == "https":
        yield (rest.split("/")[0],)
