"""The values of a checkout's page: what to pay with, what to do, what became of it."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from bot.core.money import amounts
from bot.service.checkouts import checkout, paying
from bot.service.http import callers
from bot.service.pages import page_texts, page_values, payer_form, render
from bot.service.payouts import payout_account
from bot.service.rails import rail
from bot.service.requests import request
from bot.service.wire import json_answers

if TYPE_CHECKING:
    from starlette.responses import Response


# Where a payer's form leads, and the pages there.


def next_page(
    service: callers.Service,
    found: request.PaymentRequest | None,
    request_id: str,
    standing: paying.PaymentProgress,
) -> str:
    """Return where a form leads: the checkout while money is awaited, the redirect once paid.

    What was bought and words of thanks come first: their receipt leads on to the redirect.
    """
    payment = standing.payment
    if payment is None or not payment.took_unit:
        return checkout_path(request_id, standing.checkout_id)
    onward = found and found.leads_away and redirect(service, found, payment)
    return onward or receipt_path(payment)


def redirect(
    service: callers.Service, found: request.PaymentRequest, payment: request.Payment
) -> str | None:
    """Return the address that a payment leads on to, None where there is none.

    Its scheme is checked again: the operator may have disallowed it since.
    """
    url = found.terms.redirect_url
    if url is None or not request.may_lead_to(url, service.policy.schemes):
        return None
    return request.with_transaction(url, payment.id)


def receipt_path(payment: request.Payment) -> str:
    """Return the path of a payment's receipt."""
    return f"/pay/{payment.request_id}/receipt/{payment.id}"


def checkout_path(request_id: str, checkout_id: str) -> str:
    """Return the path of a checkout's page."""
    return f"/pay/{request_id}/checkout/{checkout_id}"


def outcome_page(
    template: str,
    service: callers.Service,
    reader: payer_form.Reader,
    found: request.PaymentRequest,
    values: dict[str, Any],
    *,
    status: int = 200,
) -> Response:
    """Answer with a page after the form: a form of its own may lead to the redirect.

    Also where the receipt comes first: its goods may be removed while the page is open.
    """
    url = json_answers.pay_url(service.public_url, found.id)
    framed = values | page_texts.frame(reader, found, url, service.operator_contact)
    rules = render.policy(render.pictures(found), found.terms.redirect_url, scripted=True)
    money = service.payment_context.rails.test_money
    return render.html(template, reader, framed, rules=rules, status=status, test_money=money)


# What a payer pays with, as the page of a checkout shows it: an invoice or a bank's code.


FIELDS = ("key", "id", "holder", "address", "city", "iban", "bic", "amount")
"""The copyable fields of banks beside the reference, which have a label each."""

GROUPED = frozenset({"iban"})
"""Fields that people read in groups of four; the copy has none."""

SHOWN: frozenset[str] = frozenset({checkout.CheckoutState.OPEN, checkout.CheckoutState.CLAIMED})
"""States in which a page shows what to pay with."""


def way_name(held: checkout.Checkout) -> str:
    """Return the way of a checkout as payers know it, `lightning` or the bank's scheme."""
    kind, _, scheme = held.way.partition(":")
    return page_values.name_of(kind, scheme)


def code_text(held: checkout.Checkout) -> str | None:
    """Return the text of the QR picture, None without one.

    An invoice is in upper case, which makes the picture smaller (BOLT 11 section "Encoding").
    """
    if held.pay_with is None:
        return None
    invoice = held.pay_with.lightning_invoice
    return f"lightning:{invoice}".upper() if invoice else held.pay_with.qr_text


def pay_with_values(
    reader: payer_form.Reader, request: request.PaymentRequest, held: checkout.Checkout, shown: str
) -> dict[str, Any]:
    """Return the values of the code, its link and its fields; `pay_with` None shows nothing."""
    given = held.pay_with
    if given is None or shown not in SHOWN:
        return {"pay_with": None}
    name = way_name(held)
    fields = dict(given.fields)
    reference = fields.pop("reference", None)
    invoice, code = given.lightning_invoice, fields.pop("code", None)
    return {
        "pay_with": {
            "folded": shown == checkout.CheckoutState.CLAIMED,
            "picture": f"/pay/{held.request_id}/checkout/{held.id}/code.png",
            "picture_text": reader.t(f"page-code-{name}"),
            "link": _link(given),
            "opens": "page-open-wallet" if invoice else "page-open-upi",
            "quiet": held.kind == payout_account.BANK or not held.automatic,  # "I've paid" follows
            "long": invoice or code,
            "long_name": "page-field-invoice" if invoice else "page-field-code",
            "fields": [_field(reader, *field) for field in fields.items()],
            "reference": reference,
            "reference_hint": page_texts.named_seller(reader, request, "page-reference-hint"),
        }
    }


