"""Names of hosts as DNS knows them."""

from __future__ import annotations

import idna

ENCODED = "xn--"  # RFC 5890 section 2.3.2.1
LONGEST_LABEL = 63  # RFC 1035 section 2.3.4


def ascii_host(name: str) -> str:
    """Give the name as browsers look it up (IDNA 2008 by way of UTS 46); ValueError where none can.

    Python's own codec is of 2003: with it, faß.de leads to fass.de, which is somebody else's. What
    is ASCII already stays as it is, unless it claims to stand for something that it can't.
    """
    if name.isascii() and ENCODED not in name.lower():
        return name
    labels = idna.uts46_remap(name, std3_rules=False).split(".")
    return ".".join(map(_ascii_label, labels))


def _ascii_label(label: str) -> str:
    """Underscores and runs of hyphens are no IDNA, but hosts have them."""
    if label.isascii() and not label.startswith(ENCODED):
        return label
    try:
        return idna.alabel(label).decode()
    except idna.InvalidCodepoint:
        return _with_symbols(label)


def _with_symbols(label: str) -> str:
    """IDNA 2008 has no symbols, but browsers look up what UTS 46 lets through: ☕.example."""
    encoded = label.startswith(ENCODED)
    text = label.removeprefix(ENCODED).encode().decode("punycode") if encoded else label
    written = ENCODED + text.encode("punycode").decode()
    if idna.uts46_remap(text, std3_rules=False) != text or len(written) > LONGEST_LABEL:
        raise ValueError(f"{label} is no label of a host")
    if encoded and written != label:
        raise ValueError(f"{label} stands for nothing")
    return written
