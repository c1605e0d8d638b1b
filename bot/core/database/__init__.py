"""The database: both engines, tables and migrations, checks of files, secrets at rest."""
