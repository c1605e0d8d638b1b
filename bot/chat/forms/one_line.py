"""The one-line forms: `/donation 5 USD Coffee for the team` creates a request at once."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import takewhile
from typing import Any

from bot.chat.forms import field_texts, flow, inputs, shares_and_amounts, typed_text
from bot.chat.model import drafts, replies
from bot.core.money import amounts
from bot.core.text import sanitize

NAME_TOO_LONG = "problem-name-long"
_GROUP = re.compile(r"[0-9]{3}")
_QUOTED = 32  # UTF-16 units of an amount in an example


def one_line(
    kind: str,
    arguments: str,
    draft_id: str,
    seller: drafts.Seller,
    current: drafts.Draft | None = None,
    *,
    sent: drafts.Enclosure | None = None,
) -> flow.FormResult:
    """Create a request from one line, or reply with the correct form of the line.

    The form first asks about an ambiguous amount, and for a destination if none is saved. A seller
    without a payout account continues in the guided form, which waits until an account is
    connected.

    If a photo was `sent` with a complete line, the request is created after the photo has arrived.
    With any other file, the guided form continues too, so that nobody pays for a missing file.
    """
    words, units = arguments.split(), None
    if kind == "drop":
        read = typed_text.read_units(words[0]) if words else replies.Problem("line-no-units")
        if isinstance(read, replies.Problem):
            return _wrong(read, seller, sent, current, kind)
        units, words = read, words[1:]
    line = read_line(words, may_choose=seller.paid_at.is_embedded)
    if isinstance(line, replies.Problem):
        return _wrong(line, seller, sent, current, kind)
    price, name = line
    if (
        isinstance(price, typed_text.Price)
        and price.choice is None  # amounts to choose from are parsed more strictly
        and typed_text.may_be_grouped(words[0], price.currency)
    ):  # nobody has seen how `5.001 USD` was read, so it creates nothing
        meant = replies.escaped(field_texts.shown_amount(price.amount, price.currency, seller))
        example = f"{price.amount:f} {price.currency}"
        unsure = replies.Problem("line-amount-grouped", {"meant": meant, "example": example})
        return _wrong(unsure, seller, sent, current, kind)
    asks, paused = not seller.has_destination, flow.new_form_under_way(current)
    given: dict[str, Any] = {"kind": kind, "name": name, "units": units, "currency": price.currency}
    if (sent is None or sent.is_photo) and not (seller.paid_at.rails and asks):
        draft = drafts.LineDraft(id=draft_id, step="amount", paused=paused, **given)
        result = inputs.take_price(draft, price, seller)
        if sent is None:
            return result
        if result.spec is not None:
            return replace(result, photo=sent.photo)
    paused = paused and replace(paused, paused=None)
    guided = drafts.NewDraft(
        id=draft_id, step="amount", paused=paused, asks_destination=asks, **given
    )
    return flow.enclose(guided, sent, seller, lambda draft: inputs.take_price(draft, price, seller))


def offer_line(
    text: str, draft_id: str, seller: drafts.Seller, sent: drafts.Enclosure | None = None
) -> flow.FormResult | None:
    """Begin a request with the price and the name of a plain text, such as `5 USD Coffee`.

    `100 2.50 USD Pack` starts with the units of a drop. For `5 10 20 USD Coffee`, the reply asks
    what is meant. Returns None for any other text, and for `2 500 USD Chair`, which may mean two
    chairs or one expensive chair.
    """
    words = text.split()
    units, may_choose = None, seller.paid_at.is_embedded
    whole = line = read_line(words, may_choose=may_choose)
    is_long = isinstance(line, replies.Problem) and line.key == NAME_TOO_LONG
    may_have_units = isinstance(line, replies.Problem) and not is_long and bool(words)
    if may_have_units and not _GROUP.fullmatch("".join(words[1:2])):
        found = typed_text.read_units(words[0])
        if isinstance(found, int):
            units, line = found, read_line(words[1:], may_choose=may_choose)
    if isinstance(line, replies.Problem):
        if isinstance(whole, replies.Problem) and _has_bare_amounts(words):
            line = whole
        elif line.key != NAME_TOO_LONG and not line.key.startswith("problem-choice"):
            return None
        return _wrong(line, seller, sent)
    price, name = line
    draft = drafts.NewDraft(
        id=draft_id,
        step="amount",
        kind="drop" if units else None,
        name=name,
        currency=price.currency,
        units=units,
        asks_destination=not seller.has_destination,
    )

    def go(draft: drafts.NewDraft) -> flow.FormResult:
        if isinstance(price, typed_text.Price):
            key = "offer-line" if price.choice is None else "offer-line-choice"
            shown = replies.escaped(field_texts.price_words(price, seller))
            note = seller.text(key, name=replies.escaped(name), amount=shown)
            return flow.go_on(
                replace(draft, amount=price.amount, choice=price.choice), seller, note
            )
        if draft.kind is None:  # the form asks later which amount is meant
            unclear = seller.text("offer-line-unclear", name=replies.escaped(name))
            return flow.go_on(draft, seller, unclear)
        return inputs.take_price(draft, price, seller)

    return flow.enclose(draft, sent, seller, go)


def _wrong(
    problem: replies.Problem,
    seller: drafts.Seller,
    sent: drafts.Enclosure | None,
    current: drafts.Draft | None = None,
    kind: str | None = None,
) -> flow.FormResult:
    """Reply with the problem, and the form of a kind's line; an open form stays open."""
    parts = [problem.text(seller.language)]
    if kind is not None:
        parts.append(seller.text(f"line-form-{kind}"))
    if sent is not None:
        parts.append(seller.text("file-unused-line"))
    return flow.FormResult(current, (replies.Reply("\n\n".join(parts)),))


