"""The bench's own parts: what it says of a server is true."""
