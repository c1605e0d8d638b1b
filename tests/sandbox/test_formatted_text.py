"""Texts as Telegram reads them: HTML, entities in UTF-16 units, links, commands, pictures."""

import struct
from typing import Any

import pytest

from bot.sandbox.world.errors import ApiError
from bot.sandbox.world.files import Picture, measure
from bot.sandbox.world.formatting import formatted, parse_html, units, web_address, written
from tests.support.sandbox_server import png_header


def entity(kind: str, offset: int, length: int, **more: Any) -> dict[str, Any]:
    return {"type": kind, "offset": offset, "length": length, **more}


@pytest.mark.parametrize(
    ("source", "text", "entities"),
    [
        ("plain", "plain", []),
        ("<b>a</b>", "a", [entity("bold", 0, 1)]),
        ("<strong>a</strong>", "a", [entity("bold", 0, 1)]),
        ("<i>a</i><em>b</em>", "ab", [entity("italic", 0, 1), entity("italic", 1, 1)]),
        ("<u>a</u> <ins>b</ins>", "a b", [entity("underline", 0, 1), entity("underline", 2, 1)]),
        ("<s>a</s>", "a", [entity("strikethrough", 0, 1)]),
        ("<strike>a</strike>", "a", [entity("strikethrough", 0, 1)]),
        ("<del>a</del>", "a", [entity("strikethrough", 0, 1)]),
        ("<tg-spoiler>a</tg-spoiler>", "a", [entity("spoiler", 0, 1)]),
        ('<span class="tg-spoiler">a</span>', "a", [entity("spoiler", 0, 1)]),
        ("<code>a</code>", "a", [entity("code", 0, 1)]),
        ("<pre>a\nb</pre>", "a\nb", [entity("pre", 0, 3)]),
        ("<blockquote>a</blockquote>", "a", [entity("blockquote", 0, 1)]),
        ("<blockquote expandable>a</blockquote>", "a", [entity("expandable_blockquote", 0, 1)]),
        (
            "<a href='http://a.b/?x=1&amp;y=2'>c</a>",
            "c",
            [entity("text_link", 0, 1, url="http://a.b/?x=1&y=2")],
        ),
        ("&lt;b&gt; &amp; &quot;", '<b> & "', []),
        ("&#65;&#x42;&#128077;", "AB👍", []),
        ("&nbsp; & &copy;", "&nbsp; & &copy;", []),
        ("&#0; &#xD800;", "&#0; &#xD800;", []),
        ("<B>a</B>", "a", [entity("bold", 0, 1)]),
        ("👍<b>é</b>", "👍é", [entity("bold", 2, 1)]),
        ("<b></b>x", "x", []),
        ("<b>a<i>b</i></b>", "ab", [entity("italic", 1, 1), entity("bold", 0, 2)]),
        ("<b>a</>", "a", [entity("bold", 0, 1)]),
    ],
)
def test_html_becomes_text_and_entities(
    source: str, text: str, entities: list[dict[str, Any]]
) -> None:
    assert parse_html(source) == (text, entities)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("a < b", 'unsupported start tag "" at byte offset 2'),
        ("é<br>", 'unsupported start tag "br" at byte offset 2'),
        ("<br/>", 'unsupported start tag "br/" at byte offset 0'),
        ("<b", "unclosed start tag at byte offset 0"),
        ("<b x", "unclosed start tag at byte offset 0"),
        ("<a ='x'>", 'empty attribute name in the tag "a" at byte offset 0'),
        ("<b>a", 'can\'t find end tag corresponding to start tag "b"'),
        ("a</b>", "unexpected end tag at byte offset 1"),
        ("<b>a</b", "unclosed end tag at byte offset 4"),
        ("<b><i>a</b></i>", 'unmatched end tag at byte offset 7, expected "</i>", found "</b>"'),
        ("<span>a</span>", 'tag "span" must have class "tg-spoiler" at byte offset 0'),
    ],
)
def test_broken_html_is_refused_in_telegrams_words(source: str, reason: str) -> None:
    with pytest.raises(ApiError) as refusal:
        parse_html(source)
    assert refusal.value.code == 400
    assert refusal.value.description == f"Bad Request: can't parse entities: {reason}"


def test_surrounding_space_is_cut_and_entities_move_with_the_text() -> None:
    body = formatted(" \n<b> a </b> ", "HTML")
    assert (body.text, body.entities) == ("a", (entity("bold", 0, 1),))


def test_a_link_to_a_host_without_a_dot_is_only_text() -> None:
    body = formatted('<a href="http://localhost/x">here</a>', "HTML")
    assert (body.text, body.entities) == ("here", ())


