"""The rails of RAILS: how each is built from the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from bot.core.errors import ConfigError
from bot.core.net.webhook_addresses import AllowList
from bot.service.model.payout import BANK, LIGHTNING, LNBITS, NWC, SANDBOX
from bot.service.rails.bank import BankRail
from bot.service.rails.lightning_address import LightningAddressRail
from bot.service.rails.lnbits import LNbitsRail
from bot.service.rails.rail import Rails
from bot.service.rails.sandbox import SandboxRail

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bot.config import Settings
    from bot.service.rails.rail import Rail

    Builder: TypeAlias = Callable[[Settings, Callable[[], int]], Rail]


def _nwc(settings: Settings, now: Callable[[], int]) -> Rail:
    """Build the rail of wallets over Nostr; without it, nothing of its libraries is loaded."""
    try:
        from bot.service.rails.nwc import NwcRail  # noqa: PLC0415
    except ImportError as error:
        problem = (
            f"RAILS: nwc needs {error.name}, which has no release for this Python: "
            "use Python 3.11 to 3.13, or leave nwc out"
        )
        raise ConfigError([problem]) from error
    return NwcRail(_allow(settings), now)


BUILDERS: Mapping[str, Builder] = {
    SANDBOX: lambda _settings, _now: SandboxRail(),
    BANK: lambda _settings, _now: BankRail(),
    LIGHTNING: lambda settings, now: LightningAddressRail(_allow(settings), now),
    LNBITS: lambda settings, now: LNbitsRail(_allow(settings), now),
    NWC: _nwc,
}
"""The rail of each kind, from the settings and the clock (epoch ms)."""


def build_rails(settings: Settings, now: Callable[[], int]) -> Rails:
    """Build the rails of all kinds that the settings name."""
    return Rails(*(BUILDERS[kind](settings, now) for kind in settings.rails))


def _allow(settings: Settings) -> AllowList:
    return AllowList.parse(settings.rail_allow)