def _link(given: rail.PayWith) -> str | None:
    """Return the address that opens a wallet; banks' apps have one for UPI alone."""
    if given.lightning_invoice:
        return f"lightning:{given.lightning_invoice}"
    return given.qr_text if given.qr_text and given.qr_text.startswith("upi:") else None


def _field(reader: payer_form.Reader, field: str, value: str) -> dict[str, str]:
    if field == "amount":
        value = _local(reader, value)
    groups = " ".join(value[at : at + 4] for at in range(0, len(value), 4))
    return {
        "label": reader.t(f"page-field-{field}"),
        "shown": groups if field in GROUPED else value,
        "value": value,
    }


def _local(reader: payer_form.Reader, number: str) -> str:
    """Return a number as banking apps of this language take it: `12,30`, never `1,230`."""
    mark = amounts.format_number(Decimal("0.5"), reader.tag)[1]
    return number.replace(".", mark)


AT_ONCE, SOON, LATER, LATE = 2, 3, 10, 30
"""Seconds after which a checkout's page asks again: while a wallet is asked, at first, after
SOON_FOR, once it has ended."""

ASKED = 0.6
"""The same while an answer waits for the wallet: with its second, 1.6 between two polls."""

SOON_FOR, LATE_FOR = 60_000, 3_600_000
"""Milliseconds since the checkout was opened, and since it ended."""

UNDERPAID, UNCONFIRMED = "underpaid", "unconfirmed"
"""What a page shows instead of the checkout's state: too little has arrived, or the seller let a
claim lapse."""

OVER: frozenset[str] = frozenset({*checkout.ENDED, UNCONFIRMED})
"""What a page shows of a checkout that was given up."""

CASES: dict[str, tuple[str, ...]] = {
    checkout.CheckoutState.OPENING: ("why",),
    checkout.CheckoutState.OPEN: (
        "why",
        "free",
        payout_account.LIGHTNING,
        page_values.TAP,
        payout_account.BANK,
    ),
    checkout.CheckoutState.CLAIMED: ("why", page_values.TAP, payout_account.BANK),
    checkout.CheckoutState.LAPSED: (
        "why",
        "free",
        payout_account.LIGHTNING,
        page_values.TAP,
        payout_account.BANK,
    ),
    checkout.CheckoutState.CANCELLED: (
        "why",
        "free",
        payout_account.LIGHTNING,
        page_values.TAP,
        payout_account.BANK,
    ),
    checkout.CheckoutState.FAILED: ("slow", "refused", "lied", "tooSmall", "tooLarge"),
    checkout.CheckoutState.REJECTED: ("why", page_values.TAP, payout_account.BANK),
    checkout.CheckoutState.OVERSOLD: ("why", "free"),
    UNDERPAID: ("why",),
    UNCONFIRMED: ("why", page_values.TAP, payout_account.BANK),
}
"""The cases that the text of a state tells apart: by reason, by way, by whether a unit is held."""

SENT = {payout_account.BANK: "page-sent", page_values.TAP: "page-sent-tap"}
"""The button by which a payer says that the money was sent, where the rail can't know it."""

SIGNS: dict[str, str] = {
    checkout.CheckoutState.CLAIMED: "waiting",
    checkout.CheckoutState.LAPSED: "over",
    checkout.CheckoutState.CANCELLED: "stopped",
    **dict.fromkeys((checkout.CheckoutState.FAILED, checkout.CheckoutState.REJECTED), "trouble"),
    **dict.fromkeys((checkout.CheckoutState.OVERSOLD, UNDERPAID, UNCONFIRMED), "trouble"),
}
"""The macros of signs.html that show states at a glance."""

CLAIMABLE: frozenset[str] = frozenset(
    {checkout.CheckoutState.OPEN, checkout.CheckoutState.LAPSED, UNCONFIRMED}
)
"""States in which a payer may say so, or say so again."""

AGAIN: dict[tuple[str, str], str] = {
    (checkout.CheckoutState.LAPSED, payout_account.LIGHTNING): "page-new-invoice",
    (checkout.CheckoutState.LAPSED, page_values.TAP): "page-new-invoice",
    (checkout.CheckoutState.FAILED, payout_account.LIGHTNING): "page-retry",
    (checkout.CheckoutState.FAILED, page_values.TAP): "page-retry",
}
"""The link back to the pay page where it isn't "Start again", by state and way."""

ASK_SELLER: frozenset[str] = frozenset(
    {
        *(
            checkout.CheckoutState.CLAIMED,
            checkout.CheckoutState.REJECTED,
            checkout.CheckoutState.FAILED,
        ),
        *(checkout.CheckoutState.OVERSOLD, UNDERPAID, UNCONFIRMED),
    }
)
"""States in which the seller may have to help."""

