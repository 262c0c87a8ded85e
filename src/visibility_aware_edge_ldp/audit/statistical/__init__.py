"""Bounds from below on the loss, from many runs of the real clients and mechanisms."""
