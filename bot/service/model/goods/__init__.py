"""What payers get: kinds of it, lists of codes, names of files; pure."""
