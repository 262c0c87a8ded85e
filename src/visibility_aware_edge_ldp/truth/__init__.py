"""The laboratory's truth: graphs as they are, and their exact statistics."""