def test_another_parse_mode_is_refused() -> None:
    with pytest.raises(ApiError, match="unsupported parse_mode"):
        formatted("x", "Markdown")


@pytest.mark.parametrize(
    ("text", "entities"),
    [
        ("/start abc", [entity("bot_command", 0, 6)]),
        ("/new@PaymentRequestBot", [entity("bot_command", 0, 22)]),
        ("👍 /list", [entity("bot_command", 3, 5)]),
        ("a/b 1/2", []),
        ("see https://example.com/x.", [entity("url", 4, 21)]),
        ("http://127.0.0.1:8080/pay/a", [entity("url", 0, 27)]),
        ("http://localhost/pay", []),
        ("t.me/PaymentRequestBot?start=x", [entity("url", 0, 30)]),
        ("@sam_seller hi", [entity("mention", 0, 11)]),
        ("sam@example.com", [entity("email", 0, 15)]),
    ],
)
def test_commands_links_and_names_are_found(text: str, entities: list[dict[str, Any]]) -> None:
    assert list(written(text).entities) == entities


def test_nothing_is_found_inside_code() -> None:
    assert [one["type"] for one in formatted("<code>/new</code>", "HTML").entities] == ["code"]


def test_what_a_person_types_is_never_markup() -> None:
    assert written("<b>a</b>").text == "<b>a</b>"
    assert written("<b>a</b>").entities == ()


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("a\tb\x00c\x1fd", "a b c d"),
        ("a\r\nb", "a\nb"),
        ("a\u2028b\u202ec", "abc"),
        ("Z\u030aZ\u0333Z", "ZZZ"),
        ("\u200e\u200f\u200ex", "\u200c\u200c\u200ex"),
        ("\xa0x\u3000", "\xa0x\u3000"),
        ("a\u200bb", "a\u200bb"),
    ],
)
def test_characters_that_telegram_takes_out_are_taken_out(typed: str, kept: str) -> None:
    """Of what a person types and of what the bot sends alike."""
    assert written(typed).text == kept
    assert formatted(typed, "").text == kept


@pytest.mark.parametrize(("text", "length"), [("", 0), ("é", 1), ("👍", 2), ("a👍b", 4)])
def test_length_counts_utf16_units(text: str, length: int) -> None:
    assert units(text) == length


@pytest.mark.parametrize(
    ("address", "taken"),
    [
        ("https://example.com/x", "https://example.com/x"),
        ("example.com", "http://example.com"),
        ("http://127.0.0.1:8080/pay/a", "http://127.0.0.1:8080/pay/a"),
        ("http://[::1]:80/", "http://[::1]:80/"),
        ("http://münchen.de/", "http://münchen.de/"),
        ("http://localhost/", None),
        ("http://bot.internal1/", None),
        ("ftp://example.com", None),
        ("http://exa mple.com", None),
        ("http://[::1", None),
        ("", None),
    ],
)
def test_only_addresses_with_a_dot_or_an_ip_are_links(address: str, taken: str | None) -> None:
    assert web_address(address) == taken


def jpeg(width: int, height: int) -> bytes:
    frame = b"\xff\xc0" + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\1\x11\0"
    return b"\xff\xd8\xff\xe0" + struct.pack(">H", 16) + b"JFIF" + b"\0" * 10 + frame


def webp(kind: bytes, body: bytes) -> bytes:
    return b"RIFF\0\0\0\0WEBP" + kind + struct.pack("<I", len(body)) + body


@pytest.mark.parametrize(
    ("data", "picture"),
    [
        (png_header(3, 4), Picture("image/png", 3, 4)),
        (jpeg(640, 480), Picture("image/jpeg", 640, 480)),
        (b"GIF89a" + struct.pack("<HH", 5, 6), Picture("image/gif", 5, 6)),
        (webp(b"VP8X", b"\0\0\0\0\x09\0\0\x13\0\0"), Picture("image/webp", 10, 20)),
        (webp(b"VP8L", b"\x2f" + struct.pack("<I", 9 | 19 << 14)), Picture("image/webp", 10, 20)),
        (webp(b"VP8 ", b"\0" * 6 + struct.pack("<HH", 10, 20)), Picture("image/webp", 10, 20)),
        (b"", None),
        (b"<svg/>", None),
        (png_header(3, 4)[:20], None),
        (jpeg(3, 4)[:24], None),
        (webp(b"VP8X", b""), None),
        (webp(b"NONE", b"\0" * 20), None),
        (b"RIFF\0\0\0\0WAVEfmt ", None),
    ],
)
def test_a_picture_is_measured_by_its_first_bytes(data: bytes, picture: Picture | None) -> None:
    assert measure(data) == picture
