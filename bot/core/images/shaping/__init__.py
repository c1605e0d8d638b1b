"""Scripts that the plain font can't set letter by letter: joined, stacked, right to left, emoji.

A line becomes glyphs of several fonts at their places (`shaper`), which are drawn as pixels
(`raster`) or as outlines (`outlines`). HarfBuzz shapes and rasterizes. Importing it and the fonts
costs memory, so `bot/core/images/font.py` imports these modules for the first line that needs them.
"""
