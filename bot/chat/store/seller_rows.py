"""SQL of sellers, their drafts, their profiles and their payout accounts.

The service stores the payout accounts; this is a copy of their public part, so that forms and cards
need not ask the service.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TypeAlias, TypedDict, Unpack

from bot.chat.forms import request_fields
from bot.chat.model import drafts, jobs, payout, queues, request_spec
from bot.chat.store import link_rows
from bot.core import stored_json
from bot.core.database import database

FIELDS = (
    "language, destination, pays_later, currency, prices, zone, quiet, summary,"
    " name, image, about, contact, accent"
)
"""Columns that `read_seller` needs."""

KNOWN = f"SELECT {FIELDS} FROM sellers WHERE id = :id"  # noqa: S608 - our own words
SEEN = (
    "INSERT INTO sellers (id, language, created_at) VALUES (:id, :language, :now)"  # noqa: S608 - our own words
    f" ON CONFLICT (id) DO UPDATE SET language = excluded.language RETURNING {FIELDS}"
)
DUE = (
    f"SELECT id, summary_at, {FIELDS} FROM sellers"  # noqa: S608 - our own words
    " WHERE summary_at IS NOT NULL AND summary IS NOT NULL"
    " AND (summary_at <= :now OR summary_at > :late) ORDER BY summary_at LIMIT :most"
)

Prices: TypeAlias = tuple[tuple[int, str], ...]
LAST_PRICES = 4
"""A seller's latest prices, offered again in forms."""


def ensure_seller(
    tx: database.Transaction, seller_id: int, language: str, now: int
) -> drafts.Seller:
    """Return the seller, storing a new one, and update the `language`."""
    row = tx.one(SEEN, id=seller_id, language=language, now=now)
    return read_seller(row) if row else drafts.Seller(language)


def find_seller(tx: database.Transaction, seller_id: int) -> drafts.Seller | None:
    """Return a seller, or None if the person never wrote to the bot."""
    row = tx.one(KNOWN, id=seller_id)
    return read_seller(row) if row else None


def read_seller(row: database.Row) -> drafts.Seller:
    """Parse a row with FIELDS; a saved destination that is no longer allowed becomes None."""
    start, _, end = (row["quiet"] or "").partition("-")
    return drafts.Seller(
        language=row["language"],
        destination=None if payout.names_accounts(row["destination"] or "") else row["destination"],
        currency=row["currency"],
        prices=stored_json.read(Prices, row["prices"]),
        zone=row["zone"],
        quiet=(int(start), int(end)) if end else None,
        summary=row["summary"],
        profile=read_profile(row),
        pays_later=bool(row["pays_later"]),
    )


def language_of(tx: database.Transaction, seller_id: int) -> str | None:
    """Return a person's latest language, or None if the person never wrote to the bot."""
    row = tx.one("SELECT language FROM sellers WHERE id = :id", id=seller_id)
    return str(row["language"]) if row else None


class Settings(TypedDict, total=False):
    """Columns of a seller's settings."""

    destination: str | None
    pays_later: int
    currency: str
    prices: str
    zone: str
    quiet: str | None
    summary: int | None
    summary_at: int | None
    album: str


def change(tx: database.Transaction, seller_id: int, **columns: Unpack[Settings]) -> None:
    """Store settings of a seller, by the names of their columns."""
    assigned = ", ".join(f"{name} = :{name}" for name in columns)
    tx.execute(f"UPDATE sellers SET {assigned} WHERE id = :id", id=seller_id, **columns)  # noqa: S608 - our own words


def mark_once(tx: database.Transaction, seller_id: int, event: str, now: int) -> bool:
    """Store an event (`greeted`, `profile_offered`) of a seller; return True the first time."""
    sql = f"UPDATE sellers SET {event}_at = :now WHERE id = :id AND {event}_at IS NULL"  # noqa: S608 - our own words
    return bool(tx.execute(sql, id=seller_id, now=now))


def answered_album(tx: database.Transaction, seller_id: int) -> str | None:
    """Return the last album of which a message was answered: only one is."""
    row = tx.one("SELECT album FROM sellers WHERE id = :id", id=seller_id)
    return row["album"] if row else None


def save_price(tx: database.Transaction, seller_id: int, amount: int, currency: str) -> None:
    """Store a seller's latest price, in minor units, as the first of LAST_PRICES."""
    known = find_seller(tx, seller_id)
    earlier = known.prices if known else ()
    prices = tuple(dict.fromkeys([(amount, currency), *earlier]))[:LAST_PRICES]
    change(tx, seller_id, currency=currency, prices=stored_json.write(Prices, prices))


