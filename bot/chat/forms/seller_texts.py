"""Texts about sellers: payout accounts, the profile that payers see, and settings."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from bot.chat.forms import field_texts, typed_text
from bot.chat.model import drafts, payout, replies, zones
from bot.core import errors
from bot.core.text import contacts, links, translations
from bot.interface.fields import MAX_ABOUT, MAX_NAME

# Payout accounts.

_ACCOUNT_LABEL = 60
"""UTF-16 units of an account's label in a text."""

_REFUSAL = 500
"""UTF-16 units of the service's message."""


def accounts_page(seller: drafts.Seller) -> replies.Reply:
    """Show a seller's payout accounts and the accounts that can be added."""
    language, service = seller.language, seller.paid_at
    if not service.rails:
        key = "payout-elsewhere" if service.host else "payout-test"
        settings = replies.text_button(language, "button-payout-settings", "settings")
        text = seller.text(key, host=replies.escaped(service.host or ""))
        return replies.Reply(text, ((settings,),))
    shown = seller.text("payout-page-none")
    if seller.accounts:
        shown = "\n".join([seller.text("payout-page"), *account_lines(seller)])
    rows, offers = [], []
    for account in seller.accounts:
        # a wallet's label says enough, a bank account's only its end
        values = {"kind": account.kind, "way": _way(account, seller), "label": account.label}
        label = replies.plain(seller.text("button-payout-account", **values))
        rows.append((replies.Button(label, action=("account", account.way)),))
    for kind in service.rails:
        if kind != payout.BANK and seller.account_of(kind):
            continue
        offers.append(seller.text(f"payout-about-{kind}"))
        label = seller.text(f"button-payout-{kind}")
        if seller.accounts:
            label = seller.text("button-payout-another", kind=label)
        rows.append((replies.Button(label, action=("getpaid", kind)),))
    parts = (shown, seller.text("payout-connect") if offers else None, *offers)
    return replies.Reply("\n\n".join(filter(None, parts)), tuple(rows))


def account_lines(seller: drafts.Seller) -> list[str]:
    """Return a line for each payout account, in the order in which payments use them."""
    return [
        seller.text(
            "payout-line-auto" if account.automatic else "payout-line", **_named(account, seller)
        )
        for account in seller.accounts
    ]


def schemes_page(seller: drafts.Seller) -> replies.Reply:
    """Ask for the kind of bank account."""
    ways = [f"bank-{scheme}" for scheme in payout.SCHEMES]
    language = seller.language
    rows = [(replies.text_button(language, f"payout-way-{way}", "getpaid", way),) for way in ways]
    back = replies.text_button(language, "button-back", "getpaid")
    return replies.Reply(seller.text("payout-schemes"), (*rows, (back,)))


def account_page(account: payout.PayoutAccount, seller: drafts.Seller) -> replies.Reply:
    """Show one account, with buttons to replace and remove it."""
    way, language = account.way, seller.language
    replaced = replies.text_button(language, "button-payout-replace", "getpaid", way)
    removed = replies.text_button(language, "button-remove", "account", way, "remove")
    back = replies.text_button(language, "button-back", "getpaid")
    return replies.Reply(_described(account, seller), ((replaced, removed), (back,)))


def removal_question(
    account: payout.PayoutAccount, affected: int, seller: drafts.Seller
) -> replies.Reply:
    """Ask before an account is removed; without it, `affected` links can't be paid."""
    lines = [
        seller.text("payout-remove", **_named(account, seller)),
        seller.text("payout-remove-links", count=affected),
        seller.text("payout-remove-kept"),
    ]
    words, language = ("account", account.way), seller.language
    sure = (*words, "remove", fingerprint(account))
    yes = replies.text_button(language, "button-payout-remove-yes", *sure, style=replies.DANGER)
    no = replies.text_button(language, "button-keep-it", *words)
    return replies.Reply("\n".join(lines), ((yes,), (no,)))


def fingerprint(value: object) -> str:
    """Return a checksum for a button that is valid only for this value."""
    return f"{zlib.crc32(repr(value).encode()):08x}"


def refusal_text(problem: errors.FieldProblem, language: str) -> str:
    """Return our own text for a refusal's code; for an unknown code, the service's message."""
    key = f"payout-wrong-{problem.code}"
    known = key if problem.code and translations.has_text(key) else "payout-refused"
    return translations.t(language, known, message=replies.escaped(problem.message, _REFUSAL))


