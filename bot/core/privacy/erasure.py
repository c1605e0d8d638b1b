"""What payers said about themselves, taken out of tables batch by batch while others work on them.

Each part names the places in which it keeps such data. They are read beside the writer, and only
what changes is written, some rows in a transaction, so nobody waits for it.
"""

from __future__ import annotations

import html
import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from bot.core.text import phones

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping

    from bot.core.database.database import Database, Row, Transaction

BATCH = 500
"""Rows read at a time, and written in one transaction at most."""

MOST_NARROWED = 20
"""People whom SQL looks for before we do: more conditions cost more than they save."""

PLAIN = re.compile(r"[!#-\[\]-~]+")
"""What JSON writes as it is, and SQL folds as we do."""

WORD = re.compile(r"[^\s<>]+")
"""A word of a text, also between the marks of HTML."""

NUMBER = re.compile(r"\+?\(?[0-9][0-9 ()./-]+[0-9]")
"""What may be a phone number amid a text, with what people write between its digits."""

AROUND = ".,;:!?()[]<>\"'"
"""What stands around a word and is none of it."""

HIDDEN = "…"
"""What takes the place of what is erased."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose data to erase: of these people (their `key`s), paid before a time, to one request.

    None does not narrow it; an empty set of people is nobody. `before` in epoch ms.
    """

    people: frozenset[str] | None = None
    before: int | None = None
    request_id: str | None = None

    def covers(self, request_id: str | None, at: int, data: object) -> bool:
        """Whether data given at `at` (epoch ms) for a request is to go; False for none."""
        if self.request_id is not None and request_id != self.request_id:
            return False
        if self.before is not None and at >= self.before:
            return False
        return any(
            self.people is None or match_key(text) in self.people for text in find_texts(data)
        )


@dataclass(frozen=True, slots=True)
class ErasedValues:
    """Values to be found in texts: their keys, and how many words those have that begin with one.

    A look at a text costs its own length, however many the values are.
    """

    keys: frozenset[str]
    lengths: Mapping[str, frozenset[int]]

    @classmethod
    def of(cls, values: Iterable[str]) -> ErasedValues:
        """Name values as they were given; they are found as HTML writes them too."""
        keys, lengths = set(), defaultdict(set)
        for value in values:
            keys.add(match_key(value))
            for form in {value, html.escape(value), html.escape(value, quote=False)}:
                words = WORD.findall(form)
                keys.add(match_key(" ".join(words).strip(AROUND)))
                if len(words) > 1:
                    lengths[match_key(words[0].strip(AROUND))].add(len(words))
        found = {name: frozenset(numbers) for name, numbers in lengths.items()}
        return cls(frozenset(keys - {""}), found)


@dataclass(frozen=True, slots=True)
class PersonalTable:
    """A table with such data: `keys` tell its rows apart, `change` says what becomes of a row.

    None for a row that stays. `where`, with the parameters `given`, leaves out rows that need no
    look; `also` changes elsewhere what hangs on a row, in the same transaction.
    """

    table: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    change: Callable[[Row], dict[str, object] | None]
    where: str = "1 = 1"
    also: Callable[[Transaction, Row], None] | None = None
    given: Mapping[str, str] = field(default_factory=dict)

    @property
    def select(self) -> str:
        """Give the beginning of a statement that reads rows."""
        names = ", ".join((*self.keys, *self.columns))
        return f"SELECT {names} FROM {self.table} WHERE {self.where}"  # noqa: S608 - our own names

    def page(self, tx: Transaction, last: Mapping[str, object] | None) -> list[Row]:
        """Give the rows that follow the last one seen."""
        names = ", ".join(self.keys)
        given: dict[str, object] = {**self.given}
        after = ""
        if last is not None:
            after = f" AND ({names}) > ({', '.join(f':{name}' for name in self.keys)})"
            given |= {name: last[name] for name in self.keys}
        sql = f"{self.select}{after} ORDER BY {names} LIMIT {BATCH}"
        return tx.query(sql, **given)

    def apply(self, tx: Transaction, found: Row) -> int:
        """Change a row that was found, as it is now; how many that are."""
        given = {name: found[name] for name in self.keys}
        which = " AND ".join(f"{name} = :{name}" for name in self.keys)
        row = tx.one(f"{self.select} AND {which}", **given, **self.given)
        changes = self.change(row) if row else None
        if row is None or changes is None:
            return 0
        if self.also is not None:
            self.also(tx, row)
        new = ", ".join(f"{name} = :new_{name}" for name in changes)
        values = {f"new_{name}": value for name, value in changes.items()}
        return tx.execute(f"UPDATE {self.table} SET {new} WHERE {which}", **given, **values)  # noqa: S608 - as above


