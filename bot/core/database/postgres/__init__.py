"""PostgreSQL, imported only if DATABASE_URL names a server; psycopg is used only here.

Each connection is psycopg's own, is used by one thread at a time, and is shut by a watcher if an
answer doesn't arrive.
"""
