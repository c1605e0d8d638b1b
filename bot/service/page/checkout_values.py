"""The values of a checkout's page: what to pay with, what to do, what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.service.model import payout
from bot.service.model.checkout_states import ENDED, CheckoutState
from bot.service.model.request import PaymentState
from bot.service.page import outcomes, page_times, pay_with
from bot.service.page.money_texts import money_text, pieces_text
from bot.service.page.page_times import PLACE
from bot.service.page.pay_ways import TAP
from bot.service.page.sellers_name import named
from bot.service.page.template_values import rate_text

if TYPE_CHECKING:
    from bot.service.model.checkout import Checkout
    from bot.service.model.request import Payment, PaymentRequest
    from bot.service.page.forms import Reader

AT_ONCE, SOON, LATER, LATE = 2, 3, 10, 30
"""Seconds after which a checkout's page asks again: while a wallet is asked, at first, after
SOON_FOR, once it has ended."""

ASKED = 0.6
"""The same while an answer waits for the wallet: with its second, 1.6 between two looks."""

SOON_FOR, LATE_FOR = 60_000, 3_600_000
"""Milliseconds since the checkout was opened, and since it ended."""

UNDERPAID, UNCONFIRMED = "underpaid", "unconfirmed"
"""What a page shows instead of the checkout's state: too little has arrived, or the seller let a
claim lapse."""

OVER: frozenset[str] = frozenset({*ENDED, UNCONFIRMED})
"""What a page shows of a checkout that was given up."""

CASES: dict[str, tuple[str, ...]] = {
    CheckoutState.OPENING: ("why",),
    CheckoutState.OPEN: ("why", "free", payout.LIGHTNING, TAP, payout.BANK),
    CheckoutState.CLAIMED: ("why", TAP, payout.BANK),
    CheckoutState.LAPSED: ("why", "free", payout.LIGHTNING, TAP, payout.BANK),
    CheckoutState.CANCELLED: ("why", "free", payout.LIGHTNING, TAP, payout.BANK),
    CheckoutState.FAILED: ("slow", "refused", "lied", "tooSmall", "tooLarge"),
    CheckoutState.REJECTED: ("why", TAP, payout.BANK),
    CheckoutState.OVERSOLD: ("why", "free"),
    UNDERPAID: ("why",),
    UNCONFIRMED: ("why", TAP, payout.BANK),
}
"""The cases that the text of a state tells apart: by reason, by way, by whether a unit is held."""

SENT = {payout.BANK: "page-sent", TAP: "page-sent-tap"}
"""The button by which a payer says that the money was sent, where the rail can't know it."""

SIGNS: dict[str, str] = {
    CheckoutState.CLAIMED: "waiting",
    CheckoutState.LAPSED: "over",
    CheckoutState.CANCELLED: "stopped",
    **dict.fromkeys((CheckoutState.FAILED, CheckoutState.REJECTED), "trouble"),
    **dict.fromkeys((CheckoutState.OVERSOLD, UNDERPAID, UNCONFIRMED), "trouble"),
}
"""The macros of signs.html that show states at a glance."""

CLAIMABLE: frozenset[str] = frozenset({CheckoutState.OPEN, CheckoutState.LAPSED, UNCONFIRMED})
"""States in which a payer may say so, or say so again."""

AGAIN: dict[tuple[str, str], str] = {
    (CheckoutState.LAPSED, payout.LIGHTNING): "page-new-invoice",
    (CheckoutState.LAPSED, TAP): "page-new-invoice",
    (CheckoutState.FAILED, payout.LIGHTNING): "page-retry",
    (CheckoutState.FAILED, TAP): "page-retry",
}
"""The link back to the pay page where it isn't "Start again", by state and way."""

ASK_SELLER: frozenset[str] = frozenset(
    {
        *(CheckoutState.CLAIMED, CheckoutState.REJECTED, CheckoutState.FAILED),
        *(CheckoutState.OVERSOLD, UNDERPAID, UNCONFIRMED),
    }
)
"""States in which the seller may have to help."""

