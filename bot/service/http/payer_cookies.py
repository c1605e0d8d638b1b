"""The cookie that identifies a payer: signed, for one network, without personal data.

The pay page sets it, so that a browser is known before its first payment. Nothing is stored: the
signature proves that we made it, when, and for which network.
"""

from __future__ import annotations

import hmac
import re
import secrets

COOKIE = "payer"
PATH = "/pay"
FORM_TIME = 3_600_000
"""Milliseconds that filling in the form may take; after it, the checkout holds its unit."""

DAY = 86_400_000
"""Milliseconds."""

_SHAPE = re.compile(r"([0-9a-f]{24})\.([0-9a-f]{1,12})\.([0-9a-f]{32})")


class PayerCookies:
    """The cookies of a service, which last for `lifetime` ms; `secure` if its pages use https.

    `reservation` in ms.
    """

    def __init__(self, key: bytes, reservation: int, *, secure: bool) -> None:
        self._key = key
        self.lifetime = FORM_TIME + reservation
        self._attributes = (
            f"Path={PATH}; Max-Age={self.lifetime // 1000}; HttpOnly; SameSite=Lax"
            + "; Secure" * secure
        )

    def header(self, network: str, now: int, payer: str | None = None) -> str:
        """Return a Set-Cookie header for a new payer or a known one."""
        text = f"{payer or secrets.token_hex(12)}.{now:x}"
        return f"{COOKIE}={text}.{self._hash(f'cookie {text} {network}')}; {self._attributes}"

    def payer(self, cookie: str, network: str, now: int) -> str | None:
        """Return the payer's id; None for a cookie that is not ours or not of this network."""
        found = _SHAPE.fullmatch(cookie)
        if found is None or not 0 <= now - int(found[2], 16) < self.lifetime:
            return None
        expected = self._hash(f"cookie {found[1]}.{found[2]} {network}")
        return found[1] if hmac.compare_digest(found[3], expected) else None

    def network(self, request_id: str, address: str) -> str:
        """Return the pseudonym of an address at one request, meaningless anywhere else."""
        return self._hash(f"network {request_id} {address}")

    def peer(self, network: str, now: int) -> str:
        """Return the pseudonym of a network at wallets' hosts, another one each day."""
        return self._hash(f"peer {now // DAY} {network}")[:16]

    def _hash(self, text: str) -> str:
        return hmac.digest(self._key, text.encode(), "sha256").hex()[:32]
