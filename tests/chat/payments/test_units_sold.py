"""How many units were sold, from what servers of every kind say: never more than is sure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.chat.model.request_spec import RequestSpec
from bot.chat.payments.reconciler import count_sold
from bot.chat.store.link_rows import LIVE, STOPPED, PaymentLink
from tests.support.chat_harness import COFFEE, PAINTING, STICKERS, service_answer
from tests.support.service_harness import NOON


def link(spec: RequestSpec, state: str = LIVE) -> PaymentLink:
    return PaymentLink("abc", 1, 1, "token", state, spec, None, None, 0, NOON)


@pytest.mark.parametrize(
    ("spec", "fields", "number"),
    [
        (COFFEE, {}, 0),
        (COFFEE, {"is_enabled": False}, 0),
        (COFFEE, {"paid_count": 7}, 7),
        (STICKERS, {"paid_count": 4, "total_units": 3, "remaining_units": 0}, 4),
        (STICKERS, {"paid_count": 0, "total_units": 3, "remaining_units": 1}, 0),
        (STICKERS, {"total_units": 3, "remaining_units": 1}, 2),
        (STICKERS, {"total_units": 3, "remaining_units": 1, "reserved_units": 1}, 1),
        (STICKERS, {"total_units": 3, "remaining_units": 1, "reserved_units": 5}, 0),
        (STICKERS, {"total_units": 3, "remaining_units": 5}, 0),
        (STICKERS, {"remaining_units": 1}, 2),
        (replace(STICKERS, units=2), {"total_units": 3, "remaining_units": 1}, 1),
        (replace(STICKERS, units=2), {"total_units": 2, "remaining_units": 1}, 1),
        (STICKERS, {"total_units": 3}, 0),
        (STICKERS, {"is_enabled": False}, 0),
        (PAINTING, {}, 0),
        (PAINTING, {"is_enabled": False}, 1),
        (PAINTING, {"is_enabled": False, "expires_at": NOON + 1}, 1),
        (PAINTING, {"is_enabled": False, "expires_at": NOON}, 0),
        (PAINTING, {"is_enabled": False, "enabled_at": NOON}, 1),
        (PAINTING, {"is_enabled": False, "enabled_at": NOON + 1}, 0),
        (PAINTING, {"is_enabled": False, "paid_count": 0}, 0),
        (PAINTING, {"is_enabled": False, "status": "completed", "expires_at": NOON}, 1),
        (PAINTING, {"is_enabled": False, "status": "soldOut"}, 1),
        (PAINTING, {"is_enabled": False, "status": "active"}, 0),
        (PAINTING, {"is_enabled": False, "status": "expired"}, 0),
        (PAINTING, {"is_enabled": True, "status": "completed"}, 0),
    ],
)
def test_sold_units_are_counted_from_the_servers_answer(
    spec: RequestSpec, fields: dict[str, Any], number: int
) -> None:
    """By its count, else by units gone and not reserved, else by the reason why it is closed.

    Units that were taken out are off the spec, and off the total of some servers.
    """
    assert count_sold(service_answer(**fields), link(spec), NOON) == number


def test_a_stopped_one_off_does_not_count_as_paid() -> None:
    closed = service_answer(is_enabled=False)
    assert count_sold(closed, link(PAINTING, STOPPED), NOON) == 0
    assert count_sold(service_answer(paid_count=1), link(PAINTING, STOPPED), NOON) == 1
