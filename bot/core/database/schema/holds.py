"""Who holds an open checkout, so that nobody holds a whole drop for nothing."""

HOLDS = (
    # While a checkout is open: `network` is a keyed hash of its payer's address, `payer` the random
    # id in their cookie, null without one. Both are cleared when it is paid, cancelled or lapsed.
    "ALTER TABLE checkouts ADD COLUMN network TEXT",
    "ALTER TABLE checkouts ADD COLUMN payer TEXT",
    """
    CREATE INDEX checkouts_held ON checkouts (request_id, network, payer, lapses_at)
    WHERE state = 'open'
    """,
    """
    CREATE INDEX checkouts_given_up ON checkouts (lapses_at)
    WHERE state IN ('lapsed', 'cancelled')
    """,
)
