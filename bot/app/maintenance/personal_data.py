"""Where personal data is stored, and what erasing leaves of it: a row for each place.

Finding, erasing and the check that nothing is left follow from the rows (payer_erasure.py).
Payments stay, with their amounts and times, and their payers stay counted by number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

from bot.chat.model import drafts, payout, queues
from bot.chat.store import link_rows, sealed_updates, seller_rows
from bot.core import erasure, errors, exact_json, stored_json
from bot.core.database import database
from bot.core.ops import audit
from bot.core.outbox import bulk_changes, queries
from bot.service.notifications import notification, notification_rows
from bot.service.payments import payment_reports
from bot.service.requests import request_rows

NOTHING = "{}"
"""JSON of erased data."""

WORDS = ("payer_name", "message")
"""Columns of payers' words to the seller."""

NOTES = ("sent_note", "paid_back_note")
"""Columns of sellers' notes about a payment, which may name its payer."""


@dataclass(frozen=True, slots=True)
class Search:
    """Whose data to erase, and what is known about them."""

    scope: erasure.Scope
    link_id: str | None = None
    """The chat's link of the scope's request."""
    owners: frozenset[tuple[str, str]] = frozenset()
    """The sellers in the scope: application and reference, which is "" for unnamed owners."""
    paid: frozenset[tuple[str, str]] = frozenset()
    """The payments found: their request and transaction ids."""
    addresses: erasure.ErasedValues = erasure.NO_VALUES
    """Addresses and phone numbers, erased from what other payers wrote. Nothing typed as a name, in
    a message or in a note counts, because dates look like phone numbers."""
    noted: erasure.ErasedValues = erasure.NO_VALUES
    """What is erased from sellers' notes on other payments."""
    gone: erasure.ErasedValues = erasure.NO_VALUES
    """What is erased from stored messages: values that no remaining payment has."""
    now: int = 0
    """In epoch ms."""


Changes: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class PersonalTable:
    """A table with personal data."""

    name: str
    erased: Changes
    """The columns with personal data, and what replaces it."""
    change: Callable[[PersonalTable, Search, database.Row], Changes | None]
    """Returns the new values of a row; None leaves the row as it is."""
    keys: Mapping[str, object] = field(default_factory=lambda: {"id": ""})
    """The columns that identify a row, each with a value that is smaller than all of its values."""
    others: tuple[str, ...] = ()
    """Further expressions that `change` and `also` read."""
    where: str = "1 = 1"
    """Rows that can have personal data."""
    also: Callable[[database.Transaction, database.Row, Changes, Search], None] | None = None
    """Changes other tables for a row, in the same transaction."""
    is_deleted: bool = False
    """Rows are deleted instead of changed."""
    counted_as: str = ""
    """The name under which the command reports the number of rows, if it is not `name`."""
    at_once: int = 50
    """The most rows changed in one transaction: payments may wait for their locks."""
    in_chat: bool = False
    """Its transactions need the chat's write scope."""
    given: str = ""
    """The column whose values identify a person, because they were asked for as an address."""
    read: Callable[[str], object] = stored_json.read_object
    """How `given` is stored."""
    ids: tuple[str, ...] = ()
    """Columns with the id of a payment or checkout, by which a person may be named."""
    time: str = ""
    """The column with the time of the row, in epoch ms."""

    @property
    def texts(self) -> list[str]:
        """Return the columns with words and notes."""
        return [column for column in (*WORDS, *NOTES) if column in self.erased]

    @property
    def select(self) -> str:
        """Return the statement that reads the rows, without an order."""
        listed = (*self.keys, *self.erased, *self.ids, self.time, *self.others)
        columns = ", ".join(dict.fromkeys(filter(None, listed)))
        return f"SELECT {columns} FROM {self.name} WHERE {self.where}"  # noqa: S608 - our own names

    def condition(self, scope: erasure.Scope) -> tuple[str, dict[str, str]]:
        """Return an SQL condition that narrows the search for what was entered, and parameters."""
        if not self.texts:
            return "1 = 1", {}
        entered = (self.given, *(f"COALESCE({column}, '')" for column in self.texts))
        text = " || ' ' || ".join(entered)
        named, given = erasure.condition(scope, text, self.ids) if self.ids else ("1 = 1", {})
        return f"TRIM({text}) <> '{NOTHING}' AND {named}", given

    def entered(self, row: database.Row) -> list[object]:
        """Return what people entered in a row: the data that identifies them comes first."""
        texts = [row[column] for column in self.texts if row[column] is not None]
        return [self.read(row[self.given]), *texts] if self.given else texts

    def identity(self, row: database.Row) -> tuple[object, ...]:
        """Return what the row is counted as, and where it is."""
        return (self.counted_as or self.name, self.name, *(row[key] for key in self.keys))