def mentions_any(column: str, people: Collection[str] | None) -> tuple[str, dict[str, str]]:
    """Give a condition that is true of every row whose JSON names one of these, and its parameters.

    True of every row where there are too many, or some that SQL might not find.
    """
    if not people or len(people) > MOST_NARROWED or not all(map(PLAIN.fullmatch, people)):
        return "1 = 1", {}
    given = {f"like{number}": _like(name) for number, name in enumerate(sorted(people))}
    anyone = " OR ".join(f"LOWER({column}) LIKE :{name} ESCAPE '!'" for name in given)
    return f"({anyone})", given


def _like(name: str) -> str:
    return "%" + re.sub("[!%_]", r"!\g<0>", name) + "%"


async def erase_rows(db: Database, place: PersonalTable) -> int:
    """Change what is to change in a place; how many rows that were."""
    number, last = 0, None
    while page := await _page(db, place, last):
        found = [row for row in page if place.change(row) is not None]
        if found:
            number += await db.transaction(partial(_apply, place=place, found=found))
        last = page[-1]
    return number


async def stream_rows(db: Database, place: PersonalTable) -> AsyncIterator[Row]:
    """Give the rows of a place one by one, read some at a time."""
    last = None
    while page := await _page(db, place, last):
        for row in page:
            yield row
        last = page[-1]


def match_key(text: str) -> str:
    """Give what is the same for one address or number, however it was typed.

    Of a phone number the digits count, without 00 or + before them.
    """
    folded = text.strip().casefold()
    digits = phones.digits(folded)
    return folded if digits is None else digits.removeprefix("00")


def find_texts(data: object) -> Iterator[str]:
    """Give every text and number in what JSON holds."""
    if isinstance(data, dict):
        for value in data.values():
            yield from find_texts(value)
    elif isinstance(data, list):
        for value in data:
            yield from find_texts(value)
    elif data is not None and not isinstance(data, bool) and str(data).strip():
        yield str(data)


def redact(data: Any, gone: ErasedValues) -> Any:
    """Give what JSON holds without the values that are `gone`, and texts without their words.

    A field that held nothing else goes with its value.
    """
    if isinstance(data, dict):
        return {name: redact(value, gone) for name, value in data.items() if not _is(value, gone)}
    if isinstance(data, list):
        return [redact(value, gone) for value in data if not _is(value, gone)]
    if isinstance(data, str):
        return HIDDEN if _is(data, gone) else _hushed(data, gone)
    return data


def _is(value: object, gone: ErasedValues) -> bool:
    return isinstance(value, str) and match_key(value) in gone.keys


def _hushed(text: str, gone: ErasedValues) -> str:
    """Give a text without what is gone: values of some words whole, then words, then numbers."""
    words, parts, done, number = [*WORD.finditer(text)], [], 0, 0
    while number < len(words):
        length = _gone_from(words, number, gone)
        if length:
            begin, end = words[number].start(), words[number + length - 1].end()
            found = text[begin:end]
            parts += [text[done:begin], found.replace(found.strip(AROUND), HIDDEN)]
            done = end
        number += length or 1
    rest = "".join([*parts, text[done:]])
    return NUMBER.sub(lambda it: HIDDEN if match_key(it[0]) in gone.keys else it[0], rest)


def _gone_from(words: list[re.Match[str]], number: int, gone: ErasedValues) -> int:
    """Say how many words from one on are a value that is gone, as many as can be."""
    lengths = gone.lengths.get(match_key(words[number][0].strip(AROUND)), frozenset())
    for length in sorted({1, *lengths}, reverse=True):
        some = [word[0] for word in words[number : number + length]]
        if len(some) == length and match_key(" ".join(some).strip(AROUND)) in gone.keys:
            return length
    return 0


async def _page(db: Database, place: PersonalTable, last: Row | None) -> list[Row]:
    return await db.read(lambda tx: place.page(tx, last))


def _apply(tx: Transaction, place: PersonalTable, found: list[Row]) -> int:
    return sum(place.apply(tx, row) for row in found)
