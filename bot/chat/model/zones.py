"""Time zones: parsing what sellers type, suggestions and display.

A zone is an IANA name that CLDR (Babel) knows too: a city, or an offset of whole hours (`Etc/GMT-2`
is two hours ahead). The rules come from the system or from `tzdata`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from zoneinfo import ZoneInfo

from babel import Locale
from babel.core import get_global
from babel.dates import get_timezone_location

from bot.chat.model import replies, time_words
from bot.core.text import sanitize, translations

UTC_ZONE = "Etc/UTC"
MAX_CANDIDATES = 6
MAX_TEXT = 64  # characters; a longer one names no zone
EARLIEST, LATEST = -12, 14  # the extreme offsets from UTC in use, in hours

_FIXED = "Etc/"
_NO_ZONES = frozenset(["Etc/Unknown", "Etc/GMT"])  # CLDR's placeholder, and an alias of UTC
_REGIONS = (
    *("Africa", "America", "Antarctica", "Arctic", "Asia"),
    *("Atlantic", "Europe", "Indian", "Pacific"),
)
_OFFSET = re.compile(r"(?:utc|gmt)? ?([+-]) ?(\d{1,2})(?::?(\d\d))?")

_SUGGESTED = {
    "en": "Europe/London America/New_York America/Chicago America/Los_Angeles Asia/Kolkata"
    " Australia/Sydney",
    "de": "Europe/Berlin Europe/Vienna Europe/Zurich",
    "es": "Europe/Madrid America/Mexico_City America/Bogota America/Argentina/Buenos_Aires"
    " America/Lima America/Santiago",
    "fr": "Europe/Paris Europe/Brussels Europe/Zurich America/Toronto Africa/Abidjan"
    " Africa/Casablanca",
    "it": "Europe/Rome Europe/Zurich",
    "pt": "America/Sao_Paulo Europe/Lisbon America/Manaus Africa/Luanda Africa/Maputo",
    "": "Europe/London Europe/Berlin America/New_York America/Los_Angeles Asia/Kolkata"
    " Asia/Shanghai",
}
_MAIN = {
    "AR": "America/Argentina/Buenos_Aires",
    "AU": "Australia/Sydney Australia/Brisbane Australia/Adelaide Australia/Darwin Australia/Perth"
    " Australia/Hobart",
    "BR": "America/Sao_Paulo America/Fortaleza America/Manaus America/Cuiaba America/Rio_Branco"
    " America/Noronha",
    "CA": "America/Toronto America/Vancouver America/Edmonton America/Winnipeg America/Halifax"
    " America/St_Johns",
    "CL": "America/Santiago America/Punta_Arenas Pacific/Easter",
    "CN": "Asia/Shanghai",
    "CY": "Asia/Nicosia",
    "DE": "Europe/Berlin",
    "EC": "America/Guayaquil Pacific/Galapagos",
    "ES": "Europe/Madrid Atlantic/Canary",
    "ID": "Asia/Jakarta Asia/Makassar Asia/Jayapura",
    "KZ": "Asia/Almaty",
    "MY": "Asia/Kuala_Lumpur",
    "MX": "America/Mexico_City America/Cancun America/Hermosillo America/Tijuana"
    " America/Ciudad_Juarez America/Mazatlan",
    "NZ": "Pacific/Auckland Pacific/Chatham",
    "PT": "Europe/Lisbon Atlantic/Azores Atlantic/Madeira",
    "RU": "Europe/Moscow Europe/Kaliningrad Europe/Samara Asia/Yekaterinburg Asia/Novosibirsk"
    " Asia/Vladivostok",
    "UA": "Europe/Kyiv",
    "US": "America/New_York America/Chicago America/Denver America/Phoenix America/Los_Angeles"
    " America/Anchorage",
    "UZ": "Asia/Tashkent",
}
"""Zones to offer for a country with several: the most populous first, the others by city."""

_TERRITORIES = {"EA": "Africa/Ceuta", "IC": "Atlantic/Canary", "XK": "Europe/Belgrade"}
"""Zones of territories that CLDR names without one: Ceuta and Melilla, the Canaries, Kosovo."""

_COUNTRIES = {
    **dict.fromkeys(["us", "usa", "america", "amerika"], "US"),
    **dict.fromkeys(
        ["uk", "england", "scotland", "wales", "schottland", "great britain", "britain"], "GB"
    ),
    **dict.fromkeys(["northern ireland", "grossbritannien", "nordirland"], "GB"),
    **dict.fromkeys(["uae", "vae", "emirates", "emirate", "the emirates"], "AE"),
    **dict.fromkeys(["bosnia", "bosnien"], "BA"),
    **dict.fromkeys(["weissrussland", "byelorussia"], "BY"),
    **dict.fromkeys(["congo", "kongo", "drc", "dr congo", "dr kongo"], "CD"),
    **dict.fromkeys(["ivory coast", "elfenbeinkuste"], "CI"),
    **dict.fromkeys(["cape verde", "kap verde", "kapverden"], "CV"),
    **dict.fromkeys(["czech republic", "tschechische republik"], "CZ"),
    **dict.fromkeys(["canary islands", "canaries", "kanaren"], "IC"),
    **dict.fromkeys(["korea", "republic of korea"], "KR"),
    **dict.fromkeys(["moldova", "moldavia", "moldawien", "moldau"], "MD"),
    **dict.fromkeys(["macedonia", "mazedonien"], "MK"),
    **dict.fromkeys(["burma", "birma"], "MM"),
    "holland": "NL",
    **dict.fromkeys(["palestine", "palastina"], "PS"),
    **dict.fromkeys(["swaziland", "swasiland"], "SZ"),
    **dict.fromkeys(["east timor", "osttimor"], "TL"),
    **dict.fromkeys(["turkey", "turkiye"], "TR"),
    **dict.fromkeys(["vatican", "vatikan"], "VA"),
}
"""Folded names of countries that CLDR spells differently in English or German."""

_CITIES = {
    "Europe/Berlin": "munich münchen hamburg köln cologne frankfurt stuttgart düsseldorf leipzig"
    " dresden hannover nürnberg nuremberg bremen essen dortmund bonn münster mannheim karlsruhe"
    " wiesbaden augsburg mainz freiburg kiel",
    "Europe/Vienna": "graz linz salzburg innsbruck",
    "Europe/Zurich": "geneva genf genève basel bern lausanne luzern lucerne winterthur st_gallen",
    "Europe/Rome": "milan milano mailand turin torino naples napoli neapel florence firenze florenz"
    " venice venezia venedig bologna genoa genova genua palermo",
    "Europe/Madrid": "barcelona valencia sevilla seville bilbao malaga zaragoza saragossa palma",
    "Europe/Paris": "lyon marseille toulouse nice nizza bordeaux strasbourg straßburg lille nantes",
    "Europe/London": "manchester birmingham edinburgh glasgow liverpool leeds bristol belfast"
    " cardiff",
    "Europe/Lisbon": "porto",
    "Europe/Amsterdam": "rotterdam the_hague den_haag utrecht eindhoven",
    "Europe/Brussels": "antwerp antwerpen ghent gent bruges brügge liège lüttich",
    "Europe/Stockholm": "gothenburg göteborg malmö",
    "Europe/Warsaw": "kraków cracow krakau gdansk danzig wroclaw wrocław breslau poznan posen lodz"
    " łódź",
    "Europe/Prague": "brno brünn",
    "Europe/Belgrade": "pristina prishtina prizren novi_sad",
    "Europe/Athens": "thessaloniki",
    "Europe/Kyiv": "lviv lemberg odesa odessa kharkiv charkiw",
    "Europe/Moscow": "saint_petersburg st_petersburg sankt_petersburg",
    "Europe/Istanbul": "ankara izmir antalya bursa",
    "America/New_York": "boston washington miami philadelphia atlanta nyc new_york_city orlando"
    " tampa charlotte baltimore pittsburgh",
    "America/Chicago": "houston dallas austin san_antonio new_orleans minneapolis st_louis"
    " milwaukee nashville",
    "America/Denver": "salt_lake_city albuquerque",
    "America/Los_Angeles": "seattle sacramento california kalifornien san_francisco san_diego"
    " las_vegas portland san_jose",
    "America/Toronto": "montreal ottawa quebec",
    "America/Vancouver": "victoria",
    "America/Edmonton": "calgary",
    "America/Sao_Paulo": "brasilia curitiba rio_de_janeiro rio belo_horizonte porto_alegre",
    "America/Mexico_City": "guadalajara puebla",
    "America/Bogota": "medellin cali cartagena",
    "America/Guayaquil": "quito",
    "America/La_Paz": "sucre santa_cruz_de_la_sierra",
    "America/Belize": "belmopan",
    "America/Costa_Rica": "san_jose",
    "America/El_Salvador": "san_salvador",
    "America/Guyana": "georgetown",
    "America/Jamaica": "kingston",
    "America/Panama": "panama_city panama-stadt",
    "America/Guatemala": "guatemala_city guatemala-stadt",
    "America/Puerto_Rico": "san_juan",
    "America/Martinique": "fort-de-france",
    "America/Barbados": "bridgetown",
    "Asia/Dubai": "abu_dhabi sharjah schardscha",
    "Asia/Qatar": "doha",
    "Asia/Bahrain": "manama",
    "Asia/Kuwait": "kuwait_city kuwait-stadt",
    "Asia/Riyadh": "jeddah dschidda mecca mekka medina",
    "Asia/Aden": "sanaa sana'a",
    "Asia/Jerusalem": "tel_aviv haifa",
    "Asia/Hebron": "ramallah",
    "Asia/Kolkata": "mumbai delhi new_delhi neu-delhi bangalore bengaluru chennai hyderabad pune"
    " ahmedabad",
    "Asia/Karachi": "islamabad lahore",
    "Asia/Dhaka": "chittagong",
    "Asia/Almaty": "astana",
    "Asia/Colombo": "kotte",
    "Asia/Yangon": "naypyidaw",
    "Asia/Ho_Chi_Minh": "hanoi da_nang",
    "Asia/Jakarta": "surabaya bandung",
    "Asia/Makassar": "bali denpasar",
    "Asia/Bangkok": "chiang_mai phuket",
    "Asia/Shanghai": "beijing peking shenzhen guangzhou chengdu wuhan tianjin nanjing",
    "Asia/Tokyo": "osaka kyoto yokohama nagoya",
    "Asia/Seoul": "busan incheon",
    "Asia/Manila": "quezon_city cebu davao",
    "Australia/Sydney": "canberra",
    "Australia/Brisbane": "gold_coast",
    "Pacific/Auckland": "wellington christchurch",
    "Pacific/Fiji": "suva",
    "Pacific/Honolulu": "hawaii",
    "Pacific/Tahiti": "papeete",
    "Indian/Mahe": "victoria",
    "Indian/Maldives": "malé",
    "Indian/Mauritius": "port_louis",
    "Atlantic/Cape_Verde": "praia",
    "Atlantic/Canary": "las_palmas tenerife teneriffa",
    "Africa/Johannesburg": "pretoria cape_town kapstadt durban",
    "Africa/Lagos": "abuja kano",
    "Africa/Casablanca": "rabat marrakesh marrakech marrakesch",
    "Africa/Cairo": "alexandria gizeh giza",
    "Africa/Dar_es_Salaam": "dodoma",
    "Africa/Abidjan": "yamoussoukro",
    "Africa/Douala": "yaounde jaunde",
    "Africa/Accra": "kumasi",
    "Africa/Nairobi": "mombasa",
    "Africa/Porto-Novo": "cotonou",
    "Africa/Bujumbura": "gitega",
}
"""Cities that sellers may name and that CLDR doesn't know; `_` is a space."""

