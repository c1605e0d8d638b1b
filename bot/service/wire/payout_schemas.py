"""Schemas of payout accounts and checkouts: the body that connects an account, and the answers."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, WithJsonSchema
from pydantic.config import JsonDict

from bot.service.model import payout
from bot.service.model.checkout_states import CheckoutState
from bot.service.model.seller import OWNERS
from bot.service.wire.answer_schemas import Answer, Id, Number, Time
from bot.service.wire.body_schemas import Body

OWNER_PATTERN = f"^{OWNERS.pattern}$"
Owner = Annotated[str, Field(pattern=OWNER_PATTERN)]
EXAMPLE: JsonDict = {
    "owner": "anna",
    "kind": "bank",
    "details": {"scheme": "sepa", "iban": "DE89370400440532013000", "name": "Anna Ott"},
}


class PayoutBody(Body):
    """An account to connect; the fields of `details` depend on `kind` and `scheme`.

    `bank`: `scheme` `sepa` (`iban`, `name`), `pix` (`key`, `name`, `city`), `upi` (`id`, `name`) or
    `swiss` (`iban`, `name`, `address`). `lightning`: `address`. `lnbits`: `url`, `key`, which must
    be an invoice key. `nwc`: `connection`, which must not be able to pay. A `dryRun` checks all of
    it, asks the wallet, and connects nothing.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    owner: Owner
    kind: Annotated[str, Field(json_schema_extra={"enum": [*payout.KINDS]})]
    details: dict[str, Any]
    dry_run: bool = False


class PayoutAnswer(Answer):
    """An owner's account; its secrets are never shown.

    `automatic`: payments are reported by themselves; otherwise the seller confirms each. `label`
    names it to people. `currency` is that of its money, the first of `currencies`. After a dry run
    there is neither an `id` nor a time.
    """

    id: Id | None = None
    owner: Owner
    kind: Literal["bank", "lightning", "lnbits", "nwc"]
    scheme: str | None = None
    automatic: bool
    currency: str
    currencies: list[str]
    label: str
    created_at: Time | None = None


class PayoutList(Answer):
    """The owner's accounts; payers are offered the first way first."""

    items: list[PayoutAnswer]


class PayWithAnswer(Answer):
    """What the payer pays with: an invoice, or the text of a bank code's picture."""

    lightning_invoice: str | None = None
    qr_text: str | None = None


class CheckoutAnswer(Answer):
    """An attempt to pay; `amount` in `currencyCode`, the payer's.

    `opening`: the wallet is asked for an invoice, and `payWith` is null until then. `claimed`: its
    payer says that the money was sent, under `reference`; the seller confirms or rejects it. It
    ends at `expiresAt`, and may hold no unit until then.
    """

    id: Id
    payment_request_id: Id
    kind: str
    state: CheckoutState
    amount: Number
    currency_code: str
    expires_at: Time
    reference: str | None = None
    pay_with: Annotated[
        PayWithAnswer | None,
        WithJsonSchema(
            {"oneOf": [{"$ref": "#/components/schemas/PayWithAnswer"}, {"type": "null"}]}
        ),
    ]
