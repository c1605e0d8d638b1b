"""Values of a checkout's page: what to pay with, what to do next, and the outcome."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from bot.core.money import amounts
from bot.interface import vocabulary
from bot.service.api import callers, to_answers
from bot.service.checkouts import paying
from bot.service.checkouts.checkout import ENDED, Checkout
from bot.service.pages import page_texts, page_values, render
from bot.service.rails import rail
from bot.service.requests.request import (
    Payment,
    PaymentRequest,
    PaymentState,
    checkout_path,
    may_lead_to,
    receipt_path,
    with_transaction,
)

if TYPE_CHECKING:
    from starlette.responses import Response

# Addresses after the form.


def next_page(
    service: callers.Service,
    request: PaymentRequest | None,
    request_id: str,
    progress: paying.PaymentProgress,
) -> str:
    """Return where a form leads: to the checkout until the money arrives, then to the redirect.

    If there are goods or words of thanks, the form leads to the receipt, which links to the
    redirect.
    """
    payment = progress.payment
    if payment is None or not payment.took_unit:
        return checkout_path(request_id, progress.checkout_id)
    onward = request and request.leads_away and redirect(service, request, payment)
    return onward or receipt_path(payment.request_id, payment.id)


def redirect(service: callers.Service, request: PaymentRequest, payment: Payment) -> str | None:
    """Return the redirect address of a payment, or None if there is none.

    Its scheme is checked again, because the operator may have disallowed it in the meantime.
    """
    url = request.terms.redirect_url
    if url is None or not may_lead_to(url, service.policy.schemes):
        return None
    return with_transaction(url, payment.id)


def outcome_page(
    template: str,
    service: callers.Service,
    locale: page_texts.Locale,
    request: PaymentRequest,
    values: dict[str, Any],
    *,
    status: int = 200,
) -> Response:
    """Answer with the page of a checkout or a receipt.

    The Content-Security-Policy always allows the redirect. If the goods are removed while the page
    is open, the form leads to the redirect instead of the receipt.
    """
    url = to_answers.pay_url(service.public_url, request.id)
    values = values | page_texts.layout_values(locale, request, url, service.operator_contact)
    rules = render.policy(render.pictures(request), request.terms.redirect_url, scripted=True)
    money = service.payment_context.rails.test_money
    return render.html(template, locale, values, rules=rules, status=status, test_money=money)


# What to pay with: an invoice or a bank's code.


BANK_FIELDS = ("key", "id", "holder", "address", "city", "iban", "bic", "amount")
"""The bank fields other than the reference, each with a label and a copy button."""

GROUPED_FIELDS = frozenset({"iban"})
"""Fields that are shown in groups of four and copied without spaces."""

PAYABLE: frozenset[str] = frozenset(
    {vocabulary.CheckoutState.OPEN, vocabulary.CheckoutState.CLAIMED}
)
"""States in which the page shows what to pay with."""


def way_name(checkout: Checkout) -> str:
    """Return the name of a checkout's way: `lightning` or the bank's scheme."""
    kind, _, scheme = checkout.way.partition(":")
    return page_values.name_of(kind, scheme)


def code_text(checkout: Checkout) -> str | None:
    """Return the text of the QR picture, or None if there is no picture.

    An invoice is in upper case, which makes the picture smaller (BOLT 11 section "Encoding").
    """
    if checkout.pay_with is None:
        return None
    invoice = checkout.pay_with.lightning_invoice
    return f"lightning:{invoice}".upper() if invoice else checkout.pay_with.qr_text


def pay_with_values(
    locale: page_texts.Locale, request: PaymentRequest, checkout: Checkout, page_state: str
) -> dict[str, Any]:
    """Return `pay_with`: the code, its link and its fields, or None to show nothing."""
    given = checkout.pay_with
    if given is None or page_state not in PAYABLE:
        return {"pay_with": None}
    name = way_name(checkout)
    fields = dict(given.fields)
    reference = fields.pop("reference", None)
    invoice, code = given.lightning_invoice, fields.pop("code", None)
    is_claimed_later = checkout.kind == vocabulary.BANK or not checkout.automatic
    return {
        "pay_with": {
            "folded": page_state == vocabulary.CheckoutState.CLAIMED,
            "picture": f"/pay/{checkout.request_id}/checkout/{checkout.id}/code.png",
            "picture_text": locale.t(f"page-code-{name}"),
            "link": _link(given),
            "opens": "page-open-wallet" if invoice else "page-open-upi",
            "quiet": is_claimed_later,
            "long": invoice or code,
            "long_name": "page-field-invoice" if invoice else "page-field-code",
            "fields": [_field(locale, *field) for field in fields.items()],
            "reference": reference,
            "reference_hint": page_texts.seller_text(locale, request, "page-reference-hint"),
        }
    }


def _link(given: rail.PayWith) -> str | None:
    """Return the address that opens a wallet or a UPI app; other banking apps have no address."""
    if given.lightning_invoice:
        return f"lightning:{given.lightning_invoice}"
    return given.qr_text if given.qr_text and given.qr_text.startswith("upi:") else None


def _field(locale: page_texts.Locale, field: str, value: str) -> dict[str, str]:
    if field == "amount":  # banking apps in this language accept `12,30`, never `1,230`
        value = value.replace(".", amounts.format_number(Decimal("0.5"), locale.tag)[1])
    groups = " ".join(value[at : at + 4] for at in range(0, len(value), 4))
    return {
        "label": locale.t(f"page-field-{field}"),
        "shown": groups if field in GROUPED_FIELDS else value,
        "value": value,
    }


# The page in each state.


OPENING_RELOAD = 2
"""Seconds until the page asks again while a wallet makes the invoice."""

NEW_RELOAD, NEW_FOR_MS = 3, 60_000
"""The same for a new open checkout, and how long it counts as new."""

OPEN_RELOAD = 10
"""The same for an older open checkout and for a claimed checkout."""

POLLED_RELOAD = 0.6
"""The same while each answer waits up to a second for the wallet: 1.6 seconds between two polls."""

ENDED_RELOAD, ENDED_FOR_MS = 30, 3_600_000
"""The same after the end of a checkout, and for how long."""

UNDERPAID = "underpaid"
"""The page's state if too little money has arrived."""

