"""An invoice is shown to a payer only if it is exactly the one that was asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.core.errors import InvoiceError
from bot.service.rails import invoices
from tests.support.lightning_invoices import PREIMAGE, InvoiceDraft, hash_of

NOW = 1_794_000_000_500
GOOD = InvoiceDraft(21_000, NOW)


def test_the_invoice_that_was_asked_for_is_taken() -> None:
    assert invoices.check_invoice(GOOD.write(), 21, NOW).payment_hash == hash_of()


@pytest.mark.parametrize(
    ("draft", "message"),
    [
        (replace(GOOD, msat=22_000), "asks for 22000 millisatoshi, 21000"),
        (replace(GOOD, msat=20_999), "asks for 20999"),
        (replace(GOOD, msat=21_001), "asks for 21001"),
        (replace(GOOD, msat=None), "asks for None"),
        (replace(GOOD, network="tb"), "network tb"),
        (replace(GOOD, network="bcrt"), "network bcrt"),
        (replace(GOOD, network="tbs"), "network tbs"),
        (replace(GOOD, created_at=NOW - 601_000, expiry=86_400), "not made just now"),
        (replace(GOOD, created_at=NOW + 602_000), "not made just now"),
        (replace(GOOD, created_at=NOW - 500_000, expiry=300), "lapsed"),
        (replace(GOOD, expiry=0), "lapsed"),
        (replace(GOOD, expiry=29), "lapsed"),
    ],
)
def test_every_other_invoice_is_refused(draft: InvoiceDraft, message: str) -> None:
    with pytest.raises(InvoiceError, match=message):
        invoices.check_invoice(draft.write(), 21, NOW)


def test_a_wallets_clock_may_be_ten_minutes_off() -> None:
    for created_at in (NOW - 590_000, NOW + 590_000):
        draft = replace(GOOD, created_at=created_at, expiry=3_600)
        assert invoices.check_invoice(draft.write(), 21, NOW).amount == 21_000


@pytest.mark.parametrize("preimage", [PREIMAGE, f"{0xABCD:064X}", f"{0xABCD:064x}"])
def test_a_preimage_fits_the_hash_that_was_made_of_it(preimage: str) -> None:
    assert invoices.fits(preimage, hash_of(preimage))


@pytest.mark.parametrize("preimage", ["12" * 32, "", "11" * 31, "zz" * 32, f" {PREIMAGE}", "é"])
def test_any_other_preimage_does_not_fit(preimage: str) -> None:
    assert not invoices.fits(preimage, hash_of())
