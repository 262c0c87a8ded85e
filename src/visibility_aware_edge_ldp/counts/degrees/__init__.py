"""Sums over degrees, and degrees themselves, from noisy ones."""
