"""Texts for looking up payments: a request's list, `/find`, `/payments` and a single payment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from bot.chat.cards import card_text, claim_cards, payment_lines, request_card
from bot.chat.forms import field_texts
from bot.chat.model import drafts, moments, replies, request_spec, zones
from bot.chat.model.payment import NOTED, PAID_BACK, SENT, UNDO, PaymentKey, PaymentMarks
from bot.chat.store import claim_rows, link_lists, link_rows, payment_marks
from bot.core.money import amounts
from bot.core.text import translations

# Limits in UTF-16 units: texts from other servers and payers may have any length.
_LISTED_NAME = 200
_BUTTON_NAME = 24
_PAYER_LINE = 160
_PAYER_LABEL = 40
_INCOMING_NAME = 60
_TYPED = 80

MOST_SHOWN = (560, 160, 80, 40, 16)
"""Limits for each payer's text and each note in a list, in UTF-16 units, tried in this order until
the list fits into one message. A payment shown alone has full texts."""

_MARKED = {SENT: "mark-sent", PAID_BACK: "claims-paid-back"}
"""The text key of each mark."""


def payments_page(
    card: request_card.Card,
    receipts: Sequence[link_lists.ListedPayment],
    place: tuple[int, int],
    seller: drafts.Seller,
) -> replies.Reply:
    """Show a page of a request's payments, newest first.

    `place` is the page number, from 0, and the number of pages. `card.totals` covers all payments.
    Times are in the seller's zone.
    """
    language, (page, pages) = seller.language, place
    zone = seller.zone or zones.UTC_ZONE
    head = [
        translations.t(
            language,
            "payments",
            name=replies.escaped(card.name, _LISTED_NAME),
            page=page + 1,
            pages=pages,
        )
    ]
    if not receipts:
        head.append(translations.t(language, "payments-none"))
    else:
        if card.totals.earned_count:
            total = card_text.total_text(card.totals.earned, language)
            count = card.totals.earned_count
            head.append(translations.t(language, "payments-total", total=total, count=count))
        head += card_text.other_money(card.totals, language)
        head.append(zone_line(zone, language))
    back = replies.Button(translations.t(language, "button-back"), action=("card", card.link_id))
    turns = card_text.page_buttons(("payments", card.link_id), page, pages, language)
    said = [
        (one.words, PaymentKey.of(card.link_id, one.received_at, one.transaction_id))
        for one in receipts
        if one.transaction_id is not None
    ]
    hides = payment_lines.hide_rows(said, language, f"{payment_lines.ON_LIST}{page}")

    def text(most: int) -> str:
        each = (
            receipt_line(one, _receipt_moment(one, zone, language), seller, most)
            for one in receipts
        )
        return "\n\n".join(["\n".join(head), *each])

    return replies.Reply(fitting(text, language), (*hides, *turns, (back,)))


def fitting(text: Callable[[int], str], language: str) -> str:
    """Return the list with the first limit of MOST_SHOWN with which it fits into one message."""
    tried = ""
    for most in MOST_SHOWN:
        tried = text(most)
        if (
            replies.shown_units(card_text.mark_possibly_repeated(tried, language))
            <= replies.TEXT_LIMIT
        ):
            break
    return tried


def found_payments(
    found: Sequence[payment_marks.FoundPayment], typed: str, seller: drafts.Seller, *, more: bool
) -> replies.Reply:
    """Show the payments that match a typed number; `more`: there are further matches."""
    language, zone = seller.language, seller.zone or zones.UTC_ZONE
    if len(found) == 1:
        (only,) = found
        head = translations.t(
            language, "find-payment", name=replies.escaped(only.name, _LISTED_NAME)
        )
        at = f"{_receipt_moment(only.payment, zone, language)} ({zones.place_name(zone, language)})"
        text = f"{head}\n{receipt_text(only.payment, at, seller)}"
        return replies.Reply(text, _found_rows(only, language))
    names = {one.link_id: replies.plain(one.name, _BUTTON_NAME) for one in found if one.is_listed}
    hides = [
        payment_lines.hide_button(
            said, one.key, language, payment_lines.place_found(typed, one.ids[1]), is_only=False
        )
        for one in found
        if (said := one.payment.words)
    ]
    rows = (
        *field_texts.in_rows(hides, 2),
        *((_card_button(link, name),) for link, name in names.items()),
    )

    def text_of_all(most: int) -> str:
        parts = [translations.t(language, "find-several", count=len(found))]
        for one in found:
            name = translations.t(
                language, "card-name", name=replies.escaped(one.name, _LISTED_NAME)
            )
            at = _receipt_moment(one.payment, zone, language)
            parts.append(f"{name}\n{receipt_line(one.payment, at, seller, most)}")
        parts += [translations.t(language, "find-more-payments")] * more
        return "\n\n".join([*parts, zone_line(zone, language)])

    return replies.Reply(fitting(text_of_all, language), rows)


def found_links(
    cards: Sequence[request_card.Card], text: str, language: str, *, more: bool
) -> replies.Reply:
    """Show the payment links whose names contain the typed text, each a button to its card."""
    rows = tuple(
        (_card_button(card.link_id, card_text.list_label(card, language)),) for card in cards
    )
    parts = [translations.t(language, "find-links", text=replies.escaped(text, _TYPED))]
    parts += [translations.t(language, "find-more-links")] * more
    return replies.Reply("\n".join(parts), rows)


def _found_rows(
    found: payment_marks.FoundPayment, language: str
) -> tuple[tuple[replies.Button, ...], ...]:
    """Return buttons to the card and all payments, unless deleted, and to real-money details."""
    rows: tuple[tuple[replies.Button, ...], ...] = ()
    if found.payment.transaction_id is not None:
        facts = replies.Button(
            translations.t(language, "button-payment"), action=("payment", *found.key.words)
        )
        hides = payment_lines.hide_rows(
            [(found.payment.words, found.key)], language, payment_lines.ON_VIEW
        )
        rows = ((facts,), *hides)
    if not found.is_listed:
        return rows
    payments = ("payments", found.link_id, "0")
    return (
        *rows,
        (_card_button(found.link_id, translations.t(language, "button-show-card")),),
        (replies.Button(translations.t(language, "button-payments"), action=payments),),
    )


def _card_button(link_id: str, label: str) -> replies.Button:
    return replies.Button(label, action=("card", link_id))


def zone_line(zone: str, language: str) -> str:
    """Return the line that names the zone of the times above."""
    return translations.t(
        language, "payments-zone", zone=replies.escaped(zones.place_name(zone, language))
    )


def _receipt_moment(receipt: link_lists.ListedPayment, zone: str, language: str) -> str:
    return moments.button_label(receipt.received_at, zone, language)


def receipt_text(receipt: link_lists.ListedPayment, at: str, seller: drafts.Seller) -> str:
    """Return the lines of a payment shown alone, with its worth in both currencies."""
    language, paid = seller.language, receipt.paid_by
    words = payment_lines.words_in_full(receipt.words, language)
    words += [translations.t(language, "words-hidden")] if receipt.marks.is_hidden else []
    price = (receipt.amount, receipt.currency)
    how = [] if paid is None else payment_lines.paid_by_lines(paid, price, language)
    return _lines(receipt, at, seller, (words, how), _PAYER_LINE)


def receipt_line(
    receipt: link_lists.ListedPayment, at: str, seller: drafts.Seller, most: int
) -> str:
    """Return the lines of a payment in a list; each of its texts has at most `most` units."""
    language, paid = seller.language, receipt.paid_by
    words = payment_lines.words_line(receipt.words, language, most)
    how = [] if paid is None else payment_lines.paid_by_lines(paid, None, language)
    return _lines(receipt, at, seller, (words, how), min(_PAYER_LINE, most))


def _lines(
    receipt: link_lists.ListedPayment,
    at: str,
    seller: drafts.Seller,
    parts: tuple[list[str], list[str]],
    most: int,
) -> str:
    """Return the lines of a payment; `parts` are the payer's words and how it was paid."""
    language, paid, (words, how) = seller.language, receipt.paid_by, parts
    amount = replies.escaped(amounts.format_money(receipt.amount, receipt.currency, language))
    head = translations.t(language, "payments-line", at=replies.escaped(at), amount=amount)
    lines = [head, " · ".join(_states(receipt, language)), *words, *how]
    if paid is not None and not receipt.underpaid:
        lines += payment_lines.surplus_line(paid, (receipt.amount, receipt.currency), language)
    lines.append(_payer_line(receipt.payer, language, most))
    lines += filter(None, [card_text.number_line(receipt.transaction_id, language)])
    lines += _marked(receipt.marks, seller, most)
    return "\n".join(filter(None, lines))


