"""The operator's view: a log without secrets, /livez, /readyz, /metrics."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
import structlog
from fastapi import FastAPI
from structlog.testing import capture_logs

from bot.app.web_server import WebServer, listen
from bot.core.database import database, sqlite_writer
from bot.core.database.database import Database
from bot.core.errors import StorageError
from bot.core.ops import log_setup, readiness
from bot.core.ops.log_setup import HIDDEN, configure_logging
from bot.core.ops.readiness import EndCancelled, Ops, storage_unavailable
from tests.support.databases import SQLITE, make_read_only, make_writable, sqlite
from tests.support.machine_faults import locked
from tests.support.raw_http import get, open_web_server
from tests.support.service_harness import Clock, client

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send


SECRETS = ["correct-horse", 'quote"and\\slash', "schlüssel", "42:short"]
SHAPES = ["123456789:AAHabcdefghijklmnopqrstuvwxyz_-012", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    kept, level = [*root.handlers], root.level
    levels = {
        name: logging.getLogger(name).level for name in (*log_setup.QUIET, "telegram.request")
    }
    yield
    root.handlers[:] = kept
    root.setLevel(level)
    for name, was in levels.items():
        logging.getLogger(name).setLevel(was)
    structlog.reset_defaults()


def fail(secret: str) -> None:
    raise LookupError(f"no way to https://api.test/bot{secret}/getMe")


def say(way: str, secret: str) -> None:
    """Log a secret in some way."""
    log, foreign = structlog.get_logger("ours"), logging.getLogger("foreign.library")
    match way:
        case "event":
            event = f"about {secret} here"
            log.warning(event)
        case "value":
            log.warning("about", value=secret, nested={"key": [secret]})
        case "traceback":
            try:
                fail(secret)
            except LookupError:
                log.exception("failed")
        case "foreign":
            foreign.warning("HTTP Request: POST https://api.test/bot%s/getMe", secret)
        case "foreign traceback":
            try:
                fail(secret)
            except LookupError:
                foreign.exception("failed")


WAYS = ("event", "value", "traceback", "foreign", "foreign traceback")


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_secret_is_logged_in_any_way(capsys: pytest.CaptureFixture[str], form: str) -> None:
    """Neither plain nor in JSON or as Python quotes it, nor text in the shape of a token."""
    configure_logging("info", form, SECRETS)
    for way, secret in product(WAYS, [*SECRETS, *SHAPES]):
        say(way, secret)
        written = capsys.readouterr().err
        assert HIDDEN in written, (way, secret)
        for spelled in (secret, json.dumps(secret)[1:-1], repr(secret)[1:-1]):
            assert spelled not in written, way


def test_the_rest_of_a_line_with_a_secret_stays(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("info", "json", SECRETS)
    say("foreign", "correct-horse")
    line = json.loads(capsys.readouterr().err)
    assert (line["event"], line["level"]) == (
        f"HTTP Request: POST https://api.test/bot{HIDDEN}/getMe",
        "warning",
    )


def test_a_json_line_is_one_object_even_with_a_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logging("info", "json", [])
    say("foreign traceback", "x")
    say("value", "two\nlines")
    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert "LookupError: no way" in first["exception"]
    assert (second["value"], second["timestamp"][-1]) == ("two\nlines", "Z")


def test_a_value_cannot_start_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("info", "text", [])
    say("value", "two\nlines")
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_nothing_is_logged_below_the_level(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("error", "text", [])
    say("event", "x")
    say("foreign", "x")
    assert capsys.readouterr().err == ""


def test_loggers_that_print_every_call_are_quiet_even_at_debug(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logging("debug", "text", [])
    for name in (*log_setup.QUIET, "websockets.client"):
        logging.getLogger(name).info("HTTP Request")
        logging.getLogger(name).warning("look")
        written = capsys.readouterr().err
        assert ("HTTP" in written, "look" in written) == (False, True), name


@pytest.fixture
def desk(db: Database, clock: Clock) -> Ops:
    return Ops(db, clock)


def visitor(app: FastAPI, host: str = "127.0.0.1") -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app, client=(host, 5000))
    return httpx.AsyncClient(transport=transport, base_url="http://bot.test")


def served(desk: Ops) -> FastAPI:
    app = FastAPI()
    app.include_router(desk.router())
    return app


@pytest.fixture
async def near(desk: Ops) -> AsyncIterator[httpx.AsyncClient]:
    async with visitor(served(desk)) as http:
        yield http


async def test_livez_answers_whatever_is_wrong(desk: Ops, near: httpx.AsyncClient) -> None:
    desk.db.close()
    answer = await near.get("/livez")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


async def tells() -> str | None:
    return "not reached yet"


async def raises() -> str | None:
    raise LookupError("with a secret in it")


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
async def test_a_probe_may_ask_for_the_head_alone(near: httpx.AsyncClient, path: str) -> None:
    asked, found = await near.head(path), await near.get(path)
    assert (asked.status_code, asked.headers) == (found.status_code, found.headers)


async def test_readyz_is_503_and_names_the_failed_check(desk: Ops, near: httpx.AsyncClient) -> None:
    desk.readiness.needed |= {"telegram": tells, "other": raises}
    answer = await near.get("/readyz")
    checks = {"database": "ok", "telegram": "not reached yet", "other": "LookupError"}
    assert (answer.status_code, answer.json()["status"]) == (503, "not ready")
    assert answer.json()["checks"] == checks


async def test_readyz_does_not_wait_for_a_check_that_hangs(
    desk: Ops, near: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hangs() -> str | None:
        await asyncio.Event().wait()
        return None

    monkeypatch.setattr(readiness, "CHECK_SECONDS", 0.01)
    desk.readiness.needed["telegram"] = hangs
    answer = await near.get("/readyz")
    assert (answer.status_code, answer.json()["checks"]["telegram"]) == (503, "TimeoutError")


@pytest.mark.only(SQLITE, "its one lock")
async def test_readyz_is_503_if_the_database_is_read_only(
    desk: Ops, near: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the message of SQLite; a recent commit proves that the database is writable."""
    monkeypatch.setattr(sqlite_writer, "BUSY_TIMEOUT_SECONDS", 0.0)
    monkeypatch.setattr(database, "PROVEN_SECONDS", 0.0)
    with locked(Path(sqlite(desk.db).path)):
        answer = await near.get("/readyz")
        assert answer.status_code == 503
        assert answer.json()["checks"] == {"database": "database is locked"}
    assert (await near.get("/readyz")).status_code == 200
    monkeypatch.setattr(database, "PROVEN_SECONDS", 3600.0)
    with locked(Path(sqlite(desk.db).path)):
        assert (await near.get("/readyz")).status_code == 200
        monkeypatch.setattr(database, "PROVEN_SECONDS", 0.0)
        assert (await near.get("/readyz")).status_code == 503


