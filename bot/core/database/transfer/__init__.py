"""Databases moved between a SQLite file and a PostgreSQL server, whole and in one snapshot.

The file is the format of backups for both engines. Only commands import this room.
"""
