"""How a form proceeds: to its first open question, and in the end to a finished spec."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeAlias, TypeVar

from bot.chat.forms import questions, request_fields, shares_and_amounts, typed_text
from bot.chat.forms.field import Field, Typed
from bot.chat.model import drafts, moments, request_spec
from bot.chat.model.replies import Action, Problem, Reply


@dataclass(frozen=True, slots=True)
class Change:
    """An edit of one field of a request."""

    link_id: str
    field: str
    """One of EDITS."""
    value: str | int | request_spec.Goods | None
    """None clears the field. An `end` is in epoch ms, `units` is the number to remove, a `picture`
    is an id."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A seller's setting to save."""

    name: str
    """`destination` (where the seller's money goes), `zone`, `quiet`, `summary`, one of
    PROFILE_STEPS, or `payoutlater` (the seller connects a payout account later)."""
    value: str | tuple[int, int] | int | None
    """None switches the setting off. A `zone` is an IANA name; `quiet` hours and the `summary` are
    minutes of the zone's day."""


@dataclass(frozen=True, slots=True)
class MarkNote:
    """A seller's note on a payment that the seller marked."""

    payment: str
    """The payment's key, as used in buttons."""
    mark: str
    """One of NOTED (model/payment.py)."""
    text: str | None
    """None if the seller skipped the note."""


@dataclass(frozen=True, slots=True)
class NewCodes:
    """More codes for the buyers of a request."""

    link_id: str
    codes: tuple[str, ...]


PROBE, SAVE = "probe", "save"
"""What the service should do with a payout account."""


@dataclass(frozen=True, slots=True)
class FormResult:
    """The consequences of an input; the caller applies all of them in one transaction."""

    draft: drafts.Draft | None
    """The draft to store; None if no form is open."""
    replies: tuple[Reply, ...] = ()
    toast: str | None = None
    spec: request_spec.RequestSpec | None = None
    """The request to create; if there is a `photo`, after the photo has arrived."""
    change: Change | None = None
    setting: Setting | None = None
    photo: str | None = None
    """The file_id of a photo to fetch for the draft or the `spec`; "" for the seller's profile
    photo at Telegram."""
    then: Action | None = None
    """A button to handle afterwards, as if it had been pressed."""
    note: MarkNote | None = None
    connect: str | None = None
    """PROBE to check the draft's payout account at the service, SAVE to save it."""
    fetch: drafts.Attachment | None = None
    """The file to fetch for buyers."""
    codes: NewCodes | None = None


D = TypeVar("D", bound=drafts.Draft)


@dataclass(frozen=True, slots=True)
class Press(Generic[D]):
    """A pressed button of a form."""

    draft: D
    words: Action
    """The button's data after its verb."""
    seller: drafts.Seller
    now: int
    """Epoch ms."""


PressHandler: TypeAlias = Callable[[Press[Any]], FormResult | None]
"""Handles a button of a form; returns None if its words are invalid."""


def start_new(
    draft_id: str,
    seller: drafts.Seller,
    paused: drafts.NewDraft | None = None,
    sent: drafts.Enclosure | None = None,
) -> FormResult:
    """Begin a new request at its first question; it replaces any open form."""
    asks = not seller.has_destination
    first = drafts.NewDraft(id=draft_id, step="kind", asks_destination=asks, paused=paused)
    return enclose(first, sent, seller, lambda draft: go_on(draft, seller))


def enclose(
    draft: drafts.NewDraft,
    sent: drafts.Enclosure | None,
    seller: drafts.Seller,
    go: Callable[[drafts.NewDraft], FormResult],
) -> FormResult:
    """Handle the content sent with a new request's text, then call `go` for the text.

    A photo is fetched. The form asks whether buyers get a file after all other questions. A note
    names content that can't be used.
    """
    if sent is None:
        return go(draft)
    may_deliver = request_fields.GOODS.is_offered(draft, seller)
    if sent.photo is not None and (sent.is_photo or not may_deliver):
        result = go(replace(draft, photos_due=draft.photos_due + 1))
        return replace(result, photo=sent.photo)
    if sent.file is None:
        note = seller.text("file-unused")
    elif not may_deliver:
        note = seller.text("file-unused-service")
    elif sent.file.size is not None and sent.file.size > request_spec.MAX_FILE:
        note = seller.text("problem-goods-too-large")
    else:
        return go(replace(draft, file=sent.file))
    return with_note(go(draft), note)


