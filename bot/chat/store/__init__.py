"""SQL of the chat, a file for each of its concepts."""
