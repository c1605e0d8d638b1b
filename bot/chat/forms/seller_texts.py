"""Texts about sellers: payout accounts, the profile that payers see, and settings."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import replace

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
        settings = replies.Button(seller.text("button-payout-settings"), action=("settings",))
        return replies.Reply(
            seller.text(key, host=replies.escaped(service.host or "")), ((settings,),)
        )
    if seller.accounts:
        shown = "\n".join([seller.text("payout-page"), *account_lines(seller)])
    else:
        shown = seller.text("payout-page-none")
    left = [
        kind for kind in service.rails if kind == payout.BANK or seller.account_of(kind) is None
    ]
    offers = [seller.text(f"payout-about-{kind}") for kind in left]
    parts = (shown, seller.text("payout-connect") if offers else None, *offers)
    own = []
    for account in seller.accounts:
        # a wallet's label says enough, a bank account's only its end
        values = {"kind": account.kind, "way": _way(account, language), "label": account.label}
        label = seller.text("button-payout-account", **values)
        own.append((replies.Button(replies.plain(label), action=("account", account.way)),))
    kinds = []
    for kind in left:
        label = seller.text(f"button-payout-{kind}")
        if seller.accounts:
            label = seller.text("button-payout-another", kind=label)
        kinds.append(replies.Button(label, action=("getpaid", kind)))
    return replies.Reply("\n\n".join(filter(None, parts)), (*own, *field_texts.in_rows(kinds, 1)))


def account_lines(seller: drafts.Seller) -> list[str]:
    """Return a line for each payout account, in the order in which payments use them."""
    return [
        seller.text(
            "payout-line-auto" if account.automatic else "payout-line",
            way=seller.text(f"payout-way-{account.way}"),
            label=replies.escaped(account.label, _ACCOUNT_LABEL),
        )
        for account in seller.accounts
    ]


def schemes_page(seller: drafts.Seller) -> replies.Reply:
    """Ask for the kind of bank account."""
    rows = [
        (
            replies.Button(
                seller.text(f"payout-way-bank-{scheme}"),
                action=("getpaid", f"bank-{scheme}"),
            ),
        )
        for scheme in payout.SCHEMES
    ]
    back = replies.Button(seller.text("button-back"), action=("getpaid",))
    return replies.Reply(seller.text("payout-schemes"), (*rows, (back,)))


def account_page(account: payout.PayoutAccount, language: str) -> replies.Reply:
    """Show one account, with buttons to replace and remove it."""
    replaced = replies.Button(
        translations.t(language, "button-payout-replace"), action=("getpaid", account.way)
    )
    removed = replies.Button(
        translations.t(language, "button-remove"), action=("account", account.way, "remove")
    )
    back = replies.Button(translations.t(language, "button-back"), action=("getpaid",))
    return replies.Reply(_described(account, language), ((replaced, removed), (back,)))


def removal_question(account: payout.PayoutAccount, affected: int, language: str) -> replies.Reply:
    """Ask before an account is removed; without it, `affected` links can't be paid."""
    lines = [
        translations.t(
            language, "payout-remove", way=_way(account, language), label=_label(account)
        ),
        translations.t(language, "payout-remove-links", count=affected),
        translations.t(language, "payout-remove-kept"),
    ]
    words = ("account", account.way, "remove", fingerprint(account))
    yes = replies.Button(
        translations.t(language, "button-payout-remove-yes"), action=words, style=replies.DANGER
    )
    no = replies.Button(translations.t(language, "button-keep-it"), action=("account", account.way))
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
    account: payout.PayoutAccount, before: payout.PayoutAccount | None, language: str
) -> replies.Reply:
    """Return the notice that money goes to this account from now on."""
    key = "payout-saved" if before is None else "payout-replaced"
    values = {"way": _way(account, language), "label": _label(account)}
    if before is not None:
        values["before"] = _label(before)
    text = f"{translations.t(language, key, **values)}\n{_how_known(account, language)}"
    return _alarm(text, language)


def removed_reply(account: payout.PayoutAccount, affected: int, language: str) -> replies.Reply:
    """Return the notice that an account is removed; `affected` links can't be paid now."""
    text = translations.t(
        language, "payout-removed", way=_way(account, language), label=_label(account)
    )
    return _alarm(
        f"{text}\n{translations.t(language, 'payout-removed-links', count=affected)}", language
    )


