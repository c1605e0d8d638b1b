"""A receipt's text fits into one message, whatever was delivered."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from bot.chat.cards.card_text import mark_possibly_repeated
from bot.chat.cards.receipts import receipt_reply
from bot.chat.model.replies import TEXT_LIMIT, shown_units
from bot.chat.store.receipt_rows import (
    OVERSOLD,
    DeliveredGoods,
    Receipt,
    read_key,
    read_receipt,
)
from bot.core.errors import BadAnswer
from bot.core.text.translations import t
from bot.interface.answers import ReceivedFile, UnitsAnswer
from bot.sandbox.world import formatting
from tests.support.receipt_steps import KEY, LINK, PAID, WITH_CODE

COFFEE = Receipt("Coffee", 750, "JPY", "paid", "https://pay.example.org/r", thanks="T" * 500)


def text(receipt: Receipt, language: str = "en") -> str:
    return receipt_reply(receipt, language, None, "abcdefghij").text


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize(
    "delivery",
    [
        DeliveredGoods(text="<&>" * 1333),
        DeliveredGoods(text="😀" * 4000),
        DeliveredGoods(codes=tuple(f"{number:0500d}" for number in range(100))),
    ],
)
def test_a_long_delivery_is_shown_as_far_as_it_fits_and_the_rest_named(
    language: str, delivery: DeliveredGoods
) -> None:
    shown = text(replace(COFFEE, delivery=delivery), language)
    assert TEXT_LIMIT - 700 < shown_units(shown) <= TEXT_LIMIT
    assert shown.rstrip().endswith(("it's on your receipt.", "er steht auf deinem Beleg."))


def test_a_code_is_shown_exactly_as_it_was_typed() -> None:
    shown = text(replace(COFFEE, delivery=DeliveredGoods(codes=("A  <B>&",))))
    assert "<code>A  &lt;B&gt;&amp;</code>" in shown


@pytest.mark.parametrize("language", ["en", "de"])
def test_every_code_that_is_shown_is_copied_with_a_tap(language: str) -> None:
    """Telegram formats a hundred parts of a message; further codes are on the receipt's page."""
    codes = tuple(f"C{number}" for number in range(100))
    receipt = replace(COFFEE, quantity=100, thanks="See t.me/anna, @anna and anna@example.org")
    shown = text(replace(receipt, delivery=DeliveredGoods(codes=codes)), language)
    news = f"{t(language, 'receipt-news-code', count=100)}\n\n{shown}"
    sent = formatting.formatted(mark_possibly_repeated(news, language), "HTML", ())
    formatted = [one for one in sent.entities[:100] if one["type"] == "code"]
    assert 90 < shown.count("<code>") == len(formatted) < 100
    assert t(language, "receipt-kept-rest") in shown
    few = text(replace(receipt, delivery=DeliveredGoods(codes=codes[:90])), language)
    assert few.count("<code>") == 90
    assert t(language, "receipt-kept-rest") not in few


def test_a_delivered_text_does_not_reorder_the_lines_around_it() -> None:
    assert (
        "1234\n" in text(replace(COFFEE, delivery=DeliveredGoods(text="\u202e1234\u2067"))) + "\n"
    )


def test_codes_that_are_there_are_shown_while_others_are_on_their_way() -> None:
    asked = WITH_CODE | {"delivery": {"state": "waiting", "codes": ["A1", "B2"]}}
    shown = text(read_receipt(asked))
    assert "The rest is on its way" in shown
    assert "<code>A1</code>\n<code>B2</code>" in shown


@pytest.mark.parametrize("waits", [True, False])
def test_units_that_got_different_things_are_all_shown(*, waits: bool) -> None:
    """A payment of three: a code, then what took the place of codes, then codes again."""
    file = ReceivedFile(name="a.zip", media_type="", size=5_000, url="https://pay.example.org/f")
    delivery = DeliveredGoods(waits, "The key is 4711", file, ("A1",))
    shown = text(replace(COFFEE, quantity=3, delivery=delivery))
    assert ("The rest is on its way" in shown) == waits
    for part in ("📎 a.zip", "<code>A1</code>", "The key is 4711"):
        assert part in shown


def test_what_has_no_room_beside_codes_is_named() -> None:
    codes = tuple(f"{number:0500d}" for number in range(7))
    shown = text(replace(COFFEE, delivery=DeliveredGoods(text="😀" * 4000, codes=codes)))
    assert shown_units(shown) <= TEXT_LIMIT
    assert shown.rstrip().endswith("it's on your receipt.")


def test_a_delivered_text_keeps_its_lines() -> None:
    assert "One\n\n  Two" in text(replace(COFFEE, delivery=DeliveredGoods(text="One\n\n  Two")))


def test_a_file_is_named_with_its_size() -> None:
    file = ReceivedFile(
        name="album <1>.zip", media_type="", size=3_400_000, url="https://pay.example.org/f"
    )
    assert "📎 album &lt;1&gt;.zip · 3.2 MB" in text(
        replace(COFFEE, delivery=DeliveredGoods(file=file))
    )


def test_oversold_money_is_said_to_be_owed() -> None:
    assert "arrived too late" in text(replace(COFFEE, status=OVERSOLD))


def test_a_receipt_is_read_from_the_services_answer() -> None:
    receipt = read_receipt(WITH_CODE | {"amount": Decimal("7.50")})
    assert (receipt.product, receipt.seller) == ("Coffee", "Anna's Café")
    assert (receipt.amount, receipt.units) == (750, UnitsAnswer(first=7, last=7, total=100))
    assert receipt.delivery == DeliveredGoods(codes=("ABC-123",))
    assert (
        read_receipt(PAID | {"product": {"name": "Tea"}, "seller": None, "amount": 7}).amount == 700
    )


@pytest.mark.parametrize("wrong", [None, [], {}, PAID | {"amount": "x"}, PAID | {"delivery": 1}])
def test_any_other_answer_is_no_receipt(wrong: object) -> None:
    with pytest.raises(BadAnswer):
        read_receipt(wrong)


def test_a_deep_link_is_read_exactly() -> None:
    assert read_key(LINK) == KEY
    for other in ("", "new", "r_abcdefghij", "r-abc", f"{LINK}-x", f"x{LINK}", "r-ä-b"):
        assert read_key(other) is None
