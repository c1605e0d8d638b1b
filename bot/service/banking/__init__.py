"""Bank transfers: accounts as banks check them, and the codes that payers' apps read; no I/O."""
