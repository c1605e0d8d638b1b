"""Applications: secrets are shown once and stored as hashes, the bot's own ones sealed."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from bot.core.database.database import Database
from bot.core.database.vault import Vault
from bot.core.errors import ConfigProblem, NotFound, Refused, Unauthorized
from bot.service.requests import applications
from bot.service.requests.applications import FRESH, App, Logins

VAULT = Vault("key")


async def login(db: Database, app_id: str, app_secret: str, now: int = 0) -> App:
    return await Logins(db, lambda: now).authenticate(app_id, app_secret)


async def test_an_application_authenticates_with_its_credentials(db: Database) -> None:
    """Neither secret is in the database in plain text."""
    made = db.run(lambda tx: applications.create(tx, VAULT, "shop", 5))
    assert re.fullmatch("[0-9a-f]{24}", made.app_id)
    assert len(made.app_secret) == 43
    assert made.webhook_secret.startswith("whsec_")
    app = await login(db, made.app_id, made.app_secret)
    assert (app.name, app.created_at, app.revoked_at) == ("shop", 5, None)
    (row,) = await db.query("SELECT * FROM apps")
    assert made.app_secret not in str(row)
    assert made.webhook_secret not in str(row)
    assert VAULT.open(row["webhook_secret"]) == made.webhook_secret


async def test_a_former_app_secret_is_taken_until_the_overlap_ends(db: Database) -> None:
    """The new one from the start; no other application's."""
    old = db.run(lambda tx: applications.create(tx, VAULT, "shop", 0))
    other = db.run(lambda tx: applications.create(tx, VAULT, "other", 0))
    new = db.run(lambda tx: applications.rotate(tx, VAULT, old.app_id, 1000, 500))
    assert new.app_id == old.app_id
    assert new.webhook_secret != old.webhook_secret
    for now in (1000, 1499, 1500):
        assert (await login(db, new.app_id, new.app_secret, now)).id == old.app_id
    for now in (1000, 1499):
        assert (await login(db, old.app_id, old.app_secret, now)).id == old.app_id
    for app_id, secret, now in (
        (old.app_id, old.app_secret, 1500),
        (old.app_id, other.app_secret, 1000),
        (other.app_id, old.app_secret, 1000),
    ):
        with pytest.raises(Unauthorized):
            await login(db, app_id, secret, now)


async def test_a_former_app_secret_that_was_just_used_ends_with_its_overlap(db: Database) -> None:
    """An application that called a moment ago is not looked up, but the time is compared."""
    old, now = db.run(lambda tx: applications.create(tx, VAULT, "shop", 0)), [1499]
    db.run(lambda tx: applications.rotate(tx, VAULT, old.app_id, 1000, 500))
    logins = Logins(db, lambda: now[0])
    await logins.authenticate(old.app_id, old.app_secret)
    now[0] = 1500
    with pytest.raises(Unauthorized):
        await logins.authenticate(old.app_id, old.app_secret)


@pytest.mark.parametrize("overlap", [0, 500])
async def test_of_three_app_secrets_the_oldest_ends_at_once(db: Database, overlap: int) -> None:
    """Without an overlap the second does too, and nothing of them is kept."""
    first = db.run(lambda tx: applications.create(tx, VAULT, "shop", 0))
    second = db.run(lambda tx: applications.rotate(tx, VAULT, first.app_id, 1, 500))
    third = db.run(lambda tx: applications.rotate(tx, VAULT, first.app_id, 2, overlap))
    await login(db, first.app_id, third.app_secret, 2)
    for secret in [first.app_secret, *([] if overlap else [second.app_secret])]:
        with pytest.raises(Unauthorized):
            await login(db, first.app_id, secret, 2)
    signing = [third.webhook_secret, *([second.webhook_secret] if overlap else [])]
    assert await signing_at(db, first.app_id, 2) == signing
    (row,) = await db.query(
        "SELECT former_secret_hash, former_webhook_secret, former_until FROM apps"
    )
    assert (set(row.values()) == {None}) == (overlap == 0)


async def signing_at(db: Database, app_id: str, now: int) -> list[str]:
    return [*map(VAULT.open, await applications.read_webhook_secrets(db, app_id, now))]


async def test_the_former_webhook_secret_signs_until_the_overlap_ends(db: Database) -> None:
    """The new one is first; both are sealed."""
    old = db.run(lambda tx: applications.create(tx, VAULT, "shop", 0))
    new = db.run(lambda tx: applications.rotate(tx, VAULT, old.app_id, 1000, 500))
    both = [new.webhook_secret, old.webhook_secret]
    assert await signing_at(db, old.app_id, 1000) == both
    assert await signing_at(db, old.app_id, 1499) == both
    assert await signing_at(db, old.app_id, 1500) == both[:1]
    (row,) = await db.query("SELECT * FROM apps")
    assert all(secret not in str(row) for secret in both)


async def test_the_default_overlap_is_a_day(db: Database) -> None:
    old = db.run(lambda tx: applications.create(tx, VAULT, "shop", 0))
    db.run(lambda tx: applications.rotate(tx, VAULT, old.app_id, 7))
    (row,) = await db.query("SELECT former_until FROM apps")
    assert row["former_until"] == 7 + 24 * 3600 * 1000


