"""The descriptor of a request field: everything that differs between fields."""

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
    """A text that answers a question of a form."""

    text: str
    draft: drafts.Draft
    seller: drafts.Seller
    now: int
    """Epoch ms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDisplay:
    """How a value is shown; a function that is None means that the value is its own text."""

    value: Callable[[drafts.Draft, drafts.Seller], Any] | None = None
    """Takes the value from a draft; None for the field's attribute."""

    words: Callable[[Any, drafts.Seller, int | None], object] | None = None
    """Puts the value into plain text, with a time relative to `now` (epoch ms) if there is one."""

    brief: Callable[[Any, drafts.Seller], object] | None = None
    """Puts the value into a few words for a button."""

    line: Callable[[drafts.Draft, drafts.Seller], str | None] | None = None
    """Returns the lines of the review, in HTML, if a text with `value` is not enough."""

    key: str = ""
    """The text of the review's line; "" for `review-NAME`."""

    most: int = replies.TEXT_LIMIT
    """UTF-16 units of the value in the review."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """How a field is sent to the payment service."""

    path: str = ""
    """Its place in the body of create (`product.name`); "" if another field's value includes it."""

    send: Callable[[request_spec.RequestSpec, str, int], object] | None = None
    """Converts the value, given the address of sellers' pictures and the time (epoch ms)."""

    refused_as: str = ""
    """A pattern of other paths by which a refusal may name the field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """How a field of a request that exists is edited."""

    place: int
    """Its place in the edit menu."""

    name: str = ""
    """The edit's name; "" for the field's."""

    path: str = ""
    """Where the change is sent as it is; "" to send the new value at the field's path."""

    apply: Callable[[Any, Any], Any] | None = None
    """Computes the new value from the present one and the change."""

    decides_status: bool = False
    """The edit may end or revive the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One thing that a seller can set in a request."""

    name: str
    """The step in forms, and part of the keys of its texts: `ask-NAME` is the question,
    `option-NAME` the button among the options, `review-NAME` the line of the review;
    `button-edit-NAME`, `saved-NAME` and `cleared-NAME` belong to its edit."""

    attribute: str = ""
    """Where drafts and specs have the value."""

    kinds: tuple[str, ...] = request_spec.KINDS
    """The kinds of requests that have the field."""

    option: int | None = None
    """Its place in the menu "More options"."""

    is_optional: bool = False

    is_moment: bool = False
    """The value is a time in epoch ms."""

    needs_destinations: bool = False
    """Not offered to sellers with payout accounts: each payment goes to one of these accounts, in
    the account's currency."""

    needs_embedded: bool = False
    """Not offered at another server of the interface."""

    is_money: bool = False
    """The value is in minor units of the price's currency."""

    empty: object = None
    """The value of an unset field."""

    read: Callable[[Typed], Any] = lambda _typed: replies.Problem("problem-press")
    """Returns the value of a text, a Problem or a Choice of moments; None leaves the field unset.
    By default the field is answered by its buttons, or read by the form."""

    check: Callable[[drafts.Draft, Any], replies.Problem | None] | None = None
    """Returns the Problem of a value that the rest of the draft forbids."""

    unset_text: str = ""
    """The text that confirms an answer that left the field unset."""

    ask: Callable[[drafts.Draft, drafts.Seller], str] | None = None
    """Returns the question, if its text takes values."""

    offers: Callable[[drafts.Draft, drafts.Seller], replies.Rows] | None = None
    """Returns the buttons with answers."""

    display: FieldDisplay | None = FieldDisplay()
    """None for a field without a line of its own."""

    wire: Wire | None = None
    """None for a field that the service does not know."""

    edit: Edit | None = None
    """None for a field that can't be edited."""

    def set(self, draft: drafts.Draft, value: object) -> drafts.Draft:
        """Return the draft with this value."""
        return replace(draft, **{self.attribute: value})  # type: ignore[arg-type]  # by its name

    def clear(self, draft: drafts.Draft) -> drafts.Draft:
        """Return the draft without a value."""
        return self.set(draft, self.empty)

    def question(self, draft: drafts.Draft, seller: drafts.Seller) -> str:
        """Return the question, above the present value if the field is optional or edited."""
        if self.ask:
            question = self.ask(draft, seller)
        else:
            question = translations.t(seller.language, f"ask-{draft.step}")
        present = self.line(draft, seller) if draft.form == "edit" or self.is_optional else None
        return f"{question}\n\n{present}" if present else question

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
        """Return a value for a text: a number, or escaped words of up to `most` UTF-16 units."""
        words = self._plain(value, seller, now)
        return words if isinstance(words, int) else replies.escaped(words, most)

    def changed_words(
        self, change: object, currency: str, seller: drafts.Seller, now: int, most: int
    ) -> object:
        """Return the value of an edit, in words as for `words`."""
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
        """True if the draft's kind has the field and the seller's service takes it."""
        is_possible = not (self.needs_destinations and seller.paid_at.rails)
        is_possible &= seller.paid_at.is_embedded or not self.needs_embedded
        return is_possible and draft.kind in (None, *self.kinds)

    def is_open(self, draft: drafts.Draft, seller: drafts.Seller) -> bool:
        """True if the draft needs a value that it does not have yet."""
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
        """Return the value for the body of create; `images` is the address of sellers' pictures."""
        if self.wire and self.wire.send:
            return self.wire.send(spec, images, now)
        return getattr(spec, self.attribute)

    def is_refused_by(self, path: str) -> bool:
        """True if a refusal that names this path is about the field."""
        if self.wire is None or not path:
            return False
        return path == self.wire.path or re.fullmatch(self.wire.refused_as, path) is not None
