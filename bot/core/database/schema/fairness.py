"""What keeps a queue fair: whose turn it is, and who has been served least."""

FAIRNESS = (
    # `turn`: where the cycle of classes stands, for the queue (its lane `*`) and for each lane.
    "ALTER TABLE lanes ADD COLUMN turn INTEGER NOT NULL DEFAULT 0",
    # `rank`: where a message stands among those of other accounts, and a lane by its head.
    "ALTER TABLE outbox ADD COLUMN rank BIGINT",
    "ALTER TABLE lanes ADD COLUMN rank BIGINT",
    """
    CREATE INDEX lanes_ranked ON lanes (queue, priority, rank, lane)
    WHERE rank IS NOT NULL AND open_at IS NOT NULL AND paused IS NULL AND waits_for IS NULL
    """,
    # Lanes of one time go in the order of their names, whatever the database.
    "DROP INDEX lanes_open",
    """
    CREATE INDEX lanes_open ON lanes (queue, priority, open_at, lane)
    WHERE open_at IS NOT NULL AND paused IS NULL AND waits_for IS NULL
    """,
    "DROP INDEX lanes_waiting",
    """
    CREATE INDEX lanes_waiting ON lanes (queue, waits_for, priority, open_at, lane)
    WHERE waits_for IS NOT NULL
    """,
)
