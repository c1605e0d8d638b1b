"""The rail for LNbits: invoices from the seller's own wallet, with a key that can't spend.

Checked against LNbits 1.6.2. `GET /payments/{hash}` answers any key, so only an answer with
`details` comes from the key's own wallet. LNbits reports `failed` for a lapsed invoice, which may
still be paid. Its webhooks are unsigned and arrive twice, so they are only hints.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from bot.core import errors
from bot.core.net import webhook_addresses
from bot.core.text import links, sanitize
from bot.interface import vocabulary
from bot.service.rails import invoices, rail, wallet_http

DetailError = vocabulary.DetailError

LONGEST_MEMO = 639  # bytes of UTF-8, the limit of a BOLT 11 field
LONGEST_URL = 200  # characters
LONGEST_REASON = 200  # characters
LONGEST_WALLET = 200  # characters of a wallet's id, which each checkout stores; LNbits writes 32
WHERE_THE_KEY_IS = (
    "In LNbits, open the wallet, then “Node URL, API keys and API docs”, and copy the"
    " Invoice/read key."
)
_KEY = re.compile(r"[0-9A-Za-z_-]{16,128}")
_NO_PAGE = "Not Found"
"""The answer of other servers that use the same framework as LNbits."""

_BROKEN = frozenset([500, 502, 503, 504])
"""Statuses of a broken server. With other statuses, such as 520, LNbits gives the reason."""

_OWN_PATHS = re.compile(r"/(?:wallet|api|account|extensions)(?:/|$)")
"""Paths of LNbits pages, whose address a seller may copy."""


class LNbitsRail(wallet_http.HttpRail):
    """Asks sellers' LNbits wallets for invoices and payments; `allow` is RAIL_ALLOW."""

    kind = vocabulary.LNBITS

    async def connect(self, details: Mapping[str, Any]) -> rail.Connected:
        """Check the wallet with calls that change nothing, and refuse a key that can spend.

        Raises InvalidBody.
        """
        rail.check_names(details, "url", "key")
        url, key = self._typed(details)
        where = webhook_addresses.endpoint(url).host
        known = {"url": url, "key": key}
        try:
            await self._refuse_spender(known)
        except wallet_http.FAILURES as error:
            raise _refusal(where, error) from None
        return rail.Connected(self.kind, known, where, ("SAT",), automatic=True)

    async def poll(self, charge: rail.Charge, opened: rail.Opened) -> rail.PollAnswer:
        """Ask the wallet for the payment of its invoice."""
        try:
            answer = await self._get(charge.details, f"payments/{opened.external_id}")
        except wallet_http.FAILURES as error:
            return wallet_http.unanswered(error)
        if answer.status == HTTPStatus.NOT_FOUND:
            return rail.Gone("the wallet does not know the invoice")
        if answer.status != HTTPStatus.OK:
            return rail.Waiting(f"the wallet answers {answer.status}")
        return _read_payment(answer.fields, charge, opened)

    def _typed(self, details: Mapping[str, Any]) -> tuple[str, str]:
        """Return the address and the key as typed. Raises InvalidBody with the problems of both."""
        url, key = details.get("url"), details.get("key")
        key = sanitize.typed(key) if isinstance(key, str) else ""
        problems = []
        if not _KEY.fullmatch(key):
            message = f"That isn't an LNbits key. {WHERE_THE_KEY_IS}"
            problems.append(rail.problem("key", DetailError.KEY_FORM, message))
        plain = ""
        if isinstance(url, str):
            plain = links.typed(url)[:LONGEST_URL]
            plain = plain if "://" in plain else f"https://{plain}"
        try:
            self._http.check(plain)
        except errors.ForbiddenAddress:
            message = "Enter the public address of your LNbits, such as https://lnbits.example."
            problems.append(rail.problem("url", DetailError.URL_FORM, message))
        if problems:
            raise errors.InvalidBody(info=problems)
        where = webhook_addresses.endpoint(plain)
        base = replace(where, path=_OWN_PATHS.split(where.path)[0].rstrip("/"))
        return str(base), key

    async def _refuse_spender(self, known: Mapping[str, Any]) -> None:
        """Raise InvalidBody unless LNbits says that the key can only make invoices.

        The second call asks for a payment without an invoice. LNbits checks the kind of the key
        first, so nothing is paid, whatever the key.
        """
        wallet = await self._get(known, "wallet")
        if wallet.status == HTTPStatus.NOT_FOUND and _reason(wallet) == _NO_PAGE:
            raise wallet_http.Missing("no such page")
        if wallet.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.NOT_FOUND}:
            message = f"LNbits doesn't know this key. {WHERE_THE_KEY_IS}"
            raise rail.refusal("key", DetailError.UNKNOWN_KEY, message)
        if "balance" not in _accepted(wallet):
            raise errors.BadAnswer("the answer is no wallet")
        refused = await self._post(known, {"out": True})
        limited = refused.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
        if "id" in wallet.fields or not limited or "key required" not in _reason(refused):
            message = (
                f"This key can spend your money. Enter the invoice key instead. {WHERE_THE_KEY_IS}"
            )
            raise rail.refusal("key", DetailError.SPENDING_KEY, message)

    async def _create(self, charge: rail.Charge) -> wallet_http.WalletReply:
        """Create an invoice, without a webhook if LNbits doesn't permit ours."""
        body = {
            "out": False,
            "amount": charge.amount,
            "unit": "sat",
            "memo": charge.memo.encode()[:LONGEST_MEMO].decode(errors="ignore"),
            "expiry": invoices.expiry(charge.lapses_at, self._now()),
            "external_id": charge.checkout_id,
        }
        if not charge.hint_url:
            return await self._post(charge.details, body)
        answer = await self._post(charge.details, body | {"webhook": charge.hint_url})
        if answer.status == HTTPStatus.BAD_REQUEST:
            return await self._post(charge.details, body)
        return answer

    async def _open(self, charge: rail.Charge) -> rail.Opened:
        """Ask for an invoice that lapses with the checkout."""
        fields = _accepted(await self._create(charge))
        text = fields.get("bolt11") or fields.get("payment_request")
        if not isinstance(text, str):
            raise errors.BadAnswer("the answer holds no invoice")
        made = invoices.check_invoice(text, charge.amount, self._now())
        if fields.get("payment_hash") != made.payment_hash:
            raise errors.InvoiceError("the payment hash is not the invoice's")
        wallet = str(fields.get("wallet_id") or "")
        if len(wallet) > LONGEST_WALLET:
            raise errors.BadAnswer("the wallet's id is too long")
        pay_with = rail.PayWith(lightning_invoice=made.text)
        return rail.Opened(
            made.payment_hash, pay_with, made.lapses_at, poll_details={"wallet": wallet}
        )

    async def _get(self, known: Mapping[str, Any], path: str) -> wallet_http.WalletReply:
        headers = {"X-Api-Key": known["key"]}
        return _without_key(await self._http.get(f"{known['url']}/api/v1/{path}", headers), known)

    async def _post(
        self, known: Mapping[str, Any], body: dict[str, Any]
    ) -> wallet_http.WalletReply:
        url, headers = f"{known['url']}/api/v1/payments", {"X-Api-Key": known["key"]}
        return _without_key(await self._http.post(url, body, headers), known)


