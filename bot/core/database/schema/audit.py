"""What the operator looks at: who changed what and when, and what was given up."""

AUDIT = (
    # Never changed, only dropped when old; `id` sorts by time (see core/ops/audit.py).
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
    # Messages given up are few, what was settled may be millions.
    "CREATE INDEX outbox_dead ON outbox (queue, settled_at) WHERE state = 'dead'",
)
