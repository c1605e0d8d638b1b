"""The calls of the payment service at work: real parts, a server that the test holds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from bot.chat.forms.flow import Change
from bot.chat.model.jobs import (
    CheckRequest,
    CreateRequest,
    DeleteAccidentalCopies,
    DeleteRequest,
    EditRequest,
    Job,
    PauseRequest,
    RefreshCard,
    RemoveUnits,
    ReplyTo,
    ResumeRequest,
    SendCard,
)
from bot.chat.model.request_spec import Goods, RequestSpec
from bot.chat.payments import request_changes
from bot.chat.payments.client import Client
from bot.chat.payments.job_context import Context
from bot.chat.payments.job_handler import JobHandler
from bot.chat.payments.request_bodies import Addresses, PaymentServer, request_body
from bot.chat.store.link_rows import PaymentLink
from bot.core import exact_json
from bot.core.database.database import Transaction
from bot.core.money.amounts import from_minor
from bot.core.outbox import leases, outbox
from bot.core.outbox.claiming import next_claim
from bot.core.outbox.outbox import Message
from bot.core.text.translations import t
from bot.sandbox.world.people import Person
from tests.support.chat_harness import REQUEST_ID, URL, VAULT, ChatHarness
from tests.support.handcash_server import HandCash, Made, handcash
from tests.support.http_peers import SILENT, ScriptedServer, ServerFailure, http_response
from tests.support.outbox_queue import bodies, handle_all

RECEIVER = "http://bot.internal/webhooks/payments"
IMAGES = "https://bot.example.org/images"


def create_answer(spec: RequestSpec) -> bytes:
    """Build the server's answer to a create of this."""
    shown = {"id": REQUEST_ID, "paymentRequestUrl": URL, "remainingUnits": 3}
    return http_response(200, exact_json.dumps(shown | price_fields(spec)).encode())


def price_fields(spec: RequestSpec, instrument: str | None = None) -> dict[str, Any]:
    """Build a server's fields for a spec's price."""
    amount = from_minor(spec.amount, spec.currency)
    paid_in = instrument or spec.currency
    told_as = {"currencyCode": paid_in, "amount": amount, "denominatedIn": spec.currency}
    return {"paymentAmount": told_as}


PLACE = {"message_id": 5, "is_picture": True}
"""The message whose button was pressed."""

KINDS: dict[str, type[Job]] = {
    "create": CreateRequest,
    "tidy": DeleteAccidentalCopies,
    "look": CheckRequest,
    "card": SendCard,
    "refresh": RefreshCard,
    "stop": PauseRequest,
    "resume": ResumeRequest,
    "delete-yes": DeleteRequest,
    "edit": EditRequest,
    "units": RemoveUnits,
}
NAMES = {kind: name for name, kind in KINDS.items()}


def list_answer(*links: PaymentLink) -> bytes:
    """Build the server's list of these links' requests."""
    shown = {"id": REQUEST_ID, "paymentRequestUrl": URL}
    items = [
        shown | price_fields(one.spec) | {"customParameters": {"listing": one.id}} for one in links
    ]
    return http_response(200, exact_json.dumps({"items": items}).encode())


class RequestJobs:
    """Calls with a client of some server; `given` goes to `Calls`."""

    def __init__(self, chat: ChatHarness, client: Client, **given: Any) -> None:
        self.chat = chat
        self.client = client
        self.handler = self.made(client, **given)

    def made(self, client: Client, receiver: str = RECEIVER, **given: Any) -> JobHandler:
        server = PaymentServer(client, Addresses(receiver, IMAGES), **given)
        context = Context(self.chat.db, self.chat.queues, self.chat.clock, server, VAULT)
        return JobHandler(context)

    def put(self, call: str, link: PaymentLink, **place: Any) -> None:
        reply_to = ReplyTo(link.chat_id, "en", **place)
        fields: dict[str, Any] = {} if call in ("tidy", "look") else {"reply_to": reply_to}
        self.put_job(KINDS[call](link.id, **fields))

    def put_job(self, job: Job) -> None:
        queue, now = self.chat.queues.jobs, self.chat.clock()
        self.chat.db.run(lambda tx: outbox.put(tx, queue, job.link_id, job, now) and None)

    async def due(self) -> None:
        """Make all calls that are due."""
        await handle_all(self.chat.db, self.chat.queues.jobs, self.handler.perform, self.chat.clock)

    def claim(self, room: int = 1) -> list[Message]:
        queue, now = self.chat.queues.jobs, self.chat.clock()
        return self.chat.db.run(lambda tx: outbox.claim(tx, queue, now, room))

    def crash(self) -> None:
        """End as a power cut would, with a call under way, and start again."""
        self.claim()
        queue, now = self.chat.queues.jobs, self.chat.clock()
        self.chat.db.run(lambda tx: leases.recover(tx, queue, now) and None)

    @property
    def waits(self) -> int | None:
        """Return the milliseconds until the next job, None if none waits."""
        queue = self.chat.queues.jobs

        def look(tx: Transaction) -> int | None:
            return next_claim(tx, queue, self.chat.clock()).at

        moment = self.chat.db.run(look)
        return None if moment is None else moment - self.chat.clock()

    @property
    def waiting(self) -> list[str]:
        """Return the waiting jobs, in order of putting."""
        return [NAMES[type(body)] for body in bodies(self.chat.db, self.chat.queues.jobs)]

    def state(self, link: PaymentLink) -> str:
        return self.chat.link(link.id).state


