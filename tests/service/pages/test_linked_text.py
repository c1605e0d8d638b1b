"""Web addresses in the seller's texts become links, and nothing else does."""

from __future__ import annotations

import pytest

from bot.service.pages.receipt import TextPart, linked

BEFORE = TextPart("See ")


@pytest.mark.parametrize(
    ("address", "rest"),
    [
        ("https://example.org", ""),
        ("http://example.org:8080/a_(b)", ""),
        ("https://example.org/a?b=c&d=%20#e", ""),
        ("https://example.org/a", "."),
        ("https://example.org/a", "؟"),
        ("https://example.org/a", ")."),
        ("https://example.org/a", "\u200f now"),
        ("https://example.org/a", "\nhttp"),
    ],
)
def test_an_address_ends_where_its_sentence_goes_on(address: str, rest: str) -> None:
    parts = (BEFORE, TextPart(address, address), *([TextPart(rest)] if rest else []))
    assert linked(f"See {address}{rest}") == parts


def test_an_address_leads_where_browsers_would_go() -> None:
    (part,) = linked("https://bücher.example/für")
    assert part == TextPart("https://bücher.example/für", "https://xn--bcher-kva.example/f%C3%BCr")


def test_every_address_of_a_text_is_one() -> None:
    urls = [part.url for part in linked("https://a.example, https://b.example") if part.url]
    assert urls == ["https://a.example", "https://b.example"]


@pytest.mark.parametrize(
    "text",
    [
        "example.org",
        "javascript:alert(1)",
        "ftp://example.org",
        "https://",
        "https://...",
        "https://me:secret@example.org",
        "https://[::1",
    ],
)
def test_what_no_browser_opens_from_here_stays_text(text: str) -> None:
    assert linked(text) == (TextPart(text),)


def test_an_empty_text_has_no_parts() -> None:
    assert linked("") == ()


def test_an_address_that_imitates_another_one_shows_where_it_leads() -> None:
    (part,) = linked("https://\u0440aypal.example/a")
    assert part == TextPart("https://xn--aypal-uye.example/a", "https://xn--aypal-uye.example/a")
