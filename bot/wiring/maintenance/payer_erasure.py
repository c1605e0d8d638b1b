"""Payers' data erased from the service and the chat."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from bot.chat.messages.queues import SLICE, make_queues
from bot.chat.model.profile import NO_PROFILE
from bot.chat.model.receipt import ReceiptKey
from bot.chat.requests.sellers.profile_change import change_profile
from bot.chat.store.payouts import forget_accounts
from bot.chat.store.personal_data import erase as chat
from bot.chat.store.personal_data import kept
from bot.core.errors import BotError
from bot.core.ops import audit
from bot.core.privacy import erasure
from bot.core.privacy.erasure import ErasedValues, Scope
from bot.service.store.personal_data import payer_erasure as service
from bot.service.store.personal_data import seller_erasure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from bot.core.database.database import Database, Row, Transaction
    from bot.core.privacy.erasure import PersonalTable

TOUCHED = (
    *("payments", "checkouts", "deliveries", "delivery_attempts", "recipients", "outbox", "lanes"),
    *("payment_requests", "apps", "payout_accounts", "audit"),
    *("received_payments", "sellers", "seller_accounts", "listings", "posts", "kept_receipts"),
    "sent_alerts",
)
"""Tables in which `erase` changes or deletes rows."""

QUEUES = make_queues(None, None, None)
"""The chat's queues, for the jobs that take an erased profile off its links and cards."""


@dataclass(frozen=True, slots=True)
class Found:
    """The counts of rows with data to erase, its values, which are never printed, and its payments.

    `addresses` name a payer to everybody, phone numbers too: nothing that was typed as a name, as a
    message or in a note is among them, for dates look like phone numbers. `recorded`: payments in
    the chat; `recipients`: addresses that get emails about payments; `sellers`: requests,
    applications and sellers in the chat that have a profile; `kept`: receipts that payers keep in
    Telegram.
    """

    payments: int
    checkouts: int
    recorded: int
    values: frozenset[str]
    addresses: frozenset[str]
    paid: frozenset[ReceiptKey] = frozenset()
    recipients: int = 0
    sellers: int = 0
    kept: int = 0

    @property
    def rows(self) -> int:
        """Return the number of all rows."""
        of_payments = self.payments + self.checkouts + self.recorded
        return of_payments + self.recipients + self.sellers + self.kept


@dataclass(frozen=True, slots=True)
class Erased:
    """The outcome: `messages` of the outbox that lost data, and the values that nobody has now."""

    messages: int
    gone: tuple[str, ...]


def parse_scope(
    tx: Transaction, who: Sequence[str], before: int | None, request_id: str | None
) -> Scope:
    """Read whose data to erase: addresses, phone numbers, ids of payments, contacts of sellers.

    The id of a payment stands for its payer, and for all that was entered with it: a name or a
    message alone tells no payer from another. `before` in epoch ms. Raises BotError for any other
    word, and where nothing narrows it.
    """
    if not who and before is None and request_id is None:
        raise BotError("say whose data to erase: WHO, --before or --request; see erase --help")
    if request_id is not None and not _is_known(tx, request_id):
        raise BotError("--request: there is no payment request with this id")
    given = {word: _given_with(tx, word) for word in who}
    sellers = frozenset(_person(tx, word) for word, data in given.items() if data is None)
    named = {word: data for word, data in given.items() if data is not None}
    people = sellers.union(*named.values())
    numbers = frozenset[str]().union(*(service.numbers_of(tx, word) for word in named))
    return Scope(people if who else None, before, request_id, sellers, numbers)


async def survey(db: Database, scope: Scope) -> Found:
    """Count the data of `scope`; change nothing."""
    values: set[str] = set()
    given: set[str] = {*(scope.people or ())}
    rows: set[tuple[str, ...]] = set()
    paid: set[ReceiptKey] = set()
    for place in _places(scope):
        async for row in _changing(db, place):
            rows.add(_key(place, row))
            values.update(erasure.find_texts(_data(row)))
            given.update(erasure.find_texts(_data(row)[0]))
            if place.table != "checkouts":
                paid.add(ReceiptKey(row["request_id"], row[place.keys[-1]]))
    recipients = await db.read(lambda tx: service.recipients(tx, scope))
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
        kept=len(await db.read(lambda tx: kept.kept_receipts(tx, scope, paid))),
    )


