"""Goods for buyers, in a new request or an edit: a message, a file or codes; and more codes.

The service stores a file first, so the form continues later (`receive`).
"""

from __future__ import annotations

import codecs
import csv
import json
import unicodedata
from collections import Counter
from dataclasses import dataclass, replace
from typing import TypeGuard

from bot.chat.forms import flow, questions, request_fields
from bot.chat.model import drafts, replies, request_spec
from bot.core.text import sanitize, translations
from bot.interface import fields, parts

# Parsing of messages and files from sellers.

MOST_TYPED = 32 * 1024
"""The most bytes of typed codes as JSON: the service accepts requests of 64 KiB with all texts."""

_SHOWN = 40
"""The most UTF-16 units shown of a code."""

_NAMED = 3
"""The most repeated codes that are named."""

_SEPARATORS = ",;\t"


@dataclass(frozen=True, slots=True)
class CodeList:
    """Distinct codes in their original order."""

    codes: tuple[str, ...]
    doubled: tuple[str, ...] = ()
    """The codes that were repeated."""

    @property
    def text(self) -> str:
        """Return the codes, one per line, as the service reads them."""
        return "\n".join(self.codes)

    def as_goods(self) -> request_spec.Goods:
        """Return the goods for these codes, without their text."""
        first, last = (code[:_SHOWN] for code in (self.codes[0], self.codes[-1]))
        return request_spec.Goods(request_spec.CODES, count=len(self.codes), first=first, last=last)

    def note(self, language: str) -> str | None:
        """Return a note on the repeated codes; None if no code was repeated."""
        if not self.doubled:
            return None
        named = ", ".join(replies.escaped(code, _SHOWN) for code in self.doubled[:_NAMED])
        if len(self.doubled) > _NAMED:
            named += ", …"
        return translations.t(language, "goods-doubled", count=len(self.doubled), codes=named)


def read_message(text: str) -> tuple[request_spec.Goods, ...] | replies.Problem:
    """Return the possible meanings of a message: a text and, if it has several lines, codes."""
    words, lines = sanitize.words(text), sanitize.lines(text).strip()
    if not words:
        return replies.Problem("problem-goods-nothing")
    found: tuple[request_spec.Goods, ...] = ()
    if len(words) <= fields.MAX_DELIVERED_TEXT:
        found = (request_spec.Goods(request_spec.TEXT, text=words),)
    codes = read_codes(lines)
    if isinstance(codes, CodeList) and len(lines.splitlines()) > 1:
        if len(json.dumps(codes.codes)) > MOST_TYPED:
            return replies.Problem("problem-goods-typed", {"count": len(codes.codes)})
        found = (*found, replace(codes.as_goods(), text=codes.text))
    if not found:
        return replies.Problem(
            "problem-goods-long", {"length": len(words), "most": fields.MAX_DELIVERED_TEXT}
        )
    return found


def read_codes(text: str) -> CodeList | replies.Problem:
    """Parse codes, one per line; blank lines are dropped, and repeated codes count once."""
    lines = [line.strip() for line in text.splitlines()]
    counts = Counter(filter(None, lines))
    if not counts:
        return replies.Problem("problem-goods-empty")
    for number, line in enumerate(lines, 1):
        if len(line) > parts.LONGEST_CODE:
            given: dict[str, object] = {
                "line": number,
                "length": len(line),
                "most": parts.LONGEST_CODE,
            }
            return replies.Problem("problem-goods-code-long", given)
        if any(unicodedata.category(char) in ("Cc", "Cs") for char in line if char != "\t"):
            return replies.Problem("problem-goods-code-control", {"line": number})
    if len(counts) > parts.MOST_CODES:
        return replies.Problem(
            "problem-goods-many", {"count": len(counts), "most": parts.MOST_CODES}
        )
    doubled = tuple(code for code, times in counts.items() if times > 1)
    return CodeList(tuple(counts), doubled)


