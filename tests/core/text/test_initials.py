"""Initials of names in any script: no character is cut in pieces."""

from __future__ import annotations

import pytest

from bot.core.brand import initials


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
