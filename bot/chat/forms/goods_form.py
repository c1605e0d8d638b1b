"""What buyers get: a message, a file or codes, for a new request or an edit; and more codes.

A file is fetched from Telegram and kept by the service first, so its answer comes later.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bot.chat.fields.goods_text import CodeList, read_codes, read_message
from bot.chat.fields.registry import FILE_STEP, GOODS
from bot.chat.forms import flow
from bot.chat.forms.button_rows import ways_out
from bot.chat.forms.outcome import NewCodes, Outcome, Press
from bot.chat.messages.reply import Problem, Reply
from bot.chat.model.attachment import Enclosure
from bot.chat.model.draft import Draft
from bot.chat.model.goods import CODES, MAX_FILE, Goods
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.messages.reply import Action
    from bot.chat.model.attachment import Attachment
    from bot.chat.model.draft import Seller

FORM = STEP = "codes"
"""The form that takes more codes for a request that exists, and its only step."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What became of a file: what it may mean, else the key of a text about the problem.

    The codes in it are in `codes`, or why a file that looks like a list of codes has none.
    """

    readings: tuple[Goods, ...] = ()
    codes: CodeList | Problem | None = None
    problem: str | None = None
    has_words: bool = False


def codes_form(listing_id: str, draft_id: str, seller: Seller, current: Draft | None) -> Outcome:
    """Ask for more codes of a request; a new request under way is paused."""
    paused = flow.new_form_under_way(current)
    return flow.ask_step(
        Draft(draft_id, FORM, STEP, listing=listing_id, paused=paused), STEP, seller
    )


def takes_goods(draft: Draft) -> bool:
    """Return whether the form waits for goods or codes, so that any message is an answer."""
    return draft.step in (GOODS.name, STEP) and draft.form in ("new", "edit", FORM)


def take_text(draft: Draft, text: str, seller: Seller) -> Outcome:
    """Take a text as what buyers get; several lines may be a text or codes, so that is asked.

    While that is asked, a further text is added: Telegram's apps split a long one.
    """
    first = draft.readings[0].text if draft.readings and text.strip() else None
    whole = text if first is None else f"{first}\n{text}"
    readings, codes = read_message(whole), read_codes(whole)
    if isinstance(readings, Problem):
        return flow.ask_again(draft, readings, seller)
    if first is not None and isinstance(codes, Problem):
        return flow.ask_again(draft, codes, seller)
    notes = [] if first is None else [t(seller.language, "goods-joined")]
    return _after([*notes, *_doubled(codes, seller)], _choose(draft, readings, seller))


def take_codes(draft: Draft, text: str, seller: Seller) -> Outcome:
    """Take a text as more codes."""
    return _add(draft, read_codes(text), seller)


def take_file(draft: Draft, file: Attachment, seller: Seller) -> Outcome:
    """Ask for the download of a file, unless it can't be fetched."""
    if file.album_id is not None:
        return flow.ask_again(draft, Problem("problem-goods-album"), seller)
    if file.size is not None and file.size > MAX_FILE:
        return flow.ask_again(draft, Problem("problem-goods-too-large"), seller)
    under_way = Reply(
        t(seller.language, "goods-fetching"), ways_out(draft, seller), is_passing=True
    )
    return Outcome(draft, (under_way,), fetch=file)


def receive(draft: Draft | None, draft_id: str, found: Fetched, seller: Seller) -> Outcome:
    """Resume the form `draft_id` with its file; a file that no form waits for isn't used."""
    kept = draft and _with_readings(draft, draft_id, found)
    if kept is not draft:
        return Outcome(kept)
    if draft is None or draft.id != draft_id or not takes_goods(draft):
        late = Reply(t(seller.language, "goods-late"))
        return Outcome(draft, () if found.problem else (late,))
    if found.problem is not None:
        return flow.ask_again(draft, Problem(found.problem), seller)
    if draft.form == FORM:
        codes = found.codes or Problem("problem-goods-no-list")
        return _add(draft, codes, seller)
    notes = [t(seller.language, "goods-no-caption")] if found.has_words else []
    if isinstance(found.codes, Problem):  # never all codes to everyone without a question
        notes = [found.codes.text(seller.language), *notes]
        outcome = _ask(draft, found.readings, seller)
    else:
        outcome = _choose(draft, found.readings, seller)
    return _after([*notes, *_doubled(found.codes, seller)], outcome)


