"""Recipients of letters to sellers: consent, rate limits, and the letters they may get.

Sellers name addresses; the holders of the addresses confirm them and unsubscribe. If a rate limit
is exhausted, the waiting payments are combined into one later letter, so that no report is lost.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

from bot.core import errors
from bot.core.database import database
from bot.core.outbox import bulk_changes, lanes, outbox, queries, queue_policy
from bot.core.text import contacts
from bot.interface import vocabulary
from bot.service.checkouts import checkout_rows
from bot.service.notifications import notification, notification_rows
from bot.service.payments import payment_reports, payment_rows
from bot.service.requests import request, request_rows

COLUMNS = database.columns_of(notification.Recipient)
INSERT = database.insert_into("recipients", COLUMNS)
CONFIRM = """
    UPDATE recipients SET state = 'confirmed', confirmed_at = :now
    WHERE token = :token AND state = 'unconfirmed' AND asked_at > :after
"""
SELECT = f"SELECT {COLUMNS} FROM recipients WHERE"  # noqa: S608 - our own names
ASK = """
    UPDATE recipients SET token = :token, asks = asks + 1, asked_at = :now
    WHERE id = :id AND asks = :asks AND state = 'unconfirmed'
"""
COUNT_ASKS = """
    SELECT COALESCE(SUM(asks), 0) AS n FROM recipients
    WHERE mailbox = :mailbox AND app_id = :app_id AND owner = :owner
"""
COUNT_OPEN = """
    SELECT COUNT(*) AS n FROM recipients WHERE app_id = :app_id AND owner = :owner
    AND state = 'unconfirmed' AND asked_at > :after
"""
IN_FORCE = """
    SELECT 1 AS one FROM unsubscribed WHERE mailbox = :mailbox
    AND ((app_id = :app_id AND owner = :owner) OR (app_id = '' AND owner = ''))
"""


def find(tx: database.Transaction, **key: str) -> notification.Recipient | None:
    """Return the recipient with these values, such as its id or the token of a link."""
    row = tx.one(f"{SELECT} {' AND '.join(f'{name} = :{name}' for name in key)}", **key)
    if row is None:
        return None
    return notification.Recipient(**{**row, "state": notification.RecipientState(row["state"])})


def unsubscribe_mailbox(
    tx: database.Transaction, mailbox: str, app_id: str, owner: str, now: int
) -> None:
    """End a seller's letters to a mailbox, or all letters if `app_id` and `owner` are ""."""
    everybody = "" if app_id == owner == "" else " AND app_id = :app_id AND owner = :owner"
    tx.execute(
        "INSERT INTO unsubscribed (app_id, owner, mailbox, at)"
        " VALUES (:app_id, :owner, :mailbox, :now) ON CONFLICT DO NOTHING",
        app_id=app_id,
        owner=owner,
        mailbox=mailbox,
        now=now,
    )
    tx.execute(
        "UPDATE recipients SET state = 'ended', ended_at = :now"  # noqa: S608 - our own words
        f" WHERE mailbox = :mailbox AND state <> 'ended'{everybody}",
        app_id=app_id,
        owner=owner,
        mailbox=mailbox,
        now=now,
    )


def has_unsubscribed(tx: database.Transaction, mailbox: str, app_id: str, owner: str) -> bool:
    """True if a mailbox has unsubscribed from this seller, or from everybody."""
    return tx.one(IN_FORCE, mailbox=mailbox, app_id=app_id, owner=owner) is not None


# Letters that report several payments or claims. Each member names the leader, whose message is
# sent. The other members are `joined` in the outbox until the leader is settled, so that the same
# letter is repeated if the answer is lost.

MOST_IN_LETTER = 2000
"""Payments in one letter."""

WAITING = f"""
    SELECT d.id FROM deliveries d JOIN {queries.QUEUED} o ON o.id = d.id
    WHERE d.recipient_id = :recipient AND d.letter IS NULL AND o.state = 'waiting'
"""  # noqa: S608 - our own words
NEWS = f"""{WAITING}
    AND (d.checkout_id IS NULL OR EXISTS (SELECT 1 FROM checkouts c
    WHERE c.id = d.checkout_id AND c.state = 'claimed' AND c.claim_lapses_at > :now))
"""  # noqa: S608 - our own words
"""The same, without claims that no longer need an answer."""

