"""Checks of the configuration, token, database and public address, with a fix for each problem."""
