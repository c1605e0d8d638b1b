"""Erase personal data from tables, batch by batch, while the bot is using them.

The service and the chat describe their tables that hold personal data. Rows are read without
blocking the writer, and changed rows are written in small transactions, so no payment waits long.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from bot.core.database import database
from bot.core.text import contacts, links

BATCH = 500
"""Rows read at a time."""

CHANGES = 50
"""The most rows changed in one transaction: payments may wait for their locks."""

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


@dataclass(frozen=True, slots=True)
class PersonalTable:
    """A table with personal data, and how its rows are erased."""

    table: str
    keys: tuple[str, ...]
    """The columns that identify a row."""
    columns: tuple[str, ...]
    """The other columns that `change` reads."""
    change: Callable[[database.Row], dict[str, object] | None]
    """Returns the new values of a row; None leaves the row as it is."""
    where: str = "1 = 1"
    """Selects the rows to read."""
    also: Callable[[database.Transaction, database.Row], None] | None = None
    """Changes other tables for a row, in the same transaction."""
    given: Mapping[str, str] = field(default_factory=dict)
    """The parameters of `where`."""

    @property
    def select(self) -> str:
        """Return the beginning of a statement that reads rows."""
        names = ", ".join((*self.keys, *self.columns))
        return f"SELECT {names} FROM {self.table} WHERE {self.where}"  # noqa: S608 - our own names

    def page(
        self, tx: database.Transaction, last: Mapping[str, object] | None
    ) -> list[database.Row]:
        """Return the next rows after `last`, in the order of their keys."""
        names = ", ".join(self.keys)
        given: dict[str, object] = {**self.given}
        after = ""
        if last is not None:
            after = f" AND ({names}) > ({', '.join(f':{name}' for name in self.keys)})"
            given |= {name: last[name] for name in self.keys}
        sql = f"{self.select}{after} ORDER BY {names} LIMIT {BATCH}"
        return tx.query(sql, **given)

    def apply(self, tx: database.Transaction, found: database.Row) -> int:
        """Change a row as it is now; return the number of rows changed."""
        given = {name: found[name] for name in self.keys}
        which = " AND ".join(f"{name} = :{name}" for name in self.keys)
        tx.lock(f"SELECT {self.keys[0]} FROM {self.table} WHERE {which} FOR NO KEY UPDATE", **given)  # noqa: S608 - as above
        row = tx.one(f"{self.select} AND {which}", **given, **self.given)
        changes = self.change(row) if row else None
        if row is None or changes is None:
            return 0
        if self.also is not None:
            self.also(tx, row)
        new = ", ".join(f"{name} = :new_{name}" for name in changes)
        values = {f"new_{name}": value for name, value in changes.items()}
        return tx.execute(f"UPDATE {self.table} SET {new} WHERE {which}", **given, **values)  # noqa: S608 - as above


def mentions(
    table: str, keys: tuple[str, ...], time: str, lost: Mapping[str, ErasedValues], scope: Scope
) -> PersonalTable:
    """Return a table whose rows mention people; each column in `lost` loses its values.

    `time` is the column with the time of the row (epoch ms). Only rows in the `scope` change.
    """

    def change(row: database.Row) -> dict[str, object] | None:
        redacted = {name: redact(row[name], gone) for name, gone in lost.items()}
        is_same = all(redacted[name] == row[name] for name in lost)
        return None if is_same or not scope.includes(row["request_id"], row[time]) else redacted

    columns = tuple(name for name in ("request_id", time, *lost) if name not in keys)
    where = f"COALESCE({', '.join(lost)}) IS NOT NULL"
    return PersonalTable(table, keys, columns, change, where)


def mentions_any(column: str, people: Collection[str] | None) -> tuple[str, dict[str, str]]:
    """Return a condition for rows whose JSON names one of `people`, and its parameters.

    The condition is true for all rows if there are too many people, or if SQL might miss one.
    """
    if not people or len(people) > MAX_CONDITIONS or not all(map(PLAIN.fullmatch, people)):
        return "1 = 1", {}
    given = {}
    for number, name in enumerate(sorted(people)):
        escaped = re.sub("[!%_]", r"!\g<0>", name)
        given[f"like{number}"] = f"%{escaped}%"
    anyone = " OR ".join(f"LOWER({column}) LIKE :{name} ESCAPE '!'" for name in given)
    return f"({anyone})", given


def concerns(scope: Scope, text: str, id_columns: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Return a condition for rows that `scope` may cover, and its parameters.

    `text` is an SQL expression for the text that people entered; `id_columns` may hold one of
    `scope.ids`.
    """
    named, given = mentions_any(text, scope.people)
    if not scope.ids or scope.people is None:
        return named, given
    ids = {f"number{place}": one for place, one in enumerate(sorted(scope.ids))}
    listed = ", ".join(f":{name}" for name in ids)
    either = [named] if scope.people else []
    either += [f"{column} IN ({listed})" for column in id_columns]
    return f"({' OR '.join(either)})", given | ids


# Erasing, and finding values in texts.


async def erase_rows(db: database.Database, table: PersonalTable) -> int:
    """Change the rows of a table; return the number of rows changed."""
    number, last = 0, None
    while page := await _page(db, table, last):
        found = [row for row in page if table.change(row) is not None]
        for start in range(0, len(found), CHANGES):
            some = found[start : start + CHANGES]
            number += await db.bulk(partial(_apply, table=table, rows=some))
        last = page[-1]
    return number


def _apply(tx: database.Transaction, table: PersonalTable, rows: list[database.Row]) -> int:
    return sum(table.apply(tx, row) for row in rows)


async def stream_rows(db: database.Database, table: PersonalTable) -> AsyncIterator[database.Row]:
    """Yield the rows of a table, read in batches."""
    last = None
    while page := await _page(db, table, last):
        for row in page:
            yield row
        last = page[-1]


async def _page(
    db: database.Database, table: PersonalTable, last: database.Row | None
) -> list[database.Row]:
    return await db.read(lambda tx: table.page(tx, last))


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