UNCONFIRMED = "unconfirmed"
"""The page's state if the seller let a claim lapse."""

OVER: frozenset[str] = frozenset({*ENDED, UNCONFIRMED})
"""The page's states of a checkout that was given up."""

_BY_CONFIRMATION = ("why", page_values.TAP, vocabulary.BANK)
_BY_UNITS_AND_CONFIRMATION = ("free", vocabulary.LIGHTNING, *_BY_CONFIRMATION)

CASES: dict[str, tuple[str, ...]] = {
    vocabulary.CheckoutState.OPENING: ("why",),
    vocabulary.CheckoutState.OPEN: _BY_UNITS_AND_CONFIRMATION,
    vocabulary.CheckoutState.CLAIMED: _BY_CONFIRMATION,
    vocabulary.CheckoutState.LAPSED: _BY_UNITS_AND_CONFIRMATION,
    vocabulary.CheckoutState.CANCELLED: _BY_UNITS_AND_CONFIRMATION,
    vocabulary.CheckoutState.FAILED: ("slow", "refused", "lied", "tooSmall", "tooLarge"),
    vocabulary.CheckoutState.REJECTED: _BY_CONFIRMATION,
    vocabulary.CheckoutState.OVERSOLD: ("why", "free"),
    UNDERPAID: ("why",),
    UNCONFIRMED: _BY_CONFIRMATION,
}
"""Variants of a page state's texts: by failure, by confirmation method, by held units."""

SENT_BUTTONS = {vocabulary.BANK: "page-sent", page_values.TAP: "page-sent-tap"}
"""The button with which a payer reports that the money was sent, if the rail can't know it."""

