"""Where a seller gets paid: the pages of payout accounts, their jobs, and what is kept secret."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.fields.payout_fields import has_key, is_connection
from bot.chat.forms import payout_form
from bot.chat.forms.outcome import PROBE
from bot.chat.forms.sellers import payout_texts
from bot.chat.messages.jobs import ConnectAccount, RemoveAccount
from bot.chat.messages.payloads import SecretRemoval
from bot.chat.messages.queues import WALLETS
from bot.chat.messages.reply import Reply
from bot.chat.model.payout import BANK, LNBITS, NWC, PAYOUT_STEPS, SECRETS, owner_ref
from bot.chat.store import listings, payouts
from bot.core import exact_json
from bot.core.outbox import outbox

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.chat.dialogue.event_context import EventContext
    from bot.chat.dialogue.events import MessageEvent
    from bot.chat.forms.outcome import Outcome
    from bot.chat.messages.jobs import AccountJob
    from bot.chat.model.draft import Draft
    from bot.core.database.vault import Vault


def show_accounts(context: EventContext) -> None:
    """Show where the seller gets paid, with the ways that can be connected."""
    context.reply(payout_texts.accounts_page(context.seller))


def press_kind(context: EventContext, way: str) -> Outcome | None:
    """Begin the form of a way, or ask which kind of bank account; None where it is not offered."""
    seller = context.seller
    if way == BANK and BANK in seller.paid_at.rails:
        context.reply(payout_texts.schemes_page(seller))
        return None
    if not payout_form.is_offered(way, seller):
        show_accounts(context)
        return None
    return payout_form.payout_form(way, listings.short_id(6), seller, context.draft)


def press_account(context: EventContext, way: str, words: Sequence[str]) -> str | None:
    """Show an account, ask whether to remove it, or remove it; return the text of the answer."""
    account = context.seller.account_of(way)
    if account is None:
        show_accounts(context)
        return context.text("toast-payout-gone")
    language = context.seller.language
    others = [one for one in context.seller.accounts if one is not account]
    match words:
        case ("remove",):
            affected = payouts.links_without(context.tx, context.person.id, others)
            context.reply(payout_texts.removal_question(account, affected, language))
        case ("remove", shown) if shown == payout_texts.fingerprint(account):
            job = RemoveAccount(context.person.id, context.reply_to(context.press), account.id)
            _add(context, job)
            context.reply(Reply(context.text("payout-removing")))
        case _:
            context.reply(payout_texts.account_page(account, language))
    return None


def connect(context: EventContext, draft: Draft, how: str) -> None:
    """Queue the check of an account, or its saving, with all that was typed sealed."""
    values = {
        answer.field: context.vault.open(answer.text) if answer.is_sealed else answer.text
        for answer in draft.answers
        if answer.text
    }
    job = ConnectAccount(
        context.person.id,
        context.reply_to(),
        draft.way or "",
        context.vault.seal(exact_json.dumps(values)),
        draft.id,
        payout_form.token(draft),
        dry_run=how == PROBE,
    )
    _add(context, job)


def seal_secrets(draft: Draft, vault: Vault) -> Draft:
    """Return a draft with its secrets sealed, as it is stored."""
    answers = tuple(
        replace(answer, text=vault.seal(answer.text), is_sealed=True)
        if (draft.way, answer.field) in SECRETS and not answer.is_sealed
        else answer
        for answer in draft.answers
    )
    return replace(draft, answers=answers)


def is_secret(draft: Draft | None, text: str) -> bool:
    """Return whether a message has a secret: a connection string, or any answer to such a question.

    A text that comes too late to be taken as the answer is one all the same.
    """
    if draft is not None and draft.way is not None:
        asked = (draft.way, PAYOUT_STEPS.get(draft.step)) in SECRETS
        if asked or (draft.way == LNBITS and has_key(text)):
            return True
    return is_connection(text)


def is_misplaced(draft: Draft | None, text: str) -> bool:
    """Return whether a message has a connection string that no form has asked for.

    It is no answer to any question: that would be shown, or stored as it is.
    """
    return is_connection(text) and (draft is None or draft.way != NWC)


def delete_secret(context: EventContext, event: MessageEvent) -> None:
    """Queue the deletion of a person's message that has a secret."""
    if event.message_id is not None:
        context.put(SecretRemoval(event.message_id))


def _add(context: EventContext, job: AccountJob) -> None:
    lane = f"{WALLETS if job.asks_wallet else ''}{owner_ref(job.seller_id)}"
    outbox.put(context.tx, context.queues.jobs, lane, job, context.now)
