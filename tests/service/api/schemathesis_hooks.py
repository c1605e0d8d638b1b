"""What schemathesis is told beside the schema: the refusals that no schema can express.

Loaded by schemathesis in its own process (`SCHEMATHESIS_HOOKS`).
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import schemathesis
from schemathesis.openapi.checks import RejectedPositiveData

if TYPE_CHECKING:
    from schemathesis.core.failures import Failure
    from schemathesis.core.transport import Response
    from schemathesis.generation.case import Case
    from schemathesis.hooks import HookContext


BEYOND = tuple(
    re.compile(pattern)
    for pattern in (
        # A token that only an earlier answer gives.
        r"cursor: is none that this list gave",
        # Two fields compared, or one by what another says: decimals, sums and worth by currency.
        r"(currencyCode|denominatedIn|currency): differs from \w+",
        r"[\w.]+: [A-Z]+ has \d decimals, the amount has more",
        r"receivers: An amount is at most 1000000000",
        r"receivers\.\d+\.sendAmount: comes to nothing in [A-Z]+",
        r"denominationCurrencyCode: The price (comes to nothing in|in) .*",
        r"amountChoice\.maximum: is less than the minimum",
        r"amountChoice\.suggested\.\d+: does not lie between the minimum and the maximum",
        r"amountChoice\.minimum: is required where nothing is suggested",
        r"receivers: must add up to (the first suggestion|the minimum) of amountChoice",
        r"priceBeforeDiscount: does not go together with amountChoice",
        # Bytes, and keys at any depth.
        r"(notifications\.webhook\.customParameters|shop): is larger than 8192 bytes",
        r"(notifications\.webhook\.customParameters|shop): has control characters in a key",
        # RFC 3986 takes hosts that DNS does not; addresses may have characters beyond its ASCII.
        r"[\w.]+: (The webhook address )?has no valid host( or port)?",
        r"(seller\.contact|keepUrl): (is no address.*|may not carry a user name or password)",
        # What the operator allows.
        r"redirectUrl: may not be an address of [a-z0-9.+-]+: here",
        # What banks check: the details of each kind and scheme are described in words.
        r"kind: must be one of bank",
        r"details(\.\w+)*: .*",
        # Files that were uploaded, and codes as they are stored: without the spaces around them.
        r"delivery\.(fileId|codesFileId): is no file of this application",
        r"(delivery\.)?codes: (\d+ codes? (is|are) repeated: .*|number \d+ .*)",
        # Characters by their category in Unicode.
        r"name: (is empty|must be a name without a path|has characters that can't be seen)",
        # What the request was before an edit.
        r"(goal|maxQuantity): goes with expirationType \w+, not with \w+",
        r"(notifications\.webhook\.webhookUrl|seller\.name): is required: there is none yet",
    )
)
"""Bodies that match the schema and are refused, with the reason why no schema can say so."""

AMOUNTS = frozenset(
    {"sendAmount", "priceBeforeDiscount", "goal", "minimum", "maximum", "suggested"}
)
CENTS = 100


@schemathesis.hook
def map_body(context: HookContext, body: Any) -> Any:
    """Round amounts to the decimals of most currencies, or hardly any would be accepted."""
    del context
    return _rounded(body)


def _rounded(value: Any, name: str | None = None) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_rounded(inner, name) for inner in value]
    if name in AMOUNTS and isinstance(value, float) and value * CENTS % 1:
        return math.ceil(value)
    return value


@schemathesis.hook
def filter_failure(
    context: HookContext, failure: Failure, case: Case[Any], response: Response
) -> bool:
    """Keep a failure, unless all that was refused is of `BEYOND`."""
    del context, case
    refused = isinstance(failure, RejectedPositiveData) and response.status_code == 400
    return not refused or not all(map(_is_beyond, _problems(response)))


def _problems(response: Response) -> list[str]:
    answer = response.json()
    return [f"{one['field']}: {one['message']}" for one in answer["info"]] or [answer["message"]]


def _is_beyond(problem: str) -> bool:
    return any(pattern.fullmatch(problem) for pattern in BEYOND)
