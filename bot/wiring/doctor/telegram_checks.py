"""Checks of Telegram: the token, BotFather's switches, the way of updates, the clock."""

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
from bot.wiring.doctor.finding import Finding, fix, ok

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bot.config import Settings

TIMEOUT = httpx.Timeout(5.0)

TOKEN = re.compile(r"\d{6,}:[A-Za-z0-9_-]{35}")
"""The shape of BotFather's tokens; another Bot API server may have others."""

UNKNOWN_TOKEN = (401, 404)
"""Status codes of Telegram for a token that it does not know."""

MOST_WAITING = 100
"""Updates: more never wait at Telegram while the bot is running."""

LATELY = 3600
"""Seconds for which a failed call of our webhook is worth reporting."""

MOST_OFF = 30
"""Seconds by which the clock may be wrong: signatures of webhooks are valid for five minutes."""

LONGEST_QUOTE = 200
"""Characters quoted from Telegram."""

FEEDBACK_UNKNOWN = (
    "Telegram doesn't say whether it's on; if shared cards should show new sales, send"
    " /setinlinefeedback to BotFather and choose 100%"
)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of Telegram: its result, and its time in epoch ms if it names one."""

    result: Mapping[str, Any]
    at: int | None


class NoAnswer(Exception):
    """Telegram did not answer as expected; the text says what to fix."""


async def check(
    settings: Settings,
    now: Callable[[], int],
    inline_feedback: bool,  # noqa: FBT001 - read from the database
) -> list[Finding]:
    """Check the bot as Telegram knows it; `inline_feedback`: a shared card was once reported."""
    if settings.bot_token is None:
        return [fix("BOT_TOKEN", "not set: ask BotFather on Telegram for one")]
    root, token = settings.telegram_api_url, settings.bot_token.get_secret_value()
    if root == TELEGRAM and not TOKEN.fullmatch(token):
        text = "too short or too long: a token has 35 characters after the colon; copy it again"
        return [fix("BOT_TOKEN", text)]
    async with httpx.AsyncClient(
        base_url=f"{root}/bot{token}/",
        timeout=TIMEOUT,
        verify=http_client.ssl_context(),
        trust_env=http_client.may_use_proxy(root),
    ) as http:
        try:
            me, hook = await _ask(http, root, "getMe"), await _ask(http, root, "getWebhookInfo")
        except NoAnswer as error:
            return [fix("BOT_TOKEN", str(error))]
    return [
        ok("BOT_TOKEN", f"@{me.result.get('username')}"),
        *_check_updates(settings, hook.result, (hook.at or now()) // 1000),
        _check_inline(me.result),
        ok("inline feedback", "on" if inline_feedback else FEEDBACK_UNKNOWN),
        *_check_clock(me.at, now()),
    ]


async def _ask(http: httpx.AsyncClient, root: str, method: str) -> Answer:
    """Call a method. Raises NoAnswer; its text has no address, which contains the token."""
    try:
        response = await http.post(method)
    except httpx.HTTPError as error:
        reason = f"Telegram at {root} can't be reached ({type(error).__name__})"
        raise NoAnswer(f"{reason}: check the network") from None
    if response.status_code in UNKNOWN_TOKEN:
        raise NoAnswer("Telegram rejects this token: copy it again")
    try:
        data = exact_json.loads(response.content)
        result = data["result"]
    except (ValueError, TypeError, KeyError):
        reason = f"{root} answered {response.status_code} without a result"
        raise NoAnswer(f"{reason}: check TELEGRAM_API_URL") from None
    return Answer(result if isinstance(result, dict) else {}, _time_of(response))


def _time_of(response: httpx.Response) -> int | None:
    """Return Telegram's time; its header has whole seconds, so half of one is added."""
    try:
        return int(parsedate_to_datetime(response.headers["Date"]).timestamp() * 1000) + 500
    except (KeyError, ValueError):
        return None


def _check_inline(me: Mapping[str, Any]) -> Finding:
    if me.get("supports_inline_queries"):
        return ok("inline mode", "on")
    return fix("inline mode", "off, so sharing doesn't work: send /setinline to BotFather")


def _check_clock(there: int | None, here: int) -> list[Finding]:
    if there is None:
        return []
    off = round((here - there) / 1000)
    if abs(off) <= MOST_OFF:
        return [ok("clock", f"within {MOST_OFF} seconds of Telegram's")]
    which = "ahead of" if off > 0 else "behind"
    text = f"{abs(off)} seconds {which} Telegram's, so signatures may be refused: turn on NTP"
    return [fix("clock", text)]


def _check_updates(settings: Settings, hook: Mapping[str, Any], now: int) -> list[Finding]:
    """Check where updates go and whether they arrive; `now` in epoch seconds."""
    found = [_check_webhook(settings, hook), _check_deliveries(hook, now), _check_backlog(hook)]
    return [fix("TELEGRAM_MODE", text) for text in found if text]


def _check_webhook(settings: Settings, hook: Mapping[str, Any]) -> str | None:
    """Name the host of another webhook that gets the updates; its path may be a secret."""
    url = str(hook.get("url") or "")
    if not url or (settings.telegram_mode == "webhook" and url == settings.url + WEBHOOK_PATH):
        return None
    host = sanitize.line(urlsplit(url).hostname or "another address", LONGEST_QUOTE)
    return (
        f"updates go to a webhook at {host}: restart the bot to get them back; if another program"
        " uses this token, stop it"
    )


def _check_deliveries(hook: Mapping[str, Any], now: int) -> str | None:
    at, message = hook.get("last_error_date"), hook.get("last_error_message")
    if not isinstance(at, int) or now - at > LATELY or not message:
        return None
    quote = sanitize.line(str(message), LONGEST_QUOTE)
    return f"Telegram recently failed to deliver updates ({quote}): check the proxy and the log"


def _check_backlog(hook: Mapping[str, Any]) -> str | None:
    count = hook.get("pending_update_count")
    if not isinstance(count, int) or count <= MOST_WAITING:
        return None
    return f"{count} updates are waiting at Telegram: start the bot, or check its log for errors"
