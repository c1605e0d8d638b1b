"""Texts for looking up payments: a request's list, `/find`, `/payments` and a single payment."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bot.chat.cards import card_text, claim_cards, payment_lines, request_card
from bot.chat.forms import field_texts
from bot.chat.model import drafts, moments, replies, zones
from bot.chat.model.payment import NOTED, SENT, UNDO, PaymentKey
from bot.chat.store import claim_rows, link_rows, payment_marks
from bot.core.text import translations

# Limits in UTF-16 units: texts from other servers and payers may have any length.
_LISTED_NAME = 200
_BUTTON_NAME = 24
_PAYER_LINE = 160
_INCOMING_NAME = 60
_TYPED = 80

MOST_SHOWN = (560, 160, 80, 40, 16)
"""Limits for each payer's text and each note in a list, in UTF-16 units, tried in this order until
the list fits into one message. A payment shown alone has full texts."""


def payments_page(
    card: request_card.Card,
    receipts: Sequence[payment_marks.ListedPayment],
    place: tuple[int, int],
    seller: drafts.Seller,
) -> replies.Reply:
    """Show a page of a request's payments, newest first.

    `place` is the page number, from 0, and the number of pages. `card.totals` covers all payments.
    Times are in the seller's zone.
    """
    language, (page, pages) = seller.language, place
    name = replies.escaped(card.name, _LISTED_NAME)
    head = [translations.t(language, "payments", name=name, page=page + 1, pages=pages)]
    if not receipts:
        head.append(translations.t(language, "claims-nothing"))
    else:
        if count := card.totals.earned_count:
            head.append(payment_lines.total_line(card.totals.earned, count, language))
        head += payment_lines.other_money(card.totals, language)
        head.append(_zone_line(seller))
    back = replies.text_button(language, "button-back", "card", card.link_id)
    turns = card_text.page_buttons(("payments", card.link_id), page, pages, language)
    said = [
        (one.words, PaymentKey.of(card.link_id, one.received_at, one.transaction_id))
        for one in receipts
        if one.transaction_id is not None
    ]
    hides = payment_lines.hide_rows(said, language, f"{payment_lines.ON_LIST}{page}")

    def text(most: int) -> str:
        each = (_listed(one, seller, most) for one in receipts)
        return "\n\n".join(["\n".join(head), *each])

    return replies.Reply(fitting(text, language), (*hides, *turns, (back,)))


def fitting(text: Callable[[int], str], language: str) -> str:
    """Return the list with the first limit of MOST_SHOWN with which it fits into one message."""
    tried = ""
    for most in MOST_SHOWN:
        tried = text(most)
        marked = card_text.mark_possibly_repeated(tried, language)
        if replies.shown_units(marked) <= replies.TEXT_LIMIT:
            break
    return tried


def found_payments(
    found: Sequence[payment_marks.FoundPayment], typed: str, seller: drafts.Seller, *, more: bool
) -> replies.Reply:
    """Show the payments that match a typed number; `more`: there are further matches."""
    language = seller.language
    if len(found) == 1:
        return replies.Reply(_alone(found[0], seller), _found_rows(found[0], language))
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
            name = replies.escaped(one.name, _LISTED_NAME)
            head = translations.t(language, "card-name", name=name)
            parts.append(f"{head}\n{_listed(one.payment, seller, most)}")
        parts += [translations.t(language, "find-more-payments")] * more
        return "\n\n".join([*parts, _zone_line(seller)])

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


def _found_rows(found: payment_marks.FoundPayment, language: str) -> replies.Rows:
    """Return buttons to the details, and unless deleted, to the card and all payments."""
    rows: list[tuple[replies.Button, ...]] = []
    if found.payment.transaction_id is not None:
        rows.append((replies.text_button(language, "button-payment", "payment", *found.key.words),))
        said, place = [(found.payment.words, found.key)], payment_lines.ON_VIEW
        rows += payment_lines.hide_rows(said, language, place)
    if found.is_listed:
        rows.append((_card_button(found.link_id, translations.t(language, "button-show-card")),))
        all_of_link = ("payments", found.link_id, "0")
        rows.append((replies.text_button(language, "button-payments", *all_of_link),))
    return tuple(rows)


def _card_button(link_id: str, label: str) -> replies.Button:
    return replies.Button(label, action=("card", link_id))


def _zone_line(seller: drafts.Seller) -> str:
    """Return the line that names the zone of the times above."""
    place = zones.place_name(seller.zone or zones.UTC_ZONE, seller.language)
    return translations.t(seller.language, "payments-zone", zone=replies.escaped(place))


def _alone(found: payment_marks.FoundPayment, seller: drafts.Seller) -> str:
    """Return a payment that is shown alone, in full."""
    language = seller.language
    head = translations.t(language, "find-payment", name=replies.escaped(found.name, _LISTED_NAME))
    at = moments.short_text(found.payment.received_at, seller.zone, language)
    return f"{head}\n{_payment_text(found.payment, at, seller)}"


def _listed(one: payment_marks.ListedPayment, seller: drafts.Seller, most: int) -> str:
    """Return a payment in a list, which names the time zone at its end."""
    at = moments.short_text(one.received_at, seller.zone, seller.language, with_zone=False)
    return _payment_text(one, at, seller, most)


def _payment_text(
    one: payment_marks.ListedPayment, at: str, seller: drafts.Seller, most: int | None = None
) -> str:
    """Return the lines of a payment; in a list each of its texts has at most `most` units."""
    language, price = seller.language, (one.amount, one.currency)
    if most is None:
        words = payment_lines.words_in_full(one.words, language)
        words += [translations.t(language, "words-hidden")] if one.marks.is_hidden else []
    else:
        words = payment_lines.words_line(one.words, language, most)
    is_back = one.marks.paid_back_at is not None
    states = [
        translations.t(language, "count", count=one.quantity) if one.quantity > 1 else "",
        translations.t(language, "payments-oversold") if one.oversold and not is_back else "",
        translations.t(language, "claims-payment-underpaid") if one.underpaid else "",
        translations.t(language, "payments-found") if one.found else "",
        translations.t(language, "payments-in-doubt") if one.in_doubt else "",
    ]
    payer = " · ".join(payment_lines.payer_facts(one.payer, language))
    lines = [
        translations.t(language, "payments-line", at=at, amount=replies.money(*price, language)),
        " · ".join(filter(None, states)),
        *words,
        *payment_lines.how_lines(
            *(one.paid_by, price, language),
            is_underpaid=one.underpaid,
            is_listed=most is not None,
        ),
        replies.escaped(payer, min(_PAYER_LINE, most or _PAYER_LINE)),
        *payment_lines.number_line(one.transaction_id, language),
        *payment_lines.mark_lines(one.marks, seller.zone, language, most or payment_lines.NOTE),
    ]
    return "\n".join(filter(None, lines))


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
            lines = [f"{number}. {name}", _listed(one.payment, seller, most)]
            if one.is_short:
                lines.append(translations.t(language, "claims-underpaid-choice", number=number))
            listed.append("\n".join(lines))
        zone = [_zone_line(seller)] if payments or waiting else []
        return "\n\n".join([*parts, *listed, *zone])

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
    claims = [claim for claim, _ in waiting]
    rows = (
        *claim_cards.waiting_rows(claims, language, claim_cards.IN_LIST),
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
    hints = [translations.t(language, "claims-accept-hint")] if claim_id else []
    if payment.paid_by is not None and payment.marks.paid_back_at is None:
        hints.append(payment_lines.refund_hint(payment.paid_by, language))
    accept = claim_cards.accept_rows(claim_id, language, claim_cards.IN_LIST) if claim_id else ()
    rows = (*accept, *payment_rows(found, language))
    return replies.Reply("\n".join([_alone(found, seller), *([""] if hints else []), *hints]), rows)


def payment_rows(found: payment_marks.FoundPayment, language: str) -> replies.Rows:
    """Return the buttons of one payment: marks, the payer's words, and the card.

    "Sent" is not offered for payments that sold nothing. Half a row is too narrow for the labels of
    buttons that remove marks.
    """
    rows: list[tuple[replies.Button, ...]] = []
    payment, key = found.payment, found.key.words
    if payment.transaction_id is not None:
        is_sale = not (payment.oversold or payment.underpaid)
        marks = [
            one for one in NOTED if one != SENT or is_sale or payment.marks.sent_at is not None
        ]
        words = [one if payment.marks.noted(one)[0] is None else UNDO[one] for one in marks]
        buttons = [replies.text_button(language, f"button-{word}", word, *key) for word in words]
        rows += field_texts.in_rows(buttons, len(words) if words == marks else 1)
        if payment.marks.is_hidden:
            rows.append((replies.text_button(language, "button-hide-undo", "hide-undo", *key),))
        elif said := payment.words:
            place = payment_lines.ON_VIEW
            rows.append((payment_lines.hide_button(said, found.key, language, place),))
    if found.is_listed:
        rows.append((replies.text_button(language, "button-show-card", "card", found.link_id),))
    return tuple(rows)