def _states(receipt: link_lists.ListedPayment, language: str) -> list[str]:
    """Return a payment's quantity if it is not 1, and its special states."""
    is_back = receipt.marks.paid_back_at is not None
    quantity = receipt.quantity
    shown = [
        translations.t(language, "payments-pieces", pieces=quantity) if quantity > 1 else "",
        translations.t(language, "payments-oversold") if receipt.oversold and not is_back else "",
        translations.t(language, "claims-payment-underpaid") if receipt.underpaid else "",
        translations.t(language, "payments-found") if receipt.found else "",
        translations.t(language, "payments-in-doubt") if receipt.in_doubt else "",
    ]
    return [*filter(None, shown)]


def _marked(marks: PaymentMarks, seller: drafts.Seller, most: int) -> list[str]:
    """Return when the seller marked it as sent or paid back, with the notes."""
    language, zone, lines = seller.language, seller.zone or zones.UTC_ZONE, []
    for mark in NOTED:
        at, note = marks.noted(mark)
        if at is not None:
            moment = replies.escaped(moments.button_label(at, zone, language))
            lines.append(translations.t(language, _MARKED[mark], at=moment))
        if at is not None and note:
            lines.append(translations.t(language, "claims-note", note=replies.escaped(note, most)))
    return lines


def _payer_line(payer: Mapping[str, object], language: str, most: int) -> str:
    """Return the payer's data on one line; values may be any JSON."""
    pairs = [
        translations.t(
            language,
            "alert-payer",
            label=translations.t(language, f"payer-{name}")
            if name in request_spec.PAYER_FIELDS
            else replies.plain(name, _PAYER_LABEL),
            value=replies.plain(value, _PAYER_LINE),
        )
        for name, value in islice(payer.items(), len(request_spec.PAYER_FIELDS))
        if value not in (None, "")
    ]
    return replies.escaped(" · ".join(pairs), most)


