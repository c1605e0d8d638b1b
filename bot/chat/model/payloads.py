"""Payloads of the chat's queues: the contents of queued messages (core/stored_json.py).

A payload names its content; the Bot API call is built when the payload is sent. `method` is the
most likely Bot API method, for metrics.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from bot.chat.model import drafts, payment, replies, request_spec
from bot.core import stored_json
from bot.interface import parts

DELETION = "deleteMessage"
"""The method that deletes a message."""


@dataclass(frozen=True, slots=True)
class TextMessage:
    """An HTML text with its InlineKeyboardMarkup, as a new message or an edit."""

    text: str
    language: str
    keyboard: dict[str, Any] | None = None
    message_id: int | None = None
    """The message whose text or caption is replaced; 0 for an inline message."""
    is_caption: bool = False
    is_silent: bool = False
    is_passing: bool = False
    """Delete the message once its form continues, instead of only removing its buttons."""
    claim_id: str | None = None
    """The claim that the message shows."""
    topic_id: int | None = None
    """The topic of a forum, which is a group with topics; None for its General topic."""

    @property
    def method(self) -> str:
        if self.message_id is None:
            return "sendMessage"
        return "editMessageCaption" if self.is_caption else "editMessageText"


@dataclass(frozen=True, slots=True)
class CardMessage:
    """A request's card, as a new message or an edit; its data is read when it is sent."""

    link_id: str
    language: str
    message_id: int | None = None
    """The card to replace."""
    is_public: bool = False
    """Show the card as people other than the seller see it."""
    menu: str | None = None
    """The open menu on the seller's card."""
    is_text: bool = False
    """Telegram refused the card's picture."""

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
    """Retry the picture that Telegram refused."""
    method: ClassVar[str] = "editMessageMedia"


@dataclass(frozen=True, slots=True)
class ButtonRemoval:
    """The removal of a question's buttons, once it is answered or abandoned."""

    message_id: int
    shown: str
    """Key of the message's text; nothing is sent if the text has changed since."""
    kept: bool = False
    """Don't delete the message, even a passing one: Telegram no longer allows it."""
    method: ClassVar[str] = "editMessageReplyMarkup"


@dataclass(frozen=True, slots=True)
class SecretRemoval:
    """The deletion of a person's message that contains a secret, if Telegram allows it."""

    message_id: int
    method: ClassVar[str] = DELETION


@dataclass(frozen=True, slots=True)
class AlertPayment:
    """A payment in an alert to its seller; `amount` in minor units of `currency`."""

    link_id: str
    kind: str
    name: str
    amount: int
    """The price paid for all units; the amount received if `underpaid`."""
    currency: str
    payer: dict[str, Any] = field(default_factory=dict)
    """The payer's answers to the requested fields, values of any JSON type."""
    remaining_units: int | None = None
    """After the payment, like `reserved_units`."""
    total_units: int | None = None
    reserved_units: int = 0
    oversold: bool = False
    found: bool = False
    """True if the reconciler found the payment instead of a webhook."""
    repeated: bool = False
    """An alert may have been sent before."""
    together: tuple[tuple[int, str], ...] = ()
    """Totals by currency of the request's payments that were not oversold."""
    count: int = 0
    """Number of the request's payments, including this one."""
    to_refund: tuple[tuple[int, str], ...] = ()
    """Totals by currency of the oversold payments."""
    refund_count: int = 0
    """Number of the oversold payments."""
    named: str | None = None
    """The amount as the server wrote it, if it can't be read."""
    price: tuple[int, str] | None = None
    """The request's price if another amount was paid; the amount asked if `underpaid`."""
    transaction_id: str | None = None
    settled_count: int = 0
    """Number of oversold payments that were already paid back."""
    underpaid: bool = False
    """The payer sent less than the price, so nothing was sold."""
    paid_by: payment.PaidBy | None = None
    at: int | None = None
    """When the payment was recorded, in epoch ms."""
    claim_id: str | None = None
    """The claim that the seller can confirm to accept an underpaid amount."""
    quantity: int = 1
    words: parts.PayerWords = parts.NO_WORDS
    """The payer's name and message, unless the seller has hidden them."""
    codes_waiting: int = 0
    """Number of sold units that wait for a code."""
    is_sent_by_hand: bool = False
    """The seller may have something to send to the buyer."""
    reached: tuple[int, int] | None = None
    """The amount raised and the goal, in minor units, if this payment reached the goal."""


@dataclass(frozen=True, slots=True)
class Alert:
    """A message about one payment, or a digest of several; its text is built when it is sent."""

    payments: tuple[AlertPayment, ...]
    language: str
    is_silent: bool = False
    is_single: bool = False
    """Never merge it with other alerts."""
    message_id: int | None = None
    """The message in which the seller confirmed the claim; the alert replaces it."""

    @property
    def method(self) -> str:
        return "sendMessage" if self.message_id is None else "editMessageText"


@dataclass(frozen=True, slots=True)
class ClaimAlert:
    """A payer's claim to have sent the money, for the seller to confirm; or a reminder of it.

    Its text is built when it is sent; nothing is sent if the claim is decided by then.
    """

    claim_id: str
    language: str
    is_silent: bool = False
    is_reminder: bool = False
    method: ClassVar[str] = "sendMessage"


@dataclass(frozen=True, slots=True)
class ClaimDigest:
    """A link's claims that have no separate message, read when the digest is sent."""

    link_id: str
    language: str
    is_new: bool = False
    """Replace the previous message with a new one instead of editing it."""
    is_silent: bool = False

    @property
    def method(self) -> str:
        return "sendMessage" if self.is_new else "editMessageText"


@dataclass(frozen=True, slots=True)
class ReceiptMessage:
    """A receipt for the buyer who keeps it, or the delivered file.

    It is fetched when it is sent, because delivered goods are not stored here.
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
    """The answer to a callback query: a text, or nothing, which only stops the button's spinner."""

    query_id: str
    text: str | None = None
    method: ClassVar[str] = "answerCallbackQuery"


@dataclass(frozen=True, slots=True)
class PhotoDownload:
    """A photo that a seller sent for a form and that is not downloaded yet."""

    file_id: str
    """Empty for the seller's profile photo."""
    draft_id: str
    seller_id: int
    portrait: bool = False
    """Make it a small square."""
    spec: request_spec.RequestSpec | None = None
    """The request to create after the download, if the seller's line was complete."""
    seller_name: str | None = None
    """As in `CreateRequest`."""


@dataclass(frozen=True, slots=True)
class FileDownload:
    """A file that a seller sent for a form, to be downloaded and stored at the service."""

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

MESSAGES = stored_json.PayloadKinds(
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
ANSWERS = stored_json.PayloadKinds(answer=CallbackAnswer)
PHOTOS = stored_json.PayloadKinds(photo=PhotoDownload)
FILES = stored_json.PayloadKinds(file=FileDownload)


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
    """Return the payload that replaces an earlier message by a reply.

    If the message is too old to edit (`message_id` is None), the reply is a new message. So is a
    card if the message is neither a picture nor a card whose picture was refused; a menu is then a
    text.
    """
    if message_id is not None and (is_picture or is_card) and reply.picture is not None:
        return CardMessage(reply.picture, language, message_id, menu=reply.menu)
    if message_id is None or (reply.picture is not None and reply.menu is None):
        return new_message(reply, language)
    return TextMessage(
        reply.text, language, replies.markup(reply.rows), message_id,
        is_caption=is_picture, is_passing=reply.is_passing,
    )  # fmt: skip
