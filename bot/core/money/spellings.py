"""Symbols and names of currencies: `€`, `reais`, `kr`, `dólares canadienses`.

A spelling that several currencies share needs more context to decide between them.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache

from babel import Locale
from babel.numbers import get_currency_name

from bot.core.text import sanitize

# Unambiguous spellings, in addition to CLDR's English symbols.
UNSHARED = {
    "USD": "US$|US $|U$S|U$D|U$",
    "EUR": "€|EURO|EUROS|ЕВРО|يورو|यूरो",  # noqa: RUF001 - Cyrillic is meant
    "BRL": "REAIS",
    "JPY": "円|JP¥|YEN|YENS|YENES|IENES|ИЕН|ИЕНЫ",
    "CNY": "RMB|YUAN|YUANES|ЮАНЬ|ЮАНЯ|ЮАНЕЙ",
    "CHF": "FR|SFR|FRANKEN",
    "RUB": "₽",
    "UAH": "₴|ГРН|ГРИВНА|ГРИВНЫ|ГРИВНИ|ГРИВЕН|HRYVNIA|HRYVNIAS",
    "KZT": "₸|ТЕНГЕ|TENGE",
    "GEL": "₾",
    "AZN": "₼",
    "AMD": "֏",
    "PLN": "ZŁ|ZL|ZŁOTY|ZŁOTE|ZŁOTYCH|ZLOTY|ZLOTYS",
    "CZK": "KČ",
    "SEK": "KRONOR",
    "TRY": "₺|TL",
    "ILS": "SHEKEL|SHEKELS",
    "INR": "₹",
    "BDT": "৳|TAKA",
    "IDR": "RP|RUPIAH",
    "MYR": "RM|RINGGIT",
    "THB": "฿|BAHT",
    "VND": "Đ",
    "KHR": "៛",
    "LAK": "₭",
    "MNT": "₮",
    "NGN": "₦|NAIRA",
    "GHS": "₵|GH₵|CEDIS",
    "KES": "KSH|KSHS",
    "PEN": "S/|SOLES",
    "PAB": "B/",
    "CRC": "₡",
    "PYG": "₲",
    "DOP": "RD$",
    "UYU": "$U",
    "MXN": "MEX$",
    "SGD": "S$",
    "AUD": "AU$",
    "GBP": "UK£",
    "SAT": "SATOSHI|SATOSHIS",
}

PESOS = "MXN ARS CLP COP UYU DOP CUP"
DOLLARS = "USD AUD CAD NZD SGD HKD TWD BBD BMD BND BSD BZD FJD GYD JMD KYD LRD NAD SBD SRD TTD XCD"
_POUNDS = "GBP EGP FKP GIP SHP LBP SYP SDG SSP"
_RUPEES = "INR PKR LKR NPR MUR SCR MVR IDR"
_ROUBLES = "RUB BYN"
_RIALS = "SAR QAR OMR YER IRR"
_DINARS = "KWD BHD JOD IQD LYD TND DZD RSD MKD"
_FRANCS = "CHF XAF XOF XPF BIF CDF DJF GNF KMF RWF"

# Spellings that several currencies share, or that are also words or units (`5 ft`).
SHARED = {
    f"{DOLLARS} {PESOS}": "$",
    DOLLARS: "DOLLAR|DOLLARS|DÓLAR|DÓLARES|ДОЛЛАР|ДОЛЛАРА|ДОЛЛАРОВ|دولار|डॉलर",
    f"{PESOS} PHP": "PESO|PESOS",
    _POUNDS: "£|POUND|POUNDS|PFUND|LIBRA|LIBRAS|LIVRE|LIVRES|جنيه",
    "JPY CNY": "¥",
    "CNY TWD HKD": "元",
    "KRW KPW": "WON|원",
    _RUPEES: "RS|RUPEE|RUPEES|RUPIAS|ROUPIES|RUPIEN|रु|रुपया|रुपये|रुपए",
    _ROUBLES: "Р|РУБ|РУБЛЬ|РУБЛЯ|РУБЛЕЙ|ROUBLES|RUBLES|RUBEL",  # noqa: RUF001 - Cyrillic is meant
    _RIALS: "RIYAL|RIYALS|RIAL|RIALS|ريال|ریال",
    _DINARS: "DINAR|DINARS|دينار",
    _FRANCS: "F|FRANC|FRANCS|FRANCOS",
    "XAF XOF": "FCFA|F CFA|CFA",
    "SEK NOK DKK ISK": "KR",
    "SEK NOK DKK ISK CZK": "KRONE|KRONEN|KRONER|CROWNS",
    "AED MAD": "DIRHAM|DIRHAMS|درهم",
    "TRY LBP SYP": "LIRA|LIRAS|ليرة",
    "ZMW MWK": "KWACHA",
    "CAD NIO": "C$",
    "BOB VES": "BS",
    "BYN ETB": "BR",
    "MXN CUP": "MN|M.N",
    "BTC BSV": "BITCOIN|BITCOINS",
    "BRL": "REAL",
    "PEN": "SOL",
    "ZAR": "R",
    "HUF": "FT",
}

# The default meaning of a shared symbol.
_USUAL = {"$": "USD", "£": "GBP", "¥": "JPY"}

# Abbreviations whose full stop may touch the number: Rs.500 is not half a rupee.
DOTTED = {"RS", "FR", "SFR", "KR", "BS", "S/", "B/", "रु", "РУБ", "Р"}  # noqa: RUF001 - Cyrillic is meant

# By script: its languages, and sample numbers that produce all plural forms of a name in CLDR.
_LANGUAGES = {
    "LATIN": (("en", "de", "es", "pt", "fr"), (1, 2)),
    "CYRILLIC": (("ru",), (1, 2, 5)),
    "ARABIC": (("ar",), (1, 2, 3, 11, 100)),
    "DEVANAGARI": (("hi",), (1, 2)),
}


@dataclass(frozen=True, slots=True)
class Spelling:
    """Currencies that a spelling may mean; `usual` is the default without context, if any."""

    codes: frozenset[str]
    usual: str | None

    def beside(self, other: Spelling) -> Spelling:
        """Combine two spellings: `$` and MXN mean pesos; contradictory spellings mean nothing."""
        codes = self.codes & other.codes
        meant = (usual for usual in (self.usual, other.usual) if usual in codes)
        return Spelling(codes, next(meant, None))


def spelling_of(code: str) -> Spelling:
    """Return the spelling of one currency."""
    return Spelling(frozenset({code}), code)


_NOTHING = Spelling(frozenset(), None)


def fold(name: str) -> str:
    """Normalize a name for lookup: upper case, single spaces, no full stop after a word."""
    plain = unicodedata.normalize("NFKC", name.translate(sanitize.INVISIBLE_MARKS)).upper()
    return " ".join(filter(None, (word.rstrip(".") for word in plain.split())))


def own_spellings() -> dict[str, Spelling]:
    """Return the spellings of this module, folded."""
    single = {
        name: spelling_of(code) for code, names in UNSHARED.items() for name in names.split("|")
    }
    shared = {
        name: Spelling(frozenset(codes.split()), _USUAL.get(name))
        for codes, names in SHARED.items()
        for name in names.split("|")
    }
    dollars = {f"{code}$": spelling_of(code) for code in shared["$"].codes}
    return {fold(name): meant for name, meant in (single | shared | dollars).items()}


def find_in_cldr(name: str, codes: frozenset[str]) -> Spelling:
    """Look up a folded name in CLDR, in the languages of its script.

    CLDR's files are loaded at the first look-up, not at startup: the Latin files cost 5 MB and
    60 ms. If they can't be read, nothing is found.
    """
    letter = next(filter(str.isalpha, name), "A")
    script = unicodedata.name(letter, "").partition(" ")[0]
    try:
        code = _cldr(script, codes).get(name)
    except OSError:
        code = None
    return spelling_of(code) if code else _NOTHING


@cache
def _cldr(script: str, codes: frozenset[str]) -> dict[str, str]:
    """Return the codes of names and symbols that mean the same currency in all those languages."""
    found: dict[str, set[str]] = {}
    languages, counts = _LANGUAGES.get(script, ((), ()))
    for language in languages:
        locale = Locale(language)
        for code in codes:
            names = {get_currency_name(code, count, locale) for count in counts}
            names |= {locale.currencies.get(code, code), locale.currency_symbols.get(code, code)}
            for name in names:
                found.setdefault(fold(name), set()).add(code)
    return {name: min(meant) for name, meant in found.items() if len(meant) == 1}
