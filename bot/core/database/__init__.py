"""The database: connections, the one writer, schema, inspection of files, secrets at rest."""
