"""Webhooks: signed, sent until they are taken, never where they may not go."""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from bot.core import exact, outbox, signing
from bot.core.addresses import AllowList
from bot.core.vault import Vault
from bot.core.worker import Worker
from bot.service import notify
from bot.service.app import create_app
from bot.service.deps import Service
from bot.service.notify import Notifier, next_attempt, read_retry_after
from bot.service.usecases import deliveries
from bot.service.usecases.deliveries import WEBHOOKS
from bot.service.usecases.requests import INTERNAL_HOST
from bot.service.wire.answers import WebhookEvent
from tests.receiving import Receiver, answer, receiving
from tests.serving import DROP, LOOPBACK, NOON, URL, Shop, client, opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from bot.core.db import Row


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    async with opened(tmp_path, allow=LOOPBACK) as it:
        yield it


@pytest.fixture
async def notifier(shop: Shop) -> AsyncIterator[Notifier]:
    async with Notifier(shop.db, shop.vault, shop.clock, LOOPBACK) as it:
        yield it


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as it:
        yield it


async def owe(shop: Shop, url: str, **fields: Any) -> str:
    """Pay a request whose webhook goes to `url`; the request's id."""
    webhook = {"webhookUrl": url, "customParameters": {"listing": "a", "price": 1.25}}
    made = await shop.create(**(DROP | fields), notifications={"webhook": webhook})
    assert (await shop.pay(made["id"])).status_code == 303
    return str(made["id"])


async def attempt(shop: Shop, notifier: Notifier) -> Row:
    """Make the attempts that are due now; the delivery after them."""
    claimed = await shop.db.transaction(
        lambda tx: outbox.claim(tx, WEBHOOKS, shop.clock(), notify.ROOM)
    )
    assert claimed
    for message in claimed:
        await notifier.handle(message)
    (row,) = await shop.rows("outbox")
    return row


async def test_a_payment_is_told_with_a_body_signed_by_the_applications_secret(
    shop: Shop, notifier: Notifier, receiver: Receiver
) -> None:
    """The secret itself does not travel."""
    request_id = await owe(shop, receiver.url)
    row = await attempt(shop, notifier)
    (received,) = receiver.received
    (payment,) = await shop.rows("payments")
    assert received.line == "POST /hook HTTP/1.1"
    assert received.headers["content-type"] == "application/json"
    assert received.headers["webhook-id"] == row["id"]
    assert exact.loads(received.body) == exact.loads(
        exact.dumps(
            {
                "paymentRequestId": request_id,
                "transactionId": payment["id"],
                "customParameters": {"listing": "a", "price": 1.25},
                "userData": {},
                "amount": 5,
                "currencyCode": "USD",
                "remainingUnits": 2,
                "completedAt": "2027-01-15T08:00:00.000Z",
            }
        )
    )
    WebhookEvent.model_validate(exact.loads(received.body))
    now = datetime.fromtimestamp(NOON / 1000, UTC)
    secret = shop.credentials.webhook_secret
    signing.verify([secret], received.headers, received.body, now)
    whole = str(received.headers) + received.body.decode()
    assert secret not in whole
    assert shop.credentials.app_secret not in whole
    assert (row["state"], row["attempts"], row["settled_at"]) == ("done", 1, NOON)


@pytest.mark.parametrize("status", [200, 201, 204, 299])
async def test_any_2xx_is_success(
    shop: Shop, notifier: Notifier, receiver: Receiver, status: int
) -> None:
    receiver.answers = [answer(status)]
    await owe(shop, receiver.url)
    assert (await attempt(shop, notifier))["state"] == "done"


@pytest.mark.parametrize("status", [301, 307, 400, 401, 404, 429, 500, 503])
async def test_everything_else_is_tried_again(
    shop: Shop, notifier: Notifier, receiver: Receiver, status: int
) -> None:
    """A redirect too: it is not followed."""
    receiver.answers = [answer(status, f"Location: {receiver.url}/elsewhere")]
    await owe(shop, receiver.url)
    row = await attempt(shop, notifier)
    assert (row["state"], row["note"]) == ("waiting", f"answered {status}")
    assert NOON + 4000 <= row["due_at"] <= NOON + 6000
    assert len(receiver.received) == 1


