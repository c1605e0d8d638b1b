"""`h2load` as a second load client, independent of wrk, over HTTP/1.1 as well."""

from __future__ import annotations

import asyncio
import re
import resource
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.table import percentile
from bench.wrk import Answers

RATE = re.compile(r"finished in [\d.]+s, ([\d.]+) req/s")
MICRO = 1_000_000


async def closed(url: str, clients: int, seconds: int, settings: Mapping[str, str]) -> Answers:
    """Get PATH_ASKED, or post BODY there, as `get.lua` and `post.lua` do.

    Raise RuntimeError for an answer that is neither 2xx nor 3xx, or none.
    """
    with TemporaryDirectory() as folder:
        log = Path(folder, "log")
        began = _children()
        process = await asyncio.create_subprocess_exec(
            "h2load", "--h1", "-t", "1", "-c", str(clients), "-D", str(seconds),
            f"--log-file={log}", *_said(settings, Path(folder, "body")),
            url + settings["PATH_ASKED"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        told, _ = await process.communicate()
        used = _children() - began
        answers = _logged(log)
    found = RATE.search(told.decode())
    if not found or not answers or any(status[0] not in "23" for status, _ in answers):
        raise RuntimeError(f"not every answer was good: {told.decode()}")
    waits = sorted(wait for _, wait in answers)
    late = waits[len(waits) * 999 // 1000]
    return Answers(
        float(found[1]), percentile(waits, 50), percentile(waits, 99), late, len(waits), used
    )


def _said(settings: Mapping[str, str], body: Path) -> list[str]:
    """Return the options of the headers and the body, which is written to a file."""
    options = []
    if "BODY" in settings:
        body.write_text(settings["BODY"])
        options = ["-d", str(body), "-H", "content-type: application/json"]
    for header, name in (("app-id", "APP_ID"), ("app-secret", "APP_SECRET")):
        if name in settings:
            options += ["-H", f"{header}: {settings[name]}"]
    return options


def _logged(log: Path) -> list[tuple[str, float]]:
    """Return status and seconds of each answer."""
    lines = (line.split() for line in log.read_text().splitlines()) if log.exists() else ()
    return [(status, int(wait) / MICRO) for _, status, wait in lines]


def _children() -> float:
    """Return the processor time of programs that were waited for: nothing else ends meanwhile."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
