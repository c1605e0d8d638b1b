"""Questions, buttons and values of fields for which a plain text isn't enough."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from bot.chat.forms import shares_and_amounts, typed_text
from bot.chat.model import drafts, payout, replies, request_spec
from bot.core.money import amounts
from bot.core.text import links, translations
from bot.interface import fields

# Buttons with answers, below a field's question.

CURRENCIES = ("USD", "EUR", "GBP", "CHF", "JPY", "INR", "BRL", "BSV", "BTC")
"""Currencies offered for a price: the most common among sellers at Telegram, and two coins."""

INSTRUMENTS = ("BSV", "MNEE", "BTC", "SAT", "USD", "EUR")
"""Currencies offered for payment if the price is in another currency, coins first."""

TICK = "✓ "


def in_rows(buttons: Iterable[replies.Button], width: int) -> replies.Rows:
    """Put `width` buttons side by side in each row."""
    each = tuple(buttons)
    return tuple(each[start : start + width] for start in range(0, len(each), width))


def kinds(draft: drafts.RequestDraft, seller: drafts.Seller) -> replies.Rows:
    """Offer the kinds of requests, with the current kind ticked."""
    return tuple(
        (draft.button(TICK * (kind == draft.kind) + seller.text(f"button-{kind}"), "kind", kind),)
        for kind in request_spec.KINDS
    )


def price_offers(draft: drafts.RequestDraft, seller: drafts.Seller) -> replies.Rows:
    """Offer that payers choose the amount, if usual for the kind, then the seller's last prices."""
    prices = [price for price in seller.prices if price[1] in amounts.currencies()]
    last = in_rows((_price_button(draft, *price, seller) for price in prices), 2)
    if draft.kind not in CHOICE_OFFERED or not seller.paid_at.is_embedded:
        return last
    code = draft.currency or seller.currency
    if code is None:  # the form asks for the currency first
        return ((draft.button(seller.text("button-choose"), "choose"),), *last)
    choice = shares_and_amounts.usual_choice(code)
    suggested = price_brief(typed_text.Price(choice.first, code, choice), seller)
    label = seller.text("button-choose-amounts", amounts=suggested)
    return ((draft.button(label, "choose", code),), *last)


def price_currencies(draft: drafts.RequestDraft, seller: drafts.Seller) -> replies.Rows:
    """Offer currencies for the price: recently used first, then the payout accounts' currencies."""
    last = filter(None, (draft.currency, seller.currency))
    paid = (code for one in seller.accounts if one.kind == payout.BANK for code in one.currencies)
    codes = tuple(dict.fromkeys((*last, *paid, *CURRENCIES)))[: len(CURRENCIES)]
    return in_rows((draft.button(code, "currency", code) for code in codes), 3)


def instruments(draft: drafts.RequestDraft, _seller: drafts.Seller) -> replies.Rows:
    """Offer currencies for payment other than the price's, with the current currency ticked."""
    codes = dict.fromkeys((*filter(None, [draft.instrument]), *INSTRUMENTS))
    buttons = (
        draft.button(TICK * (code == draft.instrument) + code, "instrument", code)
        for code in codes
        if code != draft.currency
    )
    return in_rows(buttons, 3)


def price_of_receivers(draft: drafts.RequestDraft, seller: drafts.Seller) -> replies.Rows:
    """Offer the sum of the receivers' amounts as the price, if it differs from the price."""
    currency = draft.currency or ""
    total = shares_and_amounts.total_of_amounts(draft.receivers, currency)
    if total is None or not isinstance(shares_and_amounts.shares_of(draft), replies.Problem):
        return ()
    price = typed_text.check_price(amounts.from_minor(total, currency), currency)
    if isinstance(price, replies.Problem):
        return ()
    return ((_price_button(draft, total, currency, seller, "button-make-price"),),)


def _price_button(
    draft: drafts.RequestDraft, minor: int, currency: str, seller: drafts.Seller, key: str = ""
) -> replies.Button:
    shown = amounts.format_money(minor, currency, seller.language)
    label = seller.text(key, amount=shown) if key else shown
    return draft.button(label, "amount", f"{amounts.from_minor(minor, currency):f}", currency)


def payout_kinds(draft: drafts.Draft, seller: drafts.Seller) -> replies.Rows:
    """Offer the kinds of payout accounts, and to connect one later; nothing for test money."""
    rails = seller.paid_at.rails
    if not rails:
        return ()
    rows = [
        (replies.text_button(seller.language, f"button-payout-{kind}", "getpaid", kind),)
        for kind in rails
    ]
    return (*rows, (draft.button(seller.text("button-payout-later"), "later"),))


