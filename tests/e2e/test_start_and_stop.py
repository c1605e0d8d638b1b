"""The process: its start, readiness, stop, and its answers to bad settings."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import pty
import signal
import socket
import stat
import subprocess
import sys
import termios
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bot.core.text.translations import languages
from bot.sandbox.world.errors import Fault
from bot.sandbox.world.world import TOKEN
from tests.support.free_ports import free_port
from tests.support.http_messages import http_response
from tests.support.product_process import (
    OURS,
    PATIENCE,
    patient_client,
    rows,
    run_command,
    running_product,
    sandbox_telegram,
    start_bot,
    status,
    telegram_at,
    until,
)
from tests.support.scripted_server import open_scripted_server
from tests.support.sellers_and_payers import link_of, pay, seller, seller_with_destination
from tests.support.source_tree import ROOT

if TYPE_CHECKING:
    import httpx


SIGTERM_SECONDS = 10


@asynccontextmanager
async def silent() -> AsyncIterator[tuple[int, asyncio.Event]]:
    """Serve connections that never get an answer; the event reports the first."""
    asked, over = asyncio.Event(), asyncio.Event()

    async def hang(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await over.wait()
        writer.close()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], asked
    finally:
        over.set()
        server.close()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_it_is_ready_once_its_profile_is_set_and_stops_with_0(
    tmp_path: Path, how: signal.Signals
) -> None:
    async with running_product(tmp_path) as (stage, run):
        assert await status(f"{run.url}/livez") == 200
        async with patient_client() as http:
            ready = await http.get(f"{run.url}/readyz")
        checks = {"database": "ok", "telegram": "ok", "workers": "ok"}
        told = {"status": "ok", "checks": checks, "role": "all", "lead": True}
        assert (ready.status_code, ready.json()) == (200, told)
        await stage.world.wait_for(lambda: stage.world.calls_of("setMyShortDescription"), PATIENCE)
        assert await run.stop(how) == 0
        assert await status(f"{run.url}/livez") == 0


async def test_under_nohup_it_outlives_its_terminal(tmp_path: Path) -> None:
    async with start_bot(tmp_path, sys.executable, "-m", "bot", "service", program="nohup") as run:
        await run.ready()
        run.child.send_signal(signal.SIGHUP)
        for _ in range(3):  # a stop would begin with the first of them
            assert await status(f"{run.url}/livez") == 200
        assert not any("stopping" in line for line in run.err)
        assert await run.stop() == 0


async def test_a_closed_terminal_stops_it_in_order(tmp_path: Path) -> None:
    """The kernel sends SIGHUP, and nothing that it writes arrives any more."""
    port = free_port()
    settings = {
        "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PORT": port, "LOG_LEVEL": "error",
    }  # fmt: skip
    person, terminal = pty.openpty()
    child = await asyncio.create_subprocess_exec(
        *OURS, "demo", "--no-browser", cwd=tmp_path, env=settings, start_new_session=True,
        stdin=terminal, stdout=terminal, stderr=terminal, preexec_fn=_take_terminal,
    )  # fmt: skip
    os.close(terminal)
    await until(lambda: _serves(f"http://127.0.0.1:{port}"))
    os.close(person)
    async with asyncio.timeout(SIGTERM_SECONDS):
        await child.wait()
    assert child.returncode != -signal.SIGHUP
    left = sorted(path.name for path in (tmp_path / "data").iterdir())
    assert left == ["demo.db", "demo.key"]  # its last connection takes the -wal away


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


async def test_the_log_names_the_database_and_says_that_it_is_new(tmp_path: Path) -> None:
    """A start in the wrong folder would serve an empty one in silence."""
    given = {"DATABASE_URL": "sqlite:///data/bot.db", "LOG_LEVEL": "warning"}
    place = f"database={tmp_path}/data/bot.db"
    async with start_bot(tmp_path, "service", **given) as run:
        assert place in await run.line("new empty database")
        await until(lambda: _serves(run.url))
        assert await run.stop() == 0
    async with start_bot(tmp_path, "service", **given | {"LOG_LEVEL": "info"}) as run:
        assert place in await run.line("database opened")
        await run.ready()
        assert await run.stop() == 0
        assert not any("new empty" in line for line in run.err)


async def _serves(url: str) -> bool:
    return await status(f"{url}/livez") == 200


async def test_a_start_on_a_database_that_was_moved_ends_with_2(tmp_path: Path) -> None:
    """Its DATABASE_URL is the old one: the payments come to the server."""
    await asyncio.to_thread((tmp_path / "bot-moved-20261128T050000Z.db").touch)
    code, out, err = await run_command(tmp_path, "service")
    assert (code, out, len(err)) == (2, [], 1)
    assert err[0].startswith(f"DATABASE_URL: {tmp_path}/bot.db was moved to a PostgreSQL server")
    code, out, _ = await run_command(tmp_path, "doctor")
    assert (code, out[0]) == (1, f"FIX  database: {err[0]}")


async def test_sigterm_ends_it_while_the_demos_page_and_polls_are_open(tmp_path: Path) -> None:
    """Nobody's open page holds up the stop; it ends with 0 and at once."""
    async with start_bot(tmp_path, "demo", "--no-browser") as run:
        await run.ready()
        assert await run.line("Chat with the bot:") == f"  Chat with the bot: {run.url}/chat"
        async with patient_client(run.url) as http:
            await until(lambda: _presented(http))
            state = (await http.get("/chat/api/state", params={"user": 1001})).json()
            watching = asyncio.create_task(_watch(http, state["seq"]))
            await http.get("/livez")
            assert await asyncio.wait_for(run.stop(), SIGTERM_SECONDS) == 0
            assert await watching is True


