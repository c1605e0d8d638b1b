"""The one-line forms: `/donation 5 USD Coffee for the team` creates at once."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.fields import typed_text
from bot.chat.fields.typed_text import Price
from bot.chat.fields.wording import shown_amount
from bot.chat.forms.flow import go_on, new_form_under_way
from bot.chat.forms.inputs import take_price
from bot.chat.forms.outcome import Outcome
from bot.chat.messages.reply import Problem, Reply, escaped
from bot.chat.model.draft import Draft, Seller
from bot.core.money.amounts import currencies
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.fields.typed_text import AmbiguousAmount


_QUOTED = 32  # UTF-16 units of an amount in an example
NAME_TOO_LONG = "problem-name-long"
_GROUP = re.compile(r"[0-9]{3}")


def one_line(
    kind: str, arguments: str, draft_id: str, seller: Seller, current: Draft | None = None
) -> Outcome:
    """Create a request from one line, or reply with the right form of the line.

    Only an ambiguous amount, and a destination where none is saved, is asked for first. A seller
    without a payout account goes on in the guided form, which waits while one is connected.
    """
    words, units = arguments.split(), None
    if kind == "drop":
        read = typed_text.read_units(words[0]) if words else Problem("line-no-units")
        if isinstance(read, Problem):
            return _wrong(kind, read, seller, current)
        units, words = read, words[1:]
    line = _read_line(words)
    if isinstance(line, Problem):
        return _wrong(kind, line, seller, current)
    price, name = line
    if isinstance(price, Price) and typed_text.may_be_grouped(words[0], price.currency):
        return _wrong(kind, _unsure(price, seller), seller, current)
    is_guided = bool(seller.paid_at.rails) and not seller.has_destination
    draft = Draft(
        draft_id,
        "new" if is_guided else "line",
        "amount",
        kind=kind,
        name=name,
        currency=price.currency,
        units=units,
        asks_destination=is_guided,
        paused=new_form_under_way(current),
    )
    return take_price(draft, price, seller)


def offer_line(text: str, draft_id: str, seller: Seller) -> Outcome | None:
    """Begin a request with the price and the name of a plain text, such as `5 USD Coffee`.

    `100 2.50 USD Pack` has the units of a drop before them. None for any other text, and for
    `2 500 USD Chair`, which may be two chairs or a dear one.
    """
    words = text.split()
    units, line = None, _read_line(words)
    if isinstance(line, Problem) and line.key == NAME_TOO_LONG:
        return Outcome(None, (Reply(line.text(seller.language)),))
    if isinstance(line, Problem) and words and not _GROUP.fullmatch("".join(words[1:2])):
        units, line = typed_text.read_units(words[0]), _read_line(words[1:])
    if isinstance(line, Problem) or isinstance(units, Problem):
        return None
    price, name = line
    draft = Draft(
        draft_id,
        "new",
        "amount",
        kind="drop" if units else None,
        name=name,
        currency=price.currency,
        units=units,
        asks_destination=not seller.has_destination,
    )
    if isinstance(price, Price):
        shown = escaped(shown_amount(price.amount, price.currency, seller))
        note = t(seller.language, "offer-line", name=escaped(name), amount=shown)
        return go_on(replace(draft, amount=price.amount), seller, note)
    if draft.kind is None:  # which amount is asked about in its turn
        return go_on(draft, seller, t(seller.language, "offer-line-unclear", name=escaped(name)))
    return take_price(draft, price, seller)


def _wrong(kind: str, problem: Problem, seller: Seller, current: Draft | None) -> Outcome:
    """Reply with the problem and the right form of the line; the form under way stays."""
    language = seller.language
    text = f"{problem.text(language)}\n\n{t(language, f'line-form-{kind}')}"
    return Outcome(current, (Reply(text),))


def _unsure(price: Price, seller: Seller) -> Problem:
    """Return the Problem of `5.001 USD`: a price that nobody has seen creates nothing."""
    meant = escaped(shown_amount(price.amount, price.currency, seller))
    example = f"{price.amount:f} {price.currency}"
    return Problem("line-amount-grouped", {"meant": meant, "example": example})


def _read_line(words: list[str]) -> tuple[Price | AmbiguousAmount, str] | Problem:
    """Parse `5 USD Coffee` or `$5 Coffee`."""
    if not words:
        return Problem("line-no-amount")
    price, rest = typed_text.read_price(words[0], None), words[1:]
    if isinstance(price, Problem):
        return price
    if price.currency is None:
        price, rest = _with_currency(words), words[2:]
    elif rest and typed_text.read_code(rest[0]) == price.currency:
        rest = rest[1:]
    elif rest and rest[0] in currencies():
        return Problem("line-two-currencies", {"one": price.currency, "other": rest[0]})
    if isinstance(price, Problem):
        return price
    name = typed_text.read_name(" ".join(rest))
    return name if isinstance(name, Problem) else (price, name)


def _with_currency(words: list[str]) -> Price | AmbiguousAmount | Problem:
    """Parse the amount in the currency of the second word.

    A capitalised word is no currency: "5 Cup of tea" has nothing to do with Cuban pesos.
    """
    if len(words) == 1 or words[1].istitle():
        return Problem("line-no-currency")
    if words[1].isdecimal():
        example = f"{words[0]}{words[1]} {typed_text.USUAL}"
        return Problem("line-amount-spaced", {"example": escaped(example, _QUOTED)})
    code = typed_text.read_code(words[1])
    return code if isinstance(code, Problem) else typed_text.read_price(words[0], code)
