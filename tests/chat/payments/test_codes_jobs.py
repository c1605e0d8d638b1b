"""Codes added to a request: sent until the service answers; no number is claimed in doubt."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest

from bot.chat.cards import alert_text
from bot.chat.cards.receipts import CODE
from bot.chat.model.jobs import AddCodes, ReplyTo
from bot.chat.model.payloads import BuyerNotice, TextMessage
from bot.chat.model.request_spec import CODES, FILE, TEXT, CodeCounts, Goods
from bot.chat.payments.change_jobs import CODES_AT_ONCE, CODES_TRIED_FOR
from bot.chat.payments.client import Client
from bot.chat.payments.reconciler import Reconciler
from bot.chat.store import receipt_rows
from bot.chat.store.link_rows import DELETED, STOPPED, PaymentLink
from bot.chat.store.receipt_rows import DeliveredGoods, Receipt, ReceiptKey, ReceiptOwner
from bot.core import exact_json
from bot.core.database.database import Transaction
from bot.core.text.translations import t
from bot.interface.answers import UnitsAnswer
from bot.sandbox.world.people import Person
from tests.support.chat_harness import DROP, REQUEST_ID, URL, ChatHarness, service_answer
from tests.support.form_questions import question_of
from tests.support.http_peers import ScriptedServer, http_response
from tests.support.outbox_queue import bodies
from tests.support.reconciler_service import GoodsShop, RecordedSleep, alerts, open_goods_shop
from tests.support.request_jobs import ScriptedJobs, put

DOWN = http_response(503)
SPEC = replace(DROP, name="Keys", goods=Goods(CODES, text="A1", count=1, first="A1", last="A1"))


def added(total: int, new: int, waiting: int = 0) -> bytes:
    counts = {"total": total, "added": new, "assigned": 1, "waiting": waiting}
    return http_response(200, exact_json.dumps(counts).encode())


def shown(total: int, waiting: int = 0, **fields: Any) -> bytes:
    """Build the service's answer about the request."""
    codes = {"total": total, "assigned": 1, "waiting": waiting}
    return delivers({"kind": "codes", "codes": codes}, **fields)


def delivers(delivery: Any, **fields: Any) -> bytes:
    body = {"id": REQUEST_ID, "paymentRequestUrl": URL, "delivery": delivery}
    return http_response(200, exact_json.dumps(body | fields).encode())


@pytest.fixture
def jobs(chat: ChatHarness, peer: ScriptedServer, client: Client) -> ScriptedJobs:
    return ScriptedJobs(chat, peer, client)


@pytest.fixture
def link(chat: ChatHarness, sam: Person) -> PaymentLink:
    return chat.add_link(sam, SPEC, service_answer())


async def add(jobs: ScriptedJobs, link: PaymentLink, *codes: str) -> None:
    reply_to = ReplyTo(link.chat_id, "en")
    jobs.put_job(AddCodes(link.id, reply_to, codes))


def keep_two(chat: ChatHarness) -> None:
    """Keep the receipts of the third and the fourth unit, which wait for their codes."""

    def keep(tx: Transaction) -> None:
        for unit in (3, 4):
            waits, units = DeliveredGoods(waits=True), UnitsAnswer(first=unit, last=unit, total=5)
            receipt = Receipt("Keys", 500, "USD", "paid", "", units=units, delivery=waits)
            key = ReceiptKey(REQUEST_ID, f"{unit:024x}")
            receipt_rows.keep(tx, key, ReceiptOwner(unit, "en"), receipt, chat.clock())

    chat.db.run(keep)


TOLD = [BuyerNotice(REQUEST_ID, f"{unit:024x}", "en", CODE) for unit in (3, 4)]
"""The notices to the owners of both receipts; one who still waits is sent nothing."""


def notices(chat: ChatHarness) -> list[object]:
    return [body for body in bodies(chat.db, chat.queues.messages) if hasattr(body, "event")]


async def test_the_answer_names_who_still_waits_and_what_is_left(
    chat: ChatHarness, jobs: ScriptedJobs, link: PaymentLink
) -> None:
    await add(jobs, link, "B2", "C3")
    assert await jobs.work(added(3, 2, waiting=2), shown(3, waiting=2)) == [
        ("POST", "codes"),
        ("GET", REQUEST_ID),
    ]
    assert exact_json.loads(jobs.peer.calls[0].body) == {"codes": ["B2", "C3"]}
    assert "2 codes added.\n2 codes are still missing." in chat.texts[-1]
    assert "codes:" in f"{chat.said[-1].keyboard}"
    answer = chat.link(link.id).answer
    assert answer is not None
    assert answer.codes == CodeCounts(3, 1, 2)


