"""Files, codes, receipts, payout accounts and checkouts: their schemas, and as JSON."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, WithJsonSchema
from pydantic.config import JsonDict

from bot.core.money import amounts
from bot.service.checkouts.checkout import Checkout, CheckoutState
from bot.service.goods import contents
from bot.service.payouts import payout_account
from bot.service.rails import rail
from bot.service.requests.request import OWNERS, Kind, Payment, PaymentRequest
from bot.service.wire import answer_schemas, body_schemas, field_types, json_answers

# Schemas of files, codes and receipts, for the OpenAPI document.


class FileAnswer(answer_schemas.AnswerModel):
    """An uploaded file; deleted after 7 days unless a payment request delivers it."""

    id: answer_schemas.Id
    name: str
    media_type: str
    size: int


class AddedCodesAnswer(answer_schemas.CodesAnswer):
    """The same after codes were added; `added` of them are new."""

    added: int


class UnitsAnswer(answer_schemas.AnswerModel):
    """The numbers of the units that were bought, of how many in all."""

    first: int
    last: int
    total: int


class ReceivedFile(answer_schemas.DeliveredFile):
    """A file to download at `url`."""

    url: str


class ReceivedAnswer(answer_schemas.AnswerModel):
    """What was bought; `waiting` while a code is still to come."""

    state: contents.DeliveryProgress
    text: str | None = None
    file: ReceivedFile | None = None
    codes: list[str] | None = None


class ReceiptAnswer(answer_schemas.AnswerModel):
    """A payer's receipt; the amount is the sum of `quantity` pieces, in `currencyCode`."""

    product: answer_schemas.ProductAnswer
    seller: answer_schemas.SellerAnswer | None = None
    amount: answer_schemas.Number
    currency_code: str
    quantity: int
    units: UnitsAnswer | None = None
    completed_at: answer_schemas.Time
    status: Literal["paid", "oversold", "paidBack"]
    thanks: str | None = None
    sent_at: answer_schemas.Time | None = None
    sent_note: str | None = None
    paid_back_at: answer_schemas.Time | None = None
    paid_back_note: str | None = None
    receipt_url: Annotated[str, Field(examples=["https://pay.example/pay/…/receipt/…"])]
    delivery: ReceivedAnswer | None = None


# Schemas of payout accounts and checkouts: the body that connects an account, and the answers.


OWNER_PATTERN = f"^{OWNERS.pattern}$"
Owner = Annotated[str, Field(pattern=OWNER_PATTERN)]
EXAMPLE: JsonDict = {
    "owner": "anna",
    "kind": "bank",
    "details": {"scheme": "sepa", "iban": "DE89370400440532013000", "name": "Anna Ott"},
}


class PayoutBody(body_schemas.Body):
    """An account to connect; the fields of `details` depend on `kind` and `scheme`.

    `bank`: `scheme` `sepa` (`iban`, `name`), `pix` (`key`, `name`, `city`), `upi` (`id`, `name`) or
    `swiss` (`iban`, `name`, `address`). `lightning`: `address`. `lnbits`: `url`, `key`, which must
    be an invoice key. `nwc`: `connection`, which must not be able to pay. A `dryRun` checks all of
    it, asks the wallet, and connects nothing.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    owner: Owner
    kind: Annotated[str, Field(json_schema_extra={"enum": [*payout_account.KINDS]})]
    details: dict[str, Any]
    dry_run: bool = False


class PayoutAnswer(answer_schemas.AnswerModel):
    """An owner's account; its secrets are never shown.

    `automatic`: payments are reported by themselves; otherwise the seller confirms each. `label`
    names it to people. `currency` is that of its money, the first of `currencies`. After a dry run
    there is neither an `id` nor a time.
    """

    id: answer_schemas.Id | None = None
    owner: Owner
    kind: Literal["bank", "lightning", "lnbits", "nwc"]
    scheme: str | None = None
    automatic: bool
    currency: str
    currencies: list[str]
    label: str
    created_at: answer_schemas.Time | None = None


class PayoutList(answer_schemas.AnswerModel):
    """The owner's accounts; payers are offered the first way first."""

    items: list[PayoutAnswer]


class PayWithAnswer(answer_schemas.AnswerModel):
    """What the payer pays with: an invoice, or the text of a bank code's picture."""

    lightning_invoice: str | None = None
    qr_text: str | None = None


class CheckoutAnswer(answer_schemas.AnswerModel):
    """An attempt to pay; `amount` in `currencyCode`, the payer's.

    `opening`: the wallet is asked for an invoice, and `payWith` is null until then. `claimed`: its
    payer says that the money was sent, under `reference`; the seller confirms or rejects it. It
    ends at `expiresAt`, and may hold no unit until then.
    """

    id: answer_schemas.Id
    payment_request_id: answer_schemas.Id
    kind: str
    state: CheckoutState
    amount: answer_schemas.Number
    currency_code: str
    expires_at: answer_schemas.Time
    reference: str | None = None
    pay_with: Annotated[
        PayWithAnswer | None,
        WithJsonSchema(
            {"oneOf": [{"$ref": "#/components/schemas/PayWithAnswer"}, {"type": "null"}]}
        ),
    ]