def _alarm(text: str, language: str) -> replies.Reply:
    """Add instructions in case somebody else made the change."""
    accounts = replies.Button(translations.t(language, "button-payout"), action=("getpaid",))
    return replies.Reply(f"{text}\n\n{translations.t(language, 'payout-not-you')}", ((accounts,),))


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
    language, way = seller.language, draft.way
    match draft.step:
        case step if step in (payout.CHECKING, payout.SAVING):
            return seller.text("payout-checking" if step == payout.CHECKING else "payout-saving")
        case step if step == payout.FOUND and draft.found:
            before = seller.account_of(way)
            changes = None
            if before is not None:
                changes = seller.text("payout-found-replaces", label=_label(before))
            found = _described(draft.found, language, _given_holder(draft))
            parts = (seller.text("payout-found"), found, changes)
            return "\n\n".join(filter(None, parts))
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
        save = field_texts.text_button(draft, seller, "button-payout-save", *words)
        change = field_texts.text_button(draft, seller, "button-payout-change", "change")
        return ((replace(save, style=replies.SUCCESS), change),)
    field = payout.PAYOUT_STEPS[draft.step]
    kept = {answer.field: answer for answer in draft.answers}.get(field)
    rows: replies.Rows = ()
    if field == "country":
        codes = (
            field_texts.offer_button(draft, f"{flag} {code}", "land", code)
            for code, flag in COUNTRIES.items()
        )
        rows = field_texts.in_rows(codes, 3)
    if field == "connection":
        rows = ((replies.Button(seller.text("button-payout-alby"), url=ALBY_LINK),),)
    if kept and kept.text:
        is_secret = (draft.way, field) in payout.SECRETS
        shown = HIDDEN if is_secret else replies.plain(links.shown_url(kept.text), _KEPT)
        label = seller.text("button-keep", value=shown)
        rows = (*rows, (field_texts.offer_button(draft, label, "keep"),))
    if field in payout.OPTIONAL:
        rows = (*rows, (field_texts.text_button(draft, seller, "button-skip", "skip"),))
    return rows


def _described(account: payout.PayoutAccount, language: str, holder: str = "") -> str:
    name = translations.t(
        language, "payout-account", way=_way(account, language), label=_label(account)
    )
    return "\n".join(filter(None, (name, holder, _how_known(account, language))))


def _how_known(account: payout.PayoutAccount, language: str) -> str:
    """Return how the seller learns of payments."""
    if account.automatic:
        return translations.t(language, "payout-automatic")
    return translations.t(
        language, "payout-by-hand" if account.kind == payout.BANK else "payout-by-hand-wallet"
    )


def _way(account: payout.PayoutAccount, language: str) -> str:
    return translations.t(language, f"payout-way-{payout.way_of(account.kind, account.scheme)}")


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
            return translations.t(
                language, "profile-contact", contact=replies.escaped(contacts.contact_text(value))
            )
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
    parts = (note, seller.text(key), shown)
    return replies.Reply("\n\n".join(filter(None, parts)), _page_rows(seller))


def _page_rows(seller: drafts.Seller) -> replies.Rows:
    def change(step: str) -> replies.Button:
        return replies.Button(seller.text(f"button-{step}"), action=("settings", step))

    back = replies.Button(seller.text("button-back"), action=("settings",))
    page = seller.hints.page
    see = (replies.Button(seller.text("button-profile-see"), url=page),) if page else ()
    return (
        (change("sellername"), change("sellerimage")),
        (change("sellerabout"), change("sellercontact")),
        (change("selleraccent"), *see),
        (back,),
    )


def profile_offer(name: str | None, language: str) -> replies.Reply:
    """Ask a seller which name payers should see; `name` is the name at Telegram, if usable."""
    later = replies.Button(
        translations.t(language, "button-profile-later"), action=("profile", "later")
    )
    own = replies.Button(translations.t(language, "button-profile-own"), action=("profile",))
    if name is None:
        return replies.Reply(translations.t(language, "profile-offer-unnamed"), ((own,), (later,)))
    use = replies.Button(use_label(name, language), action=("profile", "use", offer_key(name)))
    return replies.Reply(
        translations.t(language, "profile-offer", name=replies.escaped(name)),
        ((use,), (own, later)),
    )


def use_label(value: str, language: str) -> str:
    """Return the label of a button that takes an offered value."""
    return translations.t(
        language, "button-profile-use", value=replies.plain(value, _PROFILE_LABEL)
    )