async def test_buyers_who_keep_their_receipt_hear_that_their_code_is_there(
    chat: ChatHarness, jobs: ScriptedJobs, link: PaymentLink
) -> None:
    """Units that got a text before the codes have numbers too, so one code may be the third's."""
    keep_two(chat)
    await add(jobs, link, "B2")
    await jobs.work(added(1, 1, waiting=1), shown(1, waiting=1))
    assert notices(chat) == TOLD


@pytest.mark.parametrize(
    "goods",
    [Goods(CODES, text="B2\nC3", count=2, first="B2", last="C3"), Goods(TEXT, text="4711")],
)
async def test_buyers_hear_of_what_an_edit_of_the_goods_brought(
    chat: ChatHarness, jobs: ScriptedJobs, link: PaymentLink, goods: Goods
) -> None:
    """What takes the place of codes is for those who waited for one, too."""
    keep_two(chat)
    put(jobs, link, "goods", goods)
    answer = shown(3, waiting=1) if goods.kind == CODES else delivers({"kind": "text"})
    await jobs.work(answer, answer)
    assert notices(chat) == TOLD


async def test_who_still_waits_by_the_units_that_are_sold_is_not_looked_up(
    chat: ChatHarness, jobs: ScriptedJobs, link: PaymentLink
) -> None:
    """Of four units sold, the first got a text: two codes are for the second and the third."""
    keep_two(chat)
    await add(jobs, link, "B2")
    sold = {"totalUnits": 6, "remainingUnits": 1, "reservedUnits": 1}
    await jobs.work(added(2, 1, waiting=1), shown(2, waiting=1, **sold))
    assert notices(chat) == TOLD[:1]
    await add(jobs, link, "C3")
    await jobs.work(added(3, 1), shown(3, **sold))
    assert notices(chat) == TOLD


@pytest.mark.parametrize(
    ("goods", "kinds"),
    [
        (Goods(TEXT, text="The key is 4711"), ["BuyerNotice"]),
        (
            Goods(FILE, file_id="f", name="a.zip", size=1, telegram_id="d", sent_as="document"),
            ["BuyerNotice", "ReceiptMessage"],
        ),
    ],
)
async def test_buyers_who_waited_hear_once_what_takes_the_place_of_codes(
    chat: ChatHarness, jobs: ScriptedJobs, link: PaymentLink, goods: Goods, kinds: list[str]
) -> None:
    """Also if a crash makes the service take the edit twice; a correction is no news."""
    keep_two(chat)
    answer = delivers({"kind": goods.kind})
    put(jobs, link, "goods", goods)
    jobs.crash()
    await jobs.work(answer, answer)
    put(jobs, link, "goods", replace(goods, text="The key is 4712"))
    await jobs.work(answer, answer)
    told = [one for one in bodies(chat.db, chat.queues.messages) if hasattr(one, "transaction_id")]
    for unit in (3, 4):
        mine = [one for one in told if one.transaction_id == f"{unit:024x}"]
        assert [type(one).__name__ for one in mine] == kinds
    after = chat.link(link.id).answer
    assert after is not None
    assert after.codes is None, "nobody is counted as waiting"
    assert "4711" not in str(told)


async def test_what_buyers_wait_for_is_not_removed(
    chat: ChatHarness, jobs: ScriptedJobs, link: PaymentLink
) -> None:
    """The seller reads why, and is asked what they get instead."""
    keep_two(chat)
    put(jobs, link, "goods", None)
    refusal = {"code": "buyersWait", "message": "Buyers wait for codes.", "info": []}
    await jobs.work(http_response(409, exact_json.dumps(refusal).encode()))
    assert chat.texts[0] == t("en", "goods-awaited", name="Keys")
    assert question_of("ask-goods") in chat.texts[1]
    assert chat.link(link.id).spec.goods == SPEC.goods
    assert notices(chat) == []


