"""A receipt's text fits into one message, whatever was delivered."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from bot.chat.cards.card_text import mark_possibly_repeated
from bot.chat.cards.receipts import receipt_reply, telegram_file
from bot.chat.model.payment import PaymentMarks
from bot.chat.model.replies import TEXT_LIMIT, shown_units
from bot.chat.model.request_spec import FILE, Goods
from bot.chat.store import receipt_rows
from bot.chat.store.receipt_rows import (
    OVERSOLD,
    PAID_BACK,
    DeliveredGoods,
    Receipt,
    ReceiptKey,
    ReceiptOwner,
    read_key,
    read_receipt,
)
from bot.core import exact_json
from bot.core.database.database import Transaction
from bot.core.errors import BadAnswer
from bot.core.text.translations import t
from bot.interface.answers import ReceivedFile, UnitsAnswer
from bot.sandbox.world import formatting
from bot.sandbox.world.errors import Fault
from bot.sandbox.world.people import Person
from tests.support.chat_harness import COFFEE, REQUEST_ID, ChatHarness, service_answer
from tests.support.goods import buy, uploaded
from tests.support.receipt_steps import KEY, LINK, PAID, WITH_CODE, ReceiptSteps
from tests.support.service_harness import DROP, REQUESTS_PATH, ServiceHarness

RECEIPT = Receipt("Coffee", 750, "JPY", "paid", "https://pay.example.org/r", thanks="T" * 500)


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
    shown = text(replace(RECEIPT, delivery=delivery), language)
    assert TEXT_LIMIT - 700 < shown_units(shown) <= TEXT_LIMIT
    assert shown.rstrip().endswith(("it's on your receipt.", "er steht auf deinem Beleg."))


def test_a_code_is_shown_exactly_as_it_was_typed() -> None:
    shown = text(replace(RECEIPT, delivery=DeliveredGoods(codes=("A  <B>&",))))
    assert "<code>A  &lt;B&gt;&amp;</code>" in shown


@pytest.mark.parametrize("language", ["en", "de"])
def test_every_code_that_is_shown_is_copied_with_a_tap(language: str) -> None:
    """Telegram formats a hundred parts of a message; further codes are on the receipt's page."""
    codes = tuple(f"C{number}" for number in range(100))
    receipt = replace(RECEIPT, quantity=100, thanks="See t.me/anna, @anna and anna@example.org")
    shown = text(replace(receipt, delivery=DeliveredGoods(codes=codes)), language)
    news = f"{t(language, 'receipt-news-code', count=100)}\n\n{shown}"
    sent = formatting.formatted(mark_possibly_repeated(news, language), "HTML")
    formatted = [one for one in sent.entities[:100] if one["type"] == "code"]
    assert 90 < shown.count("<code>") == len(formatted) < 100
    assert t(language, "receipt-kept-rest") in shown
    few = text(replace(receipt, delivery=DeliveredGoods(codes=codes[:90])), language)
    assert few.count("<code>") == 90
    assert t(language, "receipt-kept-rest") not in few


