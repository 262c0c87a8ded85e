"""Whether the time or the length of an answer depends on what is private."""
