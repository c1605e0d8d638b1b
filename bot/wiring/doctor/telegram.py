"""Telegram: the token, the switches at BotFather, who gets the updates, and what time it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx

from bot.chat.telegram.intake import WEBHOOK_PATH
from bot.config import TELEGRAM
from bot.core import exact_json
from bot.core.net import http_client
from bot.core.text import sanitize
from bot.wiring.doctor.finding import Finding, mend, well

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bot.config import Settings

PATIENCE = httpx.Timeout(5.0)

TOKEN = re.compile(r"\d{6,}:[A-Za-z0-9_-]{35}")
"""What BotFather gives; a Bot API server of one's own may know others."""

UNKNOWN = (401, 404)
"""Telegram's status codes for a token that it does not know."""

MOST_WAITING = 100
"""Updates that a bot which is at work never leaves at Telegram."""

LATELY = 3600
"""Seconds for which Telegram's trouble with a webhook is news."""

MOST_OFF = 30
"""Seconds by which a clock may be wrong: signatures of webhooks hold for five minutes."""

LONGEST_TOLD = 200

FEEDBACK_UNKNOWN = (
    "Telegram does not tell whether it is on; where shared cards are to follow what is sold, send"
    " /setinlinefeedback to BotFather and choose 100%"
)


@dataclass(frozen=True, slots=True)
class Told:
    """An answer of Telegram's: its result, and its clock in epoch ms where it has one."""

    result: Mapping[str, Any]
    at: int | None


class NotTold(Exception):
    """Telegram did not answer as asked; its text says what to mend."""


async def look(settings: Settings, now: Callable[[], int], feedback: bool) -> list[Finding]:  # noqa: FBT001 - told by the database
    """Look at the bot as Telegram knows it; `feedback` whether a shared card was ever told."""
    if settings.bot_token is None:
        return [mend("BOT_TOKEN", "not set: BotFather on Telegram gives you one")]
    root, token = settings.telegram_api_url, settings.bot_token.get_secret_value()
    if root == TELEGRAM and not TOKEN.fullmatch(token):
        text = "it is cut short or too long: BotFather's have 35 characters after the colon"
        return [mend("BOT_TOKEN", f"{text}; copy it again")]
    async with httpx.AsyncClient(
        base_url=f"{root}/bot{token}/",
        timeout=PATIENCE,
        verify=http_client.context(),
        trust_env=http_client.leaves_network(root),
    ) as http:
        try:
            me, hook = await _ask(http, root, "getMe"), await _ask(http, root, "getWebhookInfo")
        except NotTold as error:
            return [mend("BOT_TOKEN", str(error))]
    return [
        well("BOT_TOKEN", f"@{me.result.get('username')}"),
        *_updates(settings, hook.result, (hook.at or now()) // 1000),
        _inline(me.result),
        well("inline feedback", "on" if feedback else FEEDBACK_UNKNOWN),
        *_clock(me.at, now()),
    ]


async def _ask(http: httpx.AsyncClient, root: str, method: str) -> Told:
    """Make a call. Raises NotTold; its text has no address, for the token is in that."""
    try:
        response = await http.post(method)
    except httpx.HTTPError as error:
        told = f"Telegram at {root} is not reached ({type(error).__name__}): is there a network?"
        raise NotTold(told) from None
    if response.status_code in UNKNOWN:
        raise NotTold("Telegram does not know it: copy it again")
    try:
        data = exact_json.loads(response.content)
        result = data["result"]
    except (ValueError, TypeError, KeyError):
        told = f"{root} answered {response.status_code} and no result: look at TELEGRAM_API_URL"
        raise NotTold(told) from None
    return Told(result if isinstance(result, dict) else {}, _moment(response))


def _moment(response: httpx.Response) -> int | None:
    """Give the other side's clock; its header has whole seconds, so half of one is added."""
    try:
        return int(parsedate_to_datetime(response.headers["Date"]).timestamp() * 1000) + 500
    except (KeyError, ValueError):
        return None


def _inline(me: Mapping[str, Any]) -> Finding:
    if me.get("supports_inline_queries"):
        return well("inline mode", "on")
    return mend("inline mode", "off: send /setinline to BotFather, or Share won't work")


def _clock(there: int | None, here: int) -> list[Finding]:
    if there is None:
        return []
    off = round((here - there) / 1000)
    if abs(off) <= MOST_OFF:
        return [well("clock", f"within {MOST_OFF} seconds of Telegram's")]
    which = "fast" if off > 0 else "slow"
    text = f"{abs(off)} seconds {which} by Telegram's: let NTP set it, or signatures won't hold"
    return [mend("clock", text)]


def _updates(settings: Settings, hook: Mapping[str, Any], now: int) -> list[Finding]:
    """See who gets the updates and whether they come through; `now` in epoch seconds."""
    found = [_taken(settings, hook), _undelivered(hook, now), _waiting(hook)]
    return [mend("TELEGRAM_MODE", text) for text in found if text]


def _taken(settings: Settings, hook: Mapping[str, Any]) -> str | None:
    """Say where updates go if not to us; of the address the host alone, it may hold a secret."""
    url = str(hook.get("url") or "")
    if not url or (settings.telegram_mode == "webhook" and url == settings.url + WEBHOOK_PATH):
        return None
    host = sanitize.line(urlsplit(url).hostname or "another address", LONGEST_TOLD)
    return (
        f"updates go to a webhook at {host}: start the bot again, which takes them back;"
        " where another program uses this token, end that one"
    )


def _undelivered(hook: Mapping[str, Any], now: int) -> str | None:
    at, told = hook.get("last_error_date"), hook.get("last_error_message")
    if not isinstance(at, int) or now - at > LATELY or not told:
        return None
    said = sanitize.line(str(told), LONGEST_TOLD)
    return f"Telegram could not hand over updates lately ({said}): look at the proxy, the log"


def _waiting(hook: Mapping[str, Any]) -> str | None:
    count = hook.get("pending_update_count")
    if not isinstance(count, int) or count <= MOST_WAITING:
        return None
    return f"{count} updates wait at Telegram: start the bot, or see in its log why it takes none"
