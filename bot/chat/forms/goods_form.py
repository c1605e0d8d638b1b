"""What buyers get: a message, a file or codes, for a new request or an edit; and more codes.

A file is fetched from Telegram and kept by the service first, so its answer comes later.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.chat.forms import flow, goods_text, questions, registry
from bot.chat.model import drafts, replies, request_spec
from bot.core.text import translations

FORM = STEP = "codes"
"""The form that takes more codes for a request that exists, and its only step."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What became of a file: what it may mean, else the key of a text about the problem.

    The codes in it are in `codes`, or why a file that looks like a list of codes has none.
    """

    readings: tuple[request_spec.Goods, ...] = ()
    codes: goods_text.CodeList | replies.Problem | None = None
    problem: str | None = None
    has_words: bool = False


def codes_form(
    listing_id: str, draft_id: str, seller: drafts.Seller, current: drafts.Draft | None
) -> flow.FormResult:
    """Ask for more codes of a request; a new request under way is paused."""
    paused = flow.new_form_under_way(current)
    return flow.ask_step(
        drafts.Draft(draft_id, FORM, STEP, listing=listing_id, paused=paused), STEP, seller
    )


def takes_goods(draft: drafts.Draft) -> bool:
    """Return whether the form waits for goods or codes, so that any message is an answer."""
    return draft.step in (registry.GOODS.name, STEP) and draft.form in ("new", "edit", FORM)


def take_text(draft: drafts.Draft, text: str, seller: drafts.Seller) -> flow.FormResult:
    """Take a text as what buyers get; several lines may be a text or codes, so that is asked.

    While that is asked, a further text is added: Telegram's apps split a long one.
    """
    first = draft.readings[0].text if draft.readings and text.strip() else None
    whole = text if first is None else f"{first}\n{text}"
    readings, codes = goods_text.read_message(whole), goods_text.read_codes(whole)
    if isinstance(readings, replies.Problem):
        return flow.ask_again(draft, readings, seller)
    if first is not None and isinstance(codes, replies.Problem):
        return flow.ask_again(draft, codes, seller)
    notes = [] if first is None else [translations.t(seller.language, "goods-joined")]
    return _after([*notes, *_doubled(codes, seller)], _choose(draft, readings, seller))


def take_codes(draft: drafts.Draft, text: str, seller: drafts.Seller) -> flow.FormResult:
    """Take a text as more codes."""
    return _add(draft, goods_text.read_codes(text), seller)


def take_file(
    draft: drafts.Draft, file: drafts.Attachment, seller: drafts.Seller
) -> flow.FormResult:
    """Ask for the download of a file, unless it can't be fetched."""
    if file.album_id is not None:
        return flow.ask_again(draft, replies.Problem("problem-goods-album"), seller)
    if file.size is not None and file.size > request_spec.MAX_FILE:
        return flow.ask_again(draft, replies.Problem("problem-goods-too-large"), seller)
    under_way = replies.Reply(
        translations.t(seller.language, "goods-fetching"),
        questions.ways_out(draft, seller),
        is_passing=True,
    )
    return flow.FormResult(draft, (under_way,), fetch=file)


def receive(
    draft: drafts.Draft | None, draft_id: str, found: Fetched, seller: drafts.Seller
) -> flow.FormResult:
    """Resume the form `draft_id` with its file; a file that no form waits for isn't used."""
    kept = draft and _with_readings(draft, draft_id, found)
    if kept is not draft:
        return flow.FormResult(kept)
    if draft is None or draft.id != draft_id or not takes_goods(draft):
        late = replies.Reply(translations.t(seller.language, "goods-late"))
        return flow.FormResult(draft, () if found.problem else (late,))
    if found.problem is not None:
        return flow.ask_again(draft, replies.Problem(found.problem), seller)
    if draft.form == FORM:
        codes = found.codes or replies.Problem("problem-goods-no-list")
        return _add(draft, codes, seller)
    notes = [translations.t(seller.language, "goods-no-caption")] if found.has_words else []
    if isinstance(found.codes, replies.Problem):  # never all codes to everyone without a question
        notes = [found.codes.text(seller.language), *notes]
        outcome = _ask(draft, found.readings, seller)
    else:
        outcome = _choose(draft, found.readings, seller)
    return _after([*notes, *_doubled(found.codes, seller)], outcome)


