"""A claim as a message to its seller: has the money arrived? And how a payment was paid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.cards.card_text import short_moment
from bot.chat.cards.rail_text import reference_line, way_text
from bot.chat.messages.reply import DANGER, SUCCESS, Button, Reply, escaped
from bot.chat.store.claims import REJECTED, WAITING
from bot.core.money.amounts import format_money
from bot.core.text.translations import t

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.chat.messages.reply import Rows
    from bot.chat.model.draft import Seller
    from bot.chat.store.claims import Claim
    from bot.chat.store.listings import Listing

# Limits in UTF-16 units.
_NAME = 200

IN_LIST = "list"
"""The last word of a button that is not in its claim's own message: the list of all follows."""

IN_DIGEST = "digest"
"""The same for a button of a link's digest, which is shown again."""


def claim_reply(
    claim: Claim, listing: Listing, seller: Seller, now: int, *, is_reminder: bool = False
) -> Reply:
    """Render a claim as it stands at `now` (epoch ms), with the buttons that it has."""
    lines = [
        claim_head(claim, listing, seller, now),
        *reference_line(claim.reference, seller.language),
    ]
    if claim.is_waiting(now):
        moment = _moment(claim.lapses_at, seller)
        lines.append(t(seller.language, "claims-until", moment=moment))
        if is_reminder:
            lines.insert(0, t(seller.language, "claims-reminder"))
    return Reply("\n".join(lines), _rows(claim, now, seller.language))


def claim_head(claim: Claim, listing: Listing, seller: Seller, now: int) -> str:
    """Return the amount, the product, and what is known of the money at `now` (epoch ms)."""
    language = seller.language
    return t(
        language,
        f"claims-{_standing(claim, now)}",
        amount=claim_amount(claim, language),
        name=escaped(listing.wish.name, _NAME),
        how=way_text(claim.kind, language),
        kind=claim.kind,
        moment=_moment(claim.lapses_at, seller),
    )


def _standing(claim: Claim, now: int) -> str:
    """Return the word for a claim's state in the keys of texts."""
    if claim.state == WAITING and not claim.is_waiting(now):
        return "lapsed"
    return claim.state


def claim_amount(claim: Claim, language: str) -> str:
    """Return the amount of a claim, escaped."""
    return escaped(format_money(claim.amount, claim.currency, language))


def rejection_question(claim: Claim, listing: Listing, language: str) -> Reply:
    """Ask once more before a claim is rejected; the text explains what the payer sees."""
    text = t(
        language,
        "claims-ask-missing",
        amount=claim_amount(claim, language),
        name=escaped(listing.wish.name, _NAME),
        kind=claim.kind,
        product=listing.wish.kind,
    )
    yes = Button(t(language, "button-missing-yes"), ("missing-yes", claim.id), style=DANGER)
    back = Button(t(language, "button-back"), ("claim", claim.id))
    return Reply("\n".join([text, *reference_line(claim.reference, language)]), ((yes,), (back,)))


def waiting_lines(claim: Claim, listing: Listing, seller: Seller) -> str:
    """Return a waiting claim as an entry of a list: amount, product, reference, since and until."""
    entry = t(
        seller.language,
        "claims-entry",
        amount=claim_amount(claim, seller.language),
        name=escaped(listing.wish.name, _NAME),
        since=_listed(claim.claimed_at, seller),
        until=_listed(claim.lapses_at, seller),
    )
    return "\n".join([entry, *_found_by(claim, seller.language)])


def _found_by(claim: Claim, language: str) -> list[str]:
    """Return a claim's reference, and whether its network has claimed much else."""
    lines = reference_line(claim.reference, language)
    if claim.is_doubtful:
        lines.append(t(language, "claims-doubtful", count=claim.unproven))
    return lines


def digest_reply(listed: Sequence[Claim], count: int, listing: Listing, seller: Seller) -> Reply:
    """Render the digest of a listing's claims: how many wait, and the first ones with buttons."""
    language, name = seller.language, escaped(listing.wish.name, _NAME)
    if not listed:
        return Reply(t(language, "claims-digest-done", name=name))
    parts = [t(language, "claims-digest", name=name, count=count)]
    for claim in listed:
        amount, since = claim_amount(claim, language), _moment(claim.claimed_at, seller)
        entry = t(language, "claims-digest-entry", amount=amount, since=since)
        parts.append("\n".join([entry, *_found_by(claim, language)]))
    parts.append(t(language, "claims-digest-all", more=count - len(listed)))
    return Reply("\n\n".join(parts), waiting_rows(listed, language, IN_DIGEST))


def waiting_rows(claims: Sequence[Claim], language: str, place: str = IN_LIST) -> Rows:
    """Return the buttons of claims in a list, a row each, by reference where there are several."""
    return tuple(
        (
            Button(
                _label(one, language, is_only=len(claims) == 1),
                ("received", one.id, place),
                style=SUCCESS,
            ),
            Button(t(language, "button-missing"), ("missing", one.id, place)),
        )
        for one in claims
    )


def accept_rows(claim_id: str, language: str, *place: str) -> Rows:
    """Return the button that confirms underpaid money, which then counts as a sale."""
    action = ("received", claim_id, *place)
    return ((Button(t(language, "button-accept"), action, style=SUCCESS),),)


def _label(claim: Claim, language: str, *, is_only: bool) -> str:
    if is_only:
        return t(language, "button-received")
    amount = format_money(claim.amount, claim.currency, language)
    return t(language, "button-received-of", payment=claim.reference or amount)


def _moment(at: int, seller: Seller) -> str:
    return short_moment(at, seller.zone, seller.language) or ""


def _listed(at: int, seller: Seller) -> str:
    """Return a moment without its time zone, which a list names once, below."""
    return short_moment(at, seller.zone, seller.language, with_zone=False) or ""


def _rows(claim: Claim, now: int, language: str) -> Rows:
    received = ("received", claim.id)
    if claim.is_waiting(now):
        return (
            (
                Button(t(language, "button-received"), received, style=SUCCESS),
                Button(t(language, "button-missing"), ("missing", claim.id)),
            ),
        )
    if claim.state in (WAITING, REJECTED):
        return ((Button(t(language, "button-arrived"), received),),)
    return ()
