"""The trust models before anybody is asked: one file each, with the same functions."""