def save_quiet(tx: database.Transaction, seller_id: int, hours: tuple[int, int] | None) -> None:
    """Store the quiet hours as start and end in minutes of the local day; None removes them."""
    change(tx, seller_id, quiet=f"{hours[0]}-{hours[1]}" if hours else None)


@dataclass(frozen=True, slots=True)
class DueSummary:
    """A seller whose daily summary is due since `due_at` (epoch ms)."""

    seller_id: int
    seller: drafts.Seller
    due_at: int


def summaries_due(tx: database.Transaction, now: int, ahead: int, most: int) -> list[DueSummary]:
    """Return the sellers whose summary is due at `now` (epoch ms), the longest overdue first.

    A time more than `ahead` ms in the future was stored by a clock running ahead: it is due too.
    """
    rows = tx.query(DUE, now=now, late=now + ahead, most=most)
    return [DueSummary(int(row["id"]), read_seller(row), int(row["summary_at"])) for row in rows]


def claim_summary(tx: database.Transaction, summary: DueSummary, next_at: int) -> bool:
    """Set the next summary's time (epoch ms); False if another process claimed this summary."""
    sql = "UPDATE sellers SET summary_at = :next WHERE id = :id AND summary_at = :due"
    return bool(tx.execute(sql, id=summary.seller_id, due=summary.due_at, next=next_at))


def find_draft(tx: database.Transaction, chat_id: int, seller_id: int) -> drafts.Draft | None:
    """Return a seller's draft in a chat, or None if there is none or it can't be parsed."""
    sql = "SELECT body, updated_at FROM drafts WHERE chat_id = :chat AND seller_id = :seller"
    row = tx.one(sql, chat=chat_id, seller=seller_id)
    form = request_fields.read_draft(row["body"]) if row else None
    return form and replace(form, touched_at=row["updated_at"] if row else None)


def save_draft(
    tx: database.Transaction, chat_id: int, seller_id: int, form: drafts.Draft | None, now: int
) -> int | None:
    """Store a draft. None deletes the draft and returns the message_id of its last question."""
    if form is None:
        sql = "DELETE FROM drafts WHERE chat_id = :chat AND seller_id = :seller RETURNING question"
        row = tx.one(sql, chat=chat_id, seller=seller_id)
        return row["question"] if row else None
    sql = (
        "INSERT INTO drafts (chat_id, seller_id, body, updated_at)"
        " VALUES (:chat, :seller, :body, :now) ON CONFLICT (chat_id, seller_id)"
        " DO UPDATE SET body = excluded.body, updated_at = excluded.updated_at"
    )
    tx.execute(sql, chat=chat_id, seller=seller_id, body=request_fields.write_draft(form), now=now)
    return None


COLUMNS = ", ".join(drafts.PROFILE_FIELDS)
STATE = f"SELECT {COLUMNS}, profile_version, profile_offered_at FROM sellers WHERE id = :id"  # noqa: S608 - our own words
SAVE = (
    "UPDATE sellers SET name = :name, image = :image, about = :about, contact = :contact,"
    " accent = :accent, profile_version = profile_version + 1 WHERE id = :id"
    " RETURNING profile_version"
)
STANDING = "FROM listings WHERE seller_id = :seller AND state IN ('live', 'stopped')"
NEWEST_FIRST = "ORDER BY created_at DESC, id DESC LIMIT 1"

LINKS_WITH_EMAIL = 20
"""Number of a seller's newest requests that are searched for a notification email address."""


@dataclass(frozen=True, slots=True)
class ProfileState:
    """A profile, the number of its changes, and whether the seller was asked for it."""

    profile: drafts.Profile
    version: int
    is_offered: bool


def read_profile(row: database.Row) -> drafts.Profile:
    """Parse a row with COLUMNS."""
    return drafts.Profile(**{name: row[name] for name in drafts.PROFILE_FIELDS})


def profile_state(tx: database.Transaction, seller_id: int) -> ProfileState:
    """Return a seller's profile; an empty one if the person never wrote to the bot."""
    row = tx.one(STATE, id=seller_id)
    if row is None:
        return ProfileState(drafts.NO_PROFILE, 0, is_offered=True)
    is_offered = row["profile_offered_at"] is not None
    return ProfileState(read_profile(row), int(row["profile_version"]), is_offered)


def save_profile(tx: database.Transaction, seller_id: int, profile: drafts.Profile) -> int:
    """Store a seller's profile; return its version."""
    row = tx.one(SAVE, id=seller_id, **asdict(profile))
    return int(row["profile_version"]) if row else 0


