"""The rail for Lightning addresses: LNURL-pay, with the wallet's verify address if any.

Addresses are read as people type and paste them (LUD-16), answers as services write them (LUD-06,
LUD-12, LUD-16, LUD-21). HTTP statuses have no meaning in LNURL (LUD-01): errors are reported in the
field `status`. Unknown fields are skipped, because services add their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import urlencode

from bot.core import errors
from bot.core.text import sanitize
from bot.interface import vocabulary
from bot.service.rails import invoices, rail, wallet_http

DetailError = vocabulary.DetailError

LONGEST_ADDRESS = 320  # characters

_USER = re.compile(r"(?![.]+$)[a-z0-9._-]{1,64}(\+[a-z0-9._-]{1,64})?", re.ASCII)
_HOST = re.compile(r"(?P<host>[^\s/?#@:\\\[\]]+|\[[0-9a-f:.]+\])(:(?P<port>[0-9]{1,5}))?")
_SCHEME = re.compile(r"(lightning|lnurlp|mailto):(//)?")
HTTP_PORT = 80
_EXAMPLE = "It looks like an email address, such as maria@wallet.example."


@dataclass(frozen=True, slots=True)
class LightningAddress:
    """A user at a host, both in lower case."""

    user: str
    host: str
    port: int | None = None
    """None for the default port of the scheme."""

    def __str__(self) -> str:
        """Return the address as the seller knows it."""
        return f"{self.user}@{self.server}"

    @property
    def server(self) -> str:
        """Return the host, with the port if there is one."""
        return self.host if self.port is None else f"{self.host}:{self.port}"

    def url(self, scheme: str) -> str:
        """Return the URL whose answer is the service's offer."""
        return f"{scheme}://{self.server}/.well-known/lnurlp/{self.user}"


def parse_address(text: str) -> LightningAddress:
    """Read `maria@wallet.example` in any case, with or without the prefix `lightning:`.

    Raises InvalidBody. It doesn't check whether the host may be called.
    """
    plain = _SCHEME.sub("", sanitize.typed(text).lower().removeprefix("⚡").strip(), count=1)
    if not plain:
        raise _refused(DetailError.MISSING, f"Enter the Lightning address. {_EXAMPLE}")
    if len(plain) > LONGEST_ADDRESS:
        message = f"That's {len(plain)} characters; the limit is {LONGEST_ADDRESS}."
        raise _refused(DetailError.TOO_LONG, message)
    user, at, server = plain.rpartition("@")
    if not at:
        instead = f"Enter the Lightning address instead. {_EXAMPLE}"
        if plain.startswith("lnurl1"):
            raise _refused(DetailError.LNURL, f"That's an LNURL code. {instead}")
        if plain.startswith(("lnbc", "lno1")):
            raise _refused(DetailError.INVOICE, f"That's an invoice or an offer. {instead}")
        raise _refused(DetailError.ADDRESS_FORM, f"A Lightning address has an @. {_EXAMPLE}")
    host = _HOST.fullmatch(server)
    if not host:
        message = f"The part after the @ isn't a domain. {_EXAMPLE}"
        raise _refused(DetailError.ADDRESS_FORM, message)
    if not _USER.fullmatch(user):
        message = "The part before the @ can only have letters from a to z, digits and . _ - +"
        raise _refused(DetailError.ADDRESS_FORM, message)
    port = None if host["port"] is None else int(host["port"])
    if port is not None and not 0 < port < 1 << 16:
        raise _refused(DetailError.ADDRESS_PORT, "The number after the colon isn't a port.")
    return LightningAddress(user, host["host"], port)


def _refused(wrong: DetailError, message: str) -> errors.InvalidBody:
    return rail.refusal("address", wrong, message)


LONGEST_REASON = 200  # characters
MOST_COMMENT = 2_000  # characters
_TOO_MUCH = 10**20
"""Millisatoshi, more than exist: a longer number would fill memory, logs and messages."""


@dataclass(frozen=True, slots=True)
class PayOffer:
    """A service's offer: the amounts and comments that it accepts."""

    callback: str
    """URL that answers with an invoice."""

    least: int
    """Millisatoshi."""

    most: int
    """Millisatoshi."""

    comment_length: int
    """Maximum characters of a comment, 0 if comments aren't accepted."""


