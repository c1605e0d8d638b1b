"""Read Lightning addresses as people type and paste them (LUD-16)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.core.errors import FieldProblem, InvalidBody
from bot.core.text import sanitize
from bot.service.model.payout_problems import Wrong

FIELD = "details.address"
LONGEST = 320  # characters

_USER = re.compile(r"(?![.]+$)[a-z0-9._-]{1,64}(\+[a-z0-9._-]{1,64})?", re.ASCII)
_HOST = re.compile(r"(?P<host>[^\s/?#@:\\\[\]]+|\[[0-9a-f:.]+\])(:(?P<port>[0-9]{1,5}))?")
_SCHEME = re.compile(r"(lightning|lnurlp|mailto):(//)?")
_EXAMPLE = "It looks like an email address, such as maria@wallet.example."


@dataclass(frozen=True, slots=True)
class LightningAddress:
    """A user at a host, both in lower case; `port` None is that of the scheme."""

    user: str
    host: str
    port: int | None = None

    def __str__(self) -> str:
        """Return the address as its seller knows it."""
        return f"{self.user}@{self.server}"

    @property
    def server(self) -> str:
        """Return the host, with the port if there is one."""
        return self.host if self.port is None else f"{self.host}:{self.port}"

    def url(self, scheme: str) -> str:
        """Return where the service says what it takes."""
        return f"{scheme}://{self.server}/.well-known/lnurlp/{self.user}"


def parse(text: str) -> LightningAddress:
    """Read `maria@wallet.example`, in any case and with `lightning:` before it.

    Raises InvalidBody with what is wrong; whether the host may be reached is checked elsewhere.
    """
    plain = _SCHEME.sub("", sanitize.typed(text).lower().removeprefix("⚡").strip(), count=1)
    if not plain:
        raise refusal(Wrong.MISSING, f"Enter the Lightning address. {_EXAMPLE}")
    if len(plain) > LONGEST:
        raise refusal(Wrong.TOO_LONG, f"That's {len(plain)} characters; the limit is {LONGEST}.")
    user, at, server = plain.rpartition("@")
    if not at:
        raise _without_at(plain)
    host = _HOST.fullmatch(server)
    if not host:
        raise refusal(Wrong.ADDRESS_FORM, f"The part after the @ isn't a domain. {_EXAMPLE}")
    if not _USER.fullmatch(user):
        raise refusal(
            Wrong.ADDRESS_FORM,
            "The part before the @ can only have letters from a to z, digits and . _ - +",
        )
    port = None if host["port"] is None else int(host["port"])
    if port is not None and not 0 < port < 1 << 16:
        raise refusal(Wrong.ADDRESS_PORT, "The number after the colon isn't a port.")
    return LightningAddress(user, host["host"], port)


def refusal(wrong: Wrong, message: str) -> InvalidBody:
    """Return the error for an address that can't be used."""
    return InvalidBody(info=[FieldProblem(FIELD, message, wrong.value)])


def _without_at(plain: str) -> InvalidBody:
    instead = f"Enter the Lightning address instead. {_EXAMPLE}"
    if plain.startswith("lnurl1"):
        return refusal(Wrong.LNURL, f"That's an LNURL code. {instead}")
    if plain.startswith(("lnbc", "lno1")):
        return refusal(Wrong.INVOICE, f"That's an invoice or an offer. {instead}")
    return refusal(Wrong.ADDRESS_FORM, f"A Lightning address has an @. {_EXAMPLE}")
