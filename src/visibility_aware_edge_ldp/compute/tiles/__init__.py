"""Planes of bits larger than memory: square tiles, in a file or mapped."""
