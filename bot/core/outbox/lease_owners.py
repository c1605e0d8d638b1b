"""Who has messages under way: workers of processes, and whether they are still at it.

A lease names its owner. As long as that one is at work its messages are nobody else's, however
long they take and whatever the clock says; once it is gone, they come again, at a start or within
half a minute.
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
    """Give a name to a worker of this process that begins; no other ever had it."""
    owner = f"{_here()}:{next(_numbers)}"
    _alive.add(owner)
    return owner


def unregister(owner: str) -> None:
    """Note that a worker of this process claims and handles no more."""
    _alive.discard(owner)


def is_alive(owner: str) -> bool:
    """Whether a worker is known to be there: in this process, or in another of this machine."""
    process, _, _ = owner.rpartition(":")
    if process == _here():
        return owner in _alive
    _, _, rest = process.partition(":")
    pid, _, began = rest.partition(":")
    return _is_of_here(owner) and pid.isdecimal() and _began(int(pid)) == began


def is_dead(owner: str) -> bool:
    """Whether a worker is known not to be there any more; nobody knows of other machines'."""
    return _is_of_here(owner) and not is_alive(owner)


def _is_of_here(owner: str) -> bool:
    return owner.partition(":")[0] == _host()


@cache
def _here() -> str:
    return f"{_host()}:{os.getpid()}:{_began(os.getpid())}"


@cache
def _host() -> str:
    """Name the machine, this run of it, and the numbering of its processes: containers share names.

    Where the system does not tell, its name must do.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        numbering = Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return socket.gethostname()
    return f"{socket.gethostname()}/{boot[:8]}/{numbering}"


def _began(pid: int) -> str | None:
    """When a process began, in ticks since the machine did (proc(5)); None where it is gone.

    A number is given to processes again and again, a number with its beginning is not. Where the
    system does not tell, only whether there is one counts.
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
