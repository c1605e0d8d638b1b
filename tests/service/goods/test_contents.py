"""Names and types of files, parts that a client asks for, and lists of codes."""

from __future__ import annotations

import time
from urllib.parse import unquote

import pytest

from bot.interface.parts import LONGEST_CODE, MOST_CODES, CodesProblem, check_codes
from bot.service.goods import contents
from bot.service.goods.contents import CodeFile, Unsatisfiable, read_range


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


SECRET = "AAAA-1111"


def numbered(*lines: str) -> list[tuple[int, str]]:
    return list(enumerate(lines, 1))


def test_codes_stay_in_their_order_without_the_spaces_around_them() -> None:
    assert check_codes(numbered(" b ", "a", "c\tpin\r")) == ("b", "a", "c\tpin")


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([], "has no codes"),
        (["a", " "], "line 2 is empty"),
        (["a", "b" * (LONGEST_CODE + 1)], "line 2 has more than 500 characters"),
        (["a\x00"], "line 1 has control characters"),
        (["a\x85b"], "line 1 has control characters"),
        ([SECRET, "b", SECRET], "1 code is repeated: line 3"),
        ([SECRET] * 4, "3 codes are repeated: lines 2, 3 and 4"),
        ([SECRET] * 13, "12 codes are repeated: lines 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 2 more"),
        ([str(it) for it in range(MOST_CODES + 1)], "has more than 10000 codes"),
    ],
)
def test_a_list_is_refused_with_the_numbers_of_its_lines(lines: list[str], problem: str) -> None:
    with pytest.raises(CodesProblem) as refused:
        check_codes(numbered(*lines))
    assert str(refused.value) == problem


def test_as_many_codes_as_allowed_are_taken() -> None:
    assert len(check_codes(numbered(*map(str, range(MOST_CODES))))) == MOST_CODES


def test_the_longest_list_is_checked_in_no_time() -> None:
    lines = numbered(*(f"{it:05d}" + "x" * (LONGEST_CODE - 5) for it in range(MOST_CODES)))
    began = time.process_time()
    assert len(check_codes(lines)) == MOST_CODES
    assert time.process_time() - began < 0.2


def read(text: bytes, piece: int) -> tuple[str, ...]:
    file = CodeFile()
    for start in range(0, len(text), piece):
        file.feed(text[start : start + piece])
    return file.finish()


@pytest.mark.parametrize("piece", [1, 2, 3, 7, 1000])
def test_a_file_reads_the_same_in_any_pieces(piece: int) -> None:
    text = "\ufeffeins\r\n\r\n  zwei \n\n\n日本-3\n".encode()
    assert read(text, piece) == ("eins", "zwei", "日本-3")


def test_repeats_in_a_file_are_named_by_the_lines_of_the_file() -> None:
    with pytest.raises(CodesProblem, match=r"1 code is repeated: line 4$"):
        read(b"a\n\nb\na\n", 2)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"a\n\xff\xfe\n", "is not UTF-8 text"),
        ("a".encode("utf-16"), "is not UTF-8 text"),
        (b"a\n\xe6\x97", "is not UTF-8 text"),
        (b" \n\n", "has no codes"),
        (b"a\n" + b"b" * 501, "line 2 has more than 500 characters"),
        (b"PK\x03\x04", "line 1 has control characters"),
    ],
)
def test_a_file_that_is_no_list_is_refused(text: bytes, problem: str) -> None:
    with pytest.raises(CodesProblem, match=problem):
        read(text, 4)


def test_a_file_of_one_endless_line_is_refused_before_its_end() -> None:
    file = CodeFile()
    file.feed(b"x" * LONGEST_CODE)
    with pytest.raises(CodesProblem):
        file.feed(b"x")


@pytest.mark.parametrize("begun", [b"", b"code"])
@pytest.mark.parametrize("space", [b" ", b"\t", b"\r", b"\v"])
def test_a_file_of_spaces_takes_no_memory(begun: bytes, space: bytes) -> None:
    """And no time: what is kept of a line is read again with each piece."""
    file = CodeFile()
    file.feed(begun)
    for _ in range(100):
        file.feed(space * 10_000)
        assert len(file._rest) <= 2 * LONGEST_CODE
    file.feed(b"\r\nlast")
    assert file.finish() == ((begun.decode(), "last") if begun else ("last",))


def test_many_spaces_within_a_code_are_too_many() -> None:
    file = CodeFile()
    for piece in (b"a", b" " * 10_000):
        file.feed(piece)
    with pytest.raises(CodesProblem, match="line 1 has more than 500"):
        file.feed(b"b")
