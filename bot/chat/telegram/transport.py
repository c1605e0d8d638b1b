"""python-telegram-bot's transport, which remembers whether Telegram took the last call.

A call that was taken is never made again, even where its answer has not the shape
that the library knows: a server of somebody's own may answer less than Telegram.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import httpx
from telegram.request import HTTPXRequest

from bot.core import exact_json

_answer: ContextVar[bytes] = ContextVar("answer", default=b"")


class Transport(HTTPXRequest):
    """Keeps each task's last answer, where the call succeeded."""

    async def do_request(self, *given: Any, **named: Any) -> tuple[int, bytes]:
        """Make one call; see the library's BaseRequest."""
        _answer.set(b"")
        code, payload = await super().do_request(*given, **named)
        if httpx.codes.is_success(code):
            _answer.set(payload)
        return code, payload


def last_call_accepted() -> bool:
    """Whether the last call of this task was taken: answered 2xx with `ok` true."""
    try:
        data = exact_json.loads(_answer.get())
    except ValueError:
        return False
    return isinstance(data, dict) and data.get("ok") is True
