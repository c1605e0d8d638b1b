"""Recipients of letters: sellers name them, they confirm their address and unsubscribe."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from bot.core.errors import FieldProblem, InvalidBody
from bot.core.outbox import lane_locks, lanes, outbox
from bot.core.text import email_addresses
from bot.service.model.payment_reports import ConfirmationQuestion
from bot.service.model.recipient import (
    MOST_ASKS,
    MOST_OPEN,
    VALID,
    Recipient,
    RecipientState,
    RecipientStatus,
)
from bot.service.store import joined_letters
from bot.service.store import recipients as store
from bot.service.usecases.letters import letter_limits
from bot.service.usecases.letters.letter_limits import MAILS

if TYPE_CHECKING:
    from bot.core.database.database import Transaction
    from bot.service.model.request import PaymentRequest

FIELD = "notifications.email"
TOO_MANY = (
    f"can't be taken: {MOST_OPEN} of your addresses already wait to be confirmed."
    " Confirm one of them first"
)


def find_or_ask(
    tx: Transaction, request: PaymentRequest, now: int, *, confirms: bool
) -> RecipientStatus | None:
    """Return the recipient at a request's email address, if any; ask it to confirm if `confirms`.

    Asks again once the link has expired, a bounded number of times. Raises InvalidBody if too many
    addresses of the seller are unconfirmed.
    """
    address, app_id, owner = request.terms.email, request.app_id, request.owner
    if address is None:
        return None
    found = store.find_by_address(tx, app_id, owner, email_addresses.mailbox_key(address))
    if found is None:
        found = _new(tx, request, address, now, confirms=confirms)
        if found.state is RecipientState.UNCONFIRMED:
            letter_limits.lock_asks(tx, found)
            if store.count_open(tx, app_id, owner, now - VALID) >= MOST_OPEN:
                raise InvalidBody(f"{FIELD} {TOO_MANY}.", [FieldProblem(FIELD, TOO_MANY)])
        store.insert(tx, found)
    ask_confirmation(tx, found, address, request.id, now)
    return RecipientStatus(found.id, found.state, found.confirmed_at)


def ask_confirmation(
    tx: Transaction, recipient: Recipient, address: str, request_id: str, now: int
) -> None:
    """Queue a letter with a confirmation link, unless one is valid or too many were sent."""
    if recipient.state is not RecipientState.UNCONFIRMED or (
        recipient.asks and recipient.may_be_confirmed(now)
    ):
        return
    letter_limits.lock_asks(tx, recipient)
    if store.count_asks(tx, recipient) >= MOST_ASKS:
        return
    if not store.record_ask(tx, recipient, secrets.token_urlsafe(24), now):
        return
    question = ConfirmationQuestion(
        app_id=recipient.app_id,
        request_id=request_id,
        recipient_id=recipient.id,
        address=address,
        asked_at=now,
    )
    key = f"ask-{outbox.new_id(now)}"
    outbox.put(tx, MAILS, recipient.address, question, now, key=key, subject=recipient.id)


def confirm(tx: Transaction, token: str, now: int) -> Recipient | None:
    """Confirm the address of a link; return None if the link has expired.

    Payments that wait for the confirmation go at once, in one letter.
    """
    if known := store.find_by_token(tx, token):
        lane_locks.lock(tx, MAILS, known.address)
    recipient = store.confirm(tx, token, now, now - VALID)
    leader = joined_letters.first_waiting(tx, recipient.id, now) if recipient else None
    if recipient is None or leader is None:
        return recipient
    joined_letters.begin_letter(tx, leader)
    joined_letters.join_letter(tx, leader, recipient.id, now)
    joined_letters.hasten(tx, leader, recipient.id, now)
    lanes.reopen(tx, MAILS, recipient.address)
    tx.wake(MAILS.name)
    return recipient


def unsubscribe(
    tx: Transaction, token: str, now: int, *, everybody: bool = False
) -> Recipient | None:
    """End the letters of one seller, or of `everybody`, to the recipient whose link it is.

    Returns None for an unknown link.
    """
    recipient = store.find_by_stop_token(tx, token)
    if recipient is not None:
        app_id, owner = ("", "") if everybody else (recipient.app_id, recipient.owner)
        store.unsubscribe(tx, recipient.mailbox, app_id, owner, now)
    return recipient


def _new(
    tx: Transaction, request: PaymentRequest, address: str, now: int, *, confirms: bool
) -> Recipient:
    mailbox = email_addresses.mailbox_digest(address)
    state = RecipientState.UNCONFIRMED if confirms else RecipientState.TRUSTED
    if store.has_unsubscribed(tx, mailbox, request.app_id, request.owner):
        state = RecipientState.ENDED
    return Recipient(
        id=secrets.token_hex(12),
        app_id=request.app_id,
        owner=request.owner,
        address=email_addresses.mailbox_key(address),
        mailbox=mailbox,
        state=state,
        stop_token=secrets.token_urlsafe(24),
        created_at=now,
    )
