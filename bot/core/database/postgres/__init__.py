"""The engine of PostgreSQL, imported only where DATABASE_URL names one: psycopg is used here alone.

Connections speak to the server through psycopg's libpq layer: each is used by one thread, keeps its
prepared statements, and is shut by a watcher when an answer doesn't come.
"""
