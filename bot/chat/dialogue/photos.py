"""A seller's photo for a request: what follows once it is here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.dialogue.events import Person
from bot.chat.dialogue.form_effects import follow
from bot.chat.dialogue.turn import Turn
from bot.chat.forms.form import take_picture
from bot.chat.store import seller_images, sellers

if TYPE_CHECKING:
    from bot.chat.messages.payloads import PhotoDownload
    from bot.chat.messages.queues import Queues
    from bot.core.database.database import Transaction
    from bot.core.outbox.outbox import Message


def arrive(tx: Transaction, queues: Queues, message: Message, photo: bytes | str, now: int) -> None:
    """Go on with the form that a photo was sent for; `photo` is its data, or why there is none.

    Nothing is kept of one whose form is over by now, nor of the one in whose place it comes.
    """
    wanted: PhotoDownload = message.body
    seller_id, chat_id = wanted.seller_id, int(message.lane)
    seller, draft = sellers.find_seller(tx, seller_id), sellers.find_draft(tx, chat_id, seller_id)
    if seller is None:
        return
    image = seller_images.add_image(tx, seller_id, photo, now) if isinstance(photo, bytes) else None
    problem = f"photo-{photo}" if isinstance(photo, str) else None
    outcome = take_picture(draft, wanted.draft_id, image, problem, seller)
    person = Person(seller_id, chat_id, private=True, tag=None)
    follow(Turn(tx, queues, person, seller, draft, now), outcome)
    if outcome.change is None:  # else it is on its way into a request
        seller_images.delete_unused(tx, [image, draft.image if draft else None])
