"""Other products, measured beside ours in one run, each in an environment of its own."""
