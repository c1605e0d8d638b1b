"""Files for buyers: fetched from Telegram, kept by the service, delivered; and what may fail."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from bot.chat.model.payout import owner_ref
from bot.chat.model.request_spec import CODES, FILE, Goods
from bot.chat.store import seller_rows
from bot.chat.store.link_rows import PaymentLink
from bot.chat.telegram.downloads import FILE_RETRIES
from bot.core.text.translations import t
from bot.sandbox.world.errors import Fault
from bot.sandbox.world.files import DOWNLOAD_BYTES
from bot.service.goods import files
from tests.support.chat_harness import COFFEE, DROP, ChatHarness
from tests.support.reconciler_service import GoodsShop, open_goods_shop
from tests.support.sample_pictures import photo

SECRET = "TOP-SECRET-4711"


@pytest.fixture
async def shop(chat: ChatHarness, new_database: Callable[[], str]) -> AsyncIterator[GoodsShop]:
    async with open_goods_shop(new_database(), chat) as it:
        yield it


def goods_of(shop: GoodsShop, link: PaymentLink) -> Goods | None:
    return shop.chat.link(link.id).spec.goods


async def test_a_file_of_20_mb_is_delivered_byte_for_byte(shop: GoodsShop) -> None:
    link = await shop.begin(COFFEE)
    data = bytes(range(256)) * (DOWNLOAD_BYTES // 256)
    await shop.send("album & more.zip", data)
    goods = goods_of(shop, link)
    assert goods is not None
    assert (goods.kind, goods.name, goods.size) == (FILE, "album & more.zip", DOWNLOAD_BYTES)
    sent = shop.sam.chat.visible[-1].content["document"]
    assert (goods.telegram_id, goods.sent_as) == (sent["file_id"], "document")
    assert "Buyers now get: album &amp; more.zip, 20 MB" in shop.chat.texts[-1]
    bought = await shop.receipt(link, await shop.market.pay(link))
    assert (bought["state"], bought["file"]["size"]) == ("delivered", DOWNLOAD_BYTES)
    path = bought["file"]["url"].partition("/pay/")[2]
    assert (await shop.market.service.anyone.get(f"/pay/{path}")).content == data
    assert shop.chat.world.refused == []


async def test_a_command_with_a_file_sells_that_file(shop: GoodsShop) -> None:
    """No link exists before the file is there, so no buyer pays for nothing."""
    chat = shop.chat
    await chat.says(shop.sam, "/start")
    chat.db.run(lambda tx: seller_rows.change(tx, shop.sam.id, destination="$anna"))
    await shop.send("book.pdf", b"%PDF", "/oneoff 9 EUR E-book")
    assert chat.rows("listings") == []
    await shop.press("file", "yes")
    await shop.fetch()
    assert "Buyers get: book.pdf" in chat.texts[-1]
    assert chat.rows("listings") == []
    create = chat.said[-1].keyboard["inline_keyboard"][0][0]["callback_data"]
    await chat.presses(shop.sam, create)
    (row,) = chat.rows("listings")
    goods = chat.link(row["id"]).spec.goods
    assert goods is not None
    assert (goods.kind, goods.name, goods.sent_as) == (FILE, "book.pdf", "document")
    stored = await shop.market.service.db.query("SELECT id FROM files")
    assert [one["id"] for one in stored] == [goods.file_id]


async def test_a_byte_more_is_refused_without_asking_telegram(shop: GoodsShop) -> None:
    link = await shop.begin(COFFEE)
    await shop.send("album.zip", b"z" * (DOWNLOAD_BYTES + 1))
    assert "larger than 20 MB, which is all that Telegram lets me fetch" in shop.chat.texts[-1]
    assert goods_of(shop, link) is None
    assert shop.chat.world.refused == []


async def test_a_photo_is_delivered_as_a_file(shop: GoodsShop) -> None:
    link = await shop.begin(COFFEE)
    picture = photo((300, 200))
    shop.sam.send_photo(picture, "Look")
    await shop.chat.take()
    await shop.fetch()
    await shop.jobs.due()
    goods = goods_of(shop, link)
    assert goods is not None
    assert (goods.name, goods.sent_as) == ("photo.jpg", "photo")
    assert "The caption isn't part of it" in "".join(shop.chat.texts)
    bought = await shop.receipt(link, await shop.market.pay(link))
    assert (bought["file"]["mediaType"], bought["file"]["size"]) == ("image/jpeg", len(picture))


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("a/b\\c.zip", "a_b_c.zip"),
        ("..", "file"),
        ("\u202egpj.exe", "_gpj.exe"),
        ("é🎶.mp3", "é🎶.mp3"),
    ],
)
async def test_any_name_is_kept_as_the_name_of_the_sellers_file(
    shop: GoodsShop, sent: str, kept: str
) -> None:
    """The service refuses paths and what can't be seen; its caps count each seller's files."""
    link = await shop.begin(COFFEE)
    await shop.send(sent, b"bytes")
    goods = goods_of(shop, link)
    assert goods is not None
    assert goods.name == kept
    assert [
        row["owner"] for row in await shop.market.service.db.query("SELECT owner FROM files")
    ] == [owner_ref(shop.sam.id)]


async def test_codes_in_a_file_are_handed_out_one_per_item(shop: GoodsShop) -> None:
    link = await shop.begin(DROP)
    await shop.send("codes.csv", f"\ufeff{SECRET}\r\nB2\r\nB2\r\nC3\r\nD4\r\nE5\r\n".encode())
    assert "I found 5 lines" in shop.chat.texts[-1]
    await shop.press("goods", "codes")
    goods = goods_of(shop, link)
    assert goods is not None
    assert (goods.kind, goods.count, goods.first, goods.text) == (CODES, 5, SECRET, None)
    assert (await shop.delivery(link))["codes"] == {"total": 5, "assigned": 0, "waiting": 0}
    bought = await shop.receipt(link, await shop.market.pay(link))
    assert (bought["state"], bought["codes"]) == ("delivered", [SECRET])


async def test_a_text_file_may_be_one_for_everybody(shop: GoodsShop) -> None:
    link = await shop.begin(DROP)
    await shop.send("poem.txt", b"Roses\nViolets\n")
    await shop.press("goods", "one")
    bought = await shop.receipt(link, await shop.market.pay(link))
    assert bought["file"]["name"] == "poem.txt"


async def test_codes_run_out_and_more_are_sent(shop: GoodsShop) -> None:
    """Buyers who waited get theirs, and the seller reads who still waits."""
    link = await shop.begin(DROP)
    await shop.say("A1\nB2")
    await shop.press("goods", "codes")
    paid = [await shop.market.pay(link) for _ in range(4)]
    assert (await shop.receipt(link, paid[3]))["state"] == "waiting"
    await shop.chat.presses(shop.sam, f"codes:{link.id}")
    await shop.say("C3\nA1")
    assert "1 code added.\n1 buyer is still waiting for a code." in shop.chat.texts[-1]
    assert (await shop.receipt(link, paid[2]))["codes"] == ["C3"]
    await shop.chat.presses(shop.sam, f"codes:{link.id}")
    await shop.send("more.txt", b"D4\nE5\n")
    assert (
        "2 codes added.\nEveryone who has paid has their code.\nCodes left: 1 of 5"
        in shop.chat.texts[-1]
    )
    assert (await shop.receipt(link, paid[3]))["codes"] == ["D4"]
    await shop.chat.presses(shop.sam, f"codes:{link.id}")
    await shop.say("E5")
    assert "already had all of these codes" in shop.chat.texts[-1]


async def test_buyers_of_a_deleted_link_get_the_codes_that_they_wait_for(shop: GoodsShop) -> None:
    link = await shop.begin(DROP)
    await shop.say("A1\nB2")
    await shop.press("goods", "codes")
    *_, last = [await shop.market.pay(link) for _ in range(3)]
    await shop.chat.presses(shop.sam, f"delete-yes:{link.id}")
    await shop.jobs.due()
    await shop.chat.presses(shop.sam, f"codes:{link.id}")
    await shop.say("C3")
    assert "1 code added.\nEveryone who has paid has their code." in shop.chat.texts[-1]
    assert (await shop.receipt(link, last))["codes"] == ["C3"]


async def test_a_request_without_codes_takes_none(shop: GoodsShop) -> None:
    link = await shop.begin(COFFEE)
    await shop.press("cancel")
    query = await shop.chat.presses(shop.sam, f"codes:{link.id}")
    assert shop.chat.answers[-1].text == t("en", "toast-no-codes")
    assert query.data == f"codes:{link.id}"
    pat = shop.chat.add_person("Pat")
    await shop.chat.presses(pat, f"codes:{link.id}")
    assert shop.chat.answers[-1].text == t("en", "listing-gone")


@pytest.mark.parametrize("is_edited", [True, False])
async def test_codes_are_refused_in_the_bots_words_where_a_text_took_their_place(
    shop: GoodsShop, *, is_edited: bool
) -> None:
    """Before the codes were sent, by then `is_edited`, or while they waited for the edit."""
    link = await shop.begin(DROP)
    await shop.say("A1\nB2")
    await shop.press("goods", "codes")
    await shop.ask(link)
    await shop.chat.says(shop.sam, "The key is 4711")
    await shop.chat.presses(shop.sam, f"codes:{link.id}")
    if is_edited:
        await shop.jobs.due()
    await shop.say("C3")
    assert shop.chat.texts[-1] == t("en", "toast-no-codes")


async def test_a_seller_without_room_for_a_file_reads_what_to_do(
    shop: GoodsShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same file once more would not help."""
    link = await shop.begin(COFFEE)
    monkeypatch.setattr(files, "MOST_OF_SELLER", 1)
    await shop.send("a.zip", b"PK")
    assert shop.chat.texts[-1].startswith(t("en", "problem-goods-full"))
    assert goods_of(shop, link) is None


