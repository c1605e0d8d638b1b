"""Invoices are read to the letter, and only the one that was asked for is shown to a payer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.core.errors import InvoiceError
from bot.core.images import qr
from bot.service.rails import invoices
from bot.service.rails.invoices import LONGEST, decode
from tests.support.lightning_wallet import ALPHABET, PREIMAGE, InvoiceDraft, hash_of, seal

AT = 1_794_000_000_000
GOOD = InvoiceDraft(1_234_000, AT)
INVOICE = GOOD.write()


@pytest.mark.parametrize("text", [INVOICE, INVOICE.upper()])
def test_every_field_is_read_in_both_cases(text: str) -> None:
    found = decode(text)
    assert found.text == INVOICE
    assert (found.network, found.amount, found.payment_hash) == ("bc", 1_234_000, hash_of())
    assert (found.created_at, found.lapses_at) == (AT, AT + 900_000)


@given(
    msat=st.none() | st.integers(1, 2_100_000_000_000_000_000),
    created_at=st.integers(0, 2**35 - 1),
    expiry=st.none() | st.integers(0, 315_360_000),
    payment_hash=st.binary(min_size=32, max_size=32),
    network=st.sampled_from(["bc", "tb", "tbs", "bcrt"]),
)
def test_what_was_written_is_read(
    msat: int | None, created_at: int, expiry: int | None, payment_hash: bytes, network: str
) -> None:
    draft = InvoiceDraft(msat, created_at * 1000, expiry, payment_hash.hex(), network)
    found = decode(draft.write())
    assert (found.amount, found.network) == (msat, network)
    assert found.payment_hash == payment_hash.hex()
    assert found.created_at == created_at * 1000
    assert found.lapses_at == (created_at + (3600 if expiry is None else expiry)) * 1000


@pytest.mark.parametrize(
    ("head", "amount"),
    [
        *(("lnbc1", 10**11), ("lnbc20m", 2 * 10**9), ("lnbc25u", 2_500_000), ("lnbc10p", 1)),
        ("lnbc20999999999999999990p", 2_099_999_999_999_999_999),
    ],
)
def test_the_units_of_an_amount_are_milli_micro_nano_and_pico(head: str, amount: int) -> None:
    assert decode(seal(head, GOOD.words())).amount == amount


@pytest.mark.parametrize(
    "head",
    ["lnbc01", "lnbc0", "lnbc1x", "lnbcm", "lnbc-1", "lnxx1", "bc1", "ln", "lnbc1.5", "lnbc١"],
)
def test_a_wrong_head_is_refused(head: str) -> None:
    with pytest.raises(InvoiceError, match="no Lightning invoice"):
        decode(seal(head, GOOD.words()))


def test_a_part_of_a_millisatoshi_is_refused() -> None:
    with pytest.raises(InvoiceError, match="part of a millisatoshi"):
        decode(seal("lnbc2500000001p", GOOD.words()))


@pytest.mark.parametrize(
    "draft",
    [
        replace(GOOD, payment_hash=None),
        replace(GOOD, secret=False),
        replace(GOOD, payment_hash=None, extra=(("p", [0] * 51),)),
    ],
)
def test_an_invoice_needs_a_payment_hash_and_a_secret(draft: InvoiceDraft) -> None:
    with pytest.raises(InvoiceError, match="no payment hash or no payment secret"):
        decode(draft.write())


def test_fields_of_a_wrong_length_are_skipped_and_the_first_of_two_counts() -> None:
    """As in the specification's own examples."""
    short, second = ("p", [1] * 51), ("d", [3])
    assert decode(replace(GOOD, extra=(short, second, second)).write()).payment_hash == hash_of()
    first = ("p", [0] * 52)
    assert decode(replace(GOOD, extra=(first,)).write()).payment_hash == "00" * 32


def test_a_field_beyond_the_end_is_refused() -> None:
    words = GOOD.words()
    for tail in ([1], [1, 0], [1, 31, 31], [1, 31, 31, 0]):
        with pytest.raises(InvoiceError, match="past its end"):
            decode(seal("lnbc10u", words[:-104] + tail + words[-104:]))


