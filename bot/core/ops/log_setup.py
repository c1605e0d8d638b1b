"""Log configuration: format, levels, and hidden secrets."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

import structlog

HIDDEN = "[hidden]"
TOKEN_SHAPE = re.compile(r"\d{3,}:[A-Za-z0-9_-]{20,}|whsec_[A-Za-z0-9+/=]{8,}")
"""Patterns of bot tokens and signing secrets, which are hidden even if we don't know them."""

QUIET = ("httpx", "httpcore", "telegram", "websockets", "asyncio", "PIL")
"""Loggers that log every call, or URLs that contain the token."""

SHOWN_OF_NUMBER = 8
"""Characters of a payment number in the log: enough for `/find`. The full numbers of the payment
and its request would form the URL of a receipt, which shows the purchase."""


def shorten(number: str) -> str:
    """Shorten a payment number for the log."""
    return number[:SHOWN_OF_NUMBER]


def configure_logging(level: str, form: str, secrets: Iterable[str]) -> None:
    """Log to standard error as `text` or `json`, with `secrets` hidden wherever they occur."""
    hide = HideSecrets(secrets)
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if form == "json"
        else structlog.dev.ConsoleRenderer(colors=False, pad_event_to=0)
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer, hide],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    # It logs a traceback for each non-JSON answer, which the caller logs anyway.
    logging.getLogger("telegram.request").setLevel(logging.CRITICAL)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )


class HideSecrets:
    """The last log processor: removes every secret from the finished line."""

    def __init__(self, secrets: Iterable[str]) -> None:
        plain = set(filter(None, secrets))
        in_json = {json.dumps(secret)[1:-1] for secret in plain}
        quoted = {repr(secret)[1:-1] for secret in plain}
        in_url = {quote(secret, safe="") for secret in plain}
        self._secrets = sorted(plain | in_json | quoted | in_url, key=len, reverse=True)

    def __call__(self, _logger: Any, _method: str, line: Any) -> Any:
        for secret in self._secrets:
            line = line.replace(secret, HIDDEN)
        return TOKEN_SHAPE.sub(HIDDEN, line)