SELLER_FIRST: frozenset[str] = frozenset(
    {checkout.CheckoutState.REJECTED, checkout.CheckoutState.OVERSOLD, UNDERPAID, UNCONFIRMED}
)
"""States in which nobody but the seller can help."""

HOPELESS = frozenset({"lied", "tooSmall", "tooLarge"})
"""Reasons for which another try at an invoice fails as well."""


def checkout_page(
    reader: payer_form.Reader,
    request: request.PaymentRequest,
    held: checkout.Checkout,
    payment: request.Payment | None,
    now: int,
) -> dict[str, Any]:
    """Return the values of a checkout's page in its state; `payment` is short or without a unit."""
    state = held.state(now)
    shown = _shown(held, payment, state)
    title = _title(reader, request, held, payment, shown)
    return {
        "name": request.terms.product.name,
        "title": title,
        "page": reader.t("page-title-state", title=title, name=request.terms.product.name),
        "why": _why(reader, request, held, shown),
        "scripted": True,
        "watch": checkout_path(held.request_id, held.id),
        "now": now,
        "opening": shown == checkout.CheckoutState.OPENING,
        "turns": shown == checkout.CheckoutState.OPENING
        or (shown == checkout.CheckoutState.OPEN and held.pay_with is None),
        "sign": SIGNS.get(shown),
        "transaction_id": payment and payment.id,
        "receipt": payment and payment.oversold and receipt_path(payment),
        **_pace(held, state, now),
        **_amounts(reader, request, held, payment, shown),
        **_times(reader, request, held, shown),
        **pay_with_values(reader, request, held, shown),
        **_steps(reader, request, held, shown),
    }


def unclaimed(
    reader: payer_form.Reader, request: request.PaymentRequest, held: checkout.Checkout
) -> dict[str, Any]:
    """Return the values of the page of a payer whose claim came too late: no unit is free."""
    title = reader.t("page-claim-none", count=held.quantity)
    lost = {"reference": held.reference, "count": held.quantity}
    why = page_texts.named_seller(reader, request, "page-claim-none-why", **lost)
    return {
        "title": title,
        "page": reader.t("page-title-state", title=title, name=request.terms.product.name),
        "why": page_texts.TimedText(why),
        "sign": "trouble",
        "claim": None,
        "again": None,
        "refresh": None,
        "asks_seller": True,
        "seller_first": True,
    }


def unpromised(
    reader: payer_form.Reader, request: request.PaymentRequest, held: checkout.Checkout
) -> str:
    """Return what follows a claim whose units are held for the ordinary time alone."""
    return page_texts.named_seller(reader, request, "page-sent-unheld", count=held.quantity)


def _shown(
    held: checkout.Checkout, payment: request.Payment | None, state: checkout.CheckoutState
) -> str:
    if payment and payment.state is request.PaymentState.UNDERPAID:
        return UNDERPAID
    return UNCONFIRMED if state is checkout.CheckoutState.LAPSED and held.claimed_at else state


def _title(
    reader: payer_form.Reader,
    request: request.PaymentRequest,
    held: checkout.Checkout,
    payment: request.Payment | None,
    shown: str,
) -> str:
    if shown == checkout.CheckoutState.OPEN and held.pay_with:
        return reader.t(f"page-by-{way_name(held)}")
    if shown == checkout.CheckoutState.LAPSED and AGAIN.get((shown, _way(held))):
        return reader.t("page-checkout-ended")
    paid = payment.paid if payment else held.quote
    return page_texts.named_seller(
        reader,
        request,
        f"page-checkout-{shown}",
        paid=page_texts.money_text(paid.amount, paid.currency, reader.tag),
        amount=page_texts.money_text(held.quote.amount, held.quote.currency, reader.tag),
    )


def _why(
    reader: payer_form.Reader, request: request.PaymentRequest, held: checkout.Checkout, shown: str
) -> page_texts.TimedText:
    text = page_texts.named_seller(
        reader,
        request,
        f"page-checkout-{shown}-{_case(request, held, shown)}",
        amount=page_texts.money_text(held.quote.amount, held.quote.currency, reader.tag),
        reference=held.reference,
        count=held.quantity,
        at=page_texts.PLACE,
    )
    return page_texts.timed_text(text, page_texts.moment(reader, held.lapses_at, "clock"))


def _case(request: request.PaymentRequest, held: checkout.Checkout, shown: str) -> str:
    """Return the case of CASES; test money tells apart whether a unit is held."""
    cases, way = CASES[shown], _way(held)
    if shown == checkout.CheckoutState.FAILED:
        return held.failure if held.failure and held.failure in cases else cases[0]
    if way in cases:
        return way
    return "free" if "free" in cases and not request.units else "why"


