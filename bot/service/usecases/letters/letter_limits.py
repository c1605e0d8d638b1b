"""Rate limits of letters: who may get a letter now, and which payments it reports.

A limit that is used up delays letters and joins the waiting payments into one; none is lost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bot.core.outbox import lane_locks, outbox, queries
from bot.core.outbox.queue_policy import Pace, Queue
from bot.service.model.checkout_states import CheckoutState
from bot.service.model.payment_reports import ClaimLetter, ConfirmationQuestion, LetterReport
from bot.service.model.recipient import DAY, RecipientState
from bot.service.store import checkouts, deliveries, payment_marks, recipients, requests
from bot.service.store import joined_letters as store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bot.core.database.database import Transaction
    from bot.core.outbox.outbox import Message
    from bot.service.model.recipient import Recipient
    from bot.service.model.seller import SellerProfile

MAILS = Queue("mails", lease=60_000, ordered=False, keep=True, payloads=deliveries.LETTER_PAYLOADS)
"""A lane a recipient, one letter at a time; the lease outlasts a session with the mail server."""

MINUTE = 60 * 1000

TO_MAILBOX = Pace(30 * MINUTE, burst=12)
"""Letters to one mailbox, of all sellers together: 14 in its busiest hour, 60 in its busiest day.

Twelve sales are reported one by one, more of them by a summary each half an hour.
"""

FROM_SELLER = Pace(2 * MINUTE, burst=60)
"""Letters of one seller to all mailboxes: the load on the operator's mail server."""

ASK_MAILBOX = Pace(DAY, burst=3)
"""Confirmation letters to one mailbox, of all sellers together."""

ASK_SELLER = Pace(4 * 60 * MINUTE, burst=5)
"""Confirmation letters for one seller: at most eleven a day to addresses of strangers."""

UNSUBSCRIBED = "the recipient wants no emails"
UNCONFIRMED = "nobody confirmed the address in time"
ERASED = "the address was erased"
ANSWERED = "the claim was answered, or has lapsed"


@dataclass(frozen=True, slots=True)
class Letter:
    """A letter that may be sent: it reports payments and claims, or without any asks its reader.

    `seller` is who is paid, where that is known; a question never names them.
    """

    recipient: Recipient
    reports: tuple[LetterReport | ClaimLetter, ...] = ()
    seller: SellerProfile | None = None


def prepare_letter(tx: Transaction, message: Message, now: int) -> Letter | None:
    """Return the letter to send for a message; None if it has to wait or was settled.

    A letter keeps its payments through all of its attempts.
    """
    lane_locks.lock(tx, MAILS, message.lane)  # its members wait there, and a confirmation too
    recipient = recipients.find(tx, message.body.recipient_id)
    reason = _hindrance(tx, recipient, now)
    if recipient is None or reason is not None:
        _end(tx, message, reason or ERASED, now)
        return None
    if isinstance(message.body, ConfirmationQuestion):
        return _question(tx, message, recipient, now)
    if isinstance(message.body, ClaimLetter) and _is_answered(tx, message, now):
        outbox.end(tx, MAILS, message, now, ANSWERED)
        return None
    at = _begin(tx, message, recipient, now)
    if at is not None:
        outbox.release(tx, MAILS, message, at)
        store.postpone(tx, recipient.id, at)
        return None
    request = requests.find_ever(tx, message.body.request_id, now)
    seller = request.seller if request else None
    return Letter(recipient, tuple(_reports(tx, message.id)), seller)


def _reports(tx: Transaction, leader: str) -> Iterator[LetterReport | ClaimLetter]:
    """Yield what a letter reports, without the words that the seller has hidden meanwhile."""
    reports = store.reports(tx, leader)
    told = [one for one in reports if isinstance(one, LetterReport) and (one.name or one.message)]
    hidden = payment_marks.hidden(tx, [one.transaction_id for one in told])
    for one in reports:
        if isinstance(one, LetterReport) and one.transaction_id in hidden:
            yield replace(one, name=None, message=None)
        else:
            yield one


def settle_letter(tx: Transaction, leader: str, now: int) -> None:
    """Settle the other payments of a letter once its leader is settled."""
    state, note = queries.state_of(tx, leader) or (None, None)
    if state in queries.SETTLED:
        store.settle_members(tx, leader, state, note or f"in one letter with {leader}", now)


