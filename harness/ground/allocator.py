"""The allocator of polars, jemalloc: it keeps what is freed while a command runs.

By default it returns large blocks at once, and the kernel clears every page anew for the next one.
polars reads the variable when it is imported, and puts its own settings before these.
"""

import os

_VARIABLE = "_RJEM_MALLOC_CONF"
_SETTINGS = "narenas:1,oversize_threshold:0,dirty_decay_ms:10000,muzzy_decay_ms:10000"
"""One pool for all threads and sizes, whose memory returns after 10 s of disuse (jemalloc(3))."""


def keep_freed() -> None:
    """Set the allocator up, unless the user did."""
    os.environ.setdefault(_VARIABLE, _SETTINGS)
