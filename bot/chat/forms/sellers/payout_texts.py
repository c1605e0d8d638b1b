"""Where a seller gets paid: the pages of payout accounts, and the questions about a new one."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from bot.chat.fields.offers import button, in_rows
from bot.chat.messages.reply import DANGER, SUCCESS, Button, Reply, Rows, escaped, plain
from bot.chat.model.payout import (
    BANK,
    CHECKING,
    FOUND,
    OPTIONAL,
    PAYOUT_STEPS,
    SAVING,
    SCHEMES,
    SECRETS,
    WAYS,
    kind_of,
    way_of,
)
from bot.core.text.translations import has_text, t

if TYPE_CHECKING:
    from bot.chat.model.draft import Draft, Seller
    from bot.chat.model.payout import PayoutAccount
    from bot.core.errors import FieldProblem

COUNTRIES = {"CH": "🇨🇭", "LI": "🇱🇮", "DE": "🇩🇪", "AT": "🇦🇹", "FR": "🇫🇷", "IT": "🇮🇹"}
"""Countries of a Swiss account's holder that are offered; any other code can be typed."""

HIDDEN = "…"
"""What stands for a secret that was typed."""

ALBY_LINK = (
    "https://my.albyhub.com/apps/new?name=Payment+links"
    "&request_methods=get_info+make_invoice+lookup_invoice"
)
"""Where Alby Hub asks its user for a key with these methods alone, none of which can spend."""

_LABEL = 60
_KEPT = 24
"""UTF-16 units of an account's label in a text, and of an answer on a button."""

_REFUSAL = 500  # UTF-16 units of the service's words


def accounts_page(seller: Seller) -> Reply:
    """Show a seller's payout accounts and what else can be connected."""
    language, service = seller.language, seller.paid_at
    if not service.rails:
        key = "payout-elsewhere" if service.host else "payout-test"
        settings = Button(t(language, "button-payout-settings"), action=("settings",))
        return Reply(t(language, key, host=escaped(service.host or "")), ((settings,),))
    if seller.accounts:
        shown = "\n".join([t(language, "payout-page"), *account_lines(seller)])
    else:
        shown = t(language, "payout-page-none")
    left = [kind for kind in service.rails if kind == BANK or seller.account_of(kind) is None]
    offers = [t(language, f"payout-about-{kind}") for kind in left]
    parts = (shown, t(language, "payout-connect") if offers else None, *offers)
    own = ((_account_button(account, language),) for account in seller.accounts)
    kinds = (Button(_offer(kind, seller), action=("getpaid", kind)) for kind in left)
    return Reply("\n\n".join(filter(None, parts)), (*own, *in_rows(kinds, 1)))


def _offer(kind: str, seller: Seller) -> str:
    """Return the label that offers a kind: below accounts of theirs, one that adds another."""
    label = t(seller.language, f"button-payout-{kind}")
    return t(seller.language, "button-payout-another", kind=label) if seller.accounts else label


def account_lines(seller: Seller) -> list[str]:
    """Return a line for each payout account, the one that is asked first on top."""
    return [
        t(
            seller.language,
            "payout-line-auto" if account.automatic else "payout-line",
            way=t(seller.language, f"payout-way-{account.way}"),
            label=escaped(account.label, _LABEL),
        )
        for account in seller.accounts
    ]


def schemes_page(seller: Seller) -> Reply:
    """Ask which kind of bank account it is."""
    language = seller.language
    rows = [
        (Button(t(language, f"payout-way-bank-{scheme}"), action=("getpaid", f"bank-{scheme}")),)
        for scheme in SCHEMES
    ]
    back = Button(t(language, "button-back"), action=("getpaid",))
    return Reply(t(language, "payout-schemes"), (*rows, (back,)))


def account_page(account: PayoutAccount, language: str) -> Reply:
    """Show one account, with the buttons to replace and to remove it."""
    replaced = Button(t(language, "button-payout-replace"), action=("getpaid", account.way))
    removed = Button(t(language, "button-payout-remove"), action=("account", account.way, "remove"))
    back = Button(t(language, "button-back"), action=("getpaid",))
    return Reply(_described(account, language), ((replaced, removed), (back,)))


def removal_question(account: PayoutAccount, affected: int, language: str) -> Reply:
    """Ask before an account is removed: `affected` links can't be paid without it."""
    lines = [
        t(language, "payout-remove", way=_way(account, language), label=_label(account)),
        t(language, "payout-remove-links", count=affected),
        t(language, "payout-remove-kept"),
    ]
    words = ("account", account.way, "remove", fingerprint(account))
    yes = Button(t(language, "button-payout-remove-yes"), action=words, style=DANGER)
    no = Button(t(language, "button-payout-remove-no"), action=("account", account.way))
    return Reply("\n".join(lines), ((yes,), (no,)))


def fingerprint(value: object) -> str:
    """Return a checksum for a button that is about just this value."""
    return f"{zlib.crc32(repr(value).encode()):08x}"


