"""Operator commands on the database: backups, restores, moves, dead letters, erasure, exports."""
