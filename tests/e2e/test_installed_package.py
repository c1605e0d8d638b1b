"""The package as a user installs it: built, installed and started outside of the repository."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tests.support.demo_client import offer_vase, sell_vase
from tests.support.product_process import patient_client, start_bot
from tests.support.source_tree import ROOT

BUILD_SDIST = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist of this tree, and the wheel from that sdist alone; return their folder."""
    tree, made = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("dist")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    shutil.copytree(ROOT / "bot", tree / "bot", ignore=shutil.ignore_patterns("__pycache__"))
    call(tree, sys.executable, "-c", BUILD_SDIST, str(made))
    (sdist,) = made.glob("*.tar.gz")
    pip = (sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-index", "--no-build-isolation")
    call(made, *pip, str(sdist), "--wheel-dir", str(made))
    return made


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel; our libraries are found by their path. Return the command `bot`."""
    home = tmp_path_factory.mktemp("home")
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    (wheel,) = built.glob("*.whl")
    pip = (sys.executable, "-m", "pip", "--python", str(python), "install")
    call(home, *pip, "--no-deps", "--no-index", str(wheel))
    (site,) = home.glob("lib/python*/site-packages")
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    return home / "bin" / "bot"


def call(folder: Path, *command: str) -> None:
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=folder, env=clean, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_the_wheel_and_the_sdist_hold_every_file_of_the_package(built: Path) -> None:
    tree = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "bot").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    (wheel,), (sdist,) = built.glob("*.whl"), built.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as packed:
        in_wheel = {name for name in packed.namelist() if ".dist-info/" not in name}
    with tarfile.open(sdist) as packed:
        in_sdist = {name.partition("/")[2] for name in packed.getnames()}
    assert in_wheel == tree
    assert tree <= in_sdist


async def test_the_installed_demo_plays_a_payment_in_an_empty_folder(
    installed: Path, tmp_path: Path
) -> None:
    """`pip install .` and `bot demo`: the seller's alert comes, and the data lies in `data/`."""
    elsewhere = {"PYTHONPATH": "", "DATABASE_URL": ""}
    async with start_bot(
        tmp_path, "demo", "--no-browser", program=str(installed), **elsewhere
    ) as run:
        run.database = tmp_path / "data" / "demo.db"
        await run.ready()
        async with patient_client(f"{run.url}/chat/api/") as http:
            await sell_vase(http, await offer_vase(http))
        assert await run.stop() == 0
    assert files_in(tmp_path) == {"data", "data/demo.db", "data/demo.key"}
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}