def goods_readings(draft: drafts.RequestDraft, seller: drafts.Seller) -> replies.Rows:
    """Offer the possible meanings of the last message, or to send another message."""
    if not draft.readings:
        return ()
    words = {
        one.kind: "codes" if one.kind == request_spec.CODES else "one" for one in draft.readings
    }
    return tuple(
        (draft.button(seller.text(f"button-goods-{label}"), "goods", word),)
        for label, word in {**words, "again": "again"}.items()
    )


def file_answers(draft: drafts.NewDraft, seller: drafts.Seller) -> replies.Rows:
    """Offer to deliver a file to buyers, or not; a picture can become the photo instead."""
    no = "photo" if draft.file is not None and draft.file.is_picture else "no"
    return tuple(
        (draft.button(seller.text(f"button-file-{word}"), "file", word),) for word in ("yes", no)
    )


def payer_fields(draft: drafts.RequestDraft, seller: drafts.Seller) -> replies.Rows:
    """Offer the data to ask payers for; each button shows the state after a press."""
    rows = []
    for asked in request_spec.PAYER_FIELDS:
        is_asked = asked in draft.payer_fields
        label = TICK * is_asked + seller.text(f"payer-{asked}")
        to = "off" if is_asked else "on"
        rows.append((draft.button(label, "ask", asked, to),))
    return (*rows, (draft.button(seller.text("button-done"), "options"),))


# Questions and values in words.

SHOWN_RECEIVERS = 10
"""The most receivers listed, so that a review fits into one message; the others are counted."""

CHOICE_OFFERED = ("donation",)
"""The kinds of requests whose payers choose the amount by default."""

_HANDLE = 48
"""UTF-16 units of a receiver or account in a list."""

_FILE_NAME = 80
_ADDRESS = 300
_SHOWN_TEXT = 300
"""UTF-16 units shown of a file's name, an address, and a text."""


def shown_amount(amount: Decimal | None, currency: str | None, seller: drafts.Seller) -> str:
    """Format an amount for people; use plain digits while its currency is unknown."""
    if amount is None or currency is None:
        return "" if amount is None else f"{amount:f}"  # Fluent would round it
    return amounts.format_money(amounts.to_minor(amount, currency), currency, seller.language)


def redirect_line(draft: drafts.RequestDraft, seller: drafts.Seller) -> str | None:
    """Return the review's lines: the web address, and whether the receipt is shown first."""
    if draft.redirect_url is None:
        return None
    value = replies.escaped(links.shown_url(draft.redirect_url), _ADDRESS)
    line = seller.text("review-redirect", value=value)
    if not draft.has_receipt_first:
        return line
    return f"{line}\n{seller.text('redirect-receipt-first')}"


def price_of(draft: drafts.RequestDraft, _seller: drafts.Seller) -> typed_text.Price | None:
    """Return the price of a draft; None if it is not set."""
    if draft.amount is None:
        return None
    return typed_text.Price(draft.amount, draft.currency, draft.choice)


def price_words(price: typed_text.Price, seller: drafts.Seller, _now: int | None = None) -> str:
    """Format a price, or the amounts to choose from: `From €3 · suggested €5, €10, €20`.

    The amounts are in plain digits if the currency is unknown. The result is plain text.
    """
    choice, currency = price.choice, price.currency
    if choice is None:
        return shown_amount(price.amount, currency, seller)
    if currency is None:
        return "/".join(f"{each:f}" for each in choice.suggested or (price.amount,))
    first = replies.plain(_short_amount(choice.minimum, currency, seller))
    if choice.maximum is None:
        bounds = seller.text("price-from", amount=first)
    else:
        last = replies.plain(_short_amount(choice.maximum, currency, seller))
        bounds = seller.text("range", first=first, last=last)
    if not choice.suggested:
        return bounds
    suggested = (replies.plain(_short_amount(each, currency, seller)) for each in choice.suggested)
    return seller.text("choice-suggested", bounds=bounds, amounts=", ".join(suggested))


def price_brief(price: typed_text.Price, seller: drafts.Seller) -> str:
    """Return a price for a button: `€5, €10, €20`, or the minimum."""
    choice, currency = price.choice, price.currency
    if choice is None or currency is None:
        return price_words(price, seller)
    if not choice.suggested:
        minimum = _short_amount(choice.minimum, currency, seller)
        return seller.text("price-from", amount=minimum)
    return ", ".join(_short_amount(each, currency, seller) for each in choice.suggested)


def _short_amount(amount: Decimal, currency: str, seller: drafts.Seller) -> str:
    return amounts.format_short(amounts.to_minor(amount, currency), currency, seller.language)


