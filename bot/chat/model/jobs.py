"""Jobs: queued calls to the payment service, each with its own payload class.

A job carries the results of earlier attempts, so that any worker can continue it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from bot.chat.model import payout, request_spec
from bot.core import stored_json


@dataclass(frozen=True, slots=True)
class ReplyTo:
    """The chat that is told a job's outcome, and the message whose button was pressed."""

    chat_id: int
    language: str
    message_id: int | None = None
    """None if the outcome is sent as a new message."""
    is_picture: bool = False


@dataclass(frozen=True, slots=True)
class DialectFailure:
    """The result of a failed dialect: the wrong price that the server set, or its refusal."""

    price: str | None = None
    field: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class CreateProgress:
    """Results of the earlier attempts to create a request."""

    lost: int = 0
    """Number of create calls whose outcome is unknown."""
    lost_at: int | None = None
    """When the last such call was sent, in epoch ms."""
    sent_texts: tuple[str, ...] = ()
    """Keys of the texts already sent to the seller."""
    failed: tuple[str, ...] = ()
    """Names of the dialects that failed."""
    failure: DialectFailure | None = None
    """Result of the first dialect that failed."""
    doomed: tuple[str, ...] = ()
    """Ids of requests that were created with a wrong price and must be deleted."""

    def corrected(self, now: int) -> CreateProgress:
        """Limit `lost_at` to `now`; a later time was stored before the clock was set back."""
        return self if self.lost_at is None else replace(self, lost_at=min(self.lost_at, now))

    def after_loss(self, now: int) -> CreateProgress:
        """Add a create call whose outcome is unknown."""
        return replace(self, lost=self.lost + 1, lost_at=now)

    def after_failure(
        self, dialect: str, failure: DialectFailure, made: Collection[str] = ()
    ) -> CreateProgress:
        """Add a failed dialect, and the ids of the wrong requests that it created."""
        return replace(
            self,
            failed=(*self.failed, dialect),
            failure=self.failure or failure,
            doomed=(*self.doomed, *made),
            lost_at=None,
        )

    def unsettled(self, now: int, settling: int) -> int:
        """Return how many ms the server may still be working on a lost create call."""
        return 0 if self.lost_at is None else max(0, self.lost_at + settling - now)


@dataclass(frozen=True, slots=True)
class UnitCounts:
    """Unit counts of a drop, from its server and from the chat."""

    total: int | None
    unsold: int | None
    paid: int | None
    """Number of payments that the server counts."""
    recorded: int
    """Units bought by the payments that the chat had recorded at that time."""
    payments: int | None = None
    """Number of those payments; None if each bought one unit."""
    several: bool = False
    """True if a payment may buy more than one unit."""

    @property
    def number(self) -> int:
        """Return the number of recorded payments."""
        return self.recorded if self.payments is None else self.payments

    def removed_until(self, later: UnitCounts) -> int | None:
        """Return how many units were removed between two counts, or None if unknown.

        If the server doesn't count payments, unrecorded payments look like removed units. If payers
        may buy several units at once, the units of unrecorded payments are unknown.
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
    """A queued call to the payment service about one link."""

    link_id: str


@dataclass(frozen=True, slots=True)
class SellerJob(Job):
    """A job that a seller requested; its outcome is sent to them."""

    reply_to: ReplyTo


@dataclass(frozen=True, slots=True)
class CardJob(SellerJob):
    """A job started by a button on a card."""


@dataclass(frozen=True, slots=True)
class ChangeJob(CardJob):
    """A job that changes the state of a request."""


@dataclass(frozen=True, slots=True)
class CreateRequest(SellerJob):
    """Create the request of a link, and send its card."""

    progress: CreateProgress = CreateProgress()
    seller_name: str | None = None
    """The seller's Telegram name, suggested for the profile after the first request."""


@dataclass(frozen=True, slots=True)
class DeleteAccidentalCopies(Job):
    """Delete the surplus requests that lost create calls of a link made late."""


@dataclass(frozen=True, slots=True)
class CheckRequest(Job):
    """Update a link and its posts in the background."""


@dataclass(frozen=True, slots=True)
class SendProfile(Job):
    """Send the seller's profile to the service for a link's request, and refresh its posts.

    The job does nothing if the profile has changed to another `version`.
    """

    version: int
    goes_on: bool = False
    """Then queue the job for the seller's next older request: one runs at a time."""
    sent: int = 0
    """Number of earlier requests that received the profile."""


@dataclass(frozen=True, slots=True)
class SendCard(CardJob):
    """Update a link and send its card as a new message."""


@dataclass(frozen=True, slots=True)
class RefreshCard(CardJob):
    """Update a link and show its card in the same message."""


@dataclass(frozen=True, slots=True)
class PauseRequest(ChangeJob):
    """Pause a request."""


@dataclass(frozen=True, slots=True)
class ResumeRequest(ChangeJob):
    """Resume a paused request."""


@dataclass(frozen=True, slots=True)
class DeleteRequest(ChangeJob):
    """Delete a request."""


@dataclass(frozen=True, slots=True)
class EditRequest(SellerJob):
    """Set a field of a request to a value; None clears it."""

    field: str
    value: str | int | request_spec.Goods | None = None
    is_notified: bool = False
    """The seller knows that the service is down."""


@dataclass(frozen=True, slots=True)
class RemoveUnits(SellerJob):
    """Remove units from a drop; count before, and again if the outcome is unknown."""

    number: int
    before: UnitCounts | None = None
    """The first count."""
    lost_at: int | None = None
    """When a removal with unknown outcome was sent, in epoch ms."""
    checks: int = 0
    """Number of checks since then that left the outcome unknown."""


@dataclass(frozen=True, slots=True)
class AddCodes(SellerJob):
    """Add codes for the buyers of a request."""

    codes: tuple[str, ...]
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
    is_notified: bool = False
    """The seller knows that the service is down."""


@dataclass(frozen=True, slots=True)
class SendMark(SellerJob):
    """Send the current state of a payment's mark to the service, set or removed."""

    request_id: str
    transaction_id: str
    mark: str
    """One of the marks in model/payment.py."""
    is_notified: bool = False
    """The seller knows that the service is down."""


@dataclass(frozen=True, slots=True)
class AccountJob:
    """A queued call to the payment service about a seller's payout accounts."""

    seller_id: int

    @property
    def asks_wallet(self) -> bool:
        """True if the service contacts a wallet, which may be slow or not respond."""
        return False


@dataclass(frozen=True, slots=True)
class ConnectAccount(AccountJob):
    """Check a payout account at the service, and save it unless `dry_run` is set."""

    reply_to: ReplyTo
    way: str
    sealed: str
    """The details that the seller typed, encrypted."""
    draft_id: str
    """The form that waits for the outcome."""
    token: str
    """Checksum of the form's answers; the outcome is discarded if they have changed."""
    dry_run: bool
    is_notified: bool = False
    """The seller was told that the service does not respond."""

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
    """Update, in batches, a seller's requests that may have become payable or unpayable."""

    unpayable: bool
    """Update only requests that can't be paid because no account matches."""
    before: str | None = None
    """Id of the last link of the previous batch, newest first; None for the first batch."""


@dataclass(frozen=True, slots=True)
class KeepReceipt:
    """Fetch a receipt, store it for the account of a private chat, and show it there."""

    request_id: str
    transaction_id: str
    reply_to: ReplyTo
    is_notified: bool = False
    """The buyer was told that the service is down."""


JOBS = stored_json.PayloadKinds(
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
