"""Who changed what and when, for the operator (see core/audit.py)."""

AUDIT = (
    # Never changed, only dropped when old; `id` sorts by time.
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
)
