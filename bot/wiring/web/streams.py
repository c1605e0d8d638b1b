"""The streams of a connection, within limits: flow control, transport, reader, timer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.flow_control import FlowControl

if TYPE_CHECKING:
    from collections.abc import Callable


class BoundedFlowControl(FlowControl):
    """uvicorn's flow control, which also stops reading while the connection is full."""

    def __init__(self, transport: asyncio.Transport, is_full: Callable[[], bool]) -> None:
        super().__init__(transport)
        self._is_full = is_full

    def resume_reading(self) -> None:
        if not self._is_full():
            super().resume_reading()


class OutgoingTransport(asyncio.Transport):
    """The transport to which uvicorn writes; `close` lets the protocol decide how to close."""

    def __init__(self, wire: asyncio.Transport, close: Callable[[], None]) -> None:
        super().__init__()
        self._socket = wire
        self._close = close
        self._closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self.is_closing():
            self._socket.write(data)

    def close(self) -> None:
        """Close in the way of the protocol."""
        self._closing = True
        self._close()

    def is_closing(self) -> bool:
        """Return whether nothing more can be written; the client may still be sending."""
        return self._closing or self._socket.is_closing()


class Timer:
    """A delayed call, one at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._handle: asyncio.TimerHandle | None = None

    @property
    def is_set(self) -> bool:
        return self._handle is not None

    def set(self, seconds: float, call: Callable[..., None], *args: Any) -> None:
        """Schedule the call, and cancel the one before."""
        self.stop()
        self._handle = self._loop.call_later(seconds, self._run, call, *args)

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _run(self, call: Callable[..., None], *args: Any) -> None:
        self._handle = None
        call(*args)
