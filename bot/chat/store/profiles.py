"""SQL of sellers' profiles, and of the links that show them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from bot.chat.model.answers import Answer
from bot.chat.model.profile import NO_PROFILE, PROFILE_FIELDS, Profile
from bot.chat.model.wish import Wish
from bot.core import exact_json

if TYPE_CHECKING:
    from bot.chat.store.listings import Listing
    from bot.core.database.database import Row, Transaction

COLUMNS = ", ".join(PROFILE_FIELDS)
STATE = f"SELECT {COLUMNS}, profile_version, profile_offered_at FROM sellers WHERE id = :id"  # noqa: S608 - our own words
SAVE = (
    "UPDATE sellers SET name = :name, image = :image, about = :about, contact = :contact,"
    " accent = :accent, profile_version = profile_version + 1 WHERE id = :id"
    " RETURNING profile_version"
)
STANDING = "FROM listings WHERE seller_id = :seller AND state IN ('live', 'stopped')"
NEWEST_FIRST = "ORDER BY created_at DESC, id DESC LIMIT 1"

LISTINGS_WITH_EMAIL = 20
"""A seller's newest requests, among which the address for email notifications is looked for."""


@dataclass(frozen=True, slots=True)
class ProfileState:
    """A profile, the number of its changes, and whether the seller was asked for it."""

    profile: Profile
    version: int
    is_offered: bool


def read_profile(row: Row) -> Profile:
    """Parse a row with COLUMNS."""
    return Profile(**{name: row[name] for name in PROFILE_FIELDS})


def profile_state(tx: Transaction, seller_id: int) -> ProfileState:
    """Return a seller's profile; an empty one for a person who never wrote to the bot."""
    row = tx.one(STATE, id=seller_id)
    if row is None:
        return ProfileState(NO_PROFILE, 0, is_offered=True)
    is_offered = row["profile_offered_at"] is not None
    return ProfileState(read_profile(row), int(row["profile_version"]), is_offered)


def save_profile(tx: Transaction, seller_id: int, profile: Profile) -> int:
    """Store a seller's profile; return its version."""
    row = tx.one(SAVE, id=seller_id, **asdict(profile))
    return int(row["profile_version"]) if row else 0


def mark_profile_offered(tx: Transaction, seller_id: int, now: int) -> bool:
    """Store that a seller was asked for a profile at `now` (epoch ms); True the first time."""
    sql = (
        "UPDATE sellers SET profile_offered_at = :now WHERE id = :id AND profile_offered_at IS NULL"
    )
    return bool(tx.execute(sql, id=seller_id, now=now))


def newest_link(tx: Transaction, seller_id: int) -> str | None:
    """Return the id of a seller's newest request that exists at the service; None without one."""
    row = tx.one(f"SELECT id {STANDING} {NEWEST_FIRST}", seller=seller_id)
    return str(row["id"]) if row else None


def next_older_link(tx: Transaction, listing: Listing) -> str | None:
    """Return the id of the seller's request before this one; None where it is the oldest."""
    row = tx.one(
        f"SELECT id {STANDING} AND (created_at, id) < (:created_at, :id) {NEWEST_FIRST}",
        seller=listing.seller_id,
        created_at=listing.created_at,
        id=listing.id,
    )
    return str(row["id"]) if row else None


def newest_page(tx: Transaction, seller_id: int) -> str | None:
    """Return the address of a seller's newest pay page; None without one."""
    row = tx.one(f"SELECT answer {STANDING} {NEWEST_FIRST}", seller=seller_id)
    if row is None or row["answer"] is None:
        return None
    return Answer.from_json(exact_json.loads(row["answer"])).url


def notification_email(tx: Transaction, seller_id: int) -> str | None:
    """Return the address that a seller last chose for email notifications; None without one."""
    rows = tx.query(
        "SELECT wish FROM listings WHERE seller_id = :seller"
        " ORDER BY created_at DESC, id DESC LIMIT :most",
        seller=seller_id,
        most=LISTINGS_WITH_EMAIL,
    )
    wishes = (Wish.from_json(row["wish"]) for row in rows)
    return next((wish.email for wish in wishes if wish and wish.email), None)
