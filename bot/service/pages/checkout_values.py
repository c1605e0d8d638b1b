"""Values of a checkout's page: what to pay with, what to do next, and the outcome."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from bot.core.money import amounts
from bot.interface import vocabulary
from bot.interface.vocabulary import CheckoutState
from bot.service.api import callers, to_answers
from bot.service.checkouts import paying
from bot.service.checkouts.checkout import ENDED, Checkout
from bot.service.pages import page_texts, page_values, render
from bot.service.requests.request import (
    Payment,
    PaymentRequest,
    PaymentState,
    Quote,
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

PAYABLE: frozenset[str] = frozenset({CheckoutState.OPEN, CheckoutState.CLAIMED})
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
) -> dict[str, Any] | None:
    """Return the code, its link and its fields, or None to show nothing."""
    given = checkout.pay_with
    if given is None or page_state not in PAYABLE:
        return None
    name, fields, invoice = way_name(checkout), dict(given.fields), given.lightning_invoice
    reference, code = fields.pop("reference", None), fields.pop("code", None)
    link = None  # banking apps other than UPI have no address
    if invoice:
        link = f"lightning:{invoice}"
    elif given.qr_text and given.qr_text.startswith("upi:"):
        link = given.qr_text
    return {
        "folded": page_state == CheckoutState.CLAIMED,
        "picture": f"/pay/{checkout.request_id}/checkout/{checkout.id}/code.png",
        "picture_text": locale.t(f"page-code-{name}"),
        "link": link,
        "opens": "page-open-wallet" if invoice else "page-open-upi",
        "quiet": checkout.kind == vocabulary.BANK or not checkout.automatic,
        "long": invoice or code,
        "long_name": "page-field-invoice" if invoice else "page-field-code",
        "fields": [_field(locale, *field) for field in fields.items()],
        "reference": reference,
        "reference_hint": page_texts.seller_text(locale, request, "page-reference-hint"),
    }


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
    CheckoutState.OPENING: ("why",),
    CheckoutState.OPEN: _BY_UNITS_AND_CONFIRMATION,
    CheckoutState.CLAIMED: _BY_CONFIRMATION,
    CheckoutState.LAPSED: _BY_UNITS_AND_CONFIRMATION,
    CheckoutState.CANCELLED: _BY_UNITS_AND_CONFIRMATION,
    CheckoutState.FAILED: ("slow", "refused", "lied", "tooSmall", "tooLarge"),
    CheckoutState.REJECTED: _BY_CONFIRMATION,
    CheckoutState.OVERSOLD: ("why", "free"),
    UNDERPAID: ("why",),
    UNCONFIRMED: _BY_CONFIRMATION,
}
"""Variants of a page state's texts: by failure, by confirmation method, by held units."""

SENT_BUTTONS = {vocabulary.BANK: "page-sent", page_values.TAP: "page-sent-tap"}
"""The button with which a payer reports that the money was sent, if the rail can't know it."""

ONLY_SELLER_HELPS: frozenset[str] = frozenset(
    {CheckoutState.REJECTED, CheckoutState.OVERSOLD, UNDERPAID, UNCONFIRMED}
)
"""Page states in which nobody but the seller can help."""

SIGNS: dict[str, str] = {
    CheckoutState.CLAIMED: "waiting",
    CheckoutState.LAPSED: "over",
    CheckoutState.CANCELLED: "stopped",
    CheckoutState.FAILED: "trouble",
    **dict.fromkeys(ONLY_SELLER_HELPS, "trouble"),
}
"""The macro of signs.html for each page state."""

CLAIMABLE: frozenset[str] = frozenset({CheckoutState.OPEN, CheckoutState.LAPSED, UNCONFIRMED})
"""Page states in which a payer may report that the money was sent, or repeat the report."""

RESTART_LINKS: dict[tuple[str, str], str] = {
    (CheckoutState.LAPSED, vocabulary.LIGHTNING): "page-new-invoice",
    (CheckoutState.LAPSED, page_values.TAP): "page-new-invoice",
    (CheckoutState.FAILED, vocabulary.LIGHTNING): "page-retry",
    (CheckoutState.FAILED, page_values.TAP): "page-retry",
}
"""Texts of the link to the pay page that differ from "Start again"."""