# Parsing of the amount and the name in one line.


def _has_bare_amounts(words: list[str]) -> bool:
    """True if at least three whole numbers precede a currency."""
    numbers = [*takewhile(str.isdecimal, words)]
    return len(numbers) > 2 and "".join(words[len(numbers) :][:1]) in amounts.currencies()  # noqa: PLR2004 - more than a pair


def read_line(
    words: list[str], *, may_choose: bool
) -> tuple[typed_text.Price | typed_text.AmbiguousAmount, str] | replies.Problem:
    """Parse `5 USD Coffee`, `$5 Coffee` or `3+ 5/10/20 USD Coffee`.

    `may_choose` is True if the service supports amounts to choose from.
    """
    words = shares_and_amounts.joined_marks([*filter(sanitize.typed, words)])
    if not words:
        return replies.Problem("line-no-amount")
    count = shares_and_amounts.count_words(words)
    amount, rest = " ".join(words[:count]), words[count:]
    price = shares_and_amounts.read_amounts(amount, None, may_choose=may_choose)
    if isinstance(price, replies.Problem):
        if rest and rest[0] in amounts.currencies():  # an example in that currency helps more
            again = shares_and_amounts.read_amounts(amount, rest[0], may_choose=may_choose)
            return again if isinstance(again, replies.Problem) else price
        return price
    if price.currency is None:
        price, rest = _with_currency(amount, rest, may_choose=may_choose), rest[1:]
    elif rest and typed_text.read_code(rest[0]) == price.currency:
        rest = rest[1:]
    elif rest and rest[0] in amounts.currencies():
        return replies.Problem("line-two-currencies", {"one": price.currency, "other": rest[0]})
    if isinstance(price, replies.Problem):
        return price
    if may_choose and _has_suggestions(price, rest):
        return replies.Problem("line-choice-order")
    name = typed_text.read_name(" ".join(rest))
    return name if isinstance(name, replies.Problem) else (price, name)


def _has_suggestions(price: typed_text.Price | typed_text.AmbiguousAmount, rest: list[str]) -> bool:
    """True if the word after a price has suggested amounts, unlike the name `24/7 Support`.

    The word has amounts if it contains or precedes a currency, if it is the last word, or if the
    price is only a minimum.
    """
    if not rest or not shares_and_amounts.is_choice(rest[0]):
        return False
    is_minimum = isinstance(price, typed_text.Price) and price.choice and not price.choice.suggested
    if is_minimum or not rest[1:] or shares_and_amounts.names_currency(rest[0]):
        return True
    return rest[1] in amounts.currencies() or typed_text.read_code(rest[1]) == price.currency


def _with_currency(
    amount: str, rest: list[str], *, may_choose: bool
) -> typed_text.Price | typed_text.AmbiguousAmount | replies.Problem:
    """Parse the amount in the currency that follows it.

    A capitalised word is not a currency: "5 Cup of tea" has nothing to do with Cuban pesos.
    """
    if not rest or rest[0].istitle():
        return replies.Problem("line-no-currency")
    if rest[0].isdecimal():
        return _spaced(amount, rest, may_choose=may_choose)
    if may_choose and shares_and_amounts.is_choice(rest[0]):  # `1 000/2 000`
        typed = replies.escaped(f"{amount} {rest[0]}", _QUOTED)
        return replies.Problem("problem-choice-unclear", {"typed": typed})
    code = typed_text.read_code(rest[0])
    return (
        code if isinstance(code, replies.Problem) else shares_and_amounts.read_amounts(amount, code)
    )


def _spaced(amount: str, rest: list[str], *, may_choose: bool) -> replies.Problem:
    """Return the Problem for several bare numbers (`1 000`, `5 10 20`) or for `3+ 5`."""
    if shares_and_amounts.is_choice(amount) and may_choose:
        return replies.Problem("line-choice-order")
    numbers = [amount, *takewhile(str.isdecimal, rest)]
    code = next(iter(rest[len(numbers) - 1 :]), "")
    currency = code if code in amounts.currencies() else typed_text.USUAL
    has_zeros = any(each.startswith("0") for each in numbers)  # `1 000 000` is one number
    one = "".join(numbers) if has_zeros or len(numbers) == 2 else amount  # noqa: PLR2004 - a pair
    single = replies.escaped(f"{one} {currency}", _QUOTED)
    if not may_choose or has_zeros:
        return replies.Problem("line-amount-spaced", {"example": single})
    several = replies.escaped(f"{'/'.join(numbers)} {currency}", _QUOTED)
    return replies.Problem("line-amount-or-choice", {"example": single, "several": several})
