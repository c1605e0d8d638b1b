"""The address on a poster: what is in print leads to the link when it is typed."""

from __future__ import annotations

import pytest

from bot.chat.pictures.sheet import MAX_TYPED, set_address
from tests.support.sample_pictures import sample_link

SIZES = (54, 50, 46)
WIDE, NARROW = 2000, 900


@pytest.mark.parametrize(
    ("link", "width", "lines"),
    [
        ("https://pay.example.org/pay/7f3e", WIDE, ["pay.example.org/pay/7f3e"]),
        ("http://localhost:8080/pay/7f3e", WIDE, ["http://localhost:8080/pay/7f3e"]),
        ("https://pay.example.org/pay/" + "7f3e" * 6, NARROW, ["pay.example.org/pay/", "7f3e" * 6]),
        ("https://pay.example.org/pay/7f3e?a=b#c", WIDE, ["pay.example.org/pay/7f3e?a=b#c"]),
        ("https://pay.example.org/" + "x" * MAX_TYPED, WIDE, ["pay.example.org"]),
        ("https://pay.example.org", NARROW, ["pay.example.org"]),
    ],
)
def test_a_link_is_shown_whole_or_as_its_site(link: str, width: int, lines: list[str]) -> None:
    block = set_address(link, width, SIZES)
    assert block is not None
    assert list(block.text.lines) == lines
    assert block.text.width <= width


@pytest.mark.parametrize(
    "link",
    ["http://example.org/" + "x" * MAX_TYPED, "https://" + "x" * 99, "https://a.example/\u202e"],
)
def test_an_address_that_could_not_be_typed_is_left_out(link: str) -> None:
    assert set_address(link, NARROW, SIZES) is None


@pytest.mark.parametrize("length", range(24, 120, 7))
def test_an_address_is_never_cut_short(length: int) -> None:
    link = sample_link(length)
    block = set_address(link, NARROW, SIZES)
    assert block is not None
    assert "".join(block.text.lines) in (link[8:], "pay.example.org")
