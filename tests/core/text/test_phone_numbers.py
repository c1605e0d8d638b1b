"""One rule for phone numbers: `erase` finds any that the pay page accepts, however typed."""

from __future__ import annotations

import pytest

from bot.core import erasure
from bot.core.text import contacts
from bot.service.checkouts import order

NUMBERS = ["+44 20 7946 0958", "(020) 7946-0958", "1234567", "123456789012345", "+49.30/901820"]
OTHERS = ["123456", "1234567890123456", "44+2079460958", "020 7946 0958 x1", ""]
OTHERS += ["+49 170 1234567\u00b2", "+49 170 123456\u2460"]  # the mark of a footnote is no digit

DIALLED = [
    ("\u202a+49 170 1234567\u202c", "+491701234567"),
    ("\u200e+49\u00a0170\u202f123\u20114567\u200f", "+491701234567"),
    ("+49 170 – 1234567", "+491701234567"),
    ("\u2066+44 \u2212 20\u2012794\u20140958\u2069", "+44207940958"),
    ("\uff0b\uff14\uff19\uff08\uff10\uff09\uff11\uff17\uff10 1234567", "+491701234567"),
    ("\uff10\uff13\u30fc1234\u30fc5678", "0312345678"),
    ("+966 \u0665\u0660 \u0661\u0662\u0663 \u0664\u0665\u0666\u0667", "+966501234567"),
    ("\u0968\u0967\u0966\u0969\u0967\u0966\u0967\u0966", "21031010"),
    ("tel:+49-170-1234567", "+491701234567"),
    ("Tel.: 0170/123 45 67", "01701234567"),
    ("+49 (0)170 1234567", "+491701234567"),
    ("+49(0) 170 1234567", "+491701234567"),
    ("(+49) [0] 170.1234567", "+491701234567"),
    ("0049 (0)170 1234567", "00491701234567"),
    ("49 (0)170 1234567", "+491701234567"),
    ("+39 06 1234567", "+39061234567"),
    ("+39 (06) 1234567", "+39061234567"),
    ("+39 (0)6 1234567", "+39061234567"),
    ("+49 0170 1234567", "+4901701234567"),
    ("(0)170 1234567", "01701234567"),
    ("+1 (555) 010-9999", "+15550109999"),
    ("+49\u2022170\u00b7123\u2027456\uff657", "+491701234567"),
]


@pytest.mark.parametrize(("text", "number"), DIALLED)
def test_a_pasted_number_is_stored_as_it_is_dialled(text: str, number: str) -> None:
    """Contact lists add marks, dashes and spaces; a zero in brackets is for callers at home."""
    data, wrong = order.check_payer_data(["phoneNumber"], {"phoneNumber": text})
    assert (data, wrong) == ({"phoneNumber": number}, ())
    assert erasure.match_key(text) == erasure.match_key(number)


@pytest.mark.parametrize("text", NUMBERS)
def test_a_phone_number_is_accepted_and_found(text: str) -> None:
    data, wrong = order.check_payer_data(["phoneNumber"], {"phoneNumber": text})
    assert wrong == ()
    assert (
        erasure.match_key(text)
        == erasure.match_key(data["phoneNumber"])
        == contacts.phone_digits(text)
    )


@pytest.mark.parametrize("text", OTHERS)
def test_other_text_is_refused_and_searched_as_a_word(text: str) -> None:
    assert contacts.phone_digits(text) is None
    assert order.check_payer_data(["phoneNumber"], {"phoneNumber": text}) == (
        {},
        ("phoneNumber",),
    )
    assert erasure.match_key(text) == text