def read_code_file(name: str, data: bytes) -> CodeList | replies.Problem:
    """Parse a file of codes: UTF-8, or UTF-16 with its byte order mark; a .csv has one column."""
    marked = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = data.decode("utf-16" if marked else "utf-8-sig")
    except UnicodeDecodeError:
        return replies.Problem("problem-goods-no-text")
    if "\0" in text:
        return replies.Problem("problem-goods-no-text")
    if not name.lower().endswith(".csv"):
        return read_codes(text)
    lines = text.splitlines()
    separator = max(_SEPARATORS, key=next(filter(str.strip, lines), "").count)
    try:
        table = [*csv.reader(lines, delimiter=separator, strict=True)]
    except csv.Error:
        return replies.Problem("problem-goods-csv")
    rows = [[*filter(None, map(str.strip, row))] for row in table]
    if any(len(row) > 1 for row in rows):
        return replies.Problem("problem-goods-columns")
    return read_codes("\n".join("".join(row) for row in rows))


def is_code_file(name: str) -> bool:
    """True if a file may be a list of codes, judging by its name."""
    return name.lower().endswith((".txt", ".csv"))


# The steps of the form.


@dataclass(frozen=True, slots=True)
class Fetched:
    """The outcome of fetching a file."""

    readings: tuple[request_spec.Goods, ...] = ()
    """The file's possible meanings; () if it could not be fetched, or adds more codes."""
    codes: CodeList | replies.Problem | None = None
    """The file's codes, or why a file that looks like a list of codes has no codes."""
    problem: str | None = None
    """The text key of the reason why the file could not be fetched."""
    has_words: bool = False
    """True if the file came with a caption, which buyers don't get."""


def codes_form(
    link_id: str, draft_id: str, seller: drafts.Seller, current: drafts.Draft | None
) -> flow.FormResult:
    """Ask for more codes for a request; an open form of a new request is paused."""
    paused = flow.new_form_under_way(current)
    draft = drafts.CodesDraft(id=draft_id, step="codes", link_id=link_id, paused=paused)
    return flow.ask_step(draft, draft.step, seller)


def takes_goods(draft: drafts.Draft | None) -> TypeGuard[drafts.RequestDraft | drafts.CodesDraft]:
    """True if the form asks for goods or codes, so that any message is an answer."""
    asks = isinstance(draft, drafts.RequestDraft) and draft.step == request_fields.GOODS.name
    return asks or isinstance(draft, drafts.CodesDraft)


def take_text(draft: drafts.RequestDraft, text: str, seller: drafts.Seller) -> flow.FormResult:
    """Take a text for buyers; if it has several lines, ask whether it is a text or codes.

    Until the question is answered, further texts are added, because Telegram's apps split long
    texts.
    """
    first = draft.readings[0].text if draft.readings and text.strip() else None
    whole = text if first is None else f"{first}\n{text}"
    readings, codes = read_message(whole), read_codes(whole)
    if isinstance(readings, replies.Problem):
        return flow.ask_again(draft, readings, seller)
    if first is not None and isinstance(codes, replies.Problem):
        return flow.ask_again(draft, codes, seller)
    notes = [] if first is None else [seller.text("goods-joined")]
    return _after([*notes, *_doubled(codes, seller)], _choose(draft, readings, seller))


def take_file(
    draft: drafts.RequestDraft | drafts.CodesDraft, file: drafts.Attachment, seller: drafts.Seller
) -> flow.FormResult:
    """Request the download of a file if it can be fetched."""
    if file.album_id is not None:
        return flow.ask_again(draft, replies.Problem("problem-goods-album"), seller)
    if file.size is not None and file.size > request_spec.MAX_FILE:
        return flow.ask_again(draft, replies.Problem("problem-goods-too-large"), seller)
    words, out = seller.text("goods-fetching"), questions.ways_out(draft, seller)
    return flow.FormResult(draft, (replies.Reply(words, out, is_passing=True),), fetch=file)


