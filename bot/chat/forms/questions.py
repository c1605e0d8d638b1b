"""Each step's question with its buttons, and the offer to continue a form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from bot.chat.forms import field_texts, request_fields, seller_texts, typed_text
from bot.chat.forms.field import Field
from bot.chat.model import drafts, moments, payout, replies, zones


def prompt(draft: drafts.Draft, seller: drafts.Seller, note: str | None = None) -> replies.Reply:
    """Ask the question of the draft's step, below a note on the last answer."""
    parts = [note, _progress(draft, seller), _question(draft, seller)]
    is_passing = draft.step in (payout.CHECKING, payout.SAVING)
    return replies.Reply(
        "\n\n".join(filter(None, parts)), rows(draft, seller), is_passing=is_passing
    )


def _question(draft: drafts.Draft, seller: drafts.Seller) -> str:
    match draft:
        case drafts.PayoutDraft():
            return seller_texts.payout_question(draft, seller)
        case drafts.SettingsDraft(step="destination"):
            return field_texts.destination_question(draft, seller)
        case drafts.SettingsDraft() if draft.step in drafts.PROFILE_STEPS:
            return seller_texts.profile_question(draft, seller)
        case drafts.NoteDraft():
            there = "here" if seller.paid_at.host is None else "elsewhere"
            return seller.text(f"ask-{draft.step}", there=there)
        case drafts.NewDraft(step="review"):
            lines = (field.line(draft, seller) for field in request_fields.FIELDS)
            return "\n".join([seller.text("review"), *filter(None, lines)])
        case drafts.NewDraft(step=request_fields.FILE_STEP):
            return field_texts.file_question(draft, seller)
        case drafts.RequestDraft() if field := request_fields.field_of(draft):
            return field.question(draft, seller)
    return seller.text(f"ask-{draft.step}")


def ask_which_amount(
    draft: drafts.Draft,
    seller: drafts.Seller,
    unclear: typed_text.AmbiguousAmount,
    verb: str = "amount",
) -> replies.Reply:
    """Ask which meaning of an ambiguous amount is right, with a button for each."""
    code, choices = (unclear.currency,) if unclear.currency else (), []
    for each in unclear.choices:
        label = field_texts.shown_amount(each, unclear.currency, seller)
        choices.append((draft.button(label, verb, f"{each:f}", *code),))
    return ask_which(draft, seller, "ask-which-amount", tuple(choices))


def ask_which(
    draft: drafts.Draft, seller: drafts.Seller, key: str, choices: replies.Rows
) -> replies.Reply:
    """Ask, with the text `key`, which of the `choices` is meant."""
    parts = [_progress(draft, seller), seller.text(key)]
    return replies.Reply("\n\n".join(filter(None, parts)), (*choices, *ways_out(draft, seller)))


def resume_prompt(draft: drafts.Draft, seller: drafts.Seller) -> replies.Reply:
    """Offer to continue an interrupted form, or to start a new request over."""
    is_new = isinstance(draft, drafts.NewDraft)
    words = ("continue", "restart", "cancel") if is_new else ("continue", "cancel")
    rows = tuple((draft.button(seller.text(f"button-{word}"), word),) for word in words)
    if not isinstance(draft, drafts.NewDraft):
        return replies.Reply(seller.text("resume-short"), rows)
    name = replies.escaped(draft.name) if draft.name else seller.text("unnamed")
    return replies.Reply(seller.text("resume", name=name), rows)


def path(draft: drafts.NewDraft, seller: drafts.Seller) -> tuple[str, ...]:
    """Return the numbered steps of a new request; the currency counts as the amount's step."""
    left_out = {
        "currency": True,
        "units": draft.kind not in request_fields.UNITS.kinds,
        "destination": not draft.asks_destination and seller.has_destination,
    }
    now = _counted(draft.step)
    return tuple(step for step in request_fields.PATH if step == now or not left_out.get(step))


def _progress(draft: drafts.Draft, seller: drafts.Seller) -> str | None:
    """Return the number of the step; None if it isn't on the path, or if the kind is unknown."""
    if not isinstance(draft, drafts.NewDraft) or draft.in_menu or draft.kind is None:
        return None
    if draft.step not in request_fields.PATH:
        return None
    steps = path(draft, seller)
    place = steps.index(_counted(draft.step)) + 1
    return seller.text("progress", step=place, steps=len(steps))


def _counted(step: str) -> str:
    return "amount" if step == "currency" else step


# The buttons below a question.


def rows(draft: drafts.Draft, seller: drafts.Seller) -> replies.Rows:
    """Return the buttons of the draft's step: answers, Keep or Remove, Back and Cancel."""
    out = ways_out(draft, seller)
    if isinstance(draft, drafts.RequestDraft) and (field := request_fields.field_of(draft)):
        return (*_answer_rows(draft, field, seller), *out)
    offers = _OFFERS.get(draft.step)
    return (*offers(draft, seller), *out) if offers else out


def _answer_rows(
    draft: drafts.RequestDraft, field: Field, seller: drafts.Seller
) -> Iterator[tuple[replies.Button, ...]]:
    """Yield the rows of a field: offered answers, Keep, and Remove or Skip."""
    yield from field.offers(draft, seller) if field.offers else ()
    if kept := _kept_value(draft, field, seller):
        label = seller.text("button-keep", value=kept)
        yield (draft.button(label, "keep"),)
    is_set = field.is_optional and field.line(draft, seller) is not None
    if is_set or (field.is_optional and draft.form != "edit"):
        key = "button-remove" if is_set else "button-skip"
        yield (draft.button(seller.text(key), "clear", draft.step),)