def _doubled(codes: CodeList | Problem | None, seller: Seller) -> list[str]:
    """Return the note about repeated codes, if there is one."""
    note = codes.note(seller.language) if isinstance(codes, CodeList) else None
    return [note] if note else []


def _after(notes: list[str], outcome: Outcome) -> Outcome:
    """Return the outcome with the notes as its first reply."""
    first = (Reply("\n".join(notes)),) if notes else ()
    return replace(outcome, replies=(*first, *outcome.replies))


def _with_readings(draft: Draft, draft_id: str, found: Fetched) -> Draft:
    """Keep a file for the paused form, if it is the one that the file was for."""
    paused = draft.paused
    if paused is None or paused.id != draft_id or paused.step != GOODS.name or not found.readings:
        return draft
    if len(found.readings) > 1 or isinstance(found.codes, Problem):
        paused = replace(paused, readings=found.readings)
    else:
        paused = replace(paused, goods=found.readings[0], readings=())
    return replace(draft, paused=paused)


def _choose(draft: Draft, readings: tuple[Goods, ...], seller: Seller) -> Outcome:
    """Set the only reading; codes are asked about, also where a text is too long to be shown."""
    if readings[-1].kind == CODES:
        return _ask(draft, readings, seller)
    return _set(draft, readings[0], seller)


def _ask(draft: Draft, readings: tuple[Goods, ...], seller: Seller) -> Outcome:
    return flow.ask_step(replace(draft, readings=readings), GOODS.name, seller)


def _set(draft: Draft, goods: Goods, seller: Seller) -> Outcome:
    draft = replace(draft, readings=())
    if draft.form == "edit":
        return flow.take_value(draft, GOODS, goods.to_json(), seller)
    return flow.accept(GOODS.set(draft, goods), GOODS, seller)


def _add(draft: Draft, codes: CodeList | Problem, seller: Seller) -> Outcome:
    """End the form with codes to add."""
    if isinstance(codes, Problem):
        return flow.ask_again(draft, codes, seller)
    words = [
        t(seller.language, "codes-adding", count=len(codes.codes)),
        codes.note(seller.language),
    ]
    reply = Reply("\n".join(filter(None, words)))
    outcome = flow.reply_and_resume(draft.paused, seller, reply)
    return replace(outcome, codes=NewCodes(draft.listing or "", codes.codes))


def _goods_pressed(draft: Draft, words: Action, seller: Seller, _now: int) -> Outcome | None:
    """Take one reading of a message: codes, or the same for everybody; or ask for another one."""
    if draft.step != GOODS.name:
        return None
    if words == ("again",):
        return flow.ask_step(replace(draft, readings=()), GOODS.name, seller)
    is_codes = words == (CODES,)
    chosen = next((one for one in draft.readings if (one.kind == CODES) == is_codes), None)
    return None if chosen is None else _set(draft, chosen, seller)


def _file_pressed(draft: Draft, words: Action, seller: Seller, _now: int) -> Outcome | None:
    """Take a file as what buyers get, as the photo, or not at all."""
    file = draft.file
    if file is None:
        return None
    if flow.unanswered_step(draft, seller) != FILE_STEP:
        return flow.go_on(draft, seller)
    draft = replace(draft, file=None)
    if words == ("yes",):
        single = replace(file, album_id=None)
        return take_file(replace(draft, step=GOODS.name, readings=()), single, seller)
    sent = Enclosure(file.file_id) if words == ("photo",) and file.is_picture else None
    return flow.enclose(draft, sent, seller, lambda draft: flow.go_on(draft, seller))


VERBS: dict[str, Press] = {"goods": _goods_pressed, FILE_STEP: _file_pressed}
