"""Forms from outside: begin one, answer it, end it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bot.chat.fields.receiver_shares import portions_of
from bot.chat.fields.registry import (
    ASKS,
    EDITS,
    FIELDS,
    FILE_STEP,
    INSTRUMENT,
    MENU,
    PICTURE,
    RECEIVERS,
)
from bot.chat.forms import goods_form, profile_form
from bot.chat.forms.bot_texts import menu
from bot.chat.forms.flow import (
    ask_after_zone,
    blocking_step,
    enclose,
    go_on,
    new_form_under_way,
    start_new,
    take_value,
    with_note,
)
from bot.chat.forms.inputs import take_text
from bot.chat.forms.outcome import Outcome
from bot.chat.forms.prompts import prompt, resume_prompt
from bot.chat.messages.reply import Reply, escaped
from bot.chat.model.amount_choice import in_major
from bot.chat.model.attachment import Enclosure
from bot.chat.model.draft import Draft, Seller
from bot.chat.model.wish import Wish, options_of
from bot.core.money.amounts import from_minor
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.model.attachment import Attachment

_REFUSAL = 500  # UTF-16 units of another server's message

LATE_AFTER = 24 * 3600 * 1000
"""Milliseconds after which a text is no longer taken as the answer to a question."""

_WORDLESS = (
    *("kind", "options", "review"),
    *(ASKS.name, FILE_STEP, PICTURE.name, profile_form.PHOTO_STEP),
)
"""Steps that no text answers: a photo or a file is meant by itself, whatever its caption says."""


@dataclass(frozen=True, slots=True)
class ExistingRequest:
    """A request that exists, as the form of an edit shows it."""

    listing_id: str
    wish: Wish
    poster_text: str | None = None


def new_form(
    current: Draft | None, draft_id: str, seller: Seller, sent: Enclosure | None = None
) -> Outcome:
    """Answer `/new`: begin a request with what came with it, or offer to continue the present one.

    The present one is left as it is.
    """
    under_way = new_form_under_way(current)
    if under_way is None:
        return start_new(draft_id, seller, sent=sent)
    offer = prompt if under_way.kind is None else resume_prompt
    outcome = Outcome(under_way, (offer(under_way, seller),))
    return with_note(outcome, t(seller.language, "file-unused")) if sent else outcome


def resume_offer(current: Draft | None, seller: Seller) -> Reply | None:
    """Offer to continue the new request under way; None without one."""
    under_way = new_form_under_way(current)
    return None if under_way is None or under_way.kind is None else resume_prompt(under_way, seller)


def settings_form(
    step: str, draft_id: str, seller: Seller, current: Draft | None = None
) -> Outcome:
    """Ask for a setting, one of `STEPS["settings"]`; a new request under way is paused."""
    return ask_after_zone(
        Draft(draft_id, "settings", step, paused=new_form_under_way(current)), step, seller
    )


def reopen(
    wish: Wish,
    draft_id: str,
    field: str,
    message: str,
    seller: Seller,
    *,
    current: Draft | None = None,
) -> Outcome:
    """Ask again at the step of the refused `field`, below the server's `message`.

    A form under way is paused until this one ends.
    """
    draft = _draft_of(wish, draft_id, seller, current)
    problem = t(seller.language, "refused", message=escaped(message, _REFUSAL))
    return ask_after_zone(draft, _refused_step(field, wish, seller), seller, problem)


def duplicate(wish: Wish, draft_id: str, seller: Seller, current: Draft | None = None) -> Outcome:
    """Begin a new request with all fields of `wish`, at its review.

    A form under way is paused until this one ends.
    """
    return go_on(_draft_of(wish, draft_id, seller, current), seller)


def edit_form(
    draft_id: str,
    present: ExistingRequest,
    field: str,
    seller: Seller,
    *,
    current: Draft | None = None,
) -> Outcome:
    """Ask for the new value of a field, one of EDITS. Raises ValueError for any other."""
    if field not in EDITS:
        raise ValueError(f"{field} can't be edited")
    known = _draft_of(present.wish, draft_id, seller, current)
    edit = replace(known, form="edit", listing=present.listing_id, poster_text=present.poster_text)
    return ask_after_zone(edit, field, seller)


def _draft_of(wish: Wish, draft_id: str, seller: Seller, current: Draft | None) -> Draft:
    """Return a new form with the fields of a wish, above the new form under way if there is one."""
    under_way = new_form_under_way(current)
    draft = Draft(
        draft_id,
        "new",
        "review",
        kind=wish.kind,
        name=wish.name,
        description=wish.description,
        amount=from_minor(wish.amount, wish.currency),
        currency=wish.currency,
        units=wish.units,
        asks_destination=not seller.has_destination,
        paused=under_way and replace(under_way, paused=None),
        receivers=portions_of(wish.receivers),
        choice=in_major(wish.choice, wish.currency),
        **options_of(wish),
    )
    if not seller.paid_at.is_embedded:
        draft = replace(draft, choice=None)
    for field in MENU:
        draft = draft if field.is_offered(draft, seller) else field.clear(draft)
    return draft


def _refused_step(path: str, wish: Wish, seller: Seller) -> str:
    """Return the step of the field that a refusal names; of an option only where it is set."""
    if not seller.has_destination:
        return "destination"
    field = next((field for field in FIELDS if field.is_refused_by(path)), None)
    if field is None or wish.kind not in field.kinds:
        return "review"
    if wish.receivers and path.startswith("receivers") and field.name != "currency":
        return RECEIVERS.name
    return "currency" if field is INSTRUMENT and wish.instrument is None else field.name


def take_message(
    draft: Draft | None, text: str, sent: Enclosure | None, seller: Seller, now: int
) -> Outcome:
    """Take a message of the seller: its text, empty for none, and what came with it.

    A message long after the last one (`now` in epoch ms) is no answer: the form is offered again.
    """
    if draft is None:
        has_file = sent is not None and (sent.photo or sent.file) is not None
        key = "file-first" if has_file else "not-understood"
        return Outcome(None, (Reply(t(seller.language, key), menu(seller.language)),))
    if draft.must_resume or _is_old(draft, now):
        return Outcome(replace(draft, must_resume=True), (resume_prompt(draft, seller),))
    if sent is None:
        return take_text(draft, text, seller, now)
    if draft.form == "new" or (sent.photo is not None and _takes_photos(draft)):
        return _take_enclosed(draft, text, sent, seller, now)
    note = t(seller.language, "file-unused")
    if not text:
        return Outcome(draft, (prompt(draft, seller, note),))
    return with_note(take_text(draft, text, seller, now), note)


def _take_enclosed(draft: Draft, text: str, sent: Enclosure, seller: Seller, now: int) -> Outcome:
    """Take a photo or a file, and its caption where a text is an answer."""
    if sent.photo is not None:  # at a question any picture is a photo, a file too
        sent = Enclosure(sent.photo)
    is_answer = bool(text) and draft.step not in _WORDLESS

    def go(draft: Draft) -> Outcome:
        if is_answer:
            return take_text(draft, text, seller, now)
        if draft.file is not None and blocking_step(draft, seller) == FILE_STEP:
            return go_on(draft, seller)
        # The reply about a photo comes once it is here.
        return Outcome(draft, () if sent.photo else (prompt(draft, seller),))

    outcome = enclose(draft, sent, seller, go)
    if text and not is_answer:
        outcome = with_note(outcome, t(seller.language, "caption-unused"))
    after = outcome.draft
    is_kept = after is not None and after.step != FILE_STEP and after.file is sent.file
    if sent.file is not None and is_kept:
        return with_note(outcome, t(seller.language, "file-later"))
    return outcome


def take_file(draft: Draft, file: Attachment, seller: Seller, now: int) -> Outcome | None:
    """Take a file of the seller; None where the form's question is not answered by one."""
    if not goods_form.takes_goods(draft):
        return None
    if draft.must_resume or _is_old(draft, now):
        return Outcome(replace(draft, must_resume=True), (resume_prompt(draft, seller),))
    return goods_form.take_file(draft, file, seller)