def change_profile(step: queues.ChatStep, seller_id: int, profile: drafts.Profile) -> None:
    """Store a seller's profile, and queue the job that sends it with their newest link.

    That job queues the job for the next older link, and so on. A removed picture is deleted at
    once, because it may show a face. A replaced picture stays until the sweep, because pages show
    it until they have the new one.
    """
    before = profile_state(step.tx, seller_id).profile
    version = save_profile(step.tx, seller_id, profile)
    if profile.image != before.image:
        if profile.image is not None:
            keep_image(step.tx, profile.image, seller_id)
        if before.image is not None:
            release_image(step.tx, before.image)
        if profile.image is None:
            delete_unused(step.tx, [before.image])
    newest = newest_link(step.tx, seller_id)
    if newest is not None and (profile.name or before.name):
        queues.put_job(step, jobs.SendProfile(newest, version, goes_on=True))


def newest_link(tx: database.Transaction, seller_id: int) -> str | None:
    """Return the link id of a seller's newest request at the service, or None."""
    row = tx.one(f"SELECT id {STANDING} {NEWEST_FIRST}", seller=seller_id)
    return str(row["id"]) if row else None


def next_older_link(tx: database.Transaction, link: link_rows.PaymentLink) -> str | None:
    """Return the link id of the seller's next older request, or None."""
    row = tx.one(
        f"SELECT id {STANDING} AND (created_at, id) < (:created_at, :id) {NEWEST_FIRST}",
        seller=link.seller_id,
        created_at=link.created_at,
        id=link.id,
    )
    return str(row["id"]) if row else None


def newest_page(tx: database.Transaction, seller_id: int) -> str | None:
    """Return the URL of a seller's newest pay page, or None."""
    row = tx.one(f"SELECT answer {STANDING} {NEWEST_FIRST}", seller=seller_id)
    answer = link_rows.read_answer(row) if row else None
    return answer.url if answer else None


def notification_email(tx: database.Transaction, seller_id: int) -> str | None:
    """Return the seller's latest email address for notifications, or None."""
    rows = tx.query(
        "SELECT wish FROM listings WHERE seller_id = :seller"
        " ORDER BY created_at DESC, id DESC LIMIT :most",
        seller=seller_id,
        most=LINKS_WITH_EMAIL,
    )
    specs = (request_spec.RequestSpec.from_json(row["wish"]) for row in rows)
    return next((spec.email for spec in specs if spec and spec.email), None)


BATCH = 50
"""Requests checked in one transaction."""

ACCOUNTS = (
    "SELECT id, kind, scheme, automatic, currencies, label FROM seller_accounts"
    " WHERE seller_id = :seller ORDER BY place"
)
ADD = (
    "INSERT INTO seller_accounts (seller_id, place, id, kind, scheme, automatic, currencies, label)"
    " VALUES (:seller, :place, :id, :kind, :scheme, :automatic, :currencies, :label)"
)
LIVE_LINKS = "FROM listings WHERE seller_id = :seller AND state = :live"
OLDER = (
    f"{link_rows.SELECT_LINK} WHERE seller_id = :seller AND state = :live"
    " AND (created_at, id) < (:created_at, :before) ORDER BY created_at DESC, id DESC LIMIT :most"
)
CREATED_AT = "SELECT created_at FROM listings WHERE id = :id"
LATEST = 2**63 - 1


def at_service(
    tx: database.Transaction, seller: drafts.Seller, seller_id: int, paid_at: drafts.PayoutService
) -> drafts.Seller:
    """Return the seller with this payout service and, for real money, the payout accounts."""
    if not paid_at.rails:
        return replace(seller, paid_at=paid_at)
    return replace(
        seller,
        paid_at=paid_at,
        destination=payout.account_destination(seller_id),
        accounts=accounts_of(tx, seller_id),
    )


def accounts_of(tx: database.Transaction, seller_id: int) -> tuple[payout.PayoutAccount, ...]:
    """Return a seller's payout accounts, in the order in which the service tries them."""
    rows = tx.query(ACCOUNTS, seller=seller_id)
    return tuple(
        payout.PayoutAccount(
            row["id"],
            row["kind"],
            row["scheme"],
            bool(row["automatic"]),
            tuple(row["currencies"].split()),
            row["label"],
        )
        for row in rows
    )