# Payments and checkouts, paid or not, and payments as the chat recorded them.


def _of_payer(table: PersonalTable, search: Search, row: database.Row) -> Changes | None:
    """Erase everything that was entered if it names a payer in the scope."""
    ids = [row[column] for column in table.ids]
    data = table.entered(row)
    is_covered = search.scope.covers(row["request_id"], row[table.time], data, ids)
    return table.erased if is_covered else None


def _mentioned(table: PersonalTable, search: Search, row: database.Row) -> Changes | None:
    """Erase a payer from the words and notes of others."""
    if not search.scope.includes(row["request_id"], row[table.time]):
        return None
    gone = dict.fromkeys(WORDS, search.addresses) | dict.fromkeys(NOTES, search.noted)
    redacted = {column: erasure.redact(row[column], gone[column]) for column in table.texts}
    return redacted if any(row[column] != redacted[column] for column in redacted) else None


OF_PAYMENT = (
    "SELECT o.id, o.body, o.note, d.channel FROM deliveries d"  # noqa: S608 - our own words
    f" JOIN {queries.QUEUED} o ON o.id = d.id"
    " WHERE d.payment_id = :id OR d.checkout_id = :id"
)
FORGET_ANSWERS = (
    "UPDATE delivery_attempts SET answer = NULL, trouble = NULL"
    " WHERE delivery_id IN (SELECT id FROM deliveries WHERE {})"
)
PAYLOADS = {
    notification.Channel.WEBHOOK: notification_rows.WEBHOOK_PAYLOADS,
    notification.Channel.EMAIL: notification_rows.LETTER_PAYLOADS,
    notification.Channel.RECEIPT: notification_rows.RECEIPT_PAYLOADS,
}


def _redact_notifications(
    tx: database.Transaction, row: database.Row, changes: Changes, search: Search
) -> None:
    """Erase a payer from the notifications about a payment or a checkout, and all answers to them.

    A letter to an erased payer is emptied, which ends it if it is still waiting. Letters to others
    stay: they contain nothing that payers wrote.
    """
    is_erased, gone = "user_data" in changes, search.addresses
    if is_erased:
        data = stored_json.read(dict, row["user_data"])
        gone = erasure.ErasedValues.of(erasure.find_texts(data))
    for owed in tx.query(OF_PAYMENT, id=row["id"]):
        channel = notification.Channel(owed["channel"])
        payloads, body = PAYLOADS[channel], owed["body"]
        note = erasure.redact(owed["note"], gone)
        if channel != notification.Channel.RECEIPT:
            body = _redacted_report(payloads, body, None if is_erased else gone)
        elif is_erased:
            body, note = payloads.encode(payment_reports.ErasedLetter()), None
            tx.execute("UPDATE deliveries SET address = '' WHERE id = :id", id=owed["id"])
        bulk_changes.rewrite(tx, owed["id"], body, note)
    of_payment = "payment_id = :id OR checkout_id = :id"
    tx.execute(FORGET_ANSWERS.format(of_payment), id=row["id"])


def _redacted_report(
    payloads: stored_json.PayloadKinds, body: str, gone: erasure.ErasedValues | None
) -> str:
    """Return a queued report without `gone` in its words, or without its payer if that is None."""
    try:
        report = payloads.decode(body)
    except errors.Unreadable:
        return NOTHING
    if not isinstance(report, payment_reports.WebhookReport | payment_reports.LetterReport):
        return body
    if gone is None:
        return payloads.encode(replace(report, user_data={}, name=None, message=None))
    name, message = erasure.redact(report.name, gone), erasure.redact(report.message, gone)
    return payloads.encode(replace(report, name=name, message=message))


