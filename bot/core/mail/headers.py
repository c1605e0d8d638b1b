"""Email headers that carry any text unchanged.

The header classes of the standard library decode a value that looks like an encoded word
(RFC 2047), also when it holds CR and LF: a product's name would write headers, or the whole
letter. So text is encoded first, and sent as it is.
"""

from __future__ import annotations

import re
from email.header import Header
from email.headerregistry import BaseHeader, HeaderRegistry, UniqueUnstructuredHeader
from email.policy import EmailPolicy, Policy, default
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from email.headerregistry import Address
    from email.message import EmailMessage

ENCODED = ("subject", "from", "to", "list-unsubscribe")

_ENDS_HEADER = re.compile(r"[\r\n\0]")


class _EncodedHeader(UniqueUnstructuredHeader, BaseHeader):  # type: ignore[misc]  # typeshed: max_count
    """A header that is encoded already: never decoded, and folded only between encoded words."""

    @classmethod
    def parse(cls, value: str, kwds: dict[str, Any]) -> None:
        """Take the value as it is. Raises ValueError for one that would end its header."""
        if _ENDS_HEADER.search(value):
            raise ValueError("would end its header")
        kwds |= {"decoded": value, "parse_tree": None}

    def fold(self, *, policy: Policy) -> str:
        """Write the header with the line ends of `policy`."""
        lines = str(self).replace("?= =?", f"?={policy.linesep} =?")
        return f"{self.name}: {lines}{policy.linesep}"


def encode_text(text: str, header: str) -> str:
    """Return text in ASCII for a header of this name, as encoded words where it has to be."""
    if text.isascii() and "=?" not in text:
        return text
    return Header(text, "utf-8", header_name=header).encode(linesep="")


def encode_mailbox(address: Address, header: str) -> str:
    """Return an address with its display name, in ASCII, for a header of this name."""
    name = encode_text(address.display_name, header)
    return str(address) if name == address.display_name else f"{name} <{address.addr_spec}>"


@cache
def encoded_headers() -> EmailPolicy[EmailMessage]:
    """Return the policy of a message whose ENCODED headers are set to encoded values."""
    registry = HeaderRegistry()
    for name in ENCODED:
        registry.map_to_type(name, _EncodedHeader)
    return default.clone(header_factory=registry)
