"""Headers of an e-mail that say what they are given, whatever it looks like.

Those of Python decode a name that is written as RFC 2047 writes words, CR and LF in it too: whoever
names a product would write headers of their own, or the whole letter.
"""

from __future__ import annotations

import re
from email.header import Header
from email.headerregistry import (
    Address,
    BaseHeader,
    Group,
    HeaderRegistry,
    UniqueAddressHeader,
    UniqueUnstructuredHeader,
)
from email.policy import EmailPolicy, Policy, default
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from email.message import EmailMessage

_ENDING = re.compile(r"[\r\n\0]")


class _Subject(UniqueUnstructuredHeader, BaseHeader):  # type: ignore[misc]  # typeshed: max_count
    """A subject; the usual header loses spaces besides, where its lines are folded."""

    @classmethod
    def parse(cls, value: str, kwds: dict[str, Any]) -> None:
        """Take the text as it is."""
        kwds |= {"decoded": _one_line(value), "parse_tree": None}

    def fold(self, *, policy: Policy) -> str:
        """Give the header as it is sent."""
        words = Header(str(self), _charset(str(self)), header_name="Subject")
        return f"Subject: {words.encode(linesep=policy.linesep)}{policy.linesep}"


class _Mailbox(UniqueAddressHeader, BaseHeader):  # type: ignore[misc]  # typeshed: max_count
    """Whom a letter is from or for: one address, with or without a name."""

    @classmethod
    def parse(cls, value: Address | str, kwds: dict[str, Any]) -> None:
        """Take the name as it is; a plain address may come as text."""
        address = Address(addr_spec=value) if isinstance(value, str) else value
        groups = [Group(None, [address])]
        kwds |= {"decoded": _one_line(str(address)), "groups": groups, "parse_tree": None}

    def fold(self, *, policy: Policy) -> str:
        """Give the header as it is sent; an address is never folded."""
        (address,) = self.addresses
        text = str(address)
        if _charset(text):
            words = Header(address.display_name, "utf-8", header_name=self.name)
            text = f"{words.encode(linesep=policy.linesep)} <{address.addr_spec}>"
        return f"{self.name}: {text}{policy.linesep}"


class _Link(UniqueUnstructuredHeader, BaseHeader):  # type: ignore[misc]  # typeshed: max_count
    """A link, which stays on one line: not every mail program puts a folded one together."""

    @classmethod
    def parse(cls, value: str, kwds: dict[str, Any]) -> None:
        """Take the text as it is."""
        kwds |= {"decoded": _one_line(value), "parse_tree": None}

    def fold(self, *, policy: Policy) -> str:
        """Return the header as it is sent."""
        return f"{self.name}: {self}{policy.linesep}"


def _charset(text: str) -> str | None:
    """Give the charset to encode the text by; None where it can't be mistaken for encoded words."""
    return None if text.isascii() and "=?" not in text else "utf-8"


def _one_line(text: str) -> str:
    if _ENDING.search(text):
        raise ValueError("would end its header")
    return text


@cache
def literal() -> EmailPolicy[EmailMessage]:
    """Give the policy of a message that is written with these headers."""
    registry = HeaderRegistry()
    registry.map_to_type("subject", _Subject)
    registry.map_to_type("from", _Mailbox)
    registry.map_to_type("to", _Mailbox)
    registry.map_to_type("list-unsubscribe", _Link)
    return default.clone(header_factory=registry)
