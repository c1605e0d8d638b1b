"""Rates as settings have them."""

from __future__ import annotations

import pytest

from bot.core.net.rates import Rate, parse_rate


@pytest.mark.parametrize(
    ("written", "rate"),
    [
        ("30/second", Rate(30, 1)),
        ("1/second", Rate(1, 1)),
        (" 20/minute ", Rate(20, 60)),
        ("1200/minute", Rate(1200, 60)),
        ("0", None),
        (0, None),
        (None, None),
        (Rate(1, 1), Rate(1, 1)),
    ],
)
def test_a_rate_counts_for_a_second_or_a_minute_and_0_is_no_limit(
    written: object, rate: Rate | None
) -> None:
    assert parse_rate(written) == rate


@pytest.mark.parametrize(
    "written",
    ["", "30", "0/second", "-1/second", "1.5/second", "30/hour", "30 / second", "x", "٣/second"],
)
def test_other_rates_are_refused_with_an_example(written: str) -> None:
    with pytest.raises(ValueError, match="write a rate such as 30/second or 20/minute, or 0"):
        parse_rate(written)
