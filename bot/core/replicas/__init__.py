"""Several processes over one database: which are alive, and which one leads."""
