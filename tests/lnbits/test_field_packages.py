"""Our decoder and our stand-ins are held to `bolt11` and `lnurl`, which LNbits itself uses."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bot.core.errors import InvoiceError
from bot.service.rails import invoices
from tests.lnbits.environment import lnbits_python
from tests.support.lightning_wallet import ALPHABET

pytestmark = pytest.mark.timeout(600)

SCRIPT = Path(__file__).with_name("field_packages.py")
INVOICES = 200
SEED = 17


def ask_packages(**asked: Any) -> dict[str, Any]:
    """Run the packages in their own environment."""
    whole = {"seed": SEED, "count": 0, "invoices": [], "answers": [], **asked}
    done = subprocess.run(
        [lnbits_python(), str(SCRIPT)],
        input=json.dumps(whole), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def read(text: str) -> dict[str, Any] | None:
    """Return the fields of an invoice as we read them; None if we refuse it."""
    try:
        found = invoices.decode(text)
    except InvoiceError:
        return None
    names = ("network", "amount", "created_at", "lapses_at", "payment_hash")
    return {name: getattr(found, name) for name in names}


def test_signed_invoices_are_read_as_the_package_reads_them() -> None:
    found = ask_packages(count=INVOICES)
    assert len(found["written"]) == INVOICES
    assert [read(text) for text in found["written"]] == found["read"]
    assert [read(text.upper()) for text in found["written"]] == found["read"]


def test_damaged_invoices_are_refused_as_the_package_refuses_them() -> None:
    drawn = random.Random(SEED)
    damaged = [_damaged(drawn, text) for text in ask_packages(count=INVOICES)["written"]]
    assert ask_packages(invoices=damaged)["read"] == [None] * INVOICES
    assert [read(text) for text in damaged] == [None] * INVOICES


def _damaged(drawn: random.Random, text: str) -> str:
    at = drawn.randrange(4, len(text))
    other = ALPHABET.replace(text[at], "")
    return text[:at] + drawn.choice(other) + text[at + 1 :]