_LETTERS = {
    **dict.fromkeys(
        ["cet", "cest", "mez", "mesz"],
        "Europe/Berlin Europe/Paris Europe/Madrid Europe/Rome Europe/Vienna Europe/Zurich",
    ),
    **dict.fromkeys(["eet", "eest", "oez"], "Europe/Helsinki Europe/Athens Europe/Kyiv"),
    **dict.fromkeys(["wet", "west"], "Europe/Lisbon Atlantic/Canary"),
    **dict.fromkeys(["et", "est", "edt"], "America/New_York America/Toronto America/Panama"),
    **dict.fromkeys(["ct", "cst", "cdt"], "America/Chicago America/Mexico_City Asia/Shanghai"),
    **dict.fromkeys(["mt", "mst", "mdt"], "America/Denver America/Phoenix America/Edmonton"),
    **dict.fromkeys(["pt", "pst", "pdt"], "America/Los_Angeles America/Vancouver"),
    "bst": "Europe/London Asia/Dhaka",
    "ist": "Asia/Kolkata Europe/Dublin Asia/Jerusalem",
    "msk": "Europe/Moscow",
    "jst": "Asia/Tokyo",
}
"""Abbreviations; they don't determine the summer time rules, so the seller must choose a place."""


def read_zone(text: str) -> str | tuple[str, ...] | replies.Problem:
    """Parse a zone: a city, a country, an IANA name, UTC or whole hours from it.

    If several zones match, return at most MAX_CANDIDATES to choose from.
    """
    if len(text) > MAX_TEXT:
        return replies.Problem("problem-zone")
    text = sanitize.typed(text, digits=True)
    plain = text.casefold()
    if name := _names().get(plain.replace(" ", "_")):
        return name
    if found := _OFFSET.fullmatch(plain):
        if int(found[3] or 0):
            return replies.Problem("problem-zone-minutes")
        ahead = int(f"{found[1]}{found[2]}")
        if not EARLIEST <= ahead <= LATEST:
            return replies.Problem("problem-zone")
        return f"{_FIXED}GMT{-ahead:+d}" if ahead else UTC_ZONE
    candidates = _candidates(_folded(text))
    return candidates[0] if len(candidates) == 1 else candidates or replies.Problem("problem-zone")