async def test_the_schedule_ends_dead_and_a_retry_begins_it_anew(
    shop: Shop, notifier: Notifier, receiver: Receiver
) -> None:
    """Eight attempts, all with one id and one body, each with its own time."""
    receiver.answers = [answer(500)] * len(notify.SCHEDULE)
    await owe(shop, receiver.url)
    waits = []
    for number in range(1, len(notify.SCHEDULE) + 1):
        row = await attempt(shop, notifier)
        assert row["attempts"] == number
        waits.append((row["due_at"] - shop.clock.at) / 1000)
        shop.clock.at = max(shop.clock.at, row["due_at"])
    assert row["state"] == "dead"
    for wait, planned in zip(waits, notify.SCHEDULE[1:], strict=False):
        assert 0.8 * planned <= wait <= 1.2 * planned
    assert len({one.headers["webhook-id"] for one in receiver.received}) == 1
    assert len({one.body for one in receiver.received}) == 1
    assert len({one.headers["webhook-timestamp"] for one in receiver.received}) == 8
    again = shop.db.run(lambda tx: deliveries.retry(tx, row["id"], shop.clock()))
    assert (again.state, again.attempts, again.next_at) == ("waiting", 0, shop.clock.at)
    assert (await attempt(shop, notifier))["state"] == "done"


async def test_410_ends_it(shop: Shop, notifier: Notifier, receiver: Receiver) -> None:
    receiver.answers = [answer(410)]
    await owe(shop, receiver.url)
    row = await attempt(shop, notifier)
    assert (row["state"], row["note"]) == ("dead", "answered 410")


async def test_retry_after_is_waited_for_where_it_is_later(
    shop: Shop, notifier: Notifier, receiver: Receiver
) -> None:
    receiver.answers = [answer(503, "Retry-After: 3600")]
    await owe(shop, receiver.url)
    assert (await attempt(shop, notifier))["due_at"] == NOON + 3_600_000


@pytest.mark.parametrize(
    ("made", "retry_after", "jitter", "wait"),
    [
        (1, 0, 0, 5),
        (1, 0, -200, 4),
        (1, 0, 200, 6),
        (1, 3, 0, 5),
        (1, 60, 0, 60),
        (1, 10**8, 0, 86_400),
        (7, 0, 0, 36_000),
        (8, 0, 0, None),
        (9, 60, 0, None),
    ],
)
def test_when_the_next_attempt_is(
    made: int, retry_after: int, jitter: int, wait: int | None
) -> None:
    due = None if wait is None else NOON + wait * 1000
    assert next_attempt(made, NOON, retry_after, jitter) == due


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, 0),
        ("", 0),
        ("120", 120),
        ("-5", 0),
        ("soon", 0),
        ("9" * 50, 999_999_999),
        ("Fri, 15 Jan 2027 08:02:00 GMT", 120),
        ("Fri, 15 Jan 2027 07:00:00 GMT", 0),
        ("Fri, 99 Jan 2027 07:00:00 GMT", 0),
    ],
)
def test_retry_after_is_read_in_both_forms(header: str | None, seconds: int) -> None:
    assert read_retry_after(header, NOON) == seconds


async def test_an_address_found_forbidden_when_dialled_is_dead_with_the_reason(
    shop: Shop, receiver: Receiver
) -> None:
    """What was allowed at creation may not be at the connection; nothing is sent."""
    await owe(shop, receiver.url)
    async with Notifier(shop.db, shop.vault, shop.clock, AllowList()) as strict:
        row = await attempt(shop, strict)
    assert row["state"] == "dead"
    assert "127.0.0.1" in row["note"]
    assert receiver.received == []


async def test_a_secret_sealed_with_another_key_waits_for_the_right_one(
    shop: Shop, receiver: Receiver
) -> None:
    """An unsigned webhook is never sent."""
    await owe(shop, receiver.url)
    async with Notifier(shop.db, Vault("other"), shop.clock, LOOPBACK) as wrong:
        row = await attempt(shop, wrong)
    assert row["state"] == "waiting"
    assert "SECRET_KEY" in row["note"]
    assert receiver.received == []


