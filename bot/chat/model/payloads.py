"""Payloads of the chat's queues: the contents of queued messages (core/outbox/payload_kinds.py).

A payload names what is sent; the call of the Bot API is made when its turn comes. `method` is the
call that it most likely becomes, for the metrics.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from bot.chat.model import drafts, payment, replies
from bot.core.outbox import payload_kinds

DELETION = "deleteMessage"
"""The method that deletes a message."""


@dataclass(frozen=True, slots=True)
class TextMessage:
    """A text in HTML with its InlineKeyboardMarkup, new or in the place of an earlier one."""

    text: str
    language: str
    keyboard: dict[str, Any] | None = None
    message_id: int | None = None
    """The message whose text or caption is replaced; 0 in the lane of an inline message."""
    is_caption: bool = False
    is_silent: bool = False
    is_passing: bool = False
    """Delete the message once its form goes on, instead of only removing its buttons."""
    claim_id: str | None = None
    """The claim that the message shows."""

    @property
    def method(self) -> str:
        if self.message_id is None:
            return "sendMessage"
        return "editMessageCaption" if self.is_caption else "editMessageText"


@dataclass(frozen=True, slots=True)
class CardMessage:
    """A request's card, new or in the place of an earlier one; it is read when it is sent."""

    link_id: str
    language: str
    message_id: int | None = None
    """The card to replace."""
    is_public: bool = False
    """As others see it, not its seller."""
    menu: str | None = None
    """The menu that is open on the seller's card."""
    is_text: bool = False
    """Telegram has refused its picture."""

    @property
    def method(self) -> str:
        return "sendPhoto" if self.message_id is None else "editMessageCaption"


@dataclass(frozen=True, slots=True)
class PosterFile:
    """A request's poster as a file."""

    link_id: str
    language: str
    design: str
    """Such as `print-dark.pdf`."""
    file_name: str
    method: ClassVar[str] = "sendDocument"


@dataclass(frozen=True, slots=True)
class Refresh:
    """The edit that brings a post up to date (chat/store/post_rows.py)."""

    post_id: str
    tries_picture: bool = False
    """Try the picture again that Telegram has refused."""
    method: ClassVar[str] = "editMessageMedia"


@dataclass(frozen=True, slots=True)
class ButtonRemoval:
    """The removal of the buttons of a question that is answered or left."""

    message_id: int
    shown: str
    """Key of the text; nothing is sent if the message has another one by now."""
    kept: bool = False
    """Don't delete the message, even a passing one: Telegram no longer allows it."""
    method: ClassVar[str] = "editMessageReplyMarkup"


@dataclass(frozen=True, slots=True)
class SecretRemoval:
    """The deletion of a person's message that has a secret, where Telegram allows it."""

    message_id: int
    method: ClassVar[str] = DELETION


@dataclass(frozen=True, slots=True)
class AlertPayment:
    """A payment in an alert to its seller; `amount` in minor units of `currency`."""

    link_id: str
    kind: str
    name: str
    amount: int
    """What the payer paid for all units; what arrived, if `underpaid`."""
    currency: str
    payer: dict[str, Any] = field(default_factory=dict)
    """What the payer was asked for, values of any JSON type."""
    remaining_units: int | None = None
    """After the payment, like `reserved_units`."""
    total_units: int | None = None
    reserved_units: int = 0
    oversold: bool = False
    found: bool = False
    """The reconciler found it: no webhook brought it."""
    repeated: bool = False
    """An alert may have been sent before."""
    together: tuple[tuple[int, str], ...] = ()
    """Sums by currency of the payments of the request that were not oversold."""
    count: int = 0
    """Payments of the request, with this one."""
    to_refund: tuple[tuple[int, str], ...] = ()
    """Sums by currency of the oversold payments."""
    refund_count: int = 0
    """Number of the oversold payments."""
    named: str | None = None
    """The amount as the server wrote it, if it can't be read."""
    price: tuple[int, str] | None = None
    """The price of the request if another amount came; what was asked, if `underpaid`."""
    transaction_id: str | None = None
    settled_count: int = 0
    """Oversold payments that were paid back already."""
    underpaid: bool = False
    """Less arrived than was asked: nothing was sold."""
    paid_by: payment.PaidBy | None = None
    at: int | None = None
    """When it was recorded, in epoch ms."""
    claim_id: str | None = None
    """The claim by which its seller may accept underpaid money."""
    quantity: int = 1
    words: payment.PayerWords = payment.NO_WORDS
    """The payer's, unless the seller has hidden them."""
    codes_waiting: int = 0
    """Units that are sold and wait for a code."""
    is_sent_by_hand: bool = False
    """Its seller may have something to send."""
    reached: tuple[int, int] | None = None
    """What was raised, and the goal, in minor units, if this payment reached it."""


