"""Names and media types of files, and the parts of them that a client asks for."""

from __future__ import annotations

from urllib.parse import unquote

import pytest

from bot.service.goods import contents
from bot.service.goods.contents import Unsatisfiable, read_range


@pytest.mark.parametrize("name", ["album.zip", "Ünder den Wölken.flac", "a" * 200, "日本.pdf", "…"])
def test_names_of_any_script_are_taken(name: str) -> None:
    assert contents.check_name(f" {name} ") == name


@pytest.mark.parametrize(
    "name",
    [
        *("", "  ", ".", "..", "a/b", "a\\b", "../x", "a" * 201),
        *("a\nb", "a\x00b", "a\x7fb", "a\x9fb", "gpj.\u202eexe", "a\u200bb", "a\u2028b"),
    ],
)
def test_paths_and_characters_that_hide_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        contents.check_name(name)


@pytest.mark.parametrize(
    ("header", "media_type"),
    [
        ("application/zip", "application/zip"),
        (" Text/HTML; charset=utf-8", "text/html"),
        ("image/svg+xml", "image/svg+xml"),
        ("", contents.UNKNOWN_TYPE),
        ("zip", contents.UNKNOWN_TYPE),
        ("application/x-www-form-urlencoded", contents.UNKNOWN_TYPE),
        ("a/b\r\nSet-Cookie: x", contents.UNKNOWN_TYPE),
        ("a/" + "b" * 80, contents.UNKNOWN_TYPE),
    ],
)
def test_a_type_that_is_none_is_unknown(header: str, media_type: str) -> None:
    assert contents.read_media_type(header) == media_type


@pytest.mark.parametrize(
    "name", ["a b.zip", 'say "hi".txt', "50%.txt", "Größe; x=1.pdf", "日本.pdf"]
)
def test_a_download_keeps_its_name(name: str) -> None:
    """Browsers take the second form, of RFC 8187, which has every character."""
    header = contents.disposition(name)
    assert header.startswith("attachment; ")
    assert unquote(header.partition("filename*=UTF-8''")[2]) == name
    assert header.isascii()
    assert header.count('"') == 2


def test_the_plain_name_is_readable() -> None:
    assert 'filename="Grosse_Ubung 1.pdf"' in contents.disposition("Grosse%Übung 1.pdf")


@pytest.mark.parametrize(
    ("header", "found"),
    [
        (None, None),
        ("bytes=0-0", range(1)),
        ("bytes=2-", range(2, 10)),
        ("bytes=2-99", range(2, 10)),
        ("bytes=-3", range(7, 10)),
        ("bytes=-99", range(10)),
        ("bytes=5-2", None),
        ("bytes=-", None),
        ("bytes=0-1,3-4", None),
        ("lines=0-1", None),
        ("bytes=x", None),
    ],
)
def test_one_range_is_understood(header: str | None, found: range | None) -> None:
    assert read_range(header, 10) == found


@pytest.mark.parametrize("header", ["bytes=10-", "bytes=99-100", "bytes=-0"])
def test_a_range_behind_the_end_is_refused(header: str) -> None:
    with pytest.raises(Unsatisfiable):
        read_range(header, 10)