JOIN = "UPDATE deliveries SET letter = :leader WHERE id IN ({} ORDER BY d.id LIMIT :most)"
JOIN_NEWS, JOIN_ALL = JOIN.format(NEWS), JOIN.format(WAITING)
MEMBERS = "SELECT id FROM deliveries WHERE letter = :leader AND id <> :leader"
BODIES = f"""
    SELECT o.body FROM deliveries d JOIN {queries.QUEUED} o ON o.id = d.id
    WHERE d.letter = :leader AND (d.id = :leader OR o.state = 'joined') ORDER BY d.id
"""  # noqa: S608 - our own words
STRANDED = f"""
    SELECT DISTINCT d.letter AS leader FROM deliveries d JOIN {queries.QUEUED} l ON l.id = d.letter
    WHERE d.id IN (SELECT id FROM {queries.QUEUED} WHERE state = 'joined')
      AND l.state IN ('done', 'dead', 'ended')
"""  # noqa: S608 - our own words
BEGIN = "UPDATE deliveries SET letter = :id WHERE id = :id"
LEADER = "SELECT letter FROM deliveries WHERE id = :id"


def _has_begun(tx: database.Transaction, notification_id: str) -> bool:
    """True if a notification is in a letter."""
    row = tx.one(LEADER, id=notification_id)
    return row is not None and row["letter"] is not None


def _join(
    tx: database.Transaction, statement: str, leader: str, recipient_id: str, now: int
) -> None:
    """Add notifications that wait for a recipient to the letter of `leader`."""
    tx.execute(statement, leader=leader, recipient=recipient_id, most=MOST_IN_LETTER, now=now)
    bulk_changes.join_waiting(tx, MEMBERS, leader=leader)


def leave_letter(tx: database.Transaction, notification_id: str) -> None:
    """Remove a notification from its letter, to resend it alone.

    The leader of a letter stays if members have joined it, because they wait for the leader.
    """
    tx.execute(
        "UPDATE deliveries SET letter = NULL WHERE id = :id AND NOT EXISTS ("  # noqa: S608 - as above
        f"SELECT 1 FROM {queries.QUEUED} o JOIN deliveries d ON d.id = o.id"
        " WHERE d.letter = :id AND o.state = 'joined')",
        id=notification_id,
    )


# Letters: who may get a letter now, and which payments and claims it reports.

MAILS = queue_policy.Queue(
    "mails", lease=60_000, ordered=False, keep=True, payloads=notification_rows.LETTER_PAYLOADS
)
"""Each recipient has a lane that sends one letter at a time. The lease outlasts a session with the
server.
"""

MINUTE = 60 * 1000

TO_MAILBOX = queue_policy.Pace(30 * MINUTE, burst=12)
"""Limit on letters to one mailbox from all sellers: at most 14 an hour, 60 a day.

Twelve sales are reported individually, further sales in a summary every half hour.
"""

FROM_SELLER = queue_policy.Pace(2 * MINUTE, burst=60)
"""Limit on letters from one seller to all mailboxes, to protect the operator's mail server."""

ASK_MAILBOX = queue_policy.Pace(notification.DAY, burst=3)
"""Limit on confirmation letters to one mailbox from all sellers."""

ASK_SELLER = queue_policy.Pace(4 * 60 * MINUTE, burst=5)
"""Limit on confirmation letters for one seller, which may go to strangers: at most eleven a day."""

UNSUBSCRIBED = "the recipient wants no emails"
UNCONFIRMED = "nobody confirmed the address in time"
ERASED = "the address was erased"
ANSWERED = "the claim was answered, or has lapsed"


@dataclass(frozen=True, slots=True)
class Letter:
    """A letter that may be sent now."""

    recipient: notification.Recipient
    reports: tuple[payment_reports.LetterReport | payment_reports.ClaimLetter, ...] = ()
    """The reports in the letter; () if it asks the recipient to confirm the address."""

    seller: request.SellerProfile | None = None
    """The seller, if known. A letter that asks for a confirmation names no seller."""


