"""Reading of times as people write them, in the languages that sellers write."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from itertools import chain
from typing import NamedTuple

from babel import Locale

from bot.core.text import sanitize, translations

# Words, folded: `manana`, `marz`.

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
    """Return the months or weekdays with such a name in any language that can be loaded."""
    names = {number: set(each) for number, each in also.items()}
    for language in dict.fromkeys((*translations.languages(), *LANGUAGES)):
        with suppress(OSError):  # no free file handle; the next text may be luckier
            for number, name in _names_in(language, kind):
                names.setdefault(number, set()).add(name)
    exact = [number for number, each in names.items() if word in each]
    if exact or len(word) < SHORTEST:
        return exact
    return [number for number, each in names.items() if any(n.startswith(word) for n in each)]


@cache
def _names_in(language: str, kind: str) -> list[tuple[int, str]]:
    """Return the numbers and folded names in a language, without the Portuguese `-feira`."""
    names = getattr(Locale.parse(language), kind)["format"]["wide"]
    return [(int(number), (folded(name) or "").split("-")[0]) for number, name in names.items()]


def one_of(words: list[str]) -> str:
    """Return a pattern that matches any of these words, longest first."""
    longest = sorted(words, key=len, reverse=True)
    return "(?:" + "|".join(map(re.escape, longest)) + ")"


# The parts of a time, and all readings of a text.

_HOUR = 60  # minutes
DAY = 24 * _HOUR
MIDDAY = 12 * _HOUR
CENTURY = 2000
_HALF_DAY = 12  # hours on the face of a clock


class Span(NamedTuple):
    """A length of time: calendar months and days, and exact hours and minutes."""

    months: int = 0
    days: int = 0
    hours: int = 0
    minutes: int = 0


class TimeParts(NamedTuple):
    """The parts of a time that a text names; parts that it doesn't name are None."""

    date: tuple[int | None, int, int] | None = None  # year, month, day
    days: int | None = None  # from today
    weekday: int | None = None  # Monday is 0
    following: bool | None = None  # the weekday after this one
    clock: int | None = None  # minutes of the day, 1440 for its end
    bare: bool | None = None  # the clock is a number alone
    at: bool | None = None  # a word announces the clock: "at"
    part: str | None = None
    offset: int | None = None  # minutes ahead of UTC
    span: Span | None = None
    within: bool | None = None  # a word announces the span: "in"

    @property
    def names_day(self) -> bool:
        """True if the day is named."""
        return (self.date, self.days, self.weekday, self.span) != (None, None, None, None)

    def joined(self, more: TimeParts) -> TimeParts | None:
        """Return the parts of both, or None if both name the same part."""
        new = {name: value for name, value in more._asdict().items() if value is not None}
        if self.span and more.span:
            new["span"] = _sum(self.span, more.span)
        old = {name for name in new if getattr(self, name) is not None}
        if new.get("span", more) is None or old - {"at", "within", "span"}:
            return None
        return self._replace(**new)


def _sum(one: Span, other: Span) -> Span | None:
    """Return the sum of two spans; None if both name the same unit."""
    pairs = [*zip(one, other, strict=True)]
    return None if any(map(all, pairs)) else Span(*map(sum, pairs))


def readings(text: str) -> list[TimeParts]:
    """Return all readings of the whole text, in no particular order; [] if a word is unknown."""
    plain = folded(text)
    if not plain:
        return []
    line = re.sub(r"(?<=\d)z$", " utc", re.sub(r"(?<=\d)t(?=\d)", " ", plain))
    line = re.sub(r"^\+ ?(?=\d)", "in ", re.sub(_OFFSET_OF_ISO, r"\1 utc\2", line))
    line = re.sub(rf"\b{one_of(HALF_HOUR)}(?!\w)", "30 min", line)
    found = [parts for parts in map(_in_part_of_day, _all_readings(line)) if _is_whole(parts)]
    found = [parts for parts in found if parts.within] or found
    found = [parts for parts in found if parts.names_day or not parts.part] or found
    return [parts for parts in found if not parts.bare] or found


def _in_part_of_day(parts: TimeParts) -> TimeParts:
    """Move the clock time into the named part of the day: `8 Uhr abends` is 20:00."""
    if parts.clock is None or parts.part not in (AFTERNOON, EVENING):
        return parts
    return parts._replace(clock=parts.clock + MIDDAY) if parts.clock < MIDDAY else parts