def saved_reply(
    account: payout.PayoutAccount, before: payout.PayoutAccount | None, seller: drafts.Seller
) -> replies.Reply:
    """Return the notice that money goes to this account from now on."""
    if before is None:
        text = seller.text("payout-saved", **_named(account, seller))
    else:
        values = _named(account, seller)
        text = seller.text("payout-replaced", **values, before=_label(before))
    return _alarm(f"{text}\n{_how_known(account, seller)}", seller)


def removed_reply(
    account: payout.PayoutAccount, affected: int, seller: drafts.Seller
) -> replies.Reply:
    """Return the notice that an account is removed; `affected` links can't be paid now."""
    text = seller.text("payout-removed", **_named(account, seller))
    return _alarm(f"{text}\n{seller.text('payout-removed-links', count=affected)}", seller)


def _alarm(text: str, seller: drafts.Seller) -> replies.Reply:
    """Add instructions in case somebody else made the change."""
    accounts = replies.text_button(seller.language, "button-payout", "getpaid")
    return replies.Reply(f"{text}\n\n{seller.text('payout-not-you')}", ((accounts,),))


COUNTRIES = {"CH": "🇨🇭", "LI": "🇱🇮", "DE": "🇩🇪", "AT": "🇦🇹", "FR": "🇫🇷", "IT": "🇮🇹"}
"""Countries offered for a Swiss account's holder; any other code can be typed."""

HIDDEN = "…"
"""Shown instead of a typed secret."""

ALBY_LINK = (
    "https://my.albyhub.com/apps/new?name=Payment+links"
    "&request_methods=get_info+make_invoice+lookup_invoice"
)
"""The page where Alby Hub grants a key for only these methods, which can't spend money."""

_KEPT = 24
"""UTF-16 units of an answer on a button."""


def payout_question(draft: drafts.PayoutDraft, seller: drafts.Seller) -> str:
    """Ask for an account's field, or show the progress of its check."""
    way = draft.way
    if draft.step in (payout.CHECKING, payout.SAVING):
        return seller.text("payout-checking" if draft.step == payout.CHECKING else "payout-saving")
    if draft.step == payout.FOUND and draft.found:
        parts = [seller.text("payout-found"), _described(draft.found, seller, _given_holder(draft))]
        if before := seller.account_of(way):
            parts.append(seller.text("payout-found-replaces", label=_label(before)))
        return "\n\n".join(parts)
    fields, field = payout.fields_of(way, draft.answers), payout.PAYOUT_STEPS[draft.step]
    asked = seller.text(f"payout-ask-{way}-{field}")
    if len(fields) == 1:
        return asked
    place = seller.text("progress", step=fields.index(field) + 1, steps=len(fields))
    return f"{place}\n\n{asked}"


def _given_holder(draft: drafts.PayoutDraft) -> str:
    """Return a bank account's holder and address as typed, which are missing in its label.

    Payers' banks warn of a wrong name, so the seller reads it before saving.
    """
    if payout.kind_of(draft.way) != payout.BANK:
        return ""
    _, name, *rest = (answer.text for answer in draft.answers)
    return "\n".join(map(replies.escaped, filter(None, (name, " ".join(filter(None, rest))))))


def payout_rows(draft: drafts.PayoutDraft, seller: drafts.Seller) -> replies.Rows:
    """Return the buttons of an account's step, except Back and Cancel."""
    if draft.step in (payout.CHECKING, payout.SAVING):
        return ()
    if draft.step == payout.FOUND:
        words = ("save", fingerprint(draft.answers))
        save = draft.button(seller.text("button-payout-save"), *words)
        change = draft.button(seller.text("button-payout-change"), "change")
        return ((replace(save, style=replies.SUCCESS), change),)
    field = payout.PAYOUT_STEPS[draft.step]
    kept = {answer.field: answer for answer in draft.answers}.get(field)
    rows: replies.Rows = ()
    if field == "country":
        codes = (draft.button(f"{flag} {code}", "land", code) for code, flag in COUNTRIES.items())
        rows = field_texts.in_rows(codes, 3)
    if field == "connection":
        rows = ((replies.Button(seller.text("button-payout-alby"), url=ALBY_LINK),),)
    if kept and kept.text:
        is_secret = (draft.way, field) in payout.SECRETS
        shown = HIDDEN if is_secret else replies.plain(links.shown_url(kept.text), _KEPT)
        label = seller.text("button-keep", value=shown)
        rows = (*rows, (draft.button(label, "keep"),))
    if field in payout.OPTIONAL:
        rows = (*rows, (draft.button(seller.text("button-skip"), "skip"),))
    return rows


