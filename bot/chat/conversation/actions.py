"""What each command and each button does, and what it needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from bot.chat.cards import card_text, menus, request_card
from bot.chat.conversation import (
    event_context,
    events,
    form_effects,
    getting_paid,
    payments_and_alerts,
    sharing,
)
from bot.chat.conversation.event_context import EventContext
from bot.chat.forms import (
    flow,
    form,
    goods_form,
    inputs,
    one_line,
    questions,
    request_fields,
    seller_forms,
    seller_texts,
)
from bot.chat.model import drafts, jobs, replies, request_spec
from bot.chat.payments import request_changes
from bot.chat.store import link_rows, seller_rows
from bot.core.text import translations

PAGE = 8
"""Requests on one page of the list."""

FROM_INLINE = "new"
"""Payload of `/start` from the button above inline results, which opens the form at once."""

# Commands.


@dataclass(frozen=True, slots=True)
class Command:
    """A command."""

    do: Callable[[EventContext, events.MessageEvent], None]
    creates: bool = False
    """Only for people who may create requests."""
    takes_file: bool = False


def _show(page: Callable[[EventContext], replies.Reply]) -> Command:
    return Command(lambda context, _: context.reply(page(context)))


def _new(context: EventContext, sent: drafts.Enclosure | None = None) -> None:
    asked = form.new_form(context.draft, link_rows.short_id(6), context.seller, sent)
    form_effects.apply_result(context, asked)


def _in_one_line(context: EventContext, event: events.MessageEvent) -> None:
    kind = event.command or ""
    asked = one_line.one_line(
        kind, event.text, link_rows.short_id(6), context.seller, context.draft,
        sent=event.enclosure,
    )  # fmt: skip
    form_effects.apply_result(context, asked)


def _start(context: EventContext, event: events.MessageEvent) -> None:
    if sharing.open_receipt_link(context, event.text) or sharing.open_deep_link(
        context, event.text
    ):
        return
    is_inline = event.text == FROM_INLINE and context.may_create
    is_first = seller_rows.mark_once(context.tx, context.person.id, "greeted", context.now)
    if is_first or not is_inline:
        offer = form.resume_offer(context.draft, context.seller)
        context.reply(start_reply(context.seller, new=is_first, offer=offer))
    if is_inline:
        _new(context, event.enclosure)


def start_reply(
    seller: drafts.Seller, *, new: bool, offer: replies.Reply | None = None
) -> replies.Reply:
    """Return the greeting; a `new` seller also reads Telegram's rule for digital goods.

    `offer` offers to continue the current form.
    """
    parts = [seller.text("start")]
    if new:
        parts.append(seller.text("digital-goods"))
    if offer is not None:
        parts.append(offer.text)
    return replies.Reply(
        "\n\n".join(parts), offer.rows if offer else questions.menu(seller.language)
    )


def _requests_page(context: EventContext, page: int) -> replies.Reply:
    """Return a page of the seller's requests, the last one if there are fewer pages."""
    pages = max(1, -(-link_rows.count_links(context.tx, context.person.id) // PAGE))
    page = min(page, pages - 1)
    found = link_rows.links_page(context.tx, context.person.id, PAGE, page * PAGE)
    shown = [request_card.card_of(item, context.now) for item in found]
    pending = link_rows.pending_names(context.tx, context.person.id)
    return card_text.list_page(shown, page, pages, context.seller.language, pending=pending)


def help_reply(seller: drafts.Seller) -> replies.Reply:
    """Explain the commands and the one-line forms, with amounts to choose from if supported."""
    keys = ("help", *(["help-choice"] if seller.paid_at.is_embedded else []), "digital-goods")
    return replies.Reply("\n\n".join(map(seller.text, keys)), questions.menu(seller.language))


def _about(context: EventContext, event: events.MessageEvent) -> None:
    """Answer /privacy or /paysupport, with the operator's contact if there is one."""
    operator = replies.escaped(context.operator_contact or context.text("operator"))
    context.reply(replies.Reply(context.text(event.command or "", operator=operator)))


_IN_ONE_LINE = Command(_in_one_line, creates=True, takes_file=True)

COMMANDS: dict[str, Command] = {
    "new": Command(
        lambda context, event: _new(context, event.enclosure), creates=True, takes_file=True
    ),
    "list": _show(partial(_requests_page, page=0)),
    "payments": _show(partial(payments_and_alerts.incoming_page, number=0)),
    "find": Command(lambda context, event: payments_and_alerts.find_payment(context, event.text)),
    **dict.fromkeys(request_spec.KINDS, _IN_ONE_LINE),
    "alerts": Command(lambda context, _: payments_and_alerts.show_undelivered(context)),
    "getpaid": replace(
        _show(lambda context: seller_texts.accounts_page(context.seller)), creates=True
    ),
    "settings": _show(lambda context: seller_texts.settings(context.seller)),
    "bought": _show(partial(sharing.bought_page, number=0)),
    "help": _show(lambda context: help_reply(context.seller)),
    "cancel": Command(
        lambda context, _: form_effects.apply_result(
            context, inputs.cancel(context.draft, context.seller)
        )
    ),
    **dict.fromkeys(("privacy", "paysupport"), Command(_about)),
    "start": Command(_start),
}
"""In the order of Telegram's menu."""


def described(language: str) -> list[tuple[str, str]]:
    """Return the commands with their descriptions, for setMyCommands."""
    return [(name, translations.t(language, f"command-{name}")) for name in COMMANDS]


def handle_message(context: EventContext, event: events.MessageEvent) -> None:
    """Handle a message: a command, or the answer to a question.

    If a file came with a command that doesn't use files, the reply says so.
    """
    if getting_paid.is_misplaced(context.draft, event.text):
        context.reply(replies.Reply(context.text("payout-connection-elsewhere")))
        return
    if event.command is None:
        form_effects.apply_result(context, _take_message(context, event))
        return
    command = COMMANDS.get(event.command)
    if event.enclosure is not None and not (command and command.takes_file):
        context.reply(replies.Reply(context.text("file-unused-command")))
        event = replace(event, photo=None, file=None, is_unusable=False)
    if command is None:
        context.reply(replies.Reply(context.text("command-unknown")))
    elif command.creates and not context.may_create:
        context.reply(replies.Reply(context.text("not-allowed")))
    else:
        command.do(context, event)


def _take_message(context: EventContext, event: events.MessageEvent) -> flow.FormResult:
    if context.draft is None and context.may_create:
        offer = one_line.offer_line(
            event.text, link_rows.short_id(6), context.seller, event.enclosure
        )
        if offer is not None:
            return offer
    is_for_buyers = goods_form.takes_goods(context.draft)
    text = event.linked or event.text if is_for_buyers else event.text
    return form.take_message(context.draft, text, event.enclosure, context.seller, context.now)


# Buttons. The grammar of their data (chat/model/replies.py) fixes how many words each has.


@dataclass(frozen=True, slots=True)
class Button:
    """A button, by the first word of its data.

    `do` gets the context and all words of the data, and returns the text of the answer, if any.
    """

    do: Callable[..., str | None]
    creates: bool = False
    """Only for people who may create requests."""
    of_link: bool = False
    """About the presser's own request; `do` gets its link too, and the data without its id."""
    or_deleted: bool = False
    """Also about a deleted request."""


def _turn(page: Callable[[EventContext, int], replies.Reply]) -> Button:
    """Return a button that shows another page of a list in its message."""
    return Button(lambda context, action: context.reply(page(context, int(action[1]))))


def _queue(kind: type[jobs.CardJob]) -> Button:
    """Return a button of a card that needs the service."""

    def do(context: EventContext, link: link_rows.PaymentLink, _: replies.Action) -> None:
        job = kind(link.id, context.reply_to(context.press))
        # Old buttons can be pressed forever, so a press that changes nothing is not recorded.
        if isinstance(job, jobs.ChangeJob) and link.state != request_changes.STATES[type(job)]:
            subject, details = link.request_id or link.id, {"name": link.spec.name}
            context.audit(request_changes.AUDITED[type(job)], subject, details)
        context.add_job(job)

    return Button(do, of_link=True)


def _menu(context: EventContext, link: link_rows.PaymentLink, action: replies.Action) -> None:
    card, language = event_context.own_card(context, link), context.seller.language
    context.reply(menus.open_menu(card, action[0], language))


def _answer_form(context: EventContext, action: replies.Action) -> str | None:
    result = inputs.take_press(context.draft, action, context.seller, context.now)
    form_effects.apply_result(context, result)
    if result.then is not None:
        return perform(replace(context, draft=result.draft), result.then)
    return result.toast


def _settings(context: EventContext, action: replies.Action) -> None:
    if len(action) == 1:
        context.without_press().reply(seller_texts.settings(context.seller))
        return
    asked = seller_forms.settings_form(
        action[1], link_rows.short_id(6), context.seller, context.draft
    )
    form_effects.apply_result(context, asked)


def _bought(context: EventContext, action: replies.Action) -> None:
    if len(action) == 1:
        context = context.without_press()
    context.reply(sharing.bought_page(context, int(action[1]) if action[1:] else 0))


def _get_paid(context: EventContext, action: replies.Action) -> str | None:
    """Handle a button about payout accounts; for a button below a card, reply in a new message."""
    word, *words = action
    if context.is_card(context.press):
        context = context.without_press()
    if word == "account":
        return getting_paid.press_account(context, words[0], words[1:])
    if not words:
        context.reply(seller_texts.accounts_page(context.seller))
    elif asked := getting_paid.press_kind(context, words[0]):
        form_effects.apply_result(context, asked)
    return None


def _edit(context: EventContext, link: link_rows.PaymentLink, action: replies.Action) -> str | None:
    """Ask for a field's new value; return the reason if the field can't be changed."""
    if len(action) == 1:
        _menu(context, link, action)
        return None
    field = request_fields.EDITS.get(action[1])
    if field is None:
        return context.text("button-unknown")
    if field.needs_embedded and not context.seller.paid_at.is_embedded:
        return context.text("toast-elsewhere")
    if field is request_fields.UNITS and (why := form_effects.removal_obstacle(context, link)):
        return why
    present, current = request_changes.request_for_form(link, action[1]), context.draft
    asked = form.edit_form(
        link_rows.short_id(6), present, action[1], context.seller, current=current
    )
    return _ask_in_new_message(context, link, asked)


def _ask_for_codes(context: EventContext, link: link_rows.PaymentLink, _: object) -> str | None:
    """Ask for more codes for a request; return the reason if its buyers get no codes."""
    if why := form_effects.codes_obstacle(context, link):
        return why
    asked = goods_form.codes_form(link.id, link_rows.short_id(6), context.seller, context.draft)
    return _ask_in_new_message(context, link, asked)


def _duplicate(context: EventContext, link: link_rows.PaymentLink, _: object) -> str | None:
    """Begin a new request with an existing request's values; return the answer's text, if any."""
    spec = request_changes.copy_spec(link.spec, context.now)
    asked = form.duplicate(spec, link_rows.short_id(6), context.seller, context.draft)
    if spec.goods != link.spec.goods:
        note = replies.Reply(context.text("goods-not-copied"))
        asked = replace(asked, replies=(note, *asked.replies))
    return _ask_in_new_message(context, link, asked)


def _ask_in_new_message(
    context: EventContext, link: link_rows.PaymentLink, asked: flow.FormResult
) -> str | None:
    """Ask in a new message, and turn the menu back into the card."""
    if context.is_card(context.press):
        context.reply(event_context.own_card_message(context, link))
    form_effects.apply_result(context.without_press(), asked)
    return asked.toast


_MENU = Button(_menu, of_link=True)
_CLAIM = Button(payments_and_alerts.handle_claim_press)
_PAYMENT = Button(payments_and_alerts.handle_press)
_RECEIPT = Button(sharing.handle_bought_press)

BUTTONS: dict[str, Button] = {
    "draft": Button(_answer_form),
    "new": Button(lambda context, _: _new(context.without_press()), creates=True),
    "help": Button(lambda context, _: context.without_press().reply(help_reply(context.seller))),
    "settings": Button(_settings),
    "profile": Button(getting_paid.handle_profile_press),
    "getpaid": Button(_get_paid, creates=True),
    "account": Button(_get_paid, creates=True),
    # A request.
    "card": _queue(jobs.SendCard),
    "refresh": _queue(jobs.RefreshCard),
    "stop": _queue(jobs.PauseRequest),
    "resume": _queue(jobs.ResumeRequest),
    "delete": _MENU,
    "delete-yes": _queue(jobs.DeleteRequest),
    "more": _MENU,
    "edit": Button(_edit, of_link=True),
    "edit-not": _MENU,
    "duplicate": Button(_duplicate, creates=True, of_link=True),
    "poster": Button(sharing.handle_poster_press, of_link=True),
    "payments": Button(
        lambda context, link, action: sharing.show_payments(context, link, int(action[1])),
        of_link=True,
    ),
    "alerts": Button(payments_and_alerts.handle_alerts_press, of_link=True),
    "codes": Button(_ask_for_codes, of_link=True, or_deleted=True),
    "look": Button(sharing.refresh_visited_card),
    # Lists.
    "list": _turn(_requests_page),
    "incoming": _turn(payments_and_alerts.incoming_page),
    "bought": Button(_bought),
    "undelivered": Button(payments_and_alerts.resend_undelivered),
    # Claims, payments and receipts.
    **dict.fromkeys(("claim", "received", "missing", "missing-yes"), _CLAIM),
    **dict.fromkeys(("payment", *payments_and_alerts.MARK_ACTIONS), _PAYMENT),
    **dict.fromkeys(("receipt", "receipt-remove"), _RECEIPT),
}


def handle_press(context: EventContext, press: events.PressEvent) -> None:
    """Handle a pressed button, and answer its callback query."""
    context.answer_press(press, perform(context, press.action or ("",)))


def perform(context: EventContext, action: replies.Action) -> str | None:
    """Perform a button's action; return the text of the answer, if any."""
    button = BUTTONS.get(action[0])
    if button is None:
        return context.text("button-unknown")
    if not button.of_link:
        if button.creates and not context.may_create:
            return context.text("not-allowed")
        return button.do(context, action)
    word, link_id, *rest = action
    link = event_context.own_link(context, link_id, or_deleted=button.or_deleted)
    if isinstance(link, str):
        return link
    if button.creates and not context.may_create:
        return context.text("not-allowed")
    return button.do(context, link, (word, *rest))