PAYERS = (
    PersonalTable(
        "payments",
        {"user_data": NOTHING, "payer": None, **dict.fromkeys((*WORDS, *NOTES))},
        _of_payer,
        given="user_data",
        ids=("id", "checkout_id"),
        time="completed_at",
        others=("request_id",),
        also=_redact_notifications,
    ),
    PersonalTable(
        "checkouts",
        {"user_data": NOTHING, **dict.fromkeys(WORDS)},
        _of_payer,
        given="user_data",
        ids=("id",),
        time="created_at",
        others=("request_id",),
        also=_redact_notifications,
    ),
    PersonalTable(
        "received_payments",
        {"body": NOTHING, **dict.fromkeys((*WORDS, *NOTES))},
        _of_payer,
        keys={"request_id": "", "transaction_id": ""},
        given="body",
        ids=("transaction_id",),
        time="received_at",
        counted_as="told",
        in_chat=True,
    ),
)

MENTIONS = tuple(replace(table, ids=(), change=_mentioned) for table in PAYERS)
"""The same tables, in which others wrote about an erased payer."""


# Receipts that payers keep in Telegram.

BUYER = re.compile(r"buyer-[1-9][0-9]{0,17}")
"""`buyer-4711` is the Telegram account 4711."""

OF_RECEIPT = (
    f"SELECT id FROM {queries.TABLE} WHERE queue IN ('messages', 'jobs', 'updates')"  # noqa: S608 - our own name
    " AND lane IN (:account, :receipts) AND body LIKE :mentions"
)


def _of_buyer(table: PersonalTable, search: Search, row: database.Row) -> Changes | None:
    """Erase the receipts of erased payments, and those kept by an account in the scope."""
    scope, people = search.scope, search.scope.people
    is_paid = (row["request_id"], row["transaction_id"]) in search.paid
    is_named = people is None or f"buyer-{row['account_id']}" in people
    is_named = is_named or row["transaction_id"] in scope.ids
    is_covered = is_named and scope.includes(row["request_id"], row["kept_at"])
    return table.erased if is_paid or is_covered else None


def _end_receipt_messages(
    tx: database.Transaction, row: database.Row, _changes: Changes, search: Search
) -> None:
    account, mentions = row["account_id"], f"%{row['transaction_id']}%"
    given = {"account": str(account), "receipts": f"receipts:{account}", "mentions": mentions}
    bulk_changes.end_unsettled(tx, OF_RECEIPT, search.now, **given)
    bulk_changes.overwrite(tx, OF_RECEIPT, NOTHING, "erased", **given)


RECEIPTS = PersonalTable(
    "kept_receipts",
    {"account_id": None},
    _of_buyer,
    keys={"request_id": "", "transaction_id": ""},
    others=("kept_at",),
    also=_end_receipt_messages,
    is_deleted=True,
    counted_as="kept",
    at_once=1,
    in_chat=True,
)


# People with an address, a profile or an open form of their own.

OF_RECIPIENT = "SELECT id FROM deliveries WHERE recipient_id = :id"
FORGET_RECIPIENT = (
    FORGET_ANSWERS.format("recipient_id = :id"),
    "UPDATE deliveries SET address = '' WHERE recipient_id = :id",
    "UPDATE payment_requests SET email = NULL, recipient_id = NULL WHERE recipient_id = :id",
)

QUEUES = queues.make_queues(None, None, None)
"""The chat's queues, for the jobs that remove an erased profile from its links and cards."""


def _of_recipient(table: PersonalTable, search: Search, row: database.Row) -> Changes | None:
    people = search.scope.people or frozenset()
    return table.erased if erasure.match_key(row["address"]) in people else None


def _end_letters(
    tx: database.Transaction, row: database.Row, _changes: Changes, search: Search
) -> None:
    """Erase the address from the seller's letters, requests and attempts; end waiting letters.

    A digest, which identifies nobody, still records that the mailbox unsubscribed.
    """
    one = row["id"]
    erased = notification_rows.LETTER_PAYLOADS.encode(payment_reports.ErasedLetter())
    bulk_changes.delete_about(tx, "mails", one)
    bulk_changes.end_unsettled(tx, OF_RECIPIENT, search.now, id=one)
    bulk_changes.overwrite(tx, OF_RECIPIENT, erased, one, id=one)
    bulk_changes.delete_lane(tx, "mails", row["address"])
    for statement in FORGET_RECIPIENT:
        tx.execute(statement, id=one)


def _of_chat_seller(table: PersonalTable, search: Search, row: database.Row) -> Changes | None:
    known_as = {payout.owner_ref(row["id"]), erasure.match_key(row["contact"] or "")}
    return None if search.scope.sellers.isdisjoint(known_as) else table.erased


