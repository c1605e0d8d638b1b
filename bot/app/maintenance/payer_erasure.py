"""Erasure of payers' data from the service and the chat."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial

from bot.chat.model import drafts, queues, receipt
from bot.chat.store import personal_data, seller_rows
from bot.core import erasure, errors
from bot.core.database import database
from bot.core.ops import audit
from bot.service.personal_data import (
    checkouts_table,
    data_of,
    find_profiles,
    find_recipients,
    forget_profiles,
    forget_recipient,
    is_request,
    mentions_tables,
    numbers_of,
    payments_table,
    profile_batches,
    values_of_payer,
)

TOUCHED = (
    *("payments", "checkouts", "deliveries", "delivery_attempts", "recipients", "outbox", "lanes"),
    *("payment_requests", "apps", "payout_accounts", "audit"),
    *("received_payments", "sellers", "seller_accounts", "listings", "posts", "kept_receipts"),
    "sent_alerts",
)
"""Tables in which `erase` changes or deletes rows."""

QUEUES = queues.make_queues(None, None, None)
"""The chat's queues, for the jobs that remove an erased profile from its links and cards."""


@dataclass(frozen=True, slots=True)
class Found:
    """The data to erase: the counts of rows, the values, which are never printed, and the payments.

    * `addresses`: addresses and phone numbers that identify a payer. Nothing typed as a name, in a
      message or in a note counts, because dates look like phone numbers.
    * `recorded`: payments in the chat.
    * `recipients`: addresses that get emails about payments.
    * `sellers`: requests, applications and sellers in the chat that have a profile.
    * `kept`: receipts that payers keep in Telegram.
    """

    payments: int
    checkouts: int
    recorded: int
    values: frozenset[str]
    addresses: frozenset[str]
    paid: frozenset[receipt.ReceiptKey] = frozenset()
    recipients: int = 0
    sellers: int = 0
    kept: int = 0

    @property
    def rows(self) -> int:
        """Return the total number of rows."""
        of_payments = self.payments + self.checkouts + self.recorded
        return of_payments + self.recipients + self.sellers + self.kept


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
    if request_id is not None:
        in_chat = personal_data.link_id_of(tx, request_id) is not None
        if not in_chat and not is_request(tx, request_id):
            raise errors.BotError("--request: there is no payment request with this id")
    given = {word: _given_with(tx, word) for word in who}
    sellers = frozenset(_person(tx, word) for word, data in given.items() if data is None)
    named = {word: data for word, data in given.items() if data is not None}
    people = sellers.union(*named.values())
    numbers = frozenset[str]().union(*(numbers_of(tx, word) for word in named))
    return erasure.Scope(people if who else None, before, request_id, sellers, numbers)


async def survey(db: database.Database, scope: erasure.Scope) -> Found:
    """Count the data of `scope`; change nothing."""
    values: set[str] = set()
    given: set[str] = {*(scope.people or ())}
    rows: set[tuple[str, ...]] = set()
    paid: set[receipt.ReceiptKey] = set()
    for place in _places(scope):
        async for row in _changing(db, place):
            rows.add(_key(place, row))
            values.update(erasure.find_texts(_data(row)))
            given.update(erasure.find_texts(_data(row)[0]))
            if place.table != "checkouts":
                paid.add(receipt.ReceiptKey(row["request_id"], row[place.keys[-1]]))
    recipients = await db.read(lambda tx: find_recipients(tx, scope))
    values.update(row["address"] for row in recipients)
    given.update(row["address"] for row in recipients)
    addresses = frozenset(filter(erasure.is_address, given))
    for place in _mentions(scope, addresses, addresses) if addresses else ():
        rows |= {_key(place, row) async for row in _changing(db, place)}
    numbers = Counter(table for table, *_ in rows)
    return Found(
        payments=numbers["payments"],
        checkouts=numbers["checkouts"],
        recorded=numbers["received_payments"],
        values=frozenset(values),
        addresses=addresses,
        paid=frozenset(paid),
        recipients=len(recipients),
        sellers=len(await db.read(lambda tx: _profiles(tx, scope))),
        kept=len(await db.read(lambda tx: personal_data.kept_receipts(tx, scope, paid))),
    )