async def _watch(http: httpx.AsyncClient, seq: int) -> bool:
    """Look on as the page does, to the end; whether that was said."""
    while True:
        news = (await http.get("/chat/api/events", params={"since": seq, "user": 1001})).json()
        if news.get("closed"):
            return True
        seq = news["seq"]


async def _presented(http: httpx.AsyncClient) -> bool:
    """Check that the bot has set its whole profile and polls for updates.

    Each such call ends a page's long poll, and a page that asks again at the stop gets no answer.
    """
    answer = await http.get("/chat/api/calls", params={"method": "setMyShortDescription"})
    return len(answer.json()["calls"]) == len(languages())


async def test_sigterm_ends_it_while_webhook_and_telegram_hang(tmp_path: Path) -> None:
    """What can't finish is left for the next start: exit 0 within ten seconds, nothing lost."""
    async with (
        silent() as (port, asked),
        running_product(tmp_path, WEBHOOK_ALLOW="127.0.0.1") as (stage, run),
    ):
        _, made, _ = await run_command(tmp_path, "apps", "create", "shop")
        keys = dict(line.split("=", 1) for line in made)
        run.secrets |= {keys["APP_SECRET"], keys["WEBHOOK_SECRET"]}
        link = await _create(run.url, keys, f"http://127.0.0.1:{port}/hook")
        assert (await pay(link)).status_code == 303
        await asyncio.wait_for(asked.wait(), PATIENCE)
        sam = await seller_with_destination(stage.world)
        stage.world.faults.add(Fault("delay", "sendMessage", seconds=600))
        await sam.say("/help", "In one line")
        assert await asyncio.wait_for(run.stop(), SIGTERM_SECONDS) == 0
        left = run.rows("SELECT queue FROM outbox WHERE state IN ('leased', 'waiting')")
        assert sorted(left) == [("messages",), ("webhooks",)]


async def _create(url: str, keys: dict[str, str], webhook: str) -> str:
    body = {
        "product": {"name": "Coffee"},
        "instrumentCurrencyCode": "USD",
        "receivers": [{"sendAmount": 5, "destination": "alice"}],
        "expirationType": "never",
        "notifications": {"webhook": {"webhookUrl": webhook, "customParameters": {}}},
    }
    headers = {"App-Id": keys["APP_ID"], "App-Secret": keys["APP_SECRET"]}
    async with patient_client() as http:
        answer = await http.post(f"{url}/v3/paymentRequests", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["paymentRequestUrl"])


