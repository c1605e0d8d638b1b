"""What letters to payers carry of the seller's: codes and numbers, never a message or a link."""

from __future__ import annotations

import pytest

from bot.service.notifications.notification import LONGEST_CODE, is_code, is_deep_link


@pytest.mark.parametrize(
    "text",
    ["7", "ABCD-1234-EFGH", "RR123456785DE", "a1+b/c==", "1Z999AA10123456784", "9" * LONGEST_CODE],
)
def test_codes_and_numbers_travel(text: str) -> None:
    assert is_code(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " ",
            "CALL-ME-NOW",
            "two words 7",
            "a1 b2",
            "line1\nline2",
            "9" * (LONGEST_CODE + 1),
        ),
        *(
            "https://x1",
            "x1://y",
            "www.x1",
            "WWW.x1",
            "a1@b",
            "evil1.example",
            "t.me/x1",
            "1.2.3.4",
        ),
        *("加微信123", "1٣", "x\u200b1", "1\u00a02", "1\x00", "\N{FULLWIDTH DIGIT ONE}"),
    ],
)
def test_what_could_be_a_message_or_a_link_does_not(text: str) -> None:
    assert not is_code(text)


def test_only_links_that_start_a_bot_travel() -> None:
    assert is_deep_link("https://t.me/shop_bot?start=r-0123-4567")
    for other in (
        *(
            "https://t.me/some_channel",
            "https://t.me/shop_bot?start=a%20b",
            "http://t.me/b?start=1",
        ),
        *("https://t.me.evil.example/shop?start=1", "https://t.me/shop_bot?start=1&text=Hello"),
        *("https://t.me/share/url?start=1", "https://evil.example/?start=1"),
    ):
        assert not is_deep_link(other)
