"""The descriptor of a request field, with everything that differs between fields."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from bot.chat.model import drafts, replies, request_spec

R = TypeVar("R", bound=drafts.RequestDraft)

_LABEL = 24
"""UTF-16 units of a value on a button."""


@dataclass(frozen=True, slots=True)
class Typed:
    """A text that answers a form's question."""

    text: str
    draft: drafts.RequestDraft
    seller: drafts.Seller
    now: int
    """Epoch ms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDisplay:
    """How a value is shown; if a function is None, the value itself is shown."""

    value: Callable[[drafts.RequestDraft, drafts.Seller], Any] | None = None
    """Returns the value from a draft; None to use the field's attribute."""
    words: Callable[[Any, drafts.Seller, int | None], object] | None = None
    """Returns the value as plain text; a time is relative to `now` (epoch ms) if given."""
    brief: Callable[[Any, drafts.Seller], object] | None = None
    """Returns the value in a few words for a button."""
    line: Callable[[drafts.RequestDraft, drafts.Seller], str | None] | None = None
    """Returns the lines of the review in HTML, if a text with `value` is not enough."""
    key: str = ""
    """The text key of the review's line; "" for `review-NAME`."""
    most: int = replies.TEXT_LIMIT
    """UTF-16 units of the value in the review."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """How a field is sent to the payment service."""

    path: str = ""
    """The field's path in the body of create (`product.name`); "" if another field's value includes
    it."""
    refused_as: str = ""
    """A pattern of other paths for the field in refusals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """How a field of an existing request is edited."""

    place: int
    """The position in the edit menu."""
    name: str = ""
    """The edit's name; "" for the field's name."""
    path: str = ""
    """The path at which the change itself is sent; "" to send the new value at the field's path."""
    apply: Callable[[Any, Any], Any] | None = None
    """Computes the new value from the current value and the change."""
    decides_status: bool = False
    """True if the edit may end or revive the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One thing that a seller can set in a request."""

    name: str
    """The step in forms, and a part of the field's text keys: `ask-NAME` is the question,
    `option-NAME` the button among the options, `review-NAME` the line of the review;
    `button-edit-NAME`, `saved-NAME` and `cleared-NAME` belong to its edit."""
    attribute: str = ""
    """The attribute of drafts and specs that has the value."""
    kinds: tuple[str, ...] = request_spec.KINDS
    """The kinds of requests with this field."""
    option: int | None = None
    """The position in the menu "More options"."""
    is_optional: bool = False
    is_moment: bool = False
    """True if the value is a time in epoch ms."""
    needs_destinations: bool = False
    """True if sellers with payout accounts aren't offered the field, because each payment goes to
    one of the accounts, in its currency."""
    needs_embedded: bool = False
    """True if only the embedded service has the field."""
    is_money: bool = False
    """True if the value is in minor units of the price's currency."""
    empty: object = None
    """The value of an unset field."""
    read: Callable[[Typed], Any] = lambda _typed: replies.Problem("problem-press")
    """Parses a text; returns the value, a Problem, a Choice of moments, or None to leave the field
    unset. By default, buttons answer the field or the form parses the text."""
    check: Callable[[drafts.RequestDraft, Any], replies.Problem | None] | None = None
    """Returns the Problem if the rest of the draft forbids a value."""
    unset_text: str = ""
    """The text that confirms that the field was left unset."""
    ask: Callable[[drafts.RequestDraft, drafts.Seller], str] | None = None
    """Returns the question, if the question's text has variables."""
    offers: Callable[[drafts.RequestDraft, drafts.Seller], replies.Rows] | None = None
    """Returns the buttons with offered answers."""
    display: FieldDisplay | None = FieldDisplay()
    """None if the field has no line of its own."""
    wire: Wire | None = None
    """None if the service does not have the field."""
    edit: Edit | None = None
    """None if the field can't be edited."""

    def set(self, draft: R, value: object) -> R:
        """Return the draft with this value."""
        return replace(draft, **{self.attribute: value})  # type: ignore[arg-type]  # by its name

    def clear(self, draft: R) -> R:
        """Return the draft with the field unset."""
        return self.set(draft, self.empty)

    def question(self, draft: drafts.RequestDraft, seller: drafts.Seller) -> str:
        """Return the question; below it the current value, if the field is optional or edited."""
        question = self.ask(draft, seller) if self.ask else seller.text(f"ask-{draft.step}")
        present = self.line(draft, seller) if draft.form == "edit" or self.is_optional else None
        return f"{question}\n\n{present}" if present else question

    def line(
        self, draft: drafts.RequestDraft, seller: drafts.Seller, now: int | None = None
    ) -> str | None:
        """Return the lines of the review in HTML; None if there is no value."""
        if self.display is None:
            return None
        if self.display.line:
            return self.display.line(draft, seller)
        value = self._value(draft, seller)
        if not value:
            return None
        key = self.display.key or f"review-{self.name}"
        return seller.text(key, value=self.words(value, seller, now, self.display.most))

    def words(
        self,
        value: object,
        seller: drafts.Seller,
        now: int | None = None,
        most: int = replies.TEXT_LIMIT,
    ) -> object:
        """Return a value for use in a text: a number, or escaped words of at most `most` units."""
        words = self._plain(value, seller, now)
        return words if isinstance(words, int) else replies.escaped(words, most)

    def changed_words(
        self, change: object, currency: str, seller: drafts.Seller, now: int, most: int
    ) -> object:
        """Return the value of an edit, formatted like `words`."""
        return self.words((change, currency) if self.is_money else change, seller, now, most)

    def label(self, draft: drafts.RequestDraft, seller: drafts.Seller) -> str | None:
        """Return the value in a few words for a button, unescaped; None if there is no value."""
        value = self._value(draft, seller)
        if not value or self.display is None:
            return None
        brief = self.display.brief
        words = brief(value, seller) if brief else self._plain(value, seller, None)
        return replies.plain(words, _LABEL) if words else None

    def is_offered(self, draft: drafts.RequestDraft, seller: drafts.Seller) -> bool:
        """True if the draft's kind has the field and the seller's service takes it."""
        is_possible = not (self.needs_destinations and seller.paid_at.rails)
        is_possible &= seller.paid_at.is_embedded or not self.needs_embedded
        return is_possible and draft.kind in (None, *self.kinds)

    def is_open(self, draft: drafts.RequestDraft, seller: drafts.Seller) -> bool:
        """True if the draft still needs a value for this field."""
        is_needed = draft.kind in (None, *self.kinds) and not self.is_optional
        return is_needed and self._value(draft, seller) is None

    def _plain(self, value: object, seller: drafts.Seller, now: int | None) -> object:
        return (
            self.display.words(value, seller, now) if self.display and self.display.words else value
        )

    def _value(self, draft: drafts.RequestDraft, seller: drafts.Seller) -> Any:
        if self.display and self.display.value:
            return self.display.value(draft, seller)
        value = getattr(draft, self.attribute)
        return (value, draft.currency) if self.is_money and value is not None else value

    def is_refused_by(self, path: str) -> bool:
        """True if a refusal with this path concerns the field."""
        if self.wire is None or not path:
            return False
        return path == self.wire.path or re.fullmatch(self.wire.refused_as, path) is not None
