"""A Python environment of its own for the real LNbits, which needs older packages than we do."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.support.locked_environments import cache_folder, environment

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
PYTHONS = (12, 11, 10)
"""The versions of Python 3 that LNbits runs on."""


def lnbits_python() -> str:
    """Return the Python that LNbits is installed for, beside pip's cache."""
    base = base_python()
    if base is None:
        pytest.skip("LNbits has no release for this Python, and there is no 3.10 to 3.12")
    return environment(REQUIREMENTS, cache_folder(), base)


def base_python() -> str | None:
    """Return the path of a Python that LNbits runs on, this one if it can be; None without one."""
    own = sys.version_info.minor
    for minor in sorted(PYTHONS, key=lambda one: one != own):
        if found := sys.executable if minor == own else shutil.which(f"python3.{minor}"):
            return found
    return None
