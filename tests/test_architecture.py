"""Which room may import what, checked file by file."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

import pytest

from tests.support.import_graph import circle, environment_reads, imports, module_of
from tests.support.paths import ROOT

if TYPE_CHECKING:
    from pathlib import Path

FILES = sorted((ROOT / "bot").rglob("*.py"))
IMPURE = frozenset(
    [
        *("asyncio", "logging", "os", "random", "secrets", "signal", "socket"),
        *("sqlite3", "subprocess", "threading", "time"),
    ]
)
"""Modules of the standard library that a pure room must not import."""


@dataclass(frozen=True)
class Room:
    """What the modules of a room may import beside their own room.

    `rooms` of `bot`, third-party `packages`; a `pure` room imports nothing of IMPURE.
    """

    rooms: str = ""
    packages: str = ""
    pure: bool = False


MODEL = "core.errors core.money core.text"
"""What pure rooms may import of the floor."""

ROOMS = {
    # The floor, from bottom to top.
    "core.errors": Room(),
    "core.version": Room(),
    "core.lasting": Room(),
    "core.clock": Room(),
    "core.accents": Room(pure=True),
    "core.signing": Room("core.errors", "standardwebhooks"),
    "core.exact_json": Room("", "simplejson"),
    "core.health": Room("", "structlog"),
    "core.bounded_process": Room("core.errors"),
    "core.money": Room("core.errors core.text", "babel", pure=True),
    "core.text": Room("", "babel email_validator fluent idna", pure=True),
    "core.images": Room("", "PIL qrcode", pure=True),
    "core.images.shaping": Room("core.images", "PIL uharfbuzz", pure=True),
    "core.mail": Room("core.errors core.text"),
    "core.net": Room("core.errors core.text", "anyio httpcore httpx"),
    "core.net.app_client": Room("", "httpx structlog"),
    "core.net.post_client": Room("core.net", "httptools httpx"),
    "core.net.request_body": Room("core.errors core.exact_json", "starlette"),
    "core.database": Room("core.errors core.health core.text", "sqlite_utils"),
    "core.database.sqlite": Room(
        "core.database.interface core.database.private_files core.database.schema"
        " core.database.slices core.errors core.health",
        "structlog",
    ),
    # Loaded for a PostgreSQL database alone.
    "core.database.transfer": Room(
        "core.database.inspection core.database.interface core.database.postgres"
        " core.database.schema core.database.sqlite core.database.tables core.database.timelines"
        " core.database.urls core.errors core.text",
        "psycopg",
    ),
    "core.database.postgres": Room(
        "core.database.interface core.database.schema core.database.slices core.database.urls"
        " core.errors core.health",
        "psycopg structlog",
    ),
    "core.database.vault": Room("core.database core.errors", "cryptography"),
    "core.outbox": Room("core.database core.errors core.exact_json core.net", "pydantic structlog"),
    "core.replicas": Room("core.database core.errors core.outbox", "structlog"),
    "core.replicas.observation": Room("core.replicas.times", pure=True),
    "core.privacy": Room("core.database core.text"),
    "core.ops": Room(
        "core.database core.exact_json core.outbox core.text core.version",
        "fastapi prometheus_client starlette structlog",
    ),
    # The payment request service.
    "service.model": Room(f"core.accents core.exact_json {MODEL}", pure=True),
    "service.wire": Room("service.model core", "pydantic pydantic_core"),
    "service.banking": Room(f"service.model {MODEL}", "babel stdnum", pure=True),
    "service.banking.code_picture": Room("core.images", "PIL", pure=True),
    "service.banking.references": Room("", "stdnum"),
    "service.lightning": Room("service.model core.errors core.text", pure=True),
    "service.nostr": Room(
        "service.model core.errors core.exact_json core.net core.text",
        "coincurve cryptography structlog websockets",
    ),
    "service.rails": Room(
        "service.banking service.lightning service.model service.nostr core", "httpx structlog"
    ),
    "service.store": Room("service.model core"),
    "service.rates": Room("service.model service.rails service.store core", "httpx structlog"),
    "service.rates.median": Room("core.text", pure=True),
    "service.rates.sources": Room("core.errors core.exact_json core.money", pure=True),
    "service.goods": Room("service.model service.store core", "structlog"),
    "service.usecases": Room(
        "service.banking service.goods service.model service.rails service.store core", "structlog"
    ),
    "service.notify": Room(
        "service.model service.store service.usecases service.wire core", "httpx structlog"
    ),
    "service.notify.letter_texts": Room("service.model core", "jinja2"),
    "service.notify.smtp_sender": Room("service.notify core", "aiosmtplib httpx"),
    "service.http": Room(
        "service.goods service.model service.store service.usecases service.wire core",
        "fastapi limits pydantic pydantic_core starlette",
    ),
    "service.page": Room(
        "service.banking service.goods service.http service.model service.store service.usecases"
        " service.wire core",
        "fastapi jinja2 starlette structlog",
    ),
    "service.page.preview_picture": Room("service.page service.model core", "PIL"),
    "service.api": Room(
        "service.goods service.http service.model service.store service.usecases service.wire core",
        "fastapi pydantic starlette",
    ),
    "service.app": Room(
        "service.api service.http service.page service.wire core", "fastapi starlette"
    ),
    # The chat.
    # Payloads carry how a payment was paid, a value of the model.
    "chat.messages": Room("chat.model core.net core.outbox core.text", pure=True),
    "chat.model": Room("core.errors core.exact_json core.money core.text", pure=True),
    "chat.times": Room("chat.messages core.text", "babel", pure=True),
    "chat.fields": Room(f"chat.messages chat.model chat.times {MODEL}", pure=True),
    "chat.forms": Room(
        f"chat.fields chat.messages chat.model chat.times core.accents {MODEL}",
        pure=True,
    ),
    "chat.forms.sellers": Room(
        "chat.fields chat.messages chat.model core.errors core.text", pure=True
    ),
    "chat.provider": Room("chat.model core", "httpx structlog"),
    "chat.store": Room("chat.forms chat.messages chat.model core"),
    "chat.pictures": Room("chat.pictures.pdf core", "PIL", pure=True),
    "chat.pictures.pdf": Room("chat.pictures core", "PIL reportlab"),
    "chat.cards": Room(
        "chat.fields chat.forms chat.messages chat.model chat.pictures chat.store chat.times core"
    ),
    "chat.cards.image_route": Room("chat.store core", "fastapi"),
    "chat.receipts": Room("chat.cards chat.messages chat.model chat.store core"),
    "chat.alerts": Room("chat.cards chat.messages chat.model chat.store chat.times core"),
    "chat.requests": Room(
        "chat.alerts chat.cards chat.fields chat.forms chat.messages chat.model chat.provider"
        " chat.receipts chat.store core",
        "structlog",
    ),
    "chat.requests.payment_jobs": Room(
        "chat.cards chat.messages chat.model chat.provider chat.receipts chat.requests chat.store"
        " core"
    ),
    "chat.dialogue": Room(
        "chat.alerts chat.cards chat.fields chat.forms chat.messages chat.model chat.receipts"
        " chat.requests chat.store chat.times core",
        "structlog",
    ),
    "chat.dialogue.events": Room("chat.messages chat.model core", "telegram"),
    "chat.payments": Room(
        "chat.alerts chat.cards chat.messages chat.model chat.provider chat.store core",
        "structlog",
    ),
    "chat.payments.webhook": Room("chat.model chat.payments chat.store core", "fastapi structlog"),
    "chat.schedule": Room("chat.alerts chat.messages chat.store core", "structlog"),
    "chat.telegram": Room(
        "chat.alerts chat.cards chat.dialogue chat.forms chat.messages chat.model chat.pictures"
        " chat.receipts chat.store core",
        "fastapi httpx structlog telegram",
    ),
    "chat.telegram.file_intake": Room(
        "chat.dialogue chat.fields chat.forms chat.messages chat.model chat.provider chat.telegram"
        " core",
        "structlog telegram",
    ),
    # A Telegram for the demo and the tests.
    "sandbox.world": Room("core.bounded_process core.errors", "httpx"),
    "sandbox.world.scaling": Room("core.bounded_process", "PIL", pure=True),
    "sandbox.bot_api": Room("sandbox.world", "starlette"),
    "sandbox.web": Room("sandbox.bot_api sandbox.world", "starlette"),
    "sandbox.web.mailbox": Room("sandbox.world", "aiosmtpd"),
    # All of it put together.
    "config": Room("service.model core", "dotenv pydantic pydantic_settings"),
    "wiring.web": Room("core", "httptools starlette structlog uvicorn"),
    "wiring.maintenance": Room("chat service config core"),
    "wiring.app": Room(
        "chat service sandbox wiring.web config core",
        "fastapi pydantic starlette structlog telegram",
    ),
    "wiring.doctor": Room("chat service wiring.app wiring.maintenance config core", "httpx"),
    "cli": Room("chat service wiring config core", "click structlog uvloop"),
    "__main__": Room("cli core.lasting"),
}


def room_of(module: str) -> str | None:
    """Name of the innermost room that a module of `bot` stands in."""
    inside = module.removeprefix("bot.")
    rooms = [name for name in ROOMS if _within(inside, name)]
    return max(rooms, key=len, default=None)


def _within(module: str, room: str) -> bool:
    return module == room or module.startswith(f"{room}.")


def offences(path: str, module: str, source: str) -> list[str]:
    """List the imports of a file that its room does not allow, as `file:line imports X`."""
    return [
        f"{path}:{found.line} imports {found.name}"
        for found in imports(module, source)
        if not _allowed(module, found.name)
    ]


def _allowed(module: str, name: str) -> bool:
    own = room_of(module)
    assert own, f"{module} stands in no room: give it one in ROOMS"
    room, package = ROOMS[own], name.partition(".")[0]
    if package == "bot":
        return any(_within(name.removeprefix("bot."), door) for door in (own, *room.rooms.split()))
    if package in sys.stdlib_module_names:
        return not (room.pure and package in IMPURE)
    return package in room.packages.split()


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_each_file_imports_only_what_its_room_may(path: Path) -> None:
    assert not offences(str(path.relative_to(ROOT)), module_of(path), path.read_text("utf-8"))


def test_the_import_graph_has_no_circle() -> None:
    assert not circle({module_of(path): path.read_text("utf-8") for path in FILES})


def test_nothing_but_config_reads_the_environment() -> None:
    found = [
        line
        for path in FILES
        if module_of(path) != "bot.config"
        for line in environment_reads(str(path.relative_to(ROOT)), path.read_text("utf-8"))
    ]
    assert not found


def test_every_row_has_a_room() -> None:
    """A row for a room that is gone would mislead."""
    assert ROOMS.keys() == {room_of(module_of(path)) for path in FILES} - {None}


def test_rooms_and_what_they_may_import_form_no_circle() -> None:
    doors = {
        name: {
            other
            for door in room.rooms.split()
            for other in ROOMS
            if _within(other, door) and not _within(name, other) and not _within(other, name)
        }
        for name, room in ROOMS.items()
    }
    TopologicalSorter(doors).prepare()


def test_every_permission_is_used() -> None:
    """A permission that no file needs is a missing wall."""
    unused = {
        (name, door)
        for name, room in ROOMS.items()
        for door in (*room.rooms.split(), *room.packages.split())
    }
    for path in FILES:
        own = room_of(module_of(path))
        for found in imports(module_of(path), path.read_text("utf-8")):
            inside = found.name.removeprefix("bot.")
            unused -= {
                (name, door) for name, door in unused if name == own and _within(inside, door)
            }
    assert not unused


def test_each_init_file_is_a_docstring_alone() -> None:
    """It says what belongs in the room, and re-exports nothing."""
    folders = [path for path in FILES if path.name == "__init__.py" and path.parent.name != "bot"]
    for path in folders:
        (first,) = ast.parse(path.read_text("utf-8")).body
        assert isinstance(first, ast.Expr), path
        assert isinstance(first.value, ast.Constant), path


@pytest.mark.process
def test_commands_that_do_not_serve_load_nothing_that_does() -> None:
    """Operators wait for them: they start in half the time."""
    look = "import sys, bot.__main__; print([*sys.modules])"
    loaded = subprocess.run(
        [sys.executable, "-c", look], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "'bot.cli.export_command'" in loaded.stdout
    assert not [name for name in ("fastapi", "telegram", "PIL") if f"'{name}'" in loaded.stdout]


@pytest.mark.process
def test_run_is_started_without_the_sandbox_and_the_driver_of_postgresql() -> None:
    """The one is for demo and tests, the other for one DATABASE_URL: both cost time and memory."""
    look = "import sys, bot.cli.commands, bot.wiring.app.application; print([*sys.modules])"
    loaded = subprocess.run(
        [sys.executable, "-c", look], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "bot.wiring.app.telegram_side" in loaded.stdout
    assert "bot.sandbox" not in loaded.stdout
    assert "psycopg" not in loaded.stdout


QUEUE_TABLES = re.compile(r"\b(?:FROM|JOIN|INTO|UPDATE)\s+(?:outbox|lanes)\b", re.IGNORECASE)
"""SQL on the tables of queued messages and their lanes."""


def test_only_the_outbox_and_the_database_name_the_tables_of_queues() -> None:
    """Everything else calls core/outbox/queries.py and core/outbox/bulk_changes.py."""
    own = ("bot.core.outbox.", "bot.core.database.")
    found = [
        str(path.relative_to(ROOT))
        for path in FILES
        if not module_of(path).startswith(own) and QUEUE_TABLES.search(path.read_text("utf-8"))
    ]
    assert found == []


EVERY_COLUMN = re.compile(r"(?:\b(?:SELECT|RETURNING)|,)\s+(?:\w+\.)?\*(?! FROM \(SELECT)")
"""SQL that reads all columns of a table, whichever they are; COUNT(*) is none."""


def sql_texts(source: str) -> list[str]:
    """Return the texts of a module but docstrings, with `x` for each value put into one."""
    nodes = [*ast.walk(ast.parse(source))]
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    return [
        "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in parts)
        for node in nodes
        if id(node) not in docstrings
        for parts in [node.values if isinstance(node, ast.JoinedStr) else [node]]
        if isinstance(node, ast.JoinedStr)
        or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    ]


@pytest.mark.parametrize(
    ("source", "is_found"),
    [
        ('sql = "SELECT * FROM apps"', True),
        ('sql = "SELECT r.*, 1 AS one FROM requests r"', True),
        ('sql = f"SELECT {lapsed}, r.* FROM requests r"', True),
        ('sql = "UPDATE apps SET name = 1 RETURNING *"', True),
        ('sql = "SELECT COUNT(*), amount * 2 AS twice FROM payments"', False),
        ('sql = "SELECT * FROM (SELECT id FROM apps LIMIT 1) AS first"', False),
    ],
)
def test_every_column_is_found_in_sql(source: str, *, is_found: bool) -> None:
    assert any(EVERY_COLUMN.search(text) for text in sql_texts(source)) is is_found


def test_no_statement_reads_every_column() -> None:
    """PostgreSQL refuses such a statement, once prepared, after a migration adds a column."""
    found = [
        f"{path.relative_to(ROOT)}: {text}"
        for path in FILES
        for text in sql_texts(path.read_text("utf-8"))
        if EVERY_COLUMN.search(text)
    ]
    assert found == []
