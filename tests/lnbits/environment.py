"""A Python environment of its own for the real LNbits, which needs older packages than we do.

It is installed once for a lock file, beside pip's cache, and found again by every later run.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import gettempdir

import pytest

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
PYTHONS = (12, 11, 10)
"""The versions of Python 3 that LNbits runs on."""


def lnbits_python() -> str:
    """Return the Python that LNbits is installed for; install it first where that is missing.

    A failed installation fails the test, with the last words of pip.
    """
    version, base = _base_python()
    lock = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:16]
    folder = _cache() / f"lnbits-{lock}-{version}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not (folder / "installed").exists():
            _install(base, folder)
    return str(folder / "bin" / "python")


def _cache() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(root) / "payment-request-bot-tests"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(gettempdir()) / f"payment-request-bot-tests-{os.getuid()}"
    return folder


def _base_python() -> tuple[str, str]:
    """Return version and path of a Python that LNbits runs on, this one if it can be."""
    own = sys.version_info.minor
    for minor in sorted(PYTHONS, key=lambda one: one != own):
        name = f"python3.{minor}"
        if found := sys.executable if minor == own else shutil.which(name):
            return name, found
    pytest.skip("LNbits has no release for this Python, and there is no 3.10 to 3.12")


def _install(base: str, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    # Without --no-deps, pip refuses a dependency with an extra that has no hash of its own.
    install = [*pip, "install", "--no-deps", "--require-hashes", "-r", str(REQUIREMENTS)]
    for command in ([base, "-m", "venv", str(folder)], install):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-4_000:]
    (folder / "installed").touch()
