"""PostgreSQL, imported only if DATABASE_URL names a server; psycopg is used here alone.

Connections talk to the server through psycopg's libpq layer. Each is used by one thread, keeps its
prepared statements, and is shut by a watcher if an answer doesn't come.
"""
