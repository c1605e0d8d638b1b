"""`python -m bench.path`: which modules one update and one payment pass through.

The demo runs in this process under a profiler hook, and is used through its pages alone. A stay is
a call that enters a module of `bot` from another one, or from outside. `sandbox` and the
composition root are left out, since Telegram's side is served by the same web server here, and so
is the clock. Of several rounds the shortest counts, since work in the background adds to the
others. At the end stands every module passed, so that two checkouts can be compared.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import runpy
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import httpx

from bench.processes import ROOT, free_port
from bench.table import aligned

ROUNDS = 9
QUIET_SECONDS = 1.2
"""From an event until all that follows from it is done; also Telegram's pace for a chat."""

PATIENCE_SECONDS = 30.0
GRACE_SECONDS = 0.5
"""The time that a failing demo has to end by itself."""

SELLER = 1001
PACKAGE = f"{ROOT}/bot/"
LEFT_OUT = tuple(f"{PACKAGE}{name}" for name in ("sandbox/", "app/", "core/clock.py"))

EVENTS = {
    "/help": "an update that is answered (/help)",
    "/donation": "an update that makes a request (/donation)",
    "payment": "a payment (form posted to alert sent)",
}
PAY_LINK = re.compile(r"http\S+/pay/\w+")
TOKEN = re.compile(r'name="token" value="([^"]+)"')


class DemoError(Exception):
    """The demo did not do what was expected of it."""


class Recorder:
    """Records the modules that are entered while `on`, from every thread."""

    def __init__(self) -> None:
        self.on = False
        self.stays: list[str] = []
        self._modules: dict[CodeType, str | None] = {}
        self._entered: set[FrameType] = set()

    def hook(self, frame: FrameType, event: str, _: object) -> None:
        """Note a call that enters a module; a coroutine that goes on does not enter again."""
        if event != "call" or not self.on:
            return
        module = self._module(frame.f_code)
        if module is None or frame in self._entered:
            return
        self._entered.add(frame)
        caller = frame.f_back
        while caller is not None and (before := self._module(caller.f_code)) is None:
            caller = caller.f_back
        if caller is None or before != module:
            self.stays.append(module)

    def take(self) -> list[str]:
        """Return the stays since the last time, and forget them."""
        self.on = False
        stays, self.stays = self.stays, []
        self._entered.clear()
        return stays

    def _module(self, code: CodeType) -> str | None:
        if code not in self._modules:
            name = code.co_filename
            ours = name.startswith(PACKAGE) and not name.startswith(LEFT_OUT)
            self._modules[code] = name[len(PACKAGE) : -3].replace("/", ".") if ours else None
        return self._modules[code]


