"""The source of a rate, as people read it in each language; the interface's value is English."""

from __future__ import annotations

import pytest

from bot.core.text.translations import BY_DEFINITION, languages, rate_source, rate_source_text
from bot.service.rails.exchange_rates import SandboxExchange


@pytest.mark.parametrize(
    ("names", "english", "german"),
    [
        (["a.example"], "a.example", "a.example"),
        (["a.example", "b.org"], "median of a.example and b.org", "Median aus a.example und b.org"),
        (
            ["a.de", "b.de", "c.de"],
            "median of a.de, b.de and c.de",
            "Median aus a.de, b.de und c.de",
        ),
    ],
)
def test_the_sources_of_a_median_are_listed_in_each_language(
    names: list[str], english: str, german: str
) -> None:
    source = rate_source(names)
    assert source == english
    assert rate_source_text(source, "en") == english
    assert rate_source_text(source, "de") == german


def test_a_rate_of_tests_and_a_fixed_one_are_named_in_each_language() -> None:
    made_up = SandboxExchange().rate("USD", "SAT")
    assert made_up is not None
    for source in (made_up.source, BY_DEFINITION):
        texts = {rate_source_text(source, language) for language in languages()}
        assert len(texts) == len(languages())
        assert source not in texts


@pytest.mark.parametrize(
    "source", ["", "HandCash", "median of ", "median of a", "a and b", " and ", "median of  and "]
)
def test_any_source_of_another_server_is_shown(source: str) -> None:
    shown = rate_source_text(source, "en")
    assert shown.replace(" and ", ", ").startswith(source.replace(" and ", ", ").rstrip(", "))