def profile_question(draft: drafts.SettingsDraft, seller: drafts.Seller) -> str:
    """Ask for a part of the profile, and show its current value below."""
    asked = seller.text(f"ask-{draft.step}")
    present = profile_line(draft.step, seller.profile, seller.language)
    shown = present and seller.text("profile-present", value=present)
    return f"{asked}\n\n{shown}" if shown else asked


def profile_rows(draft: drafts.SettingsDraft, seller: drafts.Seller) -> replies.Rows:
    """Return the buttons of a profile's step: offered answers, and Remove if there is a value."""
    present = getattr(seller.profile, drafts.PROFILE_STEPS[draft.step])
    remove = field_texts.text_button(draft, seller, "button-remove", "clear", draft.step)
    return (*_offers(draft, seller, present), *(((remove,),) if present else ()))


def _offers(
    draft: drafts.SettingsDraft, seller: drafts.Seller, present: str | None
) -> replies.Rows:
    language = seller.language
    if draft.step == "sellerimage":
        return (
            (field_texts.text_button(draft, seller, "button-profile-photo", "telegram-photo"),),
        )
    if draft.step == "selleraccent":
        labels = (
            (field_texts.TICK * (each == present) + accent_label(each, language), each)
            for each in PICTOGRAMS
        )
        return field_texts.in_rows(
            (field_texts.offer_button(draft, label, "accent", each) for label, each in labels), 2
        )
    return tuple(
        (field_texts.offer_button(draft, use_label(value, language), "offer", offer_key(value)),)
        for value in offered_values(draft.step, seller)
        if value != present
    )


def offered_values(step: str, seller: drafts.Seller) -> tuple[str, ...]:
    """Return the values that a step offers on buttons."""
    if step == "sellername":
        return tuple(filter(None, (seller.hints.name,)))
    return seller.hints.contacts if step == "sellercontact" else ()


def offer_key(value: str) -> str:
    """Return a checksum for the button that offers this value: a press sets no other value."""
    return f"{zlib.crc32(value.encode()):08x}"


def read_name(text: str) -> str | replies.Problem:
    """Parse the name that payers see: one line, 1 to 100 characters, at least one visible."""
    return typed_text.read_line(text, "sellername", MAX_NAME)


def read_about(text: str) -> str | replies.Problem:
    """Parse the line about a seller: up to 160 characters."""
    return typed_text.read_line(text, "sellerabout", MAX_ABOUT)


def read_contact(text: str) -> str | replies.Problem:
    """Parse a contact by the service's rules; a link without a scheme gets `https`."""
    try:
        typed = contacts.typed_email(text) if "//" not in text else links.typed(text)
        return contacts.check_contact(links.with_scheme(typed))
    except ValueError:
        return replies.Problem("problem-sellercontact")


READERS: dict[str, Callable[[str], str | replies.Problem]] = {
    "sellername": read_name,
    "sellerabout": read_about,
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
    language = seller.language
    text, button = _destination(seller)
    rows = [
        (replies.Button(seller.text("button-profile"), action=("profile",)),),
        (button,),
    ]
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
        rows.append((replies.Button(seller.text(f"button-{name}"), action=("settings", name)),))
    return replies.Reply(text, tuple(rows))


def _destination(seller: drafts.Seller) -> tuple[str, replies.Button]:
    """Return where the money goes, and the button that changes it."""
    if seller.paid_at.rails:
        shown = "\n".join([seller.text("payout-settings"), *account_lines(seller)])
        text = shown if seller.accounts else seller.text("payout-settings-none")
        return text, replies.Button(seller.text("button-payout"), action=("getpaid",))
    if seller.destination is None:
        text = seller.text("settings-none")
        label = seller.text("button-set-destination")
    else:
        text = seller.text("settings", destination=replies.escaped(seller.destination))
        label = seller.text("button-change-destination")
    return text, replies.Button(label, action=("settings", "destination"))


def clock(minute: int) -> str:
    """Format a minute of the day: `22:00`."""
    return f"{minute // 60:02}:{minute % 60:02}"


def hours(quiet: tuple[int, int]) -> str:
    """Format quiet hours: 22:00 to 07:00, with a dash."""
    return f"{clock(quiet[0])}–{clock(quiet[1])}"  # noqa: RUF001 - as hours are written
