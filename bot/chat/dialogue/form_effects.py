"""What follows in the database and the queues from what the conversation decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.dialogue import edit_effects
from bot.chat.messages.jobs import CreateRequest
from bot.chat.messages.payloads import PhotoDownload
from bot.chat.messages.reply import Reply
from bot.chat.requests import audit_trail
from bot.chat.store import listings, seller_images, sellers
from bot.chat.times import local_time
from bot.core.outbox import outbox

if TYPE_CHECKING:
    from bot.chat.dialogue.turn import Turn
    from bot.chat.forms.outcome import Outcome, Photo, Setting
    from bot.chat.model.wish import Wish


def follow(turn: Turn, outcome: Outcome) -> None:
    """Carry out what the conversation decided: all of it, in this transaction."""
    person = turn.person
    if outcome.wish is not None and not turn.may_create:
        turn.say(Reply(turn.words("not-allowed")))
        return
    sellers.save_draft(turn.tx, person.chat_id, person.id, outcome.draft, turn.now)
    if outcome.destination is not None:
        sellers.save_destination(turn.tx, person.id, outcome.destination)
        was = turn.seller.destination
        audit_trail.record_destination(turn.tx, person.id, was, outcome.destination, turn.now)
    if outcome.setting is not None:
        _save(turn, outcome.setting)
    if outcome.photo is not None:
        _fetch(turn, outcome.photo)
    for reply in outcome.replies:
        turn.say(reply)
        turn = turn.anew()
    if outcome.wish is not None:
        _wish(turn, outcome.wish)
    if outcome.change is not None:
        edit_effects.apply(turn, outcome.change)


def _save(turn: Turn, setting: Setting) -> None:
    """Save a setting; in another zone the next summary comes at another time."""
    tx, seller_id, value = turn.tx, turn.person.id, setting.value
    zone, minute = turn.seller.zone, turn.seller.summary
    if setting.name == "quiet":
        sellers.save_quiet(tx, seller_id, value if isinstance(value, tuple) else None)
        return
    if setting.name == "zone":
        zone = str(value)
        sellers.save_zone(tx, seller_id, zone)
    else:
        minute = value if isinstance(value, int) else None
    due_at = None
    if minute is not None and zone is not None:
        due_at = local_time.next_epoch_at(minute, turn.now, zone)
    sellers.save_summary(tx, seller_id, minute, due_at)


def _fetch(turn: Turn, photo: Photo) -> None:
    """Let a photo be fetched for its form, in the order in which photos were sent."""
    body = PhotoDownload(photo.file_id, photo.draft_id, turn.person.id)
    outbox.put(turn.tx, turn.queues.photos, str(turn.person.chat_id), body, turn.now)


def _wish(turn: Turn, wish: Wish) -> None:
    """Write a request down, to be created at the service."""
    person = turn.person
    sellers.save_price(turn.tx, person.id, wish.amount, wish.currency)
    if wish.image is not None:
        seller_images.keep_image(turn.tx, wish.image, person.id)
    listing = listings.add_listing(turn.tx, person.chat_id, person.id, wish, turn.now)
    audit_trail.record_wish(turn.tx, person.id, listing, wish, turn.now)
    turn.add_job(CreateRequest(listing, turn.reply_to()))