def _all_readings(line: str) -> set[TimeParts]:
    readings_to: defaultdict[int, set[TimeParts]] = defaultdict(set, {0: {TimeParts()}})
    for start in range(len(line)):
        if start not in readings_to:
            continue
        if line[start] in _GAPS:
            readings_to[start + 1] |= readings_to[start]
            continue
        for end, meaning in _next(line, start):
            both = (before.joined(meaning) for before in readings_to[start])
            readings_to[end] |= {parts for parts in both if parts is not None}
    return readings_to[len(line)]


def _next(line: str, start: int) -> Iterator[tuple[int, TimeParts]]:
    """Yield the end and the meaning of each shape and word that begins at `start`."""
    for pattern, meanings in _shapes():
        if match := pattern.match(line, start):
            for meaning in meanings(match):
                yield match.end(), meaning
    for word, meant in _vocabulary().items():
        end = start + len(word)
        if line.startswith(word, start) and not line[end : end + 1].isalnum():
            for meaning in meant:
                yield end, meaning


def _is_whole(parts: TimeParts) -> bool:
    day = (parts.date, parts.days, parts.weekday) != (None, None, None)
    if parts.date and parts.days is not None:
        return False
    if parts.part and parts.clock is not None:
        first, last = MINUTES_OF[parts.part]
        if not first <= parts.clock <= last:
            return False
    if parts.span:
        exact = parts.span.hours or parts.span.minutes
        timed = parts.clock is not None or parts.part is not None
        return not (day or parts.following or (exact and timed) or (parts.at and not timed))
    if parts.within or (parts.following and parts.weekday is None):
        return False
    if parts.clock is None:
        return parts.offset is None and (day or parts.part is not None)
    return not parts.bare or day or bool(parts.at) or parts.part is not None


def _full_date(match: re.Match[str]) -> Iterator[TimeParts]:
    yield TimeParts(date=(int(match["y"]), int(match["m"]), int(match["d"])))


def _date(match: re.Match[str]) -> Iterator[TimeParts]:
    """Yield both orders of day and month; with dots the day is always first."""
    one, other, year = int(match["a"]), int(match["b"]), _year(match.groupdict().get("y"))
    yield TimeParts(date=(year, other, one))
    if match["mark"] != "." and one != other:
        yield TimeParts(date=(year, one, other))


def _year(digits: str | None) -> int | None:
    if digits is None:
        return None
    return int(digits) if len(digits) > len("26") else CENTURY + int(digits)


def _named_date(match: re.Match[str]) -> Iterator[TimeParts]:
    for month in months_named(match["name"]):
        yield TimeParts(date=(_year(match["y"]), month, int(match["d"])))


def _clock(match: re.Match[str]) -> Iterator[TimeParts]:
    hour, minute = int(match["h"]), int(match.groupdict().get("min") or 0)
    half = match.groupdict().get("half")
    if half and 1 <= hour <= _HALF_DAY:
        hour = hour % _HALF_DAY + (_HALF_DAY if half == "p" else 0)
    elif half:
        return
    if minute < _HOUR and hour * _HOUR + minute <= DAY:
        yield TimeParts(clock=hour * _HOUR + minute)


def _bare_hour(match: re.Match[str]) -> Iterator[TimeParts]:
    """Yield the possible hours of a bare number; up to 12, it may be a.m. or p.m."""
    hour = int(match["h"])
    for each in {hour, hour + _HALF_DAY} if 0 < hour <= _HALF_DAY else {hour}:
        if each * _HOUR <= DAY:
            yield TimeParts(clock=each * _HOUR, bare=True)


def _span(match: re.Match[str]) -> Iterator[TimeParts]:
    count = int(match["n"]) if match["n"].isdigit() else 1
    unit = next(unit for unit, names in UNITS.items() if match["unit"] in names)
    for part, factor in (("weeks", 7), ("years", 12)):
        if unit == part:
            count, unit = count * factor, {"weeks": "days", "years": "months"}[part]
    yield TimeParts(span=Span(**{unit: count}))


def _hours_and_minutes(match: re.Match[str]) -> Iterator[TimeParts]:
    yield TimeParts(span=Span(hours=int(match["n"]), minutes=int(match["min"])))


def _weekday(match: re.Match[str]) -> Iterator[TimeParts]:
    for day in weekdays_named(match["name"]):
        yield TimeParts(weekday=day)


