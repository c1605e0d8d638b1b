"""`python -m bench.path`: which modules one update and one payment pass through.

The demo runs in this process under a profiler hook, and is used through its pages alone. A stay is
a call that enters a module of `bot` from another one, or from outside. `sandbox` and `wiring` are
left out, since Telegram's side is served by the same web server here, and so is the clock. Of
several rounds the shortest counts, since work in the background adds to the others.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import runpy
import signal
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import httpx

from bench.processes import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

ROUNDS = 9
QUIET_SECONDS = 1.2
"""From an event until all that follows from it is done; also Telegram's pace for a chat."""

PATIENCE_SECONDS = 30.0
SELLER = 1001
PACKAGE = f"{ROOT}/bot/"
LEFT_OUT = (f"{PACKAGE}sandbox/", f"{PACKAGE}wiring/", f"{PACKAGE}core/clock.py")
PAY_LINK = re.compile(r"http\S+/pay/\w+")
TOKEN = re.compile(r'name="token" value="([^"]+)"')


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
    """Uses the demo as its chat page and a payer do."""

    def __init__(self, port: int, path: Recorder) -> None:
        self._http = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_SECONDS)
        self._path = path

    def play(self) -> dict[str, list[str]]:
        """Return the stays of each kind of event."""
        self._until(lambda: self._http.get("/readyz").is_success)
        self._act("start")
        self._say("/donation 5 USD Coffee", "Where should the money go")
        card = self._say("$anna", "/pay/")
        link = self._http.get(PAY_LINK.findall(str(card))[0]).url
        return {
            "an update that is answered (/help)": self._measure(lambda: self._say("/help", "")),
            "an update that makes a request (/donation)": self._measure(
                lambda: self._say("/donation 5 USD Coffee", "/pay/")
            ),
            "a payment (form posted to alert sent)": self._measure(lambda: self._pay(str(link))),
        }

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
        assert self._http.post(link, data=form).status_code == httpx.codes.SEE_OTHER
        self._next(before, "received")

    def _say(self, text: str, words: str) -> dict[str, Any]:
        before = self._messages()
        self._path.on = True
        self._act("send", text=text)
        return self._next(before, words)

    def _next(self, before: int, words: str) -> dict[str, Any]:
        found: list[dict[str, Any]] = []
        time.sleep(QUIET_SECONDS)
        self._path.on = False

        def came() -> bool:
            found[:] = [each for each in self._chat()[before:] if not each["out"]]
            return bool(found) and words in str(found[-1])

        self._until(came)
        return found[-1]

    def _messages(self) -> int:
        return len(self._chat())

    def _chat(self) -> list[dict[str, Any]]:
        state = self._http.get("/chat/api/state", params={"user": SELLER}).json()
        return list(state["chats"][0]["messages"]) if state["chats"] else []

    def _act(self, name: str, **fields: object) -> None:
        self._http.post(f"/chat/api/{name}", json={"user_id": SELLER, **fields}).raise_for_status()

    def _until(self, check: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                if check():
                    return
            except httpx.TransportError:
                pass
            assert time.monotonic() < end, "the demo does not answer"
            time.sleep(0.02)


def table(found: dict[str, list[str]], *, names: bool) -> str:
    """Write modules and stays of each event, with every module's stays where `names` is set."""
    lines = []
    for event, stays in found.items():
        modules = Counter(stays)
        lines.append(f"{event}: {len(modules)} modules, {len(stays)} stays")
        if names:
            lines += [f"    {number:3} {name}" for name, number in modules.most_common()]
    return "\n".join(lines)


def main() -> None:
    """Run the demo here, use it from a thread, print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.path", description=__doc__)
    parser.add_argument("--names", action="store_true", help="name the modules, with their stays")
    names = parser.parse_args().names
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    path, found = Recorder(), {}

    def drive() -> None:
        try:
            found.update(Driver(port, path).play())
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"PORT": str(port), "DATABASE_URL": f"sqlite:///{folder}/bot.db"}
        os.environ |= {"LOG_LEVEL": "error"}
        driver = threading.Thread(target=drive)
        driver.start()
        threading.setprofile(path.hook)
        sys.setprofile(path.hook)
        sys.argv = ["bot", "demo", "--no-browser"]
        with contextlib.suppress(SystemExit):
            runpy.run_module("bot", run_name="__main__")
        sys.setprofile(None)
        driver.join()
    print(table(found, names=names))
    sys.exit(0 if found else 1)


if __name__ == "__main__":
    main()