def test_an_endless_expiry_is_bounded() -> None:
    draft = replace(GOOD, expiry=None, extra=(("x", [31] * 500),))
    assert decode(draft.write()).lapses_at == AT + 315_360_000_000


@pytest.mark.parametrize(
    "text",
    [
        *("", "1", "ln", "lnbc1", "lnbc" + "1" * 3000, "lnbc1" + "q" * 3000, "ſ" * 200),
        *(INVOICE[:10].upper() + INVOICE[10:], f"lightning:{INVOICE}", f"{INVOICE} ", " "),
        *(INVOICE + "q" * LONGEST, INVOICE[:-120], seal("lnbc10u", [0] * 110)),
    ],
)
def test_what_is_no_invoice_is_refused(text: str) -> None:
    with pytest.raises(InvoiceError):
        decode(text)


@given(st.integers(4, len(INVOICE) - 1), st.sampled_from(f"{ALPHABET}1b0é"))
def test_a_damaged_character_is_found(at: int, char: str) -> None:
    damaged = INVOICE[:at] + char + INVOICE[at + 1 :]
    if damaged != INVOICE:
        with pytest.raises(InvoiceError):
            decode(damaged)


@given(st.lists(st.integers(0, 31), max_size=400), st.sampled_from(["lnbc", "lnbc1m", "lntb5n"]))
@example([0] * 117, "lnbc")
def test_any_words_with_a_right_checksum_are_read_or_refused(words: list[int], head: str) -> None:
    try:
        found = decode(seal(head, words))
    except InvoiceError:
        return
    assert len(found.payment_hash) == 64


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(text: str) -> None:
    with pytest.raises(InvoiceError):
        decode(text)


def test_the_longest_invoice_fits_into_a_code() -> None:
    assert qr.png("LIGHTNING:" + "Q" * LONGEST)
    with pytest.raises(ValueError, match="no QR code"):
        qr.png("LIGHTNING:" + "Q" * (LONGEST + 1))


NOW = 1_794_000_000_500
ASKED = InvoiceDraft(21_000, NOW)


def test_the_invoice_that_was_asked_for_is_taken() -> None:
    assert invoices.check_invoice(ASKED.write(), 21, NOW).payment_hash == hash_of()


@pytest.mark.parametrize(
    ("draft", "message"),
    [
        (replace(ASKED, msat=22_000), "asks for 22000 millisatoshi, 21000"),
        (replace(ASKED, msat=20_999), "asks for 20999"),
        (replace(ASKED, msat=21_001), "asks for 21001"),
        (replace(ASKED, msat=None), "asks for None"),
        (replace(ASKED, network="tb"), "network tb"),
        (replace(ASKED, network="bcrt"), "network bcrt"),
        (replace(ASKED, network="tbs"), "network tbs"),
        (replace(ASKED, created_at=NOW - 601_000, expiry=86_400), "not made just now"),
        (replace(ASKED, created_at=NOW + 602_000), "not made just now"),
        (replace(ASKED, created_at=NOW - 500_000, expiry=300), "lapsed"),
        (replace(ASKED, expiry=0), "lapsed"),
        (replace(ASKED, expiry=29), "lapsed"),
    ],
)
def test_every_other_invoice_is_refused(draft: InvoiceDraft, message: str) -> None:
    with pytest.raises(InvoiceError, match=message):
        invoices.check_invoice(draft.write(), 21, NOW)


def test_a_wallets_clock_may_be_ten_minutes_off() -> None:
    for created_at in (NOW - 590_000, NOW + 590_000):
        draft = replace(ASKED, created_at=created_at, expiry=3_600)
        assert invoices.check_invoice(draft.write(), 21, NOW).amount == 21_000


@pytest.mark.parametrize("preimage", [PREIMAGE, f"{0xABCD:064X}", f"{0xABCD:064x}"])
def test_a_preimage_fits_the_hash_that_was_made_of_it(preimage: str) -> None:
    assert invoices.fits(preimage, hash_of(preimage))


@pytest.mark.parametrize("preimage", ["12" * 32, "", "11" * 31, "zz" * 32, f" {PREIMAGE}", "é"])
def test_any_other_preimage_does_not_fit(preimage: str) -> None:
    assert not invoices.fits(preimage, hash_of())
