"""Messages that ask sellers whether the money of a claim has arrived.

The first claims of a link have separate messages. Further claims are in the link's digest, one
message that is edited as they come and go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.chat.cards import payment_lines
from bot.chat.model import drafts, moments, payloads, queues, replies
from bot.chat.store import claim_rows, link_rows, message_rows, post_rows, seller_rows
from bot.core.database import database
from bot.core.money import amounts
from bot.core.outbox import outbox, queue_policy
from bot.core.text import translations

_NAME = 200  # UTF-16 units

IN_LIST = "list"
"""Last word of a button in the list of claims; the list is shown again after a press."""

IN_DIGEST = "digest"
"""Last word of a button in a link's digest; the digest is shown again after a press."""


def claim_reply(
    claim: claim_rows.Claim,
    link: link_rows.PaymentLink,
    seller: drafts.Seller,
    now: int,
    *,
    is_reminder: bool = False,
) -> replies.Reply:
    """Render a claim with its state at `now` (epoch ms), and its buttons."""
    language, state, is_waiting = seller.language, claim.state, claim.is_waiting(now)
    standing = "lapsed" if state == claim_rows.WAITING and not is_waiting else state
    moment = moments.short_text(claim.lapses_at, seller.zone, language)
    head = translations.t(
        language,
        f"claims-{standing}",
        amount=claim_amount(claim, language),
        name=replies.escaped(link.spec.name, _NAME),
        how=payment_lines.way_text(claim.kind, language),
        kind=claim.kind,
        moment=moment,
    )
    lines = [head, *payment_lines.number_line(claim.reference, language)]
    rows: replies.Rows = ()
    if is_waiting:
        lines.append(translations.t(language, "claims-until", moment=moment))
        if is_reminder:
            lines.insert(0, translations.t(language, "claims-reminder"))
        rows = waiting_rows([claim], language)
    elif state in (claim_rows.WAITING, claim_rows.REJECTED):
        rows = ((replies.text_button(language, "button-arrived", "received", claim.id),),)
    return replies.Reply("\n".join(lines), rows)


def claim_amount(claim: claim_rows.Claim, language: str) -> str:
    """Return the amount of a claim, escaped."""
    return replies.money(claim.amount, claim.currency, language)


def rejection_question(
    claim: claim_rows.Claim, link: link_rows.PaymentLink, language: str
) -> replies.Reply:
    """Ask for confirmation before a claim is rejected; the text explains what the payer sees."""
    text = translations.t(
        language,
        "claims-ask-missing",
        amount=claim_amount(claim, language),
        name=replies.escaped(link.spec.name, _NAME),
        kind=claim.kind,
        product=link.spec.kind,
    )
    yes = replies.text_button(
        language, "button-missing-yes", "missing-yes", claim.id, style=replies.DANGER
    )
    back = replies.text_button(language, "button-back", "claim", claim.id)
    return replies.Reply(
        "\n".join([text, *payment_lines.number_line(claim.reference, language)]),
        ((yes,), (back,)),
    )


def waiting_lines(
    claim: claim_rows.Claim, link: link_rows.PaymentLink, seller: drafts.Seller
) -> str:
    """Return a waiting claim's list entry: amount, product, reference, since and until."""
    since, until = (  # without the time zone, which a list names once at the end
        moments.short_text(at, seller.zone, seller.language, with_zone=False)
        for at in (claim.claimed_at, claim.lapses_at)
    )
    entry = translations.t(
        seller.language,
        "claims-entry",
        amount=claim_amount(claim, seller.language),
        name=replies.escaped(link.spec.name, _NAME),
        since=since,
        until=until,
    )
    return "\n".join([entry, *_found_by(claim, seller.language)])


def _found_by(claim: claim_rows.Claim, language: str) -> list[str]:
    """Return a claim's reference and, if it is doubtful, a warning about its network."""
    lines = payment_lines.number_line(claim.reference, language)
    if claim.is_doubtful:
        lines.append(translations.t(language, "claims-doubtful", count=claim.unproven))
    return lines


def waiting_rows(claims: Sequence[claim_rows.Claim], language: str, *place: str) -> replies.Rows:
    """Return the buttons of waiting claims, one row each, labelled by reference if several.

    `place` is IN_LIST or IN_DIGEST; without it, the claim has its own message.
    """
    rows = []
    for one in claims:
        label = translations.t(language, "button-received")
        if len(claims) > 1:
            shown = one.reference or amounts.format_money(one.amount, one.currency, language)
            label = translations.t(language, "button-received-of", payment=shown)
        received = replies.Button(label, ("received", one.id, *place), style=replies.SUCCESS)
        missing = replies.text_button(language, "button-missing", "missing", one.id, *place)
        rows.append((received, missing))
    return tuple(rows)


