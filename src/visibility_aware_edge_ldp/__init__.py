"""Private statistics on graphs whose edges are not all equally secret."""

__version__ = "0.1.0"