def _candidates(folded: str) -> tuple[str, ...]:
    """Return the zones for an abbreviation, or else for a city, or else for a country."""
    if not folded:
        return ()
    if folded in _LETTERS:
        return (*_LETTERS[folded].split(),)
    for language in (*translations.languages(), *time_words.LANGUAGES):
        for index in (_cities, _countries):
            with suppress(OSError):  # a language's file can't be opened, which is not cached
                if found := index(language).get(folded):
                    return found
    return ()


@cache
def _names() -> dict[str, str]:
    """Map each zone's casefolded names, current and former, to the current name."""
    aliases = get_global("zone_aliases")
    own = {name: name for name in get_global("zone_territories")}
    placed = {old.casefold(): new for old, new in {**aliases, **own}.items() if "/" in old}
    known = {old: new for old, new in placed.items() if new not in _NO_ZONES}
    return known | dict.fromkeys(["utc", "gmt", "etc/gmt"], UTC_ZONE)


@cache
def _cities(language: str) -> dict[str, tuple[str, ...]]:
    """Map folded city names, in the language and in the IANA database, to zones."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for place, name in _places(language):
        found[_folded(place)].add(name)
    return {place: (*sorted(names),) for place, names in found.items()}


def _places(language: str) -> Iterator[tuple[str, str]]:
    aliases = get_global("zone_aliases")
    for name, info in Locale.parse(language).time_zones.items():
        if "city" in info and not name.startswith(_FIXED):
            yield info["city"], aliases.get(name, name)
    for name in (*get_global("zone_territories"), *aliases):
        region, _, city = name.partition("/")
        new = aliases.get(name, name)
        if region in _REGIONS or (region == "Australia" and name == new):
            yield city.rpartition("/")[2], new
    for name, cities in _CITIES.items():
        yield from ((city, name) for city in cities.split())


@cache
def _countries(language: str) -> dict[str, tuple[str, ...]]:
    """Map folded country names to zones."""
    named = {_folded(name): code for code, name in Locale.parse(language).territories.items()}
    own = {code: (zone,) for code, zone in _TERRITORIES.items()}
    zones = {**get_global("territory_zones"), **own}
    return {
        name: (*(_MAIN[code].split() if code in _MAIN else sorted(zones[code])[:MAX_CANDIDATES]),)
        for name, code in (named | _COUNTRIES).items()
        if code.isalpha() and code in zones and code != "ZZ"
    }


def _folded(text: str) -> str:
    """Normalize a name to letters and digits without case and accents: `sao paulo`."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    kept = (char for char in apart if unicodedata.category(char) != "Mn")
    return " ".join("".join(char if char.isalnum() else " " for char in kept).split())


