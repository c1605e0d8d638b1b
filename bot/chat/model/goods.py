"""What a buyer gets after the payment: a text, a file, or one of a list of codes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from bot.chat.model.stored_json import fits, parsed, shape_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TEXT, FILE, CODES = GOODS_KINDS = ("text", "file", "codes")

MAX_TEXT = 4000
MAX_CODE = 500
MAX_CODES = 10_000
"""Bounds of the service, in characters and codes."""

MAX_FILE = 20 * 1024 * 1024
"""Bytes: what bots may download from Telegram, and the service's bound."""


@dataclass(frozen=True, slots=True)
class Goods:
    """What each buyer gets.

    A `text` is the same for everybody; the text of codes has them one a line. A file, also one of
    codes, is kept by the service as `file_id`. `telegram_id` is Telegram's file_id of the message
    that it came in, `sent_as` the field of that message: `document`, `photo` and the like. `count`
    is the number of codes, of which `first` and `last` are shown to their seller.
    """

    kind: str
    text: str | None = None
    file_id: str | None = None
    name: str | None = None
    size: int | None = None
    telegram_id: str | None = None
    sent_as: str | None = None
    count: int | None = None
    first: str | None = None
    last: str | None = None

    @property
    def codes(self) -> tuple[str, ...]:
        """Return the codes that were typed; none where they are in a file."""
        return tuple(self.text.split("\n")) if self.kind == CODES and self.text else ()

    def to_json(self) -> str:
        """Return the goods as JSON for `from_json`."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: object) -> Goods | None:
        """Return the goods that `to_json` wrote; None for anything else."""
        return cls.of(parsed(text)) if isinstance(text, str) else None

    @classmethod
    def of(cls, found: object) -> Goods | None:
        """Return the goods of a JSON object; None for anything else."""
        return cls(**found) if fits(found, _SHAPE) else None


_SHAPE = shape_of(Goods, kind=lambda value: value in GOODS_KINDS)


def are_goods(found: object) -> bool:
    """Return whether a JSON value is that of goods, or of none."""
    return found is None or fits(found, _SHAPE)


def are_all_goods(found: object) -> bool:
    """Return whether a JSON value is a list of goods."""
    return isinstance(found, list) and all(fits(each, _SHAPE) for each in found)


def goods_of(found: Iterable[Mapping[str, Any]]) -> tuple[Goods, ...]:
    """Return the goods of a list that `are_all_goods` accepted."""
    return tuple(Goods(**each) for each in found)


@dataclass(frozen=True, slots=True)
class CodeCounts:
    """A request's codes by its service: in all, given to buyers, and buyers who wait for one."""

    total: int
    assigned: int
    waiting: int

    @property
    def left(self) -> int:
        return max(0, self.total - self.assigned)

    def after_sale(self, pieces: int) -> CodeCounts:
        """Count the codes after more pieces were sold: those without one wait."""
        given = min(pieces, self.left)
        return CodeCounts(self.total, self.assigned + given, self.waiting + pieces - given)
