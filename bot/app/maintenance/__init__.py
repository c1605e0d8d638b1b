"""Work on the database by command: backups, restores, moves, dead letters, erasure."""