async def erase(db: database.Database, scope: erasure.Scope, found: Found, now: int) -> Erased:
    """Erase the data of `scope`, which `survey` found, and record the counts; `now` in epoch ms.

    Data of the same people outside `scope` stays, in messages too.
    """
    chats = db.in_write_scope(queues.WRITE_SCOPE)
    for one in await db.read(lambda tx: personal_data.kept_receipts(tx, scope, found.paid)):
        await chats.transaction(partial(personal_data.forget_receipts, found=one, now=now))
    for place in (payments_table(scope), checkouts_table(scope)):
        await erasure.erase_rows(db, place)
    await erasure.erase_rows(chats, personal_data.payments_to_erase(scope))
    for it in await db.read(lambda tx: find_recipients(tx, scope)):
        await db.transaction(partial(forget_recipient, recipient=it, now=now))
    profiles = await db.read(lambda tx: find_profiles(tx, scope))
    for some in profile_batches(profiles):
        await db.transaction(partial(forget_profiles, found=some))
    for seller_id in await db.read(lambda tx: personal_data.sellers_with_profile(tx, scope)):
        await chats.transaction(
            partial(
                seller_rows.change_profile,
                queues=QUEUES,
                seller_id=seller_id,
                profile=drafts.NO_PROFILE,
                now=now,
            )
        )
        await chats.transaction(partial(seller_rows.forget_accounts, seller_id=seller_id))
    keys = {erasure.match_key(value) for value in found.values}
    people = scope.people or frozenset()
    values = {*found.values, *(people - keys)}
    keys |= people
    gone = keys - await _living(db, keys)
    wanted = sorted(one for one in values if erasure.match_key(one) in gone)
    request_id = scope.request_id
    link = await db.read(lambda tx: personal_data.link_id_of(tx, request_id or ""))
    values_gone = erasure.ErasedValues.of(wanted)
    noted = found.addresses.union(one for one in wanted if not personal_data.is_buyer(one))
    if noted:
        *of_service, of_chat = _mentions(scope, found.addresses, noted)
        for place in of_service:
            await erasure.erase_rows(db, place)
        await erasure.erase_rows(chats, of_chat)
    await erasure.erase_rows(chats, personal_data.sent_alerts(scope, link, values_gone))
    messages = await erasure.erase_rows(
        chats, personal_data.messages_to_erase(scope, link, values_gone)
    )
    details = {"payments": found.payments, "checkouts": found.checkouts, "told": found.recorded}
    details |= {"recipients": found.recipients} if found.recipients else {}
    details |= {"sellers": found.sellers} if found.sellers else {}
    details |= {"kept": found.kept} if found.kept else {}
    subject = request_id or "payers"
    await db.transaction(
        lambda tx: audit.record(tx, audit.operator(), "payers.erased", subject, now, details)
    )
    return Erased(messages, tuple(wanted))


def _places(scope: erasure.Scope) -> tuple[erasure.PersonalTable, ...]:
    return payments_table(scope), checkouts_table(scope), personal_data.payments_to_erase(scope)


def _mentions(
    scope: erasure.Scope, addresses: frozenset[str], noted: frozenset[str]
) -> tuple[erasure.PersonalTable, ...]:
    """Return where others mention erased payers: `addresses` in texts, `noted` in notes."""
    lost = scope, erasure.ErasedValues.of(addresses), erasure.ErasedValues.of(noted)
    return *mentions_tables(*lost), personal_data.mentions(*lost)


async def _changing(
    db: database.Database, place: erasure.PersonalTable
) -> AsyncIterator[database.Row]:
    async for row in erasure.stream_rows(db, place):
        if place.change(row) is not None:
            yield row


def _key(place: erasure.PersonalTable, row: database.Row) -> tuple[str, ...]:
    return (place.table, *(row[name] for name in place.keys))


def _profiles(tx: database.Transaction, scope: erasure.Scope) -> list[object]:
    return [*find_profiles(tx, scope), *personal_data.sellers_with_profile(tx, scope)]


def _given_with(tx: database.Transaction, word: str) -> frozenset[str] | None:
    """Return the data that a payment's payer gave; None if no payment has this id."""
    data = data_of(tx, word)
    if data is None:
        data = personal_data.payer_data(tx, word)
    return None if data is None else frozenset(map(erasure.match_key, erasure.find_texts(data)))


def _person(tx: database.Transaction, word: str) -> str:
    name = erasure.match_key(word)
    is_known = erasure.is_address(word) or personal_data.is_buyer(name)
    if not is_known and not _profiles(tx, erasure.Scope(sellers=frozenset({name}))):
        raise errors.BotError(
            f"{word}: is not an email address, paymail or phone number, and no payment has this id"
            "; no seller has this contact either"
        )
    return name


async def _living(db: database.Database, keys: set[str]) -> set[str]:
    """Return the keys that also occur in the remaining data."""
    found: set[str] = set()
    for place in _places(erasure.Scope(frozenset(keys))):
        async for row in erasure.stream_rows(db, place):
            found |= keys.intersection(map(erasure.match_key, erasure.find_texts(_data(row))))
    return found


def _data(row: database.Row) -> list[object]:
    """Return the entered data: first the data that the seller asked for, then words and notes."""
    return values_of_payer(row) if "user_data" in row else personal_data.entered_by_payer(row)
