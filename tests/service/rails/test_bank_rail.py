"""The rail of banks: opened without I/O, and only the seller knows whether the money came."""

from __future__ import annotations

import pytest

from bot.core.errors import InvalidBody
from bot.service.rails import bank
from bot.service.rails.bank import BankRail
from bot.service.rails.rail import Charge, Unavailable, Waiting
from tests.service.rails.test_accounts import SEPA
from tests.support.bank_codes import read_epc

RAIL = BankRail()


async def charge(amount: int = 1230) -> Charge:
    details = (await RAIL.connect(SEPA)).details
    return Charge("c1", amount, "EUR", "Coffee", "RF19234567", 0, 1000, details)


async def test_a_checkout_opens_at_once_with_its_code_and_is_never_polled() -> None:
    ask = await charge()
    opened = RAIL.open_offline(ask)
    assert opened
    assert (opened.external_id, opened.poll_times, opened.arrived) == (ask.reference, (), None)
    assert opened.pay_with
    assert opened.pay_with.qr_text
    assert read_epc(opened.pay_with.qr_text)["amount"] == "EUR12.30"
    assert await RAIL.open(ask) == opened
    assert await RAIL.poll(ask, opened) == Waiting()
    assert RAIL.host(ask.details) == ""


async def test_an_amount_that_no_code_can_ask_for_is_refused() -> None:
    assert RAIL.open_offline(await charge(bank.MOST_AMOUNT))
    ask = await charge(bank.MOST_AMOUNT + 1)
    assert RAIL.open_offline(ask) is None
    refused = await RAIL.open(ask)
    assert isinstance(refused, Unavailable)
    assert refused.reason == "tooLarge"


async def test_a_wrong_account_is_refused() -> None:
    with pytest.raises(InvalidBody) as refused:
        await RAIL.connect(SEPA | {"iban": "DE88370400440532013000"})
    assert [problem.field for problem in refused.value.info] == ["details.iban"]
