"""Tables of the floor: the outbox, secrets at rest, the audit log."""

FLOOR = (
    # Messages that must not be lost, on their way in or out (see core/outbox/outbox.py). `lease`
    # names the worker that performs it, `failures` and `crashes` count in a row the attempts that
    # ended in an exception and with their process, `rank` orders it among those of other accounts,
    # `subject` names what it is about.
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
    # With the id, so that the next of a thousand messages due at one moment is found unsorted.
    "CREATE INDEX outbox_due ON outbox (queue, lane, due_at, id) WHERE state = 'waiting'",
    "CREATE INDEX outbox_leased ON outbox (queue, lane, leased_until) WHERE state = 'leased'",
    "CREATE INDEX outbox_settled ON outbox (queue, settled_at) WHERE settled_at IS NOT NULL",
    # Dead letters are few; settled messages may be millions.
    "CREATE INDEX outbox_dead ON outbox (queue, settled_at) WHERE state = 'dead'",
    "CREATE INDEX outbox_dead_lane ON outbox (queue, lane, id) WHERE state = 'dead'",
    "CREATE INDEX outbox_joined ON outbox (id) WHERE state = 'joined'",
    # `open_at`: when the lane's next message may be claimed, null if none waits; `rank` is that
    # of this message. `waits_for`: the group in which the lane waits for room (see
    # core/outbox/groups.py). `turn`: the position in the cycle of classes, for each lane and, in
    # the lane `*`, for the queue.
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
    # The name of the lane comes last, so that every database orders lanes of one time alike.
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
    # Secrets that the bot made for itself, sealed with SECRET_KEY.
    "CREATE TABLE kept_secrets (name TEXT PRIMARY KEY, sealed TEXT NOT NULL)",
    # Entries are only deleted when old, or lose what they say of an erased seller; `id` sorts by
    # time (see core/ops/audit.py).
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
    # What replicas over one database know of each other; without replicas all four are empty.
    # `beat` counts up while the replica lives; its observers' own clocks tell how long ago that was
    # (see core/replicas). `settings` is a digest of those that all replicas have to share.
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
    # The replica that leads in a role, '' if none does; each change of it is a new `term`.
    """
    CREATE TABLE leads (
        role TEXT PRIMARY KEY,
        owner TEXT NOT NULL DEFAULT '',
        term BIGINT NOT NULL DEFAULT 0
    )
    """,
    # Slices: transactions of one slice run one at a time in all replicas, under its row's lock.
    # `owner` and `term` are those of its lead: a transaction of a former one finds others there.
    """
    CREATE TABLE slices (
        name TEXT PRIMARY KEY,
        owner TEXT NOT NULL DEFAULT '',
        term BIGINT NOT NULL DEFAULT 0
    )
    """,
    # Calls that all replicas counted of a rate limit's `subject`, in a window of time that begins
    # at `slot` (epoch seconds).
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
    # be another past (see core/database/timelines.py). One row at most; none on SQLite.
    "CREATE TABLE timelines (system TEXT PRIMARY KEY, timeline BIGINT NOT NULL)",
)
