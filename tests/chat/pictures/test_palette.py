"""The colours of pictures: words can be read on what they stand on."""

from __future__ import annotations

import pytest

from bot.chat.pictures.canvas import palette_of
from bot.core.brand import COLOURS, Rgb


def luminance(colour: Rgb) -> float:
    """Compute the relative luminance by WCAG 2.2."""
    parts = [part / 255 for part in colour]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Rgb, other: Rgb) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("accent", [None, *COLOURS])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_words_have_a_contrast_of_at_least_four_and_a_half(
    accent: str | None, *, dark: bool
) -> None:
    shown = palette_of(accent, dark=dark)
    pairs = (
        (shown.ink, shown.ground), (shown.muted, shown.ground), (shown.accent, shown.ground),
        (shown.on_accent, shown.accent), (shown.on_field, shown.field),
    )  # fmt: skip
    for one, other in pairs:
        assert contrast(one, other) >= 4.5


def test_an_unknown_accent_is_the_default_one() -> None:
    assert palette_of("nothing", dark=False) == palette_of(None, dark=False)
