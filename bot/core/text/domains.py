"""Names of hosts in ASCII, as the DNS has them."""

from __future__ import annotations

import idna

ENCODED = "xn--"  # RFC 5890 section 2.3.2.1
LONGEST_LABEL = 63  # RFC 1035 section 2.3.4


def ascii_host(name: str) -> str:
    """Return the name as browsers look it up (IDNA 2008, UTS 46). Raises ValueError.

    Python's own codec implements IDNA 2003, which turns faß.de into fass.de, another domain. ASCII
    names stay as they are, except for `xn--` labels, which must be valid.
    """
    if name.isascii() and ENCODED not in name.lower():
        return name
    labels = idna.uts46_remap(name, std3_rules=False).split(".")
    return ".".join(map(_ascii_label, labels))


def _ascii_label(label: str) -> str:
    """Encode a label; ASCII ones are kept, as IDNA knows no underscores and runs of hyphens."""
    if label.isascii() and not label.startswith(ENCODED):
        return label
    try:
        return idna.alabel(label).decode()
    except idna.InvalidCodepoint:
        return _with_symbols(label)


def _with_symbols(label: str) -> str:
    """Encode a label with symbols: browsers accept those of UTS 46, though IDNA 2008 has none."""
    encoded = label.startswith(ENCODED)
    text = label.removeprefix(ENCODED).encode().decode("punycode") if encoded else label
    written = ENCODED + text.encode("punycode").decode()
    if idna.uts46_remap(text, std3_rules=False) != text or len(written) > LONGEST_LABEL:
        raise ValueError(f"{label} is not a valid label of a host")
    if encoded and written != label:
        raise ValueError(f"{label} encodes nothing")
    return written