def with_note(result: FormResult, note: str) -> FormResult:
    """Add a note above the first reply of a result."""
    first, *others = result.replies or (Reply(""),)
    text = "\n\n".join(filter(None, (note, first.text)))
    return replace(result, replies=(replace(first, text=text), *others))


def ask_step(
    draft: drafts.Draft, step: str, seller: drafts.Seller, note: str | None = None
) -> FormResult:
    """Ask a step's question, below a note on the last answer."""
    draft = replace(draft, step=step)
    return FormResult(draft, (questions.prompt(draft, seller, note),))


def ask_again(draft: drafts.Draft, problem: Problem, seller: drafts.Seller) -> FormResult:
    """Ask the same question again, below the problem with its answer."""
    return ask_step(draft, draft.step, seller, problem.text(seller.language))


def go_on(draft: drafts.RequestDraft, seller: drafts.Seller, note: str | None = None) -> FormResult:
    """Ask the first open question.

    If no question is open, return to the options or the review, or finish a one-line form.
    """
    step = blocking_step(draft, seller)
    if step is not None:
        return ask_step(draft, step, seller, note)
    if isinstance(draft, drafts.NewDraft):
        return ask_step(draft, "options" if draft.in_menu else "review", seller, note)
    return finish(draft, seller)


def take_typed(
    draft: drafts.RequestDraft, field: Field, text: str, seller: drafts.Seller, now: int
) -> FormResult:
    """Take a text as the answer to the field's question; `now` in epoch ms."""
    found = field.read(Typed(text, draft, seller, now))
    if isinstance(found, moments.Choice):
        choices = questions.moment_rows(draft, seller, found.moments)
        return FormResult(draft, (questions.ask_which(draft, seller, "ask-which-moment", choices),))
    if isinstance(found, typed_text.AmbiguousAmount):
        return FormResult(draft, (questions.ask_which_amount(draft, seller, found, field.name),))
    if not isinstance(found, Problem):
        return take_value(draft, field, found, seller, now)
    if blocking_step(draft, seller) == draft.step:
        draft = field.clear(draft)  # the question stays open with this value
    return ask_again(draft, found, seller)


def take_value(
    draft: drafts.RequestDraft,
    field: Field,
    value: str | int | request_spec.Goods | None,
    seller: drafts.Seller,
    now: int | None = None,
) -> FormResult:
    """Set a field in a new request, or end an edit with its change; None clears the field."""
    problem = field.check(draft, value) if field.check and value is not None else None
    if problem is not None:
        return ask_again(draft, problem, seller)
    if isinstance(draft, drafts.EditDraft):
        change = Change(draft.link_id, draft.step, value)
        return replace(resume(draft.paused, seller), change=change)
    return accept(field.set(draft, value), field, seller, now)


def accept(
    draft: drafts.RequestDraft, field: Field, seller: drafts.Seller, now: int | None = None
) -> FormResult:
    """Ask the next question; repeat the answer above it if it is a time or the options follow."""
    in_menu = isinstance(draft, drafts.NewDraft) and draft.in_menu
    if not (in_menu or field.is_moment) or blocking_step(draft, seller) == field.name:
        return go_on(draft, seller)
    line = field.line(draft, seller, now)
    if line is None and field.unset_text:
        line = seller.text(field.unset_text)
    return go_on(draft, seller, line and seller.text("understood", line=line))


