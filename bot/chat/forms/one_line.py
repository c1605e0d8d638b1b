"""The one-line forms: `/donation 5 USD Coffee for the team` creates at once."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, TypeGuard

from bot.chat.fields import typed_text
from bot.chat.fields.line_text import has_bare_amounts, read_line
from bot.chat.fields.typed_text import Price
from bot.chat.fields.wording import price_words, shown_amount
from bot.chat.forms.flow import enclose, go_on, new_form_under_way
from bot.chat.forms.inputs import take_price
from bot.chat.forms.outcome import Outcome
from bot.chat.messages.reply import Problem, Reply, escaped
from bot.chat.model.draft import Draft, Seller
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.fields.typed_text import AmbiguousAmount
    from bot.chat.model.attachment import Enclosure

NAME_TOO_LONG = "problem-name-long"
_GROUP = re.compile(r"[0-9]{3}")


def one_line(
    kind: str,
    arguments: str,
    draft_id: str,
    seller: Seller,
    current: Draft | None = None,
    *,
    sent: Enclosure | None = None,
) -> Outcome:
    """Create a request from one line, or reply with the right form of the line.

    Only an ambiguous amount, and a destination where none is saved, is asked for first. A seller
    without a payout account goes on in the guided form, which waits while one is connected.

    Where a photo was `sent` with a complete line, the request is created once the photo is here.
    With any other file the line goes on in the guided form too: nobody pays for what isn't there.
    """
    words, units = arguments.split(), None
    if kind == "drop":
        read = typed_text.read_units(words[0]) if words else Problem("line-no-units")
        if isinstance(read, Problem):
            return _wrong(kind, read, seller, current, sent)
        units, words = read, words[1:]
    line = _read(words, seller)
    if isinstance(line, Problem):
        return _wrong(kind, line, seller, current, sent)
    price, name = line
    if _is_unseen(price) and typed_text.may_be_grouped(words[0], price.currency):
        return _wrong(kind, _unsure(price, seller), seller, current, sent)
    asks = not seller.has_destination
    paused = new_form_under_way(current)
    draft = Draft(
        draft_id,
        "line",
        "amount",
        kind=kind,
        name=name,
        currency=price.currency,
        units=units,
        paused=paused,
    )
    if (sent is None or sent.is_photo) and not (seller.paid_at.rails and asks):
        outcome = take_price(draft, price, seller)
        if sent is None:
            return outcome
        if outcome.wish is not None:
            return replace(outcome, photo=sent.photo)
    paused = paused and replace(paused, paused=None)
    guided = replace(draft, form="new", asks_destination=asks, paused=paused)
    return enclose(guided, sent, seller, lambda draft: take_price(draft, price, seller))


def offer_line(
    text: str, draft_id: str, seller: Seller, sent: Enclosure | None = None
) -> Outcome | None:
    """Begin a request with the price and the name of a plain text, such as `5 USD Coffee`.

    `100 2.50 USD Pack` has the units of a drop before them, and `5 10 20 USD Coffee` is asked
    about. None for any other text, and for `2 500 USD Chair`, which may be two chairs or a dear
    one.
    """
    words = text.split()
    units, line = None, _read(words, seller)
    whole = line
    is_long = isinstance(line, Problem) and line.key == NAME_TOO_LONG
    may_have_units = isinstance(line, Problem) and not is_long and bool(words)
    if may_have_units and not _GROUP.fullmatch("".join(words[1:2])):
        found = typed_text.read_units(words[0])
        if isinstance(found, int):
            units, line = found, _read(words[1:], seller)
    if isinstance(line, Problem):
        if isinstance(whole, Problem) and has_bare_amounts(words):
            line = whole
        elif line.key != NAME_TOO_LONG and not line.key.startswith("problem-choice"):
            return None
        parts = [line.text(seller.language)]
        if sent is not None:
            parts.append(t(seller.language, "file-unused-line"))
        return Outcome(None, (Reply("\n\n".join(parts)),))
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

    def go(draft: Draft) -> Outcome:
        if isinstance(price, Price):
            key = "offer-line" if price.choice is None else "offer-line-choice"
            shown = escaped(price_words(price, seller))
            note = t(seller.language, key, name=escaped(name), amount=shown)
            return go_on(replace(draft, amount=price.amount, choice=price.choice), seller, note)
        if draft.kind is None:  # which amount is asked about in its turn
            unclear = t(seller.language, "offer-line-unclear", name=escaped(name))
            return go_on(draft, seller, unclear)
        return take_price(draft, price, seller)

    return enclose(draft, sent, seller, go)


def _wrong(
    kind: str, problem: Problem, seller: Seller, current: Draft | None, sent: Enclosure | None
) -> Outcome:
    """Reply with the problem and the right form of the line; the form under way stays."""
    parts = [problem.text(seller.language), t(seller.language, f"line-form-{kind}")]
    if sent is not None:
        parts.append(t(seller.language, "file-unused-line"))
    return Outcome(current, (Reply("\n\n".join(parts)),))


def _is_unseen(price: Price | AmbiguousAmount) -> TypeGuard[Price]:
    """Return whether it is one price; amounts to choose from are read more strictly."""
    return isinstance(price, Price) and price.choice is None


def _unsure(price: Price, seller: Seller) -> Problem:
    """Return the Problem of `5.001 USD`: a price that nobody has seen creates nothing."""
    meant = escaped(shown_amount(price.amount, price.currency, seller))
    example = f"{price.amount:f} {price.currency}"
    return Problem("line-amount-grouped", {"meant": meant, "example": example})


def _read(words: list[str], seller: Seller) -> tuple[Price | AmbiguousAmount, str] | Problem:
    return read_line(words, may_choose=seller.paid_at.is_embedded)
