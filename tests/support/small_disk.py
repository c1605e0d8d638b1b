"""A PostgreSQL server whose disk is full at will, without a change to the machine's mounts.

The server lives in a mount namespace of its own (unshare(1)) with a small tmpfs for its data. From
outside, the tmpfs is reached through /proc/PID/root: a file there fills it, its removal empties it.
Where the kernel forbids user namespaces, only root can start one.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from tests.support.postgres_programs import AS_ROOT, NOBODY
from tests.support.postgres_server import PostgresServer, as_server

MOUNTING = ["unshare", "--mount", "--propagation", "private"]
AS_ROOT_INSIDE = ["--user", "--map-root-user"]
AS_SOMEBODY_AGAIN = ["unshare", "--user", "--map-user=1000"]
"""PostgreSQL refuses to run as root, also as root of a user namespace."""


@cache
def can_mount() -> bool:
    return subprocess.run([*_unshare(), "true"], capture_output=True, check=False).returncode == 0


class SmallDisk(PostgresServer):
    """A server with its data on a disk of `size`, but its write-ahead log on a large one.

    A full disk refuses writes (53100) and connections go on. With the log on it too, PostgreSQL
    would end by itself. The data is gone when the server ends.
    """

    size = "96m"

    @property
    def disk(self) -> Path:
        return Path(f"/proc/{self.running.pid}/root{self.data}")

    @property
    def room(self) -> int:
        """Return the bytes that are free."""
        found = os.statvfs(self.disk)
        return found.f_bavail * found.f_frsize

    @contextmanager
    def full(self) -> Iterator[None]:
        """Fill the disk until the block ends."""
        ballast = self.disk / "ballast"
        with ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, self.room)
        try:
            yield
        finally:
            ballast.unlink()

    def _command(self) -> list[str]:
        seed, log = self.home / "seed", self.home / "wal"
        self.data.rename(seed)
        (seed / "pg_wal").rename(log)
        (seed / "pg_wal").symlink_to(log)
        self.data.mkdir(mode=0o700)
        owner = f",uid={NOBODY},gid={NOBODY}" if AS_ROOT else ""
        mount = ["mount", "-t", "tmpfs", "-o", f"size={self.size},mode=0700{owner}", "none"]
        steps = [[*mount, str(self.data)], ["cp", "-a", f"{seed}/.", str(self.data)]]
        steps += [["exec", *(as_server() or AS_SOMEBODY_AGAIN), *self._server()]]
        return [*_unshare(), "sh", "-c", " && ".join(map(shlex.join, steps))]

    def _pid_file(self) -> Path:
        return self.disk / "postmaster.pid"


def _unshare() -> list[str]:
    return MOUNTING if AS_ROOT else [*MOUNTING, *AS_ROOT_INSIDE]
