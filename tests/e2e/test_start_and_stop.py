"""The process: its start, readiness, stop, where it listens, its answers to bad settings."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import termios
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.core.text.translations import languages
from bot.sandbox.world.errors import Fault
from bot.sandbox.world.world import TOKEN
from tests.support.free_ports import free_port
from tests.support.http_peers import http_response, open_scripted_server
from tests.support.product_process import (
    OURS,
    PATIENCE,
    ProductSetup,
    app_headers,
    create_application,
    patient_client,
    run_command,
    running_product,
    start_bot,
    started_bot,
    status,
    telegram_at,
    until,
)
from tests.support.sellers_and_payers import pay, seller, seller_with_destination
from tests.support.service_harness import DROP, NEW, REQUESTS_PATH, form_token
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


async def test_under_nohup_it_outlives_its_terminal(tmp_path: Path) -> None:
    async with started_bot(
        tmp_path, sys.executable, "-m", "bot", "service", program="nohup"
    ) as run:
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
    """A start in the wrong folder would serve an empty one in silence.

    Files that others may read are closed to them. SIGINT and SIGHUP stop it as SIGTERM does.
    """
    given = {"DATABASE_URL": "sqlite:///data/bot.db", "LOG_LEVEL": "warning"}
    place = f"database={tmp_path}/data/bot.db"
    async with start_bot(tmp_path, "service", **given) as run:
        assert place in await run.line("new empty database")
        await until(lambda: _serves(run.url))
        assert await run.stop(signal.SIGINT) == 0
    for name in ("bot.db", "bot.key"):  # as an earlier version left them
        (tmp_path / "data" / name).chmod(0o644)
    async with start_bot(tmp_path, "service", **given | {"LOG_LEVEL": "info"}) as run:
        assert place in await run.line("database opened")
        await run.ready()
        assert await run.stop(signal.SIGHUP) == 0
        assert not any("new empty" in line for line in run.err)
        closed = [line for line in run.err if "file was readable by other users" in line]
        assert len(closed) == 2


async def _serves(url: str) -> bool:
    return await status(f"{url}/livez") == 200


async def test_sigterm_ends_it_while_the_demos_page_and_polls_are_open(tmp_path: Path) -> None:
    """Nobody's open page holds up the stop; it ends with 0 and at once."""
    async with started_bot(tmp_path, "demo", "--no-browser") as run:
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
    """What can't finish is left for the next start: exit 0 within ten seconds, nothing lost.

    A second signal does not cut that short.
    """
    async with (
        silent() as (port, asked),
        running_product(tmp_path, WEBHOOK_ALLOW="127.0.0.1") as (stage, run),
    ):
        keys = await create_application(tmp_path)
        run.secrets |= {keys["APP_SECRET"], keys["WEBHOOK_SECRET"]}
        link = await _create(run.url, keys, f"http://127.0.0.1:{port}/hook")
        assert (await pay(link)).status_code == 303
        await asyncio.wait_for(asked.wait(), PATIENCE)
        sam = await seller_with_destination(stage.world)
        stage.world.faults.add(Fault("delay", "sendMessage", seconds=600))
        await sam.say("/help", "In one line")
        run.child.send_signal(signal.SIGTERM)
        await run.line("stopping")
        assert await asyncio.wait_for(run.stop(), SIGTERM_SECONDS) == 0
        left = run.rows("SELECT queue FROM outbox WHERE state IN ('leased', 'waiting')")
        assert sorted(left) == [("messages",), ("webhooks",)]


async def _create(url: str, keys: dict[str, str], webhook: str) -> str:
    body = NEW | {"notifications": {"webhook": {"webhookUrl": webhook}}}
    async with patient_client(url, app_headers(keys)) as http:
        answer = await http.post("/v3/paymentRequests", json=body)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["paymentRequestUrl"])


async def test_payers_are_served_while_telegram_is_unreachable_at_the_start(tmp_path: Path) -> None:
    """/readyz is degraded with the reason until Telegram is there, as when it fails later.

    A mail server that is away is named too, by the error's name: its address has a password in it.
    """
    keys, port = await create_application(tmp_path), free_port()
    given = {"BOT_TOKEN": TOKEN, "TELEGRAM_API_URL": f"http://127.0.0.1:{port}"}
    given |= {"SMTP_URL": "smtp://shop:geheim@127.0.0.1:1", "SMTP_FROM": "a@example.org"}
    async with start_bot(tmp_path, "run", unseen=["geheim"], **given) as run:
        await run.line("telegram not reached")
        checks = {"database": "ok", "workers": "ok", "mail": "MailRefused"}

        async def is_degraded() -> bool:
            told = (200, "degraded", checks | {"telegram": "NetworkError"})
            return await readiness(run.url) == told

        await until(is_degraded)
        link = await _create(run.url, keys, "https://shop.example/hook")
        assert (await pay(link)).status_code == 303
        async with telegram_at(port):
            await run.ready()
            told = checks | {"telegram": "ok"}
            assert await readiness(run.url) == (200, "degraded", told)
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
            assert await asyncio.wait_for(run.stop(), SIGTERM_SECONDS) == 0


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
        assert run.err[-1] == "BOT_TOKEN: Telegram rejects it: copy it again"


