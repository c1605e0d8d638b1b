"""Edits at the service in tests: requests that are there, edited on HandCash's dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.chat.forms.flow import Change
from bot.chat.model.jobs import ReplyTo
from bot.chat.model.request_spec import Goods, RequestSpec
from bot.chat.payments import request_changes
from bot.chat.store.link_rows import PaymentLink
from bot.core import exact_json
from bot.core.text.translations import t
from tests.support.chat_harness import ChatHarness
from tests.support.request_jobs import HandCashJobs, RequestJobs

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


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