def refusal_text(problem: FieldProblem, language: str) -> str:
    """Return our own text for a refusal's code, the service's words where it has none we know."""
    key = f"payout-wrong-{problem.code}"
    known = key if problem.code and has_text(key) else "payout-refused"
    return t(language, known, message=escaped(problem.message, _REFUSAL))


def saved_reply(account: PayoutAccount, before: PayoutAccount | None, language: str) -> Reply:
    """Notify a seller that their money goes to another account from now on."""
    key = "payout-saved" if before is None else "payout-replaced"
    values = {"way": _way(account, language), "label": _label(account)}
    if before is not None:
        values["before"] = _label(before)
    text = f"{t(language, key, **values)}\n{_known(account, language)}"
    return _told(text, language)


def removed_reply(account: PayoutAccount, affected: int, language: str) -> Reply:
    """Notify a seller that an account is no longer used; `affected` links can't be paid now."""
    text = t(language, "payout-removed", way=_way(account, language), label=_label(account))
    return _told(f"{text}\n{t(language, 'payout-removed-links', count=affected)}", language)


def _told(text: str, language: str) -> Reply:
    accounts = Button(t(language, "button-payout"), action=("getpaid",))
    return Reply(f"{text}\n\n{t(language, 'payout-not-you')}", ((accounts,),))


def payout_question(draft: Draft, seller: Seller) -> str:
    """Ask for a field of an account, or show how far its check is."""
    language, way = seller.language, draft.way or ""
    match draft.step:
        case step if step in (CHECKING, SAVING):
            return t(language, "payout-checking" if step == CHECKING else "payout-saving")
        case step if step == FOUND and draft.found:
            before = seller.account_of(way)
            changes = None
            if before is not None:
                changes = t(language, "payout-found-replaces", label=_label(before))
            found = _described(draft.found, language, _typed(draft))
            parts = (t(language, "payout-found"), found, changes)
            return "\n\n".join(filter(None, parts))
    fields, field = WAYS[way], PAYOUT_STEPS[draft.step]
    asked = t(language, f"payout-ask-{way}-{field}")
    if len(fields) == 1:
        return asked
    place = t(language, "progress", step=fields.index(field) + 1, steps=len(fields))
    return f"{place}\n\n{asked}"


def _typed(draft: Draft) -> str:
    """Return a bank account's holder and address, which its label leaves out, as they were typed.

    Payers' banks warn of a wrong name, so the seller reads it before it counts.
    """
    if kind_of(draft.way or "") != BANK:
        return ""
    _, name, *rest = (answer.text for answer in draft.answers)
    return "\n".join(map(escaped, filter(None, (name, " ".join(filter(None, rest))))))


def payout_rows(draft: Draft, seller: Seller) -> Rows:
    """Return the buttons of a step of an account, above Back and Cancel."""
    language = seller.language
    if draft.step in (CHECKING, SAVING):
        return ()
    if draft.step == FOUND:
        words = ("save", fingerprint(draft.answers))
        save = button(draft, t(language, "button-payout-save"), *words)
        change = button(draft, t(language, "button-payout-change"), "change")
        return ((_green(save), change),)
    field = PAYOUT_STEPS[draft.step]
    kept = {answer.field: answer for answer in draft.answers}.get(field)
    rows: Rows = ()
    if field == "country":
        codes = (button(draft, f"{flag} {code}", "land", code) for code, flag in COUNTRIES.items())
        rows = in_rows(codes, 3)
    if field == "connection":
        rows = ((Button(t(language, "button-payout-alby"), url=ALBY_LINK),),)
    if kept and kept.text:
        is_secret = (draft.way, field) in SECRETS
        shown = HIDDEN if is_secret else plain(kept.text, _KEPT)
        rows = (*rows, (button(draft, t(language, "button-keep", value=shown), "keep"),))
    if field in OPTIONAL:
        rows = (*rows, (button(draft, t(language, "button-skip"), "skip"),))
    return rows


def _green(save: Button) -> Button:
    return Button(save.label, action=save.action, style=SUCCESS)


def _account_button(account: PayoutAccount, language: str) -> Button:
    """Return a button that stays short: a wallet's label says enough, a bank's only its end."""
    values = {"kind": account.kind, "way": _way(account, language), "label": account.label}
    label = t(language, "button-payout-account", **values)
    return Button(plain(label), action=("account", account.way))


def _described(account: PayoutAccount, language: str, holder: str = "") -> str:
    name = t(language, "payout-account", way=_way(account, language), label=_label(account))
    return "\n".join(filter(None, (name, holder, _known(account, language))))


def _known(account: PayoutAccount, language: str) -> str:
    """Return how payments become known."""
    if account.automatic:
        return t(language, "payout-automatic")
    return t(language, "payout-by-hand" if account.kind == BANK else "payout-by-hand-wallet")


def _way(account: PayoutAccount, language: str) -> str:
    return t(language, f"payout-way-{way_of(account.kind, account.scheme)}")


def _label(account: PayoutAccount) -> str:
    return escaped(account.label, _LABEL)
