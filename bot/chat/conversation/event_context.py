"""The context of an event: its transaction, its person, and the ways to answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from bot.chat.cards import card_text, request_card
from bot.chat.conversation import events
from bot.chat.model import drafts, jobs, payloads, replies
from bot.chat.model.queues import Queues
from bot.chat.store import link_rows, post_rows
from bot.core.database import database
from bot.core.database.vault import Vault
from bot.core.ops import audit
from bot.core.outbox import outbox
from bot.core.text import translations


@dataclass(frozen=True, slots=True)
class EventContext:
    """An event with its transaction and the person who caused it."""

    tx: database.Transaction
    queues: Queues
    person: events.Person
    seller: drafts.Seller
    draft: drafts.Draft | None
    """The current form."""
    now: int
    """Epoch ms."""
    vault: Vault
    """Seals secrets."""
    bot_name: str = ""
    may_create: bool = True
    """False for people who are not in ALLOWED_SELLERS."""
    operator_contact: str | None = None
    press: events.PressEvent | None = None
    """The pressed button; a reply replaces the button's message."""

    def reply(self, reply: replies.Reply) -> None:
        """Reply in the message whose button was pressed, or in a new message."""
        message_id = self.press.message_id if self.press else None
        is_picture = self.press.picture if self.press else False
        is_card = reply.picture is not None and self.is_card(self.press)
        self.put(
            payloads.replacement(
                reply, self.seller.language, message_id, is_picture=is_picture, is_card=is_card
            )
        )

    def is_card(self, press: events.PressEvent | None) -> bool:
        """True if the message whose button was pressed is a card, with or without a picture."""
        if press is None:
            return False
        return press.picture or post_rows.is_card(self.tx, self.person.chat_id, press.message_id)

    def put(self, payload: payloads.MessagePayload, subject: str | None = None) -> None:
        """Queue a message for this chat."""
        chat = str(self.person.chat_id)
        outbox.put(self.tx, self.queues.messages, chat, payload, self.now, subject=subject)

    def answer_press(self, press: events.PressEvent, toast: str | None) -> None:
        """Answer the callback query, with or without a text."""
        answer = payloads.CallbackAnswer(press.query_id, toast)
        chat = str(press.person.chat_id)
        outbox.put(self.tx, self.queues.answers, chat, answer, self.now)

    def add_job(self, job: jobs.SellerJob) -> None:
        """Queue a job for the payment service."""
        outbox.put(self.tx, self.queues.jobs, job.link_id, job, self.now)

    def reply_to(self, press: events.PressEvent | None = None) -> jobs.ReplyTo:
        """Return where a job's result goes: to this chat, in the message of `press` if given."""
        chat, language = self.person.chat_id, self.seller.language
        if press is None:
            return jobs.ReplyTo(chat, language)
        return jobs.ReplyTo(chat, language, press.message_id, press.picture)

    def audit(self, action: str, subject: str, details: Mapping[str, object]) -> None:
        """Record in the audit log what this person asked for.

        The service logs the actual changes, in the name of the bot's application. The request's id,
        the usual `subject`, finds both sides.
        """
        audit.record(
            self.tx, audit.seller(self.person.id), action, subject, self.now, dict(details)
        )

    def text(self, key: str, **values: object) -> str:
        """Return a text in this person's language."""
        return translations.t(self.seller.language, key, **values)

    def without_press(self) -> EventContext:
        """Return a context whose replies are new messages."""
        return replace(self, press=None)


def own_link(
    context: EventContext, link_id: str, *, or_deleted: bool = False
) -> link_rows.PaymentLink | str:
    """Return a link if this person may manage it, else a text with the reason.

    Every action on a link calls this function first.
    """
    link = link_rows.find_link(context.tx, link_id)
    is_own = link is not None and link.seller_id == context.person.id
    if link is None or not is_own or (link.state == link_rows.DELETED and not or_deleted):
        return context.text("listing-gone")
    if link.answer is None:
        return context.text("listing-not-ready")
    return link


def own_card(context: EventContext, link: link_rows.PaymentLink) -> request_card.Card:
    """Return the seller's view of a request's card."""
    return request_card.seller_card_of(context.tx, link, context.seller, context.now)


def own_card_message(context: EventContext, link: link_rows.PaymentLink) -> replies.Reply:
    """Return a request's card as a message to its seller."""
    return card_text.seller_card(own_card(context, link), context.seller.language)
