"""Mechanisms: a promise, and the integers that keep it."""