def go_back(draft: drafts.NewDraft, step: str, seller: drafts.Seller) -> FormResult:
    """Ask the question before `step`, or an earlier question that is still open."""
    if step in ("options", request_fields.FILE_STEP):
        draft = replace(draft, in_menu=False)
        if blocking_step(draft, seller) is None:
            return ask_step(draft, "review", seller)
        step = "review"  # all answered questions come before this step
    first_open = unanswered_step(draft, seller)
    if draft.in_menu or step not in request_fields.PATH:
        return ask_step(replace(draft, in_menu=first_open is None), first_open or "options", seller)
    order = request_fields.STEPS[draft.form].index
    earlier = [other for other in questions.path(draft, seller) if order(other) < order(step)]
    target = earlier[-1] if earlier else request_fields.STEPS[draft.form][0]
    if first_open is not None and order(first_open) < order(target):
        target = first_open
    return ask_step(draft, target, seller)


def unanswered_step(draft: drafts.RequestDraft, seller: drafts.Seller) -> str | None:
    """Return the first step that lacks a required answer."""
    for step in request_fields.STEPS[draft.form]:
        if step in request_fields.BY_NAME and request_fields.BY_NAME[step].is_open(draft, seller):
            return step
    is_file_open = isinstance(draft, drafts.NewDraft) and draft.file is not None
    return request_fields.FILE_STEP if is_file_open else None


def blocking_step(draft: drafts.RequestDraft, seller: drafts.Seller) -> str | None:
    """Return the step of an open question, or of shares that don't sum to the price."""
    step = unanswered_step(draft, seller)
    if step is None and isinstance(shares_and_amounts.shares_of(draft), Problem):
        return request_fields.RECEIVERS.name
    return step


def finish(draft: drafts.RequestDraft, seller: drafts.Seller) -> FormResult:
    """End the form with its spec, and offer to continue the interrupted form.

    Raises ValueError if a question is still open.
    """
    kind, name, currency = draft.kind, draft.name, draft.currency
    destination, shares = seller.destination, shares_and_amounts.shares_of(draft)
    if kind is None or name is None or currency is None or destination is None:
        raise ValueError("a question is still open")
    if draft.amount is None or isinstance(shares, Problem):
        raise ValueError("the price is still open")
    spec = request_spec.RequestSpec(
        kind,
        name,
        draft.description,
        shares_and_amounts.minor_of(draft),
        currency,
        draft.units,
        destination,
        shares,
        request_spec.in_minor(draft.choice, currency),
        **request_spec.options_of(draft),
    )
    paused = draft.paused
    replies = () if paused is None else (questions.resume_prompt(paused, seller),)
    return FormResult(paused, replies, toast=seller.text("toast-creating"), spec=spec)


def reply_and_resume(
    paused: drafts.NewDraft | None, seller: drafts.Seller, reply: Reply
) -> FormResult:
    """Reply, then repeat the question of the interrupted form, if there is one."""
    first = replace(reply, rows=()) if paused else reply
    return resume(paused, seller, first)


def resume(paused: drafts.NewDraft | None, seller: drafts.Seller, *first: Reply) -> FormResult:
    """After other replies, repeat the question of the interrupted form, if there is one."""
    return FormResult(paused, (*first, questions.prompt(paused, seller)) if paused else first)


def new_form_under_way(current: drafts.Draft | None) -> drafts.NewDraft | None:
    """Return the open form of a new request, which a shorter form may have paused."""
    if current is None or isinstance(current, drafts.NewDraft):
        return current
    return current.paused


def ask_after_zone(
    draft: drafts.TimedDraft, step: str, seller: drafts.Seller, note: str | None = None
) -> FormResult:
    """Ask a step's question out of order; before a time, ask for the zone if it is unknown."""
    field = request_fields.field_of(draft, step) if isinstance(draft, drafts.RequestDraft) else None
    is_timed = field.is_moment if field else step in ("quiet", "summary")
    if is_timed and seller.zone is None:
        return ask_step(replace(draft, step_after_zone=step), "zone", seller, note)
    return ask_step(replace(draft, step_after_zone=None), step, seller, note)
