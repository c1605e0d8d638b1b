"""The one-line forms: `/donation 5 USD Coffee for the team` creates a request at once."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, TypeGuard

from bot.chat.forms import field_texts, flow, inputs, line_text, typed_text
from bot.chat.model import drafts, replies

NAME_TOO_LONG = "problem-name-long"
_GROUP = re.compile(r"[0-9]{3}")


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
            return _wrong(kind, read, seller, current, sent)
        units, words = read, words[1:]
    line = _read(words, seller)
    if isinstance(line, replies.Problem):
        return _wrong(kind, line, seller, current, sent)
    price, name = line
    if _is_unseen(price) and typed_text.may_be_grouped(words[0], price.currency):
        # nobody has seen how `5.001 USD` was read, so it creates nothing
        meant = replies.escaped(field_texts.shown_amount(price.amount, price.currency, seller))
        example = f"{price.amount:f} {price.currency}"
        unsure = replies.Problem("line-amount-grouped", {"meant": meant, "example": example})
        return _wrong(kind, unsure, seller, current, sent)
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
    units, line = None, _read(words, seller)
    whole = line
    is_long = isinstance(line, replies.Problem) and line.key == NAME_TOO_LONG
    may_have_units = isinstance(line, replies.Problem) and not is_long and bool(words)
    if may_have_units and not _GROUP.fullmatch("".join(words[1:2])):
        found = typed_text.read_units(words[0])
        if isinstance(found, int):
            units, line = found, _read(words[1:], seller)
    if isinstance(line, replies.Problem):
        if isinstance(whole, replies.Problem) and line_text.has_bare_amounts(words):
            line = whole
        elif line.key != NAME_TOO_LONG and not line.key.startswith("problem-choice"):
            return None
        parts = [line.text(seller.language)]
        if sent is not None:
            parts.append(seller.text("file-unused-line"))
        return flow.FormResult(None, (replies.Reply("\n\n".join(parts)),))
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
    kind: str,
    problem: replies.Problem,
    seller: drafts.Seller,
    current: drafts.Draft | None,
    sent: drafts.Enclosure | None,
) -> flow.FormResult:
    """Reply with the problem and the correct form of the line; an open form stays open."""
    parts = [problem.text(seller.language), seller.text(f"line-form-{kind}")]
    if sent is not None:
        parts.append(seller.text("file-unused-line"))
    return flow.FormResult(current, (replies.Reply("\n\n".join(parts)),))


def _is_unseen(price: typed_text.Price | typed_text.AmbiguousAmount) -> TypeGuard[typed_text.Price]:
    """True for a single price; amounts to choose from are parsed more strictly."""
    return isinstance(price, typed_text.Price) and price.choice is None


def _read(
    words: list[str], seller: drafts.Seller
) -> tuple[typed_text.Price | typed_text.AmbiguousAmount, str] | replies.Problem:
    return line_text.read_line(words, may_choose=seller.paid_at.is_embedded)
