"""The pictures of a request: a seller's photo made ready, the card in the chat, poster and square.

Functions from what is to be seen to bytes. They take tens to hundreds of milliseconds, so callers
draw in a thread, and import the module that they need when they need it.
"""