def incoming_page(
    waiting: Sequence[tuple[claim_rows.Claim, link_rows.PaymentLink]],
    payments: Sequence[payment_marks.FoundPayment],
    place: tuple[int, int, bool],
    seller: drafts.Seller,
) -> replies.Reply:
    """Show a page of claims that wait for the seller, followed by payments, newest first.

    `place` is the page number, from 0, the total of waiting claims, and whether pages follow.
    """
    language, (page, count, has_more) = seller.language, place
    parts = []
    if waiting:
        parts.append(translations.t(language, "claims-waiting-list", count=count))
        parts += [claim_cards.waiting_lines(claim, link, seller) for claim, link in waiting]
    if payments or not waiting:
        key = "claims-latest" if payments or page else "claims-nothing"
        parts.append(translations.t(language, key, page=page + 1))

    def text(most: int) -> str:
        listed = []
        for number, one in enumerate(payments, 1):
            shown = replies.escaped(one.name, _INCOMING_NAME)
            name = translations.t(language, "card-name", name=shown)
            at = _seller_moment(one.payment.received_at, seller)
            lines = [f"{number}. {name}", receipt_line(one.payment, at, seller, most)]
            if one.is_short:
                lines.append(translations.t(language, "claims-underpaid-choice", number=number))
            listed.append("\n".join(lines))
        zone = zone_line(seller.zone or zones.UTC_ZONE, language)
        return "\n\n".join([*parts, *listed, *([zone] if payments or waiting else [])])

    numbers = tuple(
        replies.Button(f"🧾 {number}", action=("payment", *one.key.words))
        for number, one in enumerate(payments, 1)
        if one.payment.transaction_id is not None
    )
    hides = tuple(
        replies.Button(
            f"🙈 {number}", action=("hide", *one.key.words, f"{payment_lines.ON_INCOMING}{page}")
        )
        for number, one in enumerate(payments, 1)
        if one.payment.words
    )
    pages = card_text.page_buttons(("incoming",), page, page + 1 + has_more, language)
    rows = (
        *claim_cards.waiting_rows([claim for claim, _ in waiting], language),
        numbers,
        hides,
        *pages,
    )
    return replies.Reply(fitting(text, language), tuple(row for row in rows if row))


