"""The descriptor of a request field: everything that differs from one field to the next."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from bot.chat.model import drafts, replies, request_spec
from bot.core.text import translations

_LABEL = 24
"""UTF-16 units of a value on a button."""


@dataclass(frozen=True, slots=True)
class Typed:
    """A text that answers a question of a form; `now` in epoch ms."""

    text: str
    draft: drafts.Draft
    seller: drafts.Seller
    now: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDisplay:
    """How a value is shown; functions are None where the attribute's own text does.

    `value` takes it from a draft and `words` puts it into plain text, with a time relative to
    `now` if there is one; `brief` is for buttons. A line of the review is the text `key`, else
    `review-` and the field's name, with up to `most` UTF-16 units as `value`; `line` returns the
    lines of a field for which that is not enough.
    """

    value: Callable[[drafts.Draft, drafts.Seller], Any] | None = None
    words: Callable[[Any, drafts.Seller, int | None], object] | None = None
    brief: Callable[[Any, drafts.Seller], object] | None = None
    line: Callable[[drafts.Draft, drafts.Seller], str | None] | None = None
    key: str = ""
    most: int = replies.TEXT_LIMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """How a field is sent to the payment service.

    `path` is its place in the body of create (`product.name`), empty where its value goes out with
    another field; `send` converts the spec's value, given the address of sellers' pictures and the
    time (epoch ms). A refusal names `path` or what the pattern `refused_as` matches.
    """

    path: str = ""
    send: Callable[[request_spec.RequestSpec, str, int], object] | None = None
    refused_as: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """How a field of a request that exists is edited.

    `place` orders the edit menu. `name` is the edit's name where the field's own is not it. The
    change goes out at the field's path, or as it is at `path`; `apply` computes the new value from
    the present one and the change. An edit that `decides_status` may end or revive the request.
    """

    place: int
    name: str = ""
    path: str = ""
    apply: Callable[[Any, Any], Any] | None = None
    decides_status: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One thing that a seller can set in a request.

    `name` names its step in forms and its texts: `ask-name` is the question, `option-name` the
    button among the options, `review-name` the line of the review, and `button-edit-name`,
    `saved-name` and `cleared-name` belong to its edit. `attribute` holds its value in drafts and
    wishes. Only `kinds` of requests have it.

    `option` is its place in the menu "More options". `read` returns the value of a text, a Problem
    or a Choice of moments; without it the field is answered by its buttons, or read by the form.
    `check` returns the Problem of a value that the rest of the draft forbids. A value None leaves
    the field unset, which the text `unset_text` says. A field that `needs_destinations` is not
    offered to sellers whose money goes to payout accounts: each payment goes to one of them, in a
    currency of its own; one that `needs_embedded` is not offered at another server of the
    interface. A value that `is_money` is in minor units of the price's currency. `ask` returns the
    question where its text
    takes values, `offers` the buttons with answers. `shown` is None for a field without a line of
    its own, `wire` for one that the service does not know, `edit` for one that can't be edited.
    """

    name: str
    attribute: str = ""
    kinds: tuple[str, ...] = request_spec.KINDS
    option: int | None = None
    is_optional: bool = False
    is_moment: bool = False
    needs_destinations: bool = False
    needs_embedded: bool = False
    is_money: bool = False
    empty: object = None
    read: Callable[[Typed], Any] = lambda _typed: replies.Problem("problem-press")
    check: Callable[[drafts.Draft, Any], replies.Problem | None] | None = None
    unset_text: str = ""
    ask: Callable[[drafts.Draft, drafts.Seller], str] | None = None
    offers: Callable[[drafts.Draft, drafts.Seller], replies.Rows] | None = None
    display: FieldDisplay | None = FieldDisplay()
    wire: Wire | None = None
    edit: Edit | None = None

    def set(self, draft: drafts.Draft, value: object) -> drafts.Draft:
        """Return the draft with this value."""
        return replace(draft, **{self.attribute: value})  # type: ignore[arg-type]  # by its name

    def clear(self, draft: drafts.Draft) -> drafts.Draft:
        """Return the draft without a value."""
        return self.set(draft, self.empty)

    def question(self, draft: drafts.Draft, seller: drafts.Seller) -> str:
        """Return the question, above the present value where the path does not ask it."""
        asked = (
            self.ask(draft, seller)
            if self.ask
            else translations.t(seller.language, f"ask-{draft.step}")
        )
        beside = self.line(draft, seller) if draft.form == "edit" or self.is_optional else None
        return f"{asked}\n\n{beside}" if beside else asked

    def line(
        self, draft: drafts.Draft, seller: drafts.Seller, now: int | None = None
    ) -> str | None:
        """Return the lines of the review, in HTML; None without a value."""
        if self.display is None:
            return None
        if self.display.line:
            return self.display.line(draft, seller)
        value = self._value(draft, seller)
        if not value:
            return None
        key = self.display.key or f"review-{self.name}"
        return translations.t(
            seller.language, key, value=self.words(value, seller, now, self.display.most)
        )

    def words(
        self,
        value: object,
        seller: drafts.Seller,
        now: int | None = None,
        most: int = replies.TEXT_LIMIT,
    ) -> object:
        """Return a value as a text takes it: a number, or escaped words of `most` units."""
        words = self._plain(value, seller, now)
        return words if isinstance(words, int) else replies.escaped(words, most)

    def changed_words(
        self, change: object, currency: str, seller: drafts.Seller, now: int, most: int
    ) -> object:
        """Return the value of an edit as `words` does."""
        return self.words((change, currency) if self.is_money else change, seller, now, most)

    def label(self, draft: drafts.Draft, seller: drafts.Seller) -> str | None:
        """Return the value in a few words for a button, unescaped; None without a value."""
        value = self._value(draft, seller)
        if not value or self.display is None:
            return None
        brief = self.display.brief
        words = brief(value, seller) if brief else self._plain(value, seller, None)
        return replies.plain(words, _LABEL) if words else None

    def is_offered(self, draft: drafts.Draft, seller: drafts.Seller) -> bool:
        """Return whether a draft's seller may set it: by the kind, and by where money goes."""
        is_possible = not (self.needs_destinations and seller.paid_at.rails)
        is_possible &= seller.paid_at.is_embedded or not self.needs_embedded
        return is_possible and draft.kind in (None, *self.kinds)

    def is_open(self, draft: drafts.Draft, seller: drafts.Seller) -> bool:
        """Return whether a draft of this kind still has to have a value."""
        is_needed = draft.kind in (None, *self.kinds) and not self.is_optional
        return is_needed and self._value(draft, seller) is None

    def _plain(self, value: object, seller: drafts.Seller, now: int | None) -> object:
        return (
            self.display.words(value, seller, now) if self.display and self.display.words else value
        )

    def _value(self, draft: drafts.Draft, seller: drafts.Seller) -> Any:
        if self.display and self.display.value:
            return self.display.value(draft, seller)
        value = getattr(draft, self.attribute)
        return (value, draft.currency) if self.is_money and value is not None else value

    def sent(self, spec: request_spec.RequestSpec, images: str, now: int) -> object:
        """Return the value as the interface has it."""
        if self.wire and self.wire.send:
            return self.wire.send(spec, images, now)
        return getattr(spec, self.attribute)

    def is_refused_by(self, path: str) -> bool:
        """Return whether a refusal that names this path is about the field."""
        if self.wire is None or not path:
            return False
        return path == self.wire.path or re.fullmatch(self.wire.refused_as, path) is not None
