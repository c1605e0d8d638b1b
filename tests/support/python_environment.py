"""Python environments beside our own, each for packages that ours must not have."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path


def environment(requirements: Path, folder: Path, python: str = sys.executable) -> str:
    """Return the Python of an environment below `folder` that has the locked packages.

    It is installed once for a lock file, and found again by every later run. Raise RuntimeError
    with the last words of pip where that fails.
    """
    lock = hashlib.sha256(requirements.read_bytes()).hexdigest()[:16]
    own = f"python3.{sys.version_info.minor}"
    version = own if python == sys.executable else Path(python).name
    place = folder / f"{requirements.parent.name}-{lock}-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    with place.with_name(f"{place.name}.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not (place / "installed").exists():
            _install(requirements, python, place)
    return str(place / "bin" / "python")


def _install(requirements: Path, python: str, place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
    pip = [str(place / "bin" / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    # Without --no-deps, pip refuses a dependency with an extra that has no hash of its own.
    install = [*pip, "install", "--no-deps", "--require-hashes", "-r", str(requirements)]
    for command in ([python, "-m", "venv", str(place)], install):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr[-4_000:])
    (place / "installed").touch()
