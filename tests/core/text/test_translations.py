"""Texts by language and key are complete in each language; phrases and sources of rates in each."""

from __future__ import annotations

import pytest
from fluent.runtime import FluentResource
from fluent.syntax import ast

from bot.core.text import translations
from bot.core.text.translations import (
    BY_DEFINITION,
    DEFAULT,
    choose,
    languages,
    rate_source,
    rate_source_text,
    t,
)
from bot.service.rails.exchange_rates import SandboxExchange
from tests.support.source_tree import VARIABLE, messages


def test_the_default_language_comes_first() -> None:
    assert languages()[0] == DEFAULT == "en"
    assert len(set(languages())) == len(languages())


@pytest.mark.parametrize(
    ("tag", "language"),
    [
        *[("en", "en"), ("en-GB", "en"), ("EN_us", "en")],
        *[("de", "de"), ("de-AT", "de"), ("DE_ch", "de")],
        *[("nl", "en"), ("den", "en"), ("xx", "en"), ("", "en"), (None, "en")],
    ],
)
def test_a_tag_chooses_its_language_or_else_english(tag: str | None, language: str) -> None:
    assert choose(tag) == language


def test_every_language_has_the_same_keys_with_the_same_values() -> None:
    ours = messages(DEFAULT)
    for language in languages()[1:]:
        theirs = messages(language)
        assert ours.keys() == theirs.keys()
        for key, source in ours.items():
            assert set(VARIABLE.findall(source)) == set(VARIABLE.findall(theirs[key])), key


@pytest.mark.long
@pytest.mark.parametrize("language", languages())
def test_each_message_is_cut_whole_from_its_file(language: str) -> None:
    """Messages are parsed one by one, at their first use."""
    written = {key: FluentResource(source).body for key, source in messages(language).items()}
    for key, (whole,) in written.items():
        (taken,) = (
            entry
            for entry in FluentResource(translations._sources(language)[key]).body
            if not isinstance(entry, ast.ResourceComment | ast.GroupComment | ast.Comment)
        )
        assert taken.equals(whole), key
    assert translations._sources(language).keys() == written.keys()


def test_values_are_inserted_as_they_are() -> None:
    """Without the isolation marks of Fluent; callers escape them before."""
    assert t("en", "listing-deleted", name="<b>&") == (
        "<b><b>&</b> has been deleted. Its link no longer works."
    )


def test_a_value_may_be_as_long_as_escaped_input() -> None:
    words = "&quot;" * 4096
    assert t("en", "listing-deleted", name=words) == (
        f"<b>{words}</b> has been deleted. Its link no longer works."
    )


@pytest.mark.parametrize("values", [{}, {"nam": "x"}])
def test_a_missing_value_is_a_bug_and_never_shown(values: dict[str, str]) -> None:
    with pytest.raises(KeyError, match="listing-deleted"):
        t("en", "listing-deleted", **values)


def test_an_unknown_key_is_a_bug() -> None:
    with pytest.raises(LookupError, match="no-such-key"):
        translations.t("en", "no-such-key")


# Phrases of chat, pages and letters: the same numbers and sizes wherever people read them.


@pytest.mark.parametrize(
    ("last", "english", "german"),
    [
        (1_007, "1,007", "1.007"),
        (1_008, "1,007 and 1,008", "1.007 und 1.008"),
        (1_009, "1,007, 1,008 and 1,009", "1.007, 1.008 und 1.009"),
        (1_010, "1,007 to 1,010", "1.007 bis 1.010"),
    ],
)
def test_units_are_named_one_by_one_or_as_a_range(last: int, english: str, german: str) -> None:
    assert translations.unit_numbers(1_007, last, "en-US") == english
    assert translations.unit_numbers(1_007, last, "de") == german


@pytest.mark.parametrize(
    ("size", "english", "german"),
    [
        (1, "1 KB", "1 KB"),
        (1_025, "2 KB", "2 KB"),
        (1_048_575, "1,024 KB", "1.024 KB"),
        (3_400_000, "3.2 MB", "3,2 MB"),
        (20_971_520, "20 MB", "20 MB"),
    ],
)
def test_a_file_is_at_least_1_kb(size: int, english: str, german: str) -> None:
    assert translations.file_size(size, "en") == english
    assert translations.file_size(size, "de") == german


# The source of a rate, as people read it in each language; the interface's value is English.


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
