"""SQL that moves units between remaining, reserved and paid: guarded statements only.

A checkout's state changes together with all of its units, from the states that
checkouts/checkout.py allows. The sums of money change with the sold units. Callers lock the
request's row first: `take` locks it itself, and all other functions are called after
`request_rows.lock` (docs/decisions/database.md#0069).
"""

from __future__ import annotations

from collections.abc import Iterable

from bot.core.database import database
from bot.service.checkouts import order
from bot.service.checkouts.checkout import (
    EARNED_FOR,
    ENDED,
    GIVEN_UP,
    HOLDS,
    Checkout,
    Claim,
    Holder,
    State,
    one_of,
    states_before,
    yielding,
)
from bot.service.payments import account_rows
from bot.service.requests import request, request_rows

# The holder is personal data, stored only while the checkout is open or a cap counts it.
NOBODY = "network = NULL, payer = NULL, site = NULL, counted_until = NULL"


def _counted(until: str, lasts: str = "1 = 0", known: str = "counted_until IS NOT NULL") -> str:
    """Return the SQL that counts a checkout's holder until a time and forgets the payer.

    `lasts` is the condition for keeping the payer, `known` for counting the holder. All arguments
    are SQL.
    """
    kept = f"{known} AND {until} > :now OR {lasts}"
    return f"payer = CASE WHEN {lasts} THEN payer END, " + ", ".join(
        f"{column} = CASE WHEN {kept} THEN {value} END"
        for column, value in (("network", "network"), ("site", "site"), ("counted_until", until))
    )


# Units that were held but not paid count for as long again, and their holder is known for three
# times as long: see `_LAPSED` in checkout_rows. A rejected claim counts for as long as a claim
# lasts.
_AS_LONG_AGAIN = "4 * :now - 3 * created_at"
_ENDED_COUNTS = {
    State.CANCELLED: _counted(_AS_LONG_AGAIN),
    State.LAPSED: _counted(_AS_LONG_AGAIN),
    State.REJECTED: _counted(":now + claim_lapses_at - claimed_at"),
    State.FAILED: NOBODY,
}
_EARNED = f":now + {EARNED_FOR}"
_PAID_COUNTS = _counted(_EARNED)
_PAID_LATE_COUNTS = _counted(
    _EARNED, known="(counted_until > :now OR (state = 'claimed' AND counted_until IS NOT NULL))"
)

RESERVED, SOLD = "reserved_units", "paid_count"
"""Columns that count the units taken from the remaining ones."""


def _add(total: str, billions: str, rest: str) -> str:
    """Return the SQL that adds an amount to a sum stored in two columns (see `tables`)."""
    whole = f"({total}_rest + {rest})"
    return (
        f"{total}_billions = {total}_billions + {billions} + {whole} / {database.BILLION},"
        f" {total}_rest = {whole} - {whole} / {database.BILLION} * {database.BILLION}"
    )


# The amount of a sale: units times the payer's price, or the request's if the payer chose none. A
# sum has two columns, billions and rest, since it may exceed 64 bits.
_SUM = "(:units * COALESCE(:price, amount))"
_SUM_BILLIONS = f"{_SUM} / {database.BILLION}"
_SUM_REST = f"{_SUM} - {_SUM_BILLIONS} * {database.BILLION}"
_TAKE_IN = _add("volume", _SUM_BILLIONS, _SUM_REST)

# Adds a known amount, which may be negative, to the raised sum.
_RAISE_BY = _add("raised", ":billions", ":rest")

# Counts the units as sold, and adds their amount to both sums: `volume` of all money that came, and
# `raised`, from which money that is paid back is taken out again.
_SELL = (
    f"paid_count = paid_count + :units, sales_count = sales_count + 1, {_TAKE_IN},"
    f" {_add('raised', _SUM_BILLIONS, _SUM_REST)}"
)

# Counts the units as reserved.
_RESERVE = "reserved_units = reserved_units + :units"

