"""A role is a replica's share of the work; a process alone does all of it."""

from __future__ import annotations

import pytest

from bot.app.resources import Role, check_role
from bot.core.errors import ConfigProblem


@pytest.mark.parametrize(
    ("role", "serves", "may_lead"),
    [(Role.ALL, True, True), (Role.API, True, False), (Role.LEAD, False, True)],
)
def test_a_role_serves_or_may_lead_or_both(role: Role, *, serves: bool, may_lead: bool) -> None:
    assert (role.serves, role.may_lead) == (serves, may_lead)


def test_a_sqlite_file_has_one_process_that_does_everything() -> None:
    """Replicas of a server's database may have any role."""
    check_role(Role.ALL, "sqlite:///bot.db")
    for role in Role:
        check_role(role, "postgresql://bot@db.example/bot")
    for role in (Role.API, Role.LEAD):
        with pytest.raises(ConfigProblem, match=f"--role {role}: .* set DATABASE_URL"):
            check_role(role, "sqlite:///bot.db")
