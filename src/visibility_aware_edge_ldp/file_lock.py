"""A lock on an open file, which ends with the process that holds it."""


def lock(handle: int, *, wait: bool) -> None:
    """Hold an open file alone until it is closed or this process ends.

    Raises OSError where another process holds it and this one shall not wait.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        return
    fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
