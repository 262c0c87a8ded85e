"""A participant's program written from docs/reference/protocol.md alone: nothing of the package is imported here.

Plain Python: the standard library, and ``cryptography`` for Ed25519.
"""
