"""The errors that the parts log: tracebacks and lost tasks, which no schedule may cause."""

from __future__ import annotations

import contextvars
import gc
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import structlog


class Mortal(Protocol):
    """A run of a part; its errors do not count once it was killed."""

    name: str
    dead: bool


life_of: contextvars.ContextVar[Mortal | None] = contextvars.ContextVar("life", default=None)
"""The run of a part to which the current task belongs."""


@contextmanager
def listening(errors: list[str]) -> Iterator[None]:
    """Collect the errors that running parts log: a failure that the design foresees is none."""

    def keep(_logger: Any, method: str, event: Any) -> Any:
        life = life_of.get()
        if method in {"error", "exception", "critical"} and not (life and life.dead):
            errors.append(f"{life.name if life else '-'}: {event}")
        raise structlog.DropEvent

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            life = life_of.get()
            if not (life and life.dead):
                errors.append(self.format(record))

    before, handler = structlog.get_config(), Handler(logging.ERROR)
    loggers = [logging.getLogger(name) for name in ("uvicorn.error", "asyncio")]
    structlog.configure(
        processors=[structlog.processors.format_exc_info, keep],
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield
        gc.collect()  # asyncio logs the exception of a task when the task is collected
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
        structlog.configure(**before)
