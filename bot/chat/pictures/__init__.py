"""The pictures of a request, each a function from content to bytes; the seller's photo.

They take tens to hundreds of milliseconds, so callers draw in a thread, and import the module that
they need when they need it.
"""