async def test_a_former_secret_is_deleted_after_its_overlap(db: Database) -> None:
    """Other applications' secrets and those in use stay."""
    made = [db.run(lambda tx: applications.create(tx, VAULT, "shop", 0)) for _ in range(3)]
    new = db.run(lambda tx: applications.rotate(tx, VAULT, made[0].app_id, 0, 100))
    db.run(lambda tx: applications.rotate(tx, VAULT, made[1].app_id, 0, 200))
    assert db.run(lambda tx: applications.forget_former(tx, 99)) == 0
    assert db.run(lambda tx: applications.forget_former(tx, 100)) == 1
    for column in ("former_webhook_secret", "former_secret_hash", "former_until"):
        rows = await db.query(f"SELECT id FROM apps WHERE {column} IS NOT NULL")
        assert rows == [{"id": made[1].app_id}]
    assert await signing_at(db, made[0].app_id, 100) == [new.webhook_secret]
    assert await signing_at(db, made[2].app_id, 100) == [made[2].webhook_secret]


async def test_an_unknown_application_has_no_signing_secrets(db: Database) -> None:
    assert await signing_at(db, "nobody", 0) == []


async def test_a_revoked_application_is_listed_but_cannot_authenticate(db: Database) -> None:
    made = db.run(lambda tx: applications.create(tx, VAULT, "shop", 0))
    db.run(lambda tx: applications.revoke(tx, VAULT, made.app_id, 7))
    with pytest.raises(Unauthorized):
        await login(db, made.app_id, made.app_secret)
    assert [(app.id, app.revoked_at) for app in db.run(applications.list_all)] == [(made.app_id, 7)]


async def test_an_application_that_calls_often_is_looked_up_once_in_a_moment(db: Database) -> None:
    """A revocation reaches it a moment later; a new secret counts at once."""
    made, now = db.run(lambda tx: applications.create(tx, VAULT, "shop", 0)), [0]
    logins = Logins(db, lambda: now[0])
    await logins.authenticate(made.app_id, made.app_secret)
    new = db.run(lambda tx: applications.rotate(tx, VAULT, made.app_id, 1, 0))
    await logins.authenticate(made.app_id, made.app_secret)
    await logins.authenticate(new.app_id, new.app_secret)
    with pytest.raises(Unauthorized):
        await logins.authenticate(made.app_id, made.app_secret)
    db.run(lambda tx: applications.revoke(tx, VAULT, made.app_id, 2))
    now[0] = FRESH - 1
    await logins.authenticate(new.app_id, new.app_secret)
    now[0] = FRESH
    with pytest.raises(Unauthorized):
        await logins.authenticate(new.app_id, new.app_secret)


@pytest.mark.parametrize("change", [applications.rotate, applications.revoke])
def test_a_revoked_and_an_unknown_application_give_different_errors(
    db: Database, change: Callable[..., object]
) -> None:
    made = db.run(lambda tx: applications.create(tx, VAULT, "shop", 0))
    db.run(lambda tx: applications.revoke(tx, VAULT, made.app_id, 7))
    with pytest.raises(Refused, match=f"{made.app_id} is revoked") as refusal:
        db.run(lambda tx: change(tx, VAULT, made.app_id, 8))
    assert not isinstance(refusal.value, NotFound)
    with pytest.raises(NotFound, match="no application nobody"):
        db.run(lambda tx: change(tx, VAULT, "nobody", 8))
    assert [app.revoked_at for app in db.run(applications.list_all)] == [7]


@pytest.mark.parametrize("name", ["", " ", "x" * 101, "a\nb", "a\x1b[31m"])
def test_a_name_is_one_line(db: Database, name: str) -> None:
    with pytest.raises(Refused, match="1 to 100 characters"):
        db.run(lambda tx: applications.create(tx, VAULT, name, 0))
    assert db.run(applications.list_all) == []


async def test_the_bots_own_application_is_created_once(db: Database) -> None:
    """After a restart its credentials are read from a sealed row."""
    made = db.run(lambda tx: applications.ensure_embedded_app(tx, VAULT, 1))
    again = db.run(lambda tx: applications.ensure_embedded_app(tx, Vault("key"), 2))
    assert again == made
    await login(db, made.app_id, made.app_secret)
    (row,) = await db.query("SELECT * FROM kept_secrets")
    assert made.app_secret not in row["sealed"]
    with pytest.raises(ConfigProblem, match="SECRET_KEY"):
        db.run(lambda tx: applications.ensure_embedded_app(tx, Vault("other"), 3))


async def test_the_bots_own_application_cannot_be_rotated_or_revoked(db: Database) -> None:
    made = db.run(lambda tx: applications.ensure_embedded_app(tx, VAULT, 1))
    with pytest.raises(Refused, match="own application"):
        db.run(lambda tx: applications.rotate(tx, VAULT, made.app_id, 2))
    with pytest.raises(Refused, match="own application"):
        db.run(lambda tx: applications.revoke(tx, VAULT, made.app_id, 2))
    await login(db, made.app_id, made.app_secret)
