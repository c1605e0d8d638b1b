"""The content of a request's card, and its status."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from bot.chat.model import drafts, payout, replies, request_spec
from bot.chat.store import link_rows, payment_rows
from bot.core.database import database
from bot.core.money import amounts
from bot.core.text import translations
from bot.interface import parts, vocabulary

OUTDATED = "outdated"
"""The status of a request that was made for test money, if the bot now takes real money."""


@dataclass(frozen=True, slots=True)
class Card:
    """The content of a card as the seller sees it; times in epoch ms."""

    link_id: str
    kind: str
    name: str
    description: str | None
    amount: int
    """In minor units."""
    currency: str
    total_units: int | None
    remaining_units: int | None
    paid_count: int | None
    status: str
    """active, scheduled, expired, stopped, completed (a paid one-off), soldOut, noPayoutAccount
    (the seller has no account for the price), outdated or deleted."""
    url: str
    """URL of the pay page; empty until the server has answered."""
    reserved_units: int = 0
    """Units in open checkouts."""
    starts_at: int | None = None
    """Set only if it is in the future."""
    ends_at: int | None = None
    zone: str | None = None
    """The seller's time zone."""
    totals: payment_rows.RevenueTotals = payment_rows.NO_REVENUE
    """Shown to the seller only."""
    image: str | None = None
    """Id of the seller's picture."""
    email: str | None = None
    email_state: str | None = None
    """unconfirmed, confirmed or ended; None if the address needs no confirmation."""
    email_confirmed_at: int | None = None
    seller: drafts.Profile = drafts.NO_PROFILE
    """The profile that payers see."""
    codes: request_spec.CodeCounts | None = None
    """The codes that buyers get."""
    is_embedded: bool = True
    """True if the request is at the embedded service."""
    choice: parts.AmountChoice[int] | None = None
    """The amounts that payers can choose from."""
    goal: int | None = None
    """In minor units, like `raised`."""
    raised: int = 0
    max_quantity: int | None = None
    """The most units of a drop that a buyer may take at once."""
    delivers: str | None = None
    """The kind of goods that buyers get."""
    has_receipt_first: bool = False
    """True if payers see their receipt before they continue to the web address."""


def card_of(
    link: link_rows.PaymentLink,
    now: int,
    *,
    totals: payment_rows.RevenueTotals = payment_rows.NO_REVENUE,
    zone: str | None = None,
    profile: drafts.Profile = drafts.NO_PROFILE,
    raised: int = 0,
) -> Card:
    """Build the card of a link at `now` (epoch ms), with the seller's time zone.

    `profile` is needed for cards that others see; `raised` is the amount towards the goal.
    """
    spec, answer = link.spec, link.answer
    return Card(
        link_id=link.id,
        kind=spec.kind,
        name=spec.name,
        description=spec.description,
        amount=spec.amount,
        currency=spec.currency,
        total_units=spec.units,
        remaining_units=link.left if answer is None or answer.remaining_units is None
        else answer.remaining_units,
        paid_count=link.paid_count,
        status="deleted" if link.state == link_rows.DELETED else status_of(link, now),
        url=answer.url if answer else "",
        reserved_units=answer.reserved_units if answer else 0,
        starts_at=answer.enabled_at if answer else spec.starts_at,
        ends_at=answer.expires_at if answer else spec.ends_at,
        zone=zone,
        totals=totals,
        image=spec.image,
        email=spec.email,
        email_state=answer.email_state if answer else None,
        email_confirmed_at=answer.email_confirmed_at if answer else None,
        seller=profile,
        codes=answer.codes if answer else None,
        is_embedded=answer is None or answer.is_embedded,
        choice=spec.choice,
        goal=spec.goal,
        raised=raised,
        max_quantity=spec.max_quantity,
        delivers=spec.goods.kind if spec.goods else None,
        has_receipt_first=spec.has_receipt_first,
    )  # fmt: skip


def public_card_of(
    tx: database.Transaction,
    link: link_rows.PaymentLink,
    seller: drafts.Seller | None,
    now: int,
    *,
    totals: payment_rows.RevenueTotals | None = None,
) -> Card:
    """Build the card of a link as others see it: without revenue, except towards its goal.

    `seller` is None if the link's seller is not stored. `totals` are shown only if given.
    """
    zone, profile = (seller.zone, seller.profile) if seller else (None, drafts.NO_PROFILE)
    raised = 0
    if link.spec.goal is not None:
        raised = raised_in(totals or payment_rows.revenue_totals(tx, link.id), link.spec.currency)
    shown = totals or payment_rows.NO_REVENUE
    return card_of(link, now, totals=shown, zone=zone, profile=profile, raised=raised)


def seller_card_of(
    tx: database.Transaction,
    link: link_rows.PaymentLink,
    seller: drafts.Seller | None,
    now: int,
) -> Card:
    """Build the card of a link as its seller sees it, with all revenue."""
    totals = payment_rows.revenue_totals(tx, link.id)
    return public_card_of(tx, link, seller, now, totals=totals)


def raised_in(found: payment_rows.RevenueTotals, currency: str) -> int:
    """Return the revenue that counts towards a goal in `currency`, in minor units.

    Oversold and paid-back payments don't count.
    """
    return _by_code(found.earned).get(currency, 0) - _by_code(found.returned).get(currency, 0)


