"""A client generated from `/openapi.json` plays a whole round against a real service.

Its types are checked: a body without its fields is a class that nobody can fill in.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.support.locked_environments import cache_folder, environment, node_modules
from tests.support.product_process import foreign_service, patient_client

pytestmark = pytest.mark.timeout(600)

HERE = Path(__file__).parent
PLAYED: dict[str, Any] = {
    "listed": [True],
    # The second edit has the key of the first, so it takes out no more units.
    "edits": [["Two packs", 8], ["Two packs", 8]],
    "webhook": [2.5, "USD", 7],
    "payment": [2.5, "USD"],
    "deleted": 200,
    "afterwards": "notFound",
}
"""What each round tells."""

Commands: TypeAlias = list[list[str]]
"""What generates a client, checks its types and plays the round; run in this order."""


@pytest.fixture(scope="module")
def tools() -> Path:
    """Return a folder with the programs of the environment: generator, mypy, node, npm."""
    return Path(environment(HERE / "requirements.txt", cache_folder())).parent


def openapi_python_client(tools: Path, folder: Path) -> Commands:
    shutil.copy(HERE / "openapi_python_client.py", folder / "round.py")
    python = str(tools / "python")
    return [
        [
            str(tools / "openapi-python-client"),
            *("generate", "--path=openapi.json", "--output-path=generated", "--meta=none"),
            f"--config={HERE / 'openapi_python_client.yaml'}",
        ],
        # Silent, because the generator's own code has faults.
        [python, "-m", "mypy", "--strict", "--follow-imports=silent", "round.py"],
        [python, "round.py"],
    ]


def openapi_fetch(tools: Path, folder: Path) -> Commands:
    generate = ["node_modules/openapi-typescript/bin/cli.js", "openapi.json", "-o", "schema.ts"]
    return _typescript("openapi_fetch.ts", generate, tools, folder)


def hey_api(tools: Path, folder: Path) -> Commands:
    return _typescript("hey_api.ts", ["node_modules/.bin/openapi-ts"], tools, folder)


def _typescript(script: str, generate: list[str], tools: Path, folder: Path) -> Commands:
    installed = node_modules(HERE / "package-lock.json", cache_folder(), tools)
    (folder / "node_modules").symlink_to(installed)
    for name in ("package.json", "tsconfig.json", "openapi-ts.config.js", "payer.ts"):
        shutil.copy(HERE / name, folder)
    shutil.copy(HERE / script, folder / "round.ts")
    node = str(tools / "node")
    return [
        [node, *generate],
        [node, "node_modules/typescript/bin/tsc"],
        [node, "out/round.js"],
    ]


@pytest.mark.parametrize("client", [openapi_python_client, openapi_fetch, hey_api])
async def test_a_generated_client_plays_a_whole_round(
    tools: Path, tmp_path: Path, client: Callable[[Path, Path], Commands]
) -> None:
    folder = tmp_path / "client"
    folder.mkdir()
    commands = client(tools, folder)
    async with foreign_service(tmp_path) as (service, keys):
        async with patient_client(service.url) as http:
            (folder / "openapi.json").write_bytes((await http.get("/openapi.json")).content)
        path = f"{tools}:{os.environ['PATH']}"
        settings = os.environ | keys | {"SERVICE": service.url, "PATH": path}
        for command in commands:
            told = await output(command, folder, settings)
    assert json.loads(told.splitlines()[-1]) == PLAYED


async def output(command: list[str], folder: Path, settings: dict[str, str]) -> str:
    child = await asyncio.create_subprocess_exec(
        *command, cwd=folder, env=settings, stdout=PIPE, stderr=STDOUT
    )
    told, _ = await child.communicate()
    assert child.returncode == 0, told.decode()
    return told.decode()
