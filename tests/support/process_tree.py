"""Who started whom (Linux)."""

from pathlib import Path


def children(parent: int) -> list[int]:
    """Return the processes that ``parent`` started and that have not been waited for."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(stat.parent.name))
    return found
