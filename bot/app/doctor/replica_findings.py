"""Findings about the replicas that share a database, from the facts that they store there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.app import resources
from bot.app.doctor import finding
from bot.chat.model import queues
from bot.core.database import database
from bot.core.replicas import membership


@dataclass(frozen=True, slots=True)
class ReplicaSurvey:
    """The replicas at one moment, and the lead."""

    replicas: Sequence[membership.ReplicaRow]
    lead: database.WriteLease | None


def survey_replicas(tx: database.Transaction) -> ReplicaSurvey:
    """Read the replicas and the lead: the chat's, or the service's if there was never a chat."""
    leads = membership.find_leads(tx)
    return ReplicaSurvey(
        membership.find_all(tx), leads.get(queues.WRITE_SCOPE, leads.get(resources.SERVICE))
    )


def check_replicas(
    before: ReplicaSurvey, after: ReplicaSurvey, digests: str, seconds: float
) -> list[finding.Finding]:
    """Compare two surveys that are `seconds` apart; `digests` are of our settings."""
    beats = {one.owner: one.beat for one in before.replicas}
    living = [one for one in after.replicas if beats.get(one.owner, -1) != one.beat]
    quiet = [one for one in after.replicas if one not in living]
    found = [finding.fix("replicas", text) for text in _check_quiet(quiet, seconds)]
    if not living:
        return found or [finding.ok("replicas", "none is running")]
    found += [finding.fix("lead", text) for text in _check_lead(living, after.lead)]
    found += [finding.fix("replicas", text) for text in _check_versions(living)]
    found += [finding.fix("replicas", text) for text in _check_settings(living, digests)]
    return found or [finding.ok("replicas", _describe(living, after.lead))]


def _describe(living: Sequence[membership.ReplicaRow], lead: database.WriteLease | None) -> str:
    lines = []
    for one in living:
        since = datetime.fromtimestamp(one.started_at / 1000, UTC).isoformat(timespec="seconds")
        leads = f", leads in term {lead.term}" if lead and lead.owner == one.owner else ""
        lines.append(f"{one.owner}  {one.role}, version {one.version}, since {since}{leads}")
    number = "1 is running" if len(living) == 1 else f"{len(living)} are running"
    return "\n    ".join([number, *lines])


def _check_quiet(quiet: Sequence[membership.ReplicaRow], seconds: float) -> Iterator[str]:
    for one in quiet:
        yield (
            f"{one.owner} ({one.role}) hasn't been heard from for {seconds:.0f} seconds: it was"
            " killed, stands still, or can't reach the database. The others take over its work;"
            " see its log, and start it again"
        )


def _check_lead(
    living: Sequence[membership.ReplicaRow], lead: database.WriteLease | None
) -> Iterator[str]:
    if lead is not None and lead.owner in {one.owner for one in living}:
        return
    nobody = "nobody leads, so no update is read and no message is sent"
    if all(one.role == "api" for one in living):
        yield f"{nobody}: all replicas run with --role api; start one with --role all or lead"
    else:
        yield f"{nobody}: run doctor again in 15 seconds; if this stays, see the replicas' logs"


def _check_versions(living: Sequence[membership.ReplicaRow]) -> Iterator[str]:
    owners = defaultdict(list)
    for one in living:
        owners[one.version, one.migration].append(one.owner)
    if len(owners) > 1:
        named = "; ".join(
            f"{version} (schema {migration}): {', '.join(names)}"
            for (version, migration), names in sorted(owners.items(), key=lambda one: one[0][::-1])
        )
        yield f"different versions are running: {named}. Restart the older ones to end the upgrade"


def _check_settings(living: Sequence[membership.ReplicaRow], digests: str) -> Iterator[str]:
    for one in living:
        if names := resources.find_differences(digests, one.settings):
            yield (
                f"{one.owner} was started with other settings than those here: {', '.join(names)}."
                " Give all replicas the same, and restart those with old ones"
            )