async def test_a_second_signal_does_not_cut_the_stop_short(tmp_path: Path) -> None:
    async with running_product(tmp_path) as (stage, run):
        sam = await seller_with_destination(stage.world)
        stage.world.faults.add(Fault("delay", "sendMessage", seconds=600))
        await sam.say("/help", "In one line")
        run.child.send_signal(signal.SIGTERM)
        await run.line("stopping")
        assert await asyncio.wait_for(run.stop(), SIGTERM_SECONDS) == 0


async def test_sigterm_ends_it_while_telegram_is_not_reached(tmp_path: Path) -> None:
    async with (
        silent() as (port, asked),
        start_bot(
            tmp_path, "run", BOT_TOKEN=TOKEN, TELEGRAM_API_URL=f"http://127.0.0.1:{port}"
        ) as run,
    ):
        await asyncio.wait_for(asked.wait(), PATIENCE)
        assert await asyncio.wait_for(run.stop(), SIGTERM_SECONDS) == 0


async def test_payers_are_served_while_telegram_is_unreachable_at_the_start(tmp_path: Path) -> None:
    """/readyz is degraded with the reason until Telegram is there, as when it fails later."""
    _, made, _ = await run_command(tmp_path, "apps", "create", "shop")
    keys = dict(line.split("=", 1) for line in made)
    port = free_port()
    async with start_bot(
        tmp_path, "run", BOT_TOKEN=TOKEN, TELEGRAM_API_URL=f"http://127.0.0.1:{port}"
    ) as run:
        await run.line("telegram not reached")
        checks = {"database": "ok", "workers": "ok", "telegram": "NetworkError"}
        assert await readiness(run.url) == (200, "degraded", checks)
        link = await _create(run.url, keys, "https://shop.example/hook")
        assert (await pay(link)).status_code == 303
        async with telegram_at(port):
            await run.ready()
            assert await readiness(run.url) == (200, "ok", checks | {"telegram": "ok"})
            assert await run.stop() == 0


async def test_payers_are_served_while_telegram_hangs_at_the_start(tmp_path: Path) -> None:
    """Its first answer is awaited for seconds only: it may be that the token is wrong."""
    async with silent() as (port, asked):
        telegram = f"http://127.0.0.1:{port}"
        async with start_bot(tmp_path, "run", BOT_TOKEN=TOKEN, TELEGRAM_API_URL=telegram) as run:
            await asyncio.wait_for(asked.wait(), PATIENCE)
            checks = {"database": "ok", "workers": "ok", "telegram": "not reached yet"}

            async def serves() -> bool:
                return await readiness(run.url) == (200, "degraded", checks)

            await until(serves)
            assert await run.stop() == 0


async def test_a_start_with_a_token_that_telegram_refuses_was_never_ready(tmp_path: Path) -> None:
    """/readyz is 503 until Telegram has answered, so a deployment keeps the former process."""
    readyz_was_asked = asyncio.Event()
    refusal = {"ok": False, "error_code": 401, "description": "Unauthorized"}

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await readyz_was_asked.wait()
        writer.write(http_response(401, refusal))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    telegram = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with (
        server,
        start_bot(tmp_path, "run", BOT_TOKEN=TOKEN, TELEGRAM_API_URL=telegram) as run,
    ):
        await until(lambda: _serves(run.url))
        checks = {"database": "ok", "workers": "ok", "telegram": "not reached yet"}
        assert await readiness(run.url) == (503, "not ready", checks)
        readyz_was_asked.set()
        assert await run.end() == 2


async def readiness(url: str) -> tuple[int, str, dict[str, str]]:
    """Return what /readyz says: code, status and checks."""
    async with patient_client() as http:
        answer = await http.get(f"{url}/readyz")
    told = answer.json()
    return answer.status_code, told["status"], told["checks"]