def _doubled(
    codes: goods_text.CodeList | replies.Problem | None, seller: drafts.Seller
) -> list[str]:
    """Return the note about repeated codes, if there is one."""
    note = codes.note(seller.language) if isinstance(codes, goods_text.CodeList) else None
    return [note] if note else []


def _after(notes: list[str], outcome: flow.FormResult) -> flow.FormResult:
    """Return the outcome with the notes as its first reply."""
    first = (replies.Reply("\n".join(notes)),) if notes else ()
    return replace(outcome, replies=(*first, *outcome.replies))


def _with_readings(draft: drafts.Draft, draft_id: str, found: Fetched) -> drafts.Draft:
    """Keep a file for the paused form, if it is the one that the file was for."""
    paused = draft.paused
    if (
        paused is None
        or paused.id != draft_id
        or paused.step != registry.GOODS.name
        or not found.readings
    ):
        return draft
    if len(found.readings) > 1 or isinstance(found.codes, replies.Problem):
        paused = replace(paused, readings=found.readings)
    else:
        paused = replace(paused, goods=found.readings[0], readings=())
    return replace(draft, paused=paused)


def _choose(
    draft: drafts.Draft, readings: tuple[request_spec.Goods, ...], seller: drafts.Seller
) -> flow.FormResult:
    """Set the only reading; codes are asked about, also where a text is too long to be shown."""
    if readings[-1].kind == request_spec.CODES:
        return _ask(draft, readings, seller)
    return _set(draft, readings[0], seller)


def _ask(
    draft: drafts.Draft, readings: tuple[request_spec.Goods, ...], seller: drafts.Seller
) -> flow.FormResult:
    return flow.ask_step(replace(draft, readings=readings), registry.GOODS.name, seller)


def _set(draft: drafts.Draft, goods: request_spec.Goods, seller: drafts.Seller) -> flow.FormResult:
    draft = replace(draft, readings=())
    if draft.form == "edit":
        return flow.take_value(draft, registry.GOODS, goods.to_json(), seller)
    return flow.accept(registry.GOODS.set(draft, goods), registry.GOODS, seller)


def _add(
    draft: drafts.Draft, codes: goods_text.CodeList | replies.Problem, seller: drafts.Seller
) -> flow.FormResult:
    """End the form with codes to add."""
    if isinstance(codes, replies.Problem):
        return flow.ask_again(draft, codes, seller)
    words = [
        translations.t(seller.language, "codes-adding", count=len(codes.codes)),
        codes.note(seller.language),
    ]
    reply = replies.Reply("\n".join(filter(None, words)))
    outcome = flow.reply_and_resume(draft.paused, seller, reply)
    return replace(outcome, codes=flow.NewCodes(draft.listing or "", codes.codes))


def _goods_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    """Take one reading of a message: codes, or the same for everybody; or ask for another one."""
    if draft.step != registry.GOODS.name:
        return None
    if words == ("again",):
        return flow.ask_step(replace(draft, readings=()), registry.GOODS.name, seller)
    is_codes = words == (request_spec.CODES,)
    chosen = next(
        (one for one in draft.readings if (one.kind == request_spec.CODES) == is_codes), None
    )
    return None if chosen is None else _set(draft, chosen, seller)


def _file_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    """Take a file as what buyers get, as the photo, or not at all."""
    file = draft.file
    if file is None:
        return None
    if flow.unanswered_step(draft, seller) != registry.FILE_STEP:
        return flow.go_on(draft, seller)
    draft = replace(draft, file=None)
    if words == ("yes",):
        single = replace(file, album_id=None)
        return take_file(replace(draft, step=registry.GOODS.name, readings=()), single, seller)
    sent = drafts.Enclosure(file.file_id) if words == ("photo",) and file.is_picture else None
    return flow.enclose(draft, sent, seller, lambda draft: flow.go_on(draft, seller))


VERBS: dict[str, flow.Press] = {"goods": _goods_pressed, registry.FILE_STEP: _file_pressed}
