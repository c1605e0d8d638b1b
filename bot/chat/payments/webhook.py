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
from pydantic import ValidationError

from bot.chat.cards import alerts
from bot.chat.model import lenient, remote_request
from bot.chat.payments import recording
from bot.chat.store import claim_rows, link_rows, payment_rows
from bot.core import errors, signing
from bot.core.database import database
from bot.core.net import request_body
from bot.core.ops import log_setup
from bot.interface import refusals, vocabulary

log = structlog.get_logger()

PATH = "/webhooks/payments"


@dataclass(frozen=True, slots=True)
class Proof:
    """The secrets that authenticate a webhook."""

    app_secret: str
    """Used if there is no `webhook_secret`."""
    webhook_secret: str | None


class Receiver:
    """Records the payments and claims that webhooks report.

    A claim holds a unit for `held` ms; `now` in epoch ms.
    """

    def __init__(
        self,
        db: database.Database,
        recorder: recording.PaymentRecorder,
        held: int,
        proof: Proof,
        now: Callable[[], int],
    ) -> None:
        self._db = db
        self._recorder = recorder
        self._held = held
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
                return JSONResponse(refusals.answer(error).to_json(), refusals.status(error))
            return JSONResponse({"received": True})

        return router

    async def _receive(self, token: str, headers: Mapping[str, str], body: bytes) -> None:
        data = request_body.parse(body)
        self._authenticate(headers, body, data)
        match data.get("event"):
            case None:
                link_id, payment, is_new = await self._db.transaction(
                    lambda tx: self._record_payment(tx, token, data)
                )
                transaction = log_setup.shorten(payment.transaction_id)
                log.info("payment received", listing=link_id, transaction=transaction, fresh=is_new)
            case vocabulary.WebhookEvent.CLAIMED:
                link = await self._db.read(partial(_link, token=token))
                claim = _claim(data, link, self._now(), self._held)
                is_new = await self._db.transaction(
                    lambda tx: self._recorder.record_claim(tx, link, claim)
                )
                checkout = claim.checkout_id
                log.info("claim received", listing=link.id, checkout=checkout, fresh=is_new)
            case other:
                link = await self._db.read(partial(_link, token=token))
                log.info("event ignored", listing=link.id, name=str(other)[: lenient.LONGEST_ID])

    def _record_payment(
        self, tx: database.Transaction, token: str, data: Mapping[str, Any]
    ) -> tuple[str, payment_rows.Payment, bool]:
        link = _link(tx, token)
        sent = _read(SentPaymentEvent, data)
        _check_request(sent.payment_request_id, link)
        payment = replace(
            recording.payment_of(sent, sent.payment_request_id, link),
            reserved_units=_units(sent.reserved_units, link) or 0,
            codes_waiting=sent.codes_waiting or 0,
        )
        left = _units(sent.remaining_units, link)
        return link.id, payment, self._recorder.receive(tx, link, payment, left)

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


def _read(kind: type[lenient.M], data: object) -> lenient.M:
    """Parse a webhook's body. Raises InvalidBody with the name of the first wrong field."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        field = error.errors(include_url=False, include_input=False)[0]["loc"][0]
        raise errors.InvalidBody(f"{field} is missing or not valid.") from None


class SentPaymentEvent(remote_request.SentPayment):
    """The body of the webhook of a payment; HandCash sends neither amount nor units."""

    payment_request_id: lenient.Id
    remaining_units: Any = None
    reserved_units: Any = None
    codes_waiting: lenient.Count = None


class SentClaim(lenient.Sent):
    """The body of the webhook of a claim."""

    payment_request_id: lenient.Id
    checkout_id: lenient.Id
    amount: Any = None
    currency_code: Any = None
    kind: lenient.IdOrNone = None
    reference: lenient.IdOrNone = None
    claimed_at: lenient.TimeOrNone = None
    """Required, to distinguish a new claim from a repeated claim."""
    unproven_claims: lenient.Count = None


def _claim(
    data: Mapping[str, Any], link: link_rows.PaymentLink, now: int, held: int
) -> claim_rows.Claim:
    """Parse a claim."""
    sent = _read(SentClaim, data)
    _check_request(sent.payment_request_id, link)
    if sent.claimed_at is None:
        raise errors.InvalidBody("claimedAt is missing or not a time.")
    amount = remote_request.amount_of_payment(sent.amount, sent.currency_code, link.spec)
    lapses_at = sent.claimed_at + held
    return claim_rows.Claim(
        id=link_rows.short_id(10),
        checkout_id=sent.checkout_id,
        request_id=sent.payment_request_id,
        link_id=link.id,
        seller_id=link.seller_id,
        kind=sent.kind or "",
        amount=amount.minor,
        currency=amount.currency,
        reference=sent.reference,
        state=claim_rows.WAITING,
        claimed_at=sent.claimed_at,
        lapses_at=lapses_at,
        remind_at=min(now + alerts.REMIND_AFTER, lapses_at),
        unproven=sent.unproven_claims or 1,
        alone=0,
    )


def _check_request(request_id: str, link: link_rows.PaymentLink) -> None:
    if link.request_id is not None and request_id != link.request_id:
        raise errors.InvalidBody("paymentRequestId does not belong to this address.")


def _units(sent: object, link: link_rows.PaymentLink) -> int | None:
    """Return a number of units; None if missing, impossible, or not about a drop."""
    left, units = lenient.count(sent), link.spec.units
    return left if left is not None and units is not None and left <= units else None
