"""Bot API methods by which the bot receives updates."""

import re
from collections.abc import Iterable
from typing import Any

from bot.sandbox.bot_api.params import Params
from bot.sandbox.world.errors import bad_request, conflict
from bot.sandbox.world.model import Json
from bot.sandbox.world.world import World

MOST_UPDATES = 100
POLL_SECONDS = 50

_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")
_WEBHOOK_ACTIVE = (
    "can't use getUpdates method while webhook is active; "
    "use deleteWebhook to delete the webhook first"
)
_OTHER_POLL = (
    "terminated by other getUpdates request; make sure that only one bot instance is running"
)


async def get_updates(world: World, params: Params) -> list[Json]:
    """`getUpdates`: confirms what lies before `offset`, waits up to `timeout` seconds.

    Errors: 409 while a webhook is set, or when another getUpdates begins meanwhile.
    """
    if world.webhook.url:
        raise conflict(_WEBHOOK_ACTIVE)
    limit = params.number("limit", MOST_UPDATES)
    limit = limit if 1 <= limit <= MOST_UPDATES else MOST_UPDATES
    world.updates.allow(_kinds(params))
    if params.text("offset"):
        world.updates.confirm(params.number("offset"))
    world.polls += 1
    poll = world.polls
    world.bell.ring()
    seconds = min(max(params.number("timeout"), 0), POLL_SECONDS)
    await world.bell.until(lambda: world.updates.pending or _ended(world, poll), seconds)
    if world.polls != poll:
        raise conflict(_OTHER_POLL)
    if world.webhook.url:
        raise conflict("terminated by setWebhook request")
    return world.updates.first(limit)


def _ended(world: World, poll: int) -> bool:
    return world.polls != poll or bool(world.webhook.url)


async def set_webhook(world: World, params: Params) -> bool:
    """`setWebhook`; an empty address removes it. Errors: 400 for an address or secret of no use.

    Unlike Telegram's own server, and like a local one, any port and plain http are taken.
    """
    url, secret = params.text("url").strip(), params.text("secret_token")
    if url and not re.match(r"https?://[^\s/]+", url):
        raise bad_request("bad webhook: An HTTPS URL must be provided for webhook")
    if secret and not _SECRET.fullmatch(secret):
        raise bad_request("secret token contains unallowed characters")
    world.updates.allow(_kinds(params))
    _drop_pending(world, params)
    world.webhook.set(url, secret, params.number("max_connections", 40))
    world.bell.ring()
    return True


async def delete_webhook(world: World, params: Params) -> bool:
    """`deleteWebhook`."""
    _drop_pending(world, params)
    world.webhook.set("", "", 0)
    return True


async def get_webhook_info(world: World, _params: Params) -> Json:
    """`getWebhookInfo`."""
    return world.webhook.json()


def _drop_pending(world: World, params: Params) -> None:
    if params.flag("drop_pending_updates"):
        world.updates.pending.clear()


def _kinds(params: Params) -> Iterable[str] | None:
    kinds: Any = params.json("allowed_updates", "allowed_updates")
    return kinds if isinstance(kinds, list) else None
