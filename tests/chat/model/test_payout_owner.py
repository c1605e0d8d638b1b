"""The names by which sellers are known to the payment service."""

from __future__ import annotations

import re

import pytest

from bot.chat.model.payout import account_destination, owner_ref


@pytest.mark.parametrize("seller_id", [1, 4711, 2**63 - 1])
def test_a_sellers_name_at_the_service_has_the_form_that_it_takes(seller_id: int) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", owner_ref(seller_id))
    assert account_destination(seller_id) == f"account:{owner_ref(seller_id)}"
