"""A memory cgroup for a process and its children, of version 1 or 2."""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path

FIRST, SECOND = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Cgroup:
    """Its folder, and the version of its files."""

    folder: Path
    first: bool

    def program(self, folder: Path) -> str:
        """Write a program that enters it and becomes `python -m bot`."""
        made = folder / "bounded"
        entry = self.folder / "cgroup.procs"
        made.write_text(f'#!/bin/sh\necho $$ > {entry}\nexec {sys.executable} -m bot "$@"\n')
        made.chmod(made.stat().st_mode | stat.S_IXUSR)
        return str(made)

    @property
    def used(self) -> int:
        """Return the bytes that belong to processes and cannot be reclaimed."""
        name = "total_rss" if self.first else "anon"
        lines = (self.folder / "memory.stat").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.split()[0] == name)

    @property
    def kills(self) -> int:
        """Return how often the kernel has killed a process of the group."""
        name = "memory.oom_control" if self.first else "memory.events"
        lines = (self.folder / name).read_text().splitlines()
        return sum(int(line.split()[1]) for line in lines if line.split()[0] == "oom_kill")

    def remove(self) -> None:
        """Remove it; its processes have ended."""
        self.folder.rmdir()


def made(limit: int) -> Cgroup | None:
    """Make one of so many bytes; None, with a word, where that is not allowed."""
    first = (FIRST / "memory.limit_in_bytes").exists()
    folder = (FIRST if first else SECOND) / f"hostile-pictures-{os.getpid()}"
    try:
        folder.mkdir()
        (folder / ("memory.limit_in_bytes" if first else "memory.max")).write_text(str(limit))
    except OSError as error:
        told = f"no memory cgroup can be made ({error.strerror}): memory is measured, not bounded"
        sys.stderr.write(f"{told}\n")
        return None
    return Cgroup(folder, first)