@dataclass(frozen=True, slots=True)
class Alert:
    """A message about one payment, or a digest of several; its text is written when it is sent."""

    payments: tuple[AlertPayment, ...]
    language: str
    is_silent: bool = False
    is_single: bool = False
    """Never joined to other alerts."""
    message_id: int | None = None
    """The message of the claim that its seller confirmed there, which the alert replaces."""

    @property
    def method(self) -> str:
        return "sendMessage" if self.message_id is None else "editMessageText"


@dataclass(frozen=True, slots=True)
class ClaimAlert:
    """A payer's word that the money is sent, for the seller to confirm; or a reminder of it.

    Its text is written when it is sent; nothing is sent of a claim that is decided by then.
    """

    claim_id: str
    language: str
    is_silent: bool = False
    is_reminder: bool = False
    method: ClassVar[str] = "sendMessage"


@dataclass(frozen=True, slots=True)
class ClaimDigest:
    """The claims of a link without messages of their own, read when the digest is sent."""

    link_id: str
    language: str
    is_new: bool = False
    """Send a new message in the place of the one before it; otherwise edit that one."""
    is_silent: bool = False

    @property
    def method(self) -> str:
        return "sendMessage" if self.is_new else "editMessageText"


@dataclass(frozen=True, slots=True)
class ReceiptMessage:
    """A receipt for the buyer who keeps it, or the file that was delivered with it.

    It is fetched when it is sent: what was delivered is not stored here.
    """

    request_id: str
    transaction_id: str
    language: str
    is_file: bool = False
    tried_since: int | None = None
    """The service has not answered since then, in epoch ms."""

    @property
    def method(self) -> str:
        return "sendDocument" if self.is_file else "sendMessage"


@dataclass(frozen=True, slots=True)
class BuyerNotice:
    """News about a kept receipt, fetched when it is sent."""

    request_id: str
    transaction_id: str
    language: str
    event: str
    """One of the events in cards/receipts.py."""
    tried_since: int | None = None
    """The service has not answered since then, in epoch ms."""
    method: ClassVar[str] = "sendMessage"


@dataclass(frozen=True, slots=True)
class CallbackAnswer:
    """The answer to a callback query: with a text, or only so that the button stops spinning."""

    query_id: str
    text: str | None = None
    method: ClassVar[str] = "answerCallbackQuery"


@dataclass(frozen=True, slots=True)
class PhotoDownload:
    """A photo that a seller sent for a form, still to be fetched."""

    file_id: str
    """Empty for the seller's profile photo."""
    draft_id: str
    seller_id: int
    portrait: bool = False
    """Make it a small square."""
    spec: str | None = None
    """JSON of the request to create once the photo is here, if its line was complete."""
    seller_name: str | None = None
    """As in `CreateRequest`."""


@dataclass(frozen=True, slots=True)
class FileDownload:
    """A file that a seller sent for a form, still to be fetched and kept by the service."""

    file: drafts.Attachment
    draft_id: str
    seller_id: int
    for_codes: bool = False
    """Only the codes in the file are wanted."""


MessagePayload = (
    TextMessage
    | CardMessage
    | PosterFile
    | Refresh
    | ButtonRemoval
    | SecretRemoval
    | Alert
    | ClaimAlert
    | ClaimDigest
    | ReceiptMessage
    | BuyerNotice
)

MESSAGES = payload_kinds.PayloadKinds(
    text=TextMessage,
    card=CardMessage,
    poster=PosterFile,
    refresh=Refresh,
    buttons=ButtonRemoval,
    secret=SecretRemoval,
    alert=Alert,
    claim=ClaimAlert,
    claims=ClaimDigest,
    receipt=ReceiptMessage,
    notice=BuyerNotice,
)
ANSWERS = payload_kinds.PayloadKinds(answer=CallbackAnswer)
PHOTOS = payload_kinds.PayloadKinds(photo=PhotoDownload)
FILES = payload_kinds.PayloadKinds(file=FileDownload)


def new_message(reply: replies.Reply, language: str) -> TextMessage | CardMessage:
    """Return the payload that sends a reply."""
    if reply.picture is not None and reply.menu is None:
        return CardMessage(reply.picture, language)
    return TextMessage(
        reply.text, language, replies.markup(reply.rows), is_passing=reply.is_passing
    )


def replacement(
    reply: replies.Reply,
    language: str,
    message_id: int | None,
    *,
    is_picture: bool,
    is_card: bool = False,
) -> TextMessage | CardMessage:
    """Return the payload that shows a reply in the place of an earlier message.

    It is a new message where that one is too old to edit (None), and for a card where that one is
    neither a picture nor a card whose picture was refused. A menu is then a text too.
    """
    if message_id is not None and (is_picture or is_card) and reply.picture is not None:
        return CardMessage(reply.picture, language, message_id, menu=reply.menu)
    if message_id is None or (reply.picture is not None and reply.menu is None):
        return new_message(reply, language)
    return TextMessage(
        reply.text, language, replies.markup(reply.rows), message_id,
        is_caption=is_picture, is_passing=reply.is_passing,
    )  # fmt: skip
