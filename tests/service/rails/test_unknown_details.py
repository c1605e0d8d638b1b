"""Each rail names the fields of details that its accounts don't have, before it asks anybody."""

from __future__ import annotations

import pytest

from bot.core.errors import InvalidBody
from bot.core.net.webhook_addresses import AllowList
from bot.service.rails.lightning import LightningAddressRail
from bot.service.rails.lnbits import LNbitsRail
from bot.service.rails.nwc import NwcRail
from bot.service.rails.rail import Rail


@pytest.mark.parametrize("kind", [LightningAddressRail, LNbitsRail, NwcRail])
async def test_an_unknown_field_is_named(kind: type[Rail]) -> None:
    rail = kind(AllowList(), lambda: 0)  # type: ignore[call-arg]  # the protocol has no constructor
    with pytest.raises(InvalidBody) as refused:
        await rail.connect({"walletName": "shop"})
    await rail.close()
    ((problem),) = refused.value.info
    assert (problem.field, problem.code) == ("details.walletName", "unknownField")
