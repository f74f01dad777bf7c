"""Host code in other processes, as a DataLoader's workers run it."""

import multiprocessing
from functools import cache
from multiprocessing.pool import Pool

WORKERS = 8


@cache
def workers() -> Pool:
    """Return this process's pool of worker processes; they end with it.

    They are forked, as a DataLoader's are, and must not use the GPU.
    """
    return multiprocessing.get_context("fork").Pool(WORKERS)
