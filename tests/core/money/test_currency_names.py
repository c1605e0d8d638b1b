"""The currencies meant by words and symbols, in any language."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from babel.numbers import get_currency_name
from hypothesis import given
from hypothesis import strategies as st

from bot.core.errors import MoneyError
from bot.core.money import amounts, spellings
from tests.support.source_tree import ROOT

CODES = sorted(amounts.currencies())
LANGUAGES = ("en", "de", "es", "pt", "fr", "ru", "ar", "hi")
FUNDS = {"CHE", "CHW", "COU", "UYI", "USN"}  # units of account: nobody is paid in them
BY_CODE = {"CNH", "GGP", "IMP", "JEP", "XAG", "XAU"}  # named by their codes alone


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("Kanadische Dollar", "CAD"),
        ("pesos colombianos", "COP"),
        ("francos suíços", "CHF"),
        ("livres sterling", "GBP"),
        (
            "\u0438\u043d\u0434\u0438\u0439\u0441\u043a\u0438\u0445 \u0440\u0443\u043f\u0438\u0439",
            "INR",
        ),
    ],
)
def test_whole_names_are_known_in_every_language(name: str, code: str) -> None:
    """A currency's full name, in any of its forms, is that currency."""
    assert code == amounts.find_currency(name)


@pytest.mark.parametrize(
    "name", ["gold", "oro", "or", "Silber", "offshore yuan", "yuan (offshore)"]
)
def test_metals_are_named_by_their_codes_only(name: str) -> None:
    """`5 Gold` is no price in ounces."""
    assert amounts.find_currency("xau") == "XAU"
    with pytest.raises(MoneyError):
        amounts.find_currency(name)


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_own_spelling_is_in_no_other_currencys_cldr_names(language: str) -> None:
    """A spelling is ours for one currency only if CLDR has it in no other's name."""
    ours = {name: code for code, names in spellings.UNSHARED.items() for name in names.split("|")}
    for code in set(CODES) - FUNDS - BY_CODE:
        for count in (1, 2, 5):
            name = get_currency_name(code, count, locale=language)
            for word in spellings.fold(name).split():
                assert ours.get(word, code) == code, name


def test_no_spelling_is_entered_twice() -> None:
    """Spellings of one currency and shared ones are disjoint, so no entry hides another."""
    tables = [*spellings.UNSHARED.values(), *spellings.SHARED.values()]
    entered = [name for names in tables for name in names.split("|")]
    assert len(entered) == len(set(entered))
    assert all(name == spellings.fold(name) for name in entered)


def test_every_spelling_has_known_currencies() -> None:
    """No text is read as an unknown currency, and no code means another one."""
    for name, spelling in spellings.own_spellings().items():
        assert spelling.codes
        assert spelling.codes <= amounts.currencies(), name
        assert spelling.usual is None or spelling.usual in spelling.codes
        assert name not in amounts.currencies() or spelling == spellings.spelling_of(name)


@given(st.sampled_from(sorted(spellings.own_spellings())), st.sampled_from([*CODES, None]))
def test_a_spelling_means_one_of_its_currencies(name: str, usual: str | None) -> None:
    """With any default, the result is a currency of the spelling, or it is ambiguous."""
    meant = spellings.own_spellings()[name]
    try:
        assert amounts.read_currency(f"5 {name}", usual) in meant.codes & {usual, meant.usual}
    except MoneyError:
        assert len(meant.codes & {usual, meant.usual}) != 1


SHORT_OF_FILES = """
import resource
from bot.core.money import amounts
from bot.core.errors import MoneyError
amounts.find_currency("usd")
resource.setrlimit(resource.RLIMIT_NOFILE, (0, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
try:
    print(amounts.find_currency("reais"))
    print(amounts.find_currency("dólares canadienses"))
except MoneyError as error:
    print(error.reason)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
print(amounts.find_currency("dólares canadienses"))
"""


def test_a_word_is_unknown_while_cldr_files_cannot_be_opened() -> None:
    """Names of other languages are in files; a failure to open them is no error."""
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", SHORT_OF_FILES],
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["BRL", "unknownCurrency", "CAD"], done.stderr