def prepare_letter(tx: database.Transaction, message: outbox.Message, now: int) -> Letter | None:
    """Return the letter to send for a message; None if it must wait or was settled.

    A letter keeps its payments through all of its attempts.
    """
    # The letter's members wait in this lane, and a confirmation locks the lane too.
    lanes.lock(tx, MAILS, message.lane)
    recipient = find(tx, id=message.body.recipient_id)
    reason = _hindrance(tx, recipient, now)
    if recipient is None or reason is not None:
        _end(tx, message, reason or ERASED, now)
        return None
    if isinstance(message.body, payment_reports.ConfirmationQuestion):
        return _question(tx, message, recipient, now)
    if isinstance(message.body, payment_reports.ClaimLetter) and not _has_begun(tx, message.id):
        checkout = checkout_rows.find(tx, message.body.checkout_id)
        if checkout is None or checkout.state(now) is not vocabulary.CheckoutState.CLAIMED:
            outbox.end(tx, MAILS, message, now, ANSWERED)
            return None
    wait_until = _begin(tx, message, recipient, now)
    if wait_until is not None:
        outbox.release(tx, MAILS, message, wait_until)
        bulk_changes.postpone(tx, WAITING, wait_until, recipient=recipient.id)
        return None
    request = request_rows.find_ever(tx, message.body.request_id, now)
    seller = request.seller if request else None
    return Letter(recipient, tuple(_reports(tx, message.id)), seller)


def _reports(
    tx: database.Transaction, leader: str
) -> Iterator[payment_reports.LetterReport | payment_reports.ClaimLetter]:
    """Yield the reports of a letter, without messages that the seller has since hidden."""
    bodies = (row["body"] for row in tx.query(BODIES, leader=leader))
    reports = [*map(notification_rows.LETTER_PAYLOADS.decode, bodies)]
    with_words = [
        one.transaction_id
        for one in reports
        if isinstance(one, payment_reports.LetterReport) and (one.name or one.message)
    ]
    hidden = payment_rows.is_hidden(tx, with_words)
    for one in reports:
        if isinstance(one, payment_reports.LetterReport) and one.transaction_id in hidden:
            yield replace(one, name=None, message=None)
        else:
            yield one


def settle_letter(tx: database.Transaction, leader: str, now: int) -> None:
    """Settle the members of a letter once its leader is settled."""
    found = queries.find(tx, leader)
    if found and found["state"] in queries.SETTLED:
        note = found["note"] or f"in one letter with {leader}"
        bulk_changes.settle_joined(tx, MEMBERS, found["state"], note, now, leader=leader)


def settle_stranded(tx: database.Transaction, now: int) -> None:
    """Settle the members of settled letters, left by a worker that stopped in between."""
    for row in tx.query(STRANDED):
        settle_letter(tx, row["leader"], now)


def _hindrance(
    tx: database.Transaction, recipient: notification.Recipient | None, now: int
) -> str | None:
    """Return why a recipient may not get a letter, or None if it may."""
    if recipient is None:
        return ERASED
    if recipient.state is notification.RecipientState.UNCONFIRMED and now >= recipient.lapses_at():
        return UNCONFIRMED
    # A recipient stored while its mailbox unsubscribed is not marked as ended.
    has_ended = recipient.state is notification.RecipientState.ENDED or has_unsubscribed(
        tx, recipient.mailbox, recipient.app_id, recipient.owner
    )
    return UNSUBSCRIBED if has_ended else None


def _begin(
    tx: database.Transaction, message: outbox.Message, recipient: notification.Recipient, now: int
) -> int | None:
    """Begin the letter of a payment or a claim; return when it may be sent, None for now."""
    if recipient.state is notification.RecipientState.UNCONFIRMED:
        return recipient.lapses_at()
    if _has_begun(tx, message.id):
        return None
    limits = _limits(recipient)
    wait_until = take_room(tx, limits, now)
    if wait_until is not None:
        return wait_until
    tx.execute(BEGIN, id=message.id)
    if _next_at(tx, limits, now) > now:
        _join(tx, JOIN_NEWS, message.id, recipient.id, now)
    return None


