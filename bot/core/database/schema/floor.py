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
    "CREATE INDEX outbox_due ON outbox (queue, lane, due_at) WHERE state = 'waiting'",
    "CREATE INDEX outbox_leased ON outbox (queue, lane, leased_until) WHERE state = 'leased'",
    "CREATE INDEX outbox_settled ON outbox (queue, settled_at) WHERE settled_at IS NOT NULL",
    # Dead letters are few; settled messages may be millions.
    "CREATE INDEX outbox_dead ON outbox (queue, settled_at) WHERE state = 'dead'",
    "CREATE INDEX outbox_dead_lane ON outbox (queue, lane, id) WHERE state = 'dead'",
    "CREATE INDEX outbox_joined ON outbox (id) WHERE state = 'joined'",
    # `open_at`: when the lane's next message may be claimed, null where none waits; `rank` is that
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
    # One row, replaced by each test write (see core/database/write_check.py).
    "CREATE TABLE probe (number INTEGER PRIMARY KEY, filler TEXT NOT NULL)",
)