def file_answer(file: contents.StoredFile) -> json_answers.Json:
    """Write a FileAnswer."""
    return {"id": file.id, **json_answers.delivered_file(file)}


def added_codes(counts: contents.CodeCounts, added: int) -> json_answers.Json:
    """Write an AddedCodesAnswer."""
    return {"added": added, **asdict(counts)}


def receipt_url(public_url: str, payment: Payment) -> str:
    """Return the address of a receipt's page."""
    return f"{json_answers.pay_url(public_url, payment.request_id)}/receipt/{payment.id}"


def file_url(public_url: str, payment: Payment) -> str:
    """Return the address at which the holder of a receipt downloads the file."""
    return f"{receipt_url(public_url, payment)}/file"


def receipt_answer(
    public_url: str, request: PaymentRequest, payment: Payment, received: contents.Received | None
) -> json_answers.Json:
    """Write a ReceiptAnswer; only the holder of the receipt's address may read it."""
    marks = payment.marks
    return json_answers.given(
        product=json_answers.product(request.terms.product),
        seller=json_answers.seller(request.seller),
        amount=amounts.from_minor(payment.amount, payment.currency),
        currencyCode=payment.currency,
        quantity=payment.quantity,
        units=_units(request, payment),
        completedAt=field_types.iso(payment.completed_at),
        status=_status(payment),
        thanks=request.terms.thanks if _is_sold(payment) else None,
        sentAt=field_types.iso_or_none(marks.sent_at),
        sentNote=marks.sent_note,
        paidBackAt=field_types.iso_or_none(marks.paid_back_at),
        paidBackNote=marks.paid_back_note,
        receiptUrl=receipt_url(public_url, payment),
        delivery=received and _received(public_url, payment, received),
    )


def _is_sold(payment: Payment) -> bool:
    return payment.took_unit and payment.marks.paid_back_at is None


def _status(payment: Payment) -> str:
    if payment.marks.paid_back_at is not None:
        return "paidBack"
    return "oversold" if payment.oversold else "paid"


def _units(request: PaymentRequest, payment: Payment) -> json_answers.Json | None:
    """Return the numbers of the units of a drop, None if the payment has none (any more)."""
    first, is_back = payment.first_unit, payment.marks.paid_back_at is not None
    if request.terms.kind is not Kind.LIMIT or request.units is None or first is None or is_back:
        return None
    if not _is_sold(payment):
        return None
    return {
        "first": first,
        "last": first + payment.quantity - 1,
        "total": request.units.offered,
    }


def _received(public_url: str, payment: Payment, received: contents.Received) -> json_answers.Json:
    file = received.file and json_answers.delivered_file(received.file) | {
        "url": file_url(public_url, payment)
    }
    return json_answers.given(
        state=received.progress, text=received.text, file=file, codes=received.codes or None
    )


# Payout accounts and checkouts as JSON.


def checked_answer(owner: str, account: rail.Connected) -> json_answers.Json:
    """Write a PayoutAnswer of an account that was checked and not stored."""
    return {"owner": owner, **_account(account)}


def payout_answer(account: payout_account.PayoutAccount) -> json_answers.Json:
    """Write a PayoutAnswer."""
    return {
        "id": account.id,
        "owner": account.owner,
        **_account(account),
        "createdAt": field_types.iso(account.created_at),
    }


def _account(account: rail.Connected | payout_account.PayoutAccount) -> json_answers.Json:
    return json_answers.given(
        kind=account.kind,
        scheme=account.scheme or None,
        automatic=account.automatic,
        currency=account.currencies[0],
        currencies=account.currencies,
        label=account.label,
    )


def checkout_answer(checkout: Checkout, now: int) -> json_answers.Json:
    """Write a CheckoutAnswer."""
    fields = json_answers.given(
        id=checkout.id,
        paymentRequestId=checkout.request_id,
        kind=checkout.kind,
        state=checkout.state(now),
        amount=amounts.from_minor(checkout.quote.amount, checkout.quote.currency),
        currencyCode=checkout.quote.currency,
        expiresAt=field_types.iso(checkout.ends_at),
        reference=checkout.reference,
    )
    return fields | {"payWith": checkout.pay_with and _pay_with(checkout.pay_with)}


def _pay_with(pay_with: rail.PayWith) -> json_answers.Json:
    return json_answers.given(lightningInvoice=pay_with.lightning_invoice, qrText=pay_with.qr_text)