SIGNS: dict[str, str] = {
    vocabulary.CheckoutState.CLAIMED: "waiting",
    vocabulary.CheckoutState.LAPSED: "over",
    vocabulary.CheckoutState.CANCELLED: "stopped",
    **dict.fromkeys(
        (vocabulary.CheckoutState.FAILED, vocabulary.CheckoutState.REJECTED), "trouble"
    ),
    **dict.fromkeys((vocabulary.CheckoutState.OVERSOLD, UNDERPAID, UNCONFIRMED), "trouble"),
}
"""The macro of signs.html for each page state."""

CLAIMABLE: frozenset[str] = frozenset(
    {vocabulary.CheckoutState.OPEN, vocabulary.CheckoutState.LAPSED, UNCONFIRMED}
)
"""Page states in which a payer may report that the money was sent, or repeat the report."""

RESTART_LINKS: dict[tuple[str, str], str] = {
    (vocabulary.CheckoutState.LAPSED, vocabulary.LIGHTNING): "page-new-invoice",
    (vocabulary.CheckoutState.LAPSED, page_values.TAP): "page-new-invoice",
    (vocabulary.CheckoutState.FAILED, vocabulary.LIGHTNING): "page-retry",
    (vocabulary.CheckoutState.FAILED, page_values.TAP): "page-retry",
}
"""Texts of the link to the pay page that differ from "Start again"."""

ASK_SELLER: frozenset[str] = frozenset(
    {
        *(
            vocabulary.CheckoutState.CLAIMED,
            vocabulary.CheckoutState.REJECTED,
            vocabulary.CheckoutState.FAILED,
        ),
        *(vocabulary.CheckoutState.OVERSOLD, UNDERPAID, UNCONFIRMED),
    }
)
"""Page states in which the seller may have to help."""

ONLY_SELLER_HELPS: frozenset[str] = frozenset(
    {vocabulary.CheckoutState.REJECTED, vocabulary.CheckoutState.OVERSOLD, UNDERPAID, UNCONFIRMED}
)

LASTING_FAILURES = frozenset({"lied", "tooSmall", "tooLarge"})
"""Failures that another request for an invoice would repeat."""


def checkout_page(
    locale: page_texts.Locale,
    request: PaymentRequest,
    checkout: Checkout,
    payment: Payment | None,
    now: int,
) -> dict[str, Any]:
    """Return the values of a checkout's page; `payment` is underpaid or took no units."""
    state = checkout.state(now)
    page_state = (
        UNCONFIRMED if state is vocabulary.CheckoutState.LAPSED and checkout.claimed_at else state
    )
    if payment and payment.state is PaymentState.UNDERPAID:
        page_state = UNDERPAID
    title = _title(locale, request, checkout, payment, page_state)
    is_opening = page_state == vocabulary.CheckoutState.OPENING
    is_open_without_invoice = (
        page_state == vocabulary.CheckoutState.OPEN and checkout.pay_with is None
    )
    return {
        "name": request.terms.product.name,
        "title": title,
        "page": locale.t("page-title-state", title=title, name=request.terms.product.name),
        "why": _why(locale, request, checkout, page_state),
        "scripted": True,
        "watch": checkout_path(checkout.request_id, checkout.id),
        "now": now,
        "opening": is_opening,
        "turns": is_opening or is_open_without_invoice,
        "sign": SIGNS.get(page_state),
        "transaction_id": payment and payment.id,
        "receipt": payment and payment.oversold and receipt_path(payment.request_id, payment.id),
        **_reload_times(checkout, state, now),
        **_amounts(locale, request, checkout, payment, page_state),
        **_times(locale, request, checkout, page_state),
        **pay_with_values(locale, request, checkout, page_state),
        **_steps(locale, request, checkout, page_state),
    }


def unclaimable_values(
    locale: page_texts.Locale, request: PaymentRequest, checkout: Checkout
) -> dict[str, Any]:
    """Return the values that differ if a payer claimed after all units were gone."""
    title = locale.t("page-claim-none", count=checkout.quantity)
    lost = {"reference": checkout.reference, "count": checkout.quantity}
    why = page_texts.seller_text(locale, request, "page-claim-none-why", **lost)
    return {
        "title": title,
        "page": locale.t("page-title-state", title=title, name=request.terms.product.name),
        "why": page_texts.TimedText(why),
        "sign": "trouble",
        "claim": None,
        "again": None,
        "refresh": None,
        "asks_seller": True,
        "seller_first": True,
    }


