"""Taking units out: once, whatever answer is lost, and never told as sold."""

from __future__ import annotations

from dataclasses import replace

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.chat.payments.change_jobs import REMOVAL_PATIENCE
from bot.chat.payments.client import Client
from bot.chat.payments.reconciler import GAP_CONFIRMED, Reconciler
from bot.chat.payments.request_bodies import SETTLING
from bot.chat.store.link_rows import PaymentLink
from bot.chat.store.payment_rows import Payment
from bot.core.text.translations import t
from bot.sandbox.world.people import Person
from bot.service.pages.app import create_app
from bot.service.requests import applications
from tests.support.asgi_server import serve_asgi
from tests.support.chat_harness import COFFEE, DROP, VAULT, ChatHarness
from tests.support.http_peers import BROKEN, LOST, SLOW, ServerFailure
from tests.support.request_jobs import HandCashJobs, RequestJobs, edited, made, put, puts, saved
from tests.support.sender_harness import SenderHarness
from tests.support.service_harness import LOOPBACK, make_service


@pytest.fixture
async def link(cloud: HandCashJobs, chat: ChatHarness, sam: Person) -> PaymentLink:
    """Create a drop of five units, and clear its messages."""
    return await made(cloud, chat, sam, replace(DROP, name="Coffee"))


def left(link: PaymentLink) -> tuple[int | None, int | None, int | None]:
    """Return the spec's units, and the server's remaining and total units."""
    told = link.answer
    return (
        link.spec.units,
        told.remaining_units if told else None,
        told.total_units if told else None,
    )


async def test_units_are_removed_once_and_subtracted_everywhere(
    cloud: HandCashJobs, link: PaymentLink, chat: ChatHarness
) -> None:
    """This server lowers the remaining units and keeps its total."""
    after = await edited(cloud, link, "units", 2)
    assert (left(after), cloud.server.only.remaining) == ((3, 3, 5), 3)
    assert (chat.texts, len(puts(cloud))) == ([saved("units", value=2)], 1)


async def sold(cloud: HandCashJobs, count: int) -> None:
    """Pay for a number of units, each with its webhook."""
    chat = cloud.chat
    for _ in range(count):
        transaction = await cloud.server.pay(cloud.server.only.id, hook=False)
        payment = Payment(cloud.server.only.id, transaction, 250, "USD", {})
        (link,) = chat.rows("listings")
        await chat.record(chat.link(link["id"]), payment, None)


async def ends(sending: SenderHarness, sam: Person) -> list[str]:
    """Return the lines at the end of the drop, after all messages are sent."""
    for _ in range(3):
        await sending.work_later()
    texts = [message.text for message in sam.chat.from_bot()]
    return [text for text in texts if text.startswith("🏁")]


async def test_a_drop_that_ends_by_a_removal_says_what_was_sold(
    cloud: HandCashJobs, link: PaymentLink, sending: SenderHarness, sam: Person
) -> None:
    """The line counts the sold units, not all of the drop, and is not sent while some are left."""
    await sold(cloud, 2)
    await edited(cloud, link, "units", 2)
    assert await ends(sending, sam) == []
    assert left(await edited(cloud, link, "units", 1)) == (2, 0, 5)
    assert await ends(sending, sam) == ["🏁 Coffee\nSold out: all 2 sold."]


async def test_an_end_by_a_removal_waits_for_undelivered_alerts(
    cloud: HandCashJobs,
    link: PaymentLink,
    chat: ChatHarness,
    sending: SenderHarness,
    sam: Person,
) -> None:
    await sold(cloud, 2)
    await edited(cloud, link, "units", 3)
    assert not any(text.startswith("🏁") for text in chat.texts)
    assert await ends(sending, sam) == ["🏁 Coffee\nSold out: all 2 sold."]


async def test_an_end_that_is_found_out_later_is_announced_too(
    cloud: HandCashJobs, link: PaymentLink, sending: SenderHarness, sam: Person
) -> None:
    await sold(cloud, 2)
    assert await ends(sending, sam) == []
    cloud.server.fail("PUT", LOST)
    await edited(cloud, link, "units", 3)
    assert await ends(sending, sam) == []
    await cloud.advance(SETTLING / 1000 + 60)
    assert await ends(sending, sam) == ["🏁 Coffee\nSold out: all 2 sold."]