def _kept_value(draft: drafts.RequestDraft, field: Field, seller: drafts.Seller) -> str | None:
    """Return the present answer to a numbered question of a new request, to which Back led."""
    if draft.form != "new" or draft.step not in request_fields.PATH:
        return None
    value = field.label(draft, seller)
    if value and field is request_fields.UNITS:
        return seller.text("count", count=draft.units)
    return value


def ways_out(draft: drafts.Draft, seller: drafts.Seller) -> replies.Rows:
    """Return Back, except at the first question, and Cancel; only Skip for a note."""
    if isinstance(draft, drafts.NoteDraft):
        return ((draft.button(seller.text("button-skip"), "clear", draft.step),),)
    cancel = draft.button(seller.text("button-cancel"), "cancel")
    if isinstance(draft, drafts.LineDraft | drafts.CodesDraft) or draft.step == "kind":
        return ((cancel,),)
    return ((draft.button(seller.text("button-back"), "back", draft.step), cancel),)


def zone_rows(draft: drafts.Draft, seller: drafts.Seller, names: Iterable[str]) -> replies.Rows:
    """Return a button for each time zone."""
    buttons = (
        draft.button(zones.place_name(name, seller.language), "zone", name)
        for name in dict.fromkeys(names)
    )
    return field_texts.in_rows(buttons, 2)


def moment_rows(draft: drafts.Draft, seller: drafts.Seller, times: Iterable[int]) -> replies.Rows:
    """Return a button for each time (epoch ms) that the draft's step may mean."""
    zone = seller.zone or zones.UTC_ZONE
    labels = {at: moments.button_label(at, zone, seller.language) for at in times}
    return tuple(
        (draft.button(label, "moment", draft.step, str(at)),) for at, label in labels.items()
    )


QUIET = ((22 * 60, 7 * 60), (20 * 60, 9 * 60))
"""Quiet hours offered, in minutes of the day."""

SUMMARY = (8 * 60, 20 * 60)
"""Times of the summary offered, in minutes of the day."""


def _hour_rows(draft: drafts.SettingsDraft, seller: drafts.Seller) -> replies.Rows:
    """Offer quiet hours or times of the summary, and to switch them off if they are on."""
    if draft.step == "quiet":
        offers = [(seller_texts.hours(each), "hours", f"{each[0]}-{each[1]}") for each in QUIET]
    else:
        offers = [(seller_texts.clock(each), "minute", str(each)) for each in SUMMARY]
    rows = field_texts.in_rows((draft.button(*each) for each in offers), 2)
    if (seller.quiet if draft.step == "quiet" else seller.summary) is None:
        return rows
    return (*rows, (draft.button(seller.text("button-off"), "off", draft.step),))


def fingerprint(draft: drafts.NewDraft, seller: drafts.Seller) -> str:
    """Return a checksum of a review, so that an old Create button creates nothing else."""
    values = [getattr(draft, field.attribute) for field in request_fields.FIELDS if field.attribute]
    return seller_texts.fingerprint((seller.destination, seller.profile.name, draft.choice, values))


def _review_rows(draft: drafts.NewDraft, seller: drafts.Seller) -> replies.Rows:
    create = draft.button(seller.text("button-create"), "create", fingerprint(draft, seller))
    options = draft.button(seller.text("button-options"), "options")
    return ((create,), (options,))


def _options_rows(draft: drafts.NewDraft, seller: drafts.Seller) -> replies.Rows:
    """Return a row for each set field with its value, then the other fields in pairs."""
    present, unset = [], []
    for field in request_fields.MENU:
        if not field.is_offered(draft, seller):
            continue
        label = seller.text(f"option-{field.name}")
        if value := field.label(draft, seller):
            words = seller.text("option-set", option=label, value=value)
            ticked = field_texts.TICK + words
            present.append((draft.button(ticked, "open", field.name),))
        else:
            unset.append(draft.button(label, "open", field.name))
    done = draft.button(seller.text("button-done"), "done")
    return (*present, *field_texts.in_rows(unset, 2), (done,))


_OFFERS: dict[str, Callable[[Any, drafts.Seller], replies.Rows]] = {
    "destination": field_texts.payout_kinds,
    "zone": lambda draft, seller: zone_rows(draft, seller, zones.suggested_zones(seller.language)),
    "quiet": _hour_rows,
    "summary": _hour_rows,
    "review": _review_rows,
    "options": _options_rows,
    request_fields.FILE_STEP: field_texts.file_answers,
    **dict.fromkeys(drafts.PROFILE_STEPS, seller_texts.profile_rows),
    **dict.fromkeys(request_fields.STEPS["payout"], seller_texts.payout_rows),
}
"""The offered answers at steps that ask for no field."""


def menu(language: str) -> replies.Rows:
    """Return the buttons of the main menu: new request, list, help."""
    listed = replies.text_button(language, "button-list", "list", "0")
    helped = replies.text_button(language, "button-help", "help")
    return ((replies.text_button(language, "button-new", "new"),), (listed, helped))