def sweep(tx: Transaction, now: int) -> None:
    """Settle the members of letters that are settled, and delete limits that are unused again."""
    for leader in store.unsettled_leaders(tx):
        settle_letter(tx, leader, now)
    recipients.sweep_paces(tx, now)


def _hindrance(tx: Transaction, recipient: Recipient | None, now: int) -> str | None:
    """Return why a recipient may get no letter, None if it may."""
    if recipient is None:
        return ERASED
    if recipient.state is RecipientState.UNCONFIRMED and now >= recipient.lapses_at():
        return UNCONFIRMED
    # A recipient that was stored while its mailbox unsubscribed is not ended.
    has_ended = recipient.state is RecipientState.ENDED or recipients.has_unsubscribed(
        tx, recipient.mailbox, recipient.app_id, recipient.owner
    )
    return UNSUBSCRIBED if has_ended else None


def _is_answered(tx: Transaction, message: Message, now: int) -> bool:
    """Return whether a claim needs no answer any more, unless its letter was begun before."""
    if store.leader_of(tx, message.id) is not None:
        return False
    checkout = checkouts.find(tx, message.body.checkout_id)
    return checkout is None or checkout.state(now) is not CheckoutState.CLAIMED


def _begin(tx: Transaction, message: Message, recipient: Recipient, now: int) -> int | None:
    """Begin the letter of a payment or a claim; return when to try again if it has to wait."""
    if recipient.state is RecipientState.UNCONFIRMED:
        return recipient.lapses_at()
    if store.leader_of(tx, message.id) is not None:
        return None
    limits = _limits(recipient)
    at = take_room(tx, limits, now)
    if at is not None:
        return at
    store.begin_letter(tx, message.id)
    if _next(tx, limits, now) > now:
        store.join_letter(tx, message.id, recipient.id, now)
    return None


def _question(tx: Transaction, message: Message, recipient: Recipient, now: int) -> Letter | None:
    """Return the letter that asks for a confirmation, None if it has to wait or is not needed."""
    if recipient.state is not RecipientState.UNCONFIRMED:
        outbox.end(tx, MAILS, message, now, recipient.state.value)
        return None
    if message.attempts == 1:
        at = take_room(tx, _limits(recipient, asks=True), now)
        recipients.record_ask_sent(tx, recipient.id, at or now)  # its link is valid from then on
        if at is not None:
            outbox.release(tx, MAILS, message, at)
            return None
    return Letter(recipient)


def lock_asks(tx: Transaction, recipient: Recipient) -> None:
    """Lock what the confirmation letters of one seller share, before they are counted."""
    lane_locks.lock(tx, MAILS, recipient.address)
    recipients.lock_paces(tx, [name for name, _ in _limits(recipient, asks=True)])


def _limits(recipient: Recipient, *, asks: bool = False) -> list[tuple[str, Pace]]:
    seller = f"{recipient.app_id}/{recipient.owner}"
    if asks:
        return [(f"ask {recipient.mailbox}", ASK_MAILBOX), (f"ask-for {seller}", ASK_SELLER)]
    return [(f"to {recipient.mailbox}", TO_MAILBOX), (f"from {seller}", FROM_SELLER)]


def _next(tx: Transaction, limits: list[tuple[str, Pace]], now: int) -> int:
    """Return when all limits allow a letter."""
    return max(
        pace.next_at(pace.clamp(recipients.read_arrival(tx, name), now)) for name, pace in limits
    )


def take_room(tx: Transaction, limits: list[tuple[str, Pace]], now: int) -> int | None:
    """Count a letter in each limit; if one is used up, count none and return when it is not."""
    recipients.lock_paces(tx, [name for name, _ in limits])
    at = _next(tx, limits, now)
    if at > now:
        return at
    for name, pace in limits:
        arrival_at = pace.clamp(recipients.read_arrival(tx, name), now)
        recipients.write_arrival(tx, name, pace.advance(arrival_at, now))
    return None


def _end(tx: Transaction, message: Message, reason: str, now: int) -> None:
    """Settle a message without sending it, and all others that wait for its recipient."""
    store.join_all(tx, message.id, message.body.recipient_id)
    outbox.end(tx, MAILS, message, now, reason)
    settle_letter(tx, message.id, now)
