"""Questions and values of fields in words, where the field's own text does not do."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from bot.chat.fields.receiver_shares import shares_of
from bot.chat.fields.typed_text import example_price
from bot.chat.messages.reply import Problem, escaped
from bot.chat.model.payout import LIGHTNING
from bot.core.money.amounts import example, format_money, to_minor
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.model.draft import Draft, Seller

SHOWN_RECEIVERS = 10
"""So many receivers are listed, so that a review fits into one message; the rest is counted."""

_HANDLE = 48  # UTF-16 units of one of several receivers


def shown_amount(amount: Decimal | None, currency: str | None, seller: Seller) -> str:
    """Format an amount for people; plain digits while its currency is not known."""
    if amount is None or currency is None:
        return "" if amount is None else f"{amount:f}"  # Fluent would round it
    return format_money(to_minor(amount, currency), currency, seller.language)


def amount_question(draft: Draft, seller: Seller) -> str:
    """Ask for the price, in the usual currency where there is one."""
    language, usual = seller.language, draft.currency or seller.currency
    question = t(language, f"ask-amount-{draft.kind}")
    if usual is None:
        return f"{question}\n{t(language, 'ask-amount-hint')}"
    typed = example(usual)
    meant = escaped(shown_amount(Decimal(typed), usual, seller))
    other = example_price("EUR" if usual != "EUR" else "USD")
    hint = t(language, "ask-amount-usual", example=typed, meant=meant, other=other)
    return f"{question}\n{hint}"


def units_line(draft: Draft, seller: Seller) -> str | None:
    """Return how many units there are, or are left of a request that exists."""
    if not draft.units:
        return None
    if draft.form == "edit":
        return t(seller.language, "left", left=draft.units)
    return t(seller.language, "review-units", value=draft.units)


def destination_question(draft: Draft, seller: Seller) -> str:
    """Ask where the money goes, in the words of the service that pays it out."""
    language, service = seller.language, seller.paid_at
    if service.rails:
        return "\n\n".join([t(language, "payout-first"), *kind_lines(seller)])
    is_setting = draft.form == "settings"
    kind = "handcash" if service.is_handcash else "other" if service.host else "test"
    parts = [
        t(language, "ask-destination-settings" if is_setting else "ask-destination"),
        t(language, f"destination-{kind}", host=escaped(service.host or "")),
        t(language, "destination-later" if is_setting else "destination-kept"),
    ]
    return "\n".join(parts)


def kind_lines(seller: Seller) -> list[str]:
    """Explain each kind of payout account that the service takes."""
    return [t(seller.language, f"payout-about-{kind}") for kind in seller.paid_at.rails]


def unpaid_currency(currency: str | None, seller: Seller) -> str | None:
    """Return the warning that none of the seller's accounts takes a currency; None if one does."""
    accounts = seller.accounts
    if currency is None or not accounts or any(one.takes(currency) for one in accounts):
        return None
    taken = ", ".join(dict.fromkeys(code for account in accounts for code in account.currencies))
    key = "payout-no-way" if LIGHTNING in seller.paid_at.rails else "payout-no-way-bank"
    return t(seller.language, key, taken=taken, currency=escaped(currency))


def seller_line(draft: Draft, seller: Seller) -> str | None:
    """Return whom payers see, where the seller has a name for them."""
    if draft.form != "new" or seller.profile.name is None:
        return None
    name, kind = escaped(seller.profile.name), draft.kind or ""
    return t(seller.language, "review-seller", value=name, kind=kind)


def destination_line(draft: Draft, seller: Seller) -> str | None:
    """Return where all of the money goes; None where several receivers share it."""
    if draft.receivers or seller.destination is None:
        return None
    if seller.paid_at.rails:
        return _accounts_line(draft, seller)
    return t(seller.language, "review-destination", value=escaped(seller.destination))


def _accounts_line(draft: Draft, seller: Seller) -> str:
    """Return the accounts that a price is paid to, or why it can't be paid yet."""
    if not seller.accounts:
        return t(seller.language, "payout-review-none")
    fitting = [one for one in seller.accounts if draft.currency and one.takes(draft.currency)]
    labels = (f"<code>{escaped(one.label, _HANDLE)}</code>" for one in fitting)
    warning = unpaid_currency(draft.currency, seller)
    return warning or t(seller.language, "payout-review", accounts=", ".join(labels))


def receivers_question(draft: Draft, seller: Seller) -> str:
    """Ask who shares the price, after the problem of the present receivers if there is one."""
    price = escaped(shown_amount(draft.amount, draft.currency, seller))
    question, shares = t(seller.language, "ask-receivers", price=price), shares_of(draft)
    if isinstance(shares, Problem):
        return f"{shares.text(seller.language)}\n\n{question}"
    return question


def receivers_line(draft: Draft, seller: Seller) -> str | None:
    """List who gets how much, and count those who are not listed."""
    if not draft.receivers:
        return None
    language, shares = seller.language, shares_of(draft)
    if isinstance(shares, Problem):
        pairs = [(portion.destination, portion.measure) for portion in draft.receivers]
    else:
        currency = draft.currency or ""
        pairs = [(s.destination, format_money(s.amount, currency, language)) for s in shares]
    lines = [
        t(language, "review-receiver", destination=escaped(who, _HANDLE), share=escaped(share))
        for who, share in pairs[:SHOWN_RECEIVERS]
    ]
    if more := len(pairs) - len(lines):
        lines.append(t(language, "review-receivers-more", count=more))
    return "\n".join([t(language, "review-receivers"), *lines])
