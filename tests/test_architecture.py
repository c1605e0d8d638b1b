"""The rooms of the house and the doors between them: who may import what, file by file."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "bot").rglob("*.py"))
IMPURE = frozenset(
    [
        *("asyncio", "logging", "os", "random", "secrets", "signal", "socket"),
        *("sqlite3", "subprocess", "threading", "time"),
    ]
)
"""What a rule has no use for that is told the time and gives back what should happen."""

PART_OF = {"pydantic_core": "pydantic"}
"""Packages that come with another one and are pinned by it."""


@dataclass(frozen=True)
class Room:
    """What the modules of a room may import; their own room is always open to them."""

    ours: str = ""
    others: str = ""
    pure: bool = False


SLICE = "chat core"
RULES = "core.errors core.money core.texts"
ROOMS = {
    "core": Room("core"),
    "core.errors": Room(),
    "core.money": Room("core.errors core.spellings", "babel", pure=True),
    "core.spellings": Room("", "babel", pure=True),
    "core.texts": Room("core.errors core.money", "fluent", pure=True),
    "core.qr": Room("core.errors", "qrcode PIL", pure=True),
    "core.lettering": Room("", "PIL", pure=True),
    "core.domains": Room("", "idna", pure=True),
    "core.links": Room("core.domains", pure=True),
    "core.phones": Room("", pure=True),
    "core.exact": Room("core", "simplejson"),
    "core.addresses": Room("core", "httpx"),
    "core.dialling": Room("core", "httpx httpcore anyio"),
    "core.outgoing": Room("core", "httpx"),
    "core.bodies": Room("core", "starlette"),
    "core.signing": Room("core", "standardwebhooks"),
    "core.vault": Room("core", "cryptography"),
    "core.db": Room("core", "sqlite_utils"),
    "core.writer": Room("core", "sqlite_utils structlog"),
    "core.health": Room("", "structlog"),
    "core.worker": Room("core", "structlog"),
    "core.ops": Room("core", "structlog prometheus_client fastapi starlette"),
    "core.metrics": Room("core", "prometheus_client starlette"),
    "service": Room("service core"),
    "service.model": Room(f"core.links core.phones {RULES}", pure=True),
    "service.store": Room("service.model core"),
    "service.usecases": Room("service.model service.store service.rails service.exchange core"),
    "service.wire": Room("service.model core", "pydantic pydantic_core"),
    "service.api": Room("service core", "fastapi starlette pydantic pydantic_core limits"),
    "service.page": Room("service core", "fastapi starlette jinja2 structlog"),
    "service.page.card": Room("service core", "PIL"),
    "service.settling": Room("service core", "structlog"),
    "service.notify": Room("service core", "httpx structlog"),
    "service.mail": Room("service.composing core", "aiosmtplib httpx"),
    "service.composing": Room("service.model core", "jinja2"),
    "service.app": Room("service core", "fastapi starlette"),
    "chat": Room(SLICE),
    "chat.replies": Room("core.texts", pure=True),
    "chat.conversation": Room(f"chat.replies core.links core.smtp {RULES}", pure=True),
    "chat.conversation.zones": Room("chat.conversation core.texts", "babel", pure=True),
    "chat.conversation.moments": Room("chat.conversation core.texts", "babel", pure=True),
    "chat.amounts": Room("chat.conversation core.errors core.money", pure=True),
    "chat.answers": Room("chat.amounts core.errors"),
    "chat.store": Room("chat.conversation chat.answers core"),
    "chat.sales": Room("chat.answers chat.store", pure=True),
    "chat.standing": Room("chat.answers chat.cards chat.store core", pure=True),
    "chat.usecases": Room(SLICE, "structlog"),
    "chat.edits": Room(SLICE, pure=True),
    "chat.menus": Room(SLICE, pure=True),
    "chat.troubles": Room(SLICE, "structlog"),
    "chat.creating": Room(SLICE, "structlog"),
    "chat.client": Room("chat.answers core", "httpx structlog"),
    "chat.photos": Room(SLICE, "telegram structlog"),
    "chat.downloads": Room("core", "telegram httpx"),
    "chat.gallery": Room(SLICE, "fastapi"),
    "chat.reconciling": Room(SLICE, "structlog"),
    "chat.refusals": Room("", "telegram httpx"),
    "chat.transport": Room("core", "telegram httpx"),
    "chat.handlers": Room(SLICE, "telegram"),
    "chat.inline": Room(SLICE, "telegram structlog"),
    "chat.searching": Room(SLICE, "structlog"),
    "chat.profile": Room(SLICE, "telegram structlog"),
    "chat.sender": Room(SLICE, "telegram structlog"),
    "chat.verdicts": Room(SLICE, "telegram httpx"),
    "chat.clockwork": Room(SLICE, "structlog"),
    "chat.updates": Room(SLICE, "fastapi starlette httpx structlog"),
    "chat.pictures": Room("core", "PIL", pure=True),
    "chat.receiver": Room(SLICE, "fastapi starlette structlog"),
    "sandbox": Room("core.bounded_child core.errors", "starlette httpx"),
    "sandbox.mailbox": Room("sandbox", "aiosmtpd"),
    "sandbox.scaling": Room("core.bounded_child", "PIL", pure=True),
    "config": Room("core", "pydantic pydantic_settings"),
    "wiring": Room(
        "core service chat sandbox config",
        "fastapi starlette uvicorn httptools httpx pydantic telegram structlog",
    ),
    "cli": Room("core service chat wiring config", "click uvloop"),
    "__main__": Room("cli"),
}


@dataclass(frozen=True)
class Import:
    """One name that a line imports; `typing_only` where it never happens at run time."""

    line: int
    name: str
    typing_only: bool


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(module: str, source: str) -> Iterator[Import]:
    """Every import of a file, wherever it stands: in functions, behind conditions too."""
    return _imports(module, ast.parse(source), typing_only=False)


def _imports(module: str, node: ast.AST, *, typing_only: bool) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield Import(node.lineno, alias.name, typing_only)
    elif isinstance(node, ast.ImportFrom):
        base = [*module.split(".")[: -node.level or None]] if node.level else []
        origin = ".".join([*base, *filter(None, [node.module])])
        for alias in node.names:
            yield Import(node.lineno, _module_named(origin, alias.name), typing_only)
    behind = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    for child in ast.iter_child_nodes(node):
        yield from _imports(module, child, typing_only=typing_only or behind)


def _module_named(origin: str, name: str) -> str:
    """`from bot.core import money` imports a module, `from bot.core.money import exponent` not."""
    path = ROOT.joinpath(*origin.split("."), name)
    is_module = path.with_suffix(".py").exists() or (path / "__init__.py").exists()
    return f"{origin}.{name}" if is_module else origin


def room_of(module: str) -> str | None:
    """Name of the innermost room that a module of `bot` stands in."""
    inside = module.removeprefix("bot.")
    rooms = [name for name in ROOMS if _within(inside, name)]
    return max(rooms, key=len, default=None)


def _within(module: str, room: str) -> bool:
    return module == room or module.startswith(f"{room}.")


def offences(path: str, module: str, source: str) -> list[str]:
    """Say where a file goes beyond its room, as `file:line imports X`."""
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
        return any(_within(name.removeprefix("bot."), door) for door in (own, *room.ours.split()))
    if package in sys.stdlib_module_names:
        return not (room.pure and package in IMPURE)
    return package in room.others.split()


def circle(sources: dict[str, str]) -> list[str]:
    """Give the modules of a circle of imports, those for type checking included; [] for none."""
    graph = {
        module: {found.name for found in imports(module, source) if found.name in sources}
        for module, source in sources.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def environment_reads(path: str, source: str) -> list[str]:
    """Say where a file reads the environment, as `file:line reads the environment`."""
    names = {"environ", "environb", "getenv", "getenvb"}
    return [
        f"{path}:{node.lineno} reads the environment"
        for node in ast.walk(ast.parse(source))
        if (isinstance(node, ast.Attribute) and node.attr in names)
        or (isinstance(node, ast.ImportFrom) and names & {alias.name for alias in node.names})
    ]


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


def test_every_room_has_somebody_in_it() -> None:
    """A rule for what is gone would hold nothing and mislead."""
    assert ROOMS.keys() == {room_of(module_of(path)) for path in FILES} - {None}


def test_every_package_imported_is_a_declared_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    declared = {_distribution(line) for line in project["dependencies"]}
    known = packages_distributions()
    imported = {
        PART_OF.get(package, package)
        for path in FILES
        for found in imports(module_of(path), path.read_text("utf-8"))
        if (package := found.name.partition(".")[0]) not in {*sys.stdlib_module_names, "bot"}
    }
    undeclared = [
        package
        for package in sorted(imported)
        if declared.isdisjoint(map(_distribution, known.get(package, [package])))
    ]
    assert not undeclared


def _distribution(requirement: str) -> str:
    """`python_Foo>=0.28,<0.29; …` names python-foo."""
    return re.split(r"[^\w.-]", requirement)[0].lower().replace("_", "-")


@pytest.mark.parametrize(
    ("module", "source", "expected"),
    [
        ("bot.chat.usecases", "from bot.service.model import request", "bot.service.model.request"),
        ("bot.chat.cards", "import bot.service.app", "bot.service.app"),
        ("bot.service.api.routes", "from bot.chat.store import Listing", "bot.chat.store"),
        ("bot.service.notify", "def f():\n    from bot import chat", "bot.chat"),
        ("bot.sandbox.api", "from bot.service import deps", "bot.service.deps"),
        ("bot.sandbox.api", "from bot.chat import store", "bot.chat.store"),
        ("bot.core.db", "from bot.service.store import apps", "bot.service.store.apps"),
        ("bot.core.ops", "from bot.chat import queues", "bot.chat.queues"),
        ("bot.core.outbox", "import sqlite_utils", "sqlite_utils"),
        ("bot.core.money", "from bot.core import db", "bot.core.db"),
        ("bot.core.money", "from decimal import Decimal\nimport time", "time"),
        ("bot.core.qr", "import httpx", "httpx"),
        ("bot.service.model.request", "import asyncio", "asyncio"),
        ("bot.service.model.request", "from os import path", "os"),
        ("bot.service.model.changes", "from bot.service.store import apps", None),
        ("bot.service.model.new", "from ..store import apps", "bot.service.store.apps"),
        ("bot.service.store.apps", "from bot.service.wire import writing", None),
        ("bot.service.usecases.apps", "import fastapi", "fastapi"),
        ("bot.chat.conversation.flow", "from bot.core import outbox", "bot.core.outbox"),
        ("bot.chat.conversation.flow", "import telegram.ext", "telegram.ext"),
        (
            "bot.chat.conversation.flow",
            "if TYPE_CHECKING:\n    from bot.chat.store import Listing",
            "bot.chat.store",
        ),
        ("bot.config", "from bot.wiring import demo", "bot.wiring.demo"),
        ("bot.wiring.demo", "from bot import cli", "bot.cli"),
    ],
)
def test_a_forbidden_import_is_found(module: str, source: str, expected: str | None) -> None:
    line = len(source.splitlines())
    (found,) = offences("a.py", module, source)
    assert found.startswith(f"a.py:{line} imports ")
    assert expected is None or found == f"a.py:{line} imports {expected}"


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("bot.chat.usecases", "from bot.chat.store import Listing\nfrom bot.core import outbox"),
        ("bot.service.model.request", "from datetime import datetime\nfrom bot.core import money"),
        ("bot.core.dialling", "import asyncio\nimport httpcore"),
        ("bot.wiring.demo", "from bot.sandbox import people\nfrom bot.chat import client"),
    ],
)
def test_an_allowed_import_is_let_through(module: str, source: str) -> None:
    assert not offences("a.py", module, source)


def test_a_circle_is_found_through_types_and_functions() -> None:
    sources = {
        "bot.core.a": "from bot.core.b import f",
        "bot.core.b": "if TYPE_CHECKING:\n    import bot.core.c",
        "bot.core.c": "def g():\n    import bot.core.a",
        "bot.core.d": "import bot.core.a",
    }
    found = circle(sources)
    assert {"bot.core.a", "bot.core.b", "bot.core.c"} == set(found)


@pytest.mark.parametrize(
    "source", ["import os\nos.environ['A']", "import os\nos.getenv('A')", "from os import environ"]
)
def test_a_read_of_the_environment_is_found(source: str) -> None:
    line = len(source.splitlines())
    assert [f"a.py:{line} reads the environment"] == environment_reads("a.py", source)


def test_run_is_started_without_the_sandbox() -> None:
    """It is for the demo and the tests, and costs every start its time and memory."""
    look = "import sys, bot.cli, bot.wiring.application; print([*sys.modules])"
    loaded = subprocess.run(
        [sys.executable, "-c", look], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "bot.wiring.telegram" in loaded.stdout
    assert "bot.sandbox" not in loaded.stdout
