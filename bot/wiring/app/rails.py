"""The rails of RAILS: how each is built from the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from bot.core.errors import ConfigError
from bot.core.net.webhook_addresses import AllowList
from bot.service.model.payout import BANK, LIGHTNING, LNBITS, NWC, SANDBOX
from bot.service.rails.rail import Rails
from bot.service.rails.sandbox import SandboxRail

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bot.config import Settings
    from bot.service.rails.host_calls import HostCalls
    from bot.service.rails.rail import Rail

    Builder: TypeAlias = Callable[[Settings, Callable[[], int], HostCalls | None], Rail]


def _bank(_settings: Settings, _now: Callable[[], int], _calls: HostCalls | None) -> Rail:
    from bot.service.rails.bank import BankRail  # noqa: PLC0415 - see BUILDERS

    return BankRail()


def _lightning(settings: Settings, now: Callable[[], int], calls: HostCalls | None) -> Rail:
    from bot.service.rails.lightning_address import LightningAddressRail  # noqa: PLC0415 - as above

    return LightningAddressRail(_allow(settings), now, calls)


def _lnbits(settings: Settings, now: Callable[[], int], calls: HostCalls | None) -> Rail:
    from bot.service.rails.lnbits import LNbitsRail  # noqa: PLC0415 - as above

    return LNbitsRail(_allow(settings), now, calls)


def _nwc(settings: Settings, now: Callable[[], int], calls: HostCalls | None) -> Rail:
    try:
        from bot.service.rails.nwc import NwcRail  # noqa: PLC0415 - as above
    except ImportError as error:
        problem = (
            f"RAILS: nwc needs {error.name}, which has no release for this Python: "
            "use Python 3.11 to 3.13, or leave nwc out"
        )
        raise ConfigError([problem]) from error
    return NwcRail(_allow(settings), now, calls)


BUILDERS: Mapping[str, Builder] = {
    SANDBOX: lambda _settings, _now, _calls: SandboxRail(),
    BANK: _bank,
    LIGHTNING: _lightning,
    LNBITS: _lnbits,
    NWC: _nwc,
}
"""The rail of each kind, from the settings, the clock (epoch ms) and the budgets of hosts.

Nothing of a kind is loaded that RAILS doesn't name: it would take memory and time at each start.
"""


def build_rails(
    settings: Settings, now: Callable[[], int], calls: HostCalls | None = None
) -> Rails:
    """Build the rails of all kinds that the settings name, without `calls` for a look at them."""
    return Rails(*(BUILDERS[kind](settings, now, calls) for kind in settings.rails))


def _allow(settings: Settings) -> AllowList:
    return AllowList.parse(settings.rail_allow)
