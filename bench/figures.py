"""The figures: a function each, which gives its lines of the table."""

from __future__ import annotations

import asyncio
import io
import statistics
import time
from collections.abc import Callable, Sequence

import httpx
from qrcode import QRCode
from qrcode.constants import ERROR_CORRECT_M
from qrcode.image.pil import PilImage

from bench.engines import postgresql, replicas
from bench.giving import giving
from bench.growth import growth
from bench.lists import lists
from bench.neighbours import neighbours
from bench.pictures import pictures
from bench.processes import Server, bare, product
from bench.service import creates, page, payments
from bench.stage import stage, telegram
from bench.storm import storm
from bench.table import Row, percentile
from bench.updates import updates
from bench.webhooks import hooked, webhook, webhooks
from bot.core.images import qr

WARM_UP = 10
CREATES = 100
PAYMENTS = 300
PICTURES = 100
STARTS = 5
IDLE_SECONDS = 2.0
A_CALL = "one call of python-telegram-bot"
A_PROCESS = "bare FastAPI and uvicorn"


async def picture() -> list[Row]:
    """Measure from the seller's last word to the QR picture's arrival at the Bot API server."""
    async with stage() as at:
        ours = [(await at.create())[1] for _ in range(WARM_UP + CREATES)]
        calls = [await at.telegram.bare_call(at.bot, at.seller.id) for _ in ours]
    return _times("seller's last word → QR picture", ours, calls, ("", ""))


async def alert() -> list[Row]:
    """Measure from the pay form's answer to its alert's arrival at the Bot API server."""
    async with stage() as at, httpx.AsyncClient() as http:
        link, _ = await at.create()
        ours = [await at.pay(http, link) for _ in range(WARM_UP + PAYMENTS)]
        calls = [await at.telegram.bare_call(at.bot, at.seller.id) for _ in ours]
    return _times("payment committed → alert", ours, calls, ("≤ 15 ms", "≤ 50 ms"))


async def code() -> list[Row]:
    """Draw QR codes of pay links, each another one, beside the library that draws them too."""
    links = [f"https://pay.example.org/pay/{number:024x}" for number in range(PICTURES)]
    ours = statistics.median(_milliseconds(qr.png, link) for link in links)
    theirs = statistics.median(_milliseconds(_library_png, link) for link in links)
    return [Row("QR PNG", ours, "ms", theirs, "qrcode's own Pillow picture", "≤ 0.5 ×")]


async def start() -> list[Row]:
    """Start of the process to its first good answer; a new database each time."""
    async with telegram() as here:
        ours: list[float] = []
        theirs: list[float] = []
        for _ in range(STARTS):
            async with product(here.url, here.world.token) as server:
                ours.append(server.started)
            async with bare() as other:
                theirs.append(other.started)
    seconds = statistics.median(ours), statistics.median(theirs)
    return [Row("start to /readyz", seconds[0], "s", seconds[1], A_PROCESS, "≤ 1.5 s")]


async def memory() -> list[Row]:
    """Measure the resident memory of an idle process that has just started."""
    async with telegram() as here, product(here.url, here.world.token) as server, bare() as other:
        ours, theirs = await _idle(server), await _idle(other)
    return [Row("idle memory of run", ours, "MiB", theirs, A_PROCESS, "≤ 100 MiB")]


FIGURES = {
    figure.__name__: figure
    for figure in (
        creates,
        payments,
        hooked,
        giving,
        page,
        webhook,
        webhooks,
        lists,
        growth,
        picture,
        alert,
        updates,
        neighbours,
        storm,
        code,
        pictures,
        start,
        memory,
        postgresql,
        replicas,
    )
}


def _times(
    name: str, ours: Sequence[float], calls: Sequence[float], goals: tuple[str, str]
) -> list[Row]:
    """Return the lines of p50 and p99 of samples in seconds, without the first ones."""
    return [
        Row(
            f"{name}, p{percent}",
            percentile(ours[WARM_UP:], percent) * 1000,
            "ms",
            percentile(calls[WARM_UP:], percent) * 1000,
            A_CALL,
            goal,
        )
        for percent, goal in zip((50, 99), goals, strict=True)
    ]


def _milliseconds(draw: Callable[[str], bytes], text: str) -> float:
    began = time.perf_counter()
    draw(text)
    return (time.perf_counter() - began) * 1000


def _library_png(text: str) -> bytes:
    made: QRCode[PilImage] = QRCode(error_correction=ERROR_CORRECT_M, image_factory=PilImage)
    made.add_data(text)
    out = io.BytesIO()
    made.make_image().save(out)
    return out.getvalue()


async def _idle(server: Server) -> float:
    await asyncio.sleep(IDLE_SECONDS)
    return await server.memory()