# Take units from the remaining ones if the request can be paid now. The conditions stand in the
# UPDATE itself, so that two payers can't both take the last unit. `{counted}` says where they go.
_TAKE = f"""
    UPDATE payment_requests SET remaining_units = remaining_units - :units, {{counted}}
    WHERE id = :id AND deleted_at IS NULL
      AND (remaining_units IS NULL OR remaining_units >= :units)
      AND :units <= COALESCE(max_quantity, 1)
      AND (enabled_at IS NULL OR enabled_at <= :now)
      AND (expires_at IS NULL OR expires_at > :now)
      AND {account_rows.PAYABLE.format(request="payment_requests")} = 1
    RETURNING {request_rows.COLUMNS}, 1 AS payable
"""  # noqa: S608 - our own words
TAKE = {RESERVED: _TAKE.format(counted=_RESERVE), SOLD: _TAKE.format(counted=_SELL)}

# Return reserved units to the remaining ones, after a checkout ended, lapsed or yielded them.
GIVE_BACK = """
    UPDATE payment_requests
    SET remaining_units = remaining_units + :units, reserved_units = reserved_units - :units
    WHERE id = :id
"""

# Take back a sale of test money that was counted in this transaction, for a payer who keeps an
# earlier checkout instead. The amount is passed as a negative one.
UNDO_SALE = f"""
    UPDATE payment_requests
    SET remaining_units = remaining_units + :units, paid_count = paid_count - :units,
      sales_count = sales_count - 1, {_RAISE_BY}, {_add("volume", ":billions", ":rest")}
    WHERE id = :id
"""  # noqa: S608 - our own words

# Correct the raised sum when the seller pays a payment back, or takes that mark back.
RAISE = f"UPDATE payment_requests SET {_RAISE_BY} WHERE id = :id"  # noqa: S608 - our own words

# Mark a checkout as paid if it still holds its units. Its holder then counts as a payer, who gets
# more room for further checkouts.
PAY = (
    f"UPDATE checkouts SET state = 'paid', {_PAID_COUNTS}"  # noqa: S608 - our own words
    f" WHERE id = :id AND {one_of(states_before(State.PAID))}"
    f" AND held = 1 AND lapses_at > :now"
)

# A claim that outlasts its units continues without them, because its seller may still confirm it.
_OUTLASTS = "claim_lapses_at > :now"
_LAPSE_COUNTS = _counted(
    "CASE WHEN claim_lapses_at <= :now THEN 2 * claim_lapses_at - claimed_at"
    " ELSE 4 * lapses_at - 3 * created_at END",
    _OUTLASTS,
)

# End the reservations of one request whose time is over, and return the units that each held.
LAPSE = f"""
    UPDATE checkouts SET
      state = CASE WHEN {_OUTLASTS} THEN state ELSE 'lapsed' END,
      held = CASE WHEN {_OUTLASTS} THEN 0 ELSE held END,
      lapses_at = COALESCE(claim_lapses_at, lapses_at), {_LAPSE_COUNTS}
    WHERE request_id = :id AND {HOLDS} AND lapses_at <= :now
    RETURNING CASE WHEN state = 'claimed' OR held = 1 THEN quantity ELSE 0 END AS units
"""  # noqa: S608 - our own words

# Turn reserved units into sold ones; after PAY, in the same transaction.
TAKE_RESERVED = f"""
    UPDATE payment_requests SET reserved_units = reserved_units - :units, {_SELL}
    WHERE id = :id AND reserved_units >= :units
"""  # noqa: S608 - our own words

# The states in which a checkout has no units, although its money may still arrive.
_WITHOUT_UNITS = f"({GIVEN_UP} OR (state = 'claimed' AND held = 0))"

