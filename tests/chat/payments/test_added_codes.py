"""Codes without a webhook: others add them and buyers hear so, or a found payment waits for one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from bot.chat.alerts import alert_text
from bot.chat.cards.receipts import CODE
from bot.chat.model.payloads import BuyerNotice
from bot.chat.model.request_spec import CodeCounts
from bot.chat.payments.reconciler import Reconciler
from bot.chat.store import receipt_rows
from bot.chat.store.link_rows import PaymentLink
from bot.chat.store.receipt_rows import DeliveredGoods, Receipt, ReceiptKey, ReceiptOwner
from bot.core.text.translations import t
from bot.interface.answers import UnitsAnswer
from tests.support.chat_harness import DROP, ChatHarness
from tests.support.goods_shop import GoodsShop, open_goods_shop
from tests.support.reconciler_service import RecordedSleep, alerts
from tests.support.service_edits import put

UNIT = UnitsAnswer(first=3, last=3, total=5)
WAITS = Receipt("Keys", 500, "USD", "paid", "", units=UNIT, delivery=DeliveredGoods(waits=True))


@pytest.fixture
async def shop(chat: ChatHarness, new_database: Callable[[], str]) -> AsyncIterator[GoodsShop]:
    async with open_goods_shop(new_database(), chat) as it:
        yield it


@pytest.fixture
def reconciler(shop: GoodsShop, recorded_sleep: RecordedSleep) -> Reconciler:
    chat = shop.chat
    return Reconciler(chat.db, shop.market.client, chat.recorder, chat.clock, recorded_sleep)


async def sell_three(shop: GoodsShop) -> tuple[PaymentLink, ReceiptKey]:
    """Sell three items with two codes; return the request and the receipt of who waits."""
    link = await shop.begin(DROP)
    await shop.say("A1\nB2")
    await shop.press("goods", "codes")
    *_, last = [await shop.market.pay(link) for _ in range(3)]
    key = ReceiptKey(str(link.request_id), last)
    shop.chat.db.run(lambda tx: receipt_rows.keep(tx, key, ReceiptOwner(7, "en"), WAITS, 1))
    return link, key


def notices(shop: GoodsShop) -> list[BuyerNotice]:
    return [body for body in shop.chat.said if isinstance(body, BuyerNotice)]


async def test_a_buyer_who_waits_hears_of_a_code_that_another_program_added(
    shop: GoodsShop, reconciler: Reconciler
) -> None:
    link, key = await sell_three(shop)
    await shop.market.client.add_codes(key.request_id, ["C3", "D4"])
    for _ in range(2):
        await reconciler.compare()
        await shop.jobs.due()
    assert notices(shop) == [BuyerNotice(*key, "en", CODE)]
    answer = shop.chat.link(link.id).answer
    assert answer is not None
    assert answer.codes == CodeCounts(total=4, assigned=3, waiting=0)


async def test_a_buyer_who_waits_hears_of_what_another_program_put_in_the_place_of_codes(
    shop: GoodsShop, reconciler: Reconciler
) -> None:
    link, key = await sell_three(shop)
    await shop.market.client.edit(key.request_id, {"delivery": {"text": "The key is 4711"}})
    for _ in range(2):
        await reconciler.compare()
        await shop.jobs.due()
    assert notices(shop) == [BuyerNotice(*key, "en", CODE)]
    answer = shop.chat.link(link.id).answer
    assert answer is not None
    assert answer.codes is None


@pytest.mark.parametrize(("field", "value"), [("name", "Tea"), ("units", 1)])
async def test_a_buyer_hears_once_of_a_code_whose_first_sight_is_the_answer_to_an_edit(
    shop: GoodsShop, reconciler: Reconciler, field: str, value: str | int
) -> None:
    link, key = await sell_three(shop)
    await shop.market.client.add_codes(key.request_id, ["C3", "D4"])
    put(shop.jobs, link, field, value)
    await shop.jobs.due()
    assert notices(shop) == [BuyerNotice(*key, "en", CODE)]
    await reconciler.compare()
    await shop.jobs.due()
    assert notices(shop) == [BuyerNotice(*key, "en", CODE)]


async def test_the_alert_of_the_last_payment_found_says_that_its_buyer_waits(
    shop: GoodsShop, reconciler: Reconciler
) -> None:
    await sell_three(shop)
    shop.chat.clock.advance(60)
    await reconciler.compare()
    assert [alert.codes_waiting for alert in alerts(shop.chat)] == [0, 0, 1]
    message = alert_text.alert_message(shop.chat.said[-1])
    assert "1 buyer is waiting: send one code." in message.text
    assert t("en", "button-send-codes") in str(message.keyboard)


async def test_no_alert_says_who_waits_while_a_later_payment_has_its_time(
    shop: GoodsShop, reconciler: Reconciler
) -> None:
    """The webhook of the later one may still come, and have an alert that says so."""
    link, _ = await sell_three(shop)
    shop.chat.clock.advance(25)
    await shop.market.pay(link)
    shop.chat.clock.advance(10)
    await reconciler.compare()
    assert [alert.codes_waiting for alert in alerts(shop.chat)] == [0, 0, 0]


async def test_nobody_is_notified_while_no_codes_are_added(
    shop: GoodsShop, reconciler: Reconciler
) -> None:
    await sell_three(shop)
    await reconciler.compare()
    assert shop.jobs.waits is None
    assert notices(shop) == []
