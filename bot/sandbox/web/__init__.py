"""The sandbox's servers: the Bot API, the chat page with its control API, and a mailbox."""