async def erase(db: Database, scope: Scope, found: Found, now: int) -> Erased:
    """Erase the data of `scope`, which `survey` found, and record the counts; `now` in epoch ms.

    Data that the same people gave outside `scope` stays, in messages too.
    """
    chats = db.alone(SLICE)
    for one in await db.read(lambda tx: kept.kept_receipts(tx, scope, found.paid)):
        await chats.transaction(partial(kept.forget, found=one, now=now))
    for place in (service.payments(scope), service.checkouts(scope)):
        await erasure.erase_rows(db, place)
    await erasure.erase_rows(chats, chat.recorded_payments(scope))
    for it in await db.read(lambda tx: service.recipients(tx, scope)):
        await db.transaction(partial(service.forget_recipient, recipient=it, now=now))
    profiles = await db.read(lambda tx: seller_erasure.profiles(tx, scope))
    for some in seller_erasure.batches(profiles):
        await db.transaction(partial(seller_erasure.forget, found=some))
    for seller_id in await db.read(lambda tx: chat.sellers_with_profile(tx, scope)):
        await chats.transaction(
            partial(change_profile, queues=QUEUES, seller_id=seller_id, profile=NO_PROFILE, now=now)
        )
        await chats.transaction(partial(forget_accounts, seller_id=seller_id))
    keys = {erasure.match_key(value) for value in found.values}
    people = scope.people or frozenset()
    values = {*found.values, *(people - keys)}
    keys |= people
    gone = keys - await _living(db, keys)
    wanted = sorted(one for one in values if erasure.match_key(one) in gone)
    request_id = scope.request_id
    listing = await db.read(lambda tx: chat.listing_id_of(tx, request_id or ""))
    values_gone = ErasedValues.of(wanted)
    noted = found.addresses.union(one for one in wanted if not kept.is_buyer(one))
    if noted:
        *of_service, of_chat = _mentions(scope, found.addresses, noted)
        for place in of_service:
            await erasure.erase_rows(db, place)
        await erasure.erase_rows(chats, of_chat)
    await erasure.erase_rows(chats, chat.sent_alerts(scope, listing, values_gone))
    messages = await erasure.erase_rows(chats, chat.messages(scope, listing, values_gone))
    details = {"payments": found.payments, "checkouts": found.checkouts, "told": found.recorded}
    details |= {"recipients": found.recipients} if found.recipients else {}
    details |= {"sellers": found.sellers} if found.sellers else {}
    details |= {"kept": found.kept} if found.kept else {}
    subject = request_id or "payers"
    await db.transaction(
        lambda tx: audit.record(tx, audit.operator(), "payers.erased", subject, now, details)
    )
    return Erased(messages, tuple(wanted))


def _places(scope: Scope) -> tuple[PersonalTable, ...]:
    return service.payments(scope), service.checkouts(scope), chat.recorded_payments(scope)


def _mentions(
    scope: Scope, addresses: frozenset[str], noted: frozenset[str]
) -> tuple[PersonalTable, ...]:
    """Return where others wrote about erased payers: `addresses` in words, `noted` in notes."""
    lost = scope, ErasedValues.of(addresses), ErasedValues.of(noted)
    return *service.mentions(*lost), chat.mentions(*lost)


async def _changing(db: Database, place: PersonalTable) -> AsyncIterator[Row]:
    async for row in erasure.stream_rows(db, place):
        if place.change(row) is not None:
            yield row


def _key(place: PersonalTable, row: Row) -> tuple[str, ...]:
    return (place.table, *(row[name] for name in place.keys))


def _profiles(tx: Transaction, scope: Scope) -> list[object]:
    return [*seller_erasure.profiles(tx, scope), *chat.sellers_with_profile(tx, scope)]


def _is_known(tx: Transaction, request_id: str) -> bool:
    return service.is_request(tx, request_id) or chat.listing_id_of(tx, request_id) is not None


def _given_with(tx: Transaction, word: str) -> frozenset[str] | None:
    """Return what the payer of the payment of this id gave; None where there is none."""
    data = service.data_of(tx, word)
    if data is None:
        data = chat.payer_data(tx, word)
    return None if data is None else frozenset(map(erasure.match_key, erasure.find_texts(data)))


def _person(tx: Transaction, word: str) -> str:
    name = erasure.match_key(word)
    is_known = erasure.is_address(word) or kept.is_buyer(name)
    if not is_known and not _profiles(tx, Scope(sellers=frozenset({name}))):
        raise BotError(
            f"{word}: is not an email address, paymail or phone number, and no payment has this id"
            "; no seller has this contact either"
        )
    return name


async def _living(db: Database, keys: set[str]) -> set[str]:
    """Return those of the keys that are in data that stays."""
    found: set[str] = set()
    for place in _places(Scope(frozenset(keys))):
        async for row in erasure.stream_rows(db, place):
            found |= keys.intersection(map(erasure.match_key, erasure.find_texts(_data(row))))
    return found


def _data(row: Row) -> list[object]:
    """Return what was entered: the data that the seller asked for first, then words and notes."""
    return service.entered(row) if "user_data" in row else chat.entered(row)
