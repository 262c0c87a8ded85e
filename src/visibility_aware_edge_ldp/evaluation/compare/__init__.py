"""Comparisons: what is run, on how many cores, and what of it is kept."""