ASK_SELLER = ONLY_SELLER_HELPS | {CheckoutState.CLAIMED, CheckoutState.FAILED}
"""Page states in which the seller may have to help."""

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
    page_state: str = state
    if payment and payment.state is PaymentState.UNDERPAID:
        page_state = UNDERPAID
    elif state is CheckoutState.LAPSED and checkout.claimed_at:
        page_state = UNCONFIRMED
    page = _Page(locale, request, checkout, payment, page_state)
    title = page.title()
    is_opening = page_state == CheckoutState.OPENING
    is_open_without_invoice = page_state == CheckoutState.OPEN and checkout.pay_with is None
    return {
        "name": request.terms.product.name,
        "title": title,
        "page": locale.t("page-title-state", title=title, name=request.terms.product.name),
        "why": page.why(),
        "scripted": True,
        "watch": checkout_path(checkout.request_id, checkout.id),
        "now": now,
        "opening": is_opening,
        "turns": is_opening or is_open_without_invoice,
        "sign": SIGNS.get(page_state),
        "transaction_id": payment and payment.id,
        "receipt": payment and payment.oversold and receipt_path(payment.request_id, payment.id),
        "pay_with": pay_with_values(locale, request, checkout, page_state),
        **page.reload_times(state, now),
        **page.amounts(),
        **page.times(),
        **page.steps(),
        **page.claim_texts(),
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


@dataclass(frozen=True, slots=True)
class _Page:
    """A checkout in the state that its page shows."""

    locale: page_texts.Locale
    request: PaymentRequest
    checkout: Checkout
    payment: Payment | None
    state: str

    @property
    def confirmed_by(self) -> str:
        """The confirmation method: a wallet, taps or a bank; '' for test money."""
        kind = self.checkout.kind
        if kind in {vocabulary.SANDBOX, vocabulary.BANK}:
            return kind.removeprefix(vocabulary.SANDBOX)
        return vocabulary.LIGHTNING if self.checkout.automatic else page_values.TAP

    @property
    def paid(self) -> Quote:
        return self.payment.paid if self.payment else self.checkout.quote

    @property
    def due(self) -> str:
        return self.locale.money(self.checkout.quote.amount, self.checkout.quote.currency)

    def text(self, key: str, **values: object) -> str:
        return page_texts.seller_text(self.locale, self.request, key, **values)

    def title(self) -> str:
        if self.state == CheckoutState.OPEN and self.checkout.pay_with:
            return self.locale.t(f"page-by-{way_name(self.checkout)}")
        if self.state == CheckoutState.LAPSED and (self.state, self.confirmed_by) in RESTART_LINKS:
            return self.locale.t("page-checkout-ended")
        paid = self.locale.money(self.paid.amount, self.paid.currency)
        return self.text(f"page-checkout-{self.state}", paid=paid, amount=self.due)

    def why(self) -> page_texts.TimedText:
        """Return the text of the case in CASES that applies."""
        checkout, cases = self.checkout, CASES[self.state]
        if self.state == CheckoutState.FAILED:
            case = checkout.failure if checkout.failure in cases else cases[0]
        elif self.confirmed_by in cases:
            case = self.confirmed_by
        else:
            case = "free" if "free" in cases and not self.request.units else "why"
        text = self.text(
            f"page-checkout-{self.state}-{case}",
            amount=self.due,
            reference=checkout.reference,
            count=checkout.quantity,
            at=page_texts.PLACE,
        )
        return page_texts.timed_text(text, self.locale.moment(checkout.lapses_at, "clock"))

    def reload_times(self, state: CheckoutState, now: int) -> dict[str, float | None]:
        """Return the seconds until the script asks `again`, and until the page reloads without."""
        checkout = self.checkout
        if state is CheckoutState.OPENING:
            return {"again": OPENING_RELOAD, "refresh": OPENING_RELOAD}
        if state is CheckoutState.OPEN:
            refresh = NEW_RELOAD if now - checkout.created_at < NEW_FOR_MS else OPEN_RELOAD
            is_polled = self.confirmed_by == vocabulary.LIGHTNING
            return {"again": POLLED_RELOAD if is_polled else refresh, "refresh": refresh}
        if state is CheckoutState.CLAIMED:
            return {"again": OPEN_RELOAD, "refresh": ENDED_RELOAD}
        has_just_ended = state in ENDED and now - checkout.lapses_at < ENDED_FOR_MS
        late = ENDED_RELOAD if has_just_ended else None
        return {"again": late, "refresh": late}

    def amounts(self) -> dict[str, Any]:
        locale, checkout, currency = self.locale, self.checkout, self.request.terms.currency
        total, paid, quote = checkout.order.amount(self.request.terms), self.paid, checkout.quote
        differs = quote.rate is not None or paid.amount != quote.amount
        void = self.state in OVER and bool(self.confirmed_by)  # the next quote will differ
        given = locale.money(paid.amount, paid.currency)
        return {
            "amount": locale.money(total, currency),
            "quantity": page_texts.quantity_text(locale, total, currency, checkout.quantity),
            "paid": given if differs and not void else None,
            "due": self.due,
            "rate": None if void else page_values.rate_text(locale, currency, quote),
        }

    def times(self) -> dict[str, Any]:
        """Return the end of an open checkout, or the start and end of a claim."""
        checkout, units = self.checkout, self.request.units
        ends = "page-held" if units else "page-awaited"
        if self.confirmed_by == vocabulary.LIGHTNING:
            ends = "page-invoice-ends"
        values: dict[str, Any] = {
            "ends": self.locale.t(ends),
            "until": checkout.lapses_at if self.state == CheckoutState.OPEN else None,
            "claimed_at": None,
        }
        if self.state == CheckoutState.CLAIMED and checkout.claimed_at is not None:
            holds = units and checkout.is_held
            values["claimed_at"] = self.locale.moment(checkout.claimed_at)
            values["held_until"] = self.locale.moment(checkout.lapses_at) if holds else None
        return values

    def steps(self) -> dict[str, Any]:
        """Return the next steps: text keys of buttons, and the link back to the pay page."""
        checkout, is_open = self.checkout, self.state == CheckoutState.OPEN
        claim = SENT_BUTTONS.get(self.confirmed_by) if self.state in CLAIMABLE else None
        then = None
        if claim and is_open:
            key = "page-sent-held" if self.request.units else "page-sent-then"
            then = self.text(key, count=checkout.quantity)
        restart = None
        if self.state in OVER:
            restart = RESTART_LINKS.get((self.state, self.confirmed_by), "page-restart")
        may_have_paid = self.state == CheckoutState.CANCELLED and self.confirmed_by in SENT_BUTTONS
        only_seller = self.state in ONLY_SELLER_HELPS or checkout.failure in LASTING_FAILURES
        return {
            "claim": claim,
            "then": then,
            "reference": None if is_open else checkout.reference,
            "cancel": is_open,
            "restart": restart,
            "start": f"/pay/{checkout.request_id}",
            "seller_first": only_seller,
            "asks_seller": self.state in ASK_SELLER or may_have_paid,
        }

    def claim_texts(self) -> dict[str, str | None]:
        """Return the texts for a payer whose claim is pending."""
        checkout = self.checkout
        texts: dict[str, str | None] = {"kept": None, "help": None, "unheld": None}
        if self.state != CheckoutState.CLAIMED:
            return texts
        emails = checkout.language is not None and "email" in checkout.user_data
        texts["kept"] = self.text("page-claimed-emailed" if emails else "page-claimed-kept")
        if self.confirmed_by in SENT_BUTTONS:
            key = f"page-claimed-help-{self.confirmed_by}"
            texts["help"] = self.text(key, reference=checkout.reference)
        if self.request.units and not checkout.is_promised:
            texts["unheld"] = self.text("page-claimed-unheld", count=checkout.quantity)
        return texts
