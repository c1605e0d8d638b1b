"""The effects of forms: what their outcomes change in the database and the queues."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.cards import menus
from bot.chat.dialogue.event_context import EventContext, own_card, own_listing
from bot.chat.dialogue.getting_paid import connect, seal_secrets
from bot.chat.dialogue.mark_jobs import send_mark
from bot.chat.dialogue.seller_profile import save_profile
from bot.chat.fields.registry import EDITS, POSTER_TEXT, UNITS
from bot.chat.forms import goods_form
from bot.chat.forms.form import edit_form, line_with_photo, take_picture
from bot.chat.forms.profile_form import PHOTO_STEP
from bot.chat.messages.jobs import AddCodes, CreateRequest
from bot.chat.messages.payloads import FileDownload, PhotoDownload
from bot.chat.messages.reply import Reply, escaped
from bot.chat.model.goods import CODES
from bot.chat.model.payment_key import PaymentKey
from bot.chat.model.profile import PROFILE_STEPS, ProfileHints
from bot.chat.model.wish import Wish
from bot.chat.requests import audit_trail, edit_rules
from bot.chat.store import (
    listings,
    payment_marks,
    payouts,
    pending,
    questions,
    seller_images,
    sellers,
)
from bot.chat.store.payment_search import payment_by_key
from bot.chat.store.posts import MessagePlace
from bot.chat.times import local_time
from bot.core.outbox import outbox

if TYPE_CHECKING:
    from bot.chat.forms.outcome import Change, MarkNote, NewCodes, Outcome, Setting
    from bot.chat.model.attachment import Attachment
    from bot.chat.model.draft import Draft
    from bot.chat.store.listings import Listing

NAME = 200
"""UTF-16 units of a request's name."""


def apply_outcome(context: EventContext, outcome: Outcome) -> None:
    """Apply the outcome of a form in this transaction: draft, settings, replies and jobs."""
    person = context.person
    if outcome.wish is not None and not context.may_create:
        context.reply(Reply(context.text("not-allowed")))
        return
    draft = outcome.draft and seal_secrets(outcome.draft, context.vault)
    question = sellers.save_draft(context.tx, person.chat_id, person.id, draft, context.now)
    if question is not None and not _is_replaced(context, outcome, question):
        place = MessagePlace(str(person.chat_id), question)
        questions.remove_buttons(context.tx, context.queues, place, context.now)
    if outcome.setting is not None:
        _save(context, outcome.setting)
    if outcome.photo is not None:
        _fetch_photo(context, outcome, outcome.photo)
    if outcome.fetch is not None and outcome.draft is not None:
        _fetch(context, outcome.fetch, outcome.draft)
    for reply in outcome.replies:
        context.reply(reply)
        context = context.without_press()
    _carry_out(context, outcome, draft)


def _carry_out(context: EventContext, outcome: Outcome, draft: Draft | None) -> None:
    """Queue what the service has to do, and save a note."""
    if outcome.wish is not None and outcome.photo is None:
        _wish(context, outcome.wish)
    if outcome.change is not None:
        _apply_change(context, outcome.change)
    if outcome.codes is not None:
        _add_codes(context, outcome.codes)
    if outcome.note is not None:
        _save_note(context, outcome.note)
    if outcome.connect is not None and draft is not None:
        connect(context, draft, outcome.connect)


def _is_replaced(context: EventContext, outcome: Outcome, question: int) -> bool:
    """Check whether a reply takes the place of the form's last question."""
    pressed = context.press.message_id if context.press else None
    return pressed == question and bool(outcome.replies)


def _save(context: EventContext, setting: Setting) -> None:
    """Store a setting; with the time zone, the time of the next summary changes."""
    tx, seller_id, value = context.tx, context.person.id, setting.value
    if attribute := PROFILE_STEPS.get(setting.name):
        change = {attribute: value if isinstance(value, str) else None}
        save_profile(context, replace(context.seller.profile, **change))
        return
    zone, minute = context.seller.zone, context.seller.summary
    if setting.name == "destination":
        was, destination = context.seller.destination, str(value)
        sellers.save_destination(tx, seller_id, destination)
        audit_trail.record_destination(tx, seller_id, was, destination, context.now)
        return
    if setting.name == "payoutlater":
        payouts.choose_later(tx, seller_id)
        return
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
        due_at = local_time.next_epoch_at(minute, context.now, zone)
    sellers.save_summary(tx, seller_id, minute, due_at)


def _wish(context: EventContext, wish: Wish) -> None:
    """Store a request and queue its creation at the service."""
    person = context.person
    sellers.save_price(context.tx, person.id, wish.amount, wish.currency)
    if wish.image is not None:
        seller_images.keep_image(context.tx, wish.image, person.id)
    listing = listings.add_listing(context.tx, person.chat_id, person.id, wish, context.now)
    audit_trail.record_wish(context.tx, person.id, listing, wish, context.now)
    name = None if context.seller.profile.name else context.seller.hints.name
    context.add_job(CreateRequest(listing, context.reply_to(), seller_name=name))


def start_edit_form(context: EventContext, listing: Listing, field: str) -> Outcome:
    """Return the form that asks for a field's new value."""
    draft_id = listings.short_id(6)
    return edit_form(
        draft_id,
        edit_rules.request_for_form(listing, field),
        field,
        context.seller,
        current=context.draft,
    )


