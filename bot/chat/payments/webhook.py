"""Receiver of the payment service's webhooks: authenticated, recorded, then answered.

The answer is 200 after the payment or claim and its alert are committed; after any other answer,
the service sends the webhook again. Unknown events are accepted and ignored. A webhook is
authenticated by its Standard Webhooks signature. Without a WEBHOOK_SECRET, it is authenticated as
in HandCash Cloud, by the application's own secret in the body.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from bot.chat.model import payment, remote_request
from bot.chat.payments import claim_recording, recording
from bot.chat.store import link_rows, payment_rows
from bot.core import errors, signing
from bot.core.database import database
from bot.core.net import request_body
from bot.core.ops import log_setup

log = structlog.get_logger()

PATH = "/webhooks/payments"
CLAIMED = "checkout.claimed"
"""The event if a payer says that the money is sent; a payment has no `event`."""

STATUS: dict[type[errors.Refused], int] = {
    errors.InvalidBody: 400,
    errors.Unauthorized: 401,
    errors.NotFound: 404,
    errors.BodyTooLarge: 413,
}


@dataclass(frozen=True, slots=True)
class Proof:
    """The secrets that authenticate a webhook."""

    app_secret: str
    """Used if there is no `webhook_secret`."""
    webhook_secret: str | None


class Receiver:
    """Records the payments and claims that webhooks report; `now` in epoch ms."""

    def __init__(
        self,
        db: database.Database,
        recorder: recording.PaymentRecorder,
        claims: claim_recording.ClaimRecorder,
        proof: Proof,
        now: Callable[[], int],
    ) -> None:
        self._db = db
        self._recorder = recorder
        self._claims = claims
        self._proof = proof
        self._now = now

    def router(self) -> APIRouter:
        """Return the route `POST /webhooks/payments/{token}`."""
        router = APIRouter(include_in_schema=False)

        @router.post(PATH + "/{token}")
        async def receive(token: str, request: Request) -> JSONResponse:
            try:
                await self._receive(token, request.headers, await request_body.read(request))
            except errors.Refused as error:
                log.warning("webhook refused", reason=error.message)
                return JSONResponse(
                    {"code": error.code, "message": error.message, "info": []},
                    STATUS.get(type(error), 400),
                )
            return JSONResponse({"received": True})

        return router

    async def _receive(self, token: str, headers: Mapping[str, str], body: bytes) -> None:
        data = request_body.parse(body)
        self._authenticate(headers, body, data)
        match data.get("event"):
            case None:
                await self._receive_payment(token, data)
            case event if event == CLAIMED:
                await self._receive_claim(token, data)
            case other:
                link = await self._db.read(partial(_link, token=token))
                log.info("event ignored", listing=link.id, name=str(other)[: payment.LONGEST_TEXT])

    async def _receive_claim(self, token: str, data: Mapping[str, Any]) -> None:
        link = await self._db.read(partial(_link, token=token))
        money = _claimed(data, link)
        is_new = await self._claims.record(link, money)
        log.info("claim received", listing=link.id, checkout=money.checkout_id, fresh=is_new)

    async def _receive_payment(self, token: str, data: Mapping[str, Any]) -> None:
        def work(tx: database.Transaction) -> tuple[str, payment_rows.Payment, bool]:
            link = _link(tx, token)
            payment, left = _payment(data, link)
            return link.id, payment, self._recorder.record_in(tx, link, payment, left)

        link_id, payment, is_new = await self._db.transaction(work)
        transaction = log_setup.shorten(payment.transaction_id)
        log.info("payment received", listing=link_id, transaction=transaction, fresh=is_new)

    def _authenticate(
        self, headers: Mapping[str, str], body: bytes, data: Mapping[str, Any]
    ) -> None:
        if self._proof.webhook_secret is None:
            sent, secret = data.get("appSecret"), self._proof.app_secret.encode()
            if not isinstance(sent, str) or not hmac.compare_digest(
                sent.encode("utf-8", "replace"), secret
            ):
                raise errors.Unauthorized("The body's appSecret is missing or wrong.")
            return
        now = datetime.fromtimestamp(self._now() / 1000, UTC)
        try:
            signing.verify([self._proof.webhook_secret], headers, body, now)
        except errors.BadSignature as error:
            raise errors.Unauthorized(f"The signature is not valid: {error}") from error


def _link(tx: database.Transaction, token: str) -> link_rows.PaymentLink:
    link = link_rows.link_by_token(tx, token)
    if link is None:
        raise errors.NotFound("No request of ours has this address.")
    return link


def _payment(
    data: Mapping[str, Any], link: link_rows.PaymentLink
) -> tuple[payment_rows.Payment, int | None]:
    """Parse a webhook's payment and units left; HandCash sends neither amount nor units."""
    request_id, transaction_id = _request_id(data, link), _id(data, "transactionId")
    payer = data.get("userData")
    paid = remote_request.ServerPayment(
        transaction_id=transaction_id,
        amount=data.get("amount"),
        currency=data.get("currencyCode"),
        completed_at=None,
        oversold=data.get("oversold") is True,
        payer=payer if isinstance(payer, dict) else {},
        **remote_request.rail_facts(data),
    )
    payment = recording.payment_of(paid, request_id, link)
    reserved = _units(data, "reservedUnits", link) or 0
    waiting = _count(data.get("codesWaiting"))
    known = replace(payment, reserved_units=reserved, codes_waiting=waiting)
    return known, _units(data, "remainingUnits", link)


def _claimed(data: Mapping[str, Any], link: link_rows.PaymentLink) -> claim_recording.ClaimedMoney:
    """Parse a claim; its time is required, to distinguish a new claim from a repeated claim."""
    request_id, checkout_id = _request_id(data, link), _id(data, "checkoutId")
    amount = remote_request.amount_of_payment(
        data.get("amount"), data.get("currencyCode"), link.spec
    )
    kind, reference = data.get("kind"), data.get("reference")
    claimed_at = remote_request.any_time(data.get("claimedAt"))
    if claimed_at is None:
        raise errors.InvalidBody("claimedAt is missing or not a time.")
    return claim_recording.ClaimedMoney(
        checkout_id=checkout_id,
        request_id=request_id,
        kind=str(kind) if remote_request.is_id(kind) else "",
        amount=amount.minor,
        currency=amount.currency,
        reference=reference if remote_request.is_id(reference) else None,
        claimed_at=claimed_at,
        unproven=_count(data.get("unprovenClaims")) or 1,
    )


def _request_id(data: Mapping[str, Any], link: link_rows.PaymentLink) -> str:
    request_id = _id(data, "paymentRequestId")
    if link.request_id is not None and request_id != link.request_id:
        raise errors.InvalidBody("paymentRequestId does not belong to this address.")
    return request_id


def _count(value: Any) -> int:
    """Return a number from the server; 0 if it is missing or impossible."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 <= value <= remote_request.MOST_UNITS else 0


def _units(data: Mapping[str, Any], field: str, link: link_rows.PaymentLink) -> int | None:
    """Return a field's number of units; None if missing, impossible, or not about a drop."""
    sent, units = data.get(field), link.spec.units
    if units is None or not isinstance(sent, int) or isinstance(sent, bool):
        return None
    return sent if 0 <= sent <= units else None


def _id(data: Mapping[str, Any], field: str) -> str:
    value = data.get(field)
    if not remote_request.is_id(value):
        raise errors.InvalidBody(f"{field} is missing or not an id.")
    return str(value)
