"""What a seller can set in a request: how each field is read, shown, sent and edited: pure."""