class ScriptedJobs(RequestJobs):
    """The jobs, performed against a server that follows a script."""

    def __init__(self, chat: ChatHarness, peer: ScriptedServer, client: Client) -> None:
        super().__init__(chat, client)
        self.peer = peer

    async def work(self, *answers: bytes) -> list[tuple[str, str]]:
        """Perform all due jobs with these answers; return the calls that they made."""
        before = len(self.peer.calls)
        await self.peer.add_answers(*answers)
        await self.due()
        return [
            (call.method, call.path.partition("?")[0].rpartition("/")[2])
            for call in self.peer.calls[before:]
        ]

    async def ask(self, call: str, link: PaymentLink, *answers: bytes, **more: Any) -> None:
        self.put(call, link, **more)
        await self.work(*answers)


class HandCashJobs(RequestJobs):
    """The calls at work on HandCash's dialect."""

    def __init__(self, chat: ChatHarness, client: Client, server: HandCash) -> None:
        super().__init__(chat, client, instrument="BSV", url=server.url)
        self.server = server

    async def create(self, link: PaymentLink, *failures: ServerFailure) -> None:
        """Make the first try, with what goes wrong at it."""
        self.server.fail("POST", *failures)
        self.put("create", link)
        await self.due()

    async def die_at(self, method: str) -> None:
        """End while the next call of this method is answered, and start again."""
        self.server.fail(method, SILENT)
        before = self.server.asked(method)
        queue = self.chat.queues.jobs
        for message in self.claim():
            work = asyncio.create_task(self.handler.perform(message))
            await self.server.until(lambda: self.server.asked(method) > before)
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
        self.server.release()
        now = self.chat.clock()
        self.chat.db.run(lambda tx: leases.recover(tx, queue, now) and None)

    async def advance(self, seconds: float) -> None:
        """Pass time, and perform each job when it is due."""
        end = self.chat.clock() + int(seconds * 1000)
        while (wait := self.waits) is not None and self.chat.clock() + wait <= end:
            self.chat.clock.advance(wait / 1000)
            await self.due()
        self.chat.clock.at = max(end, self.chat.clock())

    async def make(self, link: PaymentLink) -> Made:
        """Make a request of this link at the server, as a create that was lost did."""
        other = Client(self.server.url, self.server.app_id, self.server.app_secret)
        body = request_body(link, Addresses(RECEIVER, IMAGES), "BSV", self.chat.clock())
        answer = await other.create(body, "key")
        await other.close()
        return self.server.made[answer.id]

    def shown(self, link: PaymentLink) -> str | None:
        """Return the id of the request that the seller has."""
        return self.chat.link(link.id).request_id


@asynccontextmanager
async def handcash_jobs(chat: ChatHarness) -> AsyncIterator[HandCashJobs]:
    """Serve HandCash's dialect at the chat's time; run the jobs against it."""
    async with handcash(now=lambda: chat.clock() / 1000) as server:
        client = Client(server.url, server.app_id, server.app_secret)
        yield HandCashJobs(chat, client, server)
        await client.close()


def service_text(key: str) -> str:
    """Return a text about the service to the seller of the coffee."""
    return t("en", f"service-{key}", name="Coffee")


async def made(
    cloud: HandCashJobs, chat: ChatHarness, sam: Person, spec: RequestSpec
) -> PaymentLink:
    link = chat.add_link(sam, spec)
    await cloud.create(link)
    chat.clear_messages()
    return chat.link(link.id)


def put(
    calling: RequestJobs, link: PaymentLink, field: str, value: str | int | Goods | None
) -> None:
    change = Change(link.id, field, value)
    calling.put_job(request_changes.job_of(change, ReplyTo(link.chat_id, "en")))


async def edited(
    cloud: HandCashJobs, link: PaymentLink, field: str, value: str | int | None
) -> PaymentLink:
    put(cloud, link, field, value)
    await cloud.due()
    return cloud.chat.link(link.id)


def saved(field: str, **values: object) -> str:
    head = t("en", "saved", name=values.pop("name", "Coffee"))
    return "\n".join([head, t("en", f"saved-{field}", **values)])


def puts(cloud: HandCashJobs) -> list[dict[str, Any]]:
    return [exact_json.loads(call.body) for call in cloud.server.calls if call.method == "PUT"]
