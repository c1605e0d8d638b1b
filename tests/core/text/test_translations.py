"""Texts by language and key are complete in each language, with all their values."""

from __future__ import annotations

import pytest
from fluent.runtime import FluentResource
from fluent.syntax import ast

from bot.core.text import translations
from bot.core.text.translations import DEFAULT, choose, languages, t
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
