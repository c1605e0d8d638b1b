"""Erase personal data while the bot is using the database.

Rows are read without blocking the writer, and changed in small transactions, so no payment waits
long. The tables are listed in personal_data.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from bot.app.maintenance import personal_data
from bot.chat.model import queues
from bot.core import erasure, errors, stored_json
from bot.core.database import database
from bot.core.ops import audit
from bot.core.outbox import queries

TOUCHED = tuple({*personal_data.CHANGED_WITH_THEM, *(one.name for one in personal_data.TABLES)})
"""Tables in which `erase` changes or deletes rows."""

ALWAYS_COUNTED = ("payments", "checkouts", "told")
SOMETIMES_COUNTED = ("recipients", "sellers", "kept", "forms")
"""Counts that are recorded if there are any."""

PAYMENT = """
    SELECT user_data, checkout_id FROM payments WHERE id = :id
    UNION ALL SELECT body, NULL FROM received_payments WHERE transaction_id = :id
"""
REQUEST = """
    SELECT id FROM payment_requests WHERE id = :id
    UNION ALL SELECT id FROM listings WHERE request_id = :id
"""


@dataclass(frozen=True, slots=True)
class Found:
    """The data to erase."""

    search: personal_data.Search

    counts: Counter[str]
    """Rows by what they are."""

    values: frozenset[str]
    """What payers entered; it is never printed."""

    addresses: frozenset[str]
    """The addresses and phone numbers among what payers were asked for."""

    @property
    def rows(self) -> int:
        """Return the total number of rows."""
        return self.counts.total()


@dataclass(frozen=True, slots=True)
class Erased:
    """The outcome: the number of outbox `messages` that lost data, and the values now `gone`."""

    messages: int
    gone: tuple[str, ...]


def parse_scope(
    tx: database.Transaction, who: Sequence[str], before: int | None, request_id: str | None
) -> erasure.Scope:
    """Parse whose data to erase: addresses, phone numbers, ids of payments, contacts of sellers.

    The id of a payment stands for its payer and for everything entered with the payment, because a
    name or a message alone doesn't identify a payer. `before` in epoch ms. Raises BotError for any
    other word, and if nothing limits the scope.
    """
    if not who and before is None and request_id is None:
        raise errors.BotError(
            "say whose data to erase: WHO, --before or --request; see erase --help"
        )
    if request_id is not None and not tx.query(REQUEST, id=request_id):
        raise errors.BotError("--request: there is no payment request with this id")
    sellers: set[str] = set()
    payers: set[str] = set()
    ids: set[str] = set()
    for word in who:
        payments = tx.query(PAYMENT, id=word)
        if not payments:
            sellers.add(_person(tx, word))
        for row in payments:
            ids.update(filter(None, (word, row["checkout_id"])))
            data = stored_json.read(dict, row["user_data"])
            payers.update(map(erasure.match_key, erasure.find_texts(data)))
    people = frozenset(payers | sellers) if who else None
    return erasure.Scope(people, before, request_id, frozenset(sellers), frozenset(ids))


def _person(tx: database.Transaction, word: str) -> str:
    name = erasure.match_key(word)
    if erasure.is_address(word) or personal_data.BUYER.fullmatch(name):
        return name
    if name:
        search = personal_data.start_search(tx, erasure.Scope(sellers=frozenset({name})))
        chat = personal_data.CHAT_SELLERS
        in_chat = (chat.change(chat, search, row) is not None for row in tx.query(chat.select))
        if search.owners or any(in_chat):
            return name
    raise errors.BotError(
        f"{word}: is not an email address, paymail or phone number, and no payment has this id"
        "; no seller has this contact either"
    )


async def survey(db: database.Database, scope: erasure.Scope) -> Found:
    """Count the data of `scope`; change nothing."""
    search = await db.read(lambda tx: personal_data.start_search(tx, scope))
    rows: set[tuple[object, ...]] = set()
    paid: set[tuple[str, str]] = set()
    values: set[str] = set()
    given: set[str] = {*(scope.people or ())}
    for table in personal_data.tables_of_people(search):
        async for row in _find(db, table, search):
            rows.add(table.identity(row))
            entered = table.entered(row)
            values.update(erasure.find_texts(entered))
            given.update(erasure.find_texts(entered[:1]))
            if table.ids:
                paid.add((row["request_id"], row[table.ids[0]]))
    addresses = frozenset(filter(erasure.is_address, given))
    named = erasure.ErasedValues.of(addresses)
    search = replace(search, paid=frozenset(paid), addresses=named, noted=named)
    for table in (personal_data.RECEIPTS, *(personal_data.MENTIONS if addresses else ())):
        rows |= {table.identity(row) async for row in _find(db, table, search)}
    counts = Counter(str(counted_as) for counted_as, *_ in rows)
    return Found(search, counts, frozenset(values), addresses)


async def erase(db: database.Database, found: Found, now: int) -> Erased:
    """Erase the data that `survey` found, and record the counts; `now` in epoch ms.

    Data of the same people outside the scope stays, in messages too.
    """
    search = replace(found.search, now=now)
    for table in (personal_data.RECEIPTS, *personal_data.tables_of_people(search)):
        await _erase_rows(db, table, search)
    scope = search.scope
    people = scope.people or frozenset()
    keys = {erasure.match_key(value) for value in found.values}
    values = {*found.values, *(people - keys)}
    gone = (keys | people) - await _living(db, keys | people)
    wanted = sorted(value for value in values if erasure.match_key(value) in gone)
    noted = found.addresses.union(one for one in wanted if not personal_data.BUYER.fullmatch(one))
    search = replace(
        search, gone=erasure.ErasedValues.of(wanted), noted=erasure.ErasedValues.of(noted)
    )
    changed: Counter[str] = Counter()
    for table in (*(personal_data.MENTIONS if noted else ()), *personal_data.MESSAGES):
        changed[table.name] += await _erase_rows(db, table, search)
    details = {name: found.counts[name] for name in ALWAYS_COUNTED}
    details |= {name: found.counts[name] for name in SOMETIMES_COUNTED if found.counts[name]}
    subject = scope.request_id or "payers"
    await db.transaction(
        lambda tx: audit.record(tx, audit.operator(), "payers.erased", subject, now, details)
    )
    return Erased(changed[queries.TABLE], tuple(wanted))


async def _find(
    db: database.Database, table: personal_data.PersonalTable, search: personal_data.Search
) -> AsyncIterator[database.Row]:
    """Yield the rows that erasing would change."""
    async for page in _pages(db, table, search.scope):
        for row in page:
            if table.change(table, search, row) is not None:
                yield row


def _pages(
    db: database.Database, table: personal_data.PersonalTable, scope: erasure.Scope
) -> AsyncIterator[list[database.Row]]:
    condition, given = table.condition(scope)
    return database.read_pages(db, f"{table.select} AND {condition}", table.keys, **given)


async def _erase_rows(
    db: database.Database, table: personal_data.PersonalTable, search: personal_data.Search
) -> int:
    """Change the rows of a table; return their number."""
    number = 0
    writer = db.in_write_scope(queues.WRITE_SCOPE) if table.in_chat else db
    async for page in _pages(db, table, search.scope):
        found = [row for row in page if table.change(table, search, row) is not None]
        for start in range(0, len(found), table.at_once):
            some = found[start : start + table.at_once]
            number += await writer.bulk(partial(_change, table=table, search=search, rows=some))
    return number


def _change(
    tx: database.Transaction,
    table: personal_data.PersonalTable,
    search: personal_data.Search,
    rows: Iterable[database.Row],
) -> int:
    """Change rows as they are now; return their number."""
    number = 0
    which = " AND ".join(f"{key} = :{key}" for key in table.keys)
    for found in rows:
        given = {key: found[key] for key in table.keys}
        if not table.is_deleted:
            tx.lock(f"SELECT 1 FROM {table.name} WHERE {which} FOR NO KEY UPDATE", **given)  # noqa: S608 - our own names
        row = tx.one(f"{table.select} AND {which}", **given)
        changes = table.change(table, search, row) if row else None
        if row is None or changes is None:
            continue
        if table.also is not None:
            table.also(tx, row, changes, search)
        new = ", ".join(f"{name} = :new_{name}" for name in changes)
        values = {f"new_{name}": value for name, value in changes.items()}
        sql = f"UPDATE {table.name} SET {new} WHERE {which}"  # noqa: S608 - our own names
        if table.is_deleted:
            sql, values = f"DELETE FROM {table.name} WHERE {which}", {}  # noqa: S608 - our own names
        number += tx.execute(sql, **given, **values)
    return number


async def _living(db: database.Database, keys: frozenset[str] | set[str]) -> set[str]:
    """Return the keys that also occur in the remaining data of payments."""
    found: set[str] = set()
    for table in personal_data.PAYERS:
        async for page in _pages(db, table, erasure.Scope(frozenset(keys))):
            for row in page:
                texts = erasure.find_texts(table.entered(row))
                found |= keys.intersection(map(erasure.match_key, texts))
    return found