async def readiness(url: str) -> tuple[int, str, dict[str, str]]:
    """Return what /readyz says: code, status and checks."""
    async with patient_client() as http:
        answer = await http.get(f"{url}/readyz")
    told = answer.json()
    return answer.status_code, told["status"], told["checks"]


BAD_SETTINGS: list[tuple[str, dict[str, str], list[str]]] = [
    (
        "run",
        {"BOT_TOKEN": "nonsense", "PORT": "99999", "TELEGRAM_MODE": "pigeon"},
        ["BOT_TOKEN: a token looks like", "TELEGRAM_MODE: ", "PORT: "],
    ),
    (
        "service",
        {"DATABASE_URL": "sqlite:////proc/none/bot.db"},
        ["DATABASE_URL: sqlite:////proc/none/bot.db can't be used"],
    ),
    ("service", {"HOST": "no.such.host.invalid"}, ["HOST: no.such.host.invalid is not an add"]),
    ("doctor", {"DATABASE_URL": "mysql://x"}, ["DATABASE_URL: write sqlite:///"]),
]


async def test_bad_settings_end_with_2_and_one_line_each(tmp_path: Path) -> None:
    """Nothing else is written, and no secret with it."""
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = str(taken.getsockname()[1])
        reason = f"PORT: can't listen on 127.0.0.1:{port} (Address already in use)"
        told = f"{reason}: choose another port, such as PORT=8081"
        for command, given, problems in (*BAD_SETTINGS, ("service", {"PORT": port}, [told])):
            code, out, err = await run_command(tmp_path, command, **given)
            assert (code, out, len(err)) == (2, [], len(problems)), err
            for line, problem in zip(err, problems, strict=True):
                assert line.startswith(problem)


FILE = "PUBLIC_ULR=https://example.org\nEDITOR=vi\nBOT_TOKEN: 42:secret-of-a-test\n"
MISTAKES = {
    ".env": "line 3 can't be read: write NAME=value",
    "PUBLIC_ULR": "isn't a setting, so its line in .env does nothing: did you mean PUBLIC_URL?",
    "SMTP_URI": "isn't a setting, but a variable of the environment: did you mean SMTP_URL?",
}
OTHER = "isn't a setting: nothing reads it from .env"


async def test_a_start_and_doctor_warn_of_names_that_are_no_settings(tmp_path: Path) -> None:
    """A command that a misspelt setting fails names it too."""
    (tmp_path / ".env").write_text(FILE)
    secret, given = ["secret-of-a-test"], {"SMTP_URI": "smtp://mail"}
    async with started_bot(tmp_path, "service", unseen=secret, **given) as run:
        for name, advice in MISTAKES.items():
            line = await run.line(f"name={name}")
            assert ("[warning" in line, "unknown setting" in line, advice in line) == (True,) * 3
        line = await run.line("name=EDITOR")
        assert f'[info     ] unknown setting name=EDITOR reason="{OTHER}"' in line
        assert not any("dotenv" in line for line in run.err)
    code, out, err = await run_command(tmp_path, "doctor", **given)
    assert (code, err) == (1, [])
    found = [f"FIX  {name}: {advice}" for name, advice in MISTAKES.items()]
    assert out[:4] == [found[0], f"ok   EDITOR: {OTHER}", *found[1:]]
    wrong = given | {"SMTP_FROM": "shop@example.org"}
    code, out, err = await run_command(tmp_path, "apps", "list", **wrong)
    named = [f"{name}: {advice}" for name, advice in MISTAKES.items()]
    assert (code, out) == (2, [])
    assert err == ["SMTP_URL: SMTP_FROM needs the server that takes the emails", *named]


async def test_secrets_that_everybody_can_read_are_reported_with_the_command_that_mends_it(
    tmp_path: Path,
) -> None:
    """By a start and by doctor; the command works in every folder, whatever its name."""
    place = tmp_path / "our shop"
    place.mkdir()
    file = place / ".env"
    file.write_text("METRICS_TOKEN=secret-of-a-test\n")
    file.chmod(0o644)
    command = f"chmod 600 '{file}'"
    async with started_bot(place, "service", unseen=["secret-of-a-test"]) as run:
        line = await run.line("other users can read the secrets in a file")
        assert ("[warning" in line, command in line) == (True, True)
    _, out, _ = await run_command(place, "doctor")
    told = f"FIX  .env: other users of this machine can read the secrets in it: {command}"
    assert told in out
    mend = await asyncio.create_subprocess_shell(command)
    assert await mend.wait() == 0
    _, out, _ = await run_command(place, "doctor")
    assert not [line for line in out if ".env" in line]


