"""The handlers of all buttons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bot.chat.cards import card_text, menus
from bot.chat.conversation import (
    commands,
    event_context,
    events,
    form_effects,
    getting_paid,
    payments_and_alerts,
    sharing,
)
from bot.chat.forms import flow, goods_form, inputs, request_fields
from bot.chat.forms.form import duplicate, settings_form
from bot.chat.jobs import audit_trail, request_changes
from bot.chat.model import jobs, replies
from bot.chat.store import link_rows

JOBS: dict[str, type[jobs.CardJob]] = {
    "card": jobs.SendCard,
    "refresh": jobs.RefreshCard,
    "stop": jobs.PauseRequest,
    "resume": jobs.ResumeRequest,
    "delete-yes": jobs.DeleteRequest,
}
"""The job of each button that needs the service; other buttons need only the database."""

MANAGING = JOBS.keys() | frozenset(
    ["more", "delete", "edit", "edit-not", "duplicate", "poster", "payments", "alerts", "codes"]
)
"""Buttons about a request, which only its seller may use."""

HANDLERS: dict[str, Callable[[event_context.EventContext, replies.Action], str | None]] = {
    **dict.fromkeys(payments_and_alerts.CLAIM_WORDS, payments_and_alerts.handle_claim_press),
    **dict.fromkeys(payments_and_alerts.WORDS, payments_and_alerts.handle_press),
    **dict.fromkeys(sharing.WORDS, sharing.handle_bought_press),
}
"""The handlers of buttons about claims, payments and kept receipts."""

PAGED: dict[str, Callable[[event_context.EventContext, int], replies.Reply]] = {
    "list": commands.requests_page,
    "incoming": payments_and_alerts.incoming_page,
    "bought": sharing.bought_page,
}
"""Lists, each with the function that returns a page."""


def handle_press(context: event_context.EventContext, press: events.PressEvent) -> None:
    """Handle a pressed button, and answer its callback query."""
    context.answer_press(press, _perform(context, press))


def _perform(context: event_context.EventContext, press: events.PressEvent) -> str | None:
    """Perform a button's action; return the text of the answer, if any."""
    action = press.action or ("",)
    match action:
        case ("draft", *_):
            result = inputs.take_press(context.draft, action, context.seller, context.now)
            form_effects.apply_result(context, result)
            if result.then is not None:
                left = replace(context, draft=result.draft)
                return _perform(left, replace(press, action=result.then))
            return result.toast
        case ("look", link_id):
            return sharing.refresh_visited_card(context, press, link_id)
        case ("undelivered", "again"):
            return payments_and_alerts.resend_undelivered(context)
        case (word, link_id, *more) if word in MANAGING:
            return _manage_link(context, press, link_id, (word, *more))
        case _:
            return _open_page(context, action)


def _open_page(context: event_context.EventContext, action: replies.Action) -> str | None:
    """Perform an action that doesn't concern a request; return the text of the answer, if any."""
    match action:
        case (word, *_) if word in HANDLERS:
            return HANDLERS[word](context, action)
        case ("getpaid" | "account", *words):
            return _get_paid(context, action[0], words)
        case ("new",) if not context.may_create:
            return context.text("not-allowed")
        case ("profile", *words):
            getting_paid.handle_profile_press(context, words)
        case (word, page) if word in PAGED:
            context.reply(PAGED[word](context, int(page)))
        case ("settings", step):
            form = settings_form(step, link_rows.short_id(6), context.seller, context.draft)
            form_effects.apply_result(context, form)
        case (("new" | "help" | "settings" | "bought") as page,):
            commands.show_page(context.without_press(), page)
        case _:
            return context.text("button-unknown")
    return None


def _get_paid(context: event_context.EventContext, word: str, words: list[str]) -> str | None:
    """Handle a button about payout accounts; for a button below a card, reply in a new message."""
    if not context.may_create:
        return context.text("not-allowed")
    if context.is_card(context.press):
        context = context.without_press()
    if word == "account":
        return getting_paid.press_account(context, words[0], words[1:])
    if not words:
        getting_paid.show_accounts(context)
    elif form := getting_paid.press_kind(context, words[0]):
        form_effects.apply_result(context, form)
    return None


def _manage_link(
    context: event_context.EventContext,
    press: events.PressEvent,
    link_id: str,
    action: tuple[str, ...],
) -> str | None:
    """Perform an action on this person's request; return the text of the answer, if any."""
    is_codes = action == ("codes",)  # buyers may still wait for codes of a deleted request
    link = event_context.own_link(context, link_id, or_deleted=is_codes)
    if isinstance(link, str):
        return link
    match action:
        case (word,) if word in JOBS:
            job = JOBS[word](link.id, context.reply_to(press))
            audit_trail.record_press(context.tx, link, job, context.now)
            context.add_job(job)
        case ("edit", field):
            return _edit(context, link, field)
        case ("codes",):
            return _ask_for_codes(context, link)
        case ("duplicate",):
            return _duplicate(context, link)
        case ("poster",):
            sharing.show_poster(context, link)
        case ("poster", design):
            return sharing.send_poster(context, link, design)
        case ("payments", page):
            sharing.show_payments(context, link, int(page))
        case ("alerts", *mode):
            return payments_and_alerts.choose_alert_mode(context, link, mode[0] if mode else None)
        case (word,):
            card, language = event_context.own_card(context, link), context.seller.language
            context.reply(menus.open_menu(card, word, language))
    return None


def _edit(
    context: event_context.EventContext, link: link_rows.PaymentLink, field: str
) -> str | None:
    """Ask for a field's new value; return the reason if the field can't be changed."""
    if field not in request_fields.EDITS:
        return context.text("button-unknown")
    if request_fields.EDITS[field].needs_embedded and not context.seller.paid_at.is_embedded:
        return context.text("toast-elsewhere")
    if request_fields.EDITS[field] is request_fields.UNITS and (
        why := form_effects.removal_obstacle(context, link)
    ):
        return why
    return _ask_in_new_message(context, link, form_effects.start_edit_form(context, link, field))


def _ask_for_codes(context: event_context.EventContext, link: link_rows.PaymentLink) -> str | None:
    """Ask for more codes for a request; return the reason if its buyers get no codes."""
    if why := form_effects.codes_obstacle(context, link):
        return why
    form = goods_form.codes_form(link.id, link_rows.short_id(6), context.seller, context.draft)
    return _ask_in_new_message(context, link, form)


def _duplicate(context: event_context.EventContext, link: link_rows.PaymentLink) -> str | None:
    """Begin a new request with an existing request's values; return the answer's text, if any."""
    if not context.may_create:
        return context.text("not-allowed")
    spec = request_changes.copy_spec(link.spec, context.now)
    form = duplicate(spec, link_rows.short_id(6), context.seller, context.draft)
    if spec.goods != link.spec.goods:
        form = replace(
            form, replies=(replies.Reply(context.text("goods-not-copied")), *form.replies)
        )
    return _ask_in_new_message(context, link, form)


def _ask_in_new_message(
    context: event_context.EventContext, link: link_rows.PaymentLink, form: flow.FormResult
) -> str | None:
    """Ask in a new message, and turn the menu back into the card."""
    if context.is_card(context.press):
        context.reply(
            card_text.seller_card(event_context.own_card(context, link), context.seller.language)
        )
    form_effects.apply_result(context.without_press(), form)
    return form.toast