async def test_many_codes_go_in_several_calls(shop: GoodsShop) -> None:
    link = await shop.begin(replace(DROP, units=1000))
    await shop.say("A1\nB2")
    await shop.press("goods", "codes")
    await shop.chat.presses(shop.sam, f"codes:{link.id}")
    await shop.send("more.txt", "\n".join(f"code-{number}" for number in range(700)).encode())
    assert "700 codes added." in shop.chat.texts[-1]
    assert (await shop.delivery(link))["codes"]["total"] == 702


async def test_an_attempt_that_failed_is_repeated(shop: GoodsShop) -> None:
    link = await shop.begin(COFFEE)
    shop.chat.world.faults.add(Fault("error", "getFile", code=502, description="Bad Gateway"))
    await shop.send("a.zip", b"PK")
    assert goods_of(shop, link) is None
    shop.chat.clock.advance(FILE_RETRIES.delays[0] / 1000)
    await shop.fetch()
    await shop.jobs.due()
    goods = goods_of(shop, link)
    assert goods is not None
    assert goods.name == "a.zip"


async def test_what_telegram_refuses_is_asked_for_again(shop: GoodsShop) -> None:
    link = await shop.begin(COFFEE)
    shop.chat.world.faults.add(Fault("error", "getFile", code=400, description="Bad Request: x"))
    await shop.send("a.zip", b"PK")
    assert shop.chat.texts[-1].startswith("⚠ I couldn't get that file.")
    await shop.send("a.zip", b"PK")
    assert goods_of(shop, link) is not None