SELLER_FIRST: frozenset[str] = frozenset(
    {CheckoutState.REJECTED, CheckoutState.OVERSOLD, UNDERPAID, UNCONFIRMED}
)
"""States in which nobody but the seller can help."""

HOPELESS = frozenset({"lied", "tooSmall", "tooLarge"})
"""Reasons for which another try at an invoice fails as well."""


def checkout_page(
    reader: Reader, request: PaymentRequest, held: Checkout, payment: Payment | None, now: int
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
        "watch": outcomes.checkout_path(held.request_id, held.id),
        "now": now,
        "opening": shown == CheckoutState.OPENING,
        "turns": shown == CheckoutState.OPENING
        or (shown == CheckoutState.OPEN and held.pay_with is None),
        "sign": SIGNS.get(shown),
        "transaction_id": payment and payment.id,
        "receipt": payment and payment.oversold and outcomes.receipt_path(payment),
        **_pace(held, state, now),
        **_amounts(reader, request, held, payment, shown),
        **_times(reader, request, held, shown),
        **pay_with.values(reader, request, held, shown),
        **_steps(reader, request, held, shown),
    }


def unclaimed(reader: Reader, request: PaymentRequest, held: Checkout) -> dict[str, Any]:
    """Return the values of the page of a payer whose claim came too late: no unit is free."""
    title = reader.t("page-claim-none", count=held.quantity)
    lost = {"reference": held.reference, "count": held.quantity}
    why = named(reader, request, "page-claim-none-why", **lost)
    return {
        "title": title,
        "page": reader.t("page-title-state", title=title, name=request.terms.product.name),
        "why": page_times.TimedText(why),
        "sign": "trouble",
        "claim": None,
        "again": None,
        "refresh": None,
        "asks_seller": True,
        "seller_first": True,
    }


def unpromised(reader: Reader, request: PaymentRequest, held: Checkout) -> str:
    """Return what follows a claim whose units are held for the ordinary time alone."""
    return named(reader, request, "page-sent-unheld", count=held.quantity)


def _shown(held: Checkout, payment: Payment | None, state: CheckoutState) -> str:
    if payment and payment.state is PaymentState.UNDERPAID:
        return UNDERPAID
    return UNCONFIRMED if state is CheckoutState.LAPSED and held.claimed_at else state


def _title(
    reader: Reader, request: PaymentRequest, held: Checkout, payment: Payment | None, shown: str
) -> str:
    if shown == CheckoutState.OPEN and held.pay_with:
        return reader.t(f"page-by-{pay_with.way_name(held)}")
    if shown == CheckoutState.LAPSED and AGAIN.get((shown, _way(held))):
        return reader.t("page-checkout-ended")
    paid = payment.paid if payment else held.quote
    return named(
        reader,
        request,
        f"page-checkout-{shown}",
        paid=money_text(paid.amount, paid.currency, reader.tag),
        amount=money_text(held.quote.amount, held.quote.currency, reader.tag),
    )


def _why(
    reader: Reader, request: PaymentRequest, held: Checkout, shown: str
) -> page_times.TimedText:
    text = named(
        reader,
        request,
        f"page-checkout-{shown}-{_case(request, held, shown)}",
        amount=money_text(held.quote.amount, held.quote.currency, reader.tag),
        reference=held.reference,
        count=held.quantity,
        at=PLACE,
    )
    return page_times.timed(text, page_times.moment(reader, held.lapses_at, "clock"))


def _case(request: PaymentRequest, held: Checkout, shown: str) -> str:
    """Return the case of CASES; test money tells apart whether a unit is held."""
    cases, way = CASES[shown], _way(held)
    if shown == CheckoutState.FAILED:
        return held.failure if held.failure and held.failure in cases else cases[0]
    if way in cases:
        return way
    return "free" if "free" in cases and not request.units else "why"


