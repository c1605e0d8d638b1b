"""The accent colours that sellers choose from, and initials of names in any script."""

from __future__ import annotations

import pytest

from bot.core.brand import (
    COLOURS,
    DARK_GROUNDS,
    DEFAULT_COLOUR,
    INK,
    LIGHT_GROUNDS,
    PAPER,
    colour_named,
    initials,
    rgb_of,
)

READABLE = 4.5
"""The contrast that WCAG 2.2, 1.4.3 asks of text."""


def luminance(css: str) -> float:
    parts = [part / 255 for part in rgb_of(css)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_there_are_eight_accents() -> None:
    assert len(COLOURS) == 8


def test_text_is_readable_on_and_beside_each_accent() -> None:
    beside = [(it.light, ground) for it in COLOURS.values() for ground in (PAPER, *LIGHT_GROUNDS)]
    beside += [(it.dark, ground) for it in COLOURS.values() for ground in (INK, *DARK_GROUNDS)]
    assert not [pair for pair in beside if contrast(*pair) < READABLE]


def test_an_unknown_name_is_the_default() -> None:
    assert colour_named("teal") == COLOURS["teal"]
    assert colour_named(None) == colour_named("mauve") == COLOURS[DEFAULT_COLOUR]


def test_colours_are_read_from_css() -> None:
    assert rgb_of("#0b6b70") == (0x0B, 0x6B, 0x70)


# Initials of names in any script: no character is cut in pieces.


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Ada", "A"),
        ("ada lovelace", "AL"),
        ("Mia's Stickers & Prints", "MS"),
        ("“Dawn” | studio", "DS"),
        ("E\u0301mile Zola", "\u00c9Z"),
        ("Жанна Юрьева", "ЖЮ"),
        ("ßtudio", "SS"),
        ("7 Seas", "7"),
        ("@anna", "A"),
        ("محمد علي", "م"),
        ("דנה לוי", "ד"),
        ("山田 太郎", "山"),
        ("आन्या शर्मा", "आ"),
        ("कि", "कि"),
        ("🍋🍊", "🍋"),
        ("👩🏽‍🍳 👨", "👩🏽‍🍳"),
        ("🇩🇪🇫🇷", "🇩🇪"),
        ("❤️🔥", "❤️"),
        ("!?", "!"),
        ("", ""),
    ],
)
def test_initials_are_whole_characters(name: str, expected: str) -> None:
    assert initials(name) == expected
