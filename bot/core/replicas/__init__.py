"""Several processes on one database: which are alive, and which one leads."""