def unheld_claim_text(
    locale: page_texts.Locale, request: PaymentRequest, checkout: Checkout
) -> str:
    """Return the text about a claim whose units are held only for the ordinary reservation."""
    return page_texts.seller_text(locale, request, "page-sent-unheld", count=checkout.quantity)


def _title(
    locale: page_texts.Locale,
    request: PaymentRequest,
    checkout: Checkout,
    payment: Payment | None,
    page_state: str,
) -> str:
    if page_state == vocabulary.CheckoutState.OPEN and checkout.pay_with:
        return locale.t(f"page-by-{way_name(checkout)}")
    if page_state == vocabulary.CheckoutState.LAPSED and RESTART_LINKS.get(
        (page_state, _confirmed_by(checkout))
    ):
        return locale.t("page-checkout-ended")
    paid = payment.paid if payment else checkout.quote
    return page_texts.seller_text(
        locale,
        request,
        f"page-checkout-{page_state}",
        paid=page_texts.money_text(paid.amount, paid.currency, locale.tag),
        amount=page_texts.money_text(checkout.quote.amount, checkout.quote.currency, locale.tag),
    )


def _why(
    locale: page_texts.Locale, request: PaymentRequest, checkout: Checkout, page_state: str
) -> page_texts.TimedText:
    text = page_texts.seller_text(
        locale,
        request,
        f"page-checkout-{page_state}-{_case(request, checkout, page_state)}",
        amount=page_texts.money_text(checkout.quote.amount, checkout.quote.currency, locale.tag),
        reference=checkout.reference,
        count=checkout.quantity,
        at=page_texts.PLACE,
    )
    return page_texts.timed_text(text, page_texts.moment(locale, checkout.lapses_at, "clock"))


def _case(request: PaymentRequest, checkout: Checkout, page_state: str) -> str:
    """Return the case in CASES that applies."""
    cases, confirmed_by = CASES[page_state], _confirmed_by(checkout)
    if page_state == vocabulary.CheckoutState.FAILED:
        return checkout.failure if checkout.failure and checkout.failure in cases else cases[0]
    if confirmed_by in cases:
        return confirmed_by
    return "free" if "free" in cases and not request.units else "why"


def _confirmed_by(checkout: Checkout) -> str:
    """Return the confirmation method of a payment: a wallet, taps or a bank; '' for test money."""
    if checkout.kind in {vocabulary.SANDBOX, vocabulary.BANK}:
        return checkout.kind.removeprefix(vocabulary.SANDBOX)
    return vocabulary.LIGHTNING if checkout.automatic else page_values.TAP


def _reload_times(
    checkout: Checkout, state: vocabulary.CheckoutState, now: int
) -> dict[str, float | None]:
    """Return the seconds until the script asks `again`, and until a page without script reloads."""
    if state is vocabulary.CheckoutState.OPENING:
        return {"again": OPENING_RELOAD, "refresh": OPENING_RELOAD}
    if state is vocabulary.CheckoutState.OPEN:
        refresh = NEW_RELOAD if now - checkout.created_at < NEW_FOR_MS else OPEN_RELOAD
        is_polled = _confirmed_by(checkout) == vocabulary.LIGHTNING
        return {"again": POLLED_RELOAD if is_polled else refresh, "refresh": refresh}
    if state is vocabulary.CheckoutState.CLAIMED:
        return {"again": OPEN_RELOAD, "refresh": ENDED_RELOAD}
    has_just_ended = state in ENDED and now - checkout.lapses_at < ENDED_FOR_MS
    late = ENDED_RELOAD if has_just_ended else None
    return {"again": late, "refresh": late}


