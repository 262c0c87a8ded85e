"""The commands of ``va-edge-ldp``, one to a file; heavy things are imported when a command runs."""