def _described(account: payout.PayoutAccount, seller: drafts.Seller, holder: str = "") -> str:
    name = seller.text("payout-account", **_named(account, seller))
    return "\n".join(filter(None, (name, holder, _how_known(account, seller))))


def _how_known(account: payout.PayoutAccount, seller: drafts.Seller) -> str:
    """Return how the seller learns of payments."""
    if account.automatic:
        return seller.text("payout-automatic")
    is_bank = account.kind == payout.BANK
    return seller.text("payout-by-hand" if is_bank else "payout-by-hand-wallet")


def _named(account: payout.PayoutAccount, seller: drafts.Seller) -> dict[str, str]:
    """Return the variables of texts that name an account."""
    return {"way": _way(account, seller), "label": _label(account)}


def _way(account: payout.PayoutAccount, seller: drafts.Seller) -> str:
    return seller.text(f"payout-way-{account.way}")


def _label(account: payout.PayoutAccount) -> str:
    return replies.escaped(account.label, _ACCOUNT_LABEL)


# The profile of a seller, which payers see.

PICTOGRAMS = {
    "blue": "🔵",
    "teal": "🌊",
    "green": "🟢",
    "orange": "🟠",
    "red": "🔴",
    "pink": "🌸",
    "purple": "🟣",
    "grey": "🌑",
}
"""A pictogram for each accent colour, because Telegram's texts have no colours."""

SHOWN = ("sellername", "sellerabout", "sellercontact", "selleraccent", "sellerimage")
"""The steps of the profile, in the order of the page."""

_PROFILE_LABEL = 40
"""UTF-16 units of a name on a button."""


def accent_label(accent: str, language: str) -> str:
    """Return an accent colour as a pictogram and a word."""
    return f"{PICTOGRAMS[accent]} {translations.t(language, f'accent-{accent}')}"


def profile_line(step: str, profile: drafts.Profile, language: str) -> str | None:
    """Return the profile's value at a step as HTML, if it is set."""
    value = getattr(profile, drafts.PROFILE_STEPS[step])
    if value is None:
        return None
    match step:
        case "sellername":
            return f"<b>{replies.escaped(value)}</b>"
        case "sellerimage":
            return translations.t(language, "profile-picture")
        case "sellercontact":
            contact = replies.escaped(contacts.contact_text(value))
            return translations.t(language, "profile-contact", contact=contact)
        case "selleraccent":
            return translations.t(language, "profile-accent", colour=accent_label(value, language))
        case _:
            return replies.escaped(value)


def profile_page(seller: drafts.Seller, note: str | None = None) -> replies.Reply:
    """Show the payers' view of a seller, below a note on the last change."""
    language, profile = seller.language, seller.profile
    lines = [profile_line(step, profile, language) for step in SHOWN]
    shown = "\n".join(filter(None, lines))
    key = "profile" if profile.name else "profile-hidden" if shown else "profile-none"
    steps = ("sellername", "sellerimage", "sellerabout", "sellercontact", "selleraccent")
    buttons = [replies.text_button(language, f"button-{step}", "settings", step) for step in steps]
    if page := seller.hints.page:
        buttons.append(replies.Button(seller.text("button-profile-see"), url=page))
    back = replies.text_button(language, "button-back", "settings")
    text = "\n\n".join(filter(None, (note, seller.text(key), shown)))
    return replies.Reply(text, (*field_texts.in_rows(buttons, 2), (back,)))


def profile_offer(name: str | None, language: str) -> replies.Reply:
    """Ask a seller which name payers should see; `name` is the name at Telegram, if usable."""
    later = replies.text_button(language, "button-profile-later", "profile", "later")
    own = replies.text_button(language, "button-profile-own", "profile")
    if name is None:
        return replies.Reply(translations.t(language, "profile-offer-unnamed"), ((own,), (later,)))
    use = replies.Button(use_label(name, language), action=("profile", "use", offer_key(name)))
    text = translations.t(language, "profile-offer", name=replies.escaped(name))
    return replies.Reply(text, ((use,), (own, later)))


def use_label(value: str, language: str) -> str:
    """Return the label of a button that takes an offered value."""
    value = replies.plain(value, _PROFILE_LABEL)
    return translations.t(language, "button-profile-use", value=value)


def profile_question(draft: drafts.SettingsDraft, seller: drafts.Seller) -> str:
    """Ask for a part of the profile, and show its current value below."""
    asked = seller.text(f"ask-{draft.step}")
    present = profile_line(draft.step, seller.profile, seller.language)
    shown = present and seller.text("profile-present", value=present)
    return f"{asked}\n\n{shown}" if shown else asked