async def test_a_service_that_is_down_is_asked_again_and_the_seller_told_once(
    chat: ChatHarness, jobs: ScriptedJobs, link: PaymentLink
) -> None:
    await add(jobs, link, "B2")
    await jobs.work(DOWN)
    for _ in range(2):
        chat.clock.advance((jobs.waits or 0) / 1000)
        await jobs.work(DOWN)
    assert chat.texts == [t("en", "codes-service-down", name="Keys")]
    chat.clock.advance((jobs.waits or 0) / 1000)
    await jobs.work(added(2, 0), shown(2))
    assert "your codes are saved.\nEveryone who has paid has their code." in chat.texts[-1]


async def test_after_a_day_the_seller_is_asked_to_send_them_again(
    chat: ChatHarness, jobs: ScriptedJobs, link: PaymentLink
) -> None:
    await add(jobs, link, "B2")
    chat.clock.advance(CODES_TRIED_FOR / 1000)
    await jobs.work(DOWN)
    assert chat.texts == [t("en", "codes-given-up", name="Keys")]
    assert jobs.waits is None


async def test_a_refusal_ends_the_job(
    chat: ChatHarness, jobs: ScriptedJobs, link: PaymentLink
) -> None:
    await add(jobs, link, "B2")
    refusal = {"code": "invalidBody", "message": "Buyers of it get no codes."}
    await jobs.work(http_response(400, exact_json.dumps(refusal).encode()))
    assert "Buyers of it get no codes." in chat.texts[-1]
    assert jobs.waits is None


async def test_a_crash_with_a_call_under_way_sends_the_codes_again(
    chat: ChatHarness, jobs: ScriptedJobs, link: PaymentLink
) -> None:
    """What the first call added is not known, so no number is claimed."""
    await add(jobs, link, "B2")
    jobs.crash()
    await jobs.work(added(2, 0), shown(2))
    assert "your codes are saved." in chat.texts[-1]


async def test_no_call_has_more_codes_than_fit_into_its_body(
    chat: ChatHarness, jobs: ScriptedJobs, link: PaymentLink
) -> None:
    codes = [f"{number:0500}" for number in range(CODES_AT_ONCE + 1)]
    await add(jobs, link, *codes)
    await jobs.work(
        added(CODES_AT_ONCE, CODES_AT_ONCE), added(CODES_AT_ONCE + 1, 1), shown(CODES_AT_ONCE + 1)
    )
    assert [len(exact_json.loads(call.body)["codes"]) for call in jobs.peer.calls[:2]] == [
        CODES_AT_ONCE,
        1,
    ]
    assert f"{CODES_AT_ONCE + 1} codes added." in chat.texts[-1]


async def test_buyers_of_a_deleted_request_get_their_codes_too(
    chat: ChatHarness, jobs: ScriptedJobs, sam: Person
) -> None:
    gone = chat.add_link(sam, SPEC, service_answer(), state=DELETED)
    keep_two(chat)
    await add(jobs, gone, "B2")
    missing = {"code": "notFound", "message": "No."}
    unknown = http_response(404, missing)
    await jobs.work(added(2, 1, waiting=1), unknown, http_response(200, {"items": []}))
    (told,) = [body.text for body in chat.said if isinstance(body, TextMessage)]
    assert "1 code added.\n1 buyer is still waiting for a code." in told
    assert notices(chat) == TOLD
    answer = chat.link(gone.id).answer
    assert answer is not None
    assert answer.codes == CodeCounts(2, 1, 1)


async def test_an_edit_of_goods_is_repeated_until_it_is_answered(
    chat: ChatHarness, jobs: ScriptedJobs, link: PaymentLink
) -> None:
    """No answer shows what buyers get, so nothing else tells whether it was made."""
    goods = Goods("text", text="The key is 4711")
    put(jobs, link, "goods", goods)
    await jobs.work(DOWN)
    assert chat.texts == [t("en", "goods-service-down", name="Keys")]
    assert chat.link(link.id).spec.goods == SPEC.goods
    chat.clock.advance((jobs.waits or 0) / 1000)
    await jobs.work(http_response(200), shown(1))
    assert chat.link(link.id).spec.goods == goods
    assert "Buyers now get: The key is 4711" in chat.texts[-1]
    assert [exact_json.loads(call.body) for call in jobs.peer.calls[:2]] == [
        {"delivery": {"text": "The key is 4711"}}
    ] * 2