def receive(
    draft: drafts.Draft | None, draft_id: str, found: Fetched, seller: drafts.Seller
) -> flow.FormResult:
    """Resume the form `draft_id` with its file; the file is ignored if no form waits for it."""
    paused = draft.paused if draft else None
    waiting = (draft_id, request_fields.GOODS.name)
    if draft and paused and (paused.id, paused.step) == waiting and found.readings:
        if len(found.readings) > 1 or isinstance(found.codes, replies.Problem):
            paused = replace(paused, readings=found.readings)  # asked about when it is resumed
        else:
            paused = replace(paused, goods=found.readings[0], readings=())
        return flow.FormResult(replace(draft, paused=paused))
    if draft is None or draft.id != draft_id or not takes_goods(draft):
        late = replies.Reply(seller.text("goods-late"))
        return flow.FormResult(draft, () if found.problem else (late,))
    if found.problem is not None:
        return flow.ask_again(draft, replies.Problem(found.problem), seller)
    if isinstance(draft, drafts.CodesDraft):
        return add_codes(draft, found.codes or replies.Problem("problem-goods-no-list"), seller)
    notes = [seller.text("goods-no-caption")] if found.has_words else []
    if isinstance(found.codes, replies.Problem):  # codes never go to everyone without a question
        notes = [found.codes.text(seller.language), *notes]
        result = _ask(draft, found.readings, seller)
    else:
        result = _choose(draft, found.readings, seller)
    return _after([*notes, *_doubled(found.codes, seller)], result)


def _doubled(codes: CodeList | replies.Problem | None, seller: drafts.Seller) -> list[str]:
    note = codes.note(seller.language) if isinstance(codes, CodeList) else None
    return [note] if note else []


def _after(notes: list[str], result: flow.FormResult) -> flow.FormResult:
    """Put the notes before the replies of a result, as one reply."""
    first = (replies.Reply("\n".join(notes)),) if notes else ()
    return replace(result, replies=(*first, *result.replies))


def _choose(
    draft: drafts.RequestDraft, readings: tuple[request_spec.Goods, ...], seller: drafts.Seller
) -> flow.FormResult:
    """Set the only meaning; ask about codes even if they are the only meaning of a long text."""
    if readings[-1].kind == request_spec.CODES:
        return _ask(draft, readings, seller)
    return _set(draft, readings[0], seller)


def _ask(
    draft: drafts.RequestDraft, readings: tuple[request_spec.Goods, ...], seller: drafts.Seller
) -> flow.FormResult:
    return flow.ask_step(replace(draft, readings=readings), request_fields.GOODS.name, seller)


def _set(
    draft: drafts.RequestDraft, goods: request_spec.Goods, seller: drafts.Seller
) -> flow.FormResult:
    return flow.take_value(replace(draft, readings=()), request_fields.GOODS, goods, seller)


def add_codes(
    draft: drafts.CodesDraft, codes: CodeList | replies.Problem, seller: drafts.Seller
) -> flow.FormResult:
    """End the form with the codes to add."""
    if isinstance(codes, replies.Problem):
        return flow.ask_again(draft, codes, seller)
    words = [seller.text("codes-adding", count=len(codes.codes)), *_doubled(codes, seller)]
    result = flow.reply_and_resume(draft.paused, seller, replies.Reply("\n".join(words)))
    return replace(result, codes=flow.NewCodes(draft.link_id, codes.codes))


def press_goods(press: flow.Press[drafts.RequestDraft]) -> flow.FormResult | None:
    """Set the chosen meaning (codes, or the same for all), or ask for another message."""
    draft, words = press.draft, press.words
    if draft.step != request_fields.GOODS.name:
        return None
    if words == ("again",):
        return _ask(draft, (), press.seller)
    is_codes = words == (request_spec.CODES,)
    for goods in draft.readings:
        if (goods.kind == request_spec.CODES) == is_codes:
            return _set(draft, goods, press.seller)
    return None


def press_file(press: flow.Press[drafts.NewDraft]) -> flow.FormResult | None:
    """Use a file for buyers, as the photo, or not at all."""
    file, seller, words = press.draft.file, press.seller, press.words
    if file is None:
        return None
    if flow.unanswered_step(press.draft, seller) != request_fields.FILE_STEP:
        return flow.go_on(press.draft, seller)
    draft = replace(press.draft, file=None)
    if words == ("yes",):
        asked = replace(draft, step=request_fields.GOODS.name, readings=())
        return take_file(asked, replace(file, album_id=None), seller)
    sent = drafts.Enclosure(file.file_id) if words == ("photo",) and file.is_picture else None
    return flow.enclose(draft, sent, seller, lambda draft: flow.go_on(draft, seller))
