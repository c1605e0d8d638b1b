"""The engine of SQLite: a file behind one writer, and the checks of what else befalls files."""
