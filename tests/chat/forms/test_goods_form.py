"""What buyers get, in forms: messages, files, codes, and which of them is meant."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.chat.forms.field_texts import fit_line
from bot.chat.forms.flow import NewCodes
from bot.chat.forms.form import ExistingRequest, edit_form, take_message
from bot.chat.forms.goods_form import (
    CodeList,
    Fetched,
    codes_form,
    is_code_file,
    read_code_file,
    read_codes,
    read_message,
    receive,
)
from bot.chat.forms.seller_forms import settings_form
from bot.chat.model.drafts import Attachment, Enclosure
from bot.chat.model.replies import Problem
from bot.chat.model.request_spec import CODES, FILE, MAX_FILE, TEXT, Goods
from bot.chat.payments.client import written
from bot.chat.payments.request_bodies import delivery_body
from bot.core.text.translations import t
from bot.interface.parts import MOST_CODES
from tests.support.chat_harness import DROP, STICKERS
from tests.support.form_harness import FORM, KNOWN, NOW, OTHER, Talk, form_at_step, open_option
from tests.support.telegram_limits import labels

LINK = "abcdefghij"
ALBUM = Goods(FILE, file_id="f1", name="a.zip", size=5, telegram_id="t1", sent_as="document")
AS_CODES = Goods(CODES, file_id="f2", name="c.txt", count=2, first="A", last="B")
ZIP = Attachment("t1", "document", "a.zip", "application/zip", size=5)


def goods_question(*, is_edit: bool) -> Talk:
    """Ask what buyers get, in an edit or in a new request."""
    if not is_edit:
        return open_option("goods")
    talk = Talk(KNOWN)
    talk.take(edit_form(FORM, ExistingRequest(LINK, STICKERS), "goods", KNOWN))
    return talk


def take(talk: Talk, file: Attachment = ZIP) -> Talk:
    talk.take(take_message(talk.draft, "", Enclosure(file=file), talk.seller, NOW))
    return talk


def fetched(talk: Talk, found: Fetched) -> Talk:
    talk.take(receive(talk.draft, FORM, found, talk.seller))
    return talk


def test_the_question_names_telegrams_rule_on_digital_goods() -> None:
    assert "Telegram Stars" in open_option("goods").last


@pytest.mark.parametrize(
    ("goods", "words"),
    [
        (ALBUM, "replaces this one on the receipts of everyone who has it already"),
        (Goods(TEXT, text="x"), "replaces this one on the receipts of everyone who"),
        (AS_CODES, "Buyers who already have a code keep it; anyone who is still waiting will get"),
        (None, "Only people who pay from now on will get it."),
    ],
)
def test_an_edit_says_what_happens_to_earlier_buyers(goods: Goods | None, words: str) -> None:
    present = ExistingRequest(LINK, replace(DROP, goods=goods))
    result = edit_form(OTHER, present, "goods", KNOWN)
    (question,) = result.replies
    assert words in question.text
    assert words not in open_option("goods").last


def test_one_line_is_taken_as_it_is() -> None:
    talk = open_option("goods").say("https://a.example/x")
    assert talk.step == "options"
    assert talk.form.goods == Goods(TEXT, text="https://a.example/x")
    assert "Buyers get: https://a.example/x" in talk.press("done").last


def test_several_lines_are_asked_about_and_may_be_codes() -> None:
    talk = open_option("goods").say("A1\nB2\nA1")
    assert "I found 2 lines that could be codes" in talk.last
    assert talk.last.endswith("First code: A1, last code: B2"), "one may be the heading of a table"
    assert talk.replies[-2].text.startswith("This code was there more than once")
    assert labels(talk.replies[-1].rows)[:3] == [
        "One text for everyone", "Codes, one per line", "Send something else"
    ]  # fmt: skip
    talk.press_label("Codes")
    assert (talk.step, talk.form.readings) == ("options", ())
    assert "2 codes for 10 items: you'll need 8 more" in talk.last
    assert "First code: A1, last code: B2" in talk.last


def code_lines(first: int, count: int, length: int) -> str:
    """Write different codes, one a line."""
    return "\n".join(f"{number:0{length}}" for number in range(first, first + count))


@pytest.mark.parametrize("is_edit", [False, True])
def test_codes_are_asked_about_also_where_a_text_is_too_long(*, is_edit: bool) -> None:
    """Telegram takes 4096 characters, the service 4000; a code that came twice is named."""
    talk = goods_question(is_edit=is_edit)
    typed = code_lines(0, 29, 134) + "\n" + f"{0:0134}"
    talk.say(typed)
    assert len(typed) == 4049
    assert talk.last.startswith("Are these codes?\nI found 29 lines that could be codes")
    assert "the limit is 4,000 characters" in talk.last
    assert talk.replies[-2].text.startswith("This code was there more than once")
    assert (talk.form.goods, talk.changes) == (None, [])
    assert labels(talk.replies[-1].rows)[:2] == ["Codes, one per line", "Send something else"]
    talk.press_label("Codes")
    given = talk.changes[-1].value if is_edit else talk.form.goods
    assert isinstance(given, Goods)
    assert (given.kind, given.count) == (CODES, 29)


@pytest.mark.parametrize("is_edit", [False, True])
def test_the_rest_of_a_list_that_telegram_split_is_added(*, is_edit: bool) -> None:
    talk = goods_question(is_edit=is_edit).say(code_lines(0, 79, 50), code_lines(79, 21, 50))
    assert "I've added this to what you sent before." in talk.replies[-2].text
    assert "I found 100 lines that could be codes" in talk.last
    talk.press_label("Codes")
    given = talk.changes[-1].value if is_edit else talk.form.goods
    assert isinstance(given, Goods)
    assert given.codes == tuple(code_lines(0, 100, 50).split("\n"))


def test_a_text_in_two_messages_is_one_text_while_it_is_short_enough() -> None:
    talk = open_option("goods").say("Dear Mia,\nhere it is", "Bye").press_label("One text")
    assert talk.form.goods == Goods(TEXT, text="Dear Mia,\nhere it is\nBye")


@pytest.mark.parametrize(
    ("more", "words"), [("x" * 501, "Line 3 has 501 characters"), ("", "couldn't find anything")]
)
def test_what_cannot_be_added_leaves_the_question_as_it_was(more: str, words: str) -> None:
    """Nothing is set: the codes before it would be shown to everyone."""
    talk = open_option("goods").say("A\nB", more)
    assert words in talk.last
    assert "I found 2 lines that could be codes" in talk.last
    assert talk.form.goods is None


def test_typed_codes_fit_into_a_request() -> None:
    talk = open_option("goods")
    for number in range(0, 640, 80):
        talk.say(code_lines(number, 80, 50))
    assert "⚠ That's 640 codes, too many to type." in talk.last
    assert "I found 560 lines" in talk.last


def test_removed_goods_are_not_asked_about_again() -> None:
    talk = open_option("goods").say("One").press("open", "goods").say("A\nB")
    talk.press_label("🗑")
    assert talk.form.goods is None
    assert talk.press("open", "goods").last.startswith("What does the buyer get after paying?")


def test_something_else_may_be_sent_instead() -> None:
    talk = open_option("goods").say("A\nB").press_label("Send something else")
    assert talk.last.startswith("What does the buyer get after paying?")
    assert talk.say("One").form.goods == Goods(TEXT, text="One")
    assert talk.press("goods", "codes").toast


def test_the_question_stays_after_an_interruption() -> None:
    talk = open_option("goods").say("A\nB")
    talk.take(settings_form("zone", OTHER, KNOWN, talk.draft))
    talk.press("cancel")
    assert "I found 2 lines" in talk.last


def test_a_file_is_fetched_then_set() -> None:
    talk = take(open_option("goods"))
    assert talk.replies[-1].is_passing
    assert talk.last == "⏳ Getting your file…"
    fetched(talk, Fetched((ALBUM,), has_words=True))
    assert talk.form.goods == ALBUM
    assert "The caption isn't part of it" in talk.replies[-2].text
    assert "Buyers get: a.zip, 1 KB" in talk.last


def test_a_text_file_may_be_codes() -> None:
    codes = CodeList(("A", "B"), ("A",))
    talk = fetched(take(open_option("goods")), Fetched((ALBUM, AS_CODES), codes))
    assert "I'll use it only once: A" in talk.replies[-2].text
    assert labels(talk.replies[-1].rows)[0] == "One file for everyone"
    assert talk.press_label("Codes").form.goods == AS_CODES


@pytest.mark.parametrize("is_edit", [False, True])
def test_a_list_of_codes_that_cannot_be_read_is_not_given_to_everyone_unasked(
    *, is_edit: bool
) -> None:
    talk = goods_question(is_edit=is_edit)
    many = Problem("problem-goods-many", {"count": 10_001, "most": 10_000})
    fetched(take(talk), Fetched((ALBUM,), many))
    assert "That's 10,001 codes; the limit is 10,000" in talk.replies[-2].text
    assert talk.last.startswith("Should every buyer get this file?")
    assert (talk.form.goods, talk.form.readings, talk.changes) == (None, (ALBUM,), [])
    assert labels(talk.replies[-1].rows)[:2] == ["One file for everyone", "Send something else"]
    talk.press_label("One file")
    given = talk.changes[-1].value if is_edit else talk.form.goods
    assert given == ALBUM


def test_an_unread_list_of_codes_is_asked_about_below_a_shorter_form_too() -> None:
    talk = take(open_option("goods"))
    talk.take(settings_form("zone", OTHER, KNOWN, talk.draft))
    found = Fetched((ALBUM,), Problem("problem-goods-columns"))
    talk.take(receive(talk.draft, FORM, found, KNOWN))
    paused = talk.form.paused
    assert paused is not None
    assert (paused.goods, paused.readings) == (None, (ALBUM,))


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (Attachment("t", "video", "v.mp4", "video/mp4", size=MAX_FILE + 1), "up to 20 MB"),
        (Attachment("t", "photo", "p.jpg", "image/jpeg", album_id="7"), "several files"),
    ],
)
def test_what_cannot_be_fetched_is_refused_at_once(file: Attachment, words: str) -> None:
    talk = take(open_option("goods"), file)
    assert words in talk.last
    assert talk.form.goods is None


def test_the_largest_file_is_fetched() -> None:
    largest = Attachment("t", "document", "v.zip", "application/zip", size=MAX_FILE)
    result = take_message(open_option("goods").form, "", Enclosure(file=largest), KNOWN, NOW)
    assert result.fetch == largest


def test_a_file_that_did_not_come_is_asked_for_again() -> None:
    talk = fetched(take(open_option("goods")), Fetched(problem="problem-goods-unreachable"))
    assert talk.last.startswith("⚠ I couldn't get that file.")
    assert talk.step == "goods"


def test_a_file_that_comes_after_its_question_is_not_used_and_its_seller_reads_so() -> None:
    talk = take(open_option("goods")).press("back", "goods")
    assert fetched(talk, Fetched((ALBUM,))).form.goods is None
    assert "after you'd moved on" in talk.replies[-1].text
    assert fetched(talk.press("cancel"), Fetched((ALBUM,))).draft is None
    assert "after you'd moved on" in talk.replies[-1].text
    said = len(talk.replies)
    fetched(talk, Fetched(problem="problem-goods-too-large"))
    assert len(talk.replies) == said


@pytest.mark.parametrize(("readings", "goods"), [((ALBUM,), ALBUM), ((ALBUM, AS_CODES), None)])
def test_a_file_waits_for_its_form_below_a_shorter_one(
    readings: tuple[Goods, ...], goods: Goods | None
) -> None:
    talk = take(open_option("goods"))
    talk.take(settings_form("zone", OTHER, KNOWN, talk.draft))
    talk.take(receive(talk.draft, FORM, Fetched(readings), KNOWN))
    paused = talk.form.paused
    assert paused is not None
    assert paused.goods == goods
    assert paused.readings == (() if goods else readings)


def test_a_photo_is_the_requests_picture_at_any_other_step() -> None:
    result = take_message(form_at_step("review").form, "", Enclosure(file=ZIP), KNOWN, NOW)
    assert result.fetch is None


def test_a_file_long_after_the_question_is_no_answer() -> None:
    now = NOW + 25 * 3600 * 1000
    result = take_message(open_option("goods").form, "", Enclosure(file=ZIP), KNOWN, now)
    assert (result.fetch, result.draft and result.draft.must_resume) == (None, True)


@pytest.mark.parametrize("typed", [True, False])
def test_more_codes_are_typed_or_come_in_a_file(*, typed: bool) -> None:
    talk = Talk(KNOWN)
    talk.take(codes_form(LINK, FORM, KNOWN, None))
    found = Fetched(codes=CodeList(("A", "B"), ("A",)))
    if typed:
        result = take_message(talk.draft, "A\nB\nA", None, KNOWN, NOW)
    else:
        result = receive(take(talk).draft, FORM, found, KNOWN)
    assert talk.take(result).codes == NewCodes(LINK, ("A", "B"))
    assert talk.last.startswith("⏳ Adding 2 codes…\nThis code was there more than once")
    assert talk.draft is None


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Fetched(codes=None), "That isn't a list of codes"),
        (Fetched(codes=Problem("problem-goods-columns")), "more than one column"),
        (Fetched(problem="problem-goods-too-large"), "larger than 20 MB"),
    ],
)
def test_a_file_without_codes_is_asked_for_again(found: Fetched, words: str) -> None:
    talk = Talk(KNOWN)
    talk.take(codes_form(LINK, FORM, KNOWN, None))
    assert words in fetched(take(talk), found).last
    assert talk.step == "codes"


def test_more_codes_pause_a_new_request() -> None:
    talk = form_at_step("review")
    talk.take(codes_form(LINK, OTHER, KNOWN, talk.draft))
    assert talk.press("cancel").step == "review"


# What sellers give to buyers, parsed: messages, lists of codes, files of codes.


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
        ("A1\n" + "x" * 501, "problem-goods-code-long", {"line": 2, "length": 501, "most": 500}),
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
    for nothing in (" \n", "\x01", "\u200b"):  # the service delivers no control characters
        assert read_message(nothing) == Problem("problem-goods-nothing")
    assert read_message("your\x01 key") == (Goods(TEXT, text="your key"),)


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
