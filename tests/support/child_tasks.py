"""A child process that performs the task it is sent, for the tests of core/bounded_process.py."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from bot.core.bounded_process import serve


def _processor(_argument: str) -> bytes:
    while True:
        pass


def _hang(argument: str) -> bytes:
    Path(argument).write_text(str(os.getpid()))
    time.sleep(60)
    return b""


def _fail(_argument: str) -> bytes:
    raise RuntimeError


def _die(_argument: str) -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return b""


def _file(argument: str) -> bytes:
    Path(argument).write_text("must not be there")
    return b"written"


def _about(_argument: str) -> bytes:
    return f"oom {Path('/proc/self/oom_score_adj').read_text()} {os.environ}".encode()


def _span(_argument: str) -> bytes:
    began = time.monotonic()
    time.sleep(0.05)
    return f"{began} {time.monotonic()}".encode()


TASKS: dict[str, Callable[[str], bytes]] = {
    "echo": str.encode,
    "size": lambda argument: str(len(argument)).encode(),
    "memory": lambda argument: str(len(bytearray(int(argument)))).encode(),
    "answer": lambda argument: bytes(int(argument)),
    "processor": _processor,
    "hang": _hang,
    "fail": _fail,
    "die": _die,
    "file": _file,
    "about": _about,
    "span": _span,
}


def _work(data: bytes) -> bytes:
    task, _, argument = data.decode().partition(" ")
    return TASKS[task](argument)


if __name__ == "__main__":
    serve(_work)
