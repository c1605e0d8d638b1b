"""What sellers give to buyers, parsed: messages, lists of codes, files of codes."""

from __future__ import annotations

import pytest

from bot.chat.forms.field_texts import fit_line
from bot.chat.forms.goods_form import (
    CodeList,
    is_code_file,
    read_code_file,
    read_codes,
    read_message,
)
from bot.chat.model.replies import Problem
from bot.chat.model.request_spec import CODES, FILE, TEXT, Goods
from bot.chat.payments.client import written
from bot.chat.payments.request_bodies import delivery_body
from bot.core.text.translations import t
from bot.interface.code_lists import MOST_CODES


@pytest.mark.parametrize(
    ("text", "codes", "doubled"),
    [
        ("A1", ("A1",), ()),
        (" A1 \r\n\n\tB2\n", ("A1", "B2"), ()),
        ("A1\nB2\nA1\nA1", ("A1", "B2"), ("A1",)),
        ("a1\nA1", ("a1", "A1"), ()),
        ("user\tpass", ("user\tpass",), ()),
        ("x" * 500, ("x" * 500,), ()),
    ],
)
def test_codes_stand_one_a_line_and_count_once(
    text: str, codes: tuple[str, ...], doubled: tuple[str, ...]
) -> None:
    assert read_codes(text) == CodeList(codes, doubled)


@pytest.mark.parametrize(
    ("text", "key", "values"),
    [
        ("", "problem-goods-empty", {}),
        (" \n\t\n", "problem-goods-empty", {}),
        (
            "A1\n" + "x" * 501,
            "problem-goods-code-long",
            {"line": 2, "length": 501, "most": 500},
        ),
        ("A1\nB\x002", "problem-goods-code-control", {"line": 2}),
        (
            "\n".join(map(str, range(MOST_CODES + 1))),
            "problem-goods-many",
            {"count": MOST_CODES + 1, "most": MOST_CODES},
        ),
    ],
)
def test_a_problem_names_a_line_and_never_a_code(
    text: str, key: str, values: dict[str, object]
) -> None:
    assert read_codes(text) == Problem(key, values)


def test_the_most_codes_are_taken() -> None:
    found = read_codes("\n".join(map(str, range(MOST_CODES))))
    assert isinstance(found, CodeList)
    assert found.as_goods() == Goods(CODES, count=MOST_CODES, first="0", last="9999")


@pytest.mark.parametrize(
    "data", [b"A1\nB2", b"\xef\xbb\xbfA1\r\nB2\r\n", "A1\nB2".encode("utf-16")]
)
@pytest.mark.parametrize("name", ["codes.txt", "Codes.CSV"])
def test_a_file_of_codes_is_read_whoever_wrote_it(name: str, data: bytes) -> None:
    assert is_code_file(name)
    assert read_code_file(name, data) == CodeList(("A1", "B2"))


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b'"A,1"\n"B2"\n', CodeList(("A,1", "B2"))),
        (b"A1;\nB2;\n", CodeList(("A1", "B2"))),
        (b"A1,5\nB2,6\n", Problem("problem-goods-columns")),
        (b'"A1\nB2', Problem("problem-goods-csv")),
        (b"\xff\xfeA", Problem("problem-goods-no-text")),
        (b"PK\x03\x04\0\0", Problem("problem-goods-no-text")),
        (b"", Problem("problem-goods-empty")),
    ],
)
def test_a_csv_file_has_one_column(data: bytes, found: CodeList | Problem) -> None:
    assert read_code_file("codes.csv", data) == found


def test_one_line_is_a_message_and_several_may_be_codes() -> None:
    assert read_message(" https://a.example/x ") == (Goods(TEXT, text="https://a.example/x"),)
    text, codes = read_message("A1\nB2\n\nA1")  # type: ignore[misc]  # no Problem
    assert text == Goods(TEXT, text="A1\nB2\n\nA1")
    assert codes == Goods(CODES, text="A1\nB2", count=2, first="A1", last="B2")
    assert codes.codes == ("A1", "B2")
    assert read_message(" \n") == Problem("problem-goods-nothing")


def test_a_message_of_more_than_4000_characters_can_only_be_codes() -> None:
    assert read_message("x" * 4001) == Problem("problem-goods-long", {"length": 4001, "most": 4000})
    lines = "\n".join(f"{number:04}" for number in range(810))
    assert isinstance(read_message(lines), tuple)
    assert [one.kind for one in read_message(lines)] == [CODES]  # type: ignore[union-attr]  # above


@pytest.mark.parametrize(
    ("count", "units", "words"),
    [
        (100, 100, "100 codes for 100 items: fits"),
        (1, 1, "1 code for 1 item: fits"),
        (80, 100, "80 codes for 100 items: you'll need 20 more"),
        (1, 2, "1 code for 2 items: you'll need 1 more"),
        (120, 100, "120 codes for 100 items: 20 to spare"),
        (3, 1, "3 codes for 1 item: 2 to spare"),
        (7, None, "7 codes"),
    ],
)
def test_codes_are_compared_with_the_items_on_sale(
    count: int, units: int | None, words: str
) -> None:
    assert fit_line(Goods(CODES, count=count), units, "en") == words


def test_the_codes_that_came_twice_are_named_three_at_most() -> None:
    found = read_codes("A\nA\nB\nB\nC\nC\nD\nD")
    assert isinstance(found, CodeList)
    assert found.note("en") == t("en", "goods-doubled", count=4, codes="A, B, C, …")
    assert CodeList(("A",)).note("en") is None


@pytest.mark.parametrize(
    ("goods", "sent"),
    [
        (Goods(TEXT, text="x"), {"text": "x"}),
        (Goods(FILE, file_id="f1"), {"fileId": "f1"}),
        (Goods(CODES, text="A\nB", count=2), {"codes": ["A", "B"]}),
        (Goods(CODES, file_id="f1", count=2), {"codesFileId": "f1"}),
    ],
)
def test_goods_are_sent_as_the_interface_has_them(goods: Goods, sent: dict[str, object]) -> None:
    assert written(delivery_body(goods)) == sent
