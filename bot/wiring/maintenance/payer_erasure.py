"""Payers' data erased from the service, the chat and the bytes of the database file."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from bot.chat.store import erase as chat
from bot.core import exact_json
from bot.core.errors import BotError
from bot.core.ops import audit
from bot.core.privacy import erasure, scrubbing
from bot.core.privacy.erasure import ErasedValues, Scope
from bot.core.text import phones
from bot.service.store import personal_data as service

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from bot.core.database.database import Database, Row, Transaction
    from bot.core.privacy.erasure import PersonalTable

ADDRESS = re.compile(r"[^@\s]+@[^@\s]+")
"""What may be an e-mail address or a paymail: what is shorter would be found in anything."""

MOST_TRACED = 64
"""Values that are looked for in the bytes: each costs a tenth of a second for 200 MB."""


@dataclass(frozen=True, slots=True)
class Found:
    """How many rows hold what is to go, and the values themselves, which nobody is shown."""

    payments: int
    checkouts: int
    told: int
    values: frozenset[str]
    recipients: int = 0

    @property
    def nothing(self) -> bool:
        """Whether there is nothing to erase."""
        return not (self.payments or self.checkouts or self.told or self.recipients)


@dataclass(frozen=True, slots=True)
class Erased:
    """What was done: `messages` that went or wait without it, values that may be nowhere now."""

    messages: int
    gone: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Bytes:
    """How the file was left: written anew or not, and columns that still hold something.

    `traced` of `of` values were looked for, `left` of them found.
    """

    compacted: bool
    traced: int
    of: int
    left: int
    holders: tuple[str, ...] = ()


def parse_scope(
    tx: Transaction, who: Sequence[str], before: int | None, request_id: str | None
) -> Scope:
    """Say whose data is meant: addresses, numbers, or transactions in place of their payers.

    Raises BotError for what is none of these, and where nothing narrows it.
    """
    if not who and before is None and request_id is None:
        raise BotError("say whose data: WHO, --before or --request; see erase --help")
    if request_id is not None and not _is_known(tx, request_id):
        raise BotError("--request: there is no payment request of this id")
    people = frozenset(name for word in who for name in _people(tx, word)) if who else None
    return Scope(people, before, request_id)


async def survey(db: Database, scope: Scope) -> Found:
    """Count what is to go; nothing is changed."""
    values: set[str] = set()
    numbers = Counter[str]()
    for place in _places(scope):
        async for row in erasure.stream_rows(db, place):
            if place.change(row) is not None:
                numbers[place.table] += 1
                values.update(erasure.find_texts(_data(row)))
    recipients = await db.read(lambda tx: service.recipients(tx, scope))
    values.update(row["address"] for row in recipients)
    return Found(
        payments=numbers["payments"],
        checkouts=numbers["checkouts"],
        told=numbers["received_payments"],
        values=frozenset(values),
        recipients=len(recipients),
    )


async def erase(db: Database, scope: Scope, found: Found, now: int) -> Erased:
    """Erase it, and note how much that was; `now` in epoch ms.

    What the same people gave where `scope` does not reach stays, in messages as well.
    """
    for place in _places(scope):
        await erasure.erase_rows(db, place)
    for it in await db.read(lambda tx: service.recipients(tx, scope)):
        await db.transaction(partial(service.forget_recipient, it=it, now=now))
    keys = {erasure.match_key(value) for value in found.values}
    people = scope.people or frozenset()
    values = {*found.values, *(people - keys)}
    keys |= people
    gone = keys - await _living(db, keys)
    wanted = sorted(one for one in values if erasure.match_key(one) in gone)
    request_id = scope.request_id
    listing = await db.read(lambda tx: chat.listing_id_of(tx, request_id or ""))
    messages = await erasure.erase_rows(db, chat.messages(scope, listing, ErasedValues.of(wanted)))
    details = {"payments": found.payments, "checkouts": found.checkouts, "told": found.told}
    details |= {"recipients": found.recipients} if found.recipients else {}
    subject = request_id or "payers"
    await db.transaction(
        lambda tx: audit.record(tx, audit.operator(), "payers.erased", subject, now, details)
    )
    return Erased(messages, tuple(wanted))


def clean(path: Path, gone: Sequence[str]) -> Bytes:
    """Take what was erased out of the bytes of the file too, and look for it there.

    Only while this process has no connection to it. Raises BotError.
    """
    step = -(-len(gone) // MOST_TRACED) or 1
    wanted = gone[::step]
    compacted = scrubbing.compact(path)
    left = scrubbing.traces(path, wanted)
    holders = {name for value in left for name in scrubbing.holders(path, value)}
    return Bytes(compacted, len(wanted), len(gone), len(left), tuple(sorted(holders)))


def _places(scope: Scope) -> tuple[PersonalTable, ...]:
    return service.payments(scope), service.checkouts(scope), chat.recorded_payments(scope)


def _is_known(tx: Transaction, request_id: str) -> bool:
    return service.is_request(tx, request_id) or chat.listing_id_of(tx, request_id) is not None


def _people(tx: Transaction, word: str) -> Iterable[str]:
    data = service.data_of(tx, word)
    if data is None:
        data = chat.payer_data(tx, word)
    if data is not None:
        return map(erasure.match_key, erasure.find_texts(data))
    name = erasure.match_key(word)
    if phones.digits(word.strip()) is None and not ADDRESS.fullmatch(name):
        raise BotError(
            f"{word}: is no e-mail address, paymail or phone number, and no payment has this id"
        )
    return [name]


async def _living(db: Database, keys: set[str]) -> set[str]:
    """Give those of the keys that somebody gave whose data stays."""
    found: set[str] = set()
    for place in _places(Scope(frozenset(keys))):
        async for row in erasure.stream_rows(db, place):
            found |= keys.intersection(map(erasure.match_key, erasure.find_texts(_data(row))))
    return found


def _data(row: Row) -> object:
    return exact_json.loads(row["user_data"] if "user_data" in row else row["body"])