async def test_nobody_listening_is_tried_again(shop: Shop, notifier: Notifier) -> None:
    await owe(shop, "http://127.0.0.1:1/")
    row = await attempt(shop, notifier)
    assert (row["state"], row["note"].split(":")[0]) == ("waiting", "ConnectError")


async def test_an_endpoint_that_says_nothing_is_given_up_and_tried_again(
    shop: Shop, notifier: Notifier, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it together has 15 seconds."""
    assert notify.TIMEOUT == 15
    monkeypatch.setattr(notify, "TIMEOUT", 0.2)
    receiver.silent = True
    await owe(shop, receiver.url)
    row = await attempt(shop, notifier)
    assert (row["state"], row["note"]) == ("waiting", "no answer within 0.2 seconds")


async def test_an_endless_answer_is_not_read(
    shop: Shop, notifier: Notifier, receiver: Receiver
) -> None:
    receiver.answers = [b"HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n" + b"x" * 100_000]
    await owe(shop, receiver.url)
    assert (await attempt(shop, notifier))["state"] == "done"


async def test_no_cookie_of_one_delivery_comes_with_the_next(
    shop: Shop, notifier: Notifier, receiver: Receiver
) -> None:
    receiver.answers = [answer(500, "Set-Cookie: who=me; Path=/")]
    await owe(shop, receiver.url)
    row = await attempt(shop, notifier)
    shop.clock.at = row["due_at"]
    await attempt(shop, notifier)
    assert [one.headers.get("cookie") for one in receiver.received] == [None, None]


async def test_one_slow_endpoint_holds_up_no_other(
    shop: Shop, notifier: Notifier, receiver: Receiver
) -> None:
    """More webhooks than a lane is wide wait for the slow one, and the other's arrives."""
    async with receiving() as slow:
        slow.silent = True
        made = await shop.create(
            expirationType="never", notifications={"webhook": {"webhookUrl": slow.url}}
        )
        for number in range(WEBHOOKS.width * 3):
            await shop.pay(made["id"], f"{number:032d}")
        await owe(shop, receiver.url.replace("127.0.0.1", "127.1"))
        worker = Worker(shop.db, notifier.job, shop.clock)
        running = asyncio.create_task(worker.run())
        async with asyncio.timeout(5):
            await receiver.arrived.wait()
        assert len(slow.received) <= WEBHOOKS.width
        slow.release.set()
        await worker.stop(5)
        await running


async def test_the_bots_receiver_is_found_where_it_listens_now(
    shop: Shop, receiver: Receiver
) -> None:
    """`bot.internal` is resolved when sending, so a changed port loses nothing."""
    await owe(shop, "http://placeholder.example/w")
    shop.db.run(
        lambda tx: tx.execute(
            "UPDATE outbox SET body = replace(body, 'placeholder.example', 'bot.internal')"
        )
    )
    internal = {"bot.internal": lambda: ("127.0.0.1", receiver.port)}
    async with Notifier(shop.db, shop.vault, shop.clock, AllowList(), internal) as bots:
        assert (await attempt(shop, bots))["state"] == "done"
    assert receiver.received[0].headers["host"] == "bot.internal"


async def test_each_outcome_is_one_line_in_the_log_without_secrets(
    shop: Shop, notifier: Notifier, receiver: Receiver
) -> None:
    receiver.answers = [answer(500), answer(200)]
    await owe(shop, receiver.url)
    with capture_logs() as lines:
        shop.clock.at = (await attempt(shop, notifier))["due_at"]
        await attempt(shop, notifier)
    assert [(one["event"], one["log_level"]) for one in lines] == [
        ("webhook failed", "warning"),
        ("webhook delivered", "info"),
    ]
    assert shop.credentials.webhook_secret not in str(lines)
    assert lines[0]["host"] == "127.0.0.1"
    assert lines[0]["why"] == "answered 500"


async def test_the_operator_sees_deliveries(
    shop: Shop, notifier: Notifier, receiver: Receiver
) -> None:
    receiver.answers = [answer(500)]
    request_id = await owe(shop, receiver.url)
    row = await attempt(shop, notifier)
    (seen,) = shop.db.run(deliveries.every)
    assert seen == shop.db.run(lambda tx: deliveries.show(tx, seen.id))
    assert (seen.request_id, seen.address, seen.state, seen.attempts, seen.next_at) == (
        request_id,
        receiver.url,
        "waiting",
        1,
        row["due_at"],
    )
    assert seen.note == "answered 500"


@asynccontextmanager
async def working(shop: Shop, receiver: Receiver) -> AsyncIterator[None]:
    """Deliver what goes to the bot's own receiver, for as long as the block runs."""
    internal = {INTERNAL_HOST: lambda: ("127.0.0.1", receiver.port)}
    async with Notifier(shop.db, shop.vault, shop.clock, AllowList(), internal) as bots:
        worker = Worker(shop.db, bots.job, shop.clock)
        running = asyncio.create_task(worker.run())
        try:
            yield
        finally:
            receiver.release.set()
            await worker.stop(5)
            await running


async def inside(shop: Shop, **fields: Any) -> str:
    """Make a request whose webhook goes to the bot's own receiver; its id."""
    hook = {"webhookUrl": "https://h.example/w"}
    made = await shop.create(**fields, notifications={"webhook": hook})
    url = f"http://{INTERNAL_HOST}/w"
    shop.db.run(
        lambda tx: tx.execute(
            "UPDATE payment_requests SET webhook_url = :url WHERE id = :id", url=url, id=made["id"]
        )
    )
    return str(made["id"])


async def arrived(receiver: Receiver, number: int) -> list[Any]:
    """Wait for so many webhooks; their bodies as they came."""
    async with asyncio.timeout(5):
        while len(receiver.received) < number:
            receiver.arrived.clear()
            await receiver.arrived.wait()
    return [exact.loads(one.body) for one in receiver.received]


@pytest.mark.parametrize("before", [True, False], ids=["waiting", "as they come"])
async def test_the_bots_receiver_is_told_of_a_requests_payments_in_their_order(
    shop: Shop, receiver: Receiver, *, before: bool
) -> None:
    """Five at once, in one millisecond: what remains counts down."""
    request_id = await inside(shop, expirationType="limit", totalUnits=5)

    async def pay() -> None:
        posts = (shop.pay(request_id, f"{number:032d}") for number in range(5))
        assert {one.status_code for one in await asyncio.gather(*posts)} == {303}

    if before:
        await pay()
    async with working(shop, receiver):
        if not before:
            await pay()
        told = await arrived(receiver, 5)
    assert [one["remainingUnits"] for one in told] == [4, 3, 2, 1, 0]


async def test_in_the_bots_receiver_too_a_webhook_that_waits_is_passed_by_a_newer_one(
    shop: Shop, receiver: Receiver
) -> None:
    request_id = await inside(shop, **DROP)
    receiver.answers = [answer(500)]
    async with working(shop, receiver):
        await shop.pay(request_id, "a" * 32)
        await arrived(receiver, 1)
        await shop.pay(request_id, "b" * 32)
        told = await arrived(receiver, 2)
    assert [one["remainingUnits"] for one in told] == [2, 1]


async def test_a_payment_is_of_the_time_of_its_commit(shop: Shop) -> None:
    """Forms overtake each other on their way to the one writer; what they cause sorts as they came.

    Its time is asked for there, not when the form came in.
    """

    def now() -> int:
        return NOON + 1000 * threading.current_thread().name.startswith("db-writer")

    request_id = await inside(shop, **DROP)
    app = create_app(Service(db=shop.db, now=now, public_url=URL))
    async with client(app) as payer:
        paid = await payer.post(f"/pay/{request_id}", data={"token": "t" * 32})
    assert paid.status_code == 303
    (row,) = await shop.rows("outbox")
    assert row["due_at"] == NOON + 1000
