"""One rule for phone numbers: `erase` finds any that the pay page accepts, however typed."""

from __future__ import annotations

import pytest

from bot.core.privacy import erasure
from bot.core.text import phones
from bot.service.model import payer_data

NUMBERS = ["+44 20 7946 0958", "(020) 7946-0958", "1234567", "123456789012345", "+49.30/901820"]
OTHERS = ["123456", "1234567890123456", "44+2079460958", "020 7946 0958 x1", "٠٢٠٧٩٤٦٠٩٥٨", ""]


@pytest.mark.parametrize("text", NUMBERS)
def test_a_phone_number_is_accepted_and_found(text: str) -> None:
    data, wrong = payer_data.check_payer_data(["phoneNumber"], {"phoneNumber": text})
    assert wrong == ()
    assert erasure.match_key(text) == erasure.match_key(data["phoneNumber"]) == phones.digits(text)


@pytest.mark.parametrize("text", OTHERS)
def test_other_text_is_refused_and_searched_as_a_word(text: str) -> None:
    assert phones.digits(text) is None
    assert payer_data.check_payer_data(["phoneNumber"], {"phoneNumber": text}) == (
        {},
        ("phoneNumber",),
    )
    assert erasure.match_key(text) == text
