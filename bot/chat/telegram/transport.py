"""python-telegram-bot's transport, which remembers whether Telegram accepted the last call.

An accepted call is never repeated, even where the library can't read its answer: another server of
the Bot API may answer less than Telegram.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import httpx
from telegram.request import HTTPXRequest

from bot.core import exact_json

_answer: ContextVar[bytes] = ContextVar("answer", default=b"")


class Transport(HTTPXRequest):
    """A transport that keeps the last answer of each task, where the call succeeded."""

    async def do_request(self, *given: Any, **named: Any) -> tuple[int, bytes]:
        """Make one call, as the library's BaseRequest."""
        _answer.set(b"")
        code, payload = await super().do_request(*given, **named)
        if httpx.codes.is_success(code):
            _answer.set(payload)
        return code, payload


def last_call_accepted() -> bool:
    """Return whether the last call of this task was answered 2xx with `ok` true."""
    try:
        data = exact_json.loads(_answer.get())
    except ValueError:
        return False
    return isinstance(data, dict) and data.get("ok") is True