async def test_contents_are_in_no_log_and_not_in_the_audit_trail(shop: GoodsShop) -> None:
    link = await shop.begin(DROP)
    with capture_logs() as logs:
        await shop.say(f"{SECRET}\nB2")
        await shop.press("goods", "codes")
        await shop.ask(link)
        await shop.say(f"{SECRET} for everybody")
    edits = [row for row in shop.chat.rows("audit") if row["action"] == "request.edited"]
    assert len(edits) == 2
    updates = [row for row in shop.chat.rows("outbox") if row["queue"] == "updates"]
    assert SECRET not in f"{edits}{logs}{updates}"
    assert '"codes"' in f"{edits}"


async def test_the_address_behind_words_is_given_too(shop: GoodsShop) -> None:
    link = await shop.begin(COFFEE)
    entity = {"type": "text_link", "offset": 0, "length": 4, "url": "https://a.example/x"}
    shop.sam.send("Here")
    shop.chat.world.updates.pending[-1]["message"]["entities"] = [entity]
    await shop.chat.take()
    await shop.jobs.due()
    goods = goods_of(shop, link)
    assert goods is not None
    assert goods.text == "Here https://a.example/x"


async def test_a_duplicate_says_that_codes_stay_behind(shop: GoodsShop) -> None:
    link = await shop.begin(DROP)
    await shop.say("A1\nB2")
    await shop.press("goods", "codes")
    await shop.chat.presses(shop.sam, f"duplicate:{link.id}")
    assert "I haven't copied what buyers get" in shop.chat.texts[-2]
    assert "Buyers get" not in shop.chat.texts[-1]
