"""Jobs: queued calls of the payment service, one kind of payload for each.

A job carries what is known of earlier attempts, so that any worker can go on with it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from bot.chat.model import payout
from bot.core.outbox import payload_kinds


@dataclass(frozen=True, slots=True)
class ReplyTo:
    """The chat that gets a job's outcome, and the message whose button was pressed."""

    chat_id: int
    language: str
    message_id: int | None = None
    """None if the outcome is a new message, or the message is too old to edit."""
    is_picture: bool = False


@dataclass(frozen=True, slots=True)
class DialectFailure:
    """Outcome of a dialect that failed: the price that the server made, or its refusal."""

    price: str | None = None
    field: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class CreateProgress:
    """Knowledge from the earlier attempts at a create."""

    lost: int = 0
    """Number of creates that were sent without a known outcome."""
    lost_at: int | None = None
    """When the last of them was sent, in epoch ms."""
    sent_texts: tuple[str, ...] = ()
    """Keys of the texts that the seller has had."""
    failed: tuple[str, ...] = ()
    """Names of the dialects that failed."""
    failure: DialectFailure | None = None
    """Outcome of the first dialect that failed."""
    doomed: tuple[str, ...] = ()
    """Ids of requests of another price, which have to be deleted."""

    def corrected(self, now: int) -> CreateProgress:
        """Move a loss in the future to `now`: it was stored before the clock was set back."""
        return self if self.lost_at is None else replace(self, lost_at=min(self.lost_at, now))

    def after_loss(self, now: int) -> CreateProgress:
        """Add a create without a known outcome."""
        return replace(self, lost=self.lost + 1, lost_at=now)

    def after_failure(
        self, dialect: str, failure: DialectFailure, made: Collection[str] = ()
    ) -> CreateProgress:
        """Add a dialect that failed, and the ids of the requests that it made instead."""
        return replace(
            self,
            failed=(*self.failed, dialect),
            failure=self.failure or failure,
            doomed=(*self.doomed, *made),
            lost_at=None,
        )

    def unsettled(self, now: int, settling: int) -> int:
        """Return the milliseconds for which the server may still be at work on a lost create."""
        return 0 if self.lost_at is None else max(0, self.lost_at + settling - now)


@dataclass(frozen=True, slots=True)
class UnitCounts:
    """A drop's units by its server."""

    total: int | None
    unsold: int | None
    paid: int | None
    """Number of payments that the server counts."""
    recorded: int
    """Units bought by the payments that the chat had recorded then."""
    payments: int | None = None
    """Number of those payments; None if each bought one unit."""
    several: bool = False
    """True if a payment may buy more than one unit."""

    @property
    def number(self) -> int:
        """Return the number of recorded payments."""
        return self.recorded if self.payments is None else self.payments

    def removed_until(self, later: UnitCounts) -> int | None:
        """Return how many units were removed between two counts, None if that can't be known.

        On a server that doesn't count payments, unrecorded payments look like removed units. How
        many units they bought is not known before they are recorded, where payers take several.
        """
        if self.total is not None and later.total is not None and later.total < self.total:
            return self.total - later.total
        if self.unsold is None or later.unsold is None:
            return None
        sold = later.recorded - self.recorded
        if self.paid is not None and later.paid is not None:
            unrecorded = later.paid - self.paid - (later.number - self.number)
            if unrecorded and later.several:
                return None
            sold += unrecorded
        return self.unsold - later.unsold - sold


@dataclass(frozen=True, slots=True)
class Job:
    """A queued call of the payment service about one link."""

    link_id: str


@dataclass(frozen=True, slots=True)
class SellerJob(Job):
    """A job that a seller asked for and whose outcome they get."""

    reply_to: ReplyTo


@dataclass(frozen=True, slots=True)
class CardJob(SellerJob):
    """A job of a card's button."""


@dataclass(frozen=True, slots=True)
class ChangeJob(CardJob):
    """A job that changes the state of a request."""


@dataclass(frozen=True, slots=True)
class CreateRequest(SellerJob):
    """Create the request of a link, and send its card."""

    progress: CreateProgress = CreateProgress()
    seller_name: str | None = None
    """The seller's name at Telegram, proposed for the profile after the first request."""


@dataclass(frozen=True, slots=True)
class DeleteAccidentalCopies(Job):
    """Delete the requests that lost creates of a link made late."""


@dataclass(frozen=True, slots=True)
class CheckRequest(Job):
    """Bring a link up to date for its posts; nobody waits for it."""


@dataclass(frozen=True, slots=True)
class SendProfile(Job):
    """Send its seller's profile to the service with a link's request, and refresh its posts.

    No effect once the profile has another `version`.
    """

    version: int
    goes_on: bool = False
    """Queue the same job for the seller's next older request: one at a time is under way."""
    sent: int = 0
    """Number of requests before this one that got the profile."""