def _offset(match: re.Match[str]) -> Iterator[TimeParts]:
    ahead = int(match["h"] or 0) * _HOUR + int(match["min"] or 0)
    if ahead < DAY:
        yield TimeParts(offset=-ahead if match["sign"] == "-" else ahead)


_GAPS = " ,"
_END = r"(?![\w:])"  # a number or a word ends here
_MARKED = r"(?! ?[ap]\.? ?m\b| ?h\b| ?uhr\b|[-/.]\d)"  # no sign of an hour or a date follows
_OFFSET_OF_ISO = r"^(\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d(?:\.\d+)?)?) ?([+-]\d\d:?\d\d)$"

Shape = tuple[re.Pattern[str], "Callable[[re.Match[str]], Iterator[TimeParts]]"]


@cache
def _shapes() -> list[Shape]:
    """Return the patterns for all shapes with numbers and for weekdays, with their meanings."""
    name, day = r"(?P<name>[a-z]{3,})\.?", r"(?P<d>\d{1,2})"
    year = rf"(?:,? ?(?:de |del |of )?(?P<y>\d{{4}}){_END})?"
    hour, minute = r"(?P<h>\d{1,2})", r"(?P<min>\d\d)"
    one, unit = one_of(ONE), one_of([*chain(*UNITS.values())])
    shapes: list[tuple[str, Callable[[re.Match[str]], Iterator[TimeParts]]]] = [
        (rf"(?P<y>\d{{4}})(?P<mark>[-/.])(?P<m>\d{{1,2}})(?P=mark){day}", _full_date),
        (r"(?P<a>\d{1,2})(?P<mark>[-/.])(?P<b>\d{1,2})(?P=mark)(?P<y>\d{4}|\d\d)", _date),
        (r"(?P<a>\d{1,2})(?P<mark>\.) ?(?P<b>\d{1,2})\.(?: (?P<y>\d{4}))?", _date),
        (r"(?P<a>\d{1,2})(?P<mark>[-/.])(?P<b>\d{1,2})(?![-/.]\d)", _date),
        (rf"{day}(?:\.|st|nd|rd|th|er|o|a)? ?(?:of |de |di )?{name}{year}", _named_date),
        (rf"{name} {day}(?:st|nd|rd|th)?{_END}{year}", _named_date),
        (rf"{hour}:{minute}(?::\d\d(?:\.\d{{1,6}})?)?(?: ?h| uhr)?", _clock),
        (rf"{hour}(?:[:.]{minute})? ?(?P<half>[ap])\.? ?m\b\.?", _clock),
        (rf"{hour}\.{minute}(?: ?uhr| ?h)?", _clock),
        (rf"{hour} ?uhr(?: {minute})?", _clock),
        (rf"{hour} ?h ?{minute}?", _clock),
        (rf"{hour}{_MARKED}", _bare_hour),
        (rf"(?P<n>\d{{1,4}}|{one}(?= )|un') ?(?P<unit>{unit})\.?", _span),
        (rf"(?P<n>\d{{1,4}}) ?h ?{minute} ?m?", _hours_and_minutes),
        (rf"(?:utc|gmt) ?(?P<sign>[+-]){hour}(?::?{minute})?", _offset),
        (r"(?:z|utc|gmt)(?P<sign>)(?P<h>)(?P<min>)(?! ?[+-])", _offset),
        (r"(?P<name>[a-z]{2,})(?:-feira)?\.?", _weekday),
    ]
    return [(re.compile(shape + _END), meanings) for shape, meanings in shapes]


@cache
def _vocabulary() -> dict[str, list[TimeParts]]:
    meanings: dict[str, list[TimeParts]] = {}
    for words, parts in (
        *(([word], TimeParts(days=days)) for word, days in DAYS.items()),
        *(([word], TimeParts(part=part)) for word, part in PARTS.items()),
        (TONIGHT, TimeParts(days=0, part=EVENING)),
        (NOON, TimeParts(clock=MIDDAY)),
        (MIDNIGHT, TimeParts(clock=0)),
        (MIDNIGHT, TimeParts(clock=DAY)),
        (FOLLOWING, TimeParts(following=True)),
        (WITHIN, TimeParts(within=True)),
        (AT, TimeParts(at=True)),
        (NOISE, TimeParts()),
    ):
        for word in words:
            meanings.setdefault(word, []).append(parts)
    return meanings
