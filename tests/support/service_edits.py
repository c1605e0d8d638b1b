"""Edits at the service in tests: requests that are there, edited on HandCash's dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.chat.forms.outcome import Change
from bot.chat.messages.jobs import ReplyTo
from bot.chat.requests import edit_rules
from bot.core import exact_json
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.model.wish import Wish
    from bot.chat.store.listings import Listing
    from bot.sandbox.world.people import Person
    from tests.support.chat_harness import ChatHarness
    from tests.support.request_jobs import HandCashJobs, RequestJobs


async def made(cloud: HandCashJobs, chat: ChatHarness, sam: Person, wish: Wish) -> Listing:
    listing = chat.add_listing(sam, wish)
    await cloud.create(listing)
    chat.clear_messages()
    return chat.listing(listing.id)


def put(calling: RequestJobs, listing: Listing, field: str, value: str | int | None) -> None:
    change = Change(listing.id, field, value)
    calling.put_job(edit_rules.job_of(change, ReplyTo(listing.chat_id, "en")))


async def edited(
    cloud: HandCashJobs, listing: Listing, field: str, value: str | int | None
) -> Listing:
    put(cloud, listing, field, value)
    await cloud.due()
    return cloud.chat.listing(listing.id)


def saved(field: str, **values: object) -> str:
    head = t("en", "saved", name=values.pop("name", "Coffee"))
    return "\n".join([head, t("en", f"saved-{field}", **values)])


def puts(cloud: HandCashJobs) -> list[dict[str, Any]]:
    return [exact_json.loads(call.body) for call in cloud.server.calls if call.method == "PUT"]