def suggested_zones(language: str) -> tuple[str, ...]:
    """Return the likely zones of a seller with this language, most likely first."""
    spoken = language.replace("_", "-").split("-")[0].lower()
    return (*_SUGGESTED.get(spoken, _SUGGESTED[""]).split(),)


def is_zone(name: str) -> bool:
    """True if this is the current name of a zone, as `read_zone` returns it."""
    return _names().get(name.casefold()) == name


def is_fixed_offset(zone: str) -> bool:
    """True if the zone is UTC or a fixed offset from it, without summer time."""
    return zone.startswith(_FIXED)


@cache
def zone_info(zone: str) -> ZoneInfo:
    """Return the rules of a zone, cached. Raises OSError if no file can be opened."""
    return ZoneInfo(zone)


def place_name(zone: str, language: str) -> str:
    """Return a zone's name for people: its city, or its offset if it has no city."""
    if zone == UTC_ZONE:
        return "UTC"
    if is_fixed_offset(zone):
        return utc_offset(0, zone)
    return get_timezone_location(
        zone_info(zone), locale=translations.choose(language), return_city=True
    )


def utc_offset(at: int, zone: str) -> str:
    """Format the offset of a zone at a moment (epoch ms): `UTC+1`, `UTC-3:30`."""
    ahead = datetime.fromtimestamp(at // 1000, UTC).astimezone(zone_info(zone)).utcoffset()
    minutes = int(ahead.total_seconds()) // 60 if ahead else 0
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{'-' if minutes < 0 else '+'}{hours}" + (f":{rest:02}" if rest else "")


def shown_zone(zone: str, now: int, language: str) -> str:
    """Format a zone with its current offset: `Berlin (UTC+1)`."""
    name = place_name(zone, language)
    return name if is_fixed_offset(zone) else f"{name} ({utc_offset(now, zone)})"


def load() -> None:
    """Load the suggested zones at startup, because under heavy load no file handle may be free."""
    for names in _SUGGESTED.values():
        for name in names.split():
            zone_info(name)
