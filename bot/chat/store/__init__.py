"""SQL of the chat, a page for each of its concepts."""