@dataclass(frozen=True, slots=True)
class SendCard(CardJob):
    """Bring a link up to date and send its card as a new message."""


@dataclass(frozen=True, slots=True)
class RefreshCard(CardJob):
    """Bring a link up to date and show its card in place."""


@dataclass(frozen=True, slots=True)
class PauseRequest(ChangeJob):
    """Stop a request."""


@dataclass(frozen=True, slots=True)
class ResumeRequest(ChangeJob):
    """Resume a stopped request."""


@dataclass(frozen=True, slots=True)
class DeleteRequest(ChangeJob):
    """Delete a request."""


@dataclass(frozen=True, slots=True)
class EditRequest(SellerJob):
    """Set a field of a request to a value; None clears it."""

    field: str
    value: str | int | None = None
    is_notified: bool = False
    """The seller knows that the service is down."""


@dataclass(frozen=True, slots=True)
class RemoveUnits(SellerJob):
    """Take a number of units out of a drop: count them, remove them, and count again in doubt."""

    number: int
    before: UnitCounts | None = None
    """The first count."""
    lost_at: int | None = None
    """When the removal was sent without a known outcome, in epoch ms."""
    checks: int = 0
    """Number of checks since then that did not show the outcome."""


@dataclass(frozen=True, slots=True)
class AddCodes(SellerJob):
    """Add codes for the buyers of a request."""

    codes: tuple[str, ...]
    asked_at: int
    """Epoch ms."""
    is_notified: bool = False
    """The seller knows that the service is down."""


@dataclass(frozen=True, slots=True)
class DecideClaim(SellerJob):
    """Confirm a claim at the service, or reject it."""

    claim_id: str
    confirms: bool
    """False rejects it."""
    before: str
    """The state that the claim was in."""
    asked_at: int
    """Epoch ms."""
    is_notified: bool = False
    """The seller knows that the service is down."""


@dataclass(frozen=True, slots=True)
class SendMark(SellerJob):
    """Send a payment's mark to the service as it stands then, or that it was taken back."""

    request_id: str
    transaction_id: str
    mark: str
    """One of the marks in model/payment.py."""
    asked_at: int
    """Epoch ms."""
    is_notified: bool = False
    """The seller knows that the service is down."""


@dataclass(frozen=True, slots=True)
class AccountJob:
    """A queued call of the payment service about a seller's payout accounts."""

    seller_id: int

    @property
    def asks_wallet(self) -> bool:
        """True if the service asks a wallet, which may answer late or never."""
        return False


@dataclass(frozen=True, slots=True)
class ConnectAccount(AccountJob):
    """Check a payout account at the service, and save it unless it is a `dry_run`."""

    reply_to: ReplyTo
    way: str
    sealed: str
    """The details that the seller typed, encrypted."""
    draft_id: str
    """The form that waits for the outcome."""
    token: str
    """Checksum of the form's answers: the outcome is dropped once they change."""
    dry_run: bool
    is_notified: bool = False
    """The seller knows that the service does not answer."""

    @property
    def asks_wallet(self) -> bool:
        return payout.kind_of(self.way) != payout.BANK


@dataclass(frozen=True, slots=True)
class RemoveAccount(AccountJob):
    """Remove a payout account."""

    reply_to: ReplyTo
    account_id: str
    is_notified: bool = False


@dataclass(frozen=True, slots=True)
class RefreshPayable(AccountJob):
    """Bring a seller's requests up to date whose payability may have changed, some at a time."""

    unpayable: bool
    """Only requests that could not be paid because no account fits."""
    before: str | None = None
    """Id of the link after which to go on, newest first; None starts with the newest."""


@dataclass(frozen=True, slots=True)
class KeepReceipt:
    """Fetch a receipt and keep it for the account of a private chat, which is then shown it."""

    request_id: str
    transaction_id: str
    reply_to: ReplyTo
    asked_at: int
    """Epoch ms."""
    is_notified: bool = False
    """The buyer knows that the service is down."""


JOBS = payload_kinds.PayloadKinds(
    create=CreateRequest,
    doubles=DeleteAccidentalCopies,
    check=CheckRequest,
    profile=SendProfile,
    card=SendCard,
    refresh=RefreshCard,
    stop=PauseRequest,
    resume=ResumeRequest,
    delete=DeleteRequest,
    edit=EditRequest,
    units=RemoveUnits,
    claim=DecideClaim,
    codes=AddCodes,
    mark=SendMark,
    connect=ConnectAccount,
    disconnect=RemoveAccount,
    payable=RefreshPayable,
    receipt=KeepReceipt,
)