def goal_words(goal: tuple[int, str | None], seller: drafts.Seller, _now: int | None = None) -> str:
    """Format a goal, which is in minor units of its currency."""
    minor, currency = goal
    return amounts.format_short(minor, currency, seller.language) if currency else ""


def goal_question(draft: drafts.RequestDraft, seller: drafts.Seller) -> str:
    """Ask for the goal, in the currency of the price."""
    currency = draft.currency or typed_text.USUAL
    reached = Decimal(amounts.example(currency)) * 200
    meant = replies.escaped(_short_amount(reached, currency, seller))
    return seller.text("ask-goal", example=f"{reached:f}", meant=meant)


def amount_question(draft: drafts.RequestDraft, seller: drafts.Seller) -> str:
    """Ask for the price, in the usual currency if there is one."""
    usual = draft.currency or seller.currency
    hint = seller.text("ask-amount-hint")
    if usual is not None:
        typed = amounts.example(usual)
        meant = replies.escaped(shown_amount(Decimal(typed), usual, seller))
        other = typed_text.example_price("EUR" if usual != "EUR" else "USD")
        hint = seller.text("ask-amount-usual", example=typed, meant=meant, other=other)
    lines = [seller.text(f"ask-amount-{draft.kind}"), hint]
    if draft.kind in CHOICE_OFFERED and seller.paid_at.is_embedded:
        code = usual or typed_text.USUAL
        suggested = shares_and_amounts.usual_choice(code).suggested
        several = "/".join(f"{each:f}" for each in suggested) + f" {code}"
        lines.append(seller.text("ask-amount-choice", several=several))
    return "\n".join(lines)


def goods_question(draft: drafts.RequestDraft, seller: drafts.Seller) -> str:
    """Ask what buyers get, or which meaning of the last message is right.

    In an edit, explain what earlier buyers keep.
    """
    if not draft.readings:
        question = seller.text("ask-goods")
        if draft.form != "edit":
            return question
        kind = draft.goods.kind if draft.goods else "none"
        return f"{question}\n\n{seller.text('ask-goods-earlier', kind=kind)}"
    lists = [one for one in draft.readings if one.kind == request_spec.CODES]
    if not lists:
        return seller.text("ask-whole-goods")
    key = "ask-which-goods" if len(draft.readings) > 1 else "ask-long-goods"
    question = seller.text(key, count=lists[0].count or 0, most=fields.MAX_DELIVERED_TEXT)
    return "\n".join(filter(None, [question, ends_line(lists[0], seller.language)]))


def file_question(draft: drafts.NewDraft, seller: drafts.Seller) -> str:
    """Ask whether buyers get a file that was sent with another answer, perhaps in an album."""
    file = draft.file
    question = seller.text("ask-file", name=replies.escaped(file.name if file else "", _FILE_NAME))
    if file is None or file.album_id is None:
        return question
    return f"{question}\n\n{seller.text('ask-file-album')}"


def units_line(draft: drafts.RequestDraft, seller: drafts.Seller) -> str | None:
    """Return the number of units; for an existing request, the units left."""
    if not draft.units:
        return None
    if draft.form == "edit":
        return seller.text("left", left=draft.units)
    return seller.text("review-units", value=draft.units)


def destination_question(draft: drafts.Draft, seller: drafts.Seller) -> str:
    """Ask where the money goes, in the terms of the service that pays it out."""
    service = seller.paid_at
    if service.rails:
        about = (seller.text(f"payout-about-{kind}") for kind in service.rails)
        return "\n\n".join([seller.text("payout-first"), *about])
    is_setting = draft.form == "settings"
    kind = "handcash" if service.is_handcash else "other" if service.host else "test"
    parts = [
        seller.text("ask-destination-settings" if is_setting else "ask-destination"),
        seller.text(f"destination-{kind}", host=replies.escaped(service.host or "")),
        seller.text("destination-later" if is_setting else "destination-kept"),
    ]
    return "\n".join(parts)


def unpaid_currency(currency: str | None, seller: drafts.Seller) -> str | None:
    """Return a warning if no account of the seller takes this currency; None if an account does."""
    accounts = seller.accounts
    if currency is None or not accounts or any(one.takes(currency) for one in accounts):
        return None
    taken = ", ".join(dict.fromkeys(code for account in accounts for code in account.currencies))
    key = "payout-no-way" if payout.LIGHTNING in seller.paid_at.rails else "payout-no-way-bank"
    return seller.text(key, taken=taken, currency=replies.escaped(currency))


def seller_line(draft: drafts.RequestDraft, seller: drafts.Seller) -> str | None:
    """Return the name that payers see, if the seller has set it."""
    if draft.form != "new" or seller.profile.name is None:
        return None
    name, kind = replies.escaped(seller.profile.name), draft.kind or ""
    return seller.text("review-seller", value=name, kind=kind)


