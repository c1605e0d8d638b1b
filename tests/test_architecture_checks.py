"""The checks of the architecture find what they look for, and nothing else."""

from __future__ import annotations

import pytest

from tests.support.import_graph import circle, environment_reads
from tests.test_architecture import offences


@pytest.mark.parametrize(
    ("module", "source", "expected"),
    [
        (
            "bot.chat.dialogue.turn",
            "from bot.service.model import request",
            "bot.service.model.request",
        ),
        ("bot.chat.cards.card_text", "import bot.service.app", "bot.service.app"),
        (
            "bot.service.api.request_routes",
            "from bot.chat.store import listings",
            "bot.chat.store.listings",
        ),
        ("bot.service.notify", "def f():\n    from bot import chat", "bot.chat"),
        (
            "bot.sandbox.bot_api.api",
            "from bot.service.http import callers",
            "bot.service.http.callers",
        ),
        ("bot.sandbox.bot_api.api", "from bot.chat import store", "bot.chat.store"),
        (
            "bot.core.database.database",
            "from bot.service.store import apps",
            "bot.service.store.apps",
        ),
        (
            "bot.core.ops.endpoints",
            "from bot.chat.messages import queues",
            "bot.chat.messages.queues",
        ),
        ("bot.core.outbox.outbox", "import sqlite_utils", "sqlite_utils"),
        (
            "bot.core.money.amounts",
            "from bot.core.database import database",
            "bot.core.database.database",
        ),
        ("bot.core.money.amounts", "from decimal import Decimal\nimport time", "time"),
        ("bot.core.images.qr", "import httpx", "httpx"),
        ("bot.service.model.request", "import asyncio", "asyncio"),
        ("bot.service.model.request", "from os import path", "os"),
        ("bot.service.model.changes", "from bot.service.store import apps", None),
        ("bot.service.model.new", "from ..store import apps", "bot.service.store.apps"),
        ("bot.service.store.apps", "from bot.service.wire import writing", None),
        ("bot.service.usecases.applications", "import fastapi", "fastapi"),
        ("bot.chat.forms.flow", "from bot.core.outbox import outbox", "bot.core.outbox.outbox"),
        ("bot.chat.forms.flow", "import telegram.ext", "telegram.ext"),
        (
            "bot.chat.forms.flow",
            "if TYPE_CHECKING:\n    from bot.chat.store.listings import Listing",
            "bot.chat.store.listings",
        ),
        ("bot.config", "from bot.wiring.app import demo", "bot.wiring.app.demo"),
        ("bot.wiring.app.demo", "from bot import cli", "bot.cli"),
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
        (
            "bot.chat.dialogue.turn",
            "from bot.chat.store import listings\nfrom bot.core.outbox import outbox",
        ),
        (
            "bot.service.model.request",
            "from datetime import datetime\nfrom bot.core.money import amounts",
        ),
        ("bot.core.net.guarded_transport", "import asyncio\nimport httpcore"),
        (
            "bot.wiring.app.demo",
            "from bot.sandbox.world import people\nfrom bot.chat.provider import client",
        ),
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
