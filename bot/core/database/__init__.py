"""The database: connections, the one writer, schema, integrity, snapshots, secrets at rest."""