def test_a_delivered_text_does_not_reorder_the_lines_around_it() -> None:
    assert (
        "1234\n" in text(replace(RECEIPT, delivery=DeliveredGoods(text="\u202e1234\u2067"))) + "\n"
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
    shown = text(replace(RECEIPT, quantity=3, delivery=delivery))
    assert ("The rest is on its way" in shown) == waits
    for part in ("📎 a.zip", "<code>A1</code>", "The key is 4711"):
        assert part in shown


def test_what_has_no_room_beside_codes_is_named() -> None:
    codes = tuple(f"{number:0500d}" for number in range(7))
    shown = text(replace(RECEIPT, delivery=DeliveredGoods(text="😀" * 4000, codes=codes)))
    assert shown_units(shown) <= TEXT_LIMIT
    assert shown.rstrip().endswith("it's on your receipt.")


def test_a_delivered_text_keeps_its_lines() -> None:
    assert "One\n\n  Two" in text(replace(RECEIPT, delivery=DeliveredGoods(text="One\n\n  Two")))


def test_a_file_is_named_with_its_size() -> None:
    file = ReceivedFile(
        name="album <1>.zip", media_type="", size=3_400_000, url="https://pay.example.org/f"
    )
    assert "📎 album &lt;1&gt;.zip · 3.2 MB" in text(
        replace(RECEIPT, delivery=DeliveredGoods(file=file))
    )


def test_oversold_money_is_said_to_be_owed() -> None:
    assert "arrived too late" in text(replace(RECEIPT, status=OVERSOLD))


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


# The embedded service's receipts, read and shown by the chat.


async def bought(service: ServiceHarness, **fields: Any) -> Receipt:
    """Buy a unit of a drop; return the receipt as the chat's client reads it."""
    made = await service.create(**DROP, **fields)
    transaction_id = (await buy(service, made["id"])).rpartition("/")[2]
    assert read_key(f"r-{made['id']}-{transaction_id}") == ReceiptKey(made["id"], transaction_id)
    path = f"{REQUESTS_PATH}/public/{made['id']}/receipts/{transaction_id}"
    return read_receipt(exact_json.loads((await service.anyone.get(path)).content))


@pytest.mark.parametrize(
    ("delivery", "shown"),
    [
        ({"text": "The door's\nnumber is 4711."}, "The door&#x27;s\nnumber is 4711."),
        ({"codes": ["AAAA-1"]}, "<code>AAAA-1</code>"),
    ],
)
async def test_what_was_delivered_is_shown(
    service: ServiceHarness, delivery: dict[str, Any], shown: str
) -> None:
    receipt = await bought(service, thanks="See you!", delivery=delivery)
    text = receipt_reply(receipt, "en", None).text
    assert shown in text
    assert "See you!" in text
    assert "Yours: 1 of 3" in text


async def test_a_file_has_its_name_and_size(service: ServiceHarness) -> None:
    file_id = await uploaded(service, b"PK" * 51_200, "album.zip")
    receipt = await bought(service, delivery={"fileId": file_id})
    assert "📎 album.zip · 100 KB" in receipt_reply(receipt, "en", None).text


# `/bought`: what an account bought, newest first, by pages, with what became of it.


BOUGHT = Receipt("Coffee", 750, "EUR", "paid", "")


def keep(chat: ChatHarness, person: Person, *receipts: Receipt) -> None:
    owner = ReceiptOwner(person.id, "en")

    def store(tx: Transaction) -> None:
        for number, receipt in enumerate(receipts):
            key = ReceiptKey(REQUEST_ID, f"{number:024x}")
            assert receipt_rows.keep(tx, key, owner, receipt, chat.clock() + number)

    chat.db.run(store)


async def test_the_list_says_what_became_of_each_purchase(
    purchase: ReceiptSteps, pat: Person
) -> None:
    keep(
        purchase.chat,
        pat,
        BOUGHT,
        replace(BOUGHT, marks=PaymentMarks(sent_at=1)),
        replace(BOUGHT, status=PAID_BACK),
        replace(BOUGHT, status=OVERSOLD),
        replace(BOUGHT, delivery=DeliveredGoods(waits=True)),
    )
    listed = await purchase.says(pat, "/bought")
    assert [button["text"] for button in listed.buttons] == [
        "⏳ Coffee · €7.50 · on its way",
        "⚠ Coffee · €7.50 · refund due",
        "↩ Coffee · €7.50 · paid back",
        "📦 Coffee · €7.50 · sent",
        "✅ Coffee · €7.50",
    ]


async def test_the_list_has_pages(purchase: ReceiptSteps, pat: Person) -> None:
    names = [f"Coffee {number}" for number in range(9)]
    keep(purchase.chat, pat, *(replace(BOUGHT, product=name) for name in names))
    listed = await purchase.says(pat, "/bought")
    assert listed.text.startswith("What you've bought (page 1 of 2)")
    await purchase.press(pat, listed, t("en", "button-next"))
    assert [button["text"] for button in listed.buttons] == [
        "✅ Coffee 0 · €7.50",
        t("en", "button-previous"),
    ]


async def test_a_purchase_is_opened_anew_as_it_is_by_then(
    purchase: ReceiptSteps, pat: Person
) -> None:
    await purchase.follow(pat)
    listed = await purchase.says(pat, "/bought")
    purchase.receipt = PAID | {"sentAt": "2027-01-16T09:30:00.000Z"}
    await purchase.press(pat, listed, "✅ Coffee · €7.50")
    assert "📦 Sent Sat, 16 Jan 2027" in pat.chat.from_bot()[-1].text
    assert (await purchase.says(pat, "/bought")).buttons[0]["text"].startswith("📦")


async def test_the_list_is_a_new_message_below_a_receipt(
    purchase: ReceiptSteps, pat: Person
) -> None:
    """A receipt that it took the place of would be gone, with its code."""
    shown = await purchase.follow(pat)
    await purchase.press(pat, shown, t("en", "button-bought"))
    assert "Coffee" in shown.text
    assert "What you've bought" in pat.chat.from_bot()[-1].text


async def test_nobody_opens_or_removes_the_receipt_of_somebody_else(
    purchase: ReceiptSteps, pat: Person, sam: Person
) -> None:
    await purchase.follow(pat)
    (row,) = purchase.chat.rows("kept_receipts")
    for word in ("receipt", "receipt-remove"):
        await purchase.chat.presses(sam, f"{word}:{row['id']}")
        assert purchase.chat.answers[-1].text == t("en", "toast-receipt-gone")
    await purchase.work()
    assert "Coffee" not in str([message.text for message in sam.chat.from_bot()])
    assert len(purchase.chat.rows("kept_receipts")) == 1


async def test_an_empty_list_says_how_to_keep_a_receipt(
    purchase: ReceiptSteps, pat: Person
) -> None:
    assert "tap Keep it in Telegram" in (await purchase.says(pat, "/bought")).text


# A delivered file: sent by Telegram's own id, or left behind the receipt's link.


ALBUM = Goods(FILE, file_id="f1", name="album.zip", size=3, telegram_id="doc-1", sent_as="document")


SENT_AS: list[tuple[Goods | None, tuple[str, str] | None]] = [
    (ALBUM, ("sendDocument", "doc-1")),
    (replace(ALBUM, sent_as="photo"), ("sendPhoto", "doc-1")),
    (replace(ALBUM, sent_as="video"), ("sendVideo", "doc-1")),
    (replace(ALBUM, sent_as="animation"), ("sendAnimation", "doc-1")),
    (replace(ALBUM, sent_as="audio"), ("sendAudio", "doc-1")),
    (replace(ALBUM, sent_as="voice"), ("sendVoice", "doc-1")),
    (replace(ALBUM, sent_as="video_note"), None),
    (replace(ALBUM, telegram_id=None), None),
    (Goods("text", text="Hello"), None),
    (None, None),
]


def test_a_file_is_sent_as_its_seller_sent_it(chat: ChatHarness, sam: Person) -> None:
    for number, (goods, found) in enumerate(SENT_AS):
        request_id = f"{number:024x}"
        chat.add_link(sam, replace(COFFEE, goods=goods), service_answer(id=request_id))
        assert chat.db.run(partial(telegram_file, request_id=request_id)) == found, goods
    assert chat.db.run(lambda tx: telegram_file(tx, "f" * 24)) is None


@pytest.mark.parametrize("other", [{"name": "song.zip"}, {"size": 4}])
async def test_a_buyer_of_the_former_file_is_not_sent_the_one_in_its_place(
    purchase: ReceiptSteps, pat: Person, sam: Person, other: dict[str, object]
) -> None:
    """Codes came between the two, so nobody corrected it; Telegram's id is of the latest file."""
    purchase.chat.add_link(sam, replace(COFFEE, goods=ALBUM), service_answer())
    url = "https://pay.example.org/f"
    file = {"name": "album.zip", "mediaType": "application/zip", "size": 3, "url": url}
    purchase.receipt = PAID | {"delivery": {"state": "delivered", "file": file | other}}
    await purchase.follow(pat)
    assert len(pat.chat.from_bot()) == 1
    assert purchase.chat.said == []


async def test_a_file_that_is_not_delivered_any_more_is_not_sent(
    purchase: ReceiptSteps, pat: Person, sam: Person
) -> None:
    """The service shows nothing of a payment that was paid back."""
    purchase.chat.add_link(sam, replace(COFFEE, goods=ALBUM), service_answer())
    purchase.receipt = PAID | {"status": "paidBack"}
    await purchase.follow(pat)
    assert len(pat.chat.from_bot()) == 1
    assert purchase.chat.said == []


@pytest.mark.parametrize("refuses", [False, True])
async def test_a_file_that_cannot_be_sent_again_delays_no_other_reply(
    purchase: ReceiptSteps, pat: Person, sam: Person, *, refuses: bool
) -> None:
    """Another bot was sent it before BOT_TOKEN changed, or its buyer takes no voice messages.

    The receipt has the download.
    """
    purchase.chat.add_link(sam, replace(COFFEE, goods=ALBUM), service_answer())
    if refuses:
        purchase.chat.world.faults.add(Fault("error", "sendDocument", code=400))
    url = "https://pay.example.org/f"
    file = {"name": "album.zip", "mediaType": "application/zip", "size": 3, "url": url}
    purchase.receipt = PAID | {"delivery": {"state": "delivered", "file": file}}
    await purchase.follow(pat)
    (refused,) = purchase.chat.world.refused
    assert ("wrong file identifier" in str(refused)) is not refuses
    purchase.chat.world.refused.clear()
    assert "What I store" in (await purchase.says(pat, "/privacy")).text
    assert purchase.chat.states(purchase.chat.queues.messages) == []