def accept_rows(claim_id: str, language: str, *place: str) -> replies.Rows:
    """Return the button that accepts an underpaid payment, which then counts as a sale."""
    action, style = ("received", claim_id, *place), replies.SUCCESS
    return ((replies.text_button(language, "button-accept", *action, style=style),),)


LISTED = 5
"""Maximum claims listed in a digest, each with buttons."""

EDIT_DELAY = 3_000
"""Milliseconds for which changes of a digest are collected into one edit."""


def link_and_seller(
    tx: database.Transaction, link_id: str
) -> tuple[link_rows.PaymentLink, drafts.Seller]:
    """Return a link and its seller."""
    link = link_rows.get_link(tx, link_id)
    return link, seller_rows.find_seller(tx, link.seller_id) or drafts.Seller(
        translations.choose(None)
    )


def show_claim(step: queues.ChatStep, claim_id: str) -> None:
    """Queue the edit that shows a claim's current state in its separate message, if it has one.

    The edit has the alert class, which keeps the order: an alert of the payment that replaces the
    claim's message comes later. If the claim is in a digest, the digest is updated.
    """
    claim = claim_rows.find_claim(step.tx, claim_id)
    if claim is not None and not claim.alone:
        refresh_digest(step, claim.link_id)
    if claim is None or claim.message_id is None:
        return
    link, seller = link_and_seller(step.tx, claim.link_id)
    reply, language = claim_reply(claim, link, seller, step.now), seller.language
    message = payloads.TextMessage(
        reply.text, language, replies.markup(reply.rows), claim.message_id
    )
    queues.put_message(step, str(link.chat_id), message, queue_policy.ALERT)


def record_sent(step: queues.ChatStep, claim_id: str, place: post_rows.MessagePlace) -> None:
    """Store the message that shows a claim, and remove the buttons of the previous one.

    If the claim was decided during sending, the message is updated.
    """
    claim = claim_rows.find_claim(step.tx, claim_id)
    if claim is None:
        return
    move_to(step, claim, place)
    if not claim.is_open(step.now):
        show_claim(step, claim_id)


def move_to(step: queues.ChatStep, claim: claim_rows.Claim, place: post_rows.MessagePlace) -> None:
    """Store a claim's separate message, and remove the buttons of the previous one."""
    if claim.message_id == place.message_id:
        return
    if claim.message_id is not None:
        before = post_rows.MessagePlace(place.lane, claim.message_id)
        message_rows.remove_buttons(step, before)
    claim_rows.set_message(step.tx, claim.id, place.message_id)


def refresh_digest(step: queues.ChatStep, link_id: str) -> None:
    """Queue the edit of a link's digest, if it has a digest and no edit is waiting."""
    digest = claim_rows.find_digest(step.tx, link_id)
    if digest.message_id is None or digest.editing or digest.sending:
        return
    link, seller = link_and_seller(step.tx, link_id)
    key, body = outbox.new_id(step.now), payloads.ClaimDigest(link_id, seller.language)
    queues.put_message(step, str(link.chat_id), body, key=key, due_at=step.now + EDIT_DELAY)
    claim_rows.save_digest(step.tx, replace(digest, editing=key))


def record_digest(step: queues.ChatStep, link_id: str, place: post_rows.MessagePlace) -> None:
    """Store the message that shows a digest, and delete the previous one.

    The digest is edited once more, because claims may have changed during sending.
    """
    digest = claim_rows.find_digest(step.tx, link_id)
    if digest.message_id == place.message_id:
        return
    if digest.message_id is not None:
        message_rows.remove_buttons(step, post_rows.MessagePlace(place.lane, digest.message_id))
    claim_rows.save_digest(step.tx, replace(digest, message_id=place.message_id))
    refresh_digest(step, link_id)


def digest_of(tx: database.Transaction, link_id: str, now: int) -> replies.Reply:
    """Return the digest of a link's claims at `now` (epoch ms).

    It has the number of claims, and buttons of the first. An empty digest has no buttons.
    """
    link, seller = link_and_seller(tx, link_id)
    listed, count = claim_rows.digest_claims(tx, link_id, now, LISTED)
    language, name = seller.language, replies.escaped(link.spec.name, _NAME)
    if not listed:
        return replies.Reply(translations.t(language, "claims-digest-done", name=name))
    parts = [translations.t(language, "claims-digest", name=name, count=count)]
    for claim in listed:
        amount = claim_amount(claim, language)
        since = moments.short_text(claim.claimed_at, seller.zone, language)
        entry = translations.t(language, "claims-digest-entry", amount=amount, since=since)
        parts.append("\n".join([entry, *_found_by(claim, language)]))
    parts.append(translations.t(language, "claims-digest-all", more=count - len(listed)))
    return replies.Reply("\n\n".join(parts), waiting_rows(listed, language, IN_DIGEST))
