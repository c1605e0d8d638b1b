"""A witness in the database: triggers that note who led when, and who claimed and settled what.

Replicas are told apart by `application_name`, which is the number of the replica.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.replicas.cluster import Cluster

LEAD_QUEUES = ("updates", "jobs", "messages", "answers", "photos")
"""The queues that the lead alone works."""

INSTALL = """
    CREATE TABLE seen_leads (
        number BIGSERIAL PRIMARY KEY, replica TEXT, owner TEXT, term BIGINT, at TIMESTAMPTZ
    );
    CREATE TABLE seen_acts (
        number BIGSERIAL PRIMARY KEY, replica TEXT, message TEXT, was TEXT, became TEXT,
        at TIMESTAMPTZ
    );
    CREATE FUNCTION note_lead() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO seen_leads (replica, owner, term, at)
        VALUES (current_setting('application_name'), NEW.owner, NEW.term, clock_timestamp());
        RETURN NEW;
    END $$;
    CREATE FUNCTION note_act() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO seen_acts (replica, message, was, became, at)
        VALUES (current_setting('application_name'), OLD.id, OLD.state,
            CASE TG_OP WHEN 'DELETE' THEN 'deleted' ELSE NEW.state END, clock_timestamp());
        RETURN NULL;
    END $$;
    CREATE TRIGGER note_lead AFTER INSERT OR UPDATE ON slices FOR EACH ROW
        WHEN (NEW.name = 'chat' AND NEW.owner <> '') EXECUTE FUNCTION note_lead();
    CREATE TRIGGER note_settled AFTER UPDATE ON outbox FOR EACH ROW
        WHEN (OLD.queue IN {queues} AND OLD.state <> NEW.state
            AND (OLD.state = 'leased' OR NEW.state = 'leased')) EXECUTE FUNCTION note_act();
    CREATE TRIGGER note_deleted AFTER DELETE ON outbox FOR EACH ROW
        WHEN (OLD.queue IN {queues} AND OLD.state = 'leased') EXECUTE FUNCTION note_act();
"""

FIRST = """
    INSERT INTO seen_leads (replica, owner, term, at)
    SELECT %s, owner, term, clock_timestamp() FROM slices WHERE name = 'chat'
"""
BY_FORMER_LEADS = """
    SELECT COUNT(*) FROM seen_acts AS act WHERE act.replica <> (
        SELECT replica FROM seen_leads AS lead WHERE lead.at <= act.at ORDER BY lead.at DESC LIMIT 1
    ) AND NOT (act.was = 'leased' AND act.became = 'waiting')
"""
"""Any replica may release the leases of a dead one; claims and outcomes are the lead's."""

LEADS = "SELECT term, replica, EXTRACT(EPOCH FROM at)::float FROM seen_leads ORDER BY number"


@dataclass(frozen=True, slots=True)
class Witness:
    """What the triggers have noted."""

    cluster: Cluster

    async def leads(self) -> list[tuple[int, int, float]]:
        """Return term, replica and epoch seconds of each change of the lead."""
        found = await self.cluster.rows(LEADS)
        return [(term, int(replica), at) for term, replica, at in found]

    async def acts(self) -> int:
        """Return how many claims and outcomes were noted."""
        return int(await self.cluster.value("SELECT COUNT(*) FROM seen_acts"))

    async def by_former_leads(self) -> int:
        """Return how many messages were claimed or settled by a replica that did not lead."""
        return int(await self.cluster.value(BY_FORMER_LEADS))


async def install(cluster: Cluster) -> Witness:
    """Add the triggers, once a replica leads."""
    lead = cluster.replicas.index(await cluster.lead())
    queues = "(" + ", ".join(f"'{name}'" for name in LEAD_QUEUES) + ")"
    await cluster.rows(INSTALL.replace("{queues}", queues))
    await cluster.rows(FIRST, f"{lead}")
    return Witness(cluster)
