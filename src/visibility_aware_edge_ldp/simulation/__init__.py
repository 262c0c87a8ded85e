"""Simulated populations: everybody answers, on a graph we hold."""