def _remove_profile(
    tx: database.Transaction, row: database.Row, _changes: Changes, search: Search
) -> None:
    """Remove the profile from the seller's links too, and delete pictures and accounts."""
    step = queues.Step(tx, QUEUES, search.now)
    seller_rows.change_profile(step, row["id"], drafts.NO_PROFILE)
    seller_rows.save_accounts(tx, row["id"], ())


def _of_form(table: PersonalTable, search: Search, row: database.Row) -> Changes | None:
    """Erase the open form of a person, who may be named as a payer or as a seller."""
    is_payer = f"buyer-{row['seller_id']}" in (search.scope.people or frozenset())
    seller = {"id": row["seller_id"], "contact": row["contact"]}
    return table.erased if is_payer else _of_chat_seller(table, search, seller)


CHAT_SELLERS = PersonalTable(
    "sellers",
    dict.fromkeys(("name", "image", "about", "contact", "accent")),
    _of_chat_seller,
    keys={"id": 0},
    where="(COALESCE(name, image, about, contact, accent) IS NOT NULL"
    " OR EXISTS (SELECT 1 FROM seller_accounts a WHERE a.seller_id = sellers.id))",
    also=_remove_profile,
    at_once=1,
    in_chat=True,
)
FORMS = PersonalTable(
    "drafts",
    {"body": None},
    _of_form,
    keys={"chat_id": 0, "seller_id": 0},
    others=("(SELECT s.contact FROM sellers s WHERE s.id = drafts.seller_id) AS contact",),
    is_deleted=True,
    counted_as="forms",
    at_once=1,
    in_chat=True,
)
PEOPLE = (
    FORMS,
    PersonalTable(
        "recipients",
        {"address": None},
        _of_recipient,
        given="address",
        read=str,
        also=_end_letters,
        is_deleted=True,
        at_once=1,
    ),
    CHAT_SELLERS,
)


# Sellers as applications name them, by contact or reference (`Owner-Ref`).

KNOWN_OWNERS = """
    SELECT app_id, owner, seller FROM payment_requests WHERE seller IS NOT NULL
    UNION SELECT id, '', seller FROM apps WHERE seller IS NOT NULL
    UNION SELECT app_id, payout, NULL FROM payment_requests WHERE payout IS NOT NULL
    UNION SELECT app_id, owner, NULL FROM payout_accounts
"""


def _is_contact(profile: str | None, people: frozenset[str]) -> bool:
    seller = request_rows.read_seller(profile)
    return seller is not None and erasure.match_key(seller.contact or "") in people


def _of_owner(table: PersonalTable, search: Search, row: database.Row) -> Changes | None:
    is_owner = bool(row["owner"]) and (row["app_id"], row["owner"]) in search.owners
    is_theirs = is_owner or _is_contact(row.get("seller"), search.scope.sellers)
    return table.erased if is_theirs else None


def _of_audit_line(table: PersonalTable, search: Search, row: database.Row) -> Changes | None:
    owner = stored_json.read(dict, row["details"]).get("owner")
    actors = {(audit.app(app_id), name) for app_id, name in search.owners}
    return table.erased if owner and (row["actor"], owner) in actors else None


_of_sellers = partial(PersonalTable, change=_of_owner, counted_as="sellers")
OWNER = ("app_id", "owner")
OWNER_OF_REQUEST = (
    "(SELECT r.app_id FROM payment_requests r WHERE r.id = checkouts.request_id) AS app_id",
    "(SELECT r.payout FROM payment_requests r WHERE r.id = checkouts.request_id) AS owner",
)
PAID_TO = "(pay_with IS NOT NULL OR look IS NOT NULL)"
"""Checkouts that show an account to their payers, even if it has since been deleted."""

OWNED = (
    _of_sellers(
        "checkouts", {"pay_with": None, "look": None}, others=OWNER_OF_REQUEST, where=PAID_TO
    ),
    _of_sellers(
        "audit",
        {"details": NOTHING},
        change=_of_audit_line,
        others=("actor",),
        where="action LIKE 'payout.%'",
    ),
    _of_sellers("payout_accounts", {"label": "", "details": ""}, others=OWNER, is_deleted=True),
    _of_sellers("payment_requests", {"seller": None}, others=OWNER, where="seller IS NOT NULL"),
    _of_sellers(
        "apps", {"seller": None}, others=("id AS app_id", "'' AS owner"), where="seller IS NOT NULL"
    ),
)


# Stored messages, which may repeat erased data.

