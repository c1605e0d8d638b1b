"""A change of a seller's profile, and the start of its way to their requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.messages.jobs import SendProfile
from bot.chat.messages.queues import BACKGROUND
from bot.chat.store import profiles, seller_images
from bot.core.outbox import outbox
from bot.core.outbox.queue_policy import NOTICE

if TYPE_CHECKING:
    from bot.chat.messages.queues import Queues
    from bot.chat.model.profile import Profile
    from bot.core.database.database import Transaction


def change_profile(
    tx: Transaction, queues: Queues, seller_id: int, profile: Profile, now: int
) -> None:
    """Store a seller's profile, and queue its way to all of their links, the newest first."""
    before = profiles.profile_state(tx, seller_id).profile
    version = profiles.save_profile(tx, seller_id, profile)
    if profile.image != before.image:
        _replace_picture(tx, seller_id, before.image, profile.image)
    newest = profiles.newest_link(tx, seller_id)
    if newest is not None and (profile.name or before.name):
        job, lane = SendProfile(newest, version, goes_on=True), f"{BACKGROUND}{newest}"
        outbox.put(tx, queues.jobs, lane, job, now, priority=NOTICE)


def _replace_picture(tx: Transaction, seller_id: int, old: str | None, new: str | None) -> None:
    """Keep the new picture. A removed one is deleted at once, for it may be somebody's face.

    A replaced one stays until the sweep: pages show it until the new one has reached them.
    """
    if new is not None:
        seller_images.keep_image(tx, new, seller_id)
    if old is not None:
        seller_images.release_image(tx, old)
    if new is None:
        seller_images.delete_unused(tx, [old])
