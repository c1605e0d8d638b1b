"""Tables of bot/core: the outbox, secrets at rest, the audit log, replicas."""

FLOOR = (
    # Incoming and outgoing messages that must not be lost (see core/outbox/outbox.py).
    #   subject: the thing that the message is about
    #   failures, crashes: consecutive attempts that raised, or whose process died
    #   rank: its position among messages of other accounts
    #   lease: the worker that handles it
    """
    CREATE TABLE outbox (
        id TEXT PRIMARY KEY,
        queue TEXT NOT NULL,
        lane TEXT NOT NULL,
        priority INTEGER NOT NULL,
        subject TEXT,
        body TEXT NOT NULL,
        state TEXT NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        failures INTEGER NOT NULL DEFAULT 0,
        crashes INTEGER NOT NULL DEFAULT 0,
        uncertain INTEGER NOT NULL DEFAULT 0,
        due_at BIGINT NOT NULL,
        rank BIGINT,
        lease TEXT,
        leased_until BIGINT,
        created_at BIGINT NOT NULL,
        settled_at BIGINT,
        note TEXT
    )
    """,
    "CREATE INDEX outbox_heads ON outbox (queue, lane, priority, id) WHERE state = 'waiting'",
    "CREATE INDEX outbox_subject ON outbox (queue, subject) WHERE subject IS NOT NULL",
    # With the id, so that the next of a thousand simultaneously due messages is found unsorted.
    "CREATE INDEX outbox_due ON outbox (queue, lane, due_at, id) WHERE state = 'waiting'",
    "CREATE INDEX outbox_leased ON outbox (queue, lane, leased_until) WHERE state = 'leased'",
    "CREATE INDEX outbox_settled ON outbox (queue, settled_at) WHERE settled_at IS NOT NULL",
    # Dead letters are few; settled messages may be millions.
    "CREATE INDEX outbox_dead ON outbox (queue, settled_at) WHERE state = 'dead'",
    "CREATE INDEX outbox_dead_lane ON outbox (queue, lane, id) WHERE state = 'dead'",
    "CREATE INDEX outbox_joined ON outbox (id) WHERE state = 'joined'",
    # The lanes of each queue; the lane `*` is the queue itself.
    #   open_at: when the lane's next message may be claimed, null if no message waits
    #   rank: the rank of the next message
    #   turn: the position in the cycle of classes
    #   waits_for: the full group in which the lane is parked (see core/outbox/groups.py)
    """
    CREATE TABLE lanes (
        queue TEXT NOT NULL,
        lane TEXT NOT NULL,
        arrival_at BIGINT NOT NULL DEFAULT 0,
        held_until BIGINT NOT NULL DEFAULT 0,
        open_at BIGINT,
        priority INTEGER,
        rank BIGINT,
        turn INTEGER NOT NULL DEFAULT 0,
        paused TEXT,
        waits_for TEXT,
        PRIMARY KEY (queue, lane)
    )
    """,
    # The name of the lane comes last, so that both engines order simultaneous lanes alike.
    """
    CREATE INDEX lanes_open ON lanes (queue, priority, open_at, lane)
    WHERE open_at IS NOT NULL AND paused IS NULL AND waits_for IS NULL
    """,
    """
    CREATE INDEX lanes_ranked ON lanes (queue, priority, rank, lane)
    WHERE rank IS NOT NULL AND open_at IS NOT NULL AND paused IS NULL AND waits_for IS NULL
    """,
    """
    CREATE INDEX lanes_waiting ON lanes (queue, waits_for, priority, open_at, lane)
    WHERE waits_for IS NOT NULL
    """,
    # Secrets that the bot created for itself, sealed with SECRET_KEY.
    "CREATE TABLE kept_secrets (name TEXT PRIMARY KEY, sealed TEXT NOT NULL)",
    # Entries are deleted only when they are old; erasing a seller removes the seller's data from
    # them. `id` sorts by time (see core/ops/audit.py).
    """
    CREATE TABLE audit (
        id TEXT PRIMARY KEY,
        at BIGINT NOT NULL,
        actor TEXT NOT NULL,
        action TEXT NOT NULL,
        subject TEXT NOT NULL,
        details TEXT NOT NULL
    )
    """,
    "CREATE INDEX audit_subject ON audit (subject, id)",
    # One row, replaced by each test write (see core/database/sqlite.py).
    "CREATE TABLE probe (number INTEGER PRIMARY KEY, filler TEXT NOT NULL)",
    # Replicas on one database (see core/replicas). Without replicas, this table and the next three
    # are empty.
    #   beat: increases while the replica lives; observers time it with their own clocks
    #   settings: a digest of the settings that all replicas must share
    """
    CREATE TABLE replicas (
        owner TEXT PRIMARY KEY,
        beat BIGINT NOT NULL,
        role TEXT NOT NULL,
        version TEXT NOT NULL,
        migration INTEGER NOT NULL,
        settings TEXT NOT NULL,
        started_at BIGINT NOT NULL
    )
    """,
    # The leading replica of each role, '' if there is none; each change has a new `term`.
    """
    CREATE TABLE leads (
        role TEXT PRIMARY KEY,
        owner TEXT NOT NULL DEFAULT '',
        term BIGINT NOT NULL DEFAULT 0
    )
    """,
    # Write scopes: a scope's transactions run one at a time in all replicas, under its row's lock.
    # `owner` and `term` identify the lead, so a former lead's transaction notices the change.
    """
    CREATE TABLE slices (
        name TEXT PRIMARY KEY,
        owner TEXT NOT NULL DEFAULT '',
        term BIGINT NOT NULL DEFAULT 0
    )
    """,
    # Calls counted by all replicas, by the `subject` of the rate limit, in the time window that
    # begins at `slot` (epoch seconds).
    """
    CREATE TABLE rates (
        name TEXT NOT NULL,
        subject TEXT NOT NULL,
        slot BIGINT NOT NULL,
        hits BIGINT NOT NULL,
        PRIMARY KEY (name, subject, slot)
    )
    """,
    "CREATE INDEX rates_slot ON rates (slot)",
    # The PostgreSQL server of this database and its timeline: a different timeline may mean a
    # different past (see core/database/timelines.py). At most one row; no row on SQLite.
    "CREATE TABLE timelines (system TEXT PRIMARY KEY, timeline BIGINT NOT NULL)",
)