async def test_an_edit_of_goods_that_is_never_answered_ends(
    chat: ChatHarness, jobs: ScriptedJobs, link: PaymentLink
) -> None:
    put(jobs, link, "goods", Goods("text", text="x"))
    for _ in range(6):
        await jobs.work(DOWN)
        chat.clock.advance((jobs.waits or 0) / 1000)
    assert jobs.waits is None
    assert chat.texts == [
        t("en", "goods-service-down", name="Keys"),
        t("en", "service-silent", name="Keys"),
    ]


async def test_a_stop_does_not_wait_for_an_edit_of_goods_that_is_repeated(
    jobs: ScriptedJobs, link: PaymentLink
) -> None:
    put(jobs, link, "goods", Goods("text", text="The key is 4711"))
    await jobs.work(DOWN)
    jobs.put("stop", link, message_id=5)
    stopped = delivers({"kind": "codes"}, isEnabled=False)
    await jobs.work(stopped, stopped)
    assert jobs.state(link) == STOPPED
    assert jobs.waits, "the edit goes on"


async def test_codes_added_while_an_edit_of_goods_is_repeated_are_added_to_the_newer_ones(
    chat: ChatHarness, jobs: ScriptedJobs, link: PaymentLink
) -> None:
    """The edit would take them away otherwise. Their number is known: no call had them before."""
    goods = Goods(CODES, text="B2\nC3", count=2, first="B2", last="C3")
    put(jobs, link, "goods", goods)
    await jobs.work(DOWN)
    await add(jobs, link, "D4")
    assert await jobs.work() == []
    chat.clock.advance((jobs.waits or 0) / 1000)
    calls = await jobs.work(shown(2), shown(2), added(3, 1), shown(3))
    assert [method for method, _ in calls] == ["PUT", "GET", "POST", "GET"]
    assert "1 code added." in chat.texts[-1]


async def test_no_number_of_codes_is_claimed_after_an_edit_of_goods_was_repeated_meanwhile(
    chat: ChatHarness, jobs: ScriptedJobs, link: PaymentLink
) -> None:
    """The call whose answer was lost may have added them, so they don't begin anew behind it."""
    await add(jobs, link, "B2")
    await jobs.work(DOWN)
    put(jobs, link, "goods", Goods(CODES, text="C3", count=1, first="C3", last="C3"))
    await jobs.work(DOWN)
    chat.clock.advance((jobs.waits or 0) / 1000)
    await jobs.work(added(2, 0), shown(2), shown(2), shown(2))
    assert any("your codes are saved." in text for text in chat.texts)


async def test_goods_that_are_edited_again_while_an_edit_is_repeated_are_the_newer_ones(
    chat: ChatHarness, jobs: ScriptedJobs, link: PaymentLink
) -> None:
    """The answer to the first edit was lost, so the second one waits until it is answered."""
    wrong, right = Goods("text", text="The key is 4711"), Goods("text", text="The key is 4712")
    put(jobs, link, "goods", wrong)
    await jobs.work(DOWN)
    put(jobs, link, "goods", right)
    assert await jobs.work() == []
    chat.clock.advance((jobs.waits or 0) / 1000)
    answer = delivers({"kind": "text"})
    await jobs.work(http_response(200), answer, http_response(200), answer)
    sent = [exact_json.loads(call.body) for call in jobs.peer.calls if call.method == "PUT"]
    assert sent[-1] == {"delivery": {"text": "The key is 4712"}}
    assert chat.link(link.id).spec.goods == right
    assert jobs.waits is None
    assert "Buyers now get: The key is 4712" in chat.texts[-1]


# Codes without a webhook: others add them and buyers hear so, or a found payment waits for one.


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


def shop_notices(shop: GoodsShop) -> list[BuyerNotice]:
    return [body for body in shop.chat.said if isinstance(body, BuyerNotice)]


async def test_a_buyer_who_waits_hears_of_a_code_that_another_program_added(
    shop: GoodsShop, reconciler: Reconciler
) -> None:
    link, key = await sell_three(shop)
    await shop.market.client.add_codes(key.request_id, ["C3", "D4"])
    for _ in range(2):
        await reconciler.compare()
        await shop.jobs.due()
    assert shop_notices(shop) == [BuyerNotice(*key, "en", CODE)]
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
    assert shop_notices(shop) == [BuyerNotice(*key, "en", CODE)]
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
    assert shop_notices(shop) == [BuyerNotice(*key, "en", CODE)]
    await reconciler.compare()
    await shop.jobs.due()
    assert shop_notices(shop) == [BuyerNotice(*key, "en", CODE)]


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
    assert shop_notices(shop) == []
