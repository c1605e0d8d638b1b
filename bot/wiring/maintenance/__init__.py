"""Work on the database by command: backups, dead letters, erasure, resuming."""