def _apply_change(context: EventContext, change: Change) -> None:
    """Apply an edit, or queue its job; reply with the reason if it is impossible."""
    listing = own_listing(context, change.listing_id)
    if isinstance(listing, str):
        context.reply(Reply(listing))
    elif EDITS[change.field] is POSTER_TEXT:
        _set_poster_text(context, listing, change)
    elif why := _edit_obstacle(context, listing, change):
        context.reply(menus.unsaved_reply(own_card(context, listing), why, context.seller.language))
    else:
        context.add_job(edit_rules.job_of(change, context.reply_to()))


def _fetch_photo(context: EventContext, outcome: Outcome, file_id: str) -> None:
    """Queue the download of a photo; photos of one chat are downloaded in the order of sending."""
    draft, wish, seller_id = outcome.draft, outcome.wish, context.person.id
    if wish is not None:
        name, made_id = context.seller.hints.name, listings.short_id(6)
        body = PhotoDownload(file_id, made_id, seller_id, wish=wish.to_json(), seller_name=name)
    elif draft is not None:
        body = PhotoDownload(file_id, draft.id, seller_id, draft.step == PHOTO_STEP)
    else:
        return
    lane = str(context.person.chat_id)
    outbox.put(context.tx, context.queues.photos, lane, body, context.now)


def _fetch(context: EventContext, file: Attachment, draft: Draft) -> None:
    """Queue the download of a file; files of one chat are downloaded in the order of sending."""
    for_codes = draft.form == goods_form.FORM
    body = FileDownload(file, draft.id, context.person.id, for_codes)
    lane = str(context.person.chat_id)
    outbox.put(context.tx, context.queues.files, lane, body, context.now)


def _add_codes(context: EventContext, new: NewCodes) -> None:
    """Queue the job that adds codes to a request; reply with the reason if it is impossible."""
    listing = own_listing(context, new.listing_id, or_deleted=True)
    if isinstance(listing, str):
        context.reply(Reply(listing))
    elif why := codes_obstacle(context, listing):
        context.reply(Reply(why))
    else:
        context.add_job(AddCodes(listing.id, context.reply_to(), new.codes, context.now))


def codes_obstacle(context: EventContext, listing: Listing) -> str | None:
    """Return why no codes can be added to a request; None if its buyers get codes."""
    goods = listing.wish.goods
    is_list = goods is not None and goods.kind == CODES
    return None if is_list else context.text("toast-no-codes")


def _save_note(context: EventContext, note: MarkNote) -> None:
    """Save the note on a payment unless its mark was taken back, and send the mark."""
    listing_id, at, digest = note.payment.split(":")
    key = PaymentKey(listing_id, int(at), digest)
    found = payment_by_key(context.tx, context.person.id, key)
    if found is None:
        return
    if note.text is not None:
        payment_marks.save_note(context.tx, found, note.mark, note.text)
    send_mark(context, found, note.mark)


def _set_poster_text(context: EventContext, listing: Listing, change: Change) -> None:
    text = edit_rules.text_of(change)
    listings.set_poster_text(context.tx, listing.id, text)
    values = (listing.poster_text, text)
    audit_trail.record_edit(context.tx, listing, POSTER_TEXT.name, values, context.now)
    context.reply(
        menus.saved_reply(own_card(context, listing), change, context.seller, context.now)
    )


def _edit_obstacle(context: EventContext, listing: Listing, change: Change) -> str | None:
    """Return why units can't be removed, for an edit of units that is impossible."""
    if EDITS[change.field] is not UNITS:
        return None
    if why := removal_obstacle(context, listing):
        return why
    name = escaped(listing.wish.name, NAME)
    if pending.is_removal_uncertain(context.tx, context.queues, listing.id):
        return context.text("units-doubted", name=name)
    problem = edit_rules.removal_problem(listing, change)
    left = own_card(context, listing).remaining_units
    return problem and context.text(problem, name=name, left=left or 0)


def removal_obstacle(context: EventContext, listing: Listing) -> str | None:
    """Return why no units at all can be removed from a request; None if some can."""
    if listing.wish.units is None:
        return context.text("toast-no-units")
    return (
        context.text("toast-none-left") if own_card(context, listing).remaining_units == 0 else None
    )


def receive_photo(context: EventContext, wanted: PhotoDownload, photo: bytes | str) -> None:
    """Resume a form with its photo: the data, or the reason why there is none.

    The photo is deleted if its form has ended, and so is the photo that it replaces.
    """
    tx, draft, seller_id = context.tx, context.draft, context.person.id
    image = problem = None
    if isinstance(photo, bytes):
        image = seller_images.add_image(tx, seller_id, photo, context.now)
    else:
        problem = f"photo-{photo}"
    wish = Wish.from_json(wanted.wish) if wanted.wish else None
    if wish is None:
        outcome = take_picture(draft, wanted.draft_id, image, problem, context.seller)
    else:
        context = replace(
            context, seller=replace(context.seller, hints=ProfileHints(wanted.seller_name))
        )
        outcome = line_with_photo(
            wish, wanted.draft_id, image, problem, context.seller, current=draft
        )
    apply_outcome(context, outcome)
    if outcome.change is None:  # otherwise a job needs it
        seller_images.delete_unused(tx, [image, draft.image if draft else None])