KEPT_TEXTS = (
    "kind", "language", "link_id", "post_id", "design", "file_name", "query_id", "name",
    "currency", "text", "claim_id",
)  # fmt: skip
"""Texts that a payload needs to be readable, even if they equal a payer's words."""

SUMS = ("together", "to_refund", "price", "paid_by")
"""Fields of alerts without payers' words: sums, and how a payment was paid."""


def _redact_message(table: PersonalTable, search: Search, row: database.Row) -> Changes | None:
    """Erase the scope's payers from an alert, and erased values from any message.

    A message that can't be read is emptied. Sealed texts of updates can't be searched, so they go.
    """
    try:
        body = dict(stored_json.read_object(row["body"]))
    except errors.Unreadable:
        body = {}
    wanted = _redacted(_without_payers(body, row[table.time], search), search.gone)
    wanted.pop(sealed_updates.SEALED, None)
    changes = {"body": exact_json.dumps(wanted)}
    if "note" in table.erased:
        changes["note"] = erasure.redact(row["note"], search.gone)
    is_same = wanted == body and changes.get("note") == row.get("note")
    return None if is_same and (body or row["body"] == NOTHING) else changes


def _without_payers(body: dict[str, Any], at: int, search: Search) -> dict[str, Any]:
    """Return the body of an alert of time `at` (epoch ms) without the payers in the scope."""

    def anonymous(payment: dict[str, Any]) -> dict[str, Any]:
        request_id = search.scope.request_id if payment["link_id"] == search.link_id else None
        entered = [payment.get("payer", {}), payment.get("words", {})]
        ids = [payment.get("transaction_id") or ""]
        is_covered = search.scope.covers(request_id, at, entered, ids)
        return {**payment, "payer": {}, "words": {}} if is_covered else payment

    payments = body.get("payments")
    if not isinstance(payments, list):
        return body
    return {**body, "payments": [anonymous(payment) for payment in payments]}


def _redacted(body: dict[str, Any], gone: erasure.ErasedValues) -> dict[str, Any]:
    """Return a message's body without the values `gone`; payloads stay readable."""
    wanted: dict[str, Any] = erasure.redact(body, gone)
    if "kind" not in body:
        return wanted
    kept = {name: body[name] for name in KEPT_TEXTS if name in body}
    if "text" in kept:
        kept["text"] = erasure.HIDDEN
    sums = {name: body[name] for name in SUMS if name in body}
    if isinstance(payments := body.get("payments"), list):
        sums["payments"] = [_redacted(payment, gone) for payment in payments]
    return {**kept, **wanted, **sums}


MESSAGES = (
    PersonalTable(
        "sent_alerts",
        {"body": NOTHING},
        _redact_message,
        keys={"lane": "", "message_id": 0},
        time="sent_at",
        in_chat=True,
    ),
    PersonalTable(
        queries.TABLE,
        {"body": NOTHING, "note": None},
        _redact_message,
        # Jobs are left out, because a seller's own address may equal a payer's.
        where="(queue IN ('messages', 'answers')"
        " OR (queue = 'updates' AND settled_at IS NOT NULL))",
        time="created_at",
        in_chat=True,
    ),
)

TABLES = (RECEIPTS, *PAYERS, *PEOPLE, *OWNED, *MESSAGES)

CHANGED_WITH_THEM = {
    "deliveries": ("address",),
    "delivery_attempts": ("answer", "trouble"),
    "lanes": ("lane",),
    "seller_accounts": ("label",),
    "images": ("data",),
    "outbox": ("lane",),
    "payment_requests": ("email", "recipient_id"),
}
"""Other columns with personal data, which are erased by `also` of a row."""


def start_search(tx: database.Transaction, scope: erasure.Scope) -> Search:
    """Look up what the database says about the scope."""
    link_id = link_rows.link_id_of(tx, scope.request_id) if scope.request_id else None
    sellers = scope.sellers
    owners = (
        (row["app_id"], row["owner"])
        for row in (tx.query(KNOWN_OWNERS) if sellers and not scope.is_limited else ())
        if row["owner"].casefold() in sellers or _is_contact(row["seller"], sellers)
    )
    return Search(scope, link_id, frozenset(owners))


def tables_of_people(search: Search) -> Iterator[PersonalTable]:
    """Yield the tables with data of the people in the scope, in the order of their erasure.

    Rows that lead to other rows are erased after them, so that a second run finds the rest.
    """
    yield from PAYERS
    if not search.scope.is_limited:
        yield from PEOPLE
    if search.owners:
        yield from OWNED
