"""What a connection reads and writes through: flow control and transport, within bounds."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.flow_control import FlowControl

if TYPE_CHECKING:
    from collections.abc import Callable


class Gate(FlowControl):
    """uvicorn's, that reads no more while the connection holds all that it may."""

    def __init__(self, transport: asyncio.Transport, is_full: Callable[[], bool]) -> None:
        super().__init__(transport)
        self._is_full = is_full

    def resume_reading(self) -> None:
        """Read on, where there is room."""
        if not self._is_full():
            super().resume_reading()


class Outlet(asyncio.Transport):
    """A connection as uvicorn writes to it; how it is closed is for the protocol to say."""

    def __init__(self, wire: asyncio.Transport, close: Callable[[], None]) -> None:
        super().__init__()
        self._wire = wire
        self._close = close
        self._closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Write, and nothing after the end: who answers need not know that it came."""
        if not self.is_closing():
            self._wire.write(data)

    def close(self) -> None:
        """Close, in the protocol's way."""
        self._closing = True
        self._close()

    def is_closing(self) -> bool:
        """Whether nothing more is to be written, though the client may still be sending."""
        return self._closing or self._wire.is_closing()


class Alarm:
    """A call at a later time, one at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._handle: asyncio.TimerHandle | None = None

    @property
    def is_set(self) -> bool:
        """Whether the call is still to come."""
        return self._handle is not None

    def set(self, seconds: float, call: Callable[..., None], *args: Any) -> None:
        """Call then, and not when it was to be before."""
        self.stop()
        self._handle = self._loop.call_later(seconds, self._ring, call, *args)

    def stop(self) -> None:
        """Don't call."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _ring(self, call: Callable[..., None], *args: Any) -> None:
        self._handle = None
        call(*args)
