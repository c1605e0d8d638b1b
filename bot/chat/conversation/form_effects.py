"""Apply a form's result (`apply_result`): what it changes in the database and the queues."""

from __future__ import annotations

from dataclasses import replace

from bot.chat.cards import menus
from bot.chat.conversation import event_context, getting_paid
from bot.chat.conversation.event_context import EventContext
from bot.chat.forms import flow, form, request_fields, seller_forms
from bot.chat.model import drafts, jobs, moments, payloads, payment, queues, replies, request_spec
from bot.chat.payments import request_changes
from bot.chat.store import link_rows, message_rows, payment_marks, post_rows, seller_rows
from bot.core.money import amounts
from bot.core.outbox import outbox, queue_policy

_NAME = 200
"""UTF-16 units of a request's name."""


def apply_result(context: EventContext, result: flow.FormResult) -> None:
    """Apply a form's result in this transaction: draft, settings, replies and jobs."""
    person = context.person
    if result.spec is not None and not context.may_create:
        context.reply(replies.Reply(context.text("not-allowed")))
        return
    draft = result.draft and getting_paid.seal_secrets(result.draft, context.vault)
    question = seller_rows.save_draft(context.tx, person.chat_id, person.id, draft, context.now)
    pressed = context.press.message_id if context.press else None
    is_replaced = pressed == question and bool(result.replies)
    if question is not None and not is_replaced:
        place = post_rows.MessagePlace(str(person.chat_id), question)
        message_rows.remove_buttons(context, place)
    if result.setting is not None:
        _save_setting(context, result.setting)
    if result.photo is not None:
        _fetch_photo(context, result, result.photo)
    if result.fetch is not None and result.draft is not None:
        for_codes = isinstance(result.draft, drafts.CodesDraft)
        file = payloads.FileDownload(result.fetch, result.draft.id, person.id, for_codes)
        lane = str(person.chat_id)  # so a chat's files are downloaded in the order of sending
        outbox.put(context.tx, context.queues.files, lane, file, context.now)
    for reply in result.replies:
        context.reply(reply)
        context = context.without_press()
    if result.spec is not None and result.photo is None:
        _create(context, result.spec)
    if result.change is not None:
        _apply_change(context, result.change)
    if result.codes is not None:
        _add_codes(context, result.codes)
    if result.note is not None:
        _save_note(context, result.note)
    if result.connect is not None and isinstance(draft, drafts.PayoutDraft):
        getting_paid.connect(context, draft, result.connect)


def receive_photo(
    context: EventContext, wanted: payloads.PhotoDownload, photo: bytes | str
) -> None:
    """Resume a form with its photo: the data, or the reason why there is none.

    If the form has ended, the photo is deleted. A replaced photo is deleted too.
    """
    tx, draft, seller_id = context.tx, context.draft, context.person.id
    image = problem = None
    if isinstance(photo, bytes):
        image = seller_rows.add_image(tx, seller_id, photo, context.now)
    else:
        problem = f"photo-{photo}"
    spec = wanted.spec
    if spec is None:
        result = form.take_picture(draft, wanted.draft_id, image, problem, context.seller)
    else:
        context = replace(
            context, seller=replace(context.seller, hints=drafts.ProfileHints(wanted.seller_name))
        )
        result = form.line_with_photo(
            spec, wanted.draft_id, image, problem, context.seller, current=draft
        )
    apply_result(context, result)
    if result.change is None:  # otherwise a job needs the photo
        replaced = draft.image if isinstance(draft, drafts.RequestDraft) else None
        seller_rows.delete_unused(tx, [image, replaced])


def _save_setting(context: EventContext, setting: flow.Setting) -> None:
    """Store a setting; a new time zone or summary time reschedules the next summary."""
    tx, seller_id, value = context.tx, context.person.id, setting.value
    zone, minute = context.seller.zone, context.seller.summary
    if attribute := drafts.PROFILE_STEPS.get(setting.name):
        change = {attribute: value if isinstance(value, str) else None}
        getting_paid.save_profile(context, replace(context.seller.profile, **change))
        return
    match setting.name:
        case "destination":
            before, destination = context.seller.destination, str(value)
            seller_rows.change(tx, seller_id, destination=destination)
            if destination != before:
                details = {"destination": [before, destination]}
                context.audit("destination.changed", str(seller_id), details)
            return
        case "payoutlater":
            seller_rows.change(tx, seller_id, pays_later=1)
            return
        case "quiet":
            seller_rows.save_quiet(tx, seller_id, value if isinstance(value, tuple) else None)
            return
        case "zone":
            zone = str(value)
            seller_rows.change(tx, seller_id, zone=zone)
        case _:
            minute = value if isinstance(value, int) else None
    due_at = None
    if minute is not None and zone is not None:
        due_at = moments.next_epoch_at(minute, context.now, zone)
    seller_rows.change(tx, seller_id, summary=minute, summary_at=due_at)


def _fetch_photo(context: EventContext, result: flow.FormResult, file_id: str) -> None:
    """Queue the download of a photo; a chat's photos are downloaded in the order they were sent."""
    draft, spec, seller_id = result.draft, result.spec, context.person.id
    if spec is not None:
        name, made_id = context.seller.hints.name, link_rows.short_id(6)
        body = payloads.PhotoDownload(file_id, made_id, seller_id, spec=spec, seller_name=name)
    elif draft is not None:
        body = payloads.PhotoDownload(
            file_id, draft.id, seller_id, draft.step == seller_forms.PHOTO_STEP
        )
    else:
        return
    lane = str(context.person.chat_id)
    outbox.put(context.tx, context.queues.photos, lane, body, context.now)


