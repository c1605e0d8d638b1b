"""Words for times in the languages that sellers write, folded: `manana`, `marz`."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from contextlib import suppress
from functools import cache

from babel import Locale

from bot.core.text import sanitize, translations

MAX_TEXT = 64  # characters; a longer text is not about a time

SHORTEST = 3  # minimum letters of an abbreviated month or weekday
LANGUAGES = ("en", "de", "es", "fr", "it", "pt")
"""Additional languages in which times and places are understood."""

_ALSO_MONTHS = {1: {"janner"}, 2: {"feber"}, 3: {"maerz"}}
_ALSO_WEEKDAYS = {
    0: {"mo"}, 1: {"di"}, 2: {"mi"}, 3: {"do"}, 4: {"fr"}, 5: {"sa", "sonnabend"}, 6: {"so"},
}  # fmt: skip
"""German names that people type in addition to CLDR's: Austrian and northern ones, without umlauts,
and with two letters. Months count from 1, weekdays from Monday as 0."""

DAYS = {
    "today": 0, "heute": 0, "hoy": 0, "aujourd'hui": 0, "oggi": 0, "hoje": 0,
    "tomorrow": 1, "tmrw": 1, "morgen": 1, "manana": 1, "demain": 1, "domani": 1, "amanha": 1,
    "day after tomorrow": 2, "overmorrow": 2, "ubermorgen": 2, "uebermorgen": 2,
    "pasado manana": 2, "apres-demain": 2, "apres demain": 2, "dopodomani": 2,
    "depois de amanha": 2,
    "yesterday": -1, "gestern": -1, "ayer": -1, "hier": -1, "ieri": -1, "ontem": -1,
    "day before yesterday": -2, "vorgestern": -2, "anteayer": -2, "avant-hier": -2,
    "avant hier": -2, "altro ieri": -2, "l'altro ieri": -2, "anteontem": -2,
}  # fmt: skip
"""Days from today; past days are included, so that the reply can say that they are over."""

MORNING, AFTERNOON, EVENING = "morning", "afternoon", "evening"
PARTS = {
    "morning": MORNING, "this morning": MORNING, "in the morning": MORNING, "morgens": MORNING,
    "fruh": MORNING, "frueh": MORNING, "vormittag": MORNING, "vormittags": MORNING,
    "por la manana": MORNING, "de la manana": MORNING, "matin": MORNING, "du matin": MORNING,
    "mattina": MORNING, "di mattina": MORNING, "del mattino": MORNING, "de manha": MORNING,
    "da manha": MORNING,
    "afternoon": AFTERNOON, "in the afternoon": AFTERNOON, "nachmittag": AFTERNOON,
    "nachmittags": AFTERNOON, "por la tarde": AFTERNOON, "de la tarde": AFTERNOON,
    "apres-midi": AFTERNOON, "de l'apres-midi": AFTERNOON, "pomeriggio": AFTERNOON,
    "del pomeriggio": AFTERNOON, "da tarde": AFTERNOON, "a tarde": AFTERNOON,
    "evening": EVENING, "in the evening": EVENING, "abend": EVENING, "abends": EVENING,
    "por la noche": EVENING, "de la noche": EVENING, "soir": EVENING, "du soir": EVENING,
    "sera": EVENING, "di sera": EVENING, "a noite": EVENING, "da noite": EVENING,
}  # fmt: skip
TONIGHT = ("tonight", "this evening", "esta noche", "ce soir", "stasera", "esta noite")
HOURS_OF = {MORNING: (8, 9, 10), AFTERNOON: (14, 15, 16), EVENING: (18, 20, 22)}
"""Hours to offer if only the part of the day is named."""
MINUTES_OF = {MORNING: (4 * 60, 12 * 60), AFTERNOON: (12 * 60, 18 * 60), EVENING: (1020, 1440)}
"""First and last minute of each part of the day."""

NOON = (
    *("noon", "midday", "mittag", "mittags", "mediodia", "midi", "mezzogiorno", "meio-dia"),
    "meio dia",
)
MIDNIGHT = (
    *("midnight", "mitternacht", "medianoche", "minuit", "mezzanotte", "meia-noite", "meia noite"),
)
FOLLOWING = (
    *("next", "nachsten", "nachster", "nachste", "naechsten", "naechster"),
    *("proximo", "proxima", "prochain", "prochaine", "prossimo", "prossima"),
)
WITHIN = ("in", "within", "dans", "en", "em", "tra", "fra", "dentro de", "daqui a", "innerhalb von")
AT = ("at", "um", "gegen", "a las", "a la", "a", "as", "alle", "alle ore")
NOISE = (
    *("on", "am", "the", "den", "dem", "der", "de", "del", "el", "le", "la", "il", "di", "of"),
    *("em", "en", "no", "na", "this", "diesen", "dieser", "kommenden", "kommender", "este"),
    *("esta", "ce", "questo", "by", "until", "till", "bis", "bis zum", "hasta", "ate", "zum"),
    *("jusqu'a", "fino a", "from", "ab", "von", "vom", "desde", "dal", "from now", "ab jetzt"),
    *("later", "que viene", "dia"),
)
"""Words without a meaning of their own."""

UNITS = {
    unit: names.split()
    for unit, names in {
        "minutes": "min mins minute minutes minuten minuto minutos minuti",
        "hours": "h hr hrs hour hours std stunde stunden hora horas heure heures ora ore",
        "days": "d day days tag tage tagen dia dias jour jours j giorno giorni",
        "weeks": "w wk wks week weeks woche wochen semana semanas semaine semaines"
        " settimana settimane",
        "months": "month months monat monate monaten mes meses mois mese mesi",
        "years": "y yr year years jahr jahre jahren ano anos an ans annee annees anno anni",
    }.items()
}
HALF_HOUR = [
    *("half an hour", "a half hour", "halbe stunde", "halben stunde", "eine halbe stunde"),
    *("einer halben stunde", "media hora", "demi-heure", "une demi-heure", "mezz'ora"),
    *("mezzora", "meia hora"),
]
ONE = ["an", "a", "one", "ein", "eine", "einer", "einem", "einen", "una", "un", "une", "uma", "um"]

_SAME = dict.fromkeys([0x2018, 0x2019, 0x02BC], "'") | {0x060C: ","}


def folded(text: str) -> str | None:
    """Normalize a text: convert digits of any script to ASCII, remove case and accents.

    None if the text is too long or contains fractions, exponents or circled digits.
    """
    if len(text) > MAX_TEXT or any(unicodedata.category(char) == "No" for char in text):
        return None
    plain = sanitize.typed(text, digits=True).translate(_SAME).casefold()
    apart = unicodedata.normalize("NFKD", plain)
    return "".join(char for char in apart if unicodedata.category(char) != "Mn")


def months_named(word: str) -> list[int]:
    """Return the months, 1 to 12, that a folded word may name, in full or abbreviated."""
    return _named(word, "months", _ALSO_MONTHS)


def weekdays_named(word: str) -> list[int]:
    """Return the weekdays, Monday as 0, that a folded word may name: `fri` is 4."""
    return _named(word, "days", _ALSO_WEEKDAYS)


def _named(word: str, kind: str, also: dict[int, set[str]]) -> list[int]:
    names = {number: cldr | also.get(number, set()) for number, cldr in _cldr_names(kind).items()}
    exact = [number for number, each in names.items() if word in each]
    if exact or len(word) < SHORTEST:
        return exact
    return [number for number, each in names.items() if any(n.startswith(word) for n in each)]


def _cldr_names(kind: str) -> dict[int, set[str]]:
    """Return the folded names of months or weekdays in all languages that can be loaded."""
    found: defaultdict[int, set[str]] = defaultdict(set)
    for language in dict.fromkeys((*translations.languages(), *LANGUAGES)):
        with suppress(OSError):  # no free file handle; the next text may be luckier
            for number, name in _names_in(language, kind):
                found[number].add(name)
    return found


@cache
def _names_in(language: str, kind: str) -> list[tuple[int, str]]:
    """Return the numbers and folded names in a language, without the Portuguese `-feira`."""
    names = getattr(Locale.parse(language), kind)["format"]["wide"]
    return [(int(number), (folded(name) or "").split("-")[0]) for number, name in names.items()]


def one_of(words: list[str]) -> str:
    """Return a pattern that matches any of these words, longest first."""
    longest = sorted(words, key=len, reverse=True)
    return "(?:" + "|".join(map(re.escape, longest)) + ")"
