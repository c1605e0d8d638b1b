"""PostgreSQL, imported only if DATABASE_URL names a server; psycopg is used here alone.

Connections speak to the server through psycopg's libpq layer: each is used by one thread, keeps its
prepared statements, and is shut by a watcher when an answer doesn't come.
"""
