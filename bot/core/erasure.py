"""Personal data in texts: find the values that name a person, and redact them.

Where the data is stored is listed in app/maintenance/personal_data.py.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.core.text import contacts, links

MAX_CONDITIONS = 20
"""The most people that SQL filters by. With more people, the conditions cost more than they save,
and only Python filters."""

PLAIN = re.compile(r"[!#-\[\]-~]+")
"""Text that JSON doesn't escape, and that SQL and Python case-fold alike."""

WORD = re.compile(r"[^\s<>]+")
"""A word of a text, including text between HTML tags."""

NUMBER = re.compile(r"\+?[(\[]?\d[\d \u00a0\u2000-\u200a\u202f()[\]./\u2010-\u2015\u2212-]+\d")
"""A phone number within a text, including separators between the digits."""

ADDRESS = re.compile(r"[^@\s]+@[^@\s]+")
"""An email address or a paymail."""

ADDRESS_IN_TEXT = re.compile(r"(?<![\w.%+\u2060-])[\w.%+\u2060-]+@[\w.\u2060-]*[^\W_]")
"""An address within a word, such as one behind `mailto:` or in quotes of any language.

It may contain word joiners, which the bot adds. No match starts inside a run of these characters,
so the search time depends only on the length of the text.
"""

INVISIBLE = re.compile("[\u2060\u202a-\u202e\u2066-\u2069]")
"""Word joiners, and the controls of right-to-left text."""

PUNCTUATION = ".,;:!?()[]<>\"'\u2068\u2069"
"""Characters around a word that do not belong to it."""

HIDDEN = "…"
"""The text that replaces an erased value, and the end of a truncated value."""

SHORTEST_CUT = 8
"""The shortest prefix by which a truncated value is recognized, in characters."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose data to erase."""

    people: frozenset[str] | None = None
    """Only data that names these people (by `match_key`); None means everybody."""
    before: int | None = None
    """Only data from before this time, in epoch ms."""
    request_id: str | None = None
    """Only data given for this payment request."""
    sellers: frozenset[str] = frozenset()
    """The people who may be sellers. Contacts entered by payers don't count, because anybody could
    enter a seller's contact there."""
    ids: frozenset[str] = frozenset()
    """Ids of payments and checkouts whose data is erased even if it names none of the people,
    because a name or a message alone doesn't identify a payer."""

    @property
    def is_limited(self) -> bool:
        """True if only payments and their receipts are meant, so no profile and no account."""
        return self.before is not None or self.request_id is not None

    def covers(
        self, request_id: str | None, at: int, data: object, ids: Iterable[str] = ()
    ) -> bool:
        """Return whether to erase `data`, given at `at` (epoch ms); False if it is empty.

        `ids` are the payment and checkout ids in its row.
        """
        if not self.includes(request_id, at):
            return False
        texts = [*find_texts(data)]
        if texts and not self.ids.isdisjoint(ids):
            return True
        return any(self.people is None or match_key(text) in self.people for text in texts)

    def includes(self, request_id: str | None, at: int) -> bool:
        """Return whether data of this request and time (epoch ms) is within the scope."""
        if self.request_id is not None and request_id != self.request_id:
            return False
        return self.before is None or at < self.before


@dataclass(frozen=True, slots=True)
class ErasedValues:
    """Values to erase from texts.

    The time to search a text depends on its length, not on the number of values.
    """

    keys: frozenset[str]
    """The `match_key` of each value."""
    lengths: Mapping[str, frozenset[int]]
    """Word counts of the values with several words, by first word."""
    whole: Sequence[str]
    """The keys in order, to find truncated values."""

    @classmethod
    def of(cls, values: Iterable[str]) -> ErasedValues:
        """Build from values as payers entered them; HTML-escaped forms are found too."""
        keys, lengths = set(), defaultdict(set)
        for value in values:
            keys.add(match_key(value))
            for form in {value, html.escape(value), html.escape(value, quote=False)}:
                words = WORD.findall(form)
                keys.add(match_key(" ".join(words).strip(PUNCTUATION)))
                if len(words) > 1:
                    lengths[match_key(words[0].strip(PUNCTUATION))].add(len(words))
        found = {name: frozenset(numbers) for name, numbers in lengths.items()}
        return cls(frozenset(keys - {""}), found, sorted(keys))

    def has_cut(self, text: str) -> bool:
        """Return whether a text is a value to erase, truncated with an ellipsis."""
        key = match_key(text.strip(PUNCTUATION))
        beginning = key.removesuffix(HIDDEN)
        if beginning == key or len(beginning) < SHORTEST_CUT:
            return False
        at = bisect_left(self.whole, beginning)
        return at < len(self.whole) and self.whole[at].startswith(beginning)