def _accepted(answer: wallet_http.WalletReply) -> dict[str, Any]:
    """Return the fields of a successful answer. Raises PeerRefusal and Overloaded."""
    if answer.status in {HTTPStatus.OK, HTTPStatus.CREATED}:
        return answer.fields
    if answer.status in _BROKEN:
        raise errors.Overloaded(f"the wallet answers {answer.status}")
    raise errors.PeerRefusal(_reason(answer) or f"the wallet answers {answer.status}")


def _without_key(
    answer: wallet_http.WalletReply, known: Mapping[str, Any]
) -> wallet_http.WalletReply:
    """Return the answer with the key hidden in its reason, which is shown and logged."""
    if "detail" not in answer.fields:
        return answer
    key = re.compile(re.escape(known["key"]), re.IGNORECASE)
    return replace(answer, fields=answer.fields | {"detail": key.sub("…", _text(answer))})


def _text(answer: wallet_http.WalletReply) -> str:
    return str(answer.fields.get("detail") or "")


def _reason(answer: wallet_http.WalletReply) -> str:
    return sanitize.line(_text(answer), LONGEST_REASON)


def _read_payment(
    fields: Mapping[str, Any], charge: rail.Charge, opened: rail.Opened
) -> rail.PollAnswer:
    """Return the payment state that LNbits reports for the invoice in the wallet."""
    details = fields.get("details")
    if not isinstance(details, dict):
        return rail.Waiting("the wallet does not accept the key any more")
    ours = {
        "payment_hash": opened.external_id,
        "wallet_id": opened.poll_details.get("wallet") or details.get("wallet_id"),
        "external_id": details.get("external_id") and charge.checkout_id,
    }
    for name, value in ours.items():
        if details.get(name) != value:
            problem = f"the answer is about another payment: {name}"
            return rail.Waiting(problem, rail.InvalidWalletAnswer.OTHER_INVOICE)
    if fields.get("paid") is not True:
        return rail.Gone("failed") if details.get("status") == "failed" else rail.Waiting()
    amount = details.get("amount") or 0  # LNbits always names it
    return invoices.read_arrival(amount, fields.get("preimage"), opened.external_id)


def _refusal(where: str, error: Exception) -> errors.InvalidBody:
    """Return the refusal to show the seller."""
    if isinstance(error, wallet_http.Moved):
        message = (
            f"{where} redirects to another address, where the key isn't sent. Open your LNbits in a"
            " browser and enter the address that it shows there."
        )
        return rail.refusal("url", DetailError.LNBITS_MOVED, message)
    unknown = DetailError.NOT_LNBITS, f"There's no LNbits at {where}. Check the address."
    return rail.refusal("url", *(wallet_http.host_problem(where, error) or unknown))
