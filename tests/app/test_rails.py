"""The rails that RAILS names are built, and nothing of the others is loaded."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from bot.app.application import prepare_demo
from bot.app.resources import SharedResources
from bot.app.service_side import ServiceSide, build_rails
from bot.config import Settings
from bot.core.database.database import Database
from bot.core.database.vault import Vault
from bot.interface.vocabulary import PAYOUT_KINDS
from tests.support.service_harness import Clock
from tests.support.source_tree import ROOT


def now() -> int:
    return int(time.time() * 1000)


def settings_with(rails: str) -> Settings:
    return Settings(_env_file=None, rails=rails)


async def test_a_wallet_over_nostr_is_offered_where_it_is_named() -> None:
    rails = build_rails(settings_with("nwc"), now)
    assert (rails.kinds, rails.test_money) == (("nwc",), False)
    await rails.close()


async def test_each_start_stores_which_real_money_is_offered(
    db: Database, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands beside the process read it there; with test money there is none."""
    monkeypatch.chdir(tmp_path)
    for named, offered in (("lightning,bank", {"bank", "lightning"}), ("sandbox", set())):
        shared = SharedResources(settings_with(named), db, Vault("key"), clock)
        side = ServiceSide(shared, None)
        rows = await db.query("SELECT kind FROM offered_rails")
        assert {row["kind"] for row in rows} == offered
        for close in side.closers:
            await close()


async def test_the_demo_takes_test_money_whatever_rails_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings, _, close = prepare_demo(settings_with("bank"))
    assert settings.test_money
    await close()


async def test_every_kind_of_account_has_a_rail() -> None:
    rails = build_rails(settings_with(",".join(PAYOUT_KINDS)), now)
    assert rails.kinds == PAYOUT_KINDS
    await rails.close()


@pytest.mark.process
def test_test_money_loads_nothing_of_wallets() -> None:
    look = "import sys, bot.app.application; print([*sys.modules])"
    loaded = subprocess.run(
        [sys.executable, "-c", look], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "bot.app.service_side" in loaded.stdout
    assert not [
        name for name in ("nostr_sdk", "stdnum", "websockets") if f"'{name}'" in loaded.stdout
    ]
