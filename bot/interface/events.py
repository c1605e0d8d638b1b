"""Webhooks: the bodies of those about payments and about claims."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from bot.interface import answers, vocabulary


class WebhookEvent(answers.Answer):
    """Body of the webhook of a payment; `oversold` if too few units were left for it.

    `amount` is the sum of `quantity` pieces, which is left out where it is one. `name` and
    `message` are the payer's words, left out where there are none, and `codesWaiting` counts the
    units sold whose codes are still to come.

    `underpaid`, `checkoutId` and `paidBy` are for requests that name `events`. A payment that was
    `underpaid` is reported again under its `transactionId` when more of it arrives, and without
    `underpaid` once it is whole or confirmed. The amount is the sum of `quantity` pieces, 1 where
    it is left out; `name` and `message` are the payer's words, for nobody to trust.
    """

    payment_request_id: answers.Id
    transaction_id: answers.Id
    custom_parameters: dict[str, Any]
    user_data: dict[vocabulary.PayerField, str]
    amount: answers.Number
    currency_code: str
    remaining_units: int | None = None
    reserved_units: int | None = None
    oversold: Literal[True] | None = None
    completed_at: answers.Time
    underpaid: Literal[True] | None = None
    checkout_id: answers.Id | None = None
    paid_by: answers.PaidByAnswer | None = None
    quantity: Annotated[int, Field(ge=2)] | None = None
    name: str | None = None
    message: str | None = None
    codes_waiting: Annotated[int, Field(ge=1)] | None = None


class ClaimEvent(answers.Answer):
    """Body of the webhook of a claim: its payer says that the money was sent.

    The payer's network has `unprovenClaims` of this request that were not confirmed, this one among
    them; 1 where it is left out. Many of them are likely not to be honest.
    """

    event: Literal["checkout.claimed"]
    checkout_id: answers.Id
    payment_request_id: answers.Id
    kind: str
    amount: answers.Number
    currency_code: str
    reference: str | None = None
    custom_parameters: dict[str, Any]
    claimed_at: answers.Time
    unproven_claims: Annotated[int, Field(ge=2)] | None = None