# Sell remaining units to a checkout without units, even if the request expired: the payer paid.
TAKE_LATE = f"""
    UPDATE payment_requests SET remaining_units = remaining_units - :units, {_SELL}
    WHERE id = :id AND (remaining_units IS NULL OR remaining_units >= :units)
      AND EXISTS (SELECT 1 FROM checkouts WHERE id = :checkout AND {_WITHOUT_UNITS})
"""  # noqa: S608 - our own words

# Mark a checkout without units as paid: paid, late or oversold, as TAKE_LATE turned out.
FINISH = (
    f"UPDATE checkouts SET state = :state, {_PAID_LATE_COUNTS} WHERE id = :id AND {_WITHOUT_UNITS}"  # noqa: S608 - our own words
)

# Count a payment for which no units were left. Its money came, but raises nothing: it has to be
# paid back.
OVERSELL = (
    f"UPDATE payment_requests SET oversold_count = oversold_count + 1, {_TAKE_IN} WHERE id = :id"  # noqa: S608 - our own words
)

# End a checkout before its time: one statement for each state without money. The guard leaves a
# checkout alone that was paid or has lapsed meanwhile.
END = {
    state: f"UPDATE checkouts SET state = '{state}', failure = :failure, {counts}"  # noqa: S608 - our own words
    f" WHERE id = :id AND {one_of(states_before(state))}"
    f" AND COALESCE(claim_lapses_at, lapses_at) > :now"
    for state, counts in _ENDED_COUNTS.items()
}

# Mark an open or lapsed checkout as claimed: the payer says that they paid, and the seller has time
# to confirm it. The holder is stored, since caps count claims; it stays if the caller's is unknown.
CLAIM = """
    UPDATE checkouts SET state = 'claimed', claimed_at = :now, claim_lapses_at = :until,
      held = :held, lapses_at = :lapses_at, network = COALESCE(:network, network),
      site = COALESCE(:site, site), counted_until = COALESCE(:counted, counted_until)
    WHERE id = :id AND state = :state
      AND (state = 'lapsed' OR (state = 'open' AND lapses_at > :now))
"""

# Reserve units for a lapsed checkout that is claimed. Its request may have expired: the payer
# came in time.
RESERVE_AGAIN = """
    UPDATE payment_requests
    SET remaining_units = remaining_units - :units, reserved_units = reserved_units + :units
    WHERE id = :id AND deleted_at IS NULL AND (remaining_units IS NULL OR remaining_units >= :units)
"""

# Read the claims of a request that hold units: `yielding` chooses the claims that give them up.
# `claims` sums up all claimed units of the claim's site, because large holders yield first.
CLAIMS = """
    SELECT c.id, c.quantity, c.claimed_at,
      CASE WHEN c.lapses_at = c.claim_lapses_at THEN 1 ELSE 0 END AS is_promised,
      CASE WHEN c.counted_until IS NOT NULL THEN c.site END AS site,
      (SELECT CAST(COALESCE(SUM(o.quantity), 0) AS INTEGER) FROM checkouts o
       WHERE o.request_id = c.request_id AND o.site = c.site AND o.state = 'claimed') AS claims
    FROM checkouts c WHERE c.request_id = :id AND c.state = 'claimed' AND c.held = 1
"""

# Take the units from a claim, which goes on without them; its units are then returned by GIVE_BACK.
YIELD = """
    UPDATE checkouts SET held = 0, lapses_at = claim_lapses_at
    WHERE id = :id AND state = 'claimed' AND held = 1
"""

# Find requests with reservations whose time is over, for the sweep.
OVERDUE = (
    f"SELECT DISTINCT request_id FROM checkouts WHERE {HOLDS} AND lapses_at <= :now LIMIT :most"  # noqa: S608 - our own words
)

# True for holders that no cap counts. A claim counts for as long as it lasts.
_COUNTED_ENOUGH = f"counted_until > 0 AND counted_until <= :now AND NOT {HOLDS}"

# Find requests with such holders, for the sweep.
COUNTED_ENOUGH = f"SELECT DISTINCT request_id FROM checkouts WHERE {_COUNTED_ENOUGH} LIMIT :most"  # noqa: S608 - our own words