def _amounts(
    locale: page_texts.Locale,
    request: PaymentRequest,
    checkout: Checkout,
    payment: Payment | None,
    page_state: str,
) -> dict[str, Any]:
    terms, paid = request.terms, payment.paid if payment else checkout.quote
    total = checkout.order.amount(terms)
    given = page_texts.money_text(paid.amount, paid.currency, locale.tag)
    differs = checkout.quote.rate is not None or paid.amount != checkout.quote.amount
    void = page_state in OVER and bool(_confirmed_by(checkout))  # the next quote will differ
    return {
        "amount": page_texts.money_text(total, terms.currency, locale.tag),
        "quantity": page_texts.quantity_text(locale, total, terms.currency, checkout.quantity),
        "paid": given if differs and not void else None,
        "due": page_texts.money_text(checkout.quote.amount, checkout.quote.currency, locale.tag),
        "rate": None if void else page_values.rate_text(locale, terms.currency, checkout.quote),
    }


def _times(
    locale: page_texts.Locale, request: PaymentRequest, checkout: Checkout, page_state: str
) -> dict[str, Any]:
    """Return the end of an open checkout, or the start and end of a claim."""
    is_open, is_claimed = (
        page_state == vocabulary.CheckoutState.OPEN,
        page_state == vocabulary.CheckoutState.CLAIMED,
    )
    ends = "page-held" if request.units else "page-awaited"
    if _confirmed_by(checkout) == vocabulary.LIGHTNING:
        ends = "page-invoice-ends"
    values: dict[str, Any] = {
        "ends": locale.t(ends),
        "until": checkout.lapses_at if is_open else None,
        "claimed_at": None,
    }
    if is_claimed and checkout.claimed_at is not None:
        values["claimed_at"] = page_texts.moment(locale, checkout.claimed_at)
        holds = request.units and checkout.is_held
        values["held_until"] = page_texts.moment(locale, checkout.lapses_at) if holds else None
    return values


def _steps(
    locale: page_texts.Locale, request: PaymentRequest, checkout: Checkout, page_state: str
) -> dict[str, Any]:
    """Return the payer's next steps: text keys of buttons, and the link back to the pay page."""
    confirmed_by, is_open = _confirmed_by(checkout), page_state == vocabulary.CheckoutState.OPEN
    claim = SENT_BUTTONS.get(confirmed_by) if page_state in CLAIMABLE else None
    then = None
    if claim and is_open:
        key = "page-sent-held" if request.units else "page-sent-then"
        then = page_texts.seller_text(locale, request, key, count=checkout.quantity)
    restart = None
    if page_state in OVER:
        restart = RESTART_LINKS.get((page_state, confirmed_by), "page-restart")
    may_have_paid = (
        page_state == vocabulary.CheckoutState.CANCELLED and confirmed_by in SENT_BUTTONS
    )
    return {
        "claim": claim,
        "then": then,
        "reference": None if is_open else checkout.reference,
        "cancel": is_open,
        "restart": restart,
        "start": f"/pay/{checkout.request_id}",
        "seller_first": page_state in ONLY_SELLER_HELPS or checkout.failure in LASTING_FAILURES,
        "asks_seller": page_state in ASK_SELLER or may_have_paid,
        **_claim_texts(locale, request, checkout, page_state),
    }


def _claim_texts(
    locale: page_texts.Locale, request: PaymentRequest, checkout: Checkout, page_state: str
) -> dict[str, str | None]:
    """Return the texts for a payer whose claim is pending."""
    texts: dict[str, str | None] = {"kept": None, "help": None, "unheld": None}
    if page_state != vocabulary.CheckoutState.CLAIMED:
        return texts
    emails = checkout.language is not None and "email" in checkout.user_data
    kept = "page-claimed-emailed" if emails else "page-claimed-kept"
    texts["kept"] = page_texts.seller_text(locale, request, kept)
    confirmed_by = _confirmed_by(checkout)
    if confirmed_by in SENT_BUTTONS:
        texts["help"] = page_texts.seller_text(
            locale, request, f"page-claimed-help-{confirmed_by}", reference=checkout.reference
        )
    if request.units and not checkout.is_promised:
        texts["unheld"] = page_texts.seller_text(
            locale, request, "page-claimed-unheld", count=checkout.quantity
        )
    return texts
