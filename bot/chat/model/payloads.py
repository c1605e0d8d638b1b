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
    """A text in HTML with its InlineKeyboardMarkup.

    It is a new message, or takes the place of the text, or the caption of the picture, that
    `message_id` has now; that is 0 in the lane of a message posted inline. `is_passing`: it is
    deleted, not left without buttons, once its form goes on. `claim_id` is the claim that it shows.
    """

    text: str
    language: str
    keyboard: dict[str, Any] | None = None
    message_id: int | None = None
    is_caption: bool = False
    is_silent: bool = False
    is_passing: bool = False
    claim_id: str | None = None

    @property
    def method(self) -> str:
        if self.message_id is None:
            return "sendMessage"
        return "editMessageCaption" if self.is_caption else "editMessageText"


@dataclass(frozen=True, slots=True)
class CardMessage:
    """A request's card, as its seller sees it or `is_public`: as others do.

    It is a new message, or takes the place of the card that `message_id` is. What it shows is read
    when it is sent. `menu` is the menu that is open on the seller's card. `is_text`: Telegram has
    refused its picture.
    """

    link_id: str
    language: str
    message_id: int | None = None
    is_public: bool = False
    menu: str | None = None
    is_text: bool = False

    @property
    def method(self) -> str:
        return "sendPhoto" if self.message_id is None else "editMessageCaption"


@dataclass(frozen=True, slots=True)
class PosterFile:
    """A request's poster as a file; `design` such as `print-dark.pdf`."""

    link_id: str
    language: str
    design: str
    file_name: str
    method: ClassVar[str] = "sendDocument"


@dataclass(frozen=True, slots=True)
class Refresh:
    """The edit that brings a post up to date (chat/store/post_rows.py).

    It `tries_picture` that Telegram has refused.
    """

    post_id: str
    tries_picture: bool = False
    method: ClassVar[str] = "editMessageMedia"


@dataclass(frozen=True, slots=True)
class ButtonRemoval:
    """The removal of the buttons of a question that is answered or left.

    A passing message is deleted instead, unless it is `kept`: Telegram no longer deletes it.
    Nothing is sent if the message no longer has the text with the key `shown`.
    """

    message_id: int
    shown: str
    kept: bool = False
    method: ClassVar[str] = "editMessageReplyMarkup"


@dataclass(frozen=True, slots=True)
class SecretRemoval:
    """The deletion of a person's message that has a secret, where Telegram allows it."""

    message_id: int
    method: ClassVar[str] = DELETION


@dataclass(frozen=True, slots=True)
class AlertPayment:
    """A payment as its seller is told of it; `amount` in minor units of `currency`.

    `payer` has what the payer was asked for, values of any JSON type. `remaining_units` and
    `reserved_units` are those after the payment. Of the `count` payments of the request with it,
    `refund_count` were oversold and brought `to_refund`, the others `together`, by currency.
    `found`: the reconciler found it, no webhook brought it. `repeated`: an alert may have been sent
    before. `price` is that of the request where another amount came, and what was asked for an
    underpaid one; `named` is the amount as the server wrote it where it can't be read.
    `transaction_id` is None where it is not known. `settled_count` oversold payments were paid back
    already. `underpaid`: the amount is what arrived, and nothing was sold. `paid_by` is how it was
    paid, where the server says so, and `at` (epoch ms) the time of its record. `claim_id` is the
    claim by which its seller may accept an underpaid one. The amount is that of `quantity` units.
    `words` are the payer's, as long as the seller hasn't hidden them; `codes_waiting` units are
    sold and wait for a code; `is_sent_by_hand`: its seller may have something to send. `reached` is
    what was raised, and the goal, in minor units, if this payment reached it.
    """

    link_id: str
    kind: str
    name: str
    amount: int
    currency: str
    payer: dict[str, Any] = field(default_factory=dict)
    remaining_units: int | None = None
    total_units: int | None = None
    reserved_units: int = 0
    oversold: bool = False
    found: bool = False
    repeated: bool = False
    together: tuple[tuple[int, str], ...] = ()
    count: int = 0
    to_refund: tuple[tuple[int, str], ...] = ()
    refund_count: int = 0
    named: str | None = None
    price: tuple[int, str] | None = None
    transaction_id: str | None = None
    settled_count: int = 0
    underpaid: bool = False
    paid_by: payment.PaidBy | None = None
    at: int | None = None
    claim_id: str | None = None
    quantity: int = 1
    words: payment.PayerWords = payment.NO_WORDS
    codes_waiting: int = 0
    is_sent_by_hand: bool = False
    reached: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Alert:
    """A message about one payment, or a digest of several; `is_single` is never joined to others.

    Its text is written when it is sent. It takes the place of `message_id`, the claim that its
    seller confirmed there, if there is one.
    """

    payments: tuple[AlertPayment, ...]
    language: str
    is_silent: bool = False
    is_single: bool = False
    message_id: int | None = None

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
    """The claims of a link without messages of their own; what waits is read when it is sent.

    `is_new`: a new message, which takes the place of the one before it. Else that one is edited.
    """

    link_id: str
    language: str
    is_new: bool = False
    is_silent: bool = False

    @property
    def method(self) -> str:
        return "sendMessage" if self.is_new else "editMessageText"


@dataclass(frozen=True, slots=True)
class ReceiptMessage:
    """A receipt for the buyer who keeps it, or the file that was delivered with it.

    It is fetched when it is sent: what was delivered is not stored here. The service has not
    answered since `tried_since` (epoch ms).
    """

    request_id: str
    transaction_id: str
    language: str
    is_file: bool = False
    tried_since: int | None = None

    @property
    def method(self) -> str:
        return "sendDocument" if self.is_file else "sendMessage"


@dataclass(frozen=True, slots=True)
class BuyerNotice:
    """News about a kept receipt, fetched when it is sent; `event` is one of cards/receipts.py.

    The service has not answered since `tried_since` (epoch ms).
    """

    request_id: str
    transaction_id: str
    language: str
    event: str
    tried_since: int | None = None
    method: ClassVar[str] = "sendMessage"


@dataclass(frozen=True, slots=True)
class CallbackAnswer:
    """The answer to a callback query: with a text, or only so that the button stops spinning."""

    query_id: str
    text: str | None = None
    method: ClassVar[str] = "answerCallbackQuery"


@dataclass(frozen=True, slots=True)
class PhotoDownload:
    """A photo that a seller sent for a form, still to be fetched.

    An empty `file_id` stands for the seller's profile photo. A `portrait` is made a small square.
    It came with a line that was complete where there is a `spec`, the JSON of the request to create
    once the photo is here; `seller_name` as in the job that creates it.
    """

    file_id: str
    draft_id: str
    seller_id: int
    portrait: bool = False
    spec: str | None = None
    seller_name: str | None = None


@dataclass(frozen=True, slots=True)
class FileDownload:
    """A file that a seller sent for a form, still to be fetched and kept by the service.

    Of a file `for_codes` only the codes in it are wanted.
    """

    file: drafts.Attachment
    draft_id: str
    seller_id: int
    for_codes: bool = False


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
