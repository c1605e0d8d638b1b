"""The pictures of a request: the seller's photo, the card in the chat, the poster and the square.

Each is a function from content to bytes. They take tens to hundreds of milliseconds, so callers
draw in a thread, and import the module that they need when they need it.
"""
