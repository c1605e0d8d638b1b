"""The rail of Lightning addresses: LNURL-pay, with the verify address where the wallet has one."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

from bot.core.errors import (
    BadAnswer,
    InvalidBody,
    InvoiceError,
    NotReached,
    PeerError,
    PeerRefusal,
)
from bot.service.lightning import address, invoice, lnurl
from bot.service.model.payout import LIGHTNING
from bot.service.model.payout_problems import Wrong, check_names
from bot.service.model.rail_answers import (
    Arrived,
    Asked,
    Connected,
    Lie,
    Look,
    Opened,
    PayWith,
    Unavailable,
    Waiting,
)
from bot.service.rails import wallet_http
from bot.service.rails.http_rail import HttpRail, host_problem, unanswered
from bot.service.rails.wallet_http import FAILURES, BrokenOff, Missing, Moved

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bot.service.lightning.address import LightningAddress
    from bot.service.lightning.bolt11 import Invoice
    from bot.service.lightning.lnurl import OfferedInvoice, PayOffer


Read = TypeVar("Read")


class LightningAddressRail(HttpRail):
    """Asks the wallet of a Lightning address for invoices; `allow` is RAIL_ALLOW.

    A wallet that announces a verify address is asked there for the payment; of any other, the
    seller confirms payments.
    """

    kind = LIGHTNING

    async def connect(self, details: Mapping[str, Any]) -> Connected:
        """Ask the wallet for its smallest invoice, which says whether payments are reported.

        Raises InvalidBody.
        """
        check_names(details, "address")
        typed = details.get("address")
        wanted = address.parse(typed if isinstance(typed, str) else "")
        if wanted.port is not None and not self._http.permits(wanted.host):
            raise address.refusal(
                Wrong.ADDRESS_PORT, "Leave the port out: a Lightning address has none."
            )
        offer = None
        try:
            url, offer = await self._find(wanted)
            offered, _ = await self._invoice(offer, -(-offer.least // invoice.MSAT), "")
            await self._try_verify(offered)
        except FAILURES as error:
            raise _refusal(wanted.server, error, is_found=offer is not None) from None
        return Connected(
            self.kind,
            {
                "address": str(wanted),
                "url": url,
                "verify": offered.verify is not None,
                "host": wallet_http.lane(offer.callback),
            },
            str(wanted),
            ("SAT",),
            automatic=offered.verify is not None,
        )

    def host(self, details: Mapping[str, Any]) -> str:
        """Return the host that makes invoices, often another than that of the address."""
        return details.get("host") or super().host(details)

    async def look(self, asked: Asked, opened: Opened) -> Look:
        """Ask the verify address; a settled invoice with a preimage of another is a lie."""
        del asked
        try:
            found = await self._read(opened.look["verify"], lnurl.read_verification)
        except FAILURES as error:
            return unanswered(error)
        shown = opened.pay_with and opened.pay_with.lightning_invoice
        if found.invoice and shown and found.invoice.lower() != shown:
            return Waiting("the wallet answers for another invoice", Lie.OTHER_INVOICE)
        if not found.settled:
            return Waiting()
        if found.preimage and not invoice.fits(found.preimage, opened.external_id):
            return Waiting("the wallet's preimage does not fit the invoice", Lie.PREIMAGE)
        return Arrived()

    async def _find(self, wanted: LightningAddress) -> tuple[str, PayOffer]:
        """Return where the wallet says what it takes, and its answer.

        A host that may use http is asked so first; its answer counts if there is none over https.
        """
        plain: PeerError | None = None
        if self._http.permits(wanted.host):
            url = wanted.url("http")
            try:
                return url, await self._read(url, lnurl.read_offer)
            except PeerRefusal:
                raise
            except PeerError as error:
                plain = error
        url = wanted.url("https")
        try:
            return url, await self._read(url, lnurl.read_offer)
        except NotReached:
            if plain is None or isinstance(plain, NotReached | BrokenOff):
                raise
            raise plain from None

    async def _read(self, url: str, read: Callable[[Mapping[str, Any]], Read]) -> Read:
        """Ask an address and read its answer, whose HTTP status counts if it makes no sense."""
        answer = await self._http.get(url)
        try:
            return read(answer.fields)
        except BadAnswer:
            if answer.status < HTTPStatus.BAD_REQUEST:
                raise
            raise wallet_http.failure(wallet_http.lane(url), answer.status) from None

    async def _open(self, asked: Asked) -> Opened | Unavailable:
        offer = await self._read(asked.details["url"], lnurl.read_offer)
        msat = asked.amount * invoice.MSAT
        if msat < offer.least:
            return Unavailable("tooSmall", f"the wallet takes {offer.least} millisatoshi or more")
        if msat > offer.most:
            return Unavailable("tooLarge", f"the wallet takes {offer.most} millisatoshi or less")
        offered, made = await self._invoice(offer, asked.amount, asked.memo)
        if asked.details["verify"] and not offered.verify:  # nobody would learn of the money
            return Unavailable("refused", "the wallet no longer reports payments")
        return Opened(
            made.payment_hash,
            PayWith(lightning_invoice=made.text),
            made.lapses_at,
            look={"verify": offered.verify} if offered.verify else {},
            looks=None if offered.verify else (),
            host=wallet_http.lane(offered.verify) if offered.verify else "",
        )

    async def _invoice(
        self, offer: PayOffer, satoshi: int, memo: str
    ) -> tuple[OfferedInvoice, Invoice]:
        url = lnurl.callback_url(offer, satoshi * invoice.MSAT, memo)
        offered = await self._read(url, lnurl.read_invoice)
        if offered.verify:
            self._http.check(offered.verify)
        return offered, invoice.check(offered.text, satoshi, self._now())

    async def _try_verify(self, offered: OfferedInvoice) -> None:
        """Raise ForbiddenAddress and Moved for a verify address that can never be asked.

        Any answer will do: some wallets know an invoice only once its payment has begun.
        """
        if offered.verify:
            try:
                await self._http.get(offered.verify)
            except Moved:
                raise
            except PeerError:
                return


def _refusal(server: str, error: Exception, *, is_found: bool) -> InvalidBody:
    """Return what the seller reads; `server` is a part of what the seller typed."""
    match error:
        case InvoiceError():
            wrong = Wrong.WRONG_INVOICE
            message = f"The test invoice from {server} was wrong: {error}."
        case Missing() if not is_found:
            wrong = Wrong.NO_SUCH_ADDRESS
            message = (
                f"There's no Lightning address with this name at {server}. Check the spelling."
            )
        case _:
            told = (
                f"{server} doesn't answer as a Lightning wallet does. Check the part after the @."
            )
            wrong, message = host_problem(server, error) or (Wrong.NOT_LNURL, told)
    return address.refusal(wrong, message)
