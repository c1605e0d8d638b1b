"""QR codes of pay links beside two libraries and the program that draw them too."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

from bench.peers import environments
from bench.peers.section import Comparison
from bench.table import Row
from bot.core.images import qr

ROUNDS = 5
WARM_UP = 5
LINKS = 40
"""Pictures of a round; the first ones are not counted."""

DRAW = Path(__file__).with_name("draw.py")
PEERS = {
    "segno": "segno",
    "qrcode": "qrcode, by Pillow",
    "qrencode": "qrencode, with the start of its process",
}


def codes() -> list[Comparison]:
    """Draw the same links at level M, as many pixels wide, in turns: milliseconds a picture."""
    links = [f"https://pay.example.org/pay/{number:024x}" for number in range(LINKS)]
    picture = qr.module_image(links[0]).width
    scale = -(-qr.MIN_PIXELS // picture)
    found: dict[str, list[float]] = {name: [] for name in ("ours", *PEERS)}
    for _ in range(ROUNDS):
        found["ours"] += [_milliseconds(partial(qr.png, link)) for link in links][WARM_UP:]
        found["qrencode"] += [_by_program(link, scale) for link in links][WARM_UP:]
        for library in ("segno", "qrcode"):
            found[library] += _by_library(library, links, scale)[WARM_UP:]
    name = f"QR PNG of {picture * scale} pixels a side"
    return [
        Comparison(Row(name, median(found["ours"]), "ms", median(found[peer]), label), more=False)
        for peer, label in PEERS.items()
    ]


def _by_library(library: str, links: list[str], scale: int) -> list[float]:
    command = [environments.libraries(), str(DRAW), library, str(scale), *links]
    told = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    times: list[float] = json.loads(told)
    return times


def _by_program(link: str, scale: int) -> float:
    command = ["qrencode", "--level=M", f"--size={scale}", "--margin=4", "--output=-", link]
    return _milliseconds(partial(subprocess.run, command, stdout=subprocess.PIPE, check=True))


def _milliseconds(draw: Callable[[], object]) -> float:
    began = time.perf_counter()
    draw()
    return (time.perf_counter() - began) * 1000