def _question(
    tx: database.Transaction, message: outbox.Message, recipient: notification.Recipient, now: int
) -> Letter | None:
    """Return the letter that asks for a confirmation; None if it must wait or isn't needed."""
    if recipient.state is not notification.RecipientState.UNCONFIRMED:
        outbox.end(tx, MAILS, message, now, recipient.state.value)
        return None
    if message.attempts == 1:
        wait_until = take_room(tx, _limits(recipient, asks=True), now)
        sent = "UPDATE recipients SET asked_at = :at WHERE id = :id"  # the link's validity starts
        tx.execute(sent, id=recipient.id, at=wait_until or now)
        if wait_until is not None:
            outbox.release(tx, MAILS, message, wait_until)
            return None
    return Letter(recipient)


def lock_asks(tx: database.Transaction, recipient: notification.Recipient) -> None:
    """Lock the limits that a seller's confirmation letters share, before counting the letters."""
    lanes.lock(tx, MAILS, recipient.address)
    lanes.lock(tx, MAILS, *(name for name, _ in _limits(recipient, asks=True)))


def _limits(
    recipient: notification.Recipient, *, asks: bool = False
) -> list[tuple[str, queue_policy.Pace]]:
    """Return the limits of letters; each has the arrival time of a lane that never has messages."""
    seller = f"{recipient.app_id}/{recipient.owner}"
    if asks:
        return [(f"ask {recipient.mailbox}", ASK_MAILBOX), (f"ask-for {seller}", ASK_SELLER)]
    return [(f"to {recipient.mailbox}", TO_MAILBOX), (f"from {seller}", FROM_SELLER)]


def _arrival(tx: database.Transaction, name: str, pace: queue_policy.Pace, now: int) -> int:
    return pace.clamp(lanes.stored(tx, MAILS, name, "arrival_at") or 0, now)


def _next_at(
    tx: database.Transaction, limits: list[tuple[str, queue_policy.Pace]], now: int
) -> int:
    """Return when all limits allow a letter, in epoch ms."""
    return max(pace.next_at(_arrival(tx, name, pace, now)) for name, pace in limits)


def take_room(
    tx: database.Transaction, limits: list[tuple[str, queue_policy.Pace]], now: int
) -> int | None:
    """Count a letter towards each limit and return None.

    If a limit is exhausted, count nothing and return when it next allows a letter. The lane of the
    letter is locked before.
    """
    lanes.lock(tx, MAILS, *(name for name, _ in limits))
    at = _next_at(tx, limits, now)
    if at > now:
        return at
    for name, pace in limits:
        arrival_at = pace.advance(_arrival(tx, name, pace, now), now)
        lanes.store(tx, MAILS, name, "arrival_at", arrival_at)
    return None


def _end(tx: database.Transaction, message: outbox.Message, reason: str, now: int) -> None:
    """Settle all messages waiting for a recipient, including this one, without sending them."""
    _join(tx, JOIN_ALL, message.id, message.body.recipient_id, now)
    outbox.end(tx, MAILS, message, now, reason)
    settle_letter(tx, message.id, now)


# Consent: sellers name addresses, and their holders confirm them and unsubscribe.

FIELD = "notifications.email"
TOO_MANY_OPEN = (
    f"can't be taken: {notification.MOST_OPEN} of your addresses already wait to be confirmed."
    " Confirm one of them first"
)


