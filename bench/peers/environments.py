"""The environments of the peers' packages, below data/, and the Debian package that is one."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

from bench.processes import ROOT
from tests.lnbits.environment import REQUIREMENTS, base_python
from tests.support.locked_environments import environment

FOLDER = ROOT / "data" / "peers"
LIBRARIES = Path(__file__).with_name("requirements.txt")
DEBIAN = {"qrencode": "qrencode"}
"""The Debian package of each program."""

VERSIONS = """
import sys
from importlib.metadata import version
print(", ".join(f"{name} {version(name)}" for name in sys.argv[1:]))
"""


@cache
def libraries() -> str:
    """Return the Python that has the libraries for QR codes and the bots."""
    return environment(LIBRARIES, FOLDER)


@cache
def lnbits() -> str:
    """Return the Python that has LNbits; end with a word where none can have it."""
    base = base_python()
    if base is None:
        raise SystemExit("LNbits needs Python 3.10, 3.11 or 3.12: install one of them")
    return environment(REQUIREMENTS, FOLDER, base)


def versions() -> str:
    """Return the names and versions of all peers."""
    found = [_output(lnbits(), "-c", VERSIONS, "lnbits")]
    names = ("segno", "qrcode", "aiogram")
    found.append(_output(libraries(), "-c", VERSIONS, *names))
    found.append(_output("qrencode", "--version").splitlines()[0].replace(" version", ""))
    return ", ".join(found)


def _output(*command: str) -> str:
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
    )
    return done.stdout.strip()
