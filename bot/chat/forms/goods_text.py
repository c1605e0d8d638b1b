"""What sellers give to buyers, as they type it or in files: parsed, and in words."""

from __future__ import annotations

import codecs
import csv
import json
import unicodedata
from collections import Counter
from dataclasses import dataclass, replace

from bot.chat.model import drafts, replies, request_spec
from bot.core.text import sanitize, translations

CODE_FILES = (".txt", ".csv")
"""Endings of the names of files that may be lists of codes."""

MOST_TYPED = 32 * 1024
"""Bytes of JSON of typed codes: the service takes a request of 64 KiB, with all its texts."""

_SHOWN = 40  # UTF-16 units of a code or a file's name
_SHOWN_TEXT = 300
_NAMED = 3  # codes that are named
_MEGABYTE = 1_048_576
_SEPARATORS = ",;\t"


@dataclass(frozen=True, slots=True)
class CodeList:
    """Different codes in their order; those of `doubled` came more than once."""

    codes: tuple[str, ...]
    doubled: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Return the codes one a line, as the service reads them."""
        return "\n".join(self.codes)

    def as_goods(self) -> request_spec.Goods:
        """Return the codes as what buyers get, without their text."""
        first, last = (code[:_SHOWN] for code in (self.codes[0], self.codes[-1]))
        return request_spec.Goods(request_spec.CODES, count=len(self.codes), first=first, last=last)

    def note(self, language: str) -> str | None:
        """Return which codes came more than once; None where each came once."""
        if not self.doubled:
            return None
        return translations.t(
            language, "goods-doubled", count=len(self.doubled), codes=_named(self.doubled)
        )


def read_codes(text: str) -> CodeList | replies.Problem:
    """Parse codes, one a line; blank lines are dropped, and a code that is repeated counts once."""
    lines = [line.strip() for line in text.splitlines()]
    counts = Counter(filter(None, lines))
    if not counts:
        return replies.Problem("problem-goods-empty")
    for number, line in enumerate(lines, 1):
        if len(line) > request_spec.MAX_CODE:
            given: dict[str, object] = {
                "line": number,
                "length": len(line),
                "most": request_spec.MAX_CODE,
            }
            return replies.Problem("problem-goods-code-long", given)
        if any(unicodedata.category(char) in ("Cc", "Cs") for char in line if char != "\t"):
            return replies.Problem("problem-goods-code-control", {"line": number})
    if len(counts) > request_spec.MAX_CODES:
        return replies.Problem(
            "problem-goods-many", {"count": len(counts), "most": request_spec.MAX_CODES}
        )
    doubled = tuple(code for code, times in counts.items() if times > 1)
    return CodeList(tuple(counts), doubled)


def read_code_file(name: str, data: bytes) -> CodeList | replies.Problem:
    """Parse a file of codes: UTF-8, or UTF-16 with its mark; of a .csv, its only column."""
    text = _decoded(data)
    if text is None:
        return replies.Problem("problem-goods-no-text")
    if name.lower().endswith(".csv"):
        return _read_column(text)
    return read_codes(text)


def is_code_file(name: str) -> bool:
    """Return whether a file may be a list of codes, by its name."""
    return name.lower().endswith(CODE_FILES)


def read_message(text: str) -> tuple[request_spec.Goods, ...] | replies.Problem:
    """Return what a message may mean: the text itself and, of several lines, a list of codes."""
    words = sanitize.lines(text).strip()
    if not words:
        return replies.Problem("problem-goods-nothing")
    found: tuple[request_spec.Goods, ...] = ()
    if len(words) <= request_spec.MAX_TEXT:
        found = (request_spec.Goods(request_spec.TEXT, text=words),)
    codes = read_codes(words)
    if isinstance(codes, CodeList) and len(words.splitlines()) > 1:
        if len(json.dumps(codes.codes)) > MOST_TYPED:
            return replies.Problem("problem-goods-typed", {"count": len(codes.codes)})
        found = (*found, replace(codes.as_goods(), text=codes.text))
    if not found:
        return replies.Problem(
            "problem-goods-long", {"length": len(words), "most": request_spec.MAX_TEXT}
        )
    return found


def fit_line(goods: request_spec.Goods, pieces: int | None, language: str) -> str:
    """Compare codes with the pieces on sale; None for an unlimited number."""
    count = goods.count or 0
    if pieces is None:
        return translations.t(language, "goods-codes", count=count)
    key = "fits" if count == pieces else "few" if count < pieces else "many"
    return translations.t(
        language, f"goods-codes-{key}", count=count, pieces=pieces, off=abs(pieces - count)
    )


def pieces_of(draft: drafts.Draft) -> int | None:
    """Return how many pieces a request sells: those of a drop, one of a one-off."""
    return 1 if draft.kind == "oneoff" else draft.units


def goods_words(value: object, seller: drafts.Seller, _now: int | None = None) -> str:
    """Return what buyers get, as one line of plain text."""
    goods = value if isinstance(value, request_spec.Goods) else request_spec.Goods.from_json(value)
    if goods is None:
        return ""
    if goods.kind == request_spec.CODES:
        return translations.t(seller.language, "goods-codes", count=goods.count or 0)
    return (
        file_words(goods, seller.language) if goods.kind == request_spec.FILE else goods.text or ""
    )


def file_words(goods: request_spec.Goods, language: str) -> str:
    """Return the name and the size of a file: `album.zip, 3.2 MB`."""
    return translations.t(
        language, "goods-file", name=goods.name or "", size=size_words(goods.size or 0, language)
    )


def size_words(size: int, language: str) -> str:
    """Return a number of bytes in MB, or in KB below a tenth of one."""
    if size < _MEGABYTE // 10:
        return translations.t(language, "goods-kilobytes", size=max(1, round(size / 1024)))
    return translations.t(language, "goods-megabytes", size=round(size / _MEGABYTE, 1))


def goods_brief(value: object, seller: drafts.Seller) -> str:
    """Return what buyers get in a word or two, for a button."""
    goods = value if isinstance(value, request_spec.Goods) else None
    if goods is None or goods.kind == request_spec.TEXT:
        return translations.t(seller.language, "goods-brief-text")
    return goods.name or "" if goods.kind == request_spec.FILE else goods_words(goods, seller)


def goods_line(draft: drafts.Draft, seller: drafts.Seller) -> str | None:
    """Return the lines of the review: what buyers get; codes beside the pieces on sale."""
    goods, language = draft.goods, seller.language
    if goods is None:
        return None
    if goods.kind != request_spec.CODES:
        value = replies.escaped(goods_words(goods, seller), _SHOWN_TEXT)
        return translations.t(language, "review-goods", value=value)
    fit = translations.t(
        language, "review-goods", value=fit_line(goods, pieces_of(draft), language)
    )
    return "\n".join(filter(None, [fit, ends_line(goods, language)]))


def ends_line(goods: request_spec.Goods, language: str) -> str | None:
    """Return the first and the last of several codes: a seller sees a heading among them."""
    if goods.first is None or goods.last is None or (goods.count or 0) <= 1:
        return None
    return translations.t(
        language, "goods-ends", first=replies.escaped(goods.first), last=replies.escaped(goods.last)
    )


def sent_goods(goods: request_spec.Goods | None) -> dict[str, object] | None:
    """Return what buyers get as the interface has it."""
    if goods is None:
        return None
    if goods.kind == request_spec.FILE:
        return {"fileId": goods.file_id}
    if goods.kind == request_spec.TEXT:
        return {"text": goods.text}
    return {"codesFileId": goods.file_id} if goods.file_id else {"codes": [*goods.codes]}


def _named(codes: tuple[str, ...]) -> str:
    shown = ", ".join(replies.escaped(code, _SHOWN) for code in codes[:_NAMED])
    return f"{shown}, …" if len(codes) > _NAMED else shown


def _decoded(data: bytes) -> str | None:
    """Return the text of a file; None for one that is no text."""
    marked = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = data.decode("utf-16" if marked else "utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _read_column(text: str) -> CodeList | replies.Problem:
    """Parse a file of comma-separated values that has one column of codes."""
    try:
        rows = [[cell.strip() for cell in row] for row in _rows(text)]
    except csv.Error:
        return replies.Problem("problem-goods-csv")
    if any(len([cell for cell in row if cell]) > 1 for row in rows):
        return replies.Problem("problem-goods-columns")
    return read_codes("\n".join("".join(row) for row in rows))


def _rows(text: str) -> list[list[str]]:
    first = next(filter(str.strip, text.splitlines()), "")
    separator = max(_SEPARATORS, key=first.count)
    return [*csv.reader(text.splitlines(), delimiter=separator, strict=True)]
