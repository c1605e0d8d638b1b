"""Questions and values of fields in words, where the field's own text does not do."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from bot.chat.fields.choice_text import usual_choice
from bot.chat.fields.goods_text import ends_line
from bot.chat.fields.receiver_shares import shares_of
from bot.chat.fields.typed_text import USUAL, Price, example_price
from bot.chat.messages.reply import Problem, escaped, plain
from bot.chat.model.amount_choice import in_minor
from bot.chat.model.goods import CODES, MAX_TEXT
from bot.chat.model.payout import LIGHTNING
from bot.core.money.amounts import example, format_money, format_short, to_minor
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.model.amount_choice import AmountChoice
    from bot.chat.model.draft import Draft, Seller

SHOWN_RECEIVERS = 10
"""So many receivers are listed, so that a review fits into one message; the rest is counted."""

CHOICE_OFFERED = ("donation",)
"""The kinds of requests whose payers choose the amount by default."""

_HANDLE = 48  # UTF-16 units of one of several receivers
_FILE_NAME = 80
_ADDRESS = 300  # UTF-16 units of a long address


def shown_amount(amount: Decimal | None, currency: str | None, seller: Seller) -> str:
    """Format an amount for people; plain digits while its currency is not known."""
    if amount is None or currency is None:
        return "" if amount is None else f"{amount:f}"  # Fluent would round it
    return format_money(to_minor(amount, currency), currency, seller.language)


def choice_words(choice: AmountChoice[int], currency: str, language: str) -> str:
    """Return the amounts that payers choose from: `From €3 · suggested €5, €10, €20`.

    Amounts are in minor units. The words are plain text.
    """

    def money(minor: int) -> str:
        return plain(format_short(minor, currency, language))

    minimum, maximum = money(choice.minimum), choice.maximum
    if maximum is None:
        bounds = t(language, "choice-from", minimum=minimum)
    else:
        bounds = t(language, "choice-between", minimum=minimum, maximum=money(maximum))
    if not choice.suggested:
        return bounds
    amounts = ", ".join(money(each) for each in choice.suggested)
    return t(language, "choice-suggested", bounds=bounds, amounts=amounts)


def redirect_line(draft: Draft, seller: Seller) -> str | None:
    """Return the lines of the review: where payers go, and whether their receipt comes first."""
    if draft.redirect_url is None:
        return None
    value = escaped(draft.redirect_url, _ADDRESS)
    line = t(seller.language, "review-redirect", value=value)
    first = t(seller.language, "redirect-receipt-first") if draft.has_receipt_first else None
    return "\n".join(filter(None, [line, first]))


def price_of(draft: Draft, _seller: Seller) -> Price | None:
    """Return the price of a draft; None without one."""
    return None if draft.amount is None else Price(draft.amount, draft.currency, draft.choice)


def price_words(price: Price, seller: Seller, _now: int | None = None) -> str:
    """Return a price, or what payers choose from; plain digits while its currency is not known."""
    if price.choice is None:
        return shown_amount(price.amount, price.currency, seller)
    if price.currency is None:
        return "/".join(f"{each:f}" for each in price.choice.suggested or (price.amount,))
    choice = in_minor(price.choice, price.currency)
    return choice_words(choice, price.currency, seller.language) if choice else ""


def price_brief(price: Price, seller: Seller) -> str:
    """Return a price for a button: `€5, €10, €20`, or the least amount."""
    choice, currency = price.choice, price.currency
    if choice is None or currency is None:
        return price_words(price, seller)
    if not choice.suggested:
        minimum = _short_amount(choice.minimum, currency, seller)
        return t(seller.language, "choice-from", minimum=minimum)
    return ", ".join(_short_amount(each, currency, seller) for each in choice.suggested)


def _short_amount(amount: Decimal, currency: str, seller: Seller) -> str:
    return format_short(to_minor(amount, currency), currency, seller.language)


def goal_words(goal: tuple[int, str | None], seller: Seller, _now: int | None = None) -> str:
    """Return a goal in minor units of its currency."""
    minor, currency = goal
    return format_short(minor, currency, seller.language) if currency else ""


def goal_question(draft: Draft, seller: Seller) -> str:
    """Ask for the goal, in the currency of the price."""
    currency = draft.currency or USUAL
    reached = Decimal(example(currency)) * 200
    meant = escaped(_short_amount(reached, currency, seller))
    return t(seller.language, "ask-goal", example=f"{reached:f}", meant=meant)


def amount_question(draft: Draft, seller: Seller) -> str:
    """Ask for the price, in the usual currency where there is one."""
    language, usual = seller.language, draft.currency or seller.currency
    lines = [t(language, f"ask-amount-{draft.kind}"), _amount_hint(usual, seller)]
    if draft.kind in CHOICE_OFFERED and seller.paid_at.is_embedded:
        several = "/".join(f"{each:f}" for each in usual_choice(usual or USUAL).suggested)
        lines.append(t(language, "ask-amount-choice", several=f"{several} {usual or USUAL}"))
    return "\n".join(lines)


def _amount_hint(usual: str | None, seller: Seller) -> str:
    if usual is None:
        return t(seller.language, "ask-amount-hint")
    typed = example(usual)
    meant = escaped(shown_amount(Decimal(typed), usual, seller))
    other = example_price("EUR" if usual != "EUR" else "USD")
    return t(seller.language, "ask-amount-usual", example=typed, meant=meant, other=other)


def goods_question(draft: Draft, seller: Seller) -> str:
    """Ask what buyers get, or which reading of the last message is meant.

    An edit says what becomes of those who have bought already.
    """
    if not draft.readings:
        question = t(seller.language, "ask-goods")
        if draft.form != "edit":
            return question
        kind = draft.goods.kind if draft.goods else "none"
        return f"{question}\n\n{t(seller.language, 'ask-goods-earlier', kind=kind)}"
    lists = [one for one in draft.readings if one.kind == CODES]
    if not lists:
        return t(seller.language, "ask-whole-goods")
    key = "ask-which-goods" if len(draft.readings) > 1 else "ask-long-goods"
    question = t(seller.language, key, count=lists[0].count or 0, most=MAX_TEXT)
    return "\n".join(filter(None, [question, ends_line(lists[0], seller.language)]))


def file_question(draft: Draft, seller: Seller) -> str:
    """Ask whether buyers get a file that came with other words; it may be one of several."""
    file, language = draft.file, seller.language
    question = t(language, "ask-file", name=escaped(file.name if file else "", _FILE_NAME))
    is_one_of_several = file is not None and file.album_id is not None
    return f"{question}\n\n{t(language, 'ask-file-album')}" if is_one_of_several else question


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
    if draft.choice:
        question = f"{question}\n{t(seller.language, 'receivers-scaled')}"
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
    if draft.choice:
        lines.append(t(language, "receivers-scaled"))
    return "\n".join([t(language, "review-receivers"), *lines])