def _is_old(draft: Draft, now: int) -> bool:
    return draft.touched_at is not None and now - draft.touched_at > LATE_AFTER


def _takes_photos(draft: Draft) -> bool:
    """Return whether a form that is not of a new request asks for a photo."""
    is_edit = draft.form == "edit" and draft.step == PICTURE.name
    return is_edit or draft.step == profile_form.PHOTO_STEP


def line_with_photo(
    wish: Wish,
    draft_id: str,
    image: str | None,
    problem: str | None,
    seller: Seller,
    *,
    current: Draft | None,
) -> Outcome:
    """Create the request of a line with its photo, kept as `image`.

    Without an image the line is reviewed, below the text `problem`; a form under way is paused.
    """
    if image is not None:
        return Outcome(current, wish=replace(wish, image=image))
    words = t(seller.language, problem or "photo-unreachable")
    return go_on(_draft_of(wish, draft_id, seller, current), seller, words)


def take_picture(
    draft: Draft | None, draft_id: str, image: str | None, problem: str | None, seller: Seller
) -> Outcome:
    """Set the picture of the form `draft_id` to its photo, kept as `image`.

    Without an image, reply with the text `problem`. A form that has ended gets no reply.
    """
    if draft is None:
        return Outcome(None)
    words = t(seller.language, problem or "photo-unreachable")
    if draft.id != draft_id:
        kept = _with_picture(draft, draft_id, image)
        replies = (Reply(words),) if image is None and kept is not draft else ()
        return Outcome(kept, replies)
    draft = replace(draft, photos_due=max(0, draft.photos_due - 1))
    if image is None:
        return Outcome(draft, (prompt(draft, seller, words),))
    if draft.step == profile_form.PHOTO_STEP:
        return profile_form.save(draft, image, seller)
    if draft.step == PICTURE.name:
        return take_value(draft, PICTURE, image, seller)
    draft = replace(draft, image=image)
    return Outcome(draft, (prompt(draft, seller, t(seller.language, "picture-set")),))


def _with_picture(draft: Draft, draft_id: str, image: str | None) -> Draft:
    """Set the picture of the paused form, if it is the one that the photo was for."""
    paused = draft.paused
    if paused is None or paused.id != draft_id:
        return draft
    left = max(0, paused.photos_due - 1)
    return replace(draft, paused=replace(paused, image=image or paused.image, photos_due=left))