def save_accounts(
    tx: database.Transaction, seller_id: int, accounts: Sequence[payout.PayoutAccount]
) -> None:
    """Replace a seller's stored payout accounts."""
    tx.execute("DELETE FROM seller_accounts WHERE seller_id = :seller", seller=seller_id)
    for place, one in enumerate(accounts):
        stored = {"automatic": int(one.automatic), "currencies": " ".join(one.currencies)}
        tx.execute(ADD, **asdict(one) | stored, seller=seller_id, place=place)
    if accounts:
        change(tx, seller_id, pays_later=0)


def links_without(
    tx: database.Transaction, seller_id: int, accounts: Sequence[payout.PayoutAccount]
) -> int:
    """Count a seller's links that none of these accounts can be paid for."""
    if any(account.kind != payout.BANK for account in accounts):
        return 0
    row = tx.one(f"SELECT COUNT(*) AS number {LIVE_LINKS}", seller=seller_id, live=link_rows.LIVE)
    number = int(row["number"]) if row else 0
    if not accounts or not number:
        return number
    rows = tx.query(
        f"{link_rows.SELECT_LINK} WHERE seller_id = :seller AND state = :live",
        seller=seller_id,
        live=link_rows.LIVE,
    )
    prices = (link_rows.read_link(each).spec.currency for each in rows)
    return sum(not any(one.takes(price) for one in accounts) for price in prices)


def live_links_before(
    tx: database.Transaction, seller_id: int, before: str | None
) -> list[link_rows.PaymentLink]:
    """Return a seller's next BATCH live requests, newest first; with `before`, only older ones."""
    row = tx.one(CREATED_AT, id=before) if before else None
    created_at = int(row["created_at"]) if row else LATEST
    rows = tx.query(
        OLDER, seller=seller_id, live=link_rows.LIVE,
        created_at=created_at, before=before or "", most=BATCH,
    )  # fmt: skip
    return [link_rows.read_link(each) for each in rows]


# Pictures, stored as they are served: checked, reduced JPEGs.


UNUSED = (
    "kept = 0 AND NOT EXISTS (SELECT 1 FROM drafts WHERE drafts.seller_id = images.seller_id"
    " AND drafts.body LIKE '%' || images.id || '%')"
)

RELEASE = (
    "UPDATE images SET kept = 0 WHERE id = :id AND NOT EXISTS (SELECT 1 FROM listings"
    " WHERE listings.seller_id = images.seller_id AND listings.state <> :deleted"
    " AND wish LIKE '%' || images.id || '%')"
)
DELETE_IMAGE = f"DELETE FROM images WHERE id = :id AND {UNUSED}"  # noqa: S608 - our own words
SWEEP_IMAGES = f"DELETE FROM images WHERE created_at < :before AND {UNUSED}"  # noqa: S608 - our own words

IMAGES_KEPT = 30 * 24 * 3600 * 1000
"""Milliseconds that an unused picture is kept; a draft's picture is kept with the draft."""


def add_image(tx: database.Transaction, seller_id: int, data: bytes, now: int) -> str:
    """Store a picture; return its unguessable id. Anyone who knows the id can fetch it."""
    image_id = secrets.token_hex(12)
    sql = "INSERT INTO images (id, seller_id, data, created_at) VALUES (:id, :seller, :data, :now)"
    tx.execute(sql, id=image_id, seller=seller_id, data=data, now=now)
    return image_id


async def image_data(db: database.Database, image_id: str) -> bytes | None:
    """Return a picture, or None; does not use the writer."""
    rows = await db.query("SELECT data FROM images WHERE id = :id", id=image_id)
    return bytes(rows[0]["data"]) if rows else None


def keep_image(tx: database.Transaction, image_id: str, seller_id: int) -> bool:
    """Mark a picture as used by a request; return False if this seller has no such picture."""
    sql = "UPDATE images SET kept = 1 WHERE id = :id AND seller_id = :seller"
    return bool(tx.execute(sql, id=image_id, seller=seller_id))


def release_image(tx: database.Transaction, image_id: str) -> None:
    """Mark a picture as unused, unless another request of its seller still uses it."""
    tx.execute(RELEASE, id=image_id, deleted=link_rows.DELETED)


def delete_unused(tx: database.Transaction, image_ids: Iterable[str | None]) -> None:
    """Delete the given pictures, except those used by a request or a draft."""
    for image_id in filter(None, image_ids):
        tx.execute(DELETE_IMAGE, id=image_id)


def sweep_images(tx: database.Transaction, before: int) -> int:
    """Delete pictures older than `before` (epoch ms) that neither a request nor a draft uses."""
    return tx.execute(SWEEP_IMAGES, before=before)