def destination_line(draft: drafts.RequestDraft, seller: drafts.Seller) -> str | None:
    """Return where all of the money goes, or why it can't be paid yet.

    None if several receivers share the money.
    """
    if draft.receivers or seller.destination is None:
        return None
    if not seller.paid_at.rails:
        return seller.text("review-destination", value=replies.escaped(seller.destination))
    if not seller.accounts:
        return seller.text("payout-review-none")
    if warning := unpaid_currency(draft.currency, seller):
        return warning
    fitting = [one for one in seller.accounts if draft.currency and one.takes(draft.currency)]
    labels = (f"<code>{replies.escaped(one.label, _HANDLE)}</code>" for one in fitting)
    return seller.text("payout-review", accounts=", ".join(labels))


def receivers_question(draft: drafts.RequestDraft, seller: drafts.Seller) -> str:
    """Ask who shares the price, below the current receivers' problem if there is one."""
    price = replies.escaped(shown_amount(draft.amount, draft.currency, seller))
    question = seller.text("ask-receivers", price=price)
    shares = shares_and_amounts.shares_of(draft)
    if draft.choice:
        question = f"{question}\n{seller.text('receivers-scaled')}"
    if isinstance(shares, replies.Problem):
        return f"{shares.text(seller.language)}\n\n{question}"
    return question


def receivers_line(draft: drafts.RequestDraft, seller: drafts.Seller) -> str | None:
    """List the receivers with their amounts, and count the receivers that are not listed."""
    if not draft.receivers:
        return None
    language, shares = seller.language, shares_and_amounts.shares_of(draft)
    if isinstance(shares, replies.Problem):
        pairs = [(portion.destination, portion.measure) for portion in draft.receivers]
    else:
        currency = draft.currency or ""
        pairs = [
            (share.destination, amounts.format_money(share.amount, currency, language))
            for share in shares
        ]
    lines = []
    for who, share in pairs[:SHOWN_RECEIVERS]:
        words = {"destination": replies.escaped(who, _HANDLE), "share": replies.escaped(share)}
        lines.append(seller.text("review-receiver", **words))
    if more := len(pairs) - len(lines):
        lines.append(seller.text("review-receivers-more", count=more))
    if draft.choice:
        lines.append(seller.text("receivers-scaled"))
    return "\n".join([seller.text("review-receivers"), *lines])


def fit_line(goods: request_spec.Goods, units: int | None, language: str) -> str:
    """Compare the codes with the units on sale; `units` is None if unlimited."""
    count = goods.count or 0
    if units is None:
        return translations.t(language, "goods-codes", count=count)
    key = "fits" if count == units else "few" if count < units else "many"
    return translations.t(
        language, f"goods-codes-{key}", count=count, pieces=units, off=abs(units - count)
    )


def goods_words(goods: request_spec.Goods, seller: drafts.Seller, _now: int | None = None) -> str:
    """Return what buyers get, as one line of plain text; for a file `album.zip, 3.2 MB`."""
    if goods.kind == request_spec.CODES:
        return seller.text("goods-codes", count=goods.count or 0)
    if goods.kind == request_spec.TEXT:
        return goods.text or ""
    size = translations.file_size(goods.size or 0, seller.language)
    return seller.text("goods-file", name=goods.name or "", size=size)


def goods_brief(goods: request_spec.Goods, seller: drafts.Seller) -> str:
    """Return what buyers get in a word or two, for a button."""
    if goods.kind == request_spec.TEXT:
        return seller.text("goods-brief-text")
    return goods.name or "" if goods.kind == request_spec.FILE else goods_words(goods, seller)


def goods_line(draft: drafts.RequestDraft, seller: drafts.Seller) -> str | None:
    """Return the review's lines: what buyers get, and for codes also the units on sale."""
    goods, language = draft.goods, seller.language
    if goods is None:
        return None
    if goods.kind != request_spec.CODES:
        value = replies.escaped(goods_words(goods, seller), _SHOWN_TEXT)
        return seller.text("review-goods", value=value)
    units = 1 if draft.kind == "oneoff" else draft.units
    fit = seller.text("review-goods", value=fit_line(goods, units, language))
    return "\n".join(filter(None, [fit, ends_line(goods, language)]))


def ends_line(goods: request_spec.Goods, language: str) -> str | None:
    """Return the first and the last of several codes, so that a seller notices a heading."""
    if goods.first is None or goods.last is None or (goods.count or 0) <= 1:
        return None
    return translations.t(
        language, "goods-ends", first=replies.escaped(goods.first), last=replies.escaped(goods.last)
    )
