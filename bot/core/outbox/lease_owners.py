"""Owners of leases: workers of processes, and whether they are alive.

A lease names its owner. While the owner is alive its messages belong to it, however long they take
and whatever the clock says; once it is dead they are released, at a start or within half a minute.
"""

from __future__ import annotations

import itertools
import os
import socket
from functools import cache
from pathlib import Path

_numbers = itertools.count(1)
_alive: set[str] = set()


def register() -> str:
    """Create the name of a new worker of this process, unique for all time."""
    owner = f"{_process()}:{next(_numbers)}"
    _alive.add(owner)
    return owner


def unregister(owner: str) -> None:
    """Mark a worker of this process as dead."""
    _alive.discard(owner)


def is_alive(owner: str) -> bool:
    """Check that a worker is known to be alive, in this process or another one of this machine."""
    process, _, _ = owner.rpartition(":")
    if process == _process():
        return owner in _alive
    _, _, rest = process.partition(":")
    pid, _, began = rest.partition(":")
    return _is_local(owner) and pid.isdecimal() and _start_of(int(pid)) == began


def is_dead(owner: str) -> bool:
    """Check that a worker is known to be dead; unknown for workers of other machines."""
    return _is_local(owner) and not is_alive(owner)


def _is_local(owner: str) -> bool:
    return owner.partition(":")[0] == _host()


@cache
def _process() -> str:
    return f"{_host()}:{os.getpid()}:{_start_of(os.getpid())}"


@cache
def _host() -> str:
    """Name the machine, its boot and its process namespace: containers may share a host name.

    Without /proc it is the host name alone.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        numbering = Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return socket.gethostname()
    return f"{socket.gethostname()}/{boot[:8]}/{numbering}"


def _start_of(pid: int) -> str | None:
    """Return the start of a process, in clock ticks since boot (proc(5)); None if there is none.

    Process ids are reused, an id with a start is not. Without /proc it is "" for any process.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "" if not Path("/proc/self").exists() and _exists(pid) else None
    return stat.rpartition(")")[2].split()[19]


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
