"""Forms as the conversation uses them: begin a form, answer it with a message, end it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from bot.chat.forms import flow, goods_form, inputs, questions, request_fields, seller_forms
from bot.chat.forms.field import R
from bot.chat.model import drafts, request_spec
from bot.chat.model.replies import Reply, escaped
from bot.core.money import amounts

_REFUSAL = 500
"""UTF-16 units of an external server's message."""

LATE_AFTER = 24 * 3600 * 1000
"""Milliseconds after which a text no longer answers a question."""

_WORDLESS = (
    *("kind", "options", "review"),
    *(request_fields.ASKS.name, request_fields.FILE_STEP, request_fields.PICTURE.name),
)
"""Steps that no text answers: a photo or a file is the answer there, whatever its caption says."""


@dataclass(frozen=True, slots=True)
class ExistingRequest:
    """An existing request, as an edit's form shows it."""

    link_id: str
    spec: request_spec.RequestSpec
    poster_text: str | None = None


def new_form(
    current: drafts.Draft | None,
    draft_id: str,
    seller: drafts.Seller,
    sent: drafts.Enclosure | None = None,
) -> flow.FormResult:
    """Answer `/new`: begin a request with the enclosed content, or offer to continue the open form.

    The open form stays unchanged.
    """
    under_way = flow.new_form_under_way(current)
    if under_way is None:
        return flow.start_new(draft_id, seller, sent=sent)
    offer = questions.prompt if under_way.kind is None else questions.resume_prompt
    result = flow.FormResult(under_way, (offer(under_way, seller),))
    if sent is None:
        return result
    return flow.with_note(result, seller.text("file-unused"))


def resume_offer(current: drafts.Draft | None, seller: drafts.Seller) -> Reply | None:
    """Offer to continue the open form of a new request, if there is one."""
    under_way = flow.new_form_under_way(current)
    if under_way is None or under_way.kind is None:
        return None
    return questions.resume_prompt(under_way, seller)


def reopen(
    spec: request_spec.RequestSpec,
    draft_id: str,
    field: str,
    message: str,
    seller: drafts.Seller,
    *,
    current: drafts.Draft | None = None,
) -> flow.FormResult:
    """Ask again for the refused `field`, a path in the body, below the server's `message`.

    If the form does not ask for it, show the review. An open form is paused until this form ends.
    """
    draft = _new_draft_of(spec, draft_id, seller, current)
    problem = seller.text("refused", message=escaped(message, _REFUSAL))
    refused = next((one for one in request_fields.FIELDS if one.is_refused_by(field)), None)
    if not seller.has_destination:
        step = "destination"
    elif refused is None or spec.kind not in refused.kinds:
        step = "review"
    elif spec.receivers and field.startswith("receivers") and refused.name != "currency":
        step = request_fields.RECEIVERS.name
    elif refused is request_fields.INSTRUMENT and spec.instrument is None:
        step = "currency"
    else:
        step = refused.name
    return flow.ask_after_zone(draft, step, seller, problem)


def duplicate(
    spec: request_spec.RequestSpec,
    draft_id: str,
    seller: drafts.Seller,
    current: drafts.Draft | None = None,
) -> flow.FormResult:
    """Begin a new request with all fields of `spec`, at its review.

    An open form is paused until this form ends.
    """
    return flow.go_on(_new_draft_of(spec, draft_id, seller, current), seller)


def edit_form(
    draft_id: str,
    present: ExistingRequest,
    field: str,
    seller: drafts.Seller,
    *,
    current: drafts.Draft | None = None,
) -> flow.FormResult:
    """Ask for the new value of a field. Raises ValueError if the field isn't one of EDITS."""
    if field not in request_fields.EDITS:
        raise ValueError(f"{field} can't be edited")
    edit = _draft_of(
        drafts.EditDraft,
        present.spec,
        seller,
        id=draft_id,
        step=field,
        paused=_paused_by(current),
        link_id=present.link_id,
        poster_text=present.poster_text,
    )
    return flow.ask_after_zone(edit, field, seller)


def _new_draft_of(
    spec: request_spec.RequestSpec,
    draft_id: str,
    seller: drafts.Seller,
    current: drafts.Draft | None,
) -> drafts.NewDraft:
    """Return a new form with a spec's values; an open form of a new request is paused."""
    given = {"asks_destination": not seller.has_destination, "paused": _paused_by(current)}
    return _draft_of(drafts.NewDraft, spec, seller, id=draft_id, step="review", **given)


def _paused_by(current: drafts.Draft | None) -> drafts.NewDraft | None:
    under_way = flow.new_form_under_way(current)
    return under_way and replace(under_way, paused=None)


def _draft_of(
    kind: type[R], spec: request_spec.RequestSpec, seller: drafts.Seller, **given: Any
) -> R:
    """Return a draft with a spec's values that the seller's service takes."""
    draft = kind(
        kind=spec.kind,
        name=spec.name,
        description=spec.description,
        amount=amounts.from_minor(spec.amount, spec.currency),
        currency=spec.currency,
        units=spec.units,
        receivers=tuple(drafts.Portion(one.destination, one.measure) for one in spec.receivers),
        choice=request_spec.in_major(spec.choice, spec.currency),
        **request_spec.options_of(spec),
        **given,
    )
    if not seller.paid_at.is_embedded:
        draft = replace(draft, choice=None)
    for field in request_fields.MENU:
        draft = draft if field.is_offered(draft, seller) else field.clear(draft)
    return draft


