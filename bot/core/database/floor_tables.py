"""Tables of the floor: the outbox, secrets at rest, the audit log, replicas."""

FLOOR = (
    # Messages that must not be lost, on their way in or out (see core/outbox/outbox.py).
    #   subject: what the message is about
    #   failures, crashes: attempts in a row that ended in an exception, or with their process
    #   rank: its place among messages of other accounts
    #   lease: the worker that performs it
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
    # With the id, so that the next of a thousand messages due at one time is found without sorting.
    "CREATE INDEX outbox_due ON outbox (queue, lane, due_at, id) WHERE state = 'waiting'",
    "CREATE INDEX outbox_leased ON outbox (queue, lane, leased_until) WHERE state = 'leased'",
    "CREATE INDEX outbox_settled ON outbox (queue, settled_at) WHERE settled_at IS NOT NULL",
    # Dead letters are few; settled messages may be millions.
    "CREATE INDEX outbox_dead ON outbox (queue, settled_at) WHERE state = 'dead'",
    "CREATE INDEX outbox_dead_lane ON outbox (queue, lane, id) WHERE state = 'dead'",
    "CREATE INDEX outbox_joined ON outbox (id) WHERE state = 'joined'",
    # The lanes of each queue; the lane `*` is the queue itself.
    #   open_at: when the lane's next message may be claimed, null if no message waits
    #   rank: that of the next message
    #   turn: the position in the cycle of classes
    #   waits_for: the group in which the lane waits for room (see core/outbox/groups.py)
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
    # The name of the lane comes last, so that both engines order lanes of one time alike.
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
    # What replicas over one database know of each other (see core/replicas). Without replicas this
    # table and the next three are empty.
    #   beat: counts up while the replica lives; observers measure by their own clocks how long ago
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
    # The replica that leads in a role, '' if no replica does; each change has a new `term`.
    """
    CREATE TABLE leads (
        role TEXT PRIMARY KEY,
        owner TEXT NOT NULL DEFAULT '',
        term BIGINT NOT NULL DEFAULT 0
    )
    """,
    # Write scopes: a scope's transactions run one at a time in all replicas, under its row's lock.
    # `owner` and `term` are its lead's: a transaction of a former lead finds others there.
    """
    CREATE TABLE slices (
        name TEXT PRIMARY KEY,
        owner TEXT NOT NULL DEFAULT '',
        term BIGINT NOT NULL DEFAULT 0
    )
    """,
    # Calls by the `subject` of a rate limit that all replicas counted, in the window of time that
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
    # The server of this database and its timeline, as PostgreSQL numbers them: another timeline may
    # be another past (see core/database/timelines.py). At most one row; no row on SQLite.
    "CREATE TABLE timelines (system TEXT PRIMARY KEY, timeline BIGINT NOT NULL)",
)
