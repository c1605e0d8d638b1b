"""The schema: tables and numbered migrations, portable between SQLite and PostgreSQL."""
