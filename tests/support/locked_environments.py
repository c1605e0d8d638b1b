"""Environments beside our own, each for packages that ours must not have.

Each is installed once for a lock file, and found again by every later run.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import gettempdir


def environment(requirements: Path, folder: Path, python: str = sys.executable) -> str:
    """Return the Python of an environment below `folder` that has the locked packages.

    Raise RuntimeError with the last words of pip where that fails.
    """
    own = f"python3.{sys.version_info.minor}"
    version = own if python == sys.executable else Path(python).name

    def install(place: Path) -> None:
        pip = [str(place / "bin" / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
        _run([python, "-m", "venv", str(place)])
        # Without --no-deps, pip refuses a dependency with an extra that has no hash of its own.
        _run([*pip, "install", "--no-deps", "--require-hashes", "-r", str(requirements)])

    return str(_installed(requirements, folder, version, install) / "bin" / "python")


def node_modules(lock: Path, folder: Path, tools: Path) -> Path:
    """Return a folder below `folder` with the npm packages of a package-lock.json.

    `tools` has node and npm. Raise RuntimeError with the last words of npm where that fails.
    """

    def install(place: Path) -> None:
        place.mkdir()
        for name in ("package.json", lock.name, ".npmrc"):
            shutil.copy(lock.with_name(name), place)
        npm = [str(tools / "npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        _run(npm, cwd=place, env=os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"})

    return _installed(lock, folder, "npm", install) / "node_modules"


def cache_folder() -> Path:
    """Return the folder of environments, beside pip's cache."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(root) / "payment-request-bot-tests"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(gettempdir()) / f"payment-request-bot-tests-{os.getuid()}"
    return folder


def _installed(lock: Path, folder: Path, kind: str, install: Callable[[Path], None]) -> Path:
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()[:16]
    place = folder / f"{lock.parent.name}-{digest}-{kind}"
    folder.mkdir(parents=True, exist_ok=True)
    with place.with_name(f"{place.name}.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not (place / "installed").exists():
            shutil.rmtree(place, ignore_errors=True)
            install(place)
            (place / "installed").touch()
    return place


def _run(command: list[str], cwd: Path | None = None, env: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-4_000:])