# Erase these holders of a request, because they are personal data and no longer needed.
FORGET_HOLDERS = (
    f"UPDATE checkouts SET {NOBODY}"  # noqa: S608 - our own words
    f" WHERE request_id = :id AND site IS NOT NULL AND {_COUNTED_ENOUGH}"
)


def return_lapsed(tx: database.Transaction, request_id: str, now: int) -> int:
    """Release the units of a request's lapsed reservations; return how many."""
    lapsed: int = sum(row["units"] for row in tx.query(LAPSE, id=request_id, now=now))
    if lapsed:
        tx.execute(GIVE_BACK, id=request_id, units=lapsed)
    return lapsed


def close_lapsed(tx: database.Transaction, now: int, most: int) -> int:
    """Close lapsed checkouts of up to `most` requests, and forget holders no cap counts.

    Returns the number of requests.
    """
    due = [*tx.query(OVERDUE, now=now, most=most), *tx.query(COUNTED_ENOUGH, now=now, most=most)]
    found = sorted({row["request_id"] for row in due})
    for request_id in found:
        request_rows.lock(tx, request_id)
        return_lapsed(tx, request_id, now)
        tx.execute(FORGET_HOLDERS, id=request_id, now=now)
    return len(found)


def take(
    tx: database.Transaction, request_id: str, order: order.Order, column: str, now: int
) -> request.PaymentRequest | None:
    """Take the units of an order, counted in RESERVED or SOLD, and lock the request.

    Returns None and changes nothing if too few units remain, if one checkout may not take so many,
    or if the request can't be paid now. Units of lapsed reservations can be taken only after they
    are released.
    """
    price = {"price": order.price} if column == SOLD else {}
    row = tx.one(TAKE[column], id=request_id, now=now, units=order.quantity, **price)
    if row is None:
        return None
    others = row[RESERVED] - (order.quantity if column == RESERVED else 0)
    lapsed = return_lapsed(tx, request_id, now) if others else 0
    return request_rows.read_row({**row, "lapsed": lapsed})


def give_back(
    tx: database.Transaction, request: request.PaymentRequest, order: order.Order, column: str
) -> None:
    """Add the units that `take` took back to the remaining units."""
    if column == RESERVED:
        tx.execute(GIVE_BACK, id=request.id, units=order.quantity)
        return
    billions, rest = database.split_amount(-order.amount(request.terms))
    tx.execute(UNDO_SALE, id=request.id, units=order.quantity, billions=billions, rest=rest)


def count_raised(tx: database.Transaction, payment: request.Payment, *, back: bool) -> None:
    """Subtract a payment from the sum raised if `back`, otherwise add it again.

    A payment that took no units was never counted. Callers change the payment's own mark in the
    same transaction.
    """
    if payment.took_unit:
        billions, rest = database.split_amount(-payment.amount if back else payment.amount)
        tx.execute(RAISE, id=payment.request_id, billions=billions, rest=rest)


def end(
    tx: database.Transaction,
    checkout: Checkout,
    state: State,
    now: int,
    failure: str | None = None,
) -> bool:
    """End a checkout without its money and return its units at once.

    Returns False and changes nothing if `state` can't follow the checkout's present state.
    """
    if not tx.execute(END[state], id=checkout.id, now=now, failure=failure):
        return False
    if checkout.is_held:
        tx.execute(GIVE_BACK, id=checkout.request_id, units=checkout.quantity)
    tx.count("checkouts", checkout.kind, state.value)
    return True