class Driver:
    """Uses the demo as its chat page and a payer do, until it has `ended`."""

    def __init__(self, port: int, path: Recorder, ended: threading.Event) -> None:
        self._url = f"http://127.0.0.1:{port}"
        self._http = httpx.Client(base_url=self._url, timeout=PATIENCE_SECONDS)
        self._path = path
        self._ended = ended

    def play(self) -> dict[str, list[str]]:
        """Return the stays of each of `EVENTS`."""
        self._until(self._is_ready, f"{self._url}/readyz reported no success")
        self._act("start")
        self._say("/donation 5 USD Coffee", "Where should the money go")
        card = self._say("$anna", "/pay/")
        link = self._http.get(PAY_LINK.findall(str(card))[0]).url
        return {
            "/help": self._measure(lambda: self._say("/help", "")),
            "/donation": self._measure(lambda: self._say("/donation 5 USD Coffee", "/pay/")),
            "payment": self._measure(lambda: self._pay(str(link))),
        }

    def _is_ready(self) -> bool:
        try:
            return self._http.get("/readyz").is_success
        except httpx.TransportError:
            return False

    def _measure(self, act: Callable[[], object]) -> list[str]:
        rounds = []
        for _ in range(ROUNDS):
            act()
            rounds.append(self._path.take())
        return min(rounds, key=len)

    def _pay(self, link: str) -> None:
        before = self._messages()
        form = {"token": TOKEN.findall(self._http.get(link).text)[0]}
        self._path.on = True
        answer = self._http.post(link, data=form)
        if answer.status_code != httpx.codes.SEE_OTHER:
            raise DemoError(f"the pay page answered the form with {answer.status_code}")
        self._next(before, "received")

    def _say(self, text: str, words: str) -> dict[str, Any]:
        before = self._messages()
        self._path.on = True
        self._act("send", text=text)
        return self._next(before, words)

    def _next(self, before: int, words: str) -> dict[str, Any]:
        """Return the message with these words that came after the first `before` messages.

        Others may follow it: a first card is followed by a question about the seller's profile.
        """
        found: list[dict[str, Any]] = []
        time.sleep(QUIET_SECONDS)
        self._path.on = False

        def came() -> bool:
            new = (each for each in self._chat()[before:] if not each["out"])
            found[:] = [each for each in new if words in str(each)]
            return bool(found)

        self._until(came, f"no message with {words!r} came in the chat")
        return found[-1]

    def _messages(self) -> int:
        return len(self._chat())

    def _chat(self) -> list[dict[str, Any]]:
        state = self._http.get("/chat/api/state", params={"user": SELLER}).json()
        return list(state["chats"][0]["messages"]) if state["chats"] else []

    def _act(self, name: str, **fields: object) -> None:
        self._http.post(f"/chat/api/{name}", json={"user_id": SELLER, **fields}).raise_for_status()

    def _until(self, check: Callable[[], bool], otherwise: str) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while not check():
            if self._ended.is_set():
                raise DemoError("the demo ended before everything was measured")
            if time.monotonic() > end:
                raise DemoError(f"{otherwise} in {PATIENCE_SECONDS:.0f} seconds")
            time.sleep(0.02)


def table(found: dict[str, list[str]]) -> str:
    """Write modules and stays of each event, then every module with its stays in each of them."""
    counts = {event: Counter(stays) for event, stays in found.items()}
    lines = [
        f"{EVENTS[event]}: {len(modules)} modules, {modules.total()} stays"
        for event, modules in counts.items()
    ]
    passed = sorted(set().union(*counts.values()))
    rows = [(name, *(str(modules[name] or "") for modules in counts.values())) for name in passed]
    listed = aligned([("stays in", *counts), *rows])
    return "\n".join([*lines, "", listed, "", f"{len(passed)} modules passed"])


def main() -> None:
    """Run the demo here, use it from a thread, print the table."""
    argparse.ArgumentParser(prog="python -m bench.path", description=__doc__).parse_args()
    port, path, ended = free_port(), Recorder(), threading.Event()
    found: dict[str, list[str]] = {}

    def drive() -> None:
        try:
            found.update(Driver(port, path, ended).play())
        except (DemoError, httpx.HTTPError) as error:
            print(f"bench.path: {error}", file=sys.stderr)
        finally:
            if not ended.wait(GRACE_SECONDS):
                os.kill(os.getpid(), signal.SIGTERM)

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        # Neither the environment nor a file `.env` changes what is measured.
        os.environ.clear()
        os.environ |= {"PORT": str(port), "DATABASE_URL": f"sqlite:///{folder}/bot.db"}
        os.environ |= {"LOG_LEVEL": "error"}
        driver = threading.Thread(target=drive)
        driver.start()
        threading.setprofile(path.hook)
        sys.setprofile(path.hook)
        sys.argv = ["bot", "demo", "--no-browser"]
        try:
            runpy.run_module("bot", run_name="__main__")
        except SystemExit as ending:
            if ending.code:
                print(f"bench.path: the demo ended with {ending.code}", file=sys.stderr)
        finally:
            sys.setprofile(None)
            ended.set()
            driver.join()
    if not found:
        sys.exit(1)
    print(table(found))


if __name__ == "__main__":
    main()
