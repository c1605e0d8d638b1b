"""Folders that go with the process that made them, also if that is killed."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

MEMORY = Path("/dev/shm")
UNTIL_ITS_END = 'cat; rm -rf "$0" || { sleep 1; rm -rf "$0"; }'
"""Reads until the other end of the pipe is closed. Who still writes into it then has a second."""


class OwnFolder:
    """A folder in memory, unless `parent` is given, with a shell that removes it after us.

    The shell outlives this process: it waits until the pipe ends that nobody else writes to.
    """

    def __init__(self, prefix: str, parent: Path | None = None) -> None:
        memory = MEMORY if os.access(MEMORY, os.W_OK) else None
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent or memory))
        silent: dict[str, Any] = dict.fromkeys(("stdout", "stderr"), subprocess.DEVNULL)
        self._remover = subprocess.Popen(
            ["sh", "-c", UNTIL_ITS_END, str(self.path)],
            stdin=subprocess.PIPE, cwd="/", start_new_session=True, **silent,
        )  # fmt: skip

    def remove(self) -> None:
        """Remove the folder now; return when it is gone."""
        self._remover.communicate()
