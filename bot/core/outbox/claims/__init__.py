"""A claim: which messages of which lanes may go now, and how classes take turns."""