async def test_it_listens_at_each_address_of_its_host_and_names_one_of_them(tmp_path: Path) -> None:
    """A caller over IPv4 is one to `/metrics` and to trusted proxies, whatever HOST is."""
    async with started_bot(tmp_path, "service", HOST="::", PUBLIC_URL="") as run:
        assert f"address=http://127.0.0.1:{run.port} " in await run.line("money=") + " "
        for address in ("127.0.0.1", "[::1]"):
            assert await status(f"http://{address}:{run.port}/metrics") == 200
        code, out, err = await run_command(tmp_path, "doctor", HOST="::", PORT=run.port)
        assert (code, err) == (1, [])
        assert f"ok   server: answers at http://127.0.0.1:{run.port}" in out
        # An upload under way does not disturb the stop: no traceback in the log.
        reader, writer = await asyncio.open_connection("127.0.0.1", int(run.port))
        head = "Host: a\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 99"
        writer.write(f"POST /pay/x HTTP/1.1\r\n{head}\r\nExpect: 100-continue\r\n\r\n".encode())
        assert await reader.readline() == b"HTTP/1.1 100 Continue\r\n"
        assert await run.stop() == 0
        assert b"HTTP/1.1 503 " in await reader.read()
        writer.close()


async def test_the_demo_works_over_ipv6_alone(tmp_path: Path) -> None:
    """A slash at the end is redirected for the chat's addresses too, beside the service's."""
    async with started_bot(tmp_path, "demo", "--no-browser", HOST="::1") as run:
        root = f"http://[::1]:{run.port}"
        assert await run.line("Chat with the bot:") == f"  Chat with the bot: {root}/chat"
        assert await status(f"{root}/chat") == 200
        async with patient_client(root) as http:
            for path in ("/images/7", "/chat"):
                answer = await http.get(f"{path}/")
                assert (answer.status_code, answer.headers["location"]) == (308, path)


async def test_the_settings_about_payers_reach_the_service(tmp_path: Path) -> None:
    """PAYER_HOLDS, REDIRECT_SCHEMES, and a PUBLIC_URL in capitals, which is https to cookies.

    A payer's browser is recognized after a restart: the key of its cookie is kept, sealed.
    """
    env = {"PAYER_HOLDS": "3", "REDIRECT_SCHEMES": "myapp, other", "PORT": free_port()}
    env["PUBLIC_URL"] = "HTTPS://Pay.Example.ORG/"
    keys = await create_application(tmp_path)
    drop = NEW | DROP | {"totalUnits": 9}
    async with started_bot(tmp_path, "service", **env) as run:
        async with patient_client(run.url, app_headers(keys)) as seller:
            for url, code in (("ms-msdt:/id", 400), ("myapp://paid", 200)):
                made = await seller.post(REQUESTS_PATH, json=drop | {"redirectUrl": url})
                assert made.status_code == code
        link = made.json()["paymentRequestUrl"]
        assert re.fullmatch(r"https://pay\.example\.org/pay/[0-9a-f]{24}", link)
        path = link.removeprefix("https://pay.example.org")
        async with patient_client(run.url) as browser:
            page = await browser.get(path)
            cookie, attributes = page.headers["set-cookie"].split(";", 1)
            assert attributes.endswith("; Secure")
            known = {"Cookie": cookie}
            form = {"token": form_token(page.text), "manner": "never"}
            first = await browser.post(path, data=form, headers=known)
        async with patient_client(run.url) as script:
            forms = [{"token": f"{n:032x}", "manner": "never"} for n in range(3)]
            posts = [await script.post(path, data=form) for form in forms]
        assert [post.status_code for post in posts] == [303, 303, 429]  # the browser's is one more
        assert await run.stop() == 0
    async with started_bot(tmp_path, "service", **env) as run:
        async with patient_client(run.url, known) as browser:
            page = await browser.get(path)
            form = {"token": form_token(page.text), "manner": "never"}
            second = await browser.post(path, data=form)
        assert second.headers["location"] == first.headers["location"]


async def test_a_refusal_at_the_start_is_reported_and_answers_do_not_wait_for_the_commands(
    stage: ProductSetup,
) -> None:
    """In Telegram's words; a call that sets the commands may hang."""
    words = "Bad Request: bad webhook: nobody is there"
    stage.world.faults.add(Fault("error", "deleteWebhook", code=400, description=words))
    stage.world.faults.add(Fault("delay", "setMyCommands", seconds=600))
    async with stage.run() as run:
        line = await run.line("telegram not reached")
        assert "bad webhook: nobody is there" in line.lower()
        await run.ready()
        async with asyncio.timeout(SIGTERM_SECONDS):
            await seller(stage.world).say("/help", "In one line")
        assert await asyncio.wait_for(run.stop(), SIGTERM_SECONDS) == 0


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