async def test_readyz_is_503_while_the_database_accepts_no_writes(
    desk: Ops, near: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also before the first payment has failed."""
    monkeypatch.setattr(database, "PROVEN_SECONDS", 0.0)
    assert (await near.get("/readyz")).status_code == 200
    await asyncio.to_thread(make_read_only, desk.db)
    assert (await near.get("/readyz")).status_code == 503
    await asyncio.to_thread(make_writable, desk.db)
    assert (await near.get("/readyz")).status_code == 200


SCRAPES: list[tuple[str | None, str, dict[str, str], int]] = [
    # token in the settings, address of the client, its headers
    (None, "127.0.0.1", {"Host": "127.0.0.1:8080"}, 200),
    (None, "127.9.9.9", {"Host": "localhost:8080"}, 200),
    (None, "::1", {"Host": "[::1]:8080"}, 200),
    (None, "10.0.0.1", {"Host": "127.0.0.1:8080"}, 401),
    (None, "", {"Host": "127.0.0.1:8080"}, 401),
    (None, "x", {"Host": "127.0.0.1:8080"}, 401),
    # A proxy on this machine that adds no header usually keeps the Host of its client.
    (None, "127.0.0.1", {"Host": "pay.example.org"}, 401),
    (None, "127.0.0.1", {"Host": "127.0.0.1.example.org"}, 401),
    (None, "127.0.0.1", {"Host": "["}, 401),
    (None, "127.0.0.1", {"Host": "evil.example@127.0.0.1"}, 401),
    (None, "127.0.0.1", {"Host": ""}, 401),
    # Its other headers say that the client is elsewhere, whatever they claim.
    *(
        (None, "127.0.0.1", {"Host": "localhost", name: "127.0.0.1"}, 401)
        for name in (
            *readiness.FORWARDING, "x-forwarded", "x-forwarded-port", "x-original-forwarded-for",
        )
    ),
    ("let-me-in", "10.0.0.1", {"Authorization": "Bearer let-me-in"}, 200),
    ("let-me-in", "::1", {"x-forwarded-for": "::1", "Authorization": "Bearer let-me-in"}, 200),
    ("let-me-in", "10.0.0.1", {"Authorization": "Bearer let-me-i"}, 401),
    ("let-me-in", "10.0.0.1", {"Authorization": "let-me-in"}, 401),
    ("let-me-in", "127.0.0.1", {"Authorization": ""}, 401),
    ("let-me-in", "127.0.0.1", {"Authorization": "Bearer schlüssel"}, 401),
]  # fmt: skip


async def test_metrics_answer_the_token_or_without_one_this_machine_alone(
    db: Database, clock: Clock
) -> None:
    for token, host, headers, status in SCRAPES:
        encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
        async with visitor(served(Ops(db, clock, token)), host) as http:
            answer = await http.get("/metrics", headers=encoded)
        assert answer.status_code == status, (token, host, headers)
        assert ("outbox_messages" in answer.text) == (status == 200)


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics"])
async def test_operators_answers_are_not_cacheable(desk: Ops, path: str) -> None:
    """Neither are refusals."""
    for host in ("127.0.0.1", "10.0.0.1"):
        async with visitor(served(desk), host) as http:
            answer = await http.get(path)
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"


async def test_a_request_cancelled_by_the_stop_ends_without_a_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The answer is 503: an unfinished upload has done nothing."""
    caplog.set_level("INFO")
    entered = asyncio.Event()

    async def reads(_scope: Scope, receive: Receive, _send: Send) -> None:
        while True:
            entered.set()
            await receive()

    (socket,) = listen("127.0.0.1", 0)
    with socket:
        server = WebServer(EndCancelled(reads), (), 0)
        serving = asyncio.create_task(server.serve(sockets=[socket]))
        reader, writer = await asyncio.open_connection(*socket.getsockname())
        writer.write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nslow")
        async with asyncio.timeout(5):
            await entered.wait()
            server.should_exit = True
            await serving
            answer = await reader.read()
        writer.close()
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert "Exception in ASGI application" not in caplog.text
    assert "ASGI callable returned" not in caplog.text
    assert [line.levelname for line in caplog.records if "Cancel" in line.message] == ["INFO"]


async def test_calls_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    """The address of a receipt is a secret."""
    caplog.set_level("DEBUG")
    async with open_web_server(FastAPI()) as site:
        assert (await site.ask(get("/nowhere"))).status == 404
    assert not [line for line in caplog.records if "nowhere" in line.getMessage()]


async def test_a_cancellation_inside_the_request_stays_an_error() -> None:
    async def breaks(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise asyncio.CancelledError

    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    with pytest.raises(asyncio.CancelledError):
        await EndCancelled(breaks)({"type": "http"}, receive, send)
    assert sent == []


async def test_an_unusable_database_is_503_with_one_line_in_the_log() -> None:
    """One line for all requests, not one for each."""
    app = FastAPI()
    app.add_exception_handler(StorageError, storage_unavailable)

    @app.get("/")
    async def fail() -> None:
        raise StorageError("database is locked")

    with capture_logs() as logs:
        async with client(app) as http:
            answer = await http.get("/")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert answer.json()["code"] == "unavailable"
    assert logs == []
