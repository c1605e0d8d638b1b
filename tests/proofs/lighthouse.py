"""`lighthouse`: score the pages; none may have less than 100.

`make lighthouse` installs Lighthouse first. It needs Node 18.20 or newer and a Chromium.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import tempfile
from asyncio.subprocess import PIPE
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import structlog

from tests.proofs import proof
from tests.support.browser_payer import open_service_on_port
from tests.support.chromium import CHROMIUM, FLAGS
from tests.support.service_harness import ServiceHarness

COMMAND = Path(__file__).parent / "node" / "node_modules" / ".bin" / "lighthouse"
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
NOT_ASKED = ("is-crawlable", "robots-txt")
"""Audits that our pages mean to fail: they say noindex, and their policy lets Lighthouse read no
robots.txt from within the page."""

WHOLE = 100

TRIES = 3
"""The best score counts: a busy machine delays a page, but nothing makes a slow page quick."""

REQUEST: dict[str, Any] = {
    "product": {"name": "Sticker pack", "description": "Ten stickers, printed by hand."},
    "seller": {"name": "Anna's Prints", "contact": "@anna_prints", "accentColor": "purple"},
    "requestedUserData": ["email"],
    "expirationType": "limit",
    "totalUnits": 100,
}

GIVING: dict[str, Any] = {
    "product": {"name": "New drums for the band"},
    "receivers": [{"sendAmount": 5, "destination": "a"}],
    "amountChoice": {"minimum": 3, "suggested": [5, 10, 20, 50]},
    "goal": 1000,
    "thanks": "Thank you!",
    "delivery": {"text": "The rehearsal is on Friday at seven."},
}


async def pages(service: ServiceHarness) -> dict[str, str]:
    """Return the paths of the pages by what they show."""
    made = await service.create(**REQUEST)
    paid = await service.pay(made["id"], email="anna@example.org")
    giving = await service.create(**GIVING)
    given = await service.pay(giving["id"], amount="7.50", name="Mia", message="Play on!")
    return {
        "pay page": f"/pay/{made['id']}",
        "amount of one's choice": f"/pay/{giving['id']}",
        "receipt with a text": given.headers["location"],
        "receipt": paid.headers["location"],
        "front page": "/",
        "privacy": "/privacy",
    }


async def report(url: str) -> dict[str, Any]:
    """Return Lighthouse's report of a page. Raises RuntimeError if it made none."""
    command = [
        str(COMMAND), url, "--quiet", "--output=json", "--output-path=stdout",
        f"--skip-audits={','.join(NOT_ASKED)}",
        f"--chrome-flags=--headless=new {' '.join(FLAGS)}",
    ]  # fmt: skip
    environment = os.environ | {"CHROME_PATH": str(CHROMIUM)}
    child = await asyncio.create_subprocess_exec(
        *command, stdout=PIPE, stderr=PIPE, env=environment
    )
    out, errors = await child.communicate()
    if child.returncode:
        raise RuntimeError(errors.decode())
    found: dict[str, Any] = json.loads(out)
    return found


def scores(found: dict[str, Any]) -> list[int]:
    return [round(found["categories"][name]["score"] * 100) for name in CATEGORIES]


def failed(found: dict[str, Any]) -> Iterator[str]:
    """Yield the audits that cost a category its whole score."""
    below = [name for name, score in zip(CATEGORIES, scores(found), strict=True) if score < WHOLE]
    for name in below:
        for part in found["categories"][name]["auditRefs"]:
            audit = found["audits"][part["id"]]
            if part["weight"] and audit["score"] not in (None, 1):
                yield f"{name}: {audit['title']} {audit.get('displayValue', '')}".rstrip()


async def score(url: str) -> dict[str, Any]:
    """Return the best of some reports, the first one if it is perfect."""
    made = []
    for left in reversed(range(TRIES)):
        try:
            made.append(await report(url))
        except RuntimeError:  # a busy machine also loses a trace now and then
            if not left and not made:
                raise
            continue
        if not any(failed(made[-1])):
            break
    return max(made, key=scores)


async def prove(size: proof.Size) -> proof.Figures:
    """Score each page; all of them are to have the whole score."""
    del size
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    figures = proof.Figures()
    if not COMMAND.exists():
        figures.note("pages", "not tried: `make lighthouse` installs Lighthouse")
        return figures
    with tempfile.TemporaryDirectory() as folder:
        async with open_service_on_port(
            Path(folder), payer_rate=None, operator_contact="help@example.org"
        ) as service:
            figures.note("scores", ", ".join(CATEGORIES))
            for name, path in (await pages(service)).items():
                found = await score(f"{service.anyone.base_url}".rstrip("/") + path)
                figures.hold(name, scores(found), [WHOLE] * len(CATEGORIES))
                figures.broken += [f"{name}: {complaint}" for complaint in failed(found)]
    return figures
