"""The rails of RAILS: how each is built from the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from bot.service.model.payout import SANDBOX
from bot.service.rails.rail import Rails
from bot.service.rails.sandbox import SandboxRail

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bot.config import Settings
    from bot.service.rails.rail import Rail

    Builder: TypeAlias = Callable[[Settings, Callable[[], int]], Rail]

BUILDERS: Mapping[str, Builder] = {
    SANDBOX: lambda _settings, _now: SandboxRail(),
}
"""The rail of each kind, from the settings and the clock (epoch ms)."""


def build_rails(settings: Settings, now: Callable[[], int]) -> Rails:
    """Build the rails of all kinds that the settings name."""
    return Rails(*(BUILDERS[kind](settings, now) for kind in settings.rails))
