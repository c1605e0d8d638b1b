"""The pictures of a request, each drawn by a function that returns bytes, and the seller's photo.

Drawing takes tens to hundreds of milliseconds, so callers draw in a thread. They import the modules
only when needed.
"""