def _way(held: Checkout) -> str:
    """Return how a payment becomes known: by a wallet, by taps, by a bank; '' for test money."""
    if held.kind in {payout.SANDBOX, payout.BANK}:
        return held.kind.removeprefix(payout.SANDBOX)
    return payout.LIGHTNING if held.automatic else TAP


def _pace(held: Checkout, state: CheckoutState, now: int) -> dict[str, float | None]:
    """Return the seconds until the page asks `again` by script, and until it reloads without."""
    calm = SOON if now - held.created_at < SOON_FOR else LATER
    late = LATE if state in ENDED and now - held.lapses_at < LATE_FOR else None
    again, refresh = {
        CheckoutState.OPENING: (AT_ONCE, AT_ONCE),
        CheckoutState.OPEN: (ASKED if _way(held) == payout.LIGHTNING else calm, calm),
        CheckoutState.CLAIMED: (LATER, LATE),
    }.get(state, (late, late))
    return {"again": again, "refresh": refresh}


def _amounts(
    reader: Reader, request: PaymentRequest, held: Checkout, payment: Payment | None, shown: str
) -> dict[str, Any]:
    terms, paid = request.terms, payment.paid if payment else held.quote
    total = held.order.amount(terms)
    given = money_text(paid.amount, paid.currency, reader.tag)
    differs = held.quote.rate is not None or paid.amount != held.quote.amount
    void = shown in OVER and bool(_way(held))  # the next quote is another one
    return {
        "amount": money_text(total, terms.currency, reader.tag),
        "pieces": pieces_text(reader, total, terms.currency, held.quantity),
        "paid": given if differs and not void else None,
        "due": money_text(held.quote.amount, held.quote.currency, reader.tag),
        "rate": None if void else rate_text(reader, terms.currency, held.quote),
    }


def _times(reader: Reader, request: PaymentRequest, held: Checkout, shown: str) -> dict[str, Any]:
    """Return the end of an open checkout, and the begin and end of a claim."""
    ends = "page-held" if request.units else "page-awaited"
    values: dict[str, Any] = {
        "ends": reader.t("page-invoice-ends" if _way(held) == payout.LIGHTNING else ends),
        "until": held.lapses_at if shown == CheckoutState.OPEN else None,
        "claimed_at": None,
    }
    if shown == CheckoutState.CLAIMED and held.claimed_at is not None:
        values["claimed_at"] = page_times.moment(reader, held.claimed_at)
        holds = request.units and held.is_held
        values["held_until"] = page_times.moment(reader, held.lapses_at) if holds else None
    return values


def _steps(reader: Reader, request: PaymentRequest, held: Checkout, shown: str) -> dict[str, Any]:
    """Return what a payer can do next: the keys of buttons, and the way back to the pay page."""
    way, is_open = _way(held), shown == CheckoutState.OPEN
    claim = SENT.get(way) if shown in CLAIMABLE else None
    then = "page-sent-held" if request.units else "page-sent-then"
    restart = AGAIN.get((shown, way), "page-restart") if shown in OVER else None
    return {
        "claim": claim,
        "reference": None if is_open else held.reference,
        "help": named(reader, request, f"page-claimed-help-{way}", reference=held.reference)
        if shown == CheckoutState.CLAIMED and way in SENT
        else None,
        "then": named(reader, request, then, count=held.quantity) if claim and is_open else None,
        "cancel": is_open,
        "restart": restart,
        "unheld": named(reader, request, "page-claimed-unheld", count=held.quantity)
        if shown == CheckoutState.CLAIMED and request.units and not held.is_promised
        else None,
        "kept": named(reader, request, _kept(held)) if shown == CheckoutState.CLAIMED else None,
        "seller_first": shown in SELLER_FIRST or held.failure in HOPELESS,
        "start": f"/pay/{held.request_id}",
        "asks_seller": shown in ASK_SELLER or (shown == CheckoutState.CANCELLED and way in SENT),
    }


def _kept(held: Checkout) -> str:
    """Return the text that says how a payer hears of the seller's decision."""
    emails = held.language is not None and "email" in held.user_data
    return "page-claimed-emailed" if emails else "page-claimed-kept"