def find_or_ask(
    tx: database.Transaction, request: request.PaymentRequest, now: int, *, confirms: bool
) -> notification.RecipientStatus | None:
    """Return the recipient at a request's email address, if any.

    If `confirms`, a new address must be confirmed: it gets a link, and a few new links after the
    first has expired. Raises InvalidBody if too many addresses of the seller are unconfirmed.
    """
    address, app_id, owner = request.terms.email, request.app_id, request.owner
    if address is None:
        return None
    found = find(tx, app_id=app_id, owner=owner, address=contacts.mailbox_key(address))
    if found is None:
        mailbox = contacts.mailbox_digest(address)
        state = notification.RecipientState.TRUSTED
        if has_unsubscribed(tx, mailbox, app_id, owner):
            state = notification.RecipientState.ENDED
        elif confirms:
            state = notification.RecipientState.UNCONFIRMED
        found = notification.Recipient(
            id=secrets.token_hex(12),
            app_id=app_id,
            owner=owner,
            address=contacts.mailbox_key(address),
            mailbox=mailbox,
            state=state,
            stop_token=secrets.token_urlsafe(24),
            created_at=now,
        )
        if state is notification.RecipientState.UNCONFIRMED:
            lock_asks(tx, found)
            after = now - notification.CONFIRMABLE
            (row,) = tx.query(COUNT_OPEN, app_id=app_id, owner=owner, after=after)
            if row["n"] >= notification.MOST_OPEN:
                raise errors.InvalidBody(
                    f"{FIELD} {TOO_MANY_OPEN}.", [errors.FieldProblem(FIELD, TOO_MANY_OPEN)]
                )
        tx.execute(INSERT, **asdict(found))
    ask_confirmation(tx, found, address, request.id, now)
    return notification.RecipientStatus(found.id, found.state, found.confirmed_at)


def ask_confirmation(
    tx: database.Transaction,
    recipient: notification.Recipient,
    address: str,
    request_id: str,
    now: int,
) -> None:
    """Queue a letter with a confirmation link, unless a link is valid or too many were sent."""
    if recipient.state is not notification.RecipientState.UNCONFIRMED:
        return
    if recipient.asks and recipient.may_be_confirmed(now):
        return
    lock_asks(tx, recipient)
    whose = {"app_id": recipient.app_id, "owner": recipient.owner}
    (row,) = tx.query(COUNT_ASKS, mailbox=recipient.mailbox, **whose)  # in any spelling
    if row["n"] >= notification.MOST_ASKS:
        return
    token = secrets.token_urlsafe(24)
    if not tx.execute(ASK, id=recipient.id, asks=recipient.asks, token=token, now=now):
        return  # another link was queued since the recipient was read
    question = payment_reports.ConfirmationQuestion(
        app_id=recipient.app_id,
        request_id=request_id,
        recipient_id=recipient.id,
        address=address,
        asked_at=now,
    )
    key = f"ask-{outbox.new_id(now)}"
    outbox.put(tx, MAILS, recipient.address, question, now, key=key, subject=recipient.id)


def confirm(tx: database.Transaction, token: str, now: int) -> notification.Recipient | None:
    """Confirm the address of a link; return None if the link has expired.

    Payments that wait for the confirmation are reported at once, in one letter.
    """
    known = find(tx, token=token)
    if known is None:
        return None
    lanes.lock(tx, MAILS, known.address)
    if not tx.execute(CONFIRM, token=token, now=now, after=now - notification.CONFIRMABLE):
        return None
    recipient = find(tx, id=known.id) or known
    first = tx.one(f"{NEWS} ORDER BY d.id LIMIT 1", recipient=recipient.id, now=now)
    if first is None:
        return recipient
    tx.execute(BEGIN, id=first["id"])
    _join(tx, JOIN_NEWS, first["id"], recipient.id, now)
    chosen = f"SELECT :leader UNION ALL {WAITING}"
    bulk_changes.hasten(tx, chosen, now, leader=first["id"], recipient=recipient.id)
    lanes.reopen(tx, MAILS, recipient.address)
    tx.wake(MAILS.name)
    return recipient


def unsubscribe(
    tx: database.Transaction, token: str, now: int, *, everybody: bool = False
) -> notification.Recipient | None:
    """End letters to the recipient of an unsubscribe link, from one seller or from `everybody`.

    Return None if the link is unknown.
    """
    recipient = find(tx, stop_token=token)
    if recipient is not None:
        app_id, owner = ("", "") if everybody else (recipient.app_id, recipient.owner)
        unsubscribe_mailbox(tx, recipient.mailbox, app_id, owner, now)
    return recipient