NO_VALUES = ErasedValues.of(())


def condition(scope: Scope, text: str, id_columns: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Return an SQL condition for rows that `scope` may cover, and its parameters.

    `text` is an SQL expression for everything that people entered in a row; `id_columns` may hold
    one of `scope.ids`. All rows are chosen if there are too many people, or if SQL might miss one:
    phone numbers are stored in any notation.
    """
    people = scope.people
    if people is None or len(people) > MAX_CONDITIONS:
        return "1 = 1", {}
    if any(name.isdecimal() or not PLAIN.fullmatch(name) for name in people):
        return "1 = 1", {}
    chosen, given = ["1 = 0"], {}
    for number, name in enumerate(sorted(people)):
        escaped = re.sub("[!%_]", r"!\g<0>", name)
        given[f"like{number}"] = f"%{escaped}%"
        chosen.append(f"LOWER({text}) LIKE :like{number} ESCAPE '!'")
    for number, one in enumerate(sorted(scope.ids)):
        given[f"id{number}"] = one
        chosen += [f"{column} = :id{number}" for column in id_columns]
    return f"({' OR '.join(chosen)})", given


# Finding values in texts.


def match_key(text: str) -> str:
    """Return a key that is equal for all spellings of an address or a phone number.

    The key of a phone number is its digits, without a leading 00 or +. A non-ASCII domain is
    decoded to letters. Characters that only control display are ignored, because the bot adds and
    drops them; letters and accents are composed.
    """
    shown = INVISIBLE.sub("", text).strip()
    folded = unicodedata.normalize("NFD", shown).casefold()
    name, at, domain = folded.rpartition("@")
    if at and (links.ENCODED in domain or not domain.isascii()):
        return f"{name}@{links.unicode_host(shown.rpartition('@')[2])}"
    digits = contacts.phone_digits(folded)
    return folded if digits is None else digits.removeprefix("00")


def is_address(text: str) -> bool:
    """Return whether a text is an email address, a paymail or a phone number."""
    is_phone = contacts.phone_digits(text.strip()) is not None
    return is_phone or ADDRESS.fullmatch(match_key(text)) is not None


def find_texts(data: object) -> Iterator[str]:
    """Yield every text and number in a JSON value."""
    if isinstance(data, dict):
        for value in data.values():
            yield from find_texts(value)
    elif isinstance(data, list):
        for value in data:
            yield from find_texts(value)
    elif data is not None and not isinstance(data, bool) and str(data).strip():
        yield str(data)


def redact(data: Any, gone: ErasedValues) -> Any:
    """Return a JSON value without the values `gone`, including those within texts.

    A field or an item that equals such a value is removed.
    """
    if isinstance(data, dict):
        return {name: redact(value, gone) for name, value in data.items() if not _is(value, gone)}
    if isinstance(data, list):
        return [redact(value, gone) for value in data if not _is(value, gone)]
    if isinstance(data, str):
        return HIDDEN if _is(data, gone) else _redact_text(data, gone)
    return data


def _is(value: object, gone: ErasedValues) -> bool:
    return isinstance(value, str) and match_key(value) in gone.keys


def _redact_text(text: str, gone: ErasedValues) -> str:
    """Return a text without erased values: first phrases, then single words, then numbers."""
    words, parts, done, number = [*WORD.finditer(text)], [], 0, 0
    while number < len(words):
        length = _erased_length(words, number, gone)
        if length:
            begin, end = words[number].start(), words[number + length - 1].end()
            found = text[begin:end]
            parts += [text[done:begin], found.replace(found.strip(PUNCTUATION), HIDDEN)]
            done = end
        number += length or 1
    rest = "".join([*parts, text[done:]])
    for pattern in (ADDRESS_IN_TEXT, NUMBER):
        rest = pattern.sub(lambda it: HIDDEN if match_key(it[0]) in gone.keys else it[0], rest)
    return rest


def _erased_length(words: list[re.Match[str]], number: int, gone: ErasedValues) -> int:
    """Return the word count of the longest erased value starting at word `number`, or 0."""
    lengths = gone.lengths.get(match_key(words[number][0].strip(PUNCTUATION)), frozenset())
    for length in sorted({1, *lengths}, reverse=True):
        some = [word[0] for word in words[number : number + length]]
        if len(some) == length and match_key(" ".join(some).strip(PUNCTUATION)) in gone.keys:
            return length
    some = [word[0] for word in words[number : number + max({1, *lengths})]]
    ends = (end for end, word in enumerate(some, 1) if word.strip(PUNCTUATION).endswith(HIDDEN))
    end = next(ends, 0)
    return end if end and gone.has_cut(" ".join(some[:end])) else 0
