"""The rails that RAILS names are built, and nothing of the others is loaded."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from bot.config import Settings
from bot.core.errors import ConfigError
from bot.wiring.app.rails import build_rails
from tests.support.paths import ROOT


def now() -> int:
    return int(time.time() * 1000)


def settings_with(rails: str) -> Settings:
    return Settings(_env_file=None, rails=rails)


async def test_a_wallet_over_nostr_is_offered_where_it_is_named() -> None:
    rails = build_rails(settings_with("nwc"), now)
    assert (rails.kinds, rails.test_money) == (("nwc",), False)
    await rails.close()


def test_a_python_without_the_library_of_nostr_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bot.service.rails.nwc", None)
    with pytest.raises(ConfigError, match=r"RAILS: nwc needs .* leave nwc out"):
        build_rails(settings_with("nwc"), now)


def test_test_money_loads_nothing_of_wallets() -> None:
    look = "import sys, bot.wiring.app.application; print([*sys.modules])"
    loaded = subprocess.run(
        [sys.executable, "-c", look], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "bot.wiring.app.rails" in loaded.stdout
    assert not [name for name in ("coincurve", "websockets") if f"'{name}'" in loaded.stdout]