async def look(cloud: HandCashJobs) -> int:
    """Compare with the server until it would tell payments that only its units tell of."""
    calm = Reconciler(cloud.chat.db, cloud.client, cloud.chat.recorder, cloud.chat.clock, _rest)
    found = 0
    for _ in range(3):
        found += await calm.compare()
        cloud.chat.clock.advance(GAP_CONFIRMED / 1000)
    return found


async def _rest(_seconds: float) -> None:
    """Return at once."""


async def test_removed_units_never_count_as_sold(
    cloud: HandCashJobs, link: PaymentLink, chat: ChatHarness
) -> None:
    await edited(cloud, link, "units", 2)
    chat.clear_messages()
    assert (await look(cloud), chat.said) == (0, [])
    await cloud.server.pay(cloud.server.only.id, hook=False)
    assert await look(cloud) == 1


@pytest.mark.long
@pytest.mark.parametrize("failure", [LOST, SLOW], ids=["lost", "late"])
async def test_a_removal_with_a_lost_answer_is_made_once(
    cloud: HandCashJobs,
    link: PaymentLink,
    chat: ChatHarness,
    failure: ServerFailure,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The server may be at work for long: nothing is reported before the settling time."""
    monkeypatch.setattr("bot.chat.payments.job_context.TIME_LIMIT", 1.0)
    cloud.server.fail("PUT", failure)
    await edited(cloud, link, "units", 2)
    await cloud.advance(20)
    assert chat.link(link.id).spec.units == 5
    assert chat.texts == [t("en", "units-doubted", name="Coffee")]
    cloud.server.release()
    await cloud.server.until(lambda: cloud.server.only.remaining == 3)
    await cloud.advance(SETTLING / 1000 + 60)
    assert left(chat.link(link.id)) == (3, 3, 5)
    assert (chat.texts[1:], len(puts(cloud))) == ([saved("units", value=2)], 1)
    assert (await look(cloud), cloud.waiting) == (0, [])


async def test_units_of_an_uncertain_removal_do_not_count_as_sold_meanwhile(
    cloud: HandCashJobs, link: PaymentLink, chat: ChatHarness
) -> None:
    """No money came: a comparison in between records no payment."""
    cloud.server.fail("PUT", LOST)
    await edited(cloud, link, "units", 2)
    assert (await look(cloud), chat.texts) == (0, [])
    await cloud.advance(SETTLING / 1000 + 60)
    assert left(chat.link(link.id)) == (3, 3, 5)
    assert chat.texts[-1] == saved("units", value=2)
    assert await look(cloud) == 0


async def test_a_removal_that_was_not_made_is_reported_after_a_while(
    cloud: HandCashJobs, link: PaymentLink, chat: ChatHarness
) -> None:
    cloud.server.fail("PUT", BROKEN)
    await edited(cloud, link, "units", 2)
    await cloud.advance(SETTLING / 1000 + 60)
    assert left(chat.link(link.id)) == (5, 5, 5)
    assert chat.texts[-1] == t("en", "edit-unchanged", name="Coffee")
    assert (len(puts(cloud)), cloud.waiting) == (1, [])


async def test_a_power_cut_during_a_removal_removes_nothing_twice(
    cloud: HandCashJobs, link: PaymentLink, chat: ChatHarness
) -> None:
    put(cloud, link, "units", 2)
    message = cloud.claim()[0]
    await cloud.handler.perform(message)
    (message,) = cloud.claim()
    cloud.server.fail("GET", *[BROKEN] * 2)
    body = {"decreaseRemainingUnits": 2}
    await cloud.client.edit(link.request_id or "", body)
    cloud.crash()
    await cloud.due()
    await cloud.advance(SETTLING / 1000 + 60)
    assert (len(puts(cloud)), left(chat.link(link.id))) == (1, (3, 3, 5))


class AnswersLost:
    """The service behind a server that fails after the work: the first PUTs get no true answer."""

    def __init__(self, app: ASGIApp, number: int) -> None:
        self.app = app
        self.left = number
        self.keys: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a call on, and end it as a crash would."""
        if scope["type"] != "http" or scope["method"] != "PUT":
            await self.app(scope, receive, send)
            return
        self.keys.append(dict(scope["headers"])[b"idempotency-key"].decode())
        if not self.left:
            await self.app(scope, receive, send)
            return
        self.left -= 1

        async def lose(_message: Message) -> None:
            pass

        await self.app(scope, receive, lose)
        raise ConnectionResetError


@pytest.mark.parametrize(("lost", "pause", "sent"), [(2, 60, 3), (1, 25 * 3600, 1)])
async def test_the_embedded_service_removes_units_once_however_many_answers_are_lost(
    chat: ChatHarness, sam: Person, lost: int, pause: int, sent: int
) -> None:
    """The same call goes out again while the service has its key, and payers may pay meanwhile.

    Where the service has forgotten it, the units are counted instead.
    """
    made = chat.db.run(lambda tx: applications.create(tx, VAULT, "bot", chat.clock()))
    lossy = AnswersLost(create_app(make_service(chat.db, chat.clock, allow=LOOPBACK)), lost)
    async with serve_asgi(lossy) as root:
        client = Client(root, made.app_id, made.app_secret, owners=True)
        jobs = RequestJobs(chat, client, receiver="http://127.0.0.1/hook", settling=0)
        link = chat.add_link(sam, replace(DROP, name="Coffee"))
        jobs.put("create", link)
        await jobs.due()
        chat.clear_messages()
        put(jobs, chat.link(link.id), "units", 2)
        for _ in range(3):
            await jobs.due()
            chat.clock.advance(pause)
        await client.close()
    after = chat.link(link.id)
    assert left(after) == (3, 3, 5)
    assert chat.texts[-1] == saved("units", value=2)
    assert (len(lossy.keys), len({*lossy.keys})) == (sent, 1)
    assert jobs.waiting == []


async def test_payments_meanwhile_do_not_count_as_removed_units(
    cloud: HandCashJobs, link: PaymentLink, chat: ChatHarness
) -> None:
    """Their webhooks explain the missing units."""
    cloud.server.fail("PUT", BROKEN)
    await edited(cloud, link, "units", 1)
    await cloud.server.pay(cloud.server.only.id, hook=False)
    payment = Payment(cloud.server.only.id, "t1", 250, "USD", {})
    await chat.record(chat.link(link.id), payment, None)
    await cloud.advance(SETTLING / 1000 + 60)
    assert chat.link(link.id).spec.units == 5
    assert chat.texts[-1] == t("en", "edit-unchanged", name="Coffee")


async def test_a_removal_that_stays_unknown_is_reported_at_the_end(
    cloud: HandCashJobs, link: PaymentLink, chat: ChatHarness
) -> None:
    """Two units should be removed and one is gone: neither all nor nothing was done."""
    cloud.server.fail("PUT", BROKEN)
    await edited(cloud, link, "units", 2)
    cloud.server.only.remaining = 4
    await cloud.advance(REMOVAL_PATIENCE / 1000 + 120)
    assert chat.texts[-1] == t("en", "units-unknown", name="Coffee")
    assert (len(puts(cloud)), cloud.waiting) == (1, [])


async def test_no_units_are_removed_while_another_removal_is_uncertain(
    cloud: HandCashJobs, link: PaymentLink, chat: ChatHarness
) -> None:
    cloud.server.fail("PUT", BROKEN)
    await edited(cloud, link, "units", 2)
    await edited(cloud, link, "units", 1)
    assert chat.texts == [t("en", "units-doubted", name="Coffee")]
    assert len(puts(cloud)) == 1


async def test_presses_in_a_row_remove_no_more_than_there_is(
    cloud: HandCashJobs, link: PaymentLink, chat: ChatHarness
) -> None:
    """Each removal is counted after the one before it."""
    for _ in range(4):
        put(cloud, link, "units", 2)
    await cloud.due()
    assert (cloud.server.only.remaining, left(chat.link(link.id))) == (1, (1, 1, 5))
    assert chat.texts[2:] == [t("en", "units-too-many", name="Coffee", left=1)] * 2


async def test_a_drop_without_units_left_can_still_be_read(
    cloud: HandCashJobs, link: PaymentLink, chat: ChatHarness
) -> None:
    await edited(cloud, link, "units", 4)
    await edited(cloud, link, "units", 1)
    assert left(chat.link(link.id)) == (1, 1, 5)
    assert chat.texts[-1] == t("en", "units-all", name="Coffee", left=1)


async def test_a_donation_has_no_units_to_remove(
    cloud: HandCashJobs, chat: ChatHarness, sam: Person
) -> None:
    """Only an old form's button can ask for it; the server is not called."""
    donation = await made(cloud, chat, sam, COFFEE)
    await edited(cloud, donation, "units", 1)
    assert (puts(cloud), chat.texts) == ([], [t("en", "units-all", name="Coffee", left=0)])