@pytest.mark.parametrize(
    ("command", "given", "problems"),
    [
        (("run",), {}, ["BOT_TOKEN: is needed to run: get one from BotFather on Telegram"]),
        (
            ("run",),
            {"BOT_TOKEN": "nonsense", "PORT": "99999", "TELEGRAM_MODE": "pigeon"},
            ["BOT_TOKEN: a token looks like", "TELEGRAM_MODE: ", "PORT: "],
        ),
        (
            ("service",),
            {"DATABASE_URL": "sqlite:////proc/none/bot.db"},
            ["DATABASE_URL: sqlite:////proc/none/bot.db can't be used"],
        ),
        (
            ("service",),
            {"HOST": "no.such.host.invalid"},
            ["HOST: no.such.host.invalid is not an add"],
        ),
        (("service",), {"PUBLIC_URL": "http://a b"}, ["PUBLIC_URL: write a complete address"]),
        (("apps", "list"), {"LOG_LEVEL": "loud"}, ["LOG_LEVEL: "]),
        (("doctor",), {"DATABASE_URL": "mysql://x"}, ["DATABASE_URL: write sqlite:///"]),
    ],
    ids=str,
)
async def test_bad_settings_end_with_2_and_one_line_each(
    tmp_path: Path, command: tuple[str, ...], given: dict[str, str], problems: list[str]
) -> None:
    """Nothing else is written, and no secret with it."""
    code, out, err = await run_command(tmp_path, *command, **given)
    assert (code, out, len(err)) == (2, [], len(problems)), err
    for line, problem in zip(err, problems, strict=True):
        assert line.startswith(problem)