def _create(context: EventContext, spec: request_spec.RequestSpec) -> None:
    person = context.person
    seller_rows.save_price(context.tx, person.id, spec.amount, spec.currency)
    if spec.image is not None:
        seller_rows.keep_image(context.tx, spec.image, person.id)
    link = link_rows.add_link(context.tx, person.chat_id, person.id, spec, context.now)
    choice = request_spec.in_major(spec.choice, spec.currency)
    amount = amounts.from_minor(spec.amount, spec.currency)
    price = f"{request_spec.spelled(choice) if choice else amount} {spec.currency}"
    asked = {"kind": spec.kind, "name": spec.name, "price": price, "to": spec.destination}
    units = {} if spec.units is None else {"units": spec.units}
    context.audit("request.asked", link, {**asked, **units})
    name = None if context.seller.profile.name else context.seller.hints.name
    context.add_job(jobs.CreateRequest(link, context.reply_to(), seller_name=name))


def _apply_change(context: EventContext, change: flow.Change) -> None:
    """Apply an edit or queue its job; if the edit is impossible, reply with the reason."""
    link = event_context.own_link(context, change.link_id)
    if isinstance(link, str):
        context.reply(replies.Reply(link))
    elif request_fields.EDITS[change.field] is request_fields.POSTER_TEXT:
        text = request_changes.text_of(change)
        link_rows.set_poster_text(context.tx, link.id, text)
        values = [link.poster_text, text]
        details = {"name": link.spec.name, request_fields.POSTER_TEXT.name: values}
        context.audit("request.edited", link.request_id or link.id, details)
        card = event_context.own_card(context, link)
        context.reply(menus.saved_reply(card, change, context.seller, context.now))
    elif why := _edit_obstacle(context, link, change):
        context.reply(
            menus.unsaved_reply(event_context.own_card(context, link), why, context.seller.language)
        )
    else:
        context.add_job(request_changes.job_of(change, context.reply_to()))


def _edit_obstacle(
    context: EventContext, link: link_rows.PaymentLink, change: flow.Change
) -> str | None:
    """Return the reason why an edit of units is impossible; None if the edit is possible."""
    if request_fields.EDITS[change.field] is not request_fields.UNITS:
        return None
    if why := removal_obstacle(context, link):
        return why
    name = replies.escaped(link.spec.name, _NAME)
    if request_changes.is_removal_uncertain(context.tx, context.queues, link.id):
        return context.text("units-doubted", name=name)
    problem = request_changes.removal_problem(link, change)
    left = event_context.own_card(context, link).remaining_units
    return problem and context.text(problem, name=name, left=left or 0)


def removal_obstacle(context: EventContext, link: link_rows.PaymentLink) -> str | None:
    """Return the reason why no units can be removed from a request; None if some can be removed."""
    if link.spec.units is None:
        return context.text("toast-no-units")
    is_sold_out = event_context.own_card(context, link).remaining_units == 0
    return context.text("toast-none-left") if is_sold_out else None


def _add_codes(context: EventContext, new: flow.NewCodes) -> None:
    """Queue the job that adds codes to a request; if that is impossible, reply with the reason."""
    link = event_context.own_link(context, new.link_id, or_deleted=True)
    if isinstance(link, str):
        context.reply(replies.Reply(link))
    elif why := codes_obstacle(context, link):
        context.reply(replies.Reply(why))
    else:
        context.add_job(jobs.AddCodes(link.id, context.reply_to(), new.codes))


def codes_obstacle(context: EventContext, link: link_rows.PaymentLink) -> str | None:
    """Return the reason why no codes can be added to a request; None if its buyers get codes."""
    goods = link.spec.goods
    is_list = goods is not None and goods.kind == request_spec.CODES
    return None if is_list else context.text("toast-no-codes")


# Marks on payments, about which the service notifies the buyer.

NOTE_TIME = 10 * 60 * 1000
"""Milliseconds that a seller has for the note; then the buyer gets the mark without a note."""


def _save_note(context: EventContext, note: flow.MarkNote) -> None:
    """Save the note on a payment unless its mark was taken back, and send the mark."""
    link_id, at, digest = note.payment.split(":")
    key = payment.PaymentKey(link_id, int(at), digest)
    found = payment_marks.payment_by_key(context.tx, context.person.id, key)
    if found is None:
        return
    if note.text is not None:
        payment_marks.save_note(context.tx, found, note.mark, note.text)
    send_mark(context, found, note.mark)


def send_mark(
    context: EventContext, found: payment_marks.FoundPayment, mark: str, *, delay: int = 0
) -> None:
    """Queue the job that sends a payment's mark, due in `delay` ms.

    A delayed job has its own lane; otherwise the link's other jobs would wait behind it. An
    external payment server has no marks, so marks stay in the chat.
    """
    if context.seller.paid_at.host is not None:
        return
    now, reply_to = context.now, context.reply_to()
    job = jobs.SendMark(found.link_id, reply_to, *found.ids, mark)
    lane = f"{queues.BACKGROUND}{found.link_id}:marks" if delay else found.link_id
    outbox.put(
        context.tx,
        context.queues.jobs,
        lane,
        job,
        now,
        priority=queue_policy.NOTICE,
        due_at=now + delay,
    )
