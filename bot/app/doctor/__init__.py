"""Checks of configuration, token, database and public address, each with its fix."""
