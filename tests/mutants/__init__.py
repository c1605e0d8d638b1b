"""Mutation testing: small faults put into the code that matters most, to see whether tests fail.

`make mutants` draws the faults by a seed, tries each against the tests that reach its line, and
compares the score with the recorded one (record.toml).
"""