def profile_rows(draft: drafts.SettingsDraft, seller: drafts.Seller) -> replies.Rows:
    """Return the buttons of a profile's step: offered answers, and Remove if there is a value."""
    present = getattr(seller.profile, drafts.PROFILE_STEPS[draft.step])
    rows: list[tuple[replies.Button, ...]] = []
    if draft.step == "sellerimage":
        photo = draft.button(seller.text("button-profile-photo"), "telegram-photo")
        rows.append((photo,))
    if draft.step == "selleraccent":
        buttons = []
        for accent in PICTOGRAMS:
            label = field_texts.TICK * (accent == present) + accent_label(accent, seller.language)
            buttons.append(draft.button(label, "accent", accent))
        rows += field_texts.in_rows(buttons, 2)
    for value in offered_values(draft.step, seller):
        if value != present:
            label = use_label(value, seller.language)
            rows.append((draft.button(label, "offer", offer_key(value)),))
    if present:
        remove = draft.button(seller.text("button-remove"), "clear", draft.step)
        rows.append((remove,))
    return tuple(rows)


def offered_values(step: str, seller: drafts.Seller) -> tuple[str, ...]:
    """Return the values that a step offers on buttons."""
    if step == "sellername":
        return tuple(filter(None, (seller.hints.name,)))
    return seller.hints.contacts if step == "sellercontact" else ()


def offer_key(value: str) -> str:
    """Return a checksum for the button that offers this value: a press sets no other value."""
    return f"{zlib.crc32(value.encode()):08x}"


read_name = partial(typed_text.read_line, field="sellername", most=MAX_NAME)
"""Parses the name that payers see: one line, 1 to 100 characters, at least one visible."""


def read_contact(text: str) -> str | replies.Problem:
    """Parse a contact by the service's rules; a link without a scheme gets `https`."""
    try:
        typed = contacts.typed_email(text) if "//" not in text else links.typed(text)
        return contacts.check_contact(links.with_scheme(typed))
    except ValueError:
        return replies.Problem("problem-sellercontact")


READERS: dict[str, Callable[[str], str | replies.Problem]] = {
    "sellername": read_name,
    "sellerabout": partial(typed_text.read_line, field="sellerabout", most=MAX_ABOUT),
    "sellercontact": read_contact,
}
"""The parser of each step of the profile that takes a text."""


def name_at_telegram(first_name: str, last_name: str) -> str | None:
    """Return a person's name at Telegram; only the first name if both names are too long.

    Returns None if payers could not read the name.
    """
    for name in (f"{first_name} {last_name}", first_name):
        found = read_name(name)
        if isinstance(found, str):
            return found
    return None


# Settings.


def settings(seller: drafts.Seller) -> replies.Reply:
    """Show the seller's destination, profile, zone and hours, with buttons to change them."""
    language, step = seller.language, ("settings", "destination")
    if seller.paid_at.rails:
        shown = "\n".join([seller.text("payout-settings"), *account_lines(seller)])
        text = shown if seller.accounts else seller.text("payout-settings-none")
        button = replies.text_button(language, "button-payout", "getpaid")
    elif seller.destination is None:
        text = seller.text("settings-none")
        button = replies.text_button(language, "button-set-destination", *step)
    else:
        text = seller.text("settings", destination=replies.escaped(seller.destination))
        button = replies.text_button(language, "button-change-destination", *step)
    rows = [(replies.text_button(language, "button-profile", "profile"),), (button,)]
    if name := seller.profile.name:
        text += "\n" + seller.text("settings-profile", name=replies.escaped(name))
    values = {
        "zone": seller.zone and replies.escaped(zones.place_name(seller.zone, language)),
        "quiet": seller.quiet and hours(seller.quiet),
        "summary": None if seller.summary is None else clock(seller.summary),
    }
    for name, value in values.items():
        if value:
            text += "\n" + seller.text(f"settings-{name}", value=value)
        rows.append((replies.text_button(language, f"button-{name}", "settings", name),))
    return replies.Reply(text, tuple(rows))


def clock(minute: int) -> str:
    """Format a minute of the day: `22:00`."""
    return f"{minute // 60:02}:{minute % 60:02}"


def hours(quiet: tuple[int, int]) -> str:
    """Format quiet hours: 22:00 to 07:00, with a dash."""
    return f"{clock(quiet[0])}–{clock(quiet[1])}"  # noqa: RUF001 - as hours are written