def take_message(
    draft: drafts.Draft | None,
    text: str,
    sent: drafts.Enclosure | None,
    seller: drafts.Seller,
    now: int,
) -> flow.FormResult:
    """Handle a seller's message: its text, which may be empty, and its enclosed content.

    A message long after the last message (`now` in epoch ms) is not an answer: the form is offered
    again.
    """
    if draft is None:
        has_file = sent is not None and (sent.photo or sent.file) is not None
        key = "file-first" if has_file else "not-understood"
        return flow.FormResult(None, (Reply(seller.text(key), questions.menu(seller.language)),))
    is_old = draft.touched_at is not None and now - draft.touched_at > LATE_AFTER
    if draft.must_resume or is_old:
        prompt = questions.resume_prompt(draft, seller)
        return flow.FormResult(replace(draft, must_resume=True), (prompt,))
    if sent is None:
        return inputs.take_text(draft, text, seller, now)
    if sent.file is not None and goods_form.takes_goods(draft):
        return goods_form.take_file(draft, sent.file, seller)
    if isinstance(draft, drafts.NewDraft):
        return _take_enclosed(draft, text, sent, seller, now)
    if sent.photo and draft.step in (request_fields.PICTURE.name, seller_forms.PHOTO_STEP):
        result = flow.FormResult(draft, photo=sent.photo)
        return flow.with_note(result, seller.text("caption-unused")) if text else result
    note = seller.text("file-unused")
    if not text:
        return flow.FormResult(draft, (questions.prompt(draft, seller, note),))
    return flow.with_note(inputs.take_text(draft, text, seller, now), note)


def _take_enclosed(
    draft: drafts.NewDraft, text: str, sent: drafts.Enclosure, seller: drafts.Seller, now: int
) -> flow.FormResult:
    """Handle a photo or a file, and its caption if the step takes a text."""
    if sent.photo is not None:  # in answer to a question, a picture sent as a file is also a photo
        sent = drafts.Enclosure(sent.photo)
    is_answer = bool(text) and draft.step not in _WORDLESS

    def go(draft: drafts.NewDraft) -> flow.FormResult:
        if is_answer:
            return inputs.take_text(draft, text, seller, now)
        if draft.file is not None and flow.blocking_step(draft, seller) == request_fields.FILE_STEP:
            return flow.go_on(draft, seller)
        # The reply about a photo follows when the photo has arrived.
        return flow.FormResult(draft, () if sent.photo else (questions.prompt(draft, seller),))

    result = flow.enclose(draft, sent, seller, go)
    if text and not is_answer:
        result = flow.with_note(result, seller.text("caption-unused"))
    after = result.draft
    is_kept = isinstance(after, drafts.NewDraft) and after.file is sent.file
    if sent.file and is_kept and after and after.step != request_fields.FILE_STEP:
        return flow.with_note(result, seller.text("file-later"))
    return result


def line_with_photo(
    spec: request_spec.RequestSpec,
    draft_id: str,
    image: str | None,
    problem: str | None,
    seller: drafts.Seller,
    *,
    current: drafts.Draft | None,
) -> flow.FormResult:
    """Create the request of a one-line form with its photo, stored as `image`.

    Without an image, the seller reviews the request below the text `problem`, and an open form is
    paused.
    """
    if image is not None:
        return flow.FormResult(current, spec=replace(spec, image=image))
    words = seller.text(problem or "photo-unreachable")
    return flow.go_on(_new_draft_of(spec, draft_id, seller, current), seller, words)


def take_picture(
    draft: drafts.Draft | None,
    draft_id: str,
    image: str | None,
    problem: str | None,
    seller: drafts.Seller,
) -> flow.FormResult:
    """Set the picture of the form `draft_id` to the photo stored as `image`.

    Without an image, reply with the text `problem`. If the form has ended, there is no reply.
    """
    words = seller.text(problem or "photo-unreachable")
    paused = draft.paused if draft else None
    if draft and paused and paused.id == draft_id != draft.id:
        draft = replace(draft, paused=_with_photo(paused, image or paused.image))
        return flow.FormResult(draft, (Reply(words),) if image is None else ())
    if draft is None or draft.id != draft_id:
        return flow.FormResult(draft)
    if isinstance(draft, drafts.NewDraft):
        draft = _with_photo(draft, draft.image)
    if image is None:
        return flow.FormResult(draft, (questions.prompt(draft, seller, words),))
    if isinstance(draft, drafts.SettingsDraft) and draft.step == seller_forms.PHOTO_STEP:
        return seller_forms.save_profile_value(draft, image, seller)
    if not isinstance(draft, drafts.RequestDraft):
        return flow.FormResult(draft)
    if draft.step == request_fields.PICTURE.name:
        return flow.take_value(draft, request_fields.PICTURE, image, seller)
    return flow.ask_step(
        replace(draft, image=image), draft.step, seller, seller.text("picture-set")
    )


def _with_photo(draft: drafts.NewDraft, image: str | None) -> drafts.NewDraft:
    """Return the draft with its image after one of its photos was downloaded."""
    return replace(draft, image=image, photos_due=max(0, draft.photos_due - 1))