def _by_code(amounts: tuple[tuple[int, str], ...]) -> dict[str, int]:
    return {code: minor for minor, code in amounts}


def status_of(link: link_rows.PaymentLink, now: int) -> str:
    """Return the status, as in `Card`, of a link at `now` (epoch ms); the link is not deleted."""
    answer = link.answer
    if link.spec.kind == "oneoff" and link.paid_count:
        return "completed"
    if answer and answer.remaining_units == answer.reserved_units == 0:
        return "soldOut"
    if link.state == link_rows.STOPPED:
        return "stopped"
    if answer and answer.expires_at is not None and answer.expires_at <= now:
        return "expired"
    if answer and answer.enabled_at is not None and answer.enabled_at > now:
        return "scheduled"
    if answer is None or not answer.lacks_account:
        return "active"
    spec, own = link.spec, payout.account_destination(link.seller_id)
    return vocabulary.NO_PAYOUT if spec.destination == own and not spec.receivers else OUTDATED


STEPS = 10
"""Number of blocks in a goal's bar; they fit into one line on any phone."""

FULL, EMPTY = "\N{BLACK PARALLELOGRAM}", "\N{WHITE PARALLELOGRAM}"
"""The blocks of a bar, which have the same width in all common fonts and are no emoji."""

WHOLE = 100  # per cent
_NAME = 200  # UTF-16 units


def price_text(card: Card, language: str) -> str:
    """Return the formatted price, or "From €3" if payers choose the amount."""
    if card.choice is None:
        return amounts.format_money(card.amount, card.currency, language)
    minimum = amounts.format_short(card.choice.minimum, card.currency, language)
    return translations.t(language, "price-from", amount=minimum)


def goal_text(raised: int, goal: int, currency: str, language: str) -> str:
    """Return "€420 of €1,000"; the amounts are in minor units."""
    return translations.t(
        language,
        "goal-raised",
        raised=amounts.format_short(raised, currency, language),
        goal=amounts.format_short(goal, currency, language),
    )


def goal_share(card: Card) -> int | None:
    """Return the percentage of its goal that a request has raised, rounded down."""
    return card.raised * WHOLE // card.goal if card.goal else None


def goal_brief(card: Card, language: str) -> str | None:
    """Return a goal in one line: "€420 of €1,000 · 42%"; None if there is no goal."""
    share = goal_share(card)
    if card.goal is None or share is None:
        return None
    percent = translations.t(language, "goal-percent", share=Decimal(share) / WHOLE)
    return f"{goal_text(card.raised, card.goal, card.currency, language)} · {percent}"


def goal_bar(share: int) -> str:
    """Draw a percentage as a bar, which is full only if the goal is reached."""
    full = min(STEPS, share * STEPS // WHOLE)
    return FULL * full + EMPTY * (STEPS - full)


def offer_lines(card: Card, language: str) -> list[str]:
    """Return lines on the suggested amounts, the goal, the quantity per buyer and the goods."""
    lines, choice = [], card.choice
    if choice is not None and choice.suggested:
        shown = (amounts.format_short(one, card.currency, language) for one in choice.suggested)
        suggested = replies.escaped(" · ".join(shown))
        lines.append(translations.t(language, "card-suggested", amounts=suggested))
    if choice is not None and choice.maximum is not None:
        most = replies.escaped(amounts.format_short(choice.maximum, card.currency, language))
        lines.append(translations.t(language, "card-at-most", amount=most))
    text, share = goal_brief(card, language), goal_share(card)
    if text is not None and share is not None:  # the sum may exceed the goal
        lines += [goal_bar(share), replies.escaped(text)]
    if card.max_quantity is not None and card.max_quantity > 1:
        lines.append(translations.t(language, "card-each", most=card.max_quantity))
    if card.delivers is not None:
        lines.append(translations.t(language, f"card-gets-{card.delivers}"))
    return lines


def send_codes_button(link_id: str, language: str) -> replies.Button:
    """Return the button with which the seller adds codes."""
    return replies.text_button(language, "button-send-codes", "codes", link_id)


def codes_line(codes: request_spec.CodeCounts | None, language: str) -> str | None:
    """Return how many codes are left or how many buyers wait for one; None without codes."""
    if codes is None:
        return None
    if codes.waiting:
        return translations.t(language, "codes-waiting", count=codes.waiting)
    return translations.t(language, "codes-left", left=codes.left, total=codes.total)


def added_reply(
    link: link_rows.PaymentLink, waiting: int, new: int | None, language: str
) -> replies.Reply:
    """Confirm added codes: the number of `new` ones (None if unknown) and of buyers waiting."""
    name = replies.escaped(link.spec.name, _NAME)
    first = "codes-stored" if new is None else "codes-added" if new else "codes-known"
    lines = [translations.t(language, first, name=name, count=new or 0)]
    if waiting:
        lines.append(translations.t(language, "codes-still-waiting", count=waiting))
        return replies.Reply("\n".join(lines), ((send_codes_button(link.id, language),),))
    lines.append(translations.t(language, "codes-enough"))
    left = codes_line(link.answer.codes if link.answer else None, language)
    return replies.Reply("\n".join(filter(None, [*lines, left])))