def read_offer(answer: Mapping[str, Any]) -> PayOffer:
    """Read the answer of an address (LUD-06). Raises PeerRefusal and BadAnswer."""
    _check_status(answer)
    if answer.get("tag") != "payRequest":
        raise errors.BadAnswer("the answer is no LNURL-pay request")
    least, most = _whole(answer.get("minSendable")), _whole(answer.get("maxSendable"))
    if not 0 < least <= most:
        raise errors.BadAnswer("minSendable and maxSendable are no range of amounts")
    comment_length = min(max(_whole(answer.get("commentAllowed"), 0), 0), MOST_COMMENT)
    return PayOffer(_url(answer, "callback"), least, most, comment_length)


def callback_url(offer: PayOffer, msat: int, comment: str) -> str:
    """Return the URL that answers with an invoice; the service's own query is kept."""
    query = {"amount": str(msat)}
    if offer.comment_length and comment:
        query["comment"] = comment[: offer.comment_length]
    plain = offer.callback.partition("#")[0]
    return f"{plain}{'&' if '?' in plain else '?'}{urlencode(query)}"


def read_invoice(answer: Mapping[str, Any]) -> tuple[str, str | None]:
    """Return the invoice in a callback's answer, and the URL that reports its payment, if any.

    Raises PeerRefusal and BadAnswer.
    """
    _check_status(answer)
    text = answer.get("pr")
    if not isinstance(text, str):
        raise errors.BadAnswer("the answer holds no invoice")
    return text, _url(answer, "verify") if answer.get("verify") else None


def read_verification(answer: Mapping[str, Any]) -> tuple[bool, str | None, str | None]:
    """Read the answer of a verify address (LUD-21): whether it is settled, preimage and invoice.

    Raises PeerRefusal and BadAnswer.
    """
    _check_status(answer)
    settled = answer.get("settled")
    if not isinstance(settled, bool):
        raise errors.BadAnswer("the answer does not say whether the invoice is settled")
    return settled, _text(answer, "preimage"), _text(answer, "pr")


def _check_status(answer: Mapping[str, Any]) -> None:
    if str(answer.get("status", "")).upper() == "ERROR":
        reason = sanitize.line(str(answer.get("reason") or ""), LONGEST_REASON)
        raise errors.PeerRefusal(reason or "no reason given")


def _whole(value: Any, missing: int | None = None) -> int:
    if value is None and missing is not None:
        return missing
    if (
        isinstance(value, Decimal)
        and -_TOO_MUCH < value < _TOO_MUCH
        and value == value.to_integral_value()
    ):
        value = int(value)
    if type(value) is not int or not -_TOO_MUCH < value < _TOO_MUCH:
        raise errors.BadAnswer("an amount of the answer is no whole number")
    return value


def _url(answer: Mapping[str, Any], name: str) -> str:
    value = answer.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= wallet_http.LONGEST_URL:
        raise errors.BadAnswer(f"{name} is no address")
    return value


def _text(answer: Mapping[str, Any], name: str) -> str | None:
    value = answer.get(name)
    if value is not None and not isinstance(value, str):
        raise errors.BadAnswer(f"{name} is no text")
    return value or None


Read = TypeVar("Read")