def payment_reply(
    found: payment_marks.FoundPayment, seller: drafts.Seller, claim_id: str | None
) -> replies.Reply:
    """Show all details of one payment, and the marks that the seller can set.

    `claim_id` is the claim with which the seller can accept an underpaid payment.
    """
    language, payment = seller.language, found.payment
    head = translations.t(
        language, "find-payment", name=replies.escaped(found.name, _INCOMING_NAME)
    )
    place = zones.place_name(seller.zone or zones.UTC_ZONE, language)
    at = f"{_seller_moment(payment.received_at, seller)} ({place})"
    parts = [head, receipt_text(payment, at, seller)]
    hints = [translations.t(language, "claims-accept-hint")] if claim_id else []
    if payment.paid_by is not None and payment.marks.paid_back_at is None:
        hints.append(payment_lines.refund_hint(payment.paid_by, language))
    accept = claim_cards.accept_rows(claim_id, language, claim_cards.IN_LIST) if claim_id else ()
    rows = (*accept, *payment_rows(found, language))
    return replies.Reply("\n".join([*parts, *([""] if hints else []), *hints]), rows)


def payment_rows(found: payment_marks.FoundPayment, language: str) -> replies.Rows:
    """Return the buttons of one payment: marks and card."""
    rows: list[tuple[replies.Button, ...]] = []
    if found.payment.transaction_id is not None:
        rows += [*_marks(found, language), *_hiding(found, language)]
    if found.is_listed:
        card = replies.Button(
            translations.t(language, "button-show-card"), action=("card", found.link_id)
        )
        rows.append((card,))
    return tuple(rows)


def _marks(found: payment_marks.FoundPayment, language: str) -> replies.Rows:
    """Return the buttons that set or remove the marks of a payment.

    "Sent" is not offered for payments that sold nothing. Half a row is too narrow for the labels of
    buttons that remove marks.
    """
    payment = found.payment
    is_sale = not (payment.oversold or payment.underpaid)
    shown = [mark for mark in NOTED if mark != SENT or is_sale or payment.marks.sent_at is not None]
    words = [mark if payment.marks.noted(mark)[0] is None else UNDO[mark] for mark in shown]
    buttons = [
        replies.Button(translations.t(language, f"button-{word}"), action=(word, *found.key.words))
        for word in words
    ]
    return field_texts.in_rows(buttons, len(words) if words == shown else 1)


def _hiding(found: payment_marks.FoundPayment, language: str) -> replies.Rows:
    """Return the button that hides the payer's words, or shows them again."""
    if found.payment.marks.is_hidden:
        again = replies.Button(
            translations.t(language, "button-hide-undo"), action=("hide-undo", *found.key.words)
        )
        return ((again,),)
    words = found.payment.words
    return (
        ((payment_lines.hide_button(words, found.key, language, payment_lines.ON_VIEW),),)
        if words
        else ()
    )


def _seller_moment(at: int, seller: drafts.Seller) -> str:
    return moments.button_label(at, seller.zone or zones.UTC_ZONE, seller.language)
