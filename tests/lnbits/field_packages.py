"""Run with LNbits' Python: hold invoices and LNURL answers to the packages `bolt11` and `lnurl`.

Reads JSON from the standard input and writes JSON: what each package reads, or its error.
"""

from __future__ import annotations

import json
import random
import sys
from typing import Any

import bolt11
from bolt11.models.tags import TagChar, Tags
from lnurl import models

MODELS = {
    "offer": models.LnurlPayResponse,
    "invoice": models.LnurlPayActionResponse,
    "verify": models.LnurlPayVerifyResponse,
}


def read_invoice(text: str) -> dict[str, Any] | None:
    """Return the fields of an invoice as `bolt11` reads them; None if it refuses it."""
    try:
        found = bolt11.decode(text)
    except Exception:  # noqa: BLE001 - the package raises errors of every kind
        return None
    return {
        "network": found.currency,
        "amount": None if found.amount_msat is None else int(found.amount_msat),
        "created_at": found.date * 1000,
        "lapses_at": (found.date + (found.expiry or 3600)) * 1000,
        "payment_hash": found.payment_hash,
    }


def write_invoices(seed: int, count: int) -> list[str]:
    """Return signed invoices of every kind, drawn from a seed."""
    drawn = random.Random(seed)
    return [_write_invoice(drawn) for _ in range(count)]


def _write_invoice(drawn: random.Random) -> str:
    tags = Tags()
    tags.add(TagChar.payment_hash, drawn.randbytes(32).hex())
    tags.add(TagChar.payment_secret, drawn.randbytes(32).hex())
    if drawn.random() < 0.5:
        tags.add(TagChar.description, "".join(drawn.choices("abc äöü €ナ☕\n", k=30)))
    else:
        tags.add(TagChar.description_hash, drawn.randbytes(32).hex())
    if drawn.random() < 0.7:
        tags.add(TagChar.expire_time, drawn.choice([1, 31, 32, 600, 86_400, 2**28]))
    if drawn.random() < 0.5:
        tags.add(TagChar.min_final_cltv_expiry, drawn.randint(1, 500))
    amount = drawn.choice([None, 1, 10, 999, 21_000, 2_100_000_000_000_000_000])
    msat = None if amount is None else bolt11.MilliSatoshi(amount)
    network = drawn.choice(["bc", "tb", "tbs", "bcrt"])
    at = drawn.randint(1_600_000_000, 2**33)
    drafted = bolt11.Bolt11(network, at, tags, msat)
    return str(bolt11.encode(drafted, drawn.randbytes(32).hex()))


def problem_of(kind: str, answer: dict[str, Any]) -> str | None:
    """Return what `lnurl` finds wrong with an answer."""
    try:
        MODELS[kind](**answer)
    except Exception as error:  # noqa: BLE001 - likewise
        return repr(error)
    return None


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    written = write_invoices(asked["seed"], asked["count"])
    told = {
        "written": written,
        "read": [read_invoice(text) for text in [*written, *asked["invoices"]]],
        "problems": [problem_of(*one) for one in asked["answers"]],
    }
    json.dump(told, sys.stdout)