class LightningAddressRail(wallet_http.HttpRail):
    """Asks the wallet of a Lightning address for invoices; `allow` is RAIL_ALLOW.

    If a wallet announces a verify address, the payment is polled there. Otherwise the seller
    confirms payments.
    """

    kind = vocabulary.LIGHTNING

    async def connect(self, details: Mapping[str, Any]) -> rail.Connected:
        """Ask the wallet for its smallest invoice, which shows whether it reports payments.

        Raises InvalidBody.
        """
        rail.check_names(details, "address")
        typed = details.get("address")
        wanted = parse_address(typed if isinstance(typed, str) else "")
        if wanted.port is not None and not self._http.permits(wanted.host, wanted.port):
            message = "Leave the port out: a Lightning address has none."
            raise _refused(DetailError.ADDRESS_PORT, message)
        offer = None
        try:
            url, offer = await self._find(wanted)
            least = -(-offer.least // invoices.MSAT)
            _, verify = await self._invoice(offer, least, "")
            if verify is not None:
                await self._try_verify(verify)
        except wallet_http.FAILURES as error:
            raise _refusal(wanted.server, error, is_found=offer is not None) from None
        return rail.Connected(
            self.kind,
            {
                "address": str(wanted),
                "url": url,
                "verify": verify is not None,
                "host": wallet_http.lane(offer.callback),
            },
            str(wanted),
            ("SAT",),
            automatic=verify is not None,
        )

    def host(self, details: Mapping[str, Any]) -> str:
        """Return the host that makes invoices, which often isn't the host of the address."""
        return details.get("host") or super().host(details)

    async def poll(self, charge: rail.Charge, opened: rail.Opened) -> rail.PollAnswer:
        """Ask the verify address; a preimage of another invoice is rejected."""
        del charge
        try:
            url = opened.poll_details["verify"]
            settled, preimage, invoice = await self._read(url, read_verification)
        except wallet_http.FAILURES as error:
            return wallet_http.unanswered(error)
        shown = opened.pay_with and opened.pay_with.lightning_invoice
        if invoice and shown and invoice.lower() != shown:
            return rail.Waiting(
                "the wallet answers for another invoice", rail.InvalidWalletAnswer.OTHER_INVOICE
            )
        if not settled:
            return rail.Waiting()
        return invoices.read_arrival(None, preimage, opened.external_id)

    async def _find(self, wanted: LightningAddress) -> tuple[str, PayOffer]:
        """Return the URL of the wallet's offer, and the offer.

        A host that may use http is called over http first. If it then can't be reached over https,
        an error in its http answer is raised.
        """
        plain: errors.PeerError | None = None
        if self._http.permits(wanted.host, wanted.port or HTTP_PORT):
            url = wanted.url("http")
            try:
                return url, await self._read(url, read_offer)
            except errors.PeerRefusal:
                raise
            except errors.PeerError as error:
                plain = error
        url = wanted.url("https")
        try:
            return url, await self._read(url, read_offer)
        except errors.NotReached:
            if plain is None or isinstance(plain, errors.NotReached | errors.BrokenOff):
                raise
            raise plain from None

    async def _read(self, url: str, read: Callable[[Mapping[str, Any]], Read]) -> Read:
        """Call a URL and read the answer; the HTTP status counts only if that fails."""
        answer = await self._http.get(url)
        try:
            return read(answer.fields)
        except errors.BadAnswer:
            if answer.status < HTTPStatus.BAD_REQUEST:
                raise
            raise wallet_http.failure(wallet_http.lane(url), answer.status) from None

    async def _open(self, charge: rail.Charge) -> rail.Opened | rail.Unavailable:
        offer = await self._read(charge.details["url"], read_offer)
        msat = charge.amount * invoices.MSAT
        if msat < offer.least:
            return rail.Unavailable(
                "tooSmall", f"the wallet takes {offer.least} millisatoshi or more"
            )
        if msat > offer.most:
            return rail.Unavailable(
                "tooLarge", f"the wallet takes {offer.most} millisatoshi or less"
            )
        made, verify = await self._invoice(offer, charge.amount, charge.memo)
        if charge.details["verify"] and not verify:  # nobody would notice the money
            return rail.Unavailable("refused", "the wallet no longer reports payments")
        return rail.Opened(
            made.payment_hash,
            rail.PayWith(lightning_invoice=made.text),
            made.lapses_at,
            poll_details={"verify": verify} if verify else {},
            poll_times=None if verify else (),
            host=wallet_http.lane(verify) if verify else "",
        )

    async def _invoice(
        self, offer: PayOffer, satoshi: int, memo: str
    ) -> tuple[invoices.Invoice, str | None]:
        """Return an invoice, and the URL that reports its payment, if any."""
        url = callback_url(offer, satoshi * invoices.MSAT, memo)
        text, verify = await self._read(url, read_invoice)
        if verify:
            self._http.check(verify)
        return invoices.check_invoice(text, satoshi, self._now()), verify

    async def _try_verify(self, url: str) -> None:
        """Raise ForbiddenAddress or Moved if the verify address can never be asked.

        Any other answer is accepted, because some wallets know an invoice only after its payment
        has begun.
        """
        try:
            await self._http.get(url)
        except wallet_http.Moved:
            raise
        except errors.PeerError:
            return


def _refusal(server: str, error: Exception, *, is_found: bool) -> errors.InvalidBody:
    """Return the refusal to show the seller; `server` is a part of the seller's input."""
    if isinstance(error, errors.InvoiceError):
        message = f"The test invoice from {server} was wrong: {error}."
        return _refused(DetailError.WRONG_INVOICE, message)
    if isinstance(error, wallet_http.Missing) and not is_found:
        message = f"There's no Lightning address with this name at {server}. Check the spelling."
        return _refused(DetailError.NO_SUCH_ADDRESS, message)
    message = f"{server} doesn't answer as a Lightning wallet does. Check the part after the @."
    unknown = DetailError.NOT_LNURL, message
    return _refused(*(wallet_http.host_problem(server, error) or unknown))
