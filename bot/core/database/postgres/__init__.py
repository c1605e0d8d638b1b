"""PostgreSQL, imported only if DATABASE_URL names a server; psycopg is used only here.

Connections use psycopg's libpq layer. Each connection belongs to one thread, keeps its prepared
statements, and is shut by a watcher if an answer doesn't arrive.
"""