def claim(
    tx: database.Transaction,
    checkout: Checkout,
    holder: Holder,
    now: int,
    until: int,
    *,
    promised: bool,
) -> bool:
    """Claim an open or lapsed checkout until a time.

    If `promised`, its units are held until then; a lapsed checkout gets other units. Otherwise an
    open checkout holds its units until their reservation lapses, and a lapsed one has none. Returns
    False and changes nothing if too few units are left.
    """
    is_open = checkout.state(now) is State.OPEN
    if promised and not is_open:
        again = {"id": checkout.request_id, "units": checkout.quantity}
        if not tx.execute(RESERVE_AGAIN, **again):
            make_room(tx, checkout.request_id, checkout.quantity)
            if not tx.execute(RESERVE_AGAIN, **again):
                return False
    state = State.OPEN if is_open else State.LAPSED
    lapses_at = until if promised or not is_open else min(checkout.lapses_at, until)
    if not tx.execute(
        CLAIM, id=checkout.id, now=now, until=until, lapses_at=lapses_at, state=state.value,
        held=int(promised or is_open), network=holder.network, site=holder.site,
        counted=0 if holder.is_counted else None,
    ):  # fmt: skip
        raise RuntimeError(f"checkout {checkout.id} was changed beside the lock")
    tx.count("checkouts", checkout.kind, State.CLAIMED.value)
    return True


def make_room(
    tx: database.Transaction, request_id: str, units: int, *, is_proven: bool = False
) -> bool:
    """Take units from claims until `units` remain; return False, unchanged, if that fails."""
    row = tx.one("SELECT remaining_units FROM payment_requests WHERE id = :id", id=request_id)
    if row is None or row["remaining_units"] is None:
        return False
    lacking = units - row["remaining_units"]
    return take_back(tx, request_id, find_yielding(tx, request_id, lacking, is_proven=is_proven))


def find_yielding(
    tx: database.Transaction,
    request_id: str,
    lacking: int,
    *,
    rival: int | None = None,
    is_proven: bool = False,
) -> list[Claim]:
    """Return the claims that `yielding` chooses to give up `lacking` units."""
    claims = [Claim(**row) for row in tx.query(CLAIMS, id=request_id)]
    return yielding(claims, lacking, rival=rival, is_proven=is_proven)


def take_back(tx: database.Transaction, request_id: str, claims: Iterable[Claim]) -> bool:
    """Add the units of claims to the remaining units; return False if there are no claims.

    The claims continue without units, because the seller may still confirm them.
    """
    yielded = [
        tx.execute(GIVE_BACK, id=request_id, units=one.quantity)
        for one in claims
        if tx.execute(YIELD, id=one.id)
    ]
    return bool(yielded)


def take_units(tx: database.Transaction, checkout: Checkout, now: int) -> request.PaymentState:
    """Turn the checkout's units into sold ones; return the state of its payment.

    A checkout without units takes others if enough remain or if claims yield them. Otherwise the
    payment is oversold and takes no units. So is a second payment of one checkout.
    """
    sold = {"id": checkout.request_id, "units": checkout.quantity, "price": checkout.price}
    if tx.execute(PAY, id=checkout.id, now=now):
        if not tx.execute(TAKE_RESERVED, **sold):
            raise RuntimeError(f"checkout {checkout.id} had reserved nothing")
        tx.count("checkouts", checkout.kind, State.PAID.value)
        return request.PaymentState.PAID
    return_lapsed(tx, checkout.request_id, now)
    was = checkout.state(now)
    taken = tx.execute(TAKE_LATE, **sold, checkout=checkout.id)
    if not taken and (was in ENDED or was is State.CLAIMED):
        make_room(tx, checkout.request_id, checkout.quantity, is_proven=True)
        taken = tx.execute(TAKE_LATE, **sold, checkout=checkout.id)
    state = request.PaymentState.OVERSOLD
    if taken:
        is_claimed = was is State.CLAIMED
        state = request.PaymentState.PAID if is_claimed else request.PaymentState.LATE
    if tx.execute(FINISH, id=checkout.id, state=state.value, now=now):
        tx.count("checkouts", checkout.kind, state.value)
    if not taken:
        tx.execute(OVERSELL, **sold)
    return state