def _way(held: checkout.Checkout) -> str:
    """Return how a payment becomes known: by a wallet, by taps, by a bank; '' for test money."""
    if held.kind in {payout_account.SANDBOX, payout_account.BANK}:
        return held.kind.removeprefix(payout_account.SANDBOX)
    return payout_account.LIGHTNING if held.automatic else page_values.TAP


def _pace(
    held: checkout.Checkout, state: checkout.CheckoutState, now: int
) -> dict[str, float | None]:
    """Return the seconds until the page asks `again` by script, and until it reloads without."""
    calm = SOON if now - held.created_at < SOON_FOR else LATER
    late = LATE if state in checkout.ENDED and now - held.lapses_at < LATE_FOR else None
    again, refresh = {
        checkout.CheckoutState.OPENING: (AT_ONCE, AT_ONCE),
        checkout.CheckoutState.OPEN: (
            ASKED if _way(held) == payout_account.LIGHTNING else calm,
            calm,
        ),
        checkout.CheckoutState.CLAIMED: (LATER, LATE),
    }.get(state, (late, late))
    return {"again": again, "refresh": refresh}


def _amounts(
    reader: payer_form.Reader,
    request: request.PaymentRequest,
    held: checkout.Checkout,
    payment: request.Payment | None,
    shown: str,
) -> dict[str, Any]:
    terms, paid = request.terms, payment.paid if payment else held.quote
    total = held.order.amount(terms)
    given = page_texts.money_text(paid.amount, paid.currency, reader.tag)
    differs = held.quote.rate is not None or paid.amount != held.quote.amount
    void = shown in OVER and bool(_way(held))  # the next quote is another one
    return {
        "amount": page_texts.money_text(total, terms.currency, reader.tag),
        "pieces": page_texts.quantity_text(reader, total, terms.currency, held.quantity),
        "paid": given if differs and not void else None,
        "due": page_texts.money_text(held.quote.amount, held.quote.currency, reader.tag),
        "rate": None if void else page_values.rate_text(reader, terms.currency, held.quote),
    }


def _times(
    reader: payer_form.Reader, request: request.PaymentRequest, held: checkout.Checkout, shown: str
) -> dict[str, Any]:
    """Return the end of an open checkout, and the begin and end of a claim."""
    ends = "page-held" if request.units else "page-awaited"
    values: dict[str, Any] = {
        "ends": reader.t("page-invoice-ends" if _way(held) == payout_account.LIGHTNING else ends),
        "until": held.lapses_at if shown == checkout.CheckoutState.OPEN else None,
        "claimed_at": None,
    }
    if shown == checkout.CheckoutState.CLAIMED and held.claimed_at is not None:
        values["claimed_at"] = page_texts.moment(reader, held.claimed_at)
        holds = request.units and held.is_held
        values["held_until"] = page_texts.moment(reader, held.lapses_at) if holds else None
    return values


def _steps(
    reader: payer_form.Reader, request: request.PaymentRequest, held: checkout.Checkout, shown: str
) -> dict[str, Any]:
    """Return what a payer can do next: the keys of buttons, and the way back to the pay page."""
    way, is_open = _way(held), shown == checkout.CheckoutState.OPEN
    claim = SENT.get(way) if shown in CLAIMABLE else None
    then = "page-sent-held" if request.units else "page-sent-then"
    restart = AGAIN.get((shown, way), "page-restart") if shown in OVER else None
    return {
        "claim": claim,
        "reference": None if is_open else held.reference,
        "help": page_texts.named_seller(
            reader, request, f"page-claimed-help-{way}", reference=held.reference
        )
        if shown == checkout.CheckoutState.CLAIMED and way in SENT
        else None,
        "then": page_texts.named_seller(reader, request, then, count=held.quantity)
        if claim and is_open
        else None,
        "cancel": is_open,
        "restart": restart,
        "unheld": page_texts.named_seller(
            reader, request, "page-claimed-unheld", count=held.quantity
        )
        if shown == checkout.CheckoutState.CLAIMED and request.units and not held.is_promised
        else None,
        "kept": page_texts.named_seller(reader, request, _kept(held))
        if shown == checkout.CheckoutState.CLAIMED
        else None,
        "seller_first": shown in SELLER_FIRST or held.failure in HOPELESS,
        "start": f"/pay/{held.request_id}",
        "asks_seller": shown in ASK_SELLER
        or (shown == checkout.CheckoutState.CANCELLED and way in SENT),
    }


def _kept(held: checkout.Checkout) -> str:
    """Return the text that says how a payer hears of the seller's decision."""
    emails = held.language is not None and "email" in held.user_data
    return "page-claimed-emailed" if emails else "page-claimed-kept"