async def test_a_taken_port_ends_it_with_2_and_a_fix(tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = str(taken.getsockname()[1])
        code, out, err = await run_command(tmp_path, "run", BOT_TOKEN=TOKEN, PORT=port)
    assert (code, out, len(err)) == (2, [], 1), err
    assert err[0].startswith(f"PORT: can't listen on 127.0.0.1:{port} (")


async def test_a_token_that_telegram_refuses_ends_with_2(tmp_path: Path) -> None:
    async with sandbox_telegram(tmp_path) as stage:
        code, _, err = await run_command(
            tmp_path, "run", **{**stage.settings, "BOT_TOKEN": "43:not-the-one-of-the-sandbox"}
        )
    assert code == 2
    assert err[-1] == "BOT_TOKEN: Telegram rejects it: copy it again"


async def test_a_key_that_does_not_fit_the_database_ends_with_2(tmp_path: Path) -> None:
    async with running_product(tmp_path, SECRET_KEY="the first of two keys") as (stage, run):
        assert await run.stop() == 0
        code, _, err = await run_command(
            tmp_path, "run", **stage.settings, SECRET_KEY="the second of two keys"
        )
    assert (code, len(err)) == (2, 1), err
    assert err[0].startswith("SECRET_KEY: the secrets in the database were sealed with another")


async def test_json_logs_are_one_object_a_line(tmp_path: Path) -> None:
    """Foreseen trouble included: refusals of Telegram and of the form are lines as well."""
    async with running_product(tmp_path, LOG_FORMAT="json") as (stage, run):
        sam = await seller_with_destination(stage.world)
        card = await sam.card("/donation 5 USD Coffee", "Coffee")
        stage.world.faults.add(Fault("error", "sendMessage", code=502))
        await sam.alert(pay(link_of(card)))
        assert await run.stop() == 0
        entries: list[dict[str, Any]] = [json.loads(line) for line in run.err]
    assert {"event", "level", "timestamp"} <= set.intersection(*map(set, entries))
    events = {entry["event"] for entry in entries}
    assert {"ready", "telegram call failed", "payment received", "stopped"} <= events
    assert [it["money"] for it in entries if it["event"] == "ready"] == ["sandbox"]


async def test_the_key_and_the_database_are_for_their_owner_only(tmp_path: Path) -> None:
    """Also those that an earlier version left open to others, which the log then says."""
    names = {"bot.db", "bot.db-shm", "bot.db-wal", "bot.key"}
    async with running_product(tmp_path) as (_, run):
        assert modes(tmp_path) == dict.fromkeys(names, 0o600)
        await run.kill()
    for name in ("bot.db", "bot.key"):
        (tmp_path / name).chmod(0o644)
    async with running_product(tmp_path) as (_, run):
        assert modes(tmp_path) == dict.fromkeys(names, 0o600)
        assert rows(run.database, "SELECT COUNT(*) FROM apps") == [(1,)]
        closed = [line for line in run.err if "file was readable by other users" in line]
        assert len(closed) == 2


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


async def test_answers_do_not_wait_until_the_commands_are_set(tmp_path: Path) -> None:
    async with sandbox_telegram(tmp_path) as stage:
        stage.world.faults.add(Fault("delay", "setMyCommands", seconds=600))
        async with stage.run() as run:
            await run.ready()
            async with asyncio.timeout(SIGTERM_SECONDS):
                await seller(stage.world).say("/help", "In one line")
            assert await asyncio.wait_for(run.stop(), SIGTERM_SECONDS) == 0


async def test_a_refusal_at_the_start_is_reported_in_telegrams_words(tmp_path: Path) -> None:
    async with sandbox_telegram(tmp_path) as stage:
        words = "Bad Request: bad webhook: nobody is there"
        stage.world.faults.add(Fault("error", "deleteWebhook", code=400, description=words))
        async with stage.run() as run:
            assert (
                "bad webhook: nobody is there" in (await run.line("telegram not reached")).lower()
            )
            await run.ready()
            assert await run.stop() == 0


async def test_a_bot_api_server_may_omit_fields_of_the_bot(tmp_path: Path) -> None:
    """An answer that says nothing is waited out; a bot without a username is one all the same."""
    me = {"id": 42, "is_bot": True, "first_name": "Payments"}
    results: list[Any] = [[], me, True]
    answers = [http_response(200, {"ok": True, "result": result}) for result in results]
    async with (
        open_scripted_server(*answers) as peer,
        start_bot(tmp_path, "run", BOT_TOKEN=TOKEN, TELEGRAM_API_URL=peer.url) as run,
    ):
        await run.line("getMe's answer can't be read")
        await run.ready()
        assert await run.stop() == 0


def test_it_raises_its_limit_of_open_files() -> None:
    """Each payer's connection is one; what is granted already is never taken back."""
    look = (
        "import resource as r\n"
        "from bot.app.web_server import MOST_FILES, raise_file_limit\n"
        "hard = r.getrlimit(r.RLIMIT_NOFILE)[1]\n"
        "r.setrlimit(r.RLIMIT_NOFILE, (256, hard))\n"
        "raise_file_limit()\n"
        "now = r.getrlimit(r.RLIMIT_NOFILE)\n"
        "assert now == (min(MOST_FILES, hard) if hard > 0 else MOST_FILES, hard), now\n"
        "raise_file_limit()\n"
        "assert r.getrlimit(r.RLIMIT_NOFILE) == now\n"
    )
    subprocess.run([sys.executable, "-c", look], cwd=ROOT, check=True)


def test_garbage_collection_is_on_after_the_imports() -> None:
    """And what was imported is out of its sight, else the next look would stand still for it."""
    look = "import gc, bot.__main__\nprint(gc.isenabled(), gc.get_freeze_count() > 50_000)"
    told = subprocess.run([sys.executable, "-c", look], cwd=ROOT, check=True, capture_output=True)
    assert told.stdout.split() == [b"True", b"True"]


HEAP = 64 * 1024 * 1024
"""What glibc reserves for the heap of a thread, at a multiple of it."""


def heaps_of_threads(pid: int) -> int:
    """Count the heaps beside the process's own: a used part, and behind it the reserved rest."""
    maps = Path(f"/proc/{pid}/maps").read_text("utf-8")
    ends: dict[int, int] = {}
    found = 0
    for line in maps.splitlines():
        first, mode, *_, inode = line.split()[:5]
        begin, end = (int(one, 16) for one in first.split("-"))
        if inode == "0" and mode == "rw-p" and begin % HEAP == 0:
            ends[end] = begin
        elif mode == "---p" and begin in ends:
            found += end == ends[begin] + HEAP
    return found


async def test_all_threads_share_one_heap(tmp_path: Path) -> None:
    """Each would keep the most that its thread ever needed: 55 MiB after six minutes of floods."""
    async with running_product(tmp_path) as (stage, run):
        sam = await seller_with_destination(stage.world)
        await sam.alert(pay(link_of(await sam.card("/donation 5 USD Coffee", "Coffee"))))
        assert heaps_of_threads(run.child.pid) == 0
