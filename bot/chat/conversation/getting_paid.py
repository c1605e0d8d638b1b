"""Payout accounts with their secrets, and the seller's profile for payers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.chat.conversation import events
from bot.chat.conversation.event_context import EventContext
from bot.chat.forms import flow, seller_forms, seller_texts, typed_text
from bot.chat.model import drafts, jobs, payout, queues, replies
from bot.chat.store import link_rows, seller_rows
from bot.core import stored_json
from bot.core.database import database, vault
from bot.core.outbox import outbox


def press_kind(context: EventContext, way: str) -> flow.FormResult | None:
    """Begin the form for a kind of account; None if a page is shown instead."""
    seller = context.seller
    if way == payout.BANK and payout.BANK in seller.paid_at.rails:
        context.reply(seller_texts.schemes_page(seller))
        return None
    if way not in payout.WAYS or payout.kind_of(way) not in seller.paid_at.rails:
        context.reply(seller_texts.accounts_page(context.seller))
        return None
    return seller_forms.payout_form(way, link_rows.short_id(6), seller, context.draft)


def press_account(context: EventContext, way: str, words: Sequence[str]) -> str | None:
    """Show, ask to remove, or remove an account; return the text of the answer, if any."""
    account = context.seller.account_of(way)
    if account is None:
        context.reply(seller_texts.accounts_page(context.seller))
        return context.text("toast-payout-gone")
    others = [one for one in context.seller.accounts if one is not account]
    match words:
        case ("remove",):
            affected = seller_rows.links_without(context.tx, context.person.id, others)
            context.reply(seller_texts.removal_question(account, affected, context.seller))
        case ("remove", shown) if shown == seller_texts.fingerprint(account):
            job = jobs.RemoveAccount(context.person.id, context.reply_to(context.press), account.id)
            _add_job(context, job)
            context.reply(replies.Reply(context.text("payout-removing")))
        case _:
            context.reply(seller_texts.account_page(account, context.seller))
    return None


def connect(context: EventContext, draft: drafts.PayoutDraft, how: str) -> None:
    """Queue the job that checks or saves an account, with all answers sealed."""
    values = {
        answer.field: context.vault.open(answer.text) if answer.is_sealed else answer.text
        for answer in draft.answers
        if answer.text
    }
    job = jobs.ConnectAccount(
        context.person.id,
        context.reply_to(),
        draft.way,
        context.vault.seal(stored_json.write(dict, values)),
        draft.id,
        seller_forms.connection_token(draft),
        dry_run=how == flow.PROBE,
    )
    _add_job(context, job)


def seal_secrets(draft: drafts.Draft, vault: vault.Vault) -> drafts.Draft:
    """Return a draft for the database, with its secrets sealed."""
    if not isinstance(draft, drafts.PayoutDraft):
        return draft
    answers = tuple(
        replace(answer, text=vault.seal(answer.text), is_sealed=True)
        if (draft.way, answer.field) in payout.SECRETS and not answer.is_sealed
        else answer
        for answer in draft.answers
    )
    return replace(draft, answers=answers)


def is_secret(draft: drafts.Draft | None, text: str) -> bool:
    """True if a message has a secret: a connection string, or an answer to a question for a secret.

    A text that comes too late to be an answer counts too.
    """
    if isinstance(draft, drafts.PayoutDraft):
        asked = (draft.way, payout.PAYOUT_STEPS.get(draft.step)) in payout.SECRETS
        if asked or (draft.way == payout.LNBITS and typed_text.has_key(text)):
            return True
    return typed_text.is_connection(text)


def is_misplaced(draft: drafts.Draft | None, text: str) -> bool:
    """True if a message has a connection string that no form has asked for.

    As an answer to another question, the string would be shown or stored unsealed.
    """
    is_asked = isinstance(draft, drafts.PayoutDraft) and draft.way == payout.NWC
    return typed_text.is_connection(text) and not is_asked


def _add_job(context: EventContext, job: jobs.AccountJob) -> None:
    lane = f"{queues.WALLETS if job.asks_wallet else ''}{payout.owner_ref(job.seller_id)}"
    outbox.put(context.tx, context.queues.jobs, lane, job, context.now)


# The seller's profile.


def hints_for(
    tx: database.Transaction,
    person: events.Person,
    draft: drafts.Draft | None,
    press: events.PressEvent | None,
) -> drafts.ProfileHints:
    """Return the values that the profile's forms offer this person.

    If neither the current form nor the button is about the profile, return only the name, which
    needs no query.
    """
    name = seller_texts.name_at_telegram(person.first_name, person.last_name)
    action = (press.action if press else None) or ("",)
    is_profile = action[0] == "profile" or action[-1] in drafts.PROFILE_STEPS
    if not is_profile and (draft is None or draft.step not in drafts.PROFILE_STEPS):
        return drafts.ProfileHints(name)
    username = f"@{person.username}" if person.username else None
    contacts = filter(None, (username, seller_rows.notification_email(tx, person.id)))
    return drafts.ProfileHints(name, tuple(contacts), seller_rows.newest_page(tx, person.id))


def handle_profile_press(context: EventContext, action: replies.Action) -> None:
    """Handle a button of the profile, and replace its message."""
    match action:
        case (_, "use", key):
            name = context.seller.hints.name
            if name is None or seller_texts.offer_key(name) != key:  # the name has changed
                context.reply(seller_texts.profile_offer(name, context.seller.language))
                return
            save_profile(context, replace(context.seller.profile, name=name))
            own = replies.text_button(context.seller.language, "button-profile", "profile")
            used = context.text("profile-used", name=replies.escaped(name))
            context.reply(replies.Reply(used, ((own,),)))
        case (_, "later"):
            context.reply(replies.Reply(context.text("profile-declined")))
        case _:
            context.reply(seller_texts.profile_page(context.seller))


def save_profile(context: EventContext, profile: drafts.Profile) -> None:
    """Save this person's profile if it changed."""
    seller_id, before = context.person.id, context.seller.profile
    if profile != before:
        seller_rows.change_profile(context, seller_id, profile)
        changed = [
            name
            for name in drafts.PROFILE_FIELDS
            if getattr(before, name) != getattr(profile, name)
        ]
        context.audit("profile.changed", str(seller_id), {"changed": changed})  # not the values
