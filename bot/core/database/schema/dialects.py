"""How payment servers spell a request's currencies, and who was told that prices aren't checked."""

DIALECTS = (
    # Of servers that don't speak the first dialect (chat/provider/dialects.py), by PAYMENTS_URL.
    "CREATE TABLE dialects (server TEXT PRIMARY KEY, name TEXT NOT NULL)",
    """
    CREATE TABLE unchecked_prices (
        server TEXT NOT NULL,
        seller_id BIGINT NOT NULL,
        PRIMARY KEY (server, seller_id)
    )
    """,
)
